"""Small things that rows of a matrix need: unit norm at any scale, indices that others take."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse


def unit_rows(X: Any) -> tuple[Any, NDArray[np.floating[Any]]]:
    """A copy of ``X`` (dense or CSR) with rows of unit Euclidean norm, and the norms. Zero rows stay zero.

    Each row is divided by its largest magnitude first, so that squares neither overflow nor vanish. A norm that
    overflows is inf; the row is right all the same. Entries that are NaN, not observed, are taken to be as large as the
    observed ones are on average: with m of p observed the norm is sqrt(p / m) times that of the observed ones.
    """
    X = X.copy()
    missing = np.isnan(X.data if issparse(X) else X)
    values = _filled(X, missing) if missing.any() else X
    if issparse(X):
        largest = np.asarray(abs(values).max(axis=1).todense()).reshape(-1).astype(X.dtype)
    else:
        largest = np.abs(values).max(axis=1, initial=0)
    _divide_rows(X, largest)
    values = _filled(X, missing) if missing.any() else X
    squares = (
        np.asarray(values.multiply(values).sum(axis=1)).reshape(-1)
        if issparse(X)
        else np.einsum("ij,ij->i", values, values)
    )
    if missing.any():
        gaps = (csr_array((missing, X.indices, X.indptr), shape=X.shape) if issparse(X) else missing).sum(axis=1)
        squares = squares * (X.shape[1] / np.maximum(X.shape[1] - gaps, 1))
    norms = np.sqrt(squares).astype(X.dtype)
    _divide_rows(X, norms)
    with np.errstate(over="ignore"):
        return X, largest * norms


def _filled(X: Any, missing: NDArray[np.bool_]) -> Any:
    """``X`` with 0 for what is missing."""
    if issparse(X):
        return csr_array((np.where(missing, 0, X.data), X.indices, X.indptr), shape=X.shape)
    return np.where(missing, 0, X)


def narrow_indices(X: Any) -> Any:
    """A CSR matrix with 32-bit indices where they suffice: much of scikit-learn takes no others. Shares the values."""
    if X.indices.dtype == np.int32 == X.indptr.dtype or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _divide_rows(X: Any, by: NDArray[Any]) -> None:
    """Divide each row of ``X`` by a number, in place; rows whose number is 0 are left alone."""
    divisor = np.where(by > 0, by, 1).astype(X.dtype)
    if issparse(X):
        X.data /= np.repeat(divisor, np.diff(X.indptr))
    else:
        X /= divisor[:, None]
