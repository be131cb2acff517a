"""Arrays of other libraries: the same as NumPy's, where they are.

scikit-learn accepts them only if SCIPY_ARRAY_API=1 was set before SciPy was loaded, so tests with the marker
``array_api`` run separately: ``make test`` does both. array-api-strict has a device that NumPy cannot read.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sdgs
from helpers import FAST_LIBRARIES, assert_same_subspaces, fast_libraries
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose
from sdgs._utils._array_api import CudaGraphRunner, on_host, put, to_host
from sdgs.datasets import make_composite_digits
from sdgs.methods import BinaryRelevance
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features
from sdgs.readout._scaling import mostly_zero

pytestmark = pytest.mark.array_api

CASES = {
    "plain": {},
    "huber": {"huber": 0.1},
    "missing": {},
    "columns": {"scaling": "columns"},
    "idf": {"scaling": "idf", "penalty": 1.0},
    "as they are": {"scaling": None, "penalty": 1.0},
    "the paper's": {"readout": "norm"},
    "a kernel": {"gamma": 1.0, "n_landmarks": 30, "penalty": 1.0},
    "thresholds": {"decision": "thresholds", "penalty": 1.0},
    "two labels": {"decision": 2, "penalty": 1.0},
    "hamming": {"metric": "hamming_loss", "at_least_one": True, "penalty": 1.0},
    "words": {"penalty": 1.0},
}


@pytest.fixture(scope="module")
def digits():
    return tuple(
        make_composite_digits(n, max_labels=2, subset=subset, random_state=0)
        for n, subset in ((90, "train"), (40, "test"))
    )


@pytest.mark.parametrize("elsewhere", [*FAST_LIBRARIES, "strict"], indirect=True)
def test_labels_that_listen_to_words_of_their_own(elsewhere, own_words):
    X, Y = own_words
    assert mostly_zero(elsewhere(X))
    options = {"n_components": 2, "scaling": "rows", "penalty": 1.0, "random_state": 0}
    there, here, shared = (SDGSClassifier(**options) for _ in range(3))
    there.fit(elsewhere(X), elsewhere(Y))
    here.fit(X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdgs.selection._cross_fit._PARTIALITIES", ())
        shared.fit(X, Y)
    expected = here.decision_function(X)
    np.testing.assert_allclose(to_host(there.decision_function(elsewhere(X))), expected, atol=5e-3, rtol=1e-3)
    assert np.abs(shared.decision_function(X) - expected).max() > 0.1


@pytest.mark.parametrize(
    ("elsewhere", "case"),
    [(where, case) for where in FAST_LIBRARIES for case in CASES]
    + [("strict", "plain"), ("strict", "a kernel"), ("strict", "words")],
    indirect=["elsewhere"],
)
def test_the_classifier_is_the_same(elsewhere, digits, case):
    train, test = digits
    X, X_test = train.X.copy(), test.X.copy()
    if case in ("missing", "a kernel"):
        for Z in (X, X_test):
            Z[np.random.default_rng(0).random(Z.shape) < 0.1] = np.nan
    if case == "words":
        X, X_test = (np.where(Z > 15, Z, 0) for Z in (X, X_test))
        assert mostly_zero(X)
        assert mostly_zero(elsewhere(X))
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
    if case != "the paper's":
        assert model.penalty_ == expected.penalty_
        np.testing.assert_allclose(to_host(model.predict_proba(there)), expected.predict_proba(X_test), atol=1e-3)


def test_images_of_samples_that_are_close_to_each_other(elsewhere):
    """Positive samples of unit norm in float32: their distances are small differences of squares."""
    X = 500 + np.random.default_rng(0).standard_normal((80, 4))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, 8, 0, None)
    setting = PipelineParameters(None, 1, 0.1, gamma=1.0)
    view = fit_features(X, csr_array(np.ones((80, 1))), setting, training)
    for kernel in ("laplacian", "rbf"):
        chart = replace(view.chart, kernel=kernel)
        np.testing.assert_allclose(to_host(chart.image(elsewhere(X), None)), chart.image(X, None), atol=2e-3)


def test_a_model_is_on_the_host_wherever_it_was_learnt(elsewhere, digits, tmp_path):
    train, test = digits
    model = SDGSClassifier(random_state=0, penalty=1.0).fit(elsewhere(train.X), train.Y)
    assert all(on_host(C) for C in model.components_)
    np.testing.assert_array_equal(model.predict(test.X), to_host(model.predict(elsewhere(test.X))))
    model.save(tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(test.X), model.predict_proba(test.X))
    np.testing.assert_array_equal(model.contributions(elsewhere(test.X[:3])), model.contributions(test.X[:3]))


@fast_libraries
def test_targets_come_back_as_they_came(elsewhere, digits):
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
    flags = fitted(elsewhere(train.Y.astype(bool))).predict(there)
    assert to_host(flags).dtype == bool
    classes = train.Y.argmax(axis=1)
    numbers = fitted(elsewhere(classes)).predict(there)
    assert type(numbers) is type(there)
    words = fitted(np.array(names)[classes]).predict(there)
    assert [f"digit {i}" for i in to_host(numbers)] == list(words)
    P = to_host(fitted(elsewhere(classes)).predict_proba(there))
    np.testing.assert_allclose(P.sum(axis=1), 1)


@fast_libraries
def test_the_search_is_the_same(elsewhere, digits):
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


def test_many_columns_and_many_rows(elsewhere, digits, monkeypatch):
    """Labels are read from some columns, chosen and tried on some rows; everything goes by blocks."""
    from sdgs.estimators import _base
    from sdgs.readout import _features as _views
    from sdgs.selection import _cross_fit as _search

    train, test = digits
    for module, name, size in (
        (_views, "WIDEST", 60),
        (_search, "MOST_ROWS", 100),
        (_views, "_TOGETHER", 300),
        (_views, "_DEVICE_BYTES", 1),
        (_views, "_BLOCK_BYTES", 1),
        (_base, "_BLOCK_BYTES", 1),
    ):
        monkeypatch.setattr(module, name, size)
    X = np.tile(train.X, (13, 1))  # more than the 1024 rows that a block has at least
    Y = np.tile(train.Y, (13, 1))
    expected = SDGSClassifier(random_state=0, penalty=1.0).fit(X, Y)
    model = SDGSClassifier(random_state=0, penalty=1.0).fit(elsewhere(X), Y)
    np.testing.assert_array_equal(model._members[0].view.columns, expected._members[0].view.columns)
    many = np.tile(test.X, (30, 1))
    np.testing.assert_allclose(to_host(model.predict_proba(elsewhere(many))), expected.predict_proba(many), atol=1e-3)


def test_a_fit_goes_on_where_it_was(elsewhere, digits, tmp_path):
    train, test = digits
    options = {"random_state": 0, "penalty": 1.0, "checkpoint": tmp_path}
    first = SDGSClassifier(**options).fit(elsewhere(train.X), train.Y)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = SDGSClassifier(**options).fit(elsewhere(train.X), train.Y)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    np.testing.assert_array_equal(first.predict_proba(test.X), again.predict_proba(test.X))


@pytest.mark.parametrize("estimator", [SDGSClassifier(penalty=1.0), SDGSClassifierCV(budget=1, penalties=1.0)])
def test_scikit_learns_own_checks(estimator):
    """All but one: models take arrays of any library, not only of that which they were fitted to."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "_yield_array_api_checks"):
        pytest.skip("this scikit-learn has none")
    name = type(estimator).__name__
    done = 0
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
        done += 1
    assert done >= 3


def test_without_dispatch_they_become_numpys(digits):
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


def test_put(elsewhere):
    flat = elsewhere(np.zeros((4, 2)))
    changed = put(flat, elsewhere(np.array([2, 0])), elsewhere(np.array([[1.0, 2], [3, 4]])))
    np.testing.assert_array_equal(to_host(changed), [[3, 4], [0, 0], [1, 2], [0, 0]])


@fast_libraries
@pytest.mark.parametrize("looks", [False, True])
def test_work_is_done_every_time_whether_or_not_it_can_be_recorded(elsewhere, looks):
    total = elsewhere(np.zeros(3))
    repeated = CudaGraphRunner(total)

    def work():
        if looks:
            float(total[0])  # a device must finish what it does for that, which no record has
        total[...] = total + 1

    for _ in range(5):
        repeated(work)
    np.testing.assert_array_equal(to_host(total), 5)
    on_cuda = getattr(total, "is_cuda", False)
    assert (repeated._graph is not None) == (on_cuda and not looks)
    if on_cuda:
        import torch

        assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_work_is_recorded_the_second_time_and_replayed_from_then_on(monkeypatch):
    done = []
    monkeypatch.setattr(
        "sdgs._utils._array_api._recorded", lambda _, device: SimpleNamespace(replay=lambda: done.append(device))
    )
    repeated = CudaGraphRunner(np.zeros(1))
    repeated._device = "one"
    for _ in range(4):
        repeated(lambda: done.append("here"))
    assert done == ["here", "one", "one", "one"]


@pytest.mark.parametrize("options", [{}, {"huber": 0.1}, {"gamma": np.float64(1), "n_landmarks": 30}])
@pytest.mark.parametrize("missing", [False, True])
@fast_libraries
def test_samples_of_another_precision_than_those_of_the_fit(elsewhere, digits, options, missing):
    train, test = digits
    X = test.X.copy()
    X[:3, 5] = np.nan if missing else 0.5
    for fitted, asked in ((np.float64, np.float32), (np.float32, np.float64)):
        model = SDGSClassifier(random_state=0, penalty=1.0, cv=2, **options).fit(train.X.astype(fitted), train.Y)
        there = elsewhere(X.astype(asked))
        P = model.predict_proba(there)
        assert P.dtype == there.dtype
        np.testing.assert_allclose(to_host(P), model.predict_proba(X.astype(asked)), atol=2e-3)
        np.testing.assert_allclose(to_host(model.transform(there)), model.transform(X.astype(asked)), atol=2e-3)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">i4", "float32", "bool"])
@fast_libraries
def test_classes_of_any_kind_of_number(elsewhere, digits, dtype):
    train, test = digits
    y = (train.Y.argmax(axis=1) % 2).astype(dtype)
    model = SDGSClassifier(readout="norm", threshold=np.float32(0.1), random_state=0).fit(elsewhere(train.X), y)
    found = to_host(model.predict(elsewhere(test.X)))
    np.testing.assert_array_equal(found, model.predict(test.X))
    assert found.dtype == y.dtype.newbyteorder("=")


def test_labels_to_explain_may_be_there_too(elsewhere, digits):
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
def test_decisions_are_the_same(elsewhere, decision):
    P = np.random.default_rng(0).random((60, 4)) ** 3
    P[:3], P[3] = 0.01, 0.25  # next to nothing, and all the same
    np.testing.assert_array_equal(to_host(decision.labels(elsewhere(P))), decision.labels(P))
