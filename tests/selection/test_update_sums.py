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
from sdgs.selection._defaults import MIN_COMPARED_SAMPLES, PENALTIES
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
def test_the_penalty_moves_towards_a_better_one_after_enough_samples(start):
    data = make_label_subspaces(4 * MIN_COMPARED_SAMPLES, 40, 6, n_components=2, noise=0.8, random_state=1)
    model = SDGSClassifier(2, gamma=None, penalty=PENALTIES[start], keep_samples=0, random_state=0)
    model.fit(data.X[:200], data.Y[:200])
    sums, pipeline, penalty = model._kept, model._pipelines[0], model.penalty_
    sums, pipeline, penalty = add_samples(
        sums, pipeline, penalty, samples_of(data.X, data.Y, slice(200, 1000)), OPTIONS
    )
    assert (penalty, sums.n_compared) == (PENALTIES[start], 400)  # too few to tell
    new = samples_of(data.X, data.Y, slice(1000, None))
    gains = np.array([400.0, -400.0] if start else [-400.0, 400.0])  # as if a neighbour had been far better
    sums, pipeline, penalty = add_samples(replace(sums, penalty_gains=gains), pipeline, penalty, new, OPTIONS)
    assert penalty == PENALTIES[start - 1 if start else 1]
    assert (sums.n_compared, sums.penalty_gains.tolist()) == (0, [0, 0])
    sums, _, same = add_samples(replace(sums, penalty_gains=np.array([-4e3, -4e3])), pipeline, penalty, new, OPTIONS)
    assert same == penalty
    assert sums.n_compared == new.n_samples // 2


def test_new_labels_change_no_feature_and_no_score_of_known_ones():
    model = SDGSClassifier(2, gamma=None, keep_samples=0, random_state=0).fit(DATA.X, DATA.Y)
    model._pipelines[0].scores(DATA.X, 1)
    sums, pipeline = add_labels(model._kept, model._pipelines[0], 2)
    np.testing.assert_array_equal(pipeline.scores(DATA.X, 1)[:, :4], model._pipelines[0].scores(DATA.X, 1))
    np.testing.assert_array_equal(pipeline.scores(DATA.X, 1)[:, 4:], 0)
    assert (sums.cross.shape[1], sums.Y_mean.size, sums.scored.labels.shape[1]) == (6, 6, 6)
    assert [len(C) for C in pipeline.features.decomposition.components[4:]] == [0, 0]
    assert add_labels(sums, pipeline, 0) == (sums, pipeline)
