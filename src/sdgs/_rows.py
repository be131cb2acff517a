"""Small things that rows of a matrix need: unit norm at any scale, indices that others take."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse


def unit_rows(X: Any) -> tuple[Any, NDArray[np.floating[Any]]]:
    """A copy of ``X`` (dense or CSR) with rows of unit Euclidean norm, and the norms. Zero rows stay zero.

    Each row is divided by its largest magnitude first, so that squares neither overflow nor vanish. A norm that
    overflows is inf; the row is right all the same.
    """
    X = X.copy()
    if issparse(X):
        largest = np.asarray(abs(X).max(axis=1).todense()).reshape(-1).astype(X.dtype)
    else:
        largest = np.abs(X).max(axis=1, initial=0)
    _divide_rows(X, largest)
    squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    norms = np.sqrt(squares).astype(X.dtype)
    _divide_rows(X, norms)
    with np.errstate(over="ignore"):
        return X, largest * norms


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
