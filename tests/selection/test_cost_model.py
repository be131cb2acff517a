"""Costs in units of one fit of SDGSClassifier with its defaults."""

from dataclasses import replace
from functools import partial

import pytest

from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._cost_model import CostModel, base_costs, relative_cost
from sdgs.selection._cross_fit import n_cv_samples, n_folds_used

START = PipelineParameters("rows", 4, 0.1)


def test_costs_of_candidates_are_relative_to_the_defaults():
    dense_cost, sparse_cost = partial(relative_cost, sparse=False), partial(relative_cost, sparse=True)
    assert dense_cost(START, 10, 100, 1000) == sparse_cost(START, 10, 100, 1000) == 1
    assert dense_cost(replace(START, n_components=8), 10, 100, 1000) == 2
    assert dense_cost(replace(START, n_components=8), 10, 20, 1000) == 4  # many more dimensions than features
    assert dense_cost(replace(START, n_components=8), 10, 64, 1000) == 2.5
    with_kernel = replace(START, gamma=1.0)
    assert [dense_cost(with_kernel, 10, 100, m) for m in (400, 1000, 3000)] == pytest.approx([2, 3.5, 3.8])
    assert sparse_cost(with_kernel, 10, 100, 1000) == pytest.approx(3.75)
    assert sparse_cost(with_kernel, 100, 100, 1000) == pytest.approx(1.95)  # with many labels coding dominates
    assert dense_cost(replace(START, alpha=0.05, huber=0.1), 10, 100, 1000) > 2


def test_base_costs_are_relative_to_a_fit():
    """A fit to many samples does not leave out all folds, and evaluates its parameters on some of them."""
    cost = partial(base_costs, sparse=False)
    assert cost(3000, 3000, 3000, 3) == pytest.approx((0.75, 0.25))
    assert cost(6000, 3000, 6000, 3) == pytest.approx((0.375, 1))
    assert cost(30_000, 3000, 30_000, 3) == pytest.approx((0.75 * 3 / 15, 1))  # of 15: one fold and the fit, 7.5 each
    assert cost(30_000, 30_000, 30_000, 3) == pytest.approx((0.5, 0.5))
    assert cost(400_000, 3000, 50_000, 3) == pytest.approx((2250 / 112_500, 1))
    assert base_costs(3000, 3000, 3000, 3, sparse=True) == pytest.approx((0.55, 0.25))


def test_a_cross_validation_and_a_fit_of_the_defaults_cost_one():
    costs = CostModel((3000, 100, 10), 3000, 3, "auto", sparse=False)
    assert costs.evaluation_cost(START) + costs.fit_cost(START) == pytest.approx(1)
    assert costs.fit_cost(START) == costs.base_fit_cost


def test_numbers_of_folds_and_samples_that_costs_depend_on():
    assert [n_folds_used(n, 3) for n in (2, 10_000, 15_000, 15_001, 30_000, 10**6)] == [3, 3, 2, 2, 1, 1]
    assert n_folds_used(10**5, 10) == 1
    assert [n_cv_samples(n, 10, 9) for n in (500, 10**6)] == [500, 50_000]
    assert n_cv_samples(10**6, 1000, 9) == 2**31 // (8 * 4 * 9 * 1000)
    assert n_cv_samples(10**6, 10**6, 9, 3000) == 1000
