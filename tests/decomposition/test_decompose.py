import tracemalloc
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, random_array
from sklearn.exceptions import ConvergenceWarning

from reference import decompose_by_definition
from sdgs import decompose
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._block_updates import largest_entries, orthonormal_basis, supported_rank
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation


def relative_error(result, X):
    return result.objective[-1] / np.sum(X**2)


@pytest.fixture(scope="module")
def planted():
    return make_label_subspaces(
        1500, 200, 20, n_components=3, labels_per_sample=2, spikes=0.002, noise=0.0, random_state=0
    )


@pytest.mark.parametrize("solver", ["svd", "brp"])
def test_planted_subspaces_and_spikes_are_found(planted, solver):
    result = decompose(
        planted.X,
        planted.Y,
        n_components=3,
        residual_size=planted.residual.nnz,
        solver=solver,
        tol=1e-6,
        random_state=0,
    )
    assert relative_error(result, planted.X) < 1e-4
    for found, true in zip(result.components, planted.components, strict=True):
        assert subspace_angles(found.T, true.T).max() < 0.02
    found = set(zip(*result.residual.nonzero(), strict=True))
    true = set(zip(*planted.residual.nonzero(), strict=True))
    assert len(found & true) >= 0.99 * len(true)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_brp_ends_where_svd_ends_on_noisy_data(noise):
    data = make_label_subspaces(600, 80, 10, n_components=3, spikes=0.002, noise=noise, random_state=1)
    errors = {}
    for solver in ("svd", "brp"):
        result = decompose(data.X, data.Y, n_components=3, residual_size=0.002, solver=solver, random_state=0)
        errors[solver] = result.objective[-1]
    assert errors["brp"] == pytest.approx(errors["svd"], rel=0.01)


def test_fresh_projections_stall_where_warm_ones_do_not():
    data = make_label_subspaces(600, 80, 10, n_components=3, noise=0.1, random_state=1)
    warm = decompose(data.X, data.Y, n_components=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=30"):
        fresh = decompose(data.X, data.Y, n_components=3, solver="brp-fresh", max_iter=30, random_state=0)
    assert (np.diff(fresh.objective) > 0).any()
    assert fresh.objective[-1] > 1.5 * warm.objective[-1]


def test_svd_is_equation_5_to_the_letter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12))
    Y = rng.integers(0, 2, size=(30, 4))
    Y[3] = 0
    with pytest.warns(ConvergenceWarning):
        result = decompose(X, Y, n_components=2, residual_size=9, solver="svd", max_iter=5, tol=0)
    L, S, objective = decompose_by_definition(X, Y, 2, 9, 5)
    np.testing.assert_allclose(result.objective, objective, rtol=1e-10)
    np.testing.assert_allclose(result.residual.toarray(), S, atol=1e-10)
    for i in range(4):
        np.testing.assert_allclose(result.low_rank(i), L[i], atol=1e-10)


@st.composite
def problems(draw):
    """Small problems with all that real data has: empty labels, unlabelled, duplicate and zero rows, few rows."""
    n, p, k = draw(st.integers(1, 14)), draw(st.integers(1, 9)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, p))
    if draw(st.booleans()):
        X = np.where(rng.uniform(size=X.shape) < 0.6, 0, X)
    Y = (rng.uniform(size=(n, k)) < draw(st.sampled_from([0.1, 0.4, 0.9]))).astype(int)
    if draw(st.booleans()):
        X[rng.integers(n)] = 0
    if draw(st.booleans()):
        X[rng.integers(n)] = X[rng.integers(n)]
    if draw(st.booleans()):
        Y[:, rng.integers(k)] = 0
    if draw(st.booleans()):
        Y[rng.integers(n)] = 0
    if not Y.any():
        Y[0, 0] = 1
    ranks = draw(st.one_of(st.integers(1, 12), st.lists(st.integers(1, 12), min_size=k, max_size=k)))
    return X * 10.0 ** draw(st.sampled_from([-150, -8, 0, 8, 150])), Y, ranks, draw(st.integers(0, n * p))


def alternation(X, Y, ranks, K, solver, sparse):
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    kind, X = (SparseAlternation, csr_array(X)) if sparse else (DenseAlternation, X)
    return kind(X, rows, np.broadcast_to(ranks, Y.shape[1]), K, solver, seed=0)


@settings(deadline=None, max_examples=300)
@given(
    problem=problems(),
    solver=st.sampled_from(["svd", "brp"]),
    dtype=st.sampled_from([np.float64, np.float32]),
    sparse=st.booleans(),
)
def test_no_step_raises_the_error(problem, solver, dtype, sparse):
    X, Y, ranks, K = problem
    if dtype == np.float32:
        X = X / max(np.abs(X).max(), 1e-300)
    state = alternation(X.astype(dtype), Y, ranks, K, solver, sparse)
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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(deadline=None, max_examples=200)
@given(problem=problems(), solver=st.sampled_from(["svd", "brp", "brp-fresh"]), sparse=st.booleans())
def test_the_result_is_what_it_says(problem, solver, sparse):
    X, Y, ranks, K = problem
    given = csr_array(X) if sparse else X
    with mock.patch("sdgs.decomposition._decompose._may_be_dense", return_value=False):
        result = decompose(given, Y, n_components=ranks, residual_size=K, solver=solver, max_iter=6, random_state=0)
    scale = np.abs(X).max() or 1.0
    assert result.shape == (*X.shape, Y.shape[1])
    assert result.residual.nnz <= K
    assert result.n_iter == len(result.objective)
    for i, (C, U, rows) in enumerate(zip(result.components, result.coefficients, result.rows, strict=True)):
        np.testing.assert_array_equal(rows, np.flatnonzero(Y[:, i]))
        assert len(C) <= min(np.broadcast_to(ranks, Y.shape[1])[i], len(rows), X.shape[1])
        assert U.shape == (len(rows), len(C))
        np.testing.assert_allclose(C @ C.T, np.eye(len(C)), atol=1e-10)
        assert not result.low_rank(i)[Y[:, i] == 0].any()
    error = np.sum(((X - result.reconstruct()) / scale) ** 2)
    assert error == pytest.approx(result.objective[-1] / scale**2, rel=1e-6, abs=1e-12)
    for row in range(len(X)):
        sample = result.sample(row)
        np.testing.assert_array_equal(sample.labels, np.flatnonzero(Y[row]))
        np.testing.assert_allclose(
            (sample.parts.sum(axis=0) + sample.residual) / scale, result.reconstruct()[row] / scale, atol=1e-12
        )


@settings(deadline=None, max_examples=200)
@given(
    problem=problems(),
    solver=st.sampled_from(["svd", "brp", "brp-fresh"]),
    gaps=st.sampled_from([0.0, 0.2]),
    block=st.sampled_from([2, 1024]),
)
def test_sparse_samples_are_taken_apart_like_dense_ones(problem, solver, gaps, block):
    """Step by step, until S has to choose: of equal entries it may take others. Dense rows in one block, or in many."""
    X, Y, ranks, K = problem
    missing = (np.random.default_rng(0).random(X.shape) < gaps) & (X != 0)
    X = np.where(missing, np.nan, X)
    dense, sparse = (alternation(X, Y, ranks, K, solver, sparse=form) for form in (False, True))
    dense._block_rows = block
    assert sparse.total == pytest.approx(dense.total)
    for i in range(Y.shape[1]):
        for state in (dense, sparse):
            state.label_step(i)
        np.testing.assert_allclose(sparse.U[i] @ sparse.C[i], dense.U[i] @ dense.C[i], atol=1e-9)
    for state in (dense, sparse):
        state.residual_step()
    # Entries that are nothing but rounding may be zero in one and not in the other.
    found, expected = (np.sort(np.append(np.abs(s.values), np.zeros(K - s.values.size))) for s in (sparse, dense))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert sparse.error() == pytest.approx(dense.error(), rel=1e-6, abs=1e-12 * max(dense.total, 1e-300))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("density", [0.02, 0.2, 1.0])
def test_a_sparse_run_ends_where_a_dense_one_does(share, density, monkeypatch):
    monkeypatch.setattr("sdgs.decomposition._decompose._may_be_dense", lambda *_: False)
    rng = np.random.default_rng(0)
    X = np.abs(make_label_subspaces(150, 40, 6, n_components=2, noise=0.1, random_state=0).X)
    X *= rng.random(X.shape) < density
    Y = rng.random((150, 6)) < 0.3
    options = {"n_components": 3, "residual_size": share, "max_iter": 8, "tol": 0.0, "random_state": 0}
    with pytest.warns(ConvergenceWarning):
        dense, sparse = (decompose(form, Y, **options) for form in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.objective, dense.objective, rtol=1e-6, atol=1e-13 * np.sum(X**2))
    np.testing.assert_allclose(sparse.residual.toarray(), dense.residual.toarray(), atol=1e-6)
    for C, C_dense in zip(sparse.components, dense.components, strict=True):
        np.testing.assert_allclose(C, C_dense, atol=1e-5)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_sparse_samples_whose_entries_are_in_no_order_are_left_alone(gaps):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((30, 12)) < 0.4, rng.standard_normal((30, 12)), 0)
    dense[(rng.random(dense.shape) < gaps) & (dense != 0)] = np.nan
    ordered = csr_array(dense)
    turned = np.concatenate([np.arange(b, a, -1) - 1 for a, b in pairwise(ordered.indptr)])  # each row backwards
    X = csr_array((ordered.data[turned], ordered.indices[turned], ordered.indptr.copy()), shape=dense.shape)
    Y = rng.random((30, 3)) < 0.5
    options = {"n_components": 2, "residual_size": 20, "tol": 1e-2, "random_state": 0}
    with mock.patch("sdgs.decomposition._decompose._may_be_dense", return_value=False):
        found = decompose(X, Y, **options)
    np.testing.assert_array_equal(X.toarray(), dense)
    np.testing.assert_allclose(found.objective, decompose(dense, Y, **options).objective)


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.9, 0.99])
def test_nothing_large_is_overlooked_where_nothing_is_stored(quantile):
    """Of a row with several labels, each may say little of an entry and all together much."""
    rng = np.random.default_rng(0)
    n, p, k, r = 60, 30, 6, 2
    X = csr_array(np.where(rng.random((n, p)) < 0.1, rng.standard_normal((n, p)), 0))
    state = alternation(X.toarray(), (rng.random((n, k)) < 0.6).astype(int), r, 10, "brp", sparse=True)
    for i, omega in enumerate(state.rows):
        state.U[i] = rng.standard_normal((omega.size, r))
        state.C[i][:] = np.linalg.qr(rng.standard_normal((p, r)))[0].T
        state._W.data[state._places_in_W[i][:, None] + np.arange(r)] = state.U[i]
    said = np.zeros((n, p))
    for omega, U, C in zip(state.rows, state.U, state.C, strict=True):
        said[omega] += U @ C
    empty = (X.toarray() == 0) & (said != 0)
    floor = np.quantile(np.abs(said[empty]), quantile)
    places, values = state._said_elsewhere(floor)
    expected = np.flatnonzero((np.abs(said) > floor * (1 + 1e-9)) & empty)  # but for rounding
    assert set(expected) <= set(places.tolist())
    assert not set(places.tolist()) - set(np.flatnonzero(empty).tolist())
    np.testing.assert_allclose(values, said.reshape(-1)[places], atol=1e-12)


def test_sparse_training_makes_nothing_as_large_as_a_dense_matrix():
    rng = np.random.default_rng(0)
    n, p, k = 4000, 5000, 6
    X = random_array((n, p), density=0.002, rng=rng, format="csr")
    Y = csr_array((np.ones(n), (np.arange(n), rng.integers(k, size=n))), shape=(n, k))
    dense = n * p * 8
    tracemalloc.start()
    decompose(X, Y, n_components=2, max_iter=2, tol=1.0, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < dense / 10


def test_sparse_samples_are_made_dense_only_where_it_costs_little(monkeypatch):
    seen = []
    for name in ("DenseAlternation", "SparseAlternation"):
        monkeypatch.setattr(f"sdgs.decomposition._decompose.{name}", lambda *_, name=name: seen.append(name))
    monkeypatch.setattr("sdgs.decomposition._decompose._decompose", lambda *_: mock.Mock(converged=True))
    few, many = np.ones((5000, 1)), np.eye(5000)[:, :1250]
    many[many.sum(axis=1) == 0, 0] = 1
    for p, Y in ((800, few), (2000, few), (2000, many)):
        decompose(random_array((5000, p), density=0.001, format="csr", rng=0), Y, n_components=1000)
    assert seen == ["DenseAlternation", "SparseAlternation", "DenseAlternation"]


def test_directions_that_rows_do_not_support_are_dropped():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 10))
    X[1] = X[0]
    X[5] = 0
    Y = np.zeros((6, 4), dtype=int)
    Y[[0, 1], 0] = 1  # two equal rows
    Y[2, 1] = 1  # one row
    Y[5, 2] = 1  # a zero row
    result = decompose(X, Y, n_components=3, residual_size=0, random_state=0)
    assert [len(C) for C in result.components] == [1, 1, 0, 0]
    np.testing.assert_allclose(result.low_rank(0)[:2], X[:2], atol=1e-12)


def test_only_the_residual_reaches_samples_without_a_label():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5))
    Y = np.ones((20, 1), dtype=int)
    Y[7] = 0
    X[7, 2] = 100.0
    result = decompose(X, Y, n_components=5, residual_size=1, random_state=0)
    assert result.residual[7, 2] == 100.0
    assert result.sample(7).labels.size == 0
    np.testing.assert_allclose(result.objective[-1], np.sum(X[7] ** 2) - 100.0**2)


@pytest.mark.parametrize("convert", [csr_array, csr_matrix, csc_array, np.asfortranarray, lambda X: X.tolist()])
@pytest.mark.parametrize("dense", [True, False])
def test_the_form_of_the_input_does_not_matter(convert, dense, monkeypatch):
    monkeypatch.setattr("sdgs.decomposition._decompose._may_be_dense", lambda *_: dense)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 15)) * (rng.uniform(size=(40, 15)) < 0.3)
    Y = rng.integers(0, 2, size=(40, 3))
    expected = decompose(X, Y, n_components=2, random_state=0)
    result = decompose(convert(X), convert(Y), n_components=2, random_state=0)
    np.testing.assert_allclose(result.objective, expected.objective)
    for C, C_expected in zip(result.components, expected.components, strict=True):
        np.testing.assert_allclose(C, C_expected, atol=1e-10)


def test_same_seed_same_result_and_nothing_given_is_changed():
    data = make_label_subspaces(200, 30, 5, random_state=0)
    X, Y = data.X.copy(), data.Y.copy()
    first, second = (decompose(X, Y, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(Y, data.Y)
    np.testing.assert_array_equal(first.objective, second.objective)
    for a, b in zip(first.components, second.components, strict=True):
        np.testing.assert_array_equal(a, b)
    other = decompose(X, Y, random_state=4)
    assert not np.array_equal(first.objective, other.objective)


def test_float32_stays_float32():
    data = make_label_subspaces(200, 30, 5, random_state=0)
    result = decompose(data.X.astype(np.float32), data.Y, residual_size=10, random_state=0)
    assert {C.dtype for C in result.components} == {np.dtype(np.float32)}
    assert {U.dtype for U in result.coefficients} == {np.dtype(np.float32)}
    assert result.residual.dtype == np.float32
    expected = decompose(data.X, data.Y, residual_size=10, random_state=0)
    assert result.objective[-1] == pytest.approx(expected.objective[-1], rel=0.05, abs=1e-5 * np.sum(data.X**2))


def test_residual_size_is_a_count_or_a_share():
    data = make_label_subspaces(100, 20, 4, n_components=2, noise=1.0, random_state=0)
    sizes = {
        K: decompose(data.X, data.Y, residual_size=K, tol=1e-2, random_state=0).residual.nnz for K in (0, 7, 0.01, 1.0)
    }
    assert sizes[0] == 0
    assert sizes[7] == 7
    assert sizes[0.01] == 20
    assert sizes[1.0] > 1500  # all entries, but those that came out exactly zero


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e200, 1e307])
def test_extreme_scales(scale):
    data = make_label_subspaces(60, 10, 3, n_components=2, noise=0.3, random_state=0)
    X = data.X / np.abs(data.X).max()
    expected = decompose(X, data.Y, n_components=2, residual_size=5, random_state=0)
    result = decompose(X * scale, data.Y, n_components=2, residual_size=5, random_state=0)
    accuracy = 1e-2 if scale < 1e-307 else 1e-6  # denormal numbers have few digits
    assert result.n_iter == expected.n_iter
    np.testing.assert_allclose(result.reconstruct() / scale, expected.reconstruct(), atol=accuracy)


def test_an_entry_stored_in_two_halves_is_one_entry():
    data = make_label_subspaces(60, 10, 3, n_components=2, random_state=0)
    rows, columns = np.nonzero(data.Y)
    halves = coo_array(
        (np.full(2 * rows.size, 0.5), (np.tile(rows, 2), np.tile(columns, 2))), shape=data.Y.shape
    ).tocsr()
    expected = decompose(data.X, data.Y, n_components=2, random_state=0)
    np.testing.assert_array_equal(
        decompose(data.X, halves, n_components=2, random_state=0).objective, expected.objective
    )


def test_the_result_is_frozen():
    data = make_label_subspaces(50, 20, 3, random_state=0)
    result = decompose(data.X, data.Y, random_state=0)
    with pytest.raises(AttributeError):
        result.n_iter = 0
    with pytest.raises(IndexError, match="50 samples"):
        result.sample(50)


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
    with mock.patch.multiple("sdgs.decomposition._block_updates", _BLOCK=64, _SAMPLE=20):
        places = largest_entries(E[None, :], K)
    assert places.size == min(K, np.count_nonzero(E))
    assert np.array_equal(places, np.unique(places))
    np.testing.assert_array_equal(np.sort(np.abs(E[places])), np.sort(np.abs(E))[::-1][: places.size][::-1])


def sparse_labels(n, k, per_row, seed=0):
    """Labels of which many never meet."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, k), dtype=int)
    first = rng.integers(k, size=n)
    for step in range(per_row):
        Y[np.arange(n), (first + step) % k] = 1
    return Y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", ["brp", "svd", "brp-fresh"])
def test_threads_do_not_change_a_digit(solver, sparse, monkeypatch):
    monkeypatch.setattr("sdgs.decomposition._decompose._may_be_dense", lambda *_: False)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((800, 50)) < 0.3, rng.standard_normal((800, 50)), 0)
    Y = sparse_labels(800, 8, 2)
    options = {"n_components": 3, "residual_size": 50, "solver": solver, "max_iter": 4, "random_state": 0}
    whole = decompose(csr_array(X) if sparse else X, Y, **options)
    for name, value in {
        "_alternation._WORTH": 0,
        "backends._dense_alternation._CHUNK_BYTES": 1 << 12,
        "backends._dense_alternation._BLOCK_BYTES": 1 << 11,
        "backends._dense_alternation._LEAST_ROWS": 3,
        "backends._sparse_alternation._BLOCK_ROWS": 16,
        "backends._sparse_alternation._BLOCK_COLUMNS": 16,
        "backends._sparse_alternation._MOST_PRODUCTS": 0,
    }.items():
        monkeypatch.setattr(f"sdgs.decomposition.{name}", value)
    one, three = (decompose(csr_array(X) if sparse else X, Y, **options, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.objective, three.objective)
    np.testing.assert_allclose(one.objective, whole.objective, rtol=1e-10)  # nor do blocks, but for rounding
    np.testing.assert_array_equal(one.residual.toarray(), three.residual.toarray())
    for C, C_three in zip(one.components, three.components, strict=True):
        np.testing.assert_array_equal(C, C_three)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_step_by_blocks_of_rows(monkeypatch):
    """Against products by the book."""
    monkeypatch.setattr("sdgs.decomposition.backends._dense_alternation._BLOCK_BYTES", 1)
    monkeypatch.setattr("sdgs.decomposition.backends._dense_alternation._LEAST_ROWS", 7)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 2500)), sparse_labels(30, 3, 2)
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    state = DenseAlternation(X, rows, np.full(3, 5), 7, "brp", 0)
    state.sweep()
    N = state.R[rows[1]] + state.U[1] @ state.C[1]
    A = rng.standard_normal((2500, 6))
    np.testing.assert_allclose(state.gram_times(1, A), N.T @ (N @ A), rtol=1e-9)
    Q = np.linalg.qr(A)[0][:, :5]
    state.project(1, Q)
    np.testing.assert_allclose(state.U[1], N @ Q, atol=1e-12)
    np.testing.assert_allclose(state.R[rows[1]], N - N @ Q @ Q.T, atol=1e-12)


def test_where_the_residual_may_hold_more_than_is_stored(monkeypatch):
    """Then what labels say elsewhere fills it, however much that is, and of that only the largest is kept."""
    monkeypatch.setattr("sdgs.decomposition.backends._sparse_alternation._BLOCK_ENTRIES", 200)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 40)) < 0.05, rng.standard_normal((60, 40)), 0)
    Y = sparse_labels(60, 4, 2)
    K = 2 * np.count_nonzero(X)
    dense, sparse = (alternation(X, Y, 3, K, "svd", sparse=form) for form in (False, True))
    for state in (dense, sparse):
        state.sweep()
    np.testing.assert_allclose(np.sort(np.abs(sparse.values)), np.sort(np.abs(dense.values)), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_samples_near_the_largest_number(dtype, monkeypatch):
    monkeypatch.setattr("sdgs.decomposition._decompose._may_be_dense", lambda *_: False)
    values = np.full(40, np.finfo(dtype).max / 1.1, dtype=dtype)  # one a sample: no coefficient is larger
    X = csr_array((values, (np.arange(40), np.arange(40) % 10)), shape=(40, 10))
    result = decompose(X, sparse_labels(40, 3, 2), n_components=2, residual_size=0, tol=1e-2, random_state=0)
    assert all(np.isfinite(C).all() for C in result.components)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), k=st.integers(1, 8), share=st.sampled_from([0.1, 0.4]))
def test_labels_of_a_level_share_no_row_and_come_after_those_they_wait_for(seed, n, k, share):
    Y = np.random.default_rng(seed).random((n, k)) < share
    rows = tuple(np.flatnonzero(column) for column in Y.T)
    state = DenseAlternation(np.ones((n, 2)), rows, np.ones(k, dtype=int), 0, "brp", 0, n_jobs=2)
    assert sorted(i for level in state.levels for i in level) == list(range(k))
    level_of = {i: number for number, level in enumerate(state.levels) for i in level}
    for i in range(k):
        for j in range(i):
            if (Y[:, i] & Y[:, j]).any():
                assert level_of[j] < level_of[i]


@pytest.mark.parametrize("size", [0, 1, 95, 96, 97, 1025, 5000])
def test_threads_have_equal_shares_of_a_label(size):
    state = DenseAlternation(np.ones((1, 3000)), (np.array([0]),), np.array([4]), 0, "brp", 0)
    chunks = state._row_chunks(size, 64)
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert [row for chunk in chunks for row in range(size)[chunk]] == list(range(size))
    assert size == 0 or (max(sizes) - min(sizes) <= 1 and len(sizes).bit_count() == 1)


@pytest.mark.parametrize(
    ("kind", "chunk"), [(DenseAlternation, None), (DenseAlternation, 1), (SparseAlternation, None)]
)
def test_sums_over_many_float32_rows_keep_their_digits(kind, chunk, monkeypatch):
    if chunk:  # as many as huge data have
        monkeypatch.setattr("sdgs.decomposition.backends._dense_alternation._CHUNK_BYTES", chunk)
    rng = np.random.default_rng(0)
    X = (rng.random((200_000, 3)) + 1).astype(np.float32)
    rows = (np.arange(len(X)),)
    state = kind(X if kind is DenseAlternation else csr_array(X), rows, np.array([2]), 0, "brp", 0)
    state.sweep()
    N = state.label_matrix(0).astype(np.float64)
    A = rng.standard_normal((3, 2)).astype(np.float32)
    expected = N.T @ (N @ A)
    found = state.gram_times(0, A)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-7 * np.abs(expected).max())


def test_float32_bases_are_orthonormal_to_the_last_digit():
    rng = np.random.default_rng(0)
    Q = orthonormal_basis(rng.standard_normal((500, 4)), np.float32)
    assert Q.dtype == np.float32
    np.testing.assert_allclose(Q.T.astype(np.float64) @ Q, np.eye(4), atol=5e-8)
    U, C = supported_rank(rng.standard_normal((20_000, 4)).astype(np.float32), np.ascontiguousarray(Q.T), 0.0)
    assert U.dtype == C.dtype == np.float32
    np.testing.assert_allclose(C.astype(np.float64) @ C.T, np.eye(4), atol=5e-8)
