"""Small problems that several modules of tests decompose."""

import numpy as np
from hypothesis import strategies as st


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


def sparse_labels(n, k, per_row, seed=0):
    """Labels many of which share no row."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, k), dtype=int)
    first = rng.integers(k, size=n)
    for step in range(per_row):
        Y[np.arange(n), (first + step) % k] = 1
    return Y
