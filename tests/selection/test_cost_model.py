"""Costs in units of one fit of SDGSClassifier with its defaults."""

from dataclasses import replace

import pytest

from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._cost_model import CostModel

START = PipelineParameters("rows", 4, 0.1)


def relative_cost(candidate, k, p, n_landmarks, sparse=False):
    return CostModel((5000, p, k), 3000, 3, n_landmarks, sparse).relative_cost(candidate, 5000)


def base_costs(n, n_evaluated, n_folds, k=10, sparse=False):
    return CostModel((n, 100, k), n_evaluated, n_folds, "auto", sparse).base_costs


def test_costs_of_candidates_are_relative_to_the_defaults():
    assert relative_cost(START, 10, 100, 1000) == relative_cost(START, 10, 100, 1000, sparse=True) == 1
    assert relative_cost(replace(START, n_components=8), 10, 100, 1000) == 2
    assert relative_cost(replace(START, n_components=8), 10, 20, 1000) == 4  # many more dimensions than features
    assert relative_cost(replace(START, n_components=8), 10, 64, 1000) == 2.5
    with_kernel = replace(START, gamma=1.0)
    assert [relative_cost(with_kernel, 10, 100, m) for m in (400, 1000, 3000)] == pytest.approx([2, 3.5, 3.8])
    assert relative_cost(with_kernel, 10, 100, 1000, sparse=True) == pytest.approx(3.75)
    assert relative_cost(with_kernel, 100, 100, 1000, sparse=True) == pytest.approx(1.95)  # with many labels less
    assert relative_cost(replace(START, alpha=0.05, huber=0.1), 10, 100, 1000) == pytest.approx(1.75 * 2**0.5)


def test_base_costs_are_relative_to_a_fit():
    """A fit to many samples does not leave out all folds, and evaluates its parameters on some of them."""
    assert base_costs(3000, 3000, 3) == pytest.approx((0.75, 0.25))
    assert base_costs(6000, 3000, 3) == pytest.approx((0.375, 1))
    assert base_costs(30_000, 3000, 3) == pytest.approx((0.75 * 3 / 15, 1))  # of 15: one fold and the fit, 7.5 each
    assert base_costs(30_000, 30_000, 3) == pytest.approx((0.5, 0.5))
    assert base_costs(400_000, 3000, 3) == pytest.approx((2250 / 112_500, 1))
    assert base_costs(3000, 3000, 3, sparse=True) == pytest.approx((0.55, 0.25))


def test_a_cross_validation_and_a_fit_of_the_defaults_cost_one():
    costs = CostModel((3000, 100, 10), 3000, 3, "auto", sparse=False)
    assert costs.evaluation_cost(START) + costs.fit_cost(START) == pytest.approx(1)
