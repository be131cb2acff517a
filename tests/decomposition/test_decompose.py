import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, random_array
from sklearn.exceptions import ConvergenceWarning

from certificates import count_violations, random_decomposition
from decomposition_problems import problems, sparse_labels
from helpers import assert_same_subspaces, decompose_as_given, decomposition_problem
from reference import decompose_by_definition
from sdgs import decompose
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._solvers import SOLVERS


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
    assert_same_subspaces(planted.components, result.components, 0.02)
    spikes = set(zip(*planted.residual.nonzero(), strict=True))
    detected = set(zip(*result.residual.nonzero(), strict=True))
    assert len(detected & spikes) >= 0.99 * len(spikes)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_brp_reaches_the_error_of_svd_on_noisy_data(noise):
    data = make_label_subspaces(600, 80, 10, n_components=3, spikes=0.002, noise=noise, random_state=1)
    errors = {}
    for solver in ("svd", "brp"):
        result = decompose(data.X, data.Y, n_components=3, residual_size=0.002, solver=solver, random_state=0)
        errors[solver] = result.objective[-1]
    assert errors["brp"] == pytest.approx(errors["svd"], rel=0.01)


def test_brp_fresh_stalls_where_brp_converges():
    data = make_label_subspaces(600, 80, 10, n_components=3, noise=0.1, random_state=1)
    warm = decompose(data.X, data.Y, n_components=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=30"):
        fresh = decompose(data.X, data.Y, n_components=3, solver="brp-fresh", max_iter=30, random_state=0)
    assert (np.diff(fresh.objective) > 0).any()
    assert fresh.objective[-1] > 1.5 * warm.objective[-1]


def test_svd_agrees_with_equation_5():
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


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(problem=problems(), solver=st.sampled_from(SOLVERS), sparse=st.booleans())
def test_the_result_is_consistent(problem, solver, sparse):
    X, Y, ranks, K = problem
    given = csr_array(X) if sparse else X
    result = decompose_as_given(
        given, Y, n_components=ranks, residual_size=K, solver=solver, max_iter=6, random_state=0
    )
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


@pytest.mark.parametrize("residual_size", [0.0, 0.001, 0.02, 0.3])
@pytest.mark.parametrize("density", [0.02, 0.2, 1.0])
def test_sparse_samples_give_the_result_of_dense_ones(residual_size, density):
    rng = np.random.default_rng(0)
    X = np.abs(make_label_subspaces(150, 40, 6, n_components=2, noise=0.1, random_state=0).X)
    X *= rng.random(X.shape) < density
    Y = rng.random((150, 6)) < 0.3
    options = {"n_components": 3, "residual_size": residual_size, "max_iter": 8, "tol": 0.0, "random_state": 0}
    dense, sparse = (decompose_as_given(form, Y, **options) for form in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.objective, dense.objective, rtol=1e-6, atol=1e-13 * np.sum(X**2))
    np.testing.assert_allclose(sparse.residual.toarray(), dense.residual.toarray(), atol=1e-6)
    for C, C_dense in zip(sparse.components, dense.components, strict=True):
        np.testing.assert_allclose(C, C_dense, atol=1e-5)


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_unsorted_sparse_samples_are_not_changed(missing_rate):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((30, 12)) < 0.4, rng.standard_normal((30, 12)), 0)
    dense[(rng.random(dense.shape) < missing_rate) & (dense != 0)] = np.nan
    ordered = csr_array(dense)
    reverse = np.concatenate([np.arange(b, a, -1) - 1 for a, b in pairwise(ordered.indptr)])  # each row backwards
    X = csr_array((ordered.data[reverse], ordered.indices[reverse], ordered.indptr.copy()), shape=dense.shape)
    Y = rng.random((30, 3)) < 0.5
    options = {"n_components": 2, "residual_size": 20, "tol": 1e-2, "random_state": 0}
    result = decompose_as_given(X, Y, **options)
    np.testing.assert_array_equal(X.toarray(), dense)
    np.testing.assert_allclose(result.objective, decompose(dense, Y, **options).objective)


def test_sparse_training_allocates_no_dense_matrix():
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


def test_sparse_samples_are_made_dense_only_if_that_is_cheap():
    one, many = np.ones((5000, 1)), np.eye(5000)[:, :1250]
    assert decomposition_problem((5000, 800), one, 1000, 0).is_solved_dense(np.float64)
    assert not decomposition_problem((5000, 2000), one, 1000, 0).is_solved_dense(np.float64)
    # The components are nearly as large as X.
    assert decomposition_problem((5000, 2000), many, 1000, 0).is_solved_dense(np.float64)


def test_directions_without_support_in_the_rows_are_dropped():
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


def test_labels_of_training_samples_are_those_of_the_target():
    data = make_label_subspaces(30, 10, 3, n_components=2, random_state=0)
    samples = np.array([2, 11, 12, 29])
    labels = decompose(data.X, data.Y, n_components=2, tol=1.0, random_state=0).labels_of(samples)
    np.testing.assert_array_equal(labels, data.Y[samples])


def test_only_the_residual_represents_samples_without_a_label():
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
@pytest.mark.parametrize("function", [decompose, decompose_as_given])
def test_the_form_of_the_input_does_not_matter(convert, function):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 15)) * (rng.uniform(size=(40, 15)) < 0.3)
    Y = rng.integers(0, 2, size=(40, 3))
    expected = decompose(X, Y, n_components=2, random_state=0)
    result = function(convert(X), convert(Y), n_components=2, random_state=0)
    np.testing.assert_allclose(result.objective, expected.objective)
    for C, C_expected in zip(result.components, expected.components, strict=True):
        np.testing.assert_allclose(C, C_expected, atol=1e-10)


def test_same_seed_same_result_and_the_input_is_not_changed():
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


def test_residual_size_is_a_count_or_a_fraction():
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


def test_a_label_stored_in_two_halves_is_one_label():
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_samples_near_the_largest_number(dtype):
    values = np.full(40, np.finfo(dtype).max / 1.1, dtype=dtype)  # one per sample: no coefficient is larger
    X = csr_array((values, (np.arange(40), np.arange(40) % 10)), shape=(40, 10))
    result = decompose_as_given(X, sparse_labels(40, 3, 2), n_components=2, residual_size=0, tol=1e-2, random_state=0)
    assert all(np.isfinite(C).all() for C in result.components)


@pytest.mark.slow
def test_random_decompositions_are_what_they_say():
    # python tests/certificates.py 100000 for many more
    count, messages = count_violations(random_decomposition, 300)
    assert messages == []
    assert count["fine"] == 300


def test_an_error_of_zero_stays_zero_at_any_scale():
    """Although the square of the scale overflows."""
    X = 1e300 * np.random.default_rng(0).standard_normal((4, 3))
    result = decompose(X, np.ones((4, 1)), n_components=1, residual_size=1.0, random_state=0)
    assert result.objective[-1] == 0
