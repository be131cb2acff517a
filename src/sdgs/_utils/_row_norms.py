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
    (n, p), dtype = X.shape, X.dtype
    largest, norms = np.empty(n, dtype=dtype), np.empty(n, dtype=dtype)
    if issparse(X):
        data = np.empty_like(X.data)
        for rows in _row_blocks(n, X.nnz):
            entries = slice(X.indptr[rows.start], X.indptr[rows.stop])
            indptr = X.indptr[rows.start : rows.stop + 1] - X.indptr[rows.start]
            largest[rows], norms[rows] = _scale_sparse_rows(X.data[entries], indptr, p, data[entries])
        unit = csr_array((data, X.indices, X.indptr), shape=X.shape)
    else:
        unit = np.empty((n, p), dtype=dtype)
        for rows in _row_blocks(n, n * p):
            largest[rows], norms[rows] = _scale_dense_rows(X[rows], unit[rows])
    with np.errstate(over="ignore"):
        return unit, largest * norms


def _row_blocks(n: int, n_entries: int) -> list[slice]:
    """Blocks of rows with a limited number of entries, if all rows have about as many."""
    step = max(_BLOCK_ENTRIES * n // max(n_entries, 1), 1)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _scale_dense_rows(X: Any, out: Any) -> tuple[Any, Any]:
    """Write rows of unit norm; returns the largest magnitude of each row, and the norm of the row divided by it."""
    largest, missing = np.abs(X).max(axis=1, initial=0), None
    if np.isnan(largest).any():
        missing = np.isnan(X)
        largest = np.abs(X).max(axis=1, initial=0, where=~missing)
    np.divide(X, _nonzero(largest)[:, None], out=out)
    values = out if missing is None else np.where(missing, 0, out)
    squares = np.einsum("ij,ij->i", values, values)
    norms = np.sqrt(squares if missing is None else _of_all_entries(squares, missing.sum(axis=1), X.shape[1]))
    out /= _nonzero(norms.astype(X.dtype, copy=False))[:, None]
    return largest, norms


def _scale_sparse_rows(data: Any, indptr: Any, p: int, out: Any) -> tuple[Any, Any]:
    """The same for the stored entries of rows with ``p`` columns."""
    missing = np.isnan(data)
    values, counts = np.where(missing, 0, data), np.diff(indptr)
    largest = _reduce_rows(np.maximum, np.abs(values), indptr)
    divisors = np.repeat(_nonzero(largest), counts)
    np.divide(data, divisors, out=out)
    values /= divisors
    squares = _reduce_rows(np.add, np.square(values, dtype=np.float64), indptr)
    if missing.any():
        squares = _of_all_entries(squares, _reduce_rows(np.add, missing.astype(np.intp), indptr), p)
    norms = np.sqrt(squares).astype(data.dtype, copy=False)
    out /= np.repeat(_nonzero(norms), counts)
    return largest, norms


def _of_all_entries(squares: Any, n_missing: Any, p: int) -> Any:
    """Sums of squares of the observed entries of rows, extrapolated to all ``p`` entries."""
    return squares * (p / np.maximum(p - n_missing, 1))


def _reduce_rows(reduction: np.ufunc, values: Any, indptr: Any) -> Any:
    """The reduction of the stored entries of each row; 0 for a row without entries."""
    result, is_stored = np.zeros(indptr.size - 1, dtype=values.dtype), indptr[1:] > indptr[:-1]
    if is_stored.any():
        result[is_stored] = reduction.reduceat(values, indptr[:-1][is_stored])
    return result


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


def narrow_indices(X: Any) -> Any:
    """A CSR matrix with 32-bit indices if they suffice, because much of scikit-learn needs them; values are shared."""
    if X.indices.dtype == np.int32 == X.indptr.dtype or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _nonzero(divisors: NDArray[Any]) -> NDArray[Any]:
    """Divisors with 1 for 0: such rows stay zero."""
    return np.where(divisors > 0, divisors, divisors.dtype.type(1))
