"""The group lasso with a sparse residual, and with entries that were not observed."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from certificates import group_lasso_violations
from reference import group_lasso_by_proximal_gradient, huber_certificate, huber_objective
from sdgs import group_lasso


def samples(n, p, seed=1, missing=0.0, spikes=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) / np.sqrt(p)
    X[rng.random((n, p)) < spikes] += 3.0
    X[rng.random((n, p)) < missing] = np.nan
    return X


@pytest.mark.slow
@pytest.mark.parametrize(("k", "r", "p"), [(4, 3, 40), (8, 3, 20), (12, 2, 15), (5, 1, 20)])
@pytest.mark.parametrize(("alpha", "mu"), [(0.05, 0.02), (0.05, 0.1), (0.2, 0.1), (0.1, 10.0)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_agrees_with_a_slow_reference(subspaces, k, r, p, alpha, mu, missing):
    components = subspaces(k, r, p)
    for x in samples(3, p, missing=missing, spikes=0.1):
        result = group_lasso([x], components, alpha, huber=mu, tol=1e-9)
        slow = group_lasso_by_proximal_gradient(x, components, alpha, mu, 5000)
        value = huber_objective(x, components, result.codes.toarray()[0], alpha, mu)
        assert value <= huber_objective(x, components, slow, alpha, mu) * (1 + 1e-7)
        assert value == pytest.approx(huber_objective(x, components, slow, alpha, mu), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.05, 0.2])
def test_agrees_with_skglm_on_a_larger_dictionary(subspaces, mu):
    """The residual is a code over the unit vectors: one more group per entry, with weight mu / alpha."""
    from skglm import GroupLasso

    components, p, alpha = subspaces(6, 3, 15), 15, 0.1
    larger = np.vstack([*components, np.eye(p)]).T
    for x in samples(3, p, spikes=0.15):
        solver = GroupLasso(
            groups=[*([3] * 6), *([1] * p)],
            alpha=alpha / p,
            weights=np.array([1.0] * 6 + [mu / alpha] * p),
            fit_intercept=False,
            tol=1e-12,
            max_iter=500,
        )
        theirs = solver.fit(larger, x).coef_
        ours = group_lasso([x], components, alpha, huber=mu, tol=1e-10)
        value = huber_objective(x, components, ours.codes.toarray()[0], alpha, mu)
        assert value == pytest.approx(huber_objective(x, components, theirs[:18], alpha, mu), rel=1e-6)
        np.testing.assert_allclose(ours.residual.toarray()[0], theirs[18:], atol=1e-4)


def test_agrees_with_the_squared_loss_on_a_larger_dictionary(subspaces):
    """At mu = alpha the residual is a code over the unit vectors like any other."""
    components, X = subspaces(5, 2, 12), samples(20, 12, spikes=0.1)
    robust = group_lasso(X, components, 0.1, huber=0.1, tol=1e-10)
    plain = group_lasso(X, [*components, *np.eye(12)[:, None]], 0.1, tol=1e-10)
    np.testing.assert_allclose(robust.codes.toarray(), plain.codes.toarray()[:, :10], atol=1e-5)
    np.testing.assert_allclose(robust.residual.toarray(), plain.codes.toarray()[:, 10:], atol=1e-5)


def test_a_large_mu_gives_the_squared_loss(subspaces):
    components, X = subspaces(8, 3, 30), samples(30, 30, spikes=0.05)
    plain = group_lasso(X, components, 0.1, tol=1e-9)
    for mu in (1e3, 1e12):
        robust = group_lasso(X, components, 0.1, huber=mu, tol=1e-9)
        np.testing.assert_allclose(robust.codes.toarray(), plain.codes.toarray(), atol=1e-5)
        assert robust.residual.nnz == 0


def test_groups_of_one_coordinate_have_a_closed_form():
    X = np.array([[3.0, -3.0, 0.5, 0.05]])
    # mu above alpha: soft thresholding, and the residual stays empty; mu below: the residual takes it all.
    result = group_lasso(X, list(np.eye(4)[:, None]), 0.2, huber=0.3, tol=1e-12)
    np.testing.assert_allclose(result.codes.toarray(), [[2.8, -2.8, 0.3, 0.0]], atol=1e-9)
    assert result.residual.nnz == 0
    result = group_lasso(X, list(np.eye(4)[:, None]), 0.2, huber=0.1)
    assert result.codes.nnz == 0
    np.testing.assert_allclose(result.residual.toarray(), [[2.9, -2.9, 0.4, 0.0]])


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    r=st.integers(1, 4),
    p=st.integers(5, 12),
    alpha=st.floats(0.01, 1.0),
    mu=st.floats(0.005, 2.0),
    missing=st.sampled_from([0.0, 0.2, 0.9]),
    scale=st.sampled_from([1e-150, 1e-9, 1.0, 1e9, 1e150]),
    twins=st.booleans(),
)
def test_the_gap_is_correct_and_small(seed, k, r, p, alpha, mu, missing, scale, twins):
    rng = np.random.default_rng(seed)
    components = [np.linalg.qr(rng.standard_normal((p, min(r, p))))[0].T for _ in range(k)]
    if twins:
        components.append(components[0])
    X = samples(3, p, seed, missing, spikes=0.2)
    X[0] = 0.0
    result = group_lasso(scale * X, components, scale * alpha, huber=scale * mu)
    assert result.converged.all()
    assert (result.gap <= 1e-6).all()
    codes = result.codes.toarray() / scale
    for x, b, s in zip(X, codes, result.residual.toarray() / scale, strict=True):
        assert np.isfinite(b).all()
        if np.nan_to_num(x).any():
            assert huber_certificate(x, components, b, alpha, mu) <= 3e-6
            error = np.where(np.isnan(x), 0.0, np.nan_to_num(x) - b @ np.vstack(components))
            np.testing.assert_allclose(s, np.sign(error) * np.maximum(np.abs(error) - mu, 0), atol=1e-7)
        else:
            assert not b.any()


def test_the_code_is_zero_from_alpha_max_on(subspaces):
    components, X, mu = subspaces(6, 2, 20), samples(5, 20, spikes=0.1, missing=0.1), 0.1
    theta = np.nan_to_num(np.clip(X, -mu, mu))
    for x, t in zip(X, theta, strict=True):
        alpha = max(np.linalg.norm(C @ t) for C in components)
        assert group_lasso([x], components, alpha * (1 + 1e-9), huber=mu).codes.nnz == 0
        assert group_lasso([x], components, alpha * 0.999, huber=mu, tol=1e-9).codes.nnz > 0


@pytest.mark.parametrize("size", [1.0, 1e3, 1e9, 1e200])
def test_the_effect_of_a_corrupted_entry_on_the_code_is_bounded(subspaces, size):
    components, X = subspaces(6, 3, 40), samples(10, 40)
    clean = group_lasso(X, components, 0.1, huber=0.05, tol=1e-9)
    X[:, 7] = size
    dirty = group_lasso(X, components, 0.1, huber=0.05, tol=1e-9)
    assert dirty.converged.all()
    moved = np.abs(dirty.codes.toarray() - clean.codes.toarray()).max()
    assert 0 < moved < 0.2
    # The residual shows the entry and its size.
    np.testing.assert_allclose(dirty.residual.toarray()[:, 7], size, rtol=0.5)
    # Beyond what a code can reach only the sign of the entry matters.
    if size > 1:
        X[:, 7] = 1e4
        other = group_lasso(X, components, 0.1, huber=0.05, tol=1e-9)
        np.testing.assert_allclose(dirty.codes.toarray(), other.codes.toarray(), atol=1e-5)


def test_a_code_may_follow_a_large_entry():
    """With mu above alpha it is cheaper to explain a large entry by a label than by the residual."""
    x = np.zeros((1, 5))
    x[0, 0] = 1e4
    result = group_lasso(x, [np.eye(5)[:1]], 0.1, huber=1.0)
    np.testing.assert_allclose(result.codes.toarray(), [[1e4 - 0.1]])
    assert result.residual.nnz == 0


def test_missing_entries_are_ignored(subspaces):
    """Rows with missing entries agree with the reference, and complete rows with the squared loss."""
    components, X = subspaces(6, 3, 30), samples(20, 30)
    plain = group_lasso(X, components, 0.05, tol=1e-10)
    gaps = X.copy()
    gaps[0, :20] = np.nan
    with_gaps = group_lasso(gaps, components, 0.05, tol=1e-10)
    np.testing.assert_allclose(with_gaps.codes.toarray()[1:], plain.codes.toarray()[1:], atol=1e-6)
    assert with_gaps.residual is None
    slow = group_lasso_by_proximal_gradient(gaps[0], components, 0.05, np.inf, 5000)
    np.testing.assert_allclose(with_gaps.codes.toarray()[0], slow, atol=1e-4)
    nothing = group_lasso(np.full((2, 30), np.nan), components, 0.05, huber=0.1)
    assert nothing.codes.nnz == nothing.residual.nnz == 0
    assert nothing.converged.all()


def test_forms_of_input_and_threads_agree(subspaces):
    components = [*subspaces(5, 3, 20), np.zeros((0, 20))]
    X = samples(2500, 20, missing=0.1, spikes=0.1)
    result = group_lasso(X, components, 0.05, huber=0.1)
    assert result.groups[-1] == 15
    for other in (
        group_lasso(csr_array(X), components, 0.05, huber=0.1),
        group_lasso(X, components, 0.05, huber=0.1, n_jobs=2),
    ):
        np.testing.assert_array_equal(other.codes.toarray(), result.codes.toarray())
        np.testing.assert_array_equal(other.residual.toarray(), result.residual.toarray())
    single = group_lasso(X.astype(np.float32), [C.astype(np.float32) for C in components], 0.05, huber=0.1, tol=1e-4)
    assert single.codes.dtype == single.residual.dtype == np.float32
    np.testing.assert_allclose(single.codes.toarray(), result.codes.toarray(), atol=5e-3)


def test_the_samples_are_not_changed(subspaces):
    X = samples(10, 20, missing=0.2)
    before = X.copy()
    group_lasso(X, subspaces(3, 2, 20), 0.1, huber=0.1)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"huber": 0.0}, "huber must be"),
        ({"huber": -1.0}, "huber must be"),
        ({"huber": np.nan}, "huber must be"),
        ({"huber": "much"}, "huber must be"),
        ({"huber": 0.1, "alpha": 0.0}, "alpha must be positive"),
    ],
)
def test_bad_input(subspaces, options, message):
    options = {"alpha": 0.1, **options}
    with pytest.raises(ValueError, match=message):
        group_lasso(samples(2, 10), subspaces(2, 2, 10), **options)


def test_rows_that_overflow_are_rejected():
    with pytest.raises(ValueError, match="norm overflows"):
        group_lasso([[1e308] * 4], [np.eye(4)[:2]], 1.0, huber=1e308)


def test_infinity_and_alpha_zero_with_missing_entries_are_rejected(subspaces):
    X = samples(2, 10)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="alpha must be positive"):
        group_lasso(X, subspaces(2, 2, 10), 0.0)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        group_lasso(X, subspaces(2, 2, 10), 0.1, huber=0.1)


def test_rows_that_do_not_converge_are_reported(subspaces):
    X = samples(5, 20, spikes=0.1)
    with pytest.warns(ConvergenceWarning, match="did not reach"):
        result = group_lasso(X, subspaces(8, 3, 20), 0.01, huber=0.05, max_iter=1)
    assert not result.converged.all()


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1234567.0), (np.float32, 3e4), (np.float64, 1e15)])
@pytest.mark.parametrize("missing", [False, True])
def test_the_gap_is_that_of_the_code_after_rounding(dtype, size, missing):
    """A code that follows a wild entry is rounded more coarsely than mu."""
    X = np.array([[size, 0.5, np.nan if missing else 0.1]], dtype=dtype)
    with pytest.warns(ConvergenceWarning, match="0.03|did not reach"):
        result = group_lasso(X, [np.eye(3)], 0.03, huber=0.05)
    assert not result.converged.any()
    assert group_lasso_violations(result, X, [np.eye(3)], 0.03, 0.05) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_residual_is_that_of_the_code_after_rounding(subspaces, dtype):
    X, components = samples(20, 15, spikes=0.2, missing=0.1).astype(dtype), subspaces(6, 3, 15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = group_lasso(1000 * X, components, 0.05, huber=0.1)
    assert group_lasso_violations(result, 1000 * X, components, 0.05, 0.1) == []
