"""Codes of arrays of other libraries agree with those of NumPy arrays."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from certificates import group_lasso_violations
from reference import certificate, huber_certificate
from sdgs import group_lasso
from sdgs._utils._array_api import to_host
from sdgs.coding._coding_problem import CodingProblem, Dictionary
from sdgs.coding.array_api._device_coder import code_on_device
from sdgs.coding.array_api._huber_loss_batch import solve_huber_loss_on_device
from sdgs.coding.array_api._padded_dictionary import pad_dictionary
from sdgs.coding.array_api._squared_loss_batch import solve_squared_loss_on_device

pytestmark = pytest.mark.array_api


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


def test_extreme_arguments(elsewhere, subspaces):
    components = subspaces(5, 2, 12)
    X = np.random.default_rng(0).standard_normal((6, 12))
    largest = max(np.linalg.norm(C @ x) for C in components for x in X)
    assert not to_host(group_lasso(elsewhere(X), components, 1.0001 * largest).codes).any()
    least_squares = group_lasso(elsewhere(X), components, 0)
    np.testing.assert_allclose(to_host(least_squares.codes), group_lasso(X, components, 0).codes.toarray(), atol=1e-10)
    tiny = group_lasso(elsewhere(X), components, 1e-9)  # too small for a device: solved on the host
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
        expected, actual = (group_lasso(Z, components, 0.3, huber=huber, tol=1e-9) for Z in (wild, elsewhere(wild)))
        np.testing.assert_allclose(to_host(actual.codes), expected.codes.toarray(), atol=1e-4)
    with pytest.raises(ValueError, match="norm overflows"):
        group_lasso(elsewhere(np.full((2, 12), 1e308)), components, 0.3)
    with pytest.warns(ConvergenceWarning, match="of 6 rows did not reach"):
        group_lasso(elsewhere(X), subspaces(30, 2, 12), 0.01, max_iter=1)


def test_the_first_of_two_equal_subspaces_gets_the_code(elsewhere, subspaces):
    first, other = subspaces(2, 3, 12)
    rng = np.random.default_rng(1)
    twin = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ first
    X = rng.standard_normal((20, 3)) @ first + 0.1 * rng.standard_normal((20, 12))
    norms = to_host(group_lasso(elsewhere(X), [first, twin, other], 0.2, tol=1e-5).l1_norms())
    assert (norms[:, 0] > 0).all()
    assert not norms[:, 1].any()


def test_one_of_two_nested_subspaces_gets_the_code_as_on_the_host(elsewhere, subspaces):
    B = subspaces(1, 3, 8)[0]
    for components in ([B[:1], B[:2]], [B[:2], B[:1]]):
        for x in (B[:1], B[:1] + 0.3 * B[1:2]):
            expected = group_lasso(x, components, 0.1).l1_norms()
            norms = to_host(group_lasso(elsewhere(x), components, 0.1).l1_norms())
            np.testing.assert_allclose(norms, expected, atol=1e-3)


def coding_problem(components, alpha, mu=None, tol=1e-6):
    groups = np.cumsum([0, *(len(C) for C in components)])
    return CodingProblem(Dictionary(np.vstack(components), groups), alpha, mu, mu is not None, tol, 2000)


@pytest.mark.parametrize("mu", [None, 0.4])
def test_the_host_solves_rows_that_are_left(elsewhere, subspaces, mu):
    """Rows that have not converged after all rounds."""
    components = subspaces(20, 2, 12)
    X = np.random.default_rng(0).standard_normal((5, 12))
    problem = coding_problem(components, 0.1, mu)
    dictionary = pad_dictionary(problem.C, problem.starts, elsewhere(X))
    norms = np.linalg.norm(X, axis=1)
    if mu is None:
        c, alphas = elsewhere((X / norms[:, None]) @ problem.C.T), elsewhere(0.1 / norms)
        G = elsewhere(problem.C @ problem.C.T)
        b, gap, _ = solve_squared_loss_on_device(c, G, dictionary, alphas, problem, max_rounds=1)
        codes = to_host(b) * norms[:, None]
    else:
        codes, gap, _, _ = solve_huber_loss_on_device(elsewhere(X), dictionary, problem, max_rounds=1)
        codes = to_host(codes)
    assert (to_host(gap) <= 1e-6).all()
    np.testing.assert_allclose(codes, group_lasso(X, components, 0.1, huber=mu).codes.toarray(), atol=1e-2)


@pytest.mark.parametrize("mu", [None, 0.4])
def test_batches_do_not_change_the_codes(elsewhere, subspaces, mu):
    """More rows than the smallest batch has."""
    X = np.random.default_rng(0).standard_normal((1100, 12))
    problem = coding_problem(subspaces(5, 2, 12), 0.5, mu)
    whole, batches = (code_on_device(elsewhere(X), problem, batch_bytes=size) for size in (1 << 29, 1))
    np.testing.assert_allclose(to_host(batches.codes), to_host(whole.codes), atol=1e-3)
    assert to_host(batches.converged).all()


def test_float32_stays_float32(elsewhere, subspaces):
    X = elsewhere(np.random.default_rng(0).standard_normal((150, 20)).astype(np.float32))
    result = group_lasso(X, subspaces(4, 2, 20), 0.3, tol=1e-5)
    assert result.codes.dtype == X.dtype
    assert bool(to_host(result.converged).all())
    with pytest.raises(ValueError, match="tol must be at least"):
        group_lasso(X, subspaces(4, 2, 20), 0.3, tol=1e-9)


def test_max_iter_is_respected(elsewhere, subspaces):
    X = np.random.default_rng(0).standard_normal((6, 12))
    with pytest.warns(ConvergenceWarning):
        result = group_lasso(elsewhere(X), subspaces(30, 2, 12), 0.01, max_iter=1)
    assert to_host(result.n_iter).max() <= 2  # one, and the check of all groups


def test_gradients_are_not_tracked(subspaces):
    torch = pytest.importorskip("torch")
    with config_context(array_api_dispatch=True):
        tracked = torch.asarray(np.random.default_rng(0).standard_normal((150, 20))).requires_grad_()
        assert not group_lasso(tracked, subspaces(3, 2, 20), 0.5).codes.requires_grad


@pytest.mark.parametrize(("huber", "missing"), [(None, False), (0.05, False), (0.05, True), (None, True)])
@pytest.mark.parametrize("alpha", [0.0, 0.03])
def test_the_gap_is_that_of_the_code_after_rounding(elsewhere, subspaces, alpha, huber, missing):
    if alpha == 0 and (huber is not None or missing):
        return
    first, other = subspaces(2, 2, 6)
    near = np.linalg.qr((first + 1e-3 * np.random.default_rng(0).standard_normal(first.shape)).T)[0].T
    components = [C.astype(np.float32) for C in (first, other, near, np.eye(6)[:1])]
    X = np.random.default_rng(1).standard_normal((8, 6)).astype(np.float32)
    X[2:4, 0] = 1234567
    if missing:
        X[4:, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = group_lasso(elsewhere(X), components, alpha, huber=huber)
    assert group_lasso_violations(result, X, components, alpha, huber) == []
