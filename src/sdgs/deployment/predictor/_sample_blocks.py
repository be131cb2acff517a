"""Reading samples: dense rows or CSR arrays, checked, as dense blocks of rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK_ENTRIES = 1 << 21  # of samples that are dense at a time: 16 MiB


class CSR(NamedTuple):
    """Sparse samples without SciPy; any object with these attributes will do, such as ``scipy.sparse.csr_array``."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]


def is_csr(X: Any) -> bool:
    """Whether X has the attributes of a CSR array."""
    return all(hasattr(X, name) for name in ("data", "indices", "indptr", "shape"))


def check_names(X: Any, features: list[Any] | None) -> None:
    """Reject a DataFrame with other named columns than those of the model, or with the same in another order."""
    names = list(X.columns) if hasattr(X, "columns") else []
    if features is None or not names or not all(isinstance(name, str) for name in names):
        return
    if names != features:
        raise ValueError("X has other columns than the model, or in another order. Pass X[FEATURES].")


def read_samples(X: Any, n_features: int, *, missing: bool) -> Any:
    """X as float64, dense or CSR, after checks; with ``missing`` NaN is allowed."""
    if is_csr(X):
        if hasattr(X, "format") and X.format != "csr":
            raise ValueError(f"X has the sparse format {X.format!r}. Convert it by X.tocsr().")
        indices, indptr = (np.asarray(part, dtype=np.int64) for part in (X.indices, X.indptr))
        X = CSR(np.asarray(X.data, dtype=np.float64), indices, indptr, (int(X.shape[0]), int(X.shape[1])))
        if indptr.size != X.shape[0] + 1 or (indices.size and not 0 <= indices.min() <= indices.max() < X.shape[1]):
            raise ValueError("X is not a CSR array: its indices or indptr do not fit its shape.")
        values = X.data
    else:
        if hasattr(X, "tocsr"):
            raise ValueError("X is sparse, but not CSR. Convert it by X.tocsr().")
        X = values = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, one row per sample; it has {X.ndim}.")
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {n_features}.")
    if np.isinf(values).any():
        raise ValueError("X contains infinity. Replace it.")
    if not missing and np.isnan(values).any():
        raise ValueError("X contains NaN, which this model does not take. Fill in missing values first.")
    return X


def take_rows(X: Any, start: int, stop: int) -> Any:
    """Rows of dense or CSR samples."""
    if not is_csr(X):
        return X[start:stop]
    stop = min(stop, X.shape[0])
    first, last = X.indptr[start], X.indptr[stop]
    indptr = X.indptr[start : stop + 1] - first
    return CSR(X.data[first:last], X.indices[first:last], indptr, (stop - start, X.shape[1]))


def has_missing(X: Any) -> bool:
    """Whether any entry is NaN."""
    return bool(np.isnan(X.data if is_csr(X) else X).any())


def dense_blocks(X: Any) -> Iterator[Floats]:
    """The samples as dense arrays, some rows at a time."""
    step = max(BLOCK_ENTRIES // X.shape[1], 1)
    for start in range(0, X.shape[0], step):
        block = take_rows(X, start, start + step)
        if is_csr(block):
            dense = np.zeros(block.shape)
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
            np.add.at(dense, (rows, block.indices), block.data)  # an entry that is stored twice is the sum of both
            block = dense
        yield block


def times(X: Floats, A: Floats) -> Floats:
    """X @ A, by the non-zero columns of X alone if they are few."""
    used = np.flatnonzero(X.any(axis=0))
    return X @ A if 4 * used.size > X.shape[1] else X[:, used] @ A[used]
