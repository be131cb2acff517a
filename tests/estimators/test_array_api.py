"""Models of arrays of other libraries equal those of NumPy arrays, and are computed on the device of the arrays.

scikit-learn accepts them only if SCIPY_ARRAY_API=1 was set before SciPy was loaded, so tests with the marker
``array_api`` run separately: ``make test`` does both. array-api-strict has a device that NumPy cannot read.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sdgs
from corruption import with_missing_entries
from helpers import FAST_LIBRARIES, assert_same_subspaces, fast_libraries, in_small_blocks
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose
from sdgs._utils._array_api import on_host, to_host
from sdgs.datasets import make_composite_digits
from sdgs.methods import BinaryRelevance
from sdgs.readout._decision import Decision
from sdgs.readout._features import fit_features
from sdgs.readout._landmark_kernel import fit_landmark_kernel
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._relevance import most_relevant_columns
from sdgs.readout._samples import ArraySamples
from sdgs.selection._candidate_evaluator import CandidateEvaluator

pytestmark = pytest.mark.array_api

OPTIONS = DecompositionOptions(1e-4, "brp", 100, 1e-2, "auto", 0, None)
CASES = {
    "defaults": {},
    "huber": {"huber": 0.1},
    "missing": {},
    "columns": {"scaling": "columns"},
    "idf": {"scaling": "idf", "penalty": 1.0},
    "no scaling": {"scaling": None, "penalty": 1.0},
    "norm readout": {"readout": "norm"},
    "kernel": {"gamma": 1.0, "n_landmarks": 30, "penalty": 1.0},
    "thresholds": {"decision": "thresholds", "penalty": 1.0},
    "two labels": {"decision": 2, "penalty": 1.0},
    "Hamming loss": {"metric": "hamming_loss", "at_least_one": True, "penalty": 1.0},
    "word counts": {"penalty": 1.0},
}


@pytest.fixture(scope="module")
def digits():
    return tuple(
        make_composite_digits(n, max_labels=2, subset=subset, random_state=0)
        for n, subset in ((90, "train"), (40, "test"))
    )


@pytest.mark.parametrize(
    ("elsewhere", "case"),
    [(library, case) for library in FAST_LIBRARIES for case in CASES]
    + [("strict", "defaults"), ("strict", "kernel"), ("strict", "word counts")],
    indirect=["elsewhere"],
)
def test_a_classifier_equals_that_of_numpy(elsewhere, digits, case):
    train, test = digits
    X, X_test = train.X, test.X
    if case in ("missing", "kernel"):
        X, X_test = with_missing_entries(X, 0.1), with_missing_entries(X_test, 0.1)
    if case == "word counts":
        X, X_test = (np.where(Z > 15, Z, 0) for Z in (X, X_test))
        assert all(ArraySamples(Z).column_statistics.mostly_zero for Z in (X, elsewhere(X)))
    expected = SDGSClassifier(random_state=0, **CASES[case]).fit(X, train.Y)
    model = SDGSClassifier(random_state=0, **CASES[case]).fit(elsewhere(X), elsewhere(train.Y))
    assert model.scaling_ == expected.scaling_
    assert_same_subspaces(expected.components_, model.components_)
    there = elsewhere(X_test)
    labels = model.predict(there)
    assert type(labels) is type(there)
    np.testing.assert_array_equal(to_host(labels), expected.predict(X_test))
    np.testing.assert_allclose(
        to_host(model.decision_function(there)), expected.decision_function(X_test), atol=5e-3, rtol=1e-3
    )
    np.testing.assert_allclose(to_host(model.transform(there)), expected.transform(X_test), atol=1e-3)
    if case != "norm readout":
        assert model.penalty_ == expected.penalty_
        np.testing.assert_allclose(to_host(model.predict_proba(there)), expected.predict_proba(X_test), atol=1e-3)
        assert type(model.out_of_fold_probabilities_) is np.ndarray
        np.testing.assert_allclose(model.out_of_fold_probabilities_, expected.out_of_fold_probabilities_, atol=2e-3)
        found, known = (one.suspicious_labels(X_test, test.Y, n_pairs=1) for one in (model, expected))
        assert (found.rows[0], found.labels[0]) == (known.rows[0], known.labels[0])


def test_kernels_of_samples_that_are_close_to_each_other(elsewhere):
    """Positive samples of unit norm in float32, which differ in the last digits."""
    X = 500 + np.random.default_rng(0).standard_normal((80, 4))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    kernel = fit_landmark_kernel(X, None, gamma=1.0, n_landmarks=8, seed=0)
    np.testing.assert_allclose(to_host(kernel.transform(elsewhere(X), None)), kernel.transform(X, None), atol=2e-3)


def test_weights_of_word_counts_equal_those_of_numpy(elsewhere, word_counts):
    X, Y = word_counts
    options = {"n_components": 2, "scaling": "rows", "penalty": 1.0, "random_state": 0}
    model, expected = SDGSClassifier(**options).fit(elsewhere(X), elsewhere(Y)), SDGSClassifier(**options).fit(X, Y)
    scores = to_host(model.decision_function(elsewhere(X)))
    np.testing.assert_allclose(scores, expected.decision_function(X), atol=5e-3, rtol=1e-3)


def test_the_same_columns_are_selected(elsewhere, digits):
    train = digits[0]
    labels = csr_array(train.Y)

    def fit(X):
        samples = ArraySamples(X)
        scaled = samples.scale(samples.scaling("rows"))
        return fit_features(scaled, labels, PipelineParameters("rows", 4, 0.1), OPTIONS, max_columns=60)

    features = fit(elsewhere(train.X))
    assert features.columns.size == 60
    np.testing.assert_array_equal(features.columns, fit(train.X).columns)
    by_parts = most_relevant_columns([elsewhere(train.X)], labels, 20, product_entries=300)
    np.testing.assert_array_equal(by_parts, most_relevant_columns([train.X], labels, 20))


def test_candidates_are_evaluated_on_the_same_samples(elsewhere, digits):
    context = ReadoutContext(OPTIONS, False, Decision("f1"), 3)

    def evaluate(X):
        evaluator = CandidateEvaluator(ArraySamples(X), csr_array(digits[0].Y), context, (1.0,), 60)
        return evaluator.evaluate(PipelineParameters("rows", 2, 0.1))

    actual, expected = evaluate(elsewhere(digits[0].X)), evaluate(digits[0].X)
    assert actual.rows.size == 60
    np.testing.assert_array_equal(actual.rows, expected.rows)
    np.testing.assert_allclose(actual.scores, expected.scores, atol=1e-3)


def test_many_samples_are_predicted_by_blocks(elsewhere, digits):
    train, test = digits
    model = SDGSClassifier(random_state=0, penalty=1.0).fit(elsewhere(train.X), train.Y)
    X = np.tile(test.X, (30, 1))
    blockwise = in_small_blocks(model)
    P = to_host(blockwise.predict_proba(elsewhere(X)))
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(to_host(blockwise.predict(elsewhere(X))), model.predict(X))


def test_a_fitted_model_is_on_the_host(elsewhere, digits, tmp_path):
    train, test = digits
    model = SDGSClassifier(random_state=0, penalty=1.0).fit(elsewhere(train.X), train.Y)
    assert all(on_host(C) for C in model.components_)
    np.testing.assert_array_equal(model.predict(test.X), to_host(model.predict(elsewhere(test.X))))
    model.save(tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(test.X), model.predict_proba(test.X))
    np.testing.assert_array_equal(model.contributions(elsewhere(test.X[:3])), model.contributions(test.X[:3]))


@fast_libraries
def test_labels_have_the_form_of_the_target(elsewhere, digits):
    train, test = digits
    X, there = elsewhere(train.X), elsewhere(test.X)

    def fitted(y):
        return SDGSClassifier(random_state=0, penalty=1.0).fit(X, y)

    labels = to_host(fitted(train.Y).predict(there))
    sparse = fitted(csr_array(train.Y)).predict(there)
    np.testing.assert_array_equal(sparse.toarray(), labels)
    names = [f"digit {i}" for i in range(10)]
    frame = fitted(pd.DataFrame(train.Y, columns=names)).predict(there)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame.to_numpy(), labels)
    assert to_host(fitted(elsewhere(train.Y.astype(bool))).predict(there)).dtype == bool
    classes = train.Y.argmax(axis=1)
    numbers = fitted(elsewhere(classes)).predict(there)
    assert type(numbers) is type(there)
    strings = fitted(np.array(names)[classes]).predict(there)
    assert [f"digit {i}" for i in to_host(numbers)] == list(strings)
    P = to_host(fitted(elsewhere(classes)).predict_proba(there))
    np.testing.assert_allclose(P.sum(axis=1), 1)


@fast_libraries
def test_the_search_equals_that_of_numpy(elsewhere, digits):
    train, test = digits
    options = {
        "alphas": (0.1, 0.2),
        "gammas": None,
        "n_components": 2,
        "penalties": (0.3, 3.0),
        "budget": 8,
        "random_state": 0,
    }
    expected = SDGSClassifierCV(**options).fit(train.X, train.Y)
    model = SDGSClassifierCV(**options).fit(elsewhere(train.X), elsewhere(train.Y))
    assert model.best_params_ == expected.best_params_
    assert model.best_score_ == pytest.approx(expected.best_score_, abs=1e-3)
    np.testing.assert_array_equal(to_host(model.predict(elsewhere(test.X))), expected.predict(test.X))


def test_a_fit_uses_its_checkpoints(elsewhere, digits, tmp_path):
    train, test = digits
    options = {"random_state": 0, "penalty": 1.0, "checkpoint": tmp_path}
    first = SDGSClassifier(**options).fit(elsewhere(train.X), train.Y)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    second = SDGSClassifier(**options).fit(elsewhere(train.X), train.Y)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    np.testing.assert_array_equal(first.predict_proba(test.X), second.predict_proba(test.X))


@pytest.mark.parametrize("estimator", [SDGSClassifier(penalty=1.0), SDGSClassifierCV(budget=1, penalties=1.0)])
def test_passes_the_checks_of_scikit_learn(estimator):
    """All but one: models take arrays of any library, not only of the library that they were fitted with."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "_yield_array_api_checks"):
        pytest.skip("this version of scikit-learn has no such checks")
    name = type(estimator).__name__
    n_checks = 0
    for check in checks._yield_array_api_checks(estimator):
        namespace = str(check.keywords)
        if check.func.__name__ == "check_array_api_same_namespace" or "cuda" in namespace or "mps" in namespace:
            continue
        try:
            check(name, estimator)
        except pytest.skip.Exception:
            continue
        except checks.SkipTest:
            continue
        n_checks += 1
    assert n_checks >= 3


def test_without_dispatch_arrays_are_converted_to_numpy(digits):
    torch = pytest.importorskip("torch")
    train, test = digits
    model = SDGSClassifier(random_state=0, penalty=1.0).fit(torch.asarray(train.X), torch.asarray(train.Y))
    assert isinstance(model.predict(torch.asarray(test.X)), np.ndarray)
    assert isinstance(decompose(torch.asarray(train.X), train.Y, tol=0.1, random_state=0).components[0], np.ndarray)


def test_methods_compute_on_the_host(elsewhere, digits):
    train, test = digits
    model = BinaryRelevance().fit(elsewhere(train.X), elsewhere(train.Y))
    expected = BinaryRelevance().fit(train.X, train.Y).predict(test.X)
    np.testing.assert_array_equal(model.predict(elsewhere(test.X)), expected)


@pytest.mark.parametrize("options", [{}, {"huber": 0.1}, {"gamma": np.float64(1), "n_landmarks": 30}])
@pytest.mark.parametrize("missing", [False, True])
@fast_libraries
def test_precision_of_predictions_is_that_of_the_samples(elsewhere, digits, options, missing):
    train, test = digits
    X = test.X.copy()
    X[:3, 5] = np.nan if missing else 0.5
    for fit_dtype, dtype in ((np.float64, np.float32), (np.float32, np.float64)):
        model = SDGSClassifier(random_state=0, penalty=1.0, cv=2, **options).fit(train.X.astype(fit_dtype), train.Y)
        there = elsewhere(X.astype(dtype))
        P = model.predict_proba(there)
        assert P.dtype == there.dtype
        np.testing.assert_allclose(to_host(P), model.predict_proba(X.astype(dtype)), atol=2e-3)
        np.testing.assert_allclose(to_host(model.transform(there)), model.transform(X.astype(dtype)), atol=2e-3)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">i4", "float32", "bool"])
@fast_libraries
def test_classes_of_any_numeric_type(elsewhere, digits, dtype):
    train, test = digits
    y = (train.Y.argmax(axis=1) % 2).astype(dtype)
    model = SDGSClassifier(readout="norm", threshold=np.float32(0.1), random_state=0).fit(elsewhere(train.X), y)
    predicted = to_host(model.predict(elsewhere(test.X)))
    np.testing.assert_array_equal(predicted, model.predict(test.X))
    assert predicted.dtype == y.dtype.newbyteorder("=")


def test_labels_to_explain_may_be_on_a_device(elsewhere, digits):
    train, test = digits
    y = train.Y.argmax(axis=1)
    model = SDGSClassifier(readout="norm", random_state=0).fit(train.X, y)
    parts = model.contributions(elsewhere(test.X[:2]), elsewhere(y[:2]))
    np.testing.assert_array_equal(parts, model.contributions(test.X[:2], y[:2]))


@pytest.mark.parametrize(
    "decision",
    [
        Decision("f1"),
        Decision("f1", at_least_one=True),
        Decision("hamming_loss", at_least_one=True),
        Decision(at_least_one=True, thresholds=np.array([0.2, 0.9, 0.9, 0.9])),
        Decision(thresholds=np.asarray(0.3)),
        Decision(top=2),
    ],
)
def test_decisions_equal_those_of_numpy(elsewhere, decision):
    P = np.random.default_rng(0).random((60, 4)) ** 3
    P[:3], P[3] = 0.01, 0.25  # no likely label, and equal probabilities
    np.testing.assert_array_equal(to_host(decision.decide(elsewhere(P))), decision.decide(P))
