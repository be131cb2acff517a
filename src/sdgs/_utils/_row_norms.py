"""Rows of unit norm at any scale, and CSR indices of 32 bits."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host

_BLOCK_ENTRIES = 1 << 22  # entries that are processed at a time


def unit_rows(X: Any) -> tuple[Any, NDArray[np.floating[Any]]]:
    """A copy of ``X`` (dense or CSR) with rows of unit Euclidean norm, and the norms. Zero rows stay zero.

    Each row is divided by its largest magnitude first, so that squares neither overflow nor underflow. A norm that
    overflows is inf, but its row is correct. Missing entries (NaN) count as large as the observed ones are on average:
    with m of p entries observed the norm is sqrt(p / m) times that of the observed ones.
    """
    if not on_host(X):
        return _unit_rows_on_device(X)
    step = max(_BLOCK_ENTRIES // max(X.shape[1], 1), 1)
    if not issparse(X) and X.shape[0] <= step:
        return _unit_block(X)
    X = X.copy()
    if issparse(X):  # as many stored entries, if all rows have about as many
        step = max(int(_BLOCK_ENTRIES * X.shape[0] / max(X.nnz, 1)), 1)
    parts = [_row_sizes(X[start : start + step]) for start in range(0, X.shape[0], step)]
    largest, norms = (np.concatenate([part[i] for part in parts] or [np.empty(0, dtype=X.dtype)]) for i in (0, 1))
    _divide_rows(X, largest)
    _divide_rows(X, norms)
    with np.errstate(over="ignore"):
        return X, largest * norms


def _unit_block(X: Any) -> tuple[Any, NDArray[np.floating[Any]]]:
    """The same for few rows of a dense array: in as few passes as possible."""
    largest = np.abs(X).max(axis=1, initial=0)
    if np.isnan(largest).any():
        largest, norms = _row_sizes(X)
        X = X / _nonzero(largest, X.dtype)[:, None]
    else:
        X = X / _nonzero(largest, X.dtype)[:, None]
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    X /= _nonzero(norms, X.dtype)[:, None]
    with np.errstate(over="ignore"):
        return X, largest * norms


def _unit_rows_on_device(X: Any) -> tuple[Any, Any]:
    """The same for an array of another library."""
    xp = namespace(X)
    missing = xp.isnan(X)
    values = xp.where(missing, xp.zeros_like(X), X)
    largest = xp.max(xp.abs(values), axis=1)
    divisor = xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]
    values = values / divisor
    observed = xp.maximum(xp.sum(xp.astype(~missing, X.dtype), axis=1), xp.ones_like(largest))
    norms = xp.sqrt(xp.sum(values * values, axis=1) * (X.shape[1] / observed))
    with np.errstate(over="ignore"):  # of libraries that compute with NumPy
        return X / divisor / xp.where(norms > 0, norms, xp.ones_like(norms))[:, None], largest * norms


def safe_row_norms(X: Any) -> NDArray[np.floating[Any]] | None:
    """The norms of the rows of ``X``, which has no missing entries; None if squares may overflow or underflow."""
    if issparse(X):
        ones = np.ones(X.shape[1], dtype=X.dtype)
        with np.errstate(over="ignore"):
            squares = csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape) @ ones
    else:
        squares = np.einsum("ij,ij->i", X, X)
    smallest, largest = _safe_squares(X.dtype)
    if squares.size and not (smallest < squares.min() and squares.max() < largest):
        return None
    return np.asarray(np.sqrt(squares))


@cache
def _safe_squares(dtype: Any) -> tuple[float, float]:
    """The bounds of sums of squares in which nothing underflowed or overflowed."""
    limits = np.finfo(dtype)
    return limits.tiny / limits.eps**2, limits.max * limits.eps


def _row_sizes(X: Any) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    """The largest magnitude of each row, and the norm of the row divided by it."""
    missing = np.isnan(X.data if issparse(X) else X)
    values = X.copy()
    (values.data if issparse(X) else values)[missing] = 0
    if issparse(X):
        largest = np.asarray(abs(values).max(axis=1).todense()).reshape(-1).astype(X.dtype)
    else:
        largest = np.abs(values).max(axis=1, initial=0)
    _divide_rows(values, largest)
    squares = (
        np.asarray(values.multiply(values).sum(axis=1)).reshape(-1)
        if issparse(X)
        else np.einsum("ij,ij->i", values, values)
    )
    if missing.any():
        n_missing = (csr_array((missing, X.indices, X.indptr), shape=X.shape) if issparse(X) else missing).sum(axis=1)
        squares = squares * (X.shape[1] / np.maximum(X.shape[1] - n_missing, 1))
    return largest, np.sqrt(squares).astype(X.dtype)


def narrow_indices(X: Any) -> Any:
    """A CSR matrix with 32-bit indices if they suffice, because much of scikit-learn needs them; values are shared."""
    if X.indices.dtype == np.int32 == X.indptr.dtype or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _divide_rows(X: Any, divisors: NDArray[Any]) -> None:
    """Divide each row of ``X`` by a number, in place; 0 leaves a row unchanged."""
    divisors = _nonzero(divisors, X.dtype)
    if issparse(X):
        X.data /= np.repeat(divisors, np.diff(X.indptr))
    else:
        X /= divisors[:, None]


def _nonzero(divisors: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Divisors with 1 for 0."""
    return np.where(divisors > 0, divisors, 1).astype(dtype, copy=False)
