"""The dense and the sparse alternation, step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from decomposition_problems import problems, sparse_labels
from helpers import decomposition_problem
from sdgs.decomposition._minimise import minimise
from sdgs.decomposition._solvers import SOLVERS
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation


def alternation(X, Y, ranks, K, solver, kind, n_jobs=None):
    X = csr_array(X) if issubclass(kind, SparseAlternation) else X
    return kind(X, decomposition_problem(X.shape, Y, ranks, K, solver, max_iter=4, n_jobs=n_jobs))


def dense_alternation(**block_sizes):
    """The class with other block sizes."""
    return type("DenseAlternation", (DenseAlternation,), block_sizes)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    problem=problems(),
    solver=st.sampled_from(["svd", "brp"]),
    dtype=st.sampled_from([np.float64, np.float32]),
    kind=st.sampled_from([DenseAlternation, SparseAlternation]),
)
def test_no_step_raises_the_error(problem, solver, dtype, kind):
    X, Y, ranks, K = problem
    if dtype == np.float32:
        X = X / max(np.abs(X).max(), 1e-300)
    state = alternation(X.astype(dtype), Y, ranks, K, solver, kind)
    state.sweep()  # the start is not low-rank, so its error does not count
    allowed = (1e-12 if dtype == np.float64 else 1e-5) * state.total
    before = state.error()
    for _ in range(4):
        for step in [*(lambda i=i: state.label_step(i) for i in range(Y.shape[1])), state.residual_step]:
            step()
            after = state.error()
            assert after <= before + allowed
            before = after
        state.sweeps += 1


@settings(deadline=None, max_examples=200)
@given(
    problem=problems(),
    solver=st.sampled_from(SOLVERS),
    missing_rate=st.sampled_from([0.0, 0.2]),
    max_block_rows=st.sampled_from([2, 1024]),
)
def test_sparse_and_dense_steps_agree(problem, solver, missing_rate, max_block_rows):
    """Until the first residual step, which may choose differently among equal entries."""
    X, Y, ranks, K = problem
    missing = (np.random.default_rng(0).random(X.shape) < missing_rate) & (X != 0)
    X = np.where(missing, np.nan, X)
    dense = alternation(X, Y, ranks, K, solver, dense_alternation(max_block_rows=max_block_rows))
    sparse = alternation(X, Y, ranks, K, solver, SparseAlternation)
    assert sparse.total == pytest.approx(dense.total)
    for i in range(Y.shape[1]):
        for state in (dense, sparse):
            state.label_step(i)
        np.testing.assert_allclose(sparse.U[i] @ sparse.C[i], dense.U[i] @ dense.C[i], atol=1e-9)
    for state in (dense, sparse):
        state.residual_step()
    # Entries that are only rounding may be zero in one and not in the other.
    magnitudes = [np.sort(np.append(np.abs(s.S_values), np.zeros(K - s.S_values.size))) for s in (sparse, dense)]
    np.testing.assert_allclose(*magnitudes, atol=1e-9)
    assert sparse.error() == pytest.approx(dense.error(), rel=1e-6, abs=1e-12 * max(dense.total, 1e-300))


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.9, 0.99])
def test_no_large_unstored_entry_is_missed(quantile):
    """The labels of a row may each contribute little to an entry and much together."""
    rng = np.random.default_rng(0)
    n, p, k, r = 60, 30, 6, 2
    X = csr_array(np.where(rng.random((n, p)) < 0.1, rng.standard_normal((n, p)), 0))
    state = alternation(X.toarray(), (rng.random((n, k)) < 0.6).astype(int), r, 10, "brp", SparseAlternation)
    for i, omega in enumerate(state.rows):
        state.U[i] = rng.standard_normal((omega.size, r))
        state.C[i][:] = np.linalg.qr(rng.standard_normal((p, r)))[0].T
        state._store_coefficients(i)
    low_rank = np.zeros((n, p))
    for omega, U, C in zip(state.rows, state.U, state.C, strict=True):
        low_rank[omega] += U @ C
    empty = (X.toarray() == 0) & (low_rank != 0)
    floor = np.quantile(np.abs(low_rank[empty]), quantile)
    indices, values = state._unstored_candidates(floor)
    expected = np.flatnonzero((np.abs(low_rank) > floor * (1 + 1e-9)) & empty)  # up to rounding
    assert set(expected) <= set(indices.tolist())
    assert not set(indices.tolist()) - set(np.flatnonzero(empty).tolist())
    np.testing.assert_allclose(values, low_rank.reshape(-1)[indices], atol=1e-12)


@pytest.mark.parametrize("kind", [DenseAlternation, SparseAlternation])
@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_do_not_change_a_digit(solver, kind):
    class SmallBlocks(kind):
        min_task_entries = 0
        chunk_bytes, block_bytes, min_block_rows = 1 << 12, 1 << 11, 3
        block_rows, block_columns, max_gram_size = 16, 16, 0

    rng = np.random.default_rng(0)
    X = np.where(rng.random((800, 50)) < 0.3, rng.standard_normal((800, 50)), 0)
    Y = sparse_labels(800, 8, 2)
    whole = minimise(alternation(X, Y, 3, 50, solver, kind))
    single, threaded = (minimise(alternation(X, Y, 3, 50, solver, SmallBlocks, n_jobs)) for n_jobs in (1, 3))
    np.testing.assert_array_equal(single.objective, threaded.objective)
    np.testing.assert_allclose(single.objective, whole.objective, rtol=1e-10)  # blocks change it by rounding only
    np.testing.assert_array_equal(single.residual.toarray(), threaded.residual.toarray())
    for C, C_threaded in zip(single.components, threaded.components, strict=True):
        np.testing.assert_array_equal(C, C_threaded)


def test_products_by_blocks_of_rows():
    """Compared with the definition."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 2500)), sparse_labels(30, 3, 2)
    state = alternation(X, Y, 5, 7, "brp", dense_alternation(block_bytes=1, min_block_rows=7))
    omega = state.rows[1]
    state.sweep()
    N = state.R[omega] + state.U[1] @ state.C[1]
    A = rng.standard_normal((2500, 6))
    np.testing.assert_allclose(state.gram_times(1, A), N.T @ (N @ A), rtol=1e-9)
    Q = np.linalg.qr(A)[0][:, :5]
    state.project(1, Q)
    np.testing.assert_allclose(state.U[1], N @ Q, atol=1e-12)
    np.testing.assert_allclose(state.R[omega], N - N @ Q @ Q.T, atol=1e-12)


def test_a_residual_larger_than_the_number_of_stored_entries():
    """It is filled with the largest entries of W C that X does not store, with more candidates than are kept."""

    class SmallBlocks(SparseAlternation):
        block_entries = 200

    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 40)) < 0.05, rng.standard_normal((60, 40)), 0)
    Y = sparse_labels(60, 4, 2)
    K = 2 * np.count_nonzero(X)
    dense, sparse = (alternation(X, Y, 3, K, "svd", kind) for kind in (DenseAlternation, SmallBlocks))
    for state in (dense, sparse):
        state.sweep()
    np.testing.assert_allclose(np.sort(np.abs(sparse.S_values)), np.sort(np.abs(dense.S_values)), atol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 95, 96, 97, 1025, 5000])
def test_threads_get_equal_chunks_of_a_label(size):
    state = alternation(np.ones((1, 3000)), np.ones((1, 1)), 4, 0, "brp", DenseAlternation)
    chunks = state._row_chunks(size, 64)
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert [row for chunk in chunks for row in range(size)[chunk]] == list(range(size))
    assert size == 0 or (max(sizes) - min(sizes) <= 1 and len(sizes).bit_count() == 1)


@pytest.mark.parametrize(
    "kind",
    [
        DenseAlternation,
        dense_alternation(chunk_bytes=1),
        SparseAlternation,
    ],  # chunks of 1 byte: as many as in huge data
    ids=["dense", "many chunks", "sparse"],
)
def test_sums_over_many_float32_rows_are_accurate(kind):
    rng = np.random.default_rng(0)
    X = (rng.random((200_000, 3)) + 1).astype(np.float32)
    state = alternation(X, np.ones((len(X), 1)), 2, 0, "brp", kind)
    state.sweep()
    N = state.label_matrix(0).astype(np.float64)
    A = rng.standard_normal((3, 2)).astype(np.float32)
    expected = N.T @ (N @ A)
    product = state.gram_times(0, A)
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, expected, rtol=0, atol=3e-7 * np.abs(expected).max())
