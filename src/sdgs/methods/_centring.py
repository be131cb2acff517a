"""Centred samples, without making sparse ones dense."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse


def column_means(X: Any) -> NDArray[np.float64]:
    """In float64."""
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


def centred_labels(labels: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A boolean label matrix as 0 and 1 minus the share of samples with each label, and these shares."""
    Y = labels.toarray().astype(np.float64)
    share = Y.mean(axis=0)
    return Y - share, share
