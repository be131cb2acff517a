"""The K largest of numbers on several workers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdgs.distributed._k_largest import (
    bound_kth_largest,
    cut_at_budget,
    number_above_cut,
    numbers_between,
    sample_sorted,
)


def sizes_at_cut(parts, costs, K):
    """How many of its numbers each worker contributes to the K largest."""
    bounds = bound_kth_largest([sample_sorted(*pair) for pair in zip(parts, costs, strict=True)], K)
    between = [numbers_between(*pair, *bounds) for pair in zip(parts, costs, strict=True)]
    cut, remaining = cut_at_budget(between, K)
    return [number_above_cut(part, cost, cut, rest) for part, cost, rest in zip(parts, costs, remaining, strict=True)]


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=60), min_size=1, max_size=5),
    st.integers(1, 80),
)
def test_ties_go_to_the_first_workers(numbers, K):
    parts = [np.sort(np.array(part, dtype=float))[::-1][:K] for part in numbers]
    all_numbers = [(-x, worker) for worker, part in enumerate(parts) for x in part]
    if len(all_numbers) <= K:
        return
    costs = [np.ones(part.size) for part in parts]
    workers = [worker for _, worker in sorted(all_numbers)[:K]]
    assert sizes_at_cut(parts, costs, K) == [workers.count(worker) for worker in range(len(parts))]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.25, 1.0, 3.0, 7.5])), max_size=40),
        min_size=1,
        max_size=4,
    ),
    st.floats(0.5, 80),
)
def test_numbers_with_costs_are_taken_in_order_while_they_fit(numbers, K):
    ordered = [sorted(part, key=lambda entry: -entry[0]) for part in numbers]
    parts = [np.array([x for x, _ in part], dtype=float) for part in ordered]
    costs = [np.array([cost for _, cost in part]) for part in ordered]
    expected, used = [0] * len(parts), 0.0
    for _, worker, cost in sorted((-x, worker, i) for worker, part in enumerate(parts) for i, x in enumerate(part)):
        cost = costs[worker][cost]
        if used + cost / 2 > K:
            break
        expected[worker] += 1
        used += cost
    if sum(cost.sum() for cost in costs) <= K:
        assert expected == [part.size for part in parts]
        return
    assert sizes_at_cut(parts, costs, K) == expected


def test_few_numbers_are_sent():
    rng, K = np.random.default_rng(0), 10_000
    parts = [np.sort(rng.exponential(size=K))[::-1] for _ in range(4)]
    costs = np.ones(K)
    samples = [sample_sorted(part, costs) for part in parts]
    between = [numbers_between(part, costs, *bound_kth_largest(samples, K)) for part in parts]
    assert sum(sizes_at_cut(parts, [costs] * 4, K)) == K
    n_sent = sum(sample.values.size for sample in samples) + sum(part.values.size for part in between)
    assert n_sent <= 4 * 4 * np.sqrt(K)
