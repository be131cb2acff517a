"""Evaluating candidates, and the preview of scalings."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from regressions import options, penalty_weights_by_hand
from sdgs import SDGSClassifier, decompose
from sdgs.coding._group_lasso import code_samples
from sdgs.datasets import make_label_subspaces
from sdgs.readout import _features
from sdgs.readout._calibration import fit_calibration
from sdgs.readout._decision import Decision
from sdgs.readout._parameters import PipelineParameters
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._relevance import f1_sample_weight
from sdgs.readout._ridge import RidgeDesign, prepare_ridge
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._cross_fit import Scorer
from sdgs.selection._folds import make_folds
from sdgs.selection._scaling_preview import preview_scalings

CANDIDATE = PipelineParameters("rows", 2, 0.1)


def evaluator(X, Y, penalties=(3.0,), metric="f1", checkpoint=None, **arguments):
    samples = ArraySamples(X)
    mostly_zero = samples.column_statistics.mostly_zero
    context = ReadoutContext(options(checkpoint=checkpoint), mostly_zero, Decision(metric), splits=3)
    return CandidateEvaluator(samples, csr_array(Y), context, penalties, **arguments)


@pytest.fixture
def few_words():
    """Mostly zero samples with two columns associated with labels; the third label is the first two together."""
    rng = np.random.default_rng(0)
    Y = rng.random((150, 2)) < 0.4
    X = (rng.random((150, 40)) < 0.1).astype(float)
    X[:, :2] = Y * (rng.random((150, 2)) < 0.3)
    X[:, 2] = 1  # no sample is empty
    return X, np.hstack([Y, Y[:, :1] & Y[:, 1:]])


def weighted_ridge(X, Y, metric):
    weight = f1_sample_weight(csr_array(Y), metric)
    return prepare_ridge([[X]], Y, RidgeDesign([40], slice(0, 40), weight)).ridge(3.0, 40)


@pytest.mark.parametrize("metric", ["f1", "hamming_loss"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_columns_and_samples_of_words_are_weighted_in_each_fold(few_words, form, metric):
    """By the training rows of the fold alone; and by all samples in the fitted model."""
    X, Y = few_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    result = evaluator(form(X), Y, metric=metric).evaluate(CANDIDATE, max_blocks=("sample",))
    expected = np.zeros(Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=0).split(Y):
        expected[test] = weighted_ridge(unit[train], Y[train], metric).scores([unit[test]])
    assert result.choice.read_from == ("sample",)
    np.testing.assert_allclose(result.scores, expected, atol=1e-9)
    model = SDGSClassifier(2, scaling="rows", gamma=None, penalty=3.0, metric=metric, random_state=0).fit(form(X), Y)
    assert model.read_from_ == ("sample",)
    np.testing.assert_allclose(model._pipelines[0].ridge.coef, weighted_ridge(unit, Y, metric).coef, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_weights_of_columns_agree_with_the_formula(few_words, form):
    X, Y = few_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = SDGSClassifier(2, scaling="rows", gamma=None, penalty=3.0, metric="hamming_loss", random_state=0)
    model.fit(form(X), Y)
    root = np.sqrt(penalty_weights_by_hand(unit, Y))
    expected = Ridge(alpha=3.0).fit(unit * root, Y).predict(unit * root)
    np.testing.assert_allclose(model._pipelines[0].scores(form(X), None), expected, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_nothing_is_weighted_if_most_entries_are_not_zero(few_words, form):
    X, Y = few_words
    model = SDGSClassifier(2, scaling=None, gamma=None, penalty=3.0, random_state=0).fit(form(X + 1), Y)
    assert model.read_from_ == ("sample",)
    expected = Ridge(alpha=3.0).fit(X, Y).predict(X)
    np.testing.assert_allclose(model._pipelines[0].scores(form(X + 1), None), expected, atol=1e-9)


@pytest.mark.parametrize("gamma", [None, "auto"])
def test_no_fold_sees_the_samples_that_it_is_tested_on(monkeypatch, gamma):
    decomposed, coded = [], []

    def spy_on_decompose(X, *args, **kwargs):
        decomposed.append(X)
        return decompose(X, *args, **kwargs)

    def spy_on_code_samples(X, problem, *args, **kwargs):
        coded.append((X, problem.dictionary.C))
        return code_samples(X, problem, *args, **kwargs)

    monkeypatch.setattr(_features, "decompose", spy_on_decompose)
    monkeypatch.setattr(_features, "code_samples", spy_on_code_samples)
    data = make_label_subspaces(60, 12, 3, n_components=2, noise=0.2, random_state=0)
    SDGSClassifier(2, gamma=gamma, random_state=0).fit(data.X, data.Y)
    assert [len(X) for X in decomposed] == [40, 40, 40, 60]
    assert [len(X) for X, _ in coded[:6]] == [40, 20] * 3
    # Each decomposition codes its own samples and then the test samples, with its own subspaces.
    for train, X, test in zip(coded[:6:2], decomposed[:3], coded[1:6:2], strict=True):
        assert np.array_equal(train[0], X)
        np.testing.assert_array_equal(train[1], test[1])
        assert len(np.unique(np.vstack([train[0], test[0]]), axis=0)) == 60


def with_missing_entries(X):
    return np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)


SAMPLES = {
    "dense": (np.asarray, None),
    "sparse": (csr_array, None),
    "missing": (with_missing_entries, None),
    "huber": (np.asarray, 0.1),
}


@pytest.mark.parametrize(("form", "huber"), SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize(("first", "second"), [(None, 2.0), (2.0, None)])
def test_candidates_that_differ_in_the_kernel_share_codes_and_have_the_results_of_their_own(
    form, huber, first, second, monkeypatch
):
    coded = []

    def spy_on_code_samples(X, *args, **kwargs):
        coded.append(X)
        return code_samples(X, *args, **kwargs)

    monkeypatch.setattr(_features, "code_samples", spy_on_code_samples)
    data = make_label_subspaces(120, 20, 4, n_components=2, noise=0.1, random_state=0)
    X, penalties = form(data.X), (0.1, 0.3, 1.0, 3.0)
    first, second = (replace(CANDIDATE, gamma=gamma, huber=huber) for gamma in (first, second))
    fresh, used = (evaluator(X, data.Y, penalties) for _ in range(2))
    expected = fresh.evaluate(second, start=0.3)
    used.evaluate(first)
    coded.clear()
    result = used.evaluate(second, start=0.3)
    assert "code" in result.choice.read_from
    assert (result.choice, result.value) == (expected.choice, expected.value)
    np.testing.assert_array_equal(result.scores, expected.scores)
    if second.gamma is None or (huber is None and form is not with_missing_entries):
        assert not coded  # cleaning the samples for a kernel takes codes of its own
    used.evaluate(replace(second, alpha=0.2))
    assert coded


def test_codes_are_computed_if_an_earlier_candidate_did_not_read_them():
    data = make_label_subspaces(120, 20, 4, n_components=2, noise=0.1, random_state=0)
    fresh, used = (evaluator(data.X, data.Y) for _ in range(2))
    assert used.evaluate(CANDIDATE, max_blocks=("sample",)).choice.read_from == ("sample",)
    result, expected = (some.evaluate(CANDIDATE) for some in (used, fresh))
    assert "code" in result.choice.read_from
    np.testing.assert_array_equal(result.scores, expected.scores)


def test_a_search_for_the_penalty_starts_where_the_last_one_ended():
    """Or where the caller says; the metric of these labels is flat, so that the search stays there."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 4)), np.repeat([[True, True]], 60, axis=0)
    some = evaluator(X, Y, (0.1, 1.0, 10.0))
    starts = [None, 10.0, None, 0.1, None]
    assert [some.evaluate(CANDIDATE, start=start).choice.penalty for start in starts] == [1.0, 10.0, 10.0, 0.1, 0.1]


def test_with_many_samples_not_all_folds_are_left_out():
    """Choice and calibration use the predicted samples alone."""
    rng = np.random.default_rng(0)
    Y = rng.random((90, 3)) < 0.5
    X = Y @ rng.standard_normal((3, 6)) + rng.standard_normal((90, 6))
    whole = evaluator(X, Y, (1.0, 10.0)).evaluate(CANDIDATE)
    np.testing.assert_array_equal(whole.rows, np.arange(90))
    (_, first), (_, second), _ = KFold(3, shuffle=True, random_state=0).split(Y)
    test_rows = np.sort(np.concatenate([first, second]))
    result = evaluator(X, Y, (1.0, 10.0), enough_test_samples=31).evaluate(CANDIDATE)
    np.testing.assert_array_equal(result.rows, test_rows)
    assert result.choice == whole.choice
    np.testing.assert_allclose(result.scores, whole.scores[test_rows])


def test_the_model_is_calibrated_on_the_cross_fitted_scores():
    rng = np.random.default_rng(0)
    Y = rng.random((90, 3)) < 0.5
    X = Y @ rng.standard_normal((3, 6)) + rng.standard_normal((90, 6))
    result = evaluator(X, Y, (1.0,)).evaluate(CANDIDATE)
    model = SDGSClassifier(2, gamma=None, penalty=1.0, scaling="rows", random_state=0).fit(X, Y)
    assert model.read_from_ == result.choice.read_from
    np.testing.assert_allclose(model._calibration.slope, fit_calibration(result.scores, Y).slope)


def test_candidates_are_evaluated_on_some_of_many_samples():
    rng = np.random.default_rng(0)
    Y = rng.random((1200, 3)) < 0.5
    X = Y @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((1200, 6))
    result = evaluator(X, Y, max_samples=1000).evaluate(CANDIDATE)
    assert result.rows.size == 1000
    assert (np.diff(result.rows) > 0).all()
    assert result.value > 0.9


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_preview_weights_columns_and_uses_the_same_folds(few_words, form):
    X, Y = few_words
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    folds = make_folds(150, 3, seed=0, enough=51)
    expected = np.zeros((folds.test_rows.size, 3))
    for train, test in folds.pairs:
        root = np.sqrt(penalty_weights_by_hand(unit[train], Y[train]))
        scores = Ridge(alpha=3.0).fit(unit[train] * root, Y[train]).predict(unit[test] * root)
        expected[np.searchsorted(folds.test_rows, test)] = scores
    scored = []

    class Spy(Scorer):
        def quick_values(self, candidates, _):
            scored.extend(candidates)
            return [0.0] * len(candidates)

    samples, scorer = ArraySamples(form(X)), Spy(Y[folds.test_rows], Decision())
    scalings = {name: samples.scaling(name) for name in ("rows", "idf")}
    chosen = preview_scalings(
        scalings, samples, csr_array(Y), folds, (3.0,), scorer, mostly_zero=True, for_subspaces=False
    )
    assert chosen == "rows"  # the first of equals
    assert len(scored) == 2
    np.testing.assert_allclose(scored[0], expected, atol=1e-9)


@pytest.mark.parametrize(("gain", "chosen"), [(0.04, "rows"), (0.06, "columns")])
def test_dense_samples_are_standardised_only_if_that_is_better_by_a_margin(gain, chosen):
    """In F1 whatever the metric; without subspaces, or for sparse samples, whatever is better is taken."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 4)), rng.random((30, 2)) < 0.4
    folds, used = make_folds(30, 3, seed=0), []

    class Spy(Scorer):
        def quick_values(self, candidates, _):
            used.append(self.decision.metric)
            return [0.8 + gain * (len(used) % 2 == 0)] * len(candidates)

    samples, scorer = ArraySamples(X), Spy(Y[folds.test_rows], Decision("hamming_loss"))
    scalings = {name: samples.scaling(name) for name in ("rows", "columns")}
    arguments = (scalings, samples, csr_array(Y), folds, (1.0,), scorer)
    assert preview_scalings(*arguments, mostly_zero=False, for_subspaces=True) == chosen
    assert used == ["f1", "f1"]
    assert preview_scalings(*arguments, mostly_zero=False, for_subspaces=False) == "columns"
    assert used[2:] == ["hamming_loss"] * 2
    sparse = ArraySamples(csr_array(X))
    arguments = ({name: sparse.scaling(name) for name in ("idf", "rows")}, sparse, *arguments[2:])
    assert preview_scalings(*arguments, mostly_zero=False, for_subspaces=True) == "rows"


def test_a_stored_result_is_used_for_the_same_arguments_alone(few_words, tmp_path):
    X, Y = few_words
    first = evaluator(X, Y, (1.0, 3.0), checkpoint=tmp_path).evaluate(CANDIDATE)
    stored = evaluator(X, Y, (1.0, 3.0), checkpoint=tmp_path).evaluate(CANDIDATE)
    assert (stored.choice, stored.value) == (first.choice, first.value)
    np.testing.assert_array_equal(stored.scores, first.scores)
    other = evaluator(X, Y, (3.0, 10.0), checkpoint=tmp_path).evaluate(CANDIDATE)
    assert other.choice.penalty in (3.0, 10.0)
