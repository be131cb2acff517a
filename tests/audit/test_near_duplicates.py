"""Near-duplicates with different labels: those that a comparison of all pairs finds."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdgs.audit import find_differing_duplicates
from sdgs.audit._near_duplicates import comparable_samples


def reference_distances(X):
    """All distances relative to the root mean square, from the definition; inf where samples cannot be compared."""
    X = np.asarray(X, dtype=float)
    n, p = X.shape
    if np.count_nonzero(X) < 0.25 * n * p:
        observed = np.maximum((~np.isnan(X)).sum(axis=1), 1)
        norms = np.sqrt(np.nansum(X**2, axis=1) * p / observed)
        Z = X / np.where(norms > 0, norms, 1)[:, None]
    else:
        counts = np.maximum((~np.isnan(X)).sum(axis=0), 1)
        Z = X - np.nansum(X, axis=0) / counts
        spread = np.sqrt(np.nansum(Z**2, axis=0) / counts)
        Z = Z[:, spread > 1e-12] / spread[spread > 1e-12]
    n, p = Z.shape
    filled = np.nan_to_num(Z)
    usual = np.sqrt(2 * np.sum((filled - filled.mean(axis=0)) ** 2) / (n - 1)) or 1
    D = np.full((n, n), np.inf)
    for i in range(n):
        for j in range(n):
            common = ~np.isnan(Z[i] - Z[j])
            if i != j and common.sum() >= p / 2 and (common.any() or not np.isnan(X).any()):
                D[i, j] = np.sqrt(np.sum((Z[i] - Z[j])[common] ** 2) * (p / max(common.sum(), 1))) / usual
    return D


def samples_with_copies(rng, n, p, *, words, missing):
    X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-2, 3, p)
    if words:
        X = rng.poisson(0.15, (n, p)).astype(float)
    copies = rng.integers(n, size=(n // 2, 2))
    X[copies[:, 0]] = X[copies[:, 1]]
    X[copies[::2, 0], 0] *= 1.05
    if missing:
        X[rng.random((n, p)) < 0.2] = np.nan
    return X, rng.random((n, 3)) < 0.4


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 30),
    st.integers(1, 12),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
)
def test_pairs_are_those_of_a_comparison_of_all(seed, n, p, words, missing, sparse, max_distance):
    X, Y = samples_with_copies(np.random.default_rng(seed), n, p, words=words, missing=missing)
    pairs = find_differing_duplicates(csr_array(X) if sparse else X, Y.astype(int), max_distance=max_distance)
    D = reference_distances(X)
    different = (Y[:, None] != Y[None, :]).any(axis=2)
    D[~different] = np.inf
    expected = {i: D[i].min() for i in range(n) if D[i].min() <= max_distance + 1e-9}
    found = dict.fromkeys(pairs.rows.ravel().tolist())
    sure = {i for i, distance in expected.items() if distance <= max_distance * (1 - 1e-9) or distance == 0}
    assert sure <= set(found) <= set(expected)
    for (i, j), distance in zip(pairs.rows, pairs.distance, strict=True):
        assert i < j
        assert different[i, j]
        np.testing.assert_allclose(distance, D[i, j], rtol=1e-6, atol=1e-7)
        assert min(distance - expected[i], distance - expected[j]) <= 2e-7  # it is the nearest of one of both
    assert (np.diff(pairs.distance) >= 0).all()
    assert len(np.unique(pairs.rows, axis=0)) == len(pairs)


@pytest.mark.parametrize("sparse", [False, True])
def test_many_blocks_give_the_planted_pairs(sparse):
    rng = np.random.default_rng(0)
    n = 2600  # three blocks
    X = (rng.random((n, 60)) < 0.1) * rng.random((n, 60)) if sparse else rng.standard_normal((n, 10))
    Y = np.eye(2, dtype=int)[rng.integers(2, size=n)]
    planted = rng.permutation(n)[:200].reshape(-1, 2)
    X[planted[:, 1]] = X[planted[:, 0]]
    Y[planted[:, 1]] = 1 - Y[planted[:, 0]]
    pairs = find_differing_duplicates(csr_array(X) if sparse else X, Y, max_distance=0)
    assert {tuple(pair) for pair in np.sort(planted, axis=1)} <= {tuple(pair) for pair in pairs.rows}
    assert (pairs.distance == 0).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_no_pair_is_lost_between_blocks(sparse):
    rng = np.random.default_rng(0)
    n = 2600
    X = (rng.random((n, 40)) < 0.15) * rng.random((n, 40)) if sparse else rng.standard_normal((n, 5))
    Y = np.eye(2, dtype=int)[rng.integers(2, size=n)]
    samples = comparable_samples(csr_array(X) if sparse else X)
    distances = np.sqrt(np.maximum(samples.squared_distances(np.arange(n), np.arange(n)), 0)) / samples.usual
    distances[Y[:, 0][:, None] == Y[:, 0][None, :]] = np.inf
    limit = 0.35 if sparse else 0.2
    expected = np.flatnonzero(distances.min(axis=1) <= limit)
    pairs = find_differing_duplicates(csr_array(X) if sparse else X, Y, max_distance=limit)
    assert expected.size > 100
    np.testing.assert_array_equal(np.unique(pairs.rows), expected)


def test_many_copies_take_little_memory_and_give_one_pair_per_sample():
    n = 4000
    X, Y = np.ones((n, 5)), np.eye(2, dtype=int)[np.arange(n) % 2]
    X[0] = 2
    tracemalloc.start()
    pairs = find_differing_duplicates(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n / 2 <= len(pairs) < n
    assert peak < n * n * 8 / 2  # a matrix of distances


def test_samples_are_compared_in_standard_deviations_or_by_direction():
    X = np.array([[1.0, 1e6], [1.001, 1e6], [2.0, 3e6], [0.0, 2e6]])
    labels = np.array([[1, 0], [0, 1], [1, 1], [1, 0]])
    assert find_differing_duplicates(X, labels).rows.tolist() == [[0, 1]]
    words = csr_array([[0, 0, 2, 0, 1, 0, 0, 0, 0], [0, 0, 4, 0, 2, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]])
    pairs = find_differing_duplicates(words, labels[:3])
    assert pairs.rows.tolist() == [[0, 1]]
    assert pairs.distance[0] == 0
    assert comparable_samples(words).usual == pytest.approx(np.sqrt(4 / 3))  # distances 0, sqrt(2), sqrt(2)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_scale_of_the_data_does_not_matter(scale):
    rng = np.random.default_rng(0)
    X, Y = samples_with_copies(rng, 40, 6, words=False, missing=False)
    X /= np.abs(X).max()
    expected, scaled = (find_differing_duplicates(s * X, Y.astype(int)) for s in (1, scale))
    assert len(expected)
    np.testing.assert_array_equal(scaled.rows, expected.rows)


def test_names():
    X = pd.DataFrame({"a": [1.0, 1.0, 3.0]}, index=["p", "q", "r"])
    Y = pd.DataFrame({"x": [1, 0, 1], "y": [1, 1, 0]})
    pairs = find_differing_duplicates(X, Y)
    assert pairs.sample_names.tolist() == [["p", "q"]]
    assert (pairs.only_first(0), pairs.only_second(0), pairs.shared(0)) == (["x"], [], ["y"])
    pairs = find_differing_duplicates(X, Y, label_names=["l", "m"], sample_names=[7, 8, 9])
    assert (pairs.sample_names.tolist(), pairs.only_first(0)) == ([[7, 8]], ["l"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[np.inf]] * 3}, "X contains infinity"),
        ({"Y": [[1], [0]]}, "same number of rows"),
        ({"max_distance": -1}, "max_distance must be a finite number >= 0"),
        ({"sample_names": ["a"]}, "sample_names must have 3 names"),
    ],
)
def test_invalid_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        find_differing_duplicates(**{"X": [[1.0], [2.0], [3.0]], "Y": [[1], [0], [1]], **arguments})
