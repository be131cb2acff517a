"""The K largest of numbers that are on several workers, exactly, while few of them are sent.

Every worker sorts its numbers and sends each s-th of them, with s near sqrt(K). From these samples the client knows, up
to s per worker, how many numbers reach any value, and so two bounds around the K-th largest. Then the workers send the
numbers between the bounds, a few times s. Ties go to the first workers, and on one worker to the numbers that come
first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SortedSample:
    """Each ``step``-th of ``size`` numbers in descending order."""

    size: int
    step: int
    values: Array


def sample_sorted(numbers: Array, K: int) -> SortedSample:
    """A sample of numbers in descending order."""
    step = max(1, math.isqrt(K))
    return SortedSample(numbers.size, step, numbers[step - 1 :: step])


def bound_kth_largest(samples: Sequence[SortedSample], K: int) -> tuple[float, float]:
    """Two bounds around the K-th largest of all numbers; there are at least K."""
    values = np.unique(np.concatenate([sample.values for sample in samples]))
    min_reaching, max_above = np.zeros(values.size), np.zeros(values.size)  # numbers >= and > each value
    for sample in samples:
        ascending = sample.values[::-1]
        n_reaching = ascending.size - np.searchsorted(ascending, values, side="left")
        n_above = ascending.size - np.searchsorted(ascending, values, side="right")
        min_reaching += n_reaching * sample.step
        max_above += np.minimum(sample.size, (n_above + 1) * sample.step - 1)
    low, high = values[min_reaching >= K], values[max_above < K]
    return float(low.max(initial=0.0)), float(high.min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class NumbersBetween:
    """The number of values above the upper bound, and the distinct values between the bounds with their counts."""

    n_above: int
    values: Array
    counts: Counts


def numbers_between(numbers: Array, low: float, high: float) -> NumbersBetween:
    """Those between two bounds, inclusive, of numbers in descending order."""
    ascending = numbers[::-1]
    first, last = np.searchsorted(ascending, low, side="left"), np.searchsorted(ascending, high, side="right")
    values, counts = np.unique(ascending[first:last], return_counts=True)
    return NumbersBetween(int(numbers.size - last), values, counts)


def split_k_largest(parts: Sequence[NumbersBetween], K: int) -> list[int]:
    """How many of its largest numbers each worker contributes to the K largest of all."""
    values = np.unique(np.concatenate([part.values for part in parts]))
    counts = np.zeros((len(parts), values.size), dtype=np.int64)
    for worker_counts, part in zip(counts, parts, strict=True):
        worker_counts[np.searchsorted(values, part.values)] = part.counts
    n_above = np.array([part.n_above for part in parts])
    n_reaching = n_above.sum() + counts.sum(axis=0)[::-1].cumsum()[::-1]
    kth = int(np.flatnonzero(n_reaching >= K)[-1])  # index of the K-th largest value
    n_larger = n_above + counts[:, kth + 1 :].sum(axis=1)
    remaining, sizes = K - int(n_larger.sum()), []
    for larger, equal in zip(n_larger.tolist(), counts[:, kth].tolist(), strict=True):
        sizes.append(larger + min(remaining, equal))
        remaining -= min(remaining, equal)
    return sizes
