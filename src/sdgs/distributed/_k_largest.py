"""The K largest of numbers that are on several workers, exactly, from a few of them.

Every worker has its candidates in order. It tells each s-th of them, s near sqrt(K): from that the client knows how
many are at least a number, up to s a worker, and so two bounds that the K-th largest lies between. The numbers between
the bounds, a few times s, are told as well. Of equal numbers those on the first workers count as larger, and on one
worker those that come first.
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
class Sample:
    """Each s-th of so many numbers, the largest first."""

    size: int
    step: int
    values: Array


def sampled(numbers: Array, K: int) -> Sample:
    """Of numbers in descending order."""
    step = max(1, math.isqrt(K))
    return Sample(numbers.size, step, numbers[step - 1 :: step])


def bounds(samples: Sequence[Sample], K: int) -> tuple[float, float]:
    """Between which the K-th largest of all is; there are at least K."""
    known = np.unique(np.concatenate([sample.values for sample in samples]))
    least, most = np.zeros(known.size), np.zeros(known.size)
    for sample in samples:
        ascending = sample.values[::-1]
        reach = ascending.size - np.searchsorted(ascending, known, side="left")
        above = ascending.size - np.searchsorted(ascending, known, side="right")
        least += reach * sample.step  # so many are at least as large as each of the known ones, at least
        most += np.minimum(sample.size, (above + 1) * sample.step - 1)  # and so many are larger, at most
    low, high = known[least >= K], known[most < K]
    return float(low.max(initial=0.0)), float(high.min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class Between:
    """How many numbers are above two bounds; and those between them, bounds included, each once and how often."""

    above: int
    values: Array
    counts: Counts


def between(numbers: Array, low: float, high: float) -> Between:
    """Of numbers in descending order."""
    ascending = numbers[::-1]
    first, last = np.searchsorted(ascending, low, side="left"), np.searchsorted(ascending, high, side="right")
    values, counts = np.unique(ascending[first:last], return_counts=True)
    return Between(int(numbers.size - last), values, counts)


def kept(parts: Sequence[Between], K: int) -> list[int]:
    """How many of its numbers, the largest, each worker keeps so that all together are the K largest."""
    values = np.unique(np.concatenate([part.values for part in parts]))
    counts = np.zeros((len(parts), values.size), dtype=np.int64)
    for of_one, part in zip(counts, parts, strict=True):
        of_one[np.searchsorted(values, part.values)] = part.counts
    above = np.array([part.above for part in parts])
    reach = above.sum() + counts.sum(axis=0)[::-1].cumsum()[::-1]  # as large as each value, of all
    last = int(np.flatnonzero(reach >= K)[-1])  # the K-th largest
    larger = above + counts[:, last + 1 :].sum(axis=1)
    left, sizes = K - int(larger.sum()), []
    for more, equal in zip(larger.tolist(), counts[:, last].tolist(), strict=True):
        sizes.append(more + min(left, equal))
        left -= min(left, equal)
    return sizes
