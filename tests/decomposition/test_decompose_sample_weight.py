"""Decompositions of samples with weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import config_context

from decomposition_problems import problems
from helpers import decompose_as_given
from reference import decompose_by_definition
from sdgs import decompose
from sdgs._utils._array_api import to_host
from sdgs.datasets import make_label_subspaces
from sdgs.decomposition._block_updates import largest_weighted_entries
from sdgs.decomposition._solvers import SOLVERS

KINDS = ("dense", "dense missing", "sparse", "sparse missing")
N, P = 90, 14


def make_samples(kind, seed=0):
    """Samples, labels, integer weights, and the weight of the spikes.

    The spikes are in samples without a label, so that they remain the largest entries of the error.
    """
    rng = np.random.default_rng(seed)
    data = make_label_subspaces(N, P, 5, n_components=2, noise=0.2, random_state=seed)
    X, Y, weight = data.X.copy(), data.Y.copy(), rng.integers(0, 4, N)
    if "sparse" in kind:
        X[rng.random(X.shape) < 0.6] = 0
    if "missing" in kind:
        X[rng.random(X.shape) < 0.1] = np.nan
    Y[:4], Y[:, 3] = 0, 0
    X[:4, 5] = 20 + np.arange(4)
    return X, Y, weight, int(weight[:4].sum())


def in_form(X, kind):
    return csr_array(X) if "sparse" in kind else X


def assert_is_repetition(weighted, repeated, weight, tol=1e-8):
    """Whether the second is the decomposition of the samples repeated as often as their weights say."""
    rows = np.repeat(np.arange(weight.size), weight)
    assert weighted.n_iter == repeated.n_iter
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=tol)
    pairs = zip(weighted.components, repeated.components, strict=True)
    for i, (C, D) in enumerate(pairs):
        assert C.shape == D.shape
        np.testing.assert_allclose(C.T @ C, D.T @ D, atol=tol)
        U = np.repeat(weighted.coefficients[i], weight[weighted.rows[i]], axis=0)
        np.testing.assert_allclose(U, repeated.coefficients[i], rtol=tol, atol=tol * np.abs(U).max(initial=1))
    S, T = weighted.residual.toarray()[rows], repeated.residual.toarray()
    np.testing.assert_allclose(S, T, rtol=tol, atol=tol * np.abs(T).max(initial=1))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repetitions(kind, solver):
    X, Y, weight, K = make_samples(kind)
    rows = np.repeat(np.arange(N), weight)
    options = {"n_components": 2, "solver": solver, "max_iter": 7, "tol": 1e-3, "random_state": 0}
    for size in (0, K, K / (rows.size * P)):
        weighted = decompose_as_given(in_form(X, kind), Y, sample_weight=weight, residual_size=size, **options)
        repeated = decompose_as_given(in_form(X[rows], kind), Y[rows], residual_size=size, **options)
        assert repeated.residual.nnz == (K if size else 0)
        assert_is_repetition(weighted, repeated, weight)


@pytest.mark.parametrize("kind", KINDS)
def test_a_residual_of_samples_that_are_all_repeated_thrice(kind):
    X, Y, *_ = make_samples(kind)
    options = {"n_components": 2, "max_iter": 7, "tol": 1e-3, "random_state": 0}
    for size in (33, 0.05):  # multiples of 3 entries
        weighted = decompose_as_given(in_form(X, kind), Y, sample_weight=np.full(N, 3), residual_size=size, **options)
        repeated = decompose_as_given(in_form(X.repeat(3, 0), kind), Y.repeat(3, 0), residual_size=size, **options)
        assert_is_repetition(weighted, repeated, np.full(N, 3))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_integer_weights_are_repetitions_in_float32():
    X, Y, weight, K = make_samples("dense missing")
    rows, X = np.repeat(np.arange(N), weight), X.astype(np.float32)
    options = {"n_components": 2, "residual_size": K, "max_iter": 5, "tol": 0, "random_state": 0}
    weighted = decompose(X, Y, sample_weight=weight, **options)
    assert {A.dtype for A in (*weighted.components, *weighted.coefficients, weighted.residual)} == {np.dtype("f4")}
    assert_is_repetition(weighted, decompose(X[rows], Y[rows], **options), weight, tol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_weight_0_is_left_out(kind):
    X, Y, weight, _ = make_samples(kind)
    weight, used = weight * 0.3, weight > 0
    Y[:, 0] &= ~used  # a label whose samples all weigh 0
    X[~used] *= 1e300
    options = {"n_components": 2, "residual_size": 0.02, "random_state": 0}
    result = decompose_as_given(in_form(X, kind), Y, sample_weight=weight, **options)
    expected = decompose_as_given(in_form(X[used], kind), Y[used], sample_weight=weight[used], **options)
    np.testing.assert_array_equal(result.objective, expected.objective)
    np.testing.assert_array_equal(result.residual[used].toarray(), expected.residual.toarray())
    assert not result.residual[~used].nnz
    for i, (U, V) in enumerate(zip(result.coefficients, expected.coefficients, strict=True)):
        np.testing.assert_array_equal(result.components[i], expected.components[i])
        np.testing.assert_array_equal(result.rows[i], np.flatnonzero(Y[:, i]))
        np.testing.assert_array_equal(U[used[result.rows[i]]], V)
        assert not U[~used[result.rows[i]]].any()
    assert len(result.components[0]) == 0
    assert len(result.rows[0]) > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_no_weights(kind, solver):
    X, Y, *_ = make_samples(kind)
    options = {"n_components": 2, "residual_size": 0.02, "solver": solver, "max_iter": 6, "random_state": 0}
    expected = decompose_as_given(in_form(X, kind), Y, **options)
    for value in (1, 0.3, 2.0**-600, 2.0**1000):
        result = decompose_as_given(in_form(X, kind), Y, sample_weight=np.full(N, value), **options)
        np.testing.assert_allclose(result.objective / value, expected.objective, rtol=1e-12)
        np.testing.assert_allclose(result.residual.toarray(), expected.residual.toarray(), rtol=1e-12)
        for C, D in zip(result.components, expected.components, strict=True):
            np.testing.assert_allclose(C, D, atol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_definition(kind):
    X, Y, *_ = make_samples(kind)
    weight = np.random.default_rng(3).exponential(size=N)
    L, S, objective = decompose_by_definition(X, Y, 2, 9.5, 6, weight)
    options = {"n_components": 2, "residual_size": 9.5 / (weight.sum() * P), "solver": "svd", "max_iter": 6, "tol": 0}
    result = decompose_as_given(in_form(X, kind), Y, sample_weight=weight, **options)
    np.testing.assert_allclose(result.objective, objective, rtol=1e-8)
    np.testing.assert_allclose(result.residual.toarray(), np.where(np.isnan(X), 0, S), atol=1e-6)
    for i in range(5):
        np.testing.assert_allclose(result.low_rank(i), L[i], atol=1e-6)


@pytest.mark.parametrize("tol", [0.5, 0.2, 0.1, 0.05, 0.01])
def test_the_stopping_rule_is_that_of_repeated_samples(tol):
    X, Y, *_ = make_samples("dense")
    weight = np.where(Y.any(axis=1), 1, 30)
    rows = np.repeat(np.arange(N), weight)
    options = {"n_components": 2, "residual_size": 0, "tol": tol, "random_state": 0}
    X[:4] *= 0.1 / 2
    weighted = decompose(X, Y, sample_weight=weight, **options)
    assert_is_repetition(weighted, decompose(X[rows], Y[rows], **options), weight)


def test_labels_with_many_samples():
    """Whose rows are copied block by block, by several threads."""
    data = make_label_subspaces(9000, 40, 2, n_components=2, labels_per_sample=1, noise=0.3, random_state=0)
    options = {"sample_weight": np.random.default_rng(0).exponential(size=9000), "tol": 1e-2, "random_state": 0}
    dense, threaded = (decompose(data.X, data.Y, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    sparse = decompose_as_given(csr_array(data.X), data.Y, **options)
    np.testing.assert_array_equal(dense.objective, threaded.objective)
    np.testing.assert_allclose(dense.objective, sparse.objective, rtol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    problem=problems(),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 1.0, 5.0]),
    solver=st.sampled_from(SOLVERS),
    sparse=st.booleans(),
)
def test_the_result_is_consistent(problem, seed, spread, solver, sparse):
    X, Y, ranks, K = problem
    rng = np.random.default_rng(seed)
    weight = np.exp(spread * rng.standard_normal(len(X))) * (rng.random(len(X)) < 0.8)
    weight[Y.any(axis=1).argmax()] = 1
    given = csr_array(X) if sparse else X
    result = decompose_as_given(
        given, Y, sample_weight=weight, n_components=ranks, residual_size=K, solver=solver, max_iter=6, random_state=0
    )
    costs = weight[result.residual.tocoo().row]
    assert costs.sum() - costs.max(initial=0) / 2 <= K * (1 + 1e-9)
    for i, (C, rows) in enumerate(zip(result.components, result.rows, strict=True)):
        np.testing.assert_array_equal(rows, np.flatnonzero(Y[:, i]))
        assert len(C) <= np.count_nonzero(weight[rows])
        np.testing.assert_allclose(C @ C.T, np.eye(len(C)), atol=1e-10)
    scale, total = np.abs(X).max() or 1.0, weight @ np.sum((X / (np.abs(X).max() or 1.0)) ** 2, axis=1)
    error = weight @ np.sum(((X - result.reconstruct()) / scale) ** 2, axis=1)
    assert error == pytest.approx(result.objective[-1] / scale**2, rel=1e-6, abs=1e-12 * total)
    if solver != "brp-fresh":
        assert (np.diff(result.objective) <= 1e-10 * scale**2 * total).all()


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), K=st.floats(0, 60), levels=st.sampled_from([3, 1000]))
def test_the_largest_entries_that_fit_are_chosen(seed, K, levels):
    rng = np.random.default_rng(seed)
    E, weight = rng.integers(-levels, levels, (12, 7)).astype(float), rng.integers(1, 9, 12) / 4
    expected, used = [], 0.0
    for place in np.argsort(-np.abs(E), axis=None, kind="stable"):
        used += weight[place // 7]
        if used - weight[place // 7] / 2 > K or E.flat[place] == 0:
            break
        expected.append(place)
    for block_size in (5, 200):
        chosen, _ = largest_weighted_entries(
            E, K, lambda at: weight[at // 7], block_size=block_size, sample_size=block_size // 2
        )
        np.testing.assert_array_equal(chosen, np.sort(expected))


@pytest.mark.array_api
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_arrays_of_other_libraries(elsewhere, solver):
    X, Y, weight, _ = make_samples("dense missing")
    weight = weight * np.random.default_rng(0).exponential(size=N)
    options = {"n_components": [1, 2, 2, 2, 9], "solver": solver, "sample_weight": weight, "random_state": 0}
    options |= {"residual_size": 0.02, "max_iter": 6}
    expected = decompose(X, Y, **options)
    with config_context(array_api_dispatch=True):
        actual = decompose(elsewhere(X), Y, **options | {"sample_weight": elsewhere(weight)})
    assert type(actual.coefficients[0]) is type(actual.residual) is type(elsewhere(X))
    np.testing.assert_allclose(actual.objective, expected.objective, rtol=1e-8)
    np.testing.assert_allclose(to_host(actual.residual), expected.residual.toarray(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(to_host(actual.reconstruct()), expected.reconstruct(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "weight", [[1.0], np.ones((3, 2)), [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0], ["a", "b", "c"]]
)
def test_other_weights_are_rejected(weight):
    with pytest.raises(ValueError, match=r"sample_weight|could not convert"):
        decompose(np.eye(3), np.eye(3), sample_weight=weight)


def test_weight_without_labels_is_rejected():
    with pytest.raises(ValueError, match="0 for every sample that has a label"):
        decompose(np.eye(3), [[1], [1], [0]], sample_weight=[0, 0, 1])
