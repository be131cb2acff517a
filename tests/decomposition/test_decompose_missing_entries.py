"""Decompositions of samples with missing entries (NaN)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from corruption import with_missing_entries
from helpers import decomposition_problem
from reference import decompose_by_definition
from sdgs import decompose
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition.backends._dense_alternation import DenseAlternation


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_agrees_with_the_definition(share):
    data = make_label_subspaces(60, 12, 4, n_components=2, noise=0.3, random_state=0)
    X = with_missing_entries(data.X, share)
    L, S, objective = decompose_by_definition(X, data.Y, 2, 10, 6)
    result = decompose(X, data.Y, n_components=2, residual_size=10, solver="svd", max_iter=6, tol=0)
    np.testing.assert_allclose(result.objective, objective, rtol=1e-8)
    for i in range(4):
        np.testing.assert_allclose(result.low_rank(i), L[i], atol=1e-6)
    np.testing.assert_allclose(result.residual.toarray(), np.where(np.isnan(X), 0, S), atol=1e-6)


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    p=st.integers(1, 8),
    k=st.integers(1, 4),
    r=st.integers(1, 4),
    K=st.integers(0, 8),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    solver=st.sampled_from(["svd", "brp"]),
)
def test_no_step_raises_the_error_on_observed_entries(seed, n, p, k, r, K, share, solver):
    rng = np.random.default_rng(seed)
    X, Y = with_missing_entries(rng.standard_normal((n, p)), share, seed), rng.random((n, k)) < 0.5
    state = DenseAlternation(X, decomposition_problem((n, p), Y, r, K, solver))
    state.sweep()
    before = state.error()
    for _ in range(4):
        for step in [*(lambda i=i: state.label_step(i) for i in range(k)), state.residual_step]:
            step()
            after = state.error()
            assert after <= before * (1 + 1e-9) + 1e-12
            before = after
        state.sweeps += 1
        assert not state.R[np.isnan(X)].any()


def test_missing_entries_are_reconstructed():
    """On planted subspaces the other four fifths of the entries determine them."""
    data = make_label_subspaces(1500, 60, 8, n_components=2, random_state=0)
    X = with_missing_entries(data.X, 0.2)
    result = decompose(X, data.Y, n_components=2, residual_size=0, tol=1e-6, max_iter=300, random_state=0)
    missing = np.isnan(X)
    error = np.linalg.norm((result.reconstruct() - data.X)[missing]) / np.linalg.norm(data.X[missing])
    assert error < 0.05


def test_rows_and_columns_without_observed_entries_are_no_problem():
    X = np.random.default_rng(0).standard_normal((6, 4))
    X[0], X[:, 1] = np.nan, np.nan
    with pytest.warns(ConvergenceWarning):
        decompose(np.where(X > 0, X, np.nan), np.eye(3, dtype=int)[[0, 1, 2] * 2], max_iter=1, tol=0, random_state=0)
