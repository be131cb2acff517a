"""Samples in memory and as Dask arrays, and what tests of both compare."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array, issparse

from sdgs.datasets import make_label_subspaces

DECOMPOSE_OPTIONS = {"n_components": [2, 3, 2, 2, 40, 2], "residual_size": 0.01, "tol": 1e-3, "random_state": 3}


@dataclass
class Data:
    """Samples and labels in memory."""

    X: Any
    Y: np.ndarray

    def as_dask(self, chunks=(50, 80, 50)):
        """The samples as a Dask array with so many rows per block."""
        import dask.array as da

        dense = self.X.toarray() if issparse(self.X) else self.X
        X = da.from_array(dense, chunks=(chunks, (self.X.shape[1],)))
        return X.map_blocks(csr_array) if issparse(self.X) else X


def make_data(kind, n=180):
    """Dense or sparse samples, complete or "missing"; some have no label, and one label has no sample."""
    data = make_label_subspaces(n, 30, 6, n_components=2, noise=0.1, random_state=0)
    rng = np.random.default_rng(0)
    X, Y = data.X.copy(), data.Y.copy()
    Y[:5], Y[:, 3] = 0, 0
    X[rng.integers(n, size=20), rng.integers(30, size=20)] = 5
    if "sparse" in kind:
        X = np.abs(np.where(rng.random(X.shape) < 0.7, 0, X))
    if "missing" in kind:
        X[rng.random(X.shape) < 0.1] = np.nan
    return Data(csr_array(X) if "sparse" in kind else X, Y)


def assert_same_decomposition(actual, expected, tol=1e-9):
    assert actual.n_iter == expected.n_iter
    assert actual.converged == expected.converged
    np.testing.assert_allclose(actual.objective, expected.objective, rtol=tol)
    for i, (C, D) in enumerate(zip(actual.components, expected.components, strict=True)):
        assert C.shape == D.shape
        assert C.dtype == D.dtype
        if len(C):
            assert subspace_angles(C.T, D.T).max() < 1e-6
        np.testing.assert_array_equal(actual.rows[i], expected.rows[i])
        low_rank = expected.coefficients[i] @ D
        np.testing.assert_allclose(actual.coefficients[i] @ C, low_rank, atol=1e-7 * np.abs(low_rank).max(initial=1))
    np.testing.assert_array_equal(actual.residual.indices, expected.residual.indices)
    np.testing.assert_allclose(actual.residual.data, expected.residual.data, rtol=1e-7)
