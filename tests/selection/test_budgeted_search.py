"""Which candidates are averaged, within a budget."""

import numpy as np

from sdgs.readout._parameters import PipelineParameters, RidgeChoice
from sdgs.selection._budgeted_search import select_averaged
from sdgs.selection._candidate import CVResult

START = PipelineParameters("rows", 4, 0.1)


def result_of(value, parameters=START):
    return CVResult(parameters, RidgeChoice(1.0, ("sample",)), value, np.arange(1), np.zeros((1, 1)))


def test_candidates_about_as_good_as_the_best_are_averaged():
    results = [result_of(value) for value in (0.4, 0.695, 0.7, 0.6)]
    assert select_averaged(results[2], results, [1.0] * 4, 10.0, 3) == [2, 1]
    assert select_averaged(results[1], results, [1.0] * 4, 10.0, 3) == [1, 2]


def test_candidates_that_exceed_the_budget_are_not_averaged():
    results = [result_of(value) for value in (0.4, 0.695, 0.7, 0.694)]
    assert select_averaged(results[2], results, [1.0] * 4, 0.0, 3) == [2]
    assert select_averaged(results[2], results, [1.0, 5.0, 1.0, 1.0], 3.0, 3) == [2, 3]
