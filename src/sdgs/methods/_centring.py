"""Centred samples, without making sparse ones dense; and the form in which weights of samples enter least squares.

A sum of squares in which samples have weights is one without for rows times the square roots of the weights, once the
weighted means are subtracted. Such rows are called *scaled* here. Without weights they are the rows themselves.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

Weights = NDArray[np.float64] | None


def column_means(X: Any, sample_weight: Weights = None) -> NDArray[np.float64]:
    """In float64."""
    if sample_weight is not None:
        return np.asarray((X.T @ sample_weight).reshape(-1) / sample_weight.sum(), dtype=np.float64)
    return np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)


def centre(X: Any, mean: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """X in float64 minus its mean, and the mean that is left.

    In a sparse X only columns that are mostly filled are centred: the mean of others is at most about as large as
    their standard deviation, so that subtracting it from products later loses no digits.
    """
    if not issparse(X):
        return X - mean, np.zeros_like(mean)
    n, p = X.shape
    mostly_filled = np.bincount(X.indices, minlength=p) > n / 2
    offset = np.where(mostly_filled, mean, 0.0)
    centred = X.astype(np.float64) - csr_array(np.ones((n, 1))) @ csr_array(offset[None, :])
    return csr_array(centred), mean - offset


def scale_rows(X: Any, sample_weight: Weights) -> Any:
    """Rows times the square roots of their weights."""
    if sample_weight is None:
        return X
    root = np.sqrt(sample_weight)
    return csr_array(diags_array(root) @ X) if issparse(X) else root[:, None] * X


def total_weight(n: int, sample_weight: Weights) -> int | float:
    """The number of n samples, or the sum of their weights."""
    return n if sample_weight is None else float(sample_weight.sum())


def centred_labels(labels: Any, sample_weight: Weights = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A boolean label matrix as 0 and 1 minus the share of samples with each label, scaled; and these shares."""
    Y = labels.toarray().astype(np.float64)
    share = Y.mean(axis=0) if sample_weight is None else column_means(Y, sample_weight)
    return scale_rows(Y - share, sample_weight), share
