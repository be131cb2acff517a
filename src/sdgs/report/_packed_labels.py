"""Labels and probabilities of many samples, packed so that a page can hold and search them.

Of each sample only the labels that matter are kept: those that are true, predicted, or have a probability of at least
1 %. Each is a number of 16 bits::

    bits 0-9   probability in thousandths, rounded down: p >= i / 1000 exactly where these are >= i
    bit 10     whether the label is true
    bit 11     whether it is predicted

and those of a sample stand together, the most probable first.
"""

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 1000  # thresholds that the page knows are whole numbers of 1 / STEPS
LEAST = 10  # of them: the smallest
_TRUE, _PREDICTED = 1 << 10, 1 << 11


def packed(
    true: NDArray[np.bool_], predicted: NDArray[np.bool_], probabilities: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Three matrices (n, k) as text: how many cells each sample has, the label of each cell, and the cells."""
    levels = np.zeros(true.shape, dtype=np.int64)
    if probabilities is not None:
        # Not floor(1000 p), which rounds: 0.29 * 1000 is less than 290.
        levels = np.searchsorted(np.arange(STEPS + 1) / STEPS, probabilities, side="right") - 1
    kept = true | predicted | (levels >= LEAST)
    rows, labels = np.nonzero(kept)
    order = np.lexsort((-levels[rows, labels], rows))
    rows, labels = rows[order], labels[order]
    cells = levels[rows, labels] + _TRUE * true[rows, labels] + _PREDICTED * predicted[rows, labels]
    return {
        "counts": as_text(kept.sum(axis=1), "<u4"),
        "labels": as_text(labels, "<u4" if true.shape[1] > 1 << 16 else "<u2"),
        "cells": as_text(cells, "<u2"),
        "wide": true.shape[1] > 1 << 16,
    }


def as_text(values: NDArray[Any], dtype: str) -> str:
    """The bytes of an array in base64."""
    return b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()
