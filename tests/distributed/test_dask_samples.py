"""Models fitted to Dask arrays equal those fitted in memory."""

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from scipy.sparse import csr_array, issparse

from distributed_data import Data, make_data
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.distributed._dask_samples import DaskSamples
from sdgs.readout._decision import Decision
from sdgs.readout._features import fit_features
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._ridge import RidgeDesign
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator

pytestmark = pytest.mark.usefixtures("client")

PARAMETERS = PipelineParameters("rows", 2, 0.1)
OPTIONS = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
CASES = {
    "dense": ("dense", {}),
    "rows": ("dense", {"scaling": "rows", "decision": "threshold"}),
    "no scaling": ("dense", {"scaling": None, "penalty": 1.0}),
    "missing": ("dense missing", {}),
    "huber": ("dense", {"huber": "auto"}),
    "sparse": ("sparse", {}),
    "sparse, missing": ("sparse missing", {}),
    "norms": ("dense", {"readout": "norm"}),
}


def assert_same_model(actual, expected, data):
    """Equal attributes, and equal predictions for a Dask array, which are lazy, and for an array."""
    for name in ("scaling_", "huber_", "gamma_", "penalty_", "read_from_", "n_iter_", "n_features_in_"):
        assert getattr(actual, name, None) == getattr(expected, name, None)
    np.testing.assert_array_equal(actual.classes_, expected.classes_)
    X = data.as_dask()
    for method in ("decision_function", "predict", "transform", *["predict_proba"] * (actual.readout == "ridge")):
        lazy, in_memory = getattr(actual, method)(X), getattr(expected, method)(data.X)
        assert isinstance(lazy, da.Array)
        assert lazy.dtype == in_memory.dtype
        assert lazy.shape == in_memory.shape
        assert lazy.chunks[0] == X.chunks[0]
        computed = lazy.compute()
        assert issparse(computed) == issparse(in_memory) == issparse(lazy._meta)
        computed, in_memory = (A.toarray() if issparse(A) else A for A in (computed, in_memory))
        if in_memory.dtype.kind == "f":
            np.testing.assert_allclose(computed, in_memory, rtol=1e-6, atol=1e-8)
        else:
            np.testing.assert_array_equal(computed, in_memory)


@pytest.mark.parametrize(("kind", "options"), CASES.values(), ids=CASES)
def test_a_classifier_equals_that_in_memory(kind, options):
    data = make_data(kind)
    options = {"n_components": 2, "random_state": 0} | options
    actual = SDGSClassifier(**options).fit(data.as_dask(), da.from_array(data.Y, chunks=(70, 4)))
    assert_same_model(actual, SDGSClassifier(gamma=None, **options).fit(data.X, data.Y), data)


def test_decisions_for_other_metrics_and_weights_of_labels():
    data = make_data("dense")
    options = {"n_components": 2, "random_state": 0, "label_weight": "balanced"}
    for metric in ("macro_f1", "subset_accuracy"):
        actual = SDGSClassifier(metric=metric, **options).fit(data.as_dask(), da.from_array(data.Y, chunks=(70, 4)))
        expected = SDGSClassifier(metric=metric, gamma=None, **options).fit(data.X, data.Y)
        np.testing.assert_array_equal(actual.predict(data.as_dask()).compute(), expected.predict(data.X))


def test_unobserved_labels():
    data = make_data("dense")
    Y = np.where(np.random.default_rng(0).random(data.Y.shape) < 0.3, np.nan, data.Y)
    options = {"n_components": 2, "random_state": 0}
    actual = SDGSClassifier(**options).fit(data.as_dask(), da.from_array(Y, chunks=(70, 4)))
    expected = SDGSClassifier(gamma=None, **options).fit(data.X, Y)
    assert_same_model(actual, expected, data)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_sample_weights(kind):
    data = make_data(kind)
    weight = np.random.default_rng(0).integers(1, 4, 180).astype(float)
    options = {"n_components": 2, "scaling": "rows", "random_state": 0}
    actual = SDGSClassifier(**options).fit(data.as_dask(), data.Y, sample_weight=da.from_array(weight, chunks=70))
    expected = SDGSClassifier(gamma=None, **options).fit(data.X, data.Y, sample_weight=weight)
    assert_same_model(actual, expected, data)


def test_samples_of_weight_zero_do_not_change_whether_all_get_a_label():
    data = make_data("dense")
    Y, weight = np.maximum(data.Y, data.Y.sum(axis=1, keepdims=True) == 0), np.ones(180)
    Y[::6], weight[::6] = 0, 0.0
    for samples in (data.as_dask(), data.X):
        model = SDGSClassifier(n_components=2, gamma=None, random_state=0).fit(samples, Y, sample_weight=weight)
        assert model._decision.at_least_one


def test_columns_and_samples_of_word_counts_are_weighted_as_in_memory(word_counts):
    X, Y = word_counts
    data = Data(csr_array(X[:180]), Y[:180].astype(int))
    assert DaskSamples(data.as_dask()).column_statistics.mostly_zero
    options = {"n_components": 2, "scaling": "rows", "penalty": 3.0, "random_state": 0}
    actual, expected = (SDGSClassifier(**options).fit(X, csr_array(data.Y)) for X in (data.as_dask(), data.X))
    assert_same_model(actual, expected, data)


def test_statistics_do_not_depend_on_the_number_of_workers():
    X = da.from_array(np.random.default_rng(0).standard_normal((500, 7)) + 1e3, chunks=(37, -1))
    first = DaskSamples(X).column_statistics
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster):
        second = DaskSamples(X).column_statistics
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.variance, second.variance)


def test_a_1d_target():
    data = make_data("dense")
    y = np.array(["a", "b", "c"])[data.Y[:, :3].argmax(axis=1)]
    actual = SDGSClassifier(2, random_state=0).fit(data.as_dask(), da.from_array(y, chunks=70))
    assert_same_model(actual, SDGSClassifier(2, gamma=None, random_state=0).fit(data.X, y), data)


def test_the_search_equals_that_in_memory():
    data = make_data("dense")
    options = {"budget": 4, "random_state": 0}
    actual = SDGSClassifierCV(**options).fit(data.as_dask(), data.Y)
    expected = SDGSClassifierCV(gammas=None, **options).fit(data.X, data.Y)
    assert actual.best_params_ == expected.best_params_
    assert actual.cv_results_["averaged"] == expected.cv_results_["averaged"]
    np.testing.assert_allclose(actual.predict_proba(data.X), expected.predict_proba(data.X), atol=1e-9)


def both(data):
    """The samples on workers, and in memory."""
    return DaskSamples(data.as_dask()), ArraySamples(data.X)


def test_candidates_are_evaluated_on_the_same_samples():
    data = make_data("dense missing")
    context = ReadoutContext(OPTIONS, False, Decision("f1"), 3)
    evaluators = [CandidateEvaluator(samples, csr_array(data.Y), context, (1.0,), 100) for samples in both(data)]
    actual, expected = (evaluator.evaluate(PARAMETERS) for evaluator in evaluators)
    assert actual.rows.size == 100
    np.testing.assert_array_equal(actual.rows, expected.rows)
    np.testing.assert_allclose(actual.scores, expected.scores, atol=1e-9)


def fit_with_selected_columns(samples, labels, max_columns=25):
    """The columns that labels are read from, and the coefficients of a ridge regression on them."""
    scaled = samples.scale(samples.scaling("rows"))
    features = fit_features(scaled, labels, PARAMETERS, OPTIONS, max_columns=max_columns)
    regression = scaled.prepare_ridge(features, labels, RidgeDesign((max_columns,)), None)
    return features.columns, regression.ridge(1.0, max_columns).coef


def test_the_same_columns_are_selected():
    data = make_data("dense missing")
    actual, expected = (fit_with_selected_columns(samples, csr_array(data.Y)) for samples in both(data))
    assert expected[0].size == 25
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_allclose(actual[1], expected[1], atol=1e-8)


@pytest.mark.slow
def test_columns_are_selected_by_some_of_many_samples():
    made = make_label_subspaces(9000, 30, 6, n_components=2, noise=0.1, random_state=0)  # more than 8192
    data = Data(made.X, made.Y)
    samples = DaskSamples(data.as_dask((4000, 5000))), ArraySamples(data.X)
    actual, expected = (fit_with_selected_columns(some, csr_array(data.Y)) for some in samples)
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_allclose(actual[1], expected[1], atol=1e-8)


def test_columns_that_are_constant_or_unobserved():
    data = make_data("dense")
    data.X[:, 4], data.X[:, 7] = 2.5, np.nan
    options = {"n_components": 2, "scaling": "columns", "readout": "norm", "random_state": 0}
    actual, expected = (SDGSClassifier(**options).fit(X, data.Y) for X in (data.as_dask(), data.X))
    for name in ("mean_", "scale_", "var_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(actual.scaler_, name), getattr(expected.scaler_, name), rtol=1e-12)


def test_invalid_input_is_rejected():
    data = make_data("dense")
    X = data.as_dask()
    infinite = X.map_blocks(lambda block: np.where(block == block.max(), np.inf, block))
    unknown_chunks = X[X[:, 0] > 0]
    for arguments, options, message in [
        ((infinite, data.Y), {}, "infinity"),
        ((unknown_chunks, data.Y), {}, "compute_chunk_sizes"),
        ((X, data.Y[:-1]), {}, "inconsistent numbers of samples"),
        ((X, data.Y + 1), {}, "only 0 and 1"),
        ((X[:, 0], data.Y), {}, "2-D"),
        ((X[:, :0], data.Y), {}, "no features"),
        ((X.astype(str), data.Y), {}, "must hold numbers"),
        ((X, data.Y), {"solver": "svd"}, 'Use "brp"'),
        ((X, data.Y), {"gamma": 1.0}, "gamma needs all samples in one place"),
        ((X.map_blocks(csr_array), data.Y), {"scaling": "columns"}, "sparse X"),
    ]:
        with pytest.raises(ValueError, match=message):
            SDGSClassifier(random_state=0, **options).fit(*arguments)
    with pytest.raises(ValueError, match="gamma needs all samples in one place"):
        SDGSClassifierCV(gammas=(None, 1.0)).fit(X, data.Y)
