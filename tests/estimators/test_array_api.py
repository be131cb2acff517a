"""Arrays of other libraries: the same as NumPy's, where they are.

scikit-learn hands them on only where SCIPY_ARRAY_API=1 was set before SciPy was loaded, so these tests have a run of
their own: ``make test`` does both. array-api-strict has a device that NumPy cannot read.
"""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

import sdgs
from reference import certificate, huber_certificate
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose, group_lasso
from sdgs._utils._array_api import CudaGraphRunner, on_host, put, to_host
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.decomposition.backends._array_api_alternation import ArrayApiAlternation
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.methods import BinaryRelevance
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features
from sdgs.readout._scaling import mostly_zero

if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("needs SCIPY_ARRAY_API=1 in the environment: see make test", allow_module_level=True)


QUICK = ("torch", "cupy", "cuda")
quick = pytest.mark.parametrize("elsewhere", QUICK, indirect=True)  # what array-api-strict would take long for


@pytest.fixture(params=[*QUICK, "strict"])
def elsewhere(request):
    """A function that takes a NumPy array to another library, or to another device of it."""
    if request.param == "strict":
        xp = pytest.importorskip("array_api_strict")
        make = lambda array: xp.asarray(array, device=xp.Device("device1"))  # noqa: E731
    elif request.param == "cupy":
        make = pytest.importorskip("cupy").asarray
    else:
        torch = pytest.importorskip("torch")
        if request.param == "cuda" and not torch.cuda.is_available():
            pytest.skip("no CUDA device")
        torch.set_num_threads(1)  # batches of small matrices: threads only get in each other's way
        make = lambda array: torch.asarray(array, device="cuda" if request.param == "cuda" else "cpu")  # noqa: E731
    with config_context(array_api_dispatch=True):
        yield make


def same_subspaces(ours, theirs, angle=1e-6):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        other = to_host(other)
        assert mine.shape == other.shape
        assert len(mine) == 0 or subspace_angles(mine.T, other.T).max() < angle


@pytest.fixture
def labelled():
    """Samples with spikes, some without a label, and a label without samples."""
    data = make_label_subspaces(150, 20, 7, n_components=2, noise=0.05, random_state=0)
    X, Y = data.X.copy(), data.Y.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.02] += 3
    Y[:5], Y[:, 3] = 0, 0
    return X, Y


@pytest.mark.parametrize("solver", ["brp", "svd", "brp-fresh"])
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_decompose_is_the_same(elsewhere, labelled, solver, missing):
    X, Y = labelled
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    options = {
        "n_components": [1, 2, 3, 2, 2, 2, 9],
        "residual_size": 0.01,
        "solver": solver,
        "max_iter": 6,
        "random_state": 0,
    }
    expected = decompose(X, Y, **options)
    found = decompose(elsewhere(X), elsewhere(Y), **options)
    assert type(found.components[0]) is type(found.residual) is type(elsewhere(X))
    same_subspaces(expected.components, found.components)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(to_host(found.residual), expected.residual.toarray(), atol=1e-8)
    np.testing.assert_allclose(to_host(found.reconstruct()), expected.reconstruct(), atol=1e-8)
    np.testing.assert_allclose(to_host(found.low_rank(1)), expected.low_rank(1), atol=1e-8)
    ours, theirs = expected.sample(-3), found.sample(-3)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_allclose(to_host(theirs.parts), ours.parts, atol=1e-8)
    np.testing.assert_allclose(to_host(theirs.residual), ours.residual, atol=1e-8)


@pytest.mark.parametrize("gathered", [1 << 30, 20 * 8 * 7])
def test_labels_that_never_meet_are_stacked(elsewhere, labelled, gathered, monkeypatch):
    """In one batch, in parts of it, and with rows that come some after the other."""
    from sdgs.decomposition.backends import _array_api_alternation as _array

    X, _ = labelled
    monkeypatch.setattr(_array, "_GATHERED", gathered)
    monkeypatch.setattr(_array, "_LOOKED_AT", 256)
    label = np.repeat(np.arange(9), [1, 2, 3, 14, 15, 15, 30, 34, 36])
    Y = np.eye(9)[label]
    expected, found = (decompose(Z, Y, n_components=2, random_state=0) for Z in (X, elsewhere(X)))
    same_subspaces(expected.components, found.components)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-9)
    np.testing.assert_allclose(to_host(found.residual), expected.residual.toarray(), atol=1e-8)


def test_float32_stays_float32(elsewhere, labelled, subspaces):
    X, Y = labelled
    single = elsewhere(X.astype(np.float32))
    found = decompose(single, Y, n_components=2, random_state=0)
    assert found.components[0].dtype == found.coefficients[0].dtype == found.residual.dtype == single.dtype
    same_subspaces(
        [C.astype(np.float32) for C in decompose(X, Y, n_components=2, random_state=0).components],
        found.components,
        1e-2,
    )
    result = group_lasso(single, subspaces(4, 2, 20), 0.3, tol=1e-5)
    assert result.codes.dtype == single.dtype
    assert bool(to_host(result.converged).all())
    with pytest.raises(ValueError, match="tol must be at least"):
        group_lasso(single, subspaces(4, 2, 20), 0.3, tol=1e-9)


def test_a_decomposition_goes_on_where_it_was(elsewhere, labelled, tmp_path, monkeypatch):
    X, Y = labelled
    options = {"n_components": 2, "random_state": 0, "checkpoint": tmp_path}
    undisturbed = decompose(elsewhere(X), Y, n_components=2, random_state=0)
    assert undisturbed.n_iter > 3
    sweep, swept = ArrayApiAlternation.sweep, []

    def interrupted(state):
        swept.append(state.sweeps)
        if len(swept) == 3:
            raise KeyboardInterrupt
        sweep(state)

    monkeypatch.setattr(ArrayApiAlternation, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        decompose(elsewhere(X), Y, **options)
    gone_on = decompose(elsewhere(X), Y, **options)
    assert swept[3] > 0
    number = len(swept)
    again = decompose(elsewhere(X), Y, **options)
    assert len(swept) == number  # found, not computed
    for results in zip(undisturbed.components, gone_on.components, again.components, strict=True):
        np.testing.assert_allclose(to_host(results[0]), to_host(results[1]), atol=1e-10)  # but for rounding
        np.testing.assert_array_equal(to_host(results[1]), to_host(results[2]))
    np.testing.assert_allclose(gone_on.objective, undisturbed.objective, rtol=1e-12)


@pytest.mark.parametrize("huber", [None, 0.05, 0.3])
@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize(("k", "r", "p", "alpha"), [(8, 3, 40, 0.1), (24, 3, 20, 0.15), (12, 1, 10, 0.02)])
def test_codes_are_the_same_and_certified(elsewhere, subspaces, k, r, p, alpha, huber, missing):
    components = [C[:1] if i == 2 else C[:0] if i == 4 else C for i, C in enumerate(subspaces(k, r, p))]
    rng = np.random.default_rng(1)
    X = rng.standard_normal((9, p)) / np.sqrt(p)
    X[rng.random(X.shape) < missing] = np.nan
    X[3] = 0
    if missing:
        X[4] = np.nan
    expected = group_lasso(X, components, alpha, huber=huber, tol=1e-9)
    result = group_lasso(elsewhere(X), components, alpha, huber=huber, tol=1e-9)
    codes = to_host(result.codes)
    np.testing.assert_allclose(codes, expected.codes.toarray(), atol=2e-4)
    np.testing.assert_allclose(to_host(result.l1_norms()), expected.l1_norms(), atol=1e-3)
    assert to_host(result.converged).all()
    for x, b, gap in zip(X, codes, to_host(result.gap), strict=True):
        if not np.nan_to_num(x).any():
            continue
        if huber is None and not missing:
            independent, _, _ = certificate(x, components, b, alpha)
        else:
            independent = huber_certificate(x, components, b, alpha, huber or 1e9)
        assert independent <= 2e-9
        assert gap <= 1e-9
    if huber is None:
        assert result.residual is None
    else:
        np.testing.assert_allclose(to_host(result.residual), expected.residual.toarray(), atol=1e-4)


def test_codes_at_the_edges(elsewhere, subspaces):
    components = subspaces(5, 2, 12)
    X = np.random.default_rng(0).standard_normal((6, 12))
    largest = max(np.linalg.norm(C @ x) for C in components for x in X)
    assert not to_host(group_lasso(elsewhere(X), components, 1.0001 * largest).codes).any()
    least = group_lasso(elsewhere(X), components, 0)
    np.testing.assert_allclose(to_host(least.codes), group_lasso(X, components, 0).codes.toarray(), atol=1e-10)
    tiny = group_lasso(elsewhere(X), components, 1e-9)  # too small for a device: the host does it
    np.testing.assert_allclose(to_host(tiny.codes), group_lasso(X, components, 1e-9).codes.toarray(), atol=1e-6)
    none = group_lasso(elsewhere(X), [C[:0] for C in components], 0.1, huber=0.5)
    assert none.codes.shape == (6, 0)
    np.testing.assert_allclose(to_host(none.residual), X - X.clip(-0.5, 0.5))
    for scale in (1e-150, 1e150):
        scaled = group_lasso(elsewhere(X * scale), components, 0.5 * scale)
        np.testing.assert_allclose(
            to_host(scaled.codes) / scale, group_lasso(X, components, 0.5).codes.toarray(), atol=1e-2
        )
    wild = X.copy()
    wild[:, 0] = 1e9
    for huber in (0.05, 0.2):
        ours, theirs = (group_lasso(Z, components, 0.3, huber=huber, tol=1e-9) for Z in (wild, elsewhere(wild)))
        np.testing.assert_allclose(to_host(theirs.codes), ours.codes.toarray(), atol=1e-4)
    with pytest.raises(ValueError, match="norm overflows"):
        group_lasso(elsewhere(np.full((2, 12), 1e308)), components, 0.3)
    with pytest.warns(ConvergenceWarning, match="of 6 rows did not reach"):
        group_lasso(elsewhere(X), subspaces(30, 2, 12), 0.01, max_iter=1)


def test_of_twins_the_first_takes_all(elsewhere, subspaces):
    first, other = subspaces(2, 3, 12)
    rng = np.random.default_rng(1)
    twin = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ first
    X = rng.standard_normal((20, 3)) @ first + 0.1 * rng.standard_normal((20, 12))
    norms = to_host(group_lasso(elsewhere(X), [first, twin, other], 0.2, tol=1e-5).l1_norms())
    assert (norms[:, 0] > 0).all()
    assert not norms[:, 1].any()


def test_the_host_takes_what_is_left(elsewhere, subspaces, monkeypatch):
    """Rows that are not done after all rounds."""
    from sdgs.coding.array_api import _huber_loss_batch as _array_robust
    from sdgs.coding.array_api import _squared_loss_batch as _array

    for module in (_array, _array_robust):
        monkeypatch.setattr(module, "ROUNDS", 1)
    components = subspaces(20, 2, 12)
    X = np.random.default_rng(0).standard_normal((5, 12))
    for huber in (None, 0.4):
        result = group_lasso(elsewhere(X), components, 0.1, huber=huber)
        assert to_host(result.converged).all()
        expected = group_lasso(X, components, 0.1, huber=huber).codes.toarray()
        np.testing.assert_allclose(to_host(result.codes), expected, atol=1e-2)


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


@pytest.mark.parametrize("elsewhere", [*QUICK, "strict"], indirect=True)
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
    [(where, case) for where in QUICK for case in CASES]
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
    same_subspaces(expected.components_, model.components_)
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


@quick
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


@quick
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
    from sdgs.coding.array_api import _coder as _array_codes
    from sdgs.estimators import _base
    from sdgs.readout import _features as _views
    from sdgs.selection import _cross_fit as _search

    train, test = digits
    for module, name, size in (
        (_views, "WIDEST", 60),
        (_search, "MOST_ROWS", 100),
        (_views, "_TOGETHER", 300),
        (_array_codes, "_BYTES", 1),
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


@quick
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


@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("together", [1 << 29, 1 << 11])
def test_sweeps_are_done_in_the_same_memory(labelled, missing, together, monkeypatch):
    """What is recorded is read from and written to where it was; however much is looked at in one go."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("sdgs.decomposition.backends._array_api_alternation._GATHERED", together)
    monkeypatch.setattr("sdgs.decomposition.backends._array_api_alternation._LOOKED_AT", together)
    X, Y = labelled
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    here = DenseAlternation(X, rows, np.full(len(rows), 2), 20, "brp", 0)
    with config_context(array_api_dispatch=True):
        state = ArrayApiAlternation(torch.asarray(X), rows, np.full(len(rows), 2), 20, "brp", 0)
        places = []
        for number in range(5):
            here.sweep()
            state.sweep()
            if number == 3:
                kept = {**state.state(), **state.working_state()}
                state.restore({name: array.copy() for name, array in kept.items()}, state.sweeps)
            np.testing.assert_allclose(state.error(), here.error())
            arrays = [state.R, *(array for batch in state.batches for array in (batch.rows, batch.U, batch.C))]
            places.append([array.data_ptr() for array in arrays])
    assert all(later == places[0] for later in places)


def test_of_nested_subspaces_one_takes_all_as_on_the_host(elsewhere, subspaces):
    B = subspaces(1, 3, 8)[0]
    for components in ([B[:1], B[:2]], [B[:2], B[:1]]):
        for x in (B[:1], B[:1] + 0.3 * B[1:2]):
            expected = group_lasso(x, components, 0.1).l1_norms()
            found = to_host(group_lasso(elsewhere(x), components, 0.1).l1_norms())
            np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"huber": 0.1}, {"gamma": np.float64(1), "n_landmarks": 30}])
@pytest.mark.parametrize("missing", [False, True])
@quick
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
@quick
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


def test_gradients_are_not_followed(labelled, subspaces):
    torch = pytest.importorskip("torch")
    X, Y = labelled
    with config_context(array_api_dispatch=True):
        followed = torch.asarray(X).requires_grad_()
        assert not decompose(followed, Y, n_components=2, tol=0.1, random_state=0).residual.requires_grad
        assert not group_lasso(followed, subspaces(3, 2, 20), 0.5).codes.requires_grad


def test_the_largest_entries_of_many_are_found(elsewhere, monkeypatch):
    """Some after the other, with more candidates on the way than are kept."""
    from sdgs.decomposition.backends import _array_api_alternation as _array

    monkeypatch.setattr(_array, "_LOOKED_AT", 256)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 40)), rng.random((300, 3)) < 0.4
    options = {"n_components": 2, "residual_size": 50, "tol": 0.1, "random_state": 0}
    expected, found = (decompose(Z, Y, **options) for Z in (X, elsewhere(X)))
    assert expected.residual.nnz == 50
    np.testing.assert_allclose(to_host(found.residual), expected.residual.toarray(), atol=1e-9)


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


def test_no_more_iterations_than_asked_for(elsewhere, subspaces):
    X = np.random.default_rng(0).standard_normal((6, 12))
    with pytest.warns(ConvergenceWarning):
        result = group_lasso(elsewhere(X), subspaces(30, 2, 12), 0.01, max_iter=1)
    assert to_host(result.n_iter).max() <= 2  # one, and the look at all groups
