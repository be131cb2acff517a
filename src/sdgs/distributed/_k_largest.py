"""The K largest of numbers that are on several workers, exactly, while few of them are sent.

Every worker sorts its numbers and sends each s-th of them, with s near sqrt(K). From these samples the client knows, up
to s per worker, how many numbers reach any value, and so two bounds around the K-th largest. Then the workers send the
numbers between the bounds, a few times s. Ties go to the first workers, and on one worker to the numbers that come
first.

With costs, K is a budget: each number takes its cost from it, and sums of costs take the place of counts. The number at
which the budget ends is described in :func:`sdgs.decomposition._block_updates.number_within_budget`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._block_updates import number_within_budget

Array = NDArray[np.floating[Any]]

_ROUNDING = 1e-9  # relative, of sums of costs


@dataclass(frozen=True, eq=False)
class SortedSample:
    """The numbers in descending order at which their sum of costs, ``total`` in the end, passes multiples of a step."""

    total: float
    step: float
    values: Array


def sample_sorted(numbers: Array, costs: Array) -> SortedSample:
    """A sample of numbers in descending order."""
    cumulative = costs.cumsum()
    total = float(cumulative[-1]) if costs.size else 0.0
    n_values = math.isqrt(costs.size)
    multiples = np.arange(1, n_values + 1) * (total / max(n_values, 1))
    passed = np.searchsorted(cumulative, multiples * (1 - _ROUNDING))
    return SortedSample(total, total / max(n_values, 1), numbers[passed])


def bound_kth_largest(samples: Sequence[SortedSample], K: float) -> tuple[float, float]:
    """Two bounds around the K-th largest of all numbers; their costs are at least K."""
    values = np.unique(np.concatenate([sample.values for sample in samples]))
    min_reaching, max_above = np.zeros(values.size), np.zeros(values.size)  # costs of numbers >= and > each value
    for sample in samples:
        ascending = sample.values[::-1]
        n_reaching = ascending.size - np.searchsorted(ascending, values, side="left")
        n_above = ascending.size - np.searchsorted(ascending, values, side="right")
        min_reaching += n_reaching * sample.step
        max_above += np.minimum(sample.total, (n_above + 1) * sample.step)
    low, high = values[min_reaching >= K * (1 + _ROUNDING)], values[max_above < K * (1 - _ROUNDING)]
    return float(low.max(initial=0.0)), float(high.min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class NumbersBetween:
    """The costs of numbers above the upper bound, and the distinct values between the bounds with their costs."""

    above: float
    values: Array
    costs: Array


def numbers_between(numbers: Array, costs: Array, low: float, high: float) -> NumbersBetween:
    """Those between two bounds, inclusive, of numbers in descending order."""
    ascending = numbers[::-1]
    first, last = np.searchsorted(ascending, low, side="left"), np.searchsorted(ascending, high, side="right")
    values, inverse = np.unique(ascending[first:last], return_inverse=True)
    sums = np.bincount(inverse, weights=costs[::-1][first:last], minlength=values.size).astype(np.float64)
    return NumbersBetween(float(costs[: numbers.size - last].sum()), values, sums)


def cut_at_budget(parts: Sequence[NumbersBetween], K: float) -> tuple[float, list[float]]:
    """The K-th largest value, and for each worker what is left of K for its numbers of this value."""
    values = np.unique(np.concatenate([part.values for part in parts]))
    costs = np.zeros((len(parts), values.size))
    for worker_costs, part in zip(costs, parts, strict=True):
        worker_costs[np.searchsorted(values, part.values)] = part.costs
    above = sum(part.above for part in parts)
    reaching = above + costs.sum(axis=0)[::-1].cumsum()[::-1]
    kth = int(np.flatnonzero(reaching >= K).max(initial=0))  # index of the K-th largest value
    remaining = K - above - costs[:, kth + 1 :].sum() - np.concatenate([[0], costs[:-1, kth].cumsum()])
    return float(values[kth]), remaining.tolist()


def number_above_cut(numbers: Array, costs: Array, cut: float, remaining: float) -> int:
    """How many of a worker's numbers, in descending order, are above the cut or fit into what remains at it."""
    ascending = numbers[::-1]
    n_above = numbers.size - int(np.searchsorted(ascending, cut, side="right"))
    n_reaching = numbers.size - int(np.searchsorted(ascending, cut, side="left"))
    return n_above + number_within_budget(costs[n_above:n_reaching], remaining)
