"""Learning from more samples by sums."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs import SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.readout._decision import Decision
from sdgs.readout._ridge import PrimalRidge
from sdgs.readout._sample_sums import KeptSamples, add_labels
from sdgs.selection._cross_fit import Scorer
from sdgs.selection._defaults import PENALTIES, PENALTY_GAIN_SPREAD
from sdgs.selection._update_sums import UpdateOptions, add_samples

DATA = make_label_subspaces(260, 12, 4, n_components=2, noise=0.2, random_state=0)
OPTIONS = UpdateOptions(PENALTIES, Decision("f1"), 1)


def samples_of(X, Y, rows, weight=None):
    return KeptSamples(X[rows], csr_array(np.asarray(Y, dtype=bool)[rows]), None if weight is None else weight[rows])


def features_of(pipeline, X):
    width = pipeline.ridge.coef.shape[1]
    scaled, norms = pipeline.scaling.transform(X)
    blocks = pipeline.features.transform_blocks(scaled, 1, norms, width)
    return np.vstack([np.hstack([b.toarray() if hasattr(b, "toarray") else b for b in Z]) for Z in blocks])


def words(word_counts):
    X, Y = word_counts
    return csr_array(X), Y


@pytest.mark.parametrize("kind", ["dense", "kernel", "words"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_regression_is_that_of_all_samples(kind, weighted, word_counts):
    X, Y = words(word_counts) if kind == "words" else (DATA.X, DATA.Y)
    n = len(Y)
    weight = np.random.default_rng(0).uniform(0.5, 2, n) if weighted else None
    model = SDGSClassifier(2, gamma=1.0 if kind == "kernel" else None, keep_samples=0, penalty=0.3, random_state=0)
    model.fit(X[:100], Y[:100], sample_weight=None if weight is None else weight[:100])
    sums, pipeline, penalty = model._kept, model._pipelines[0], model.penalty_
    for rows in (slice(100, 101), slice(101, 180), slice(180, n)):
        options = replace(OPTIONS, penalties=(penalty,))
        sums, pipeline, penalty = add_samples(sums, pipeline, penalty, samples_of(X, Y, rows, weight), options)
    assert (sums.n_samples, penalty) == (n, 0.3)
    # A direct computation on all rows.
    Z, W = features_of(pipeline, X), np.ones(n) if weight is None else weight.copy()
    if kind == "words":
        assert sums.weighs_columns
        W *= sums.size_weights.weights(csr_array(Y.astype(bool)))
    moments = sums.moments
    Z_mean, Y_mean = np.average(Z, axis=0, weights=W), np.average(Y, axis=0, weights=W)
    np.testing.assert_allclose(moments.weight, W.sum())
    np.testing.assert_allclose(moments.Z_mean, Z_mean, atol=1e-12)
    np.testing.assert_allclose(moments.gram, (Z - Z_mean).T @ (W[:, None] * (Z - Z_mean)), atol=1e-9)
    np.testing.assert_allclose(moments.cross, (Z - Z_mean).T @ (W[:, None] * (Y - Y_mean)), atol=1e-9)
    kernel = pipeline.features.kernel
    columns = pipeline.features.column_slice("sample") if kind == "words" else None
    ridge = PrimalRidge(moments, columns, None if kernel is None else kernel.gram()).ridge(0.3, Z.shape[1])
    np.testing.assert_allclose(pipeline.ridge.coef, ridge.coef, atol=1e-8)
    if kind == "dense":
        centred = np.sqrt(W)[:, None] * (Z - Z_mean)
        right = centred.T @ (np.sqrt(W)[:, None] * (Y - Y_mean))
        expected = np.linalg.solve(centred.T @ centred + 0.3 * np.eye(Z.shape[1]), right).T
        np.testing.assert_allclose(pipeline.ridge.coef, expected, atol=1e-8)


def test_the_sums_over_the_samples_of_a_fit_give_its_regression():
    model = SDGSClassifier(2, gamma=None, keep_samples=0, random_state=0).fit(DATA.X, DATA.Y)
    moments, ridge = model._kept.moments, model._pipelines[0].ridge
    again = PrimalRidge(moments).ridge(model.penalty_, len(moments.Z_mean))
    np.testing.assert_allclose(again.coef, ridge.coef, atol=1e-8)
    np.testing.assert_allclose(again.intercept, ridge.intercept, atol=1e-8)


def test_scores_are_of_regressions_that_had_not_learnt_the_row():
    model = SDGSClassifier(2, gamma=None, keep_samples=0, penalty=1.0, random_state=0).fit(DATA.X[:200], DATA.Y[:200])
    n_before = len(model._kept.scored.scores)
    model.update(DATA.X[200:], DATA.Y[200:])
    scores = model._kept.scored.scores[n_before:]
    rows = np.arange(260)
    learnt = np.setdiff1d(rows, rows[200::2])  # every second of the new samples is scored
    Z = features_of(model._pipelines[0], DATA.X)
    mean, Y_mean = Z[learnt].mean(axis=0), DATA.Y[learnt].mean(axis=0)
    centred = Z[learnt] - mean
    W = np.linalg.solve(centred.T @ centred + np.eye(Z.shape[1]), centred.T @ (DATA.Y[learnt] - Y_mean))
    np.testing.assert_allclose(scores, (Z[200::2] - mean) @ W + Y_mean, atol=1e-5)


@pytest.mark.parametrize("start", [0, len(PENALTIES) - 1])
def test_the_penalty_moves_one_step_at_a_time_if_a_neighbour_is_clearly_better(start):
    X, Y, penalties = DATA.X, DATA.Y, PENALTIES
    model = SDGSClassifier(2, gamma=None, penalty=penalties[start], keep_samples=0, random_state=0).fit(
        X[:100], Y[:100]
    )
    state = model._kept, model._pipelines[0], model.penalty_
    assert state[0].n_compared == 0
    new, inwards = samples_of(X, Y, slice(100, None)), (0 if start else 1)

    def after(gain, n_compared):
        """The next penalty, and the sums, if the neighbour inwards has gained so much before."""
        gains = np.where(np.arange(2) == inwards, gain, -1e6)
        sums, pipeline, penalty = state
        sums = replace(sums, penalty_gains=gains, n_compared=n_compared)
        sums, _, penalty = add_samples(sums, pipeline, penalty, new, OPTIONS)
        return penalty, sums

    spread = PENALTY_GAIN_SPREAD * np.sqrt(10_080)
    penalty, sums = after(spread + 80, 10_000)  # even if it now loses all of the 80 new samples that are scored
    assert penalty == penalties[start - 1 if start else 1]
    assert (sums.n_compared, sums.penalty_gains.tolist()) == (0, [0, 0])
    penalty, sums = after(spread - 80.1, 10_000)  # even if it now gains all of them
    assert penalty == penalties[start]
    assert sums.n_compared == 10_080
    assert abs(sums.penalty_gains[inwards] - (spread - 80.1)) <= 80


def test_the_gains_are_those_of_the_metric():
    model = SDGSClassifier(2, gamma=None, penalty=1.0, keep_samples=0, random_state=0).fit(DATA.X[:100], DATA.Y[:100])
    new, position = samples_of(DATA.X, DATA.Y, slice(100, None)), PENALTIES.index(1.0)
    scores = []
    for i in (position - 1, position, position + 1):
        options = replace(OPTIONS, penalties=(PENALTIES[i],))
        sums, _, _ = add_samples(model._kept, model._pipelines[0], PENALTIES[i], new, options)
        scores.append(sums.scored.scores[-80:].astype(float))
    values = Scorer(DATA.Y[100::2].astype(float), OPTIONS.decision).quick_values(scores, {})
    sums, _, penalty = add_samples(model._kept, model._pipelines[0], 1.0, new, OPTIONS)
    if penalty == 1.0:
        expected = 80 * (np.array([values[0], values[2]]) - values[1])
        np.testing.assert_allclose(sums.penalty_gains, expected, atol=0.5)
    assert sums.penalty_gains.any() or penalty != 1.0


def test_new_labels_change_no_feature_and_no_score_of_known_ones():
    model = SDGSClassifier(2, gamma=None, keep_samples=0, random_state=0).fit(DATA.X, DATA.Y)
    model._pipelines[0].scores(DATA.X, 1)
    sums, pipeline = add_labels(model._kept, model._pipelines[0], 2)
    np.testing.assert_array_equal(pipeline.scores(DATA.X, 1)[:, :4], model._pipelines[0].scores(DATA.X, 1))
    np.testing.assert_array_equal(pipeline.scores(DATA.X, 1)[:, 4:], 0)
    assert (sums.cross.shape[1], sums.Y_mean.size, sums.scored.labels.shape[1]) == (6, 6, 6)
    assert [len(C) for C in pipeline.features.decomposition.components[4:]] == [0, 0]
    assert add_labels(sums, pipeline, 0) == (sums, pipeline)
