"""Labels and probabilities of many samples, packed so that a page can hold and search them.

A cell is a pair of a sample and a label. Only cells whose label is true, predicted, or has a probability of at least
``MIN_STEP / N_STEPS`` are stored, in 16 bits each::

    bits 0-9   probability in steps of 1 / N_STEPS, rounded down: p >= i / N_STEPS if and only if the number is >= i
    bit 10     whether the label is true
    bit 11     whether the label is predicted

The cells of a sample are contiguous, largest probability first.
"""

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_STEPS = 1000  # thresholds on the page are multiples of 1 / N_STEPS
MIN_STEP = 10  # the smallest threshold on the page is MIN_STEP / N_STEPS
_TRUE, _PREDICTED = 1 << 10, 1 << 11


def pack_labels(
    true: NDArray[np.bool_], predicted: NDArray[np.bool_], probabilities: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Encode three matrices (n, k): the number of cells per sample, the label of each cell, and the cells."""
    steps = np.zeros(true.shape, dtype=np.int64)
    if probabilities is not None:
        # floor(1000 p) would be wrong, because the product is rounded: 0.29 * 1000 is less than 290.
        steps = np.searchsorted(np.arange(N_STEPS + 1) / N_STEPS, probabilities, side="right") - 1
    stored = true | predicted | (steps >= MIN_STEP)
    rows, labels = np.nonzero(stored)
    order = np.lexsort((-steps[rows, labels], rows))
    rows, labels = rows[order], labels[order]
    cells = steps[rows, labels] + _TRUE * true[rows, labels] + _PREDICTED * predicted[rows, labels]
    wide = true.shape[1] > 1 << 16
    return {
        "counts": encode_base64(stored.sum(axis=1), "<u4"),
        "labels": encode_base64(labels, "<u4" if wide else "<u2"),
        "cells": encode_base64(cells, "<u2"),
        "wide": wide,
    }


def encode_base64(values: NDArray[Any], dtype: str) -> str:
    """The bytes of an array in base64."""
    return b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()
