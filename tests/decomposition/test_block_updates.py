import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs.decomposition._block_updates import largest_entries, orthonormal_basis, ritz_basis, supported_rank


@settings(deadline=None, max_examples=200)
@given(
    size=st.integers(0, 3000),
    K=st.integers(0, 3000),
    seed=st.integers(0, 1000),
    distinct=st.sampled_from([2, 5, 10**6]),
)
def test_largest_entries(size, K, seed, distinct):
    rng = np.random.default_rng(seed)
    E = rng.integers(-distinct, distinct + 1, size=size).astype(float)
    indices = largest_entries(E[None, :], K, block_size=64, sample_size=20)
    assert indices.size == min(K, np.count_nonzero(E))
    assert np.array_equal(indices, np.unique(indices))
    np.testing.assert_array_equal(np.sort(np.abs(E[indices])), np.sort(np.abs(E))[::-1][: indices.size][::-1])


def test_float32_bases_are_orthonormal_to_the_last_digit():
    rng = np.random.default_rng(0)
    Q = orthonormal_basis(rng.standard_normal((500, 4)), np.float32)
    assert Q.dtype == np.float32
    np.testing.assert_allclose(Q.T.astype(np.float64) @ Q, np.eye(4), atol=5e-8)
    U, C = supported_rank(rng.standard_normal((20_000, 4)).astype(np.float32), np.ascontiguousarray(Q.T), 0.0)
    assert U.dtype == C.dtype == np.float32
    np.testing.assert_allclose(C.astype(np.float64) @ C.T, np.eye(4), atol=5e-8)


def test_the_ritz_basis_spans_the_strongest_directions():
    rng = np.random.default_rng(0)
    N = rng.standard_normal((50, 12)) * np.linspace(3, 0.1, 12)
    Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]  # of the whole space: the result is exact
    basis = ritz_basis(Q, N.T @ (N @ Q), 3)
    _, _, Vt = np.linalg.svd(N, full_matrices=False)
    np.testing.assert_allclose(basis @ basis.T, Vt[:3].T @ Vt[:3], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_components_are_rewritten_on_principal_axes(dtype):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 4)).astype(dtype)
    U[:, 3] = U[:, 0]
    C = np.linalg.qr(rng.standard_normal((9, 4)))[0].T.astype(dtype)
    principal, axes = supported_rank(U, C, 1e-5)
    assert principal.shape == (30, 3)
    assert principal.dtype == axes.dtype == dtype
    np.testing.assert_allclose(principal @ axes, U @ C, atol=1e-5)
    strengths = np.linalg.norm(principal, axis=0)
    np.testing.assert_allclose(principal.T @ principal, np.diag(strengths**2), atol=1e-4)
    np.testing.assert_allclose(strengths, np.linalg.svd(U)[1][:3], rtol=1e-5)
    assert (principal.sum(axis=0) >= 0).all()
