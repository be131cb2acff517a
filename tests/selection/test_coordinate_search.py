"""Search along one parameter after the other."""

import numpy as np
import pytest

from sdgs.readout._parameters import PipelineParameters, RidgeChoice
from sdgs.selection._candidate import CVResult
from sdgs.selection._coordinate_search import coordinate_search

START = PipelineParameters("rows", 4, 0.1)


def evaluate_by(value):
    """A function that evaluates a candidate by ``value(candidate)``, and each candidate once."""
    evaluated = set()

    def evaluate(candidate):
        assert candidate not in evaluated
        evaluated.add(candidate)
        return CVResult(candidate, RidgeChoice(1.0, ("sample",)), value(candidate), np.arange(1), np.zeros((1, 1)))

    return evaluate


@pytest.mark.parametrize("optimum", [1, 2, 4, 8, 16])
def test_finds_the_optimum_of_a_unimodal_function(optimum):
    evaluate = evaluate_by(lambda c: -abs(np.log2(c.n_components / optimum)))
    best, results = coordinate_search(START, [("n_components", (1, 2, 4, 8, 16))], evaluate)
    assert best.parameters.n_components == optimum
    assert best in results


def test_goes_along_one_axis_at_a_time_while_it_gains():
    axes = [("n_components", (2, 4, 8)), ("alpha", (0.05, 0.1, 0.2))]
    value = {(4, 0.1): 0.5, (8, 0.1): 0.6, (8, 0.2): 0.6005, (8, 0.05): 0.7}  # 0.0005 is below MIN_GAIN
    best, results = coordinate_search(START, axes, evaluate_by(lambda c: value[c.n_components, c.alpha]))
    assert [(r.parameters.n_components, r.parameters.alpha) for r in results] == list(value)
    assert best is results[-1]


def test_a_gain_that_is_too_small_is_no_gain():
    value = {4: 0.5, 8: 0.5005, 2: 0.4}
    best, results = coordinate_search(
        START, [("n_components", (2, 4, 8))], evaluate_by(lambda c: value[c.n_components])
    )
    assert best.parameters == START
    assert len(results) == 3


def test_candidates_that_are_not_worthwhile_are_skipped():
    axes = [("n_components", (2, 4, 8)), ("alpha", (0.05, 0.1, 0.2))]
    evaluate = evaluate_by(lambda c: c.n_components - c.alpha)
    _, results = coordinate_search(START, axes, evaluate, lambda c, _: c.n_components <= 4)
    assert {r.parameters.n_components for r in results} == {2, 4}
    evaluate = evaluate_by(lambda c: c.n_components)
    best, _ = coordinate_search(START, [("n_components", (4, 16, 6))], evaluate, lambda c, _: c.n_components < 10)
    assert best.parameters.n_components == 6
