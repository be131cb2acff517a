"""Validation of sample weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from sdgs._utils._array_api import is_dispatched, to_host


def check_sample_weight(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """One finite weight per sample, at least 0 and not all 0, as float64; None stays None."""
    if sample_weight is None:
        return None
    if is_dispatched(sample_weight):
        sample_weight = to_host(sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    rule = f"sample_weight must hold one number >= 0 for each of the {n} samples, and not only zeros"
    if weights.shape != (n,):
        raise ValueError(f"{rule}; its shape is {weights.shape}.")
    if weights.min() < 0:
        row = int(weights.argmin())
        raise ValueError(f"{rule}; that of sample {row} is {weights[row]:g}.")
    if weights.max() <= 0:
        raise ValueError(f"{rule}; all are 0.")
    return np.asarray(weights)


def rows_with_weight(sample_weight: NDArray[np.float64] | None) -> NDArray[np.intp] | None:
    """The samples whose weight is not 0; None if they are all."""
    if sample_weight is None or sample_weight.all():
        return None
    return np.flatnonzero(sample_weight)


def drop_zero_weights(X: Any, labels: Any, sample_weight: NDArray[np.float64] | None) -> tuple[Any, Any, Any]:
    """Samples, labels and weights without the samples of weight 0."""
    rows = rows_with_weight(sample_weight)
    return (X, labels, sample_weight) if rows is None else (X[rows], labels[rows], sample_weight[rows])  # type: ignore[index]
