"""The decision for the largest expected F1 under a joint distribution."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs.readout._joint_f1 import best_expected_f1_of_sets


def f1(a, b):
    size = a.sum() + b.sum()
    return 2 * (a & b).sum() / size if size else 1.0


def expected_f1(chosen, sets, weights):
    return sum(weight * f1(chosen, labels) for weight, labels in zip(weights, sets, strict=True))


@given(st.integers(1, 5), st.integers(0, 10_000), st.sampled_from([0.05, 1.0, 20.0]))
@settings(max_examples=60, deadline=None)
def test_no_set_has_a_larger_expected_f1(k, seed, concentration):
    rng = np.random.default_rng(seed)
    everything = np.array(list(product([False, True], repeat=k)))
    sets = everything[rng.permutation(2**k)[: rng.integers(1, 2**k + 1)]]
    weights = rng.dirichlet(np.full(len(sets), concentration), size=4)
    for chosen, p in zip(best_expected_f1_of_sets(sets, weights), weights, strict=True):
        best = max(expected_f1(candidate, sets, p) for candidate in everything)
        assert expected_f1(chosen, sets, p) == pytest.approx(best, abs=1e-12)


def test_the_best_set_may_be_larger_than_any_that_occurs():
    sets, weights = np.eye(4, dtype=bool), np.full((1, 4), 0.25)
    assert best_expected_f1_of_sets(sets, weights).all()  # 4 of 4: F1 is 0.4 for certain; with 1 it is 1 or 0


def test_a_probable_empty_set_wins():
    sets = np.array([[False, False], [True, False]])
    labels = best_expected_f1_of_sets(sets, np.array([[0.6, 0.4], [0.4, 0.6], [1.0, 0.0]]))
    np.testing.assert_array_equal(labels, [[False, False], [True, False], [False, False]])


def test_the_empty_set_alone():
    assert not best_expected_f1_of_sets(np.zeros((1, 3), dtype=bool), np.ones((5, 1))).any()


def test_many_samples_are_decided_as_one_by_one():
    rng = np.random.default_rng(0)
    sets = rng.random((200, 120)) < 0.4
    weights = rng.dirichlet(np.full(200, 0.1), size=700)  # several blocks
    labels = best_expected_f1_of_sets(sets, weights)
    for row in (0, 350, 699):
        np.testing.assert_array_equal(labels[row], best_expected_f1_of_sets(sets, weights[[row]])[0])
