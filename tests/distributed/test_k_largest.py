"""The K largest of numbers on several workers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdgs.distributed._k_largest import bound_kth_largest, numbers_between, sample_sorted, split_k_largest


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=60), min_size=1, max_size=5),
    st.integers(1, 80),
)
def test_ties_go_to_the_first_workers(numbers, K):
    parts = [np.sort(np.array(part, dtype=float))[::-1][:K] for part in numbers]
    all_numbers = [(-x, worker) for worker, part in enumerate(parts) for x in part]
    if len(all_numbers) <= K:
        return
    bounds = bound_kth_largest([sample_sorted(part, K) for part in parts], K)
    sizes = split_k_largest([numbers_between(part, *bounds) for part in parts], K)
    workers = [worker for _, worker in sorted(all_numbers)[:K]]
    assert sizes == [workers.count(worker) for worker in range(len(parts))]


def test_few_numbers_are_sent():
    rng, K = np.random.default_rng(0), 10_000
    parts = [np.sort(rng.exponential(size=K))[::-1] for _ in range(4)]
    samples = [sample_sorted(part, K) for part in parts]
    between = [numbers_between(part, *bound_kth_largest(samples, K)) for part in parts]
    assert sum(split_k_largest(between, K)) == K
    n_sent = sum(sample.values.size for sample in samples) + sum(part.values.size for part in between)
    assert n_sent <= 4 * 4 * np.sqrt(K)
