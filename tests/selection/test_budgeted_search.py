"""Which candidates are averaged, within a budget."""

import numpy as np
import pytest

from sdgs._utils._progress import Task
from sdgs.readout._parameters import PipelineParameters, RidgeChoice
from sdgs.selection._budgeted_search import BudgetedSearch, select_averaged
from sdgs.selection._candidate import CVResult
from sdgs.selection._cost_model import CostModel

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


class Evaluator:
    """Larger alphas are better; an evaluation takes so many seconds of a clock."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.candidates = clock, seconds, []

    def evaluate(self, candidate, _):
        self.clock[0] += self.seconds
        self.candidates.append(candidate.alpha)
        return result_of(candidate.alpha, candidate)


@pytest.mark.parametrize(
    ("budget", "time_limit", "n_candidates"),
    [(None, None, 5), (None, 1000.0, 5), (None, 1e-3, 1), (None, 20.0, 3), (0.1, None, 1), (0.1, 1000.0, 1)],
)
def test_the_search_ends_at_the_budget_or_the_time_limit(monkeypatch, budget, time_limit, n_candidates):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    costs, evaluator = CostModel((100, 10, 5), 100, 3, "auto", sparse=False), Evaluator(clock, seconds=6.0)
    search = BudgetedSearch(evaluator, costs, budget, time_limit, n_averaged=1, complete=True)
    axes = [("alpha", (0.1, 0.2, 0.3, 0.4, 0.5))]
    best, results = search.run(START, axes, Task(), report=[].append)
    assert evaluator.candidates == [0.1, 0.2, 0.3, 0.4, 0.5][:n_candidates]
    assert best.parameters.alpha == evaluator.candidates[-1]
    assert len(results) == len(search.seconds) == n_candidates
