"""The search of SDGSClassifierCV: coordinate search within a budget, and which candidates are averaged."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sdgs._utils._progress import Task
from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._candidate import CVResult
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._coordinate_search import coordinate_search
from sdgs.selection._cost_model import CostModel
from sdgs.selection._defaults import AVERAGING_TOLERANCE


@dataclass(eq=False)
class BudgetedSearch:
    """Evaluates candidates while the budget lasts.

    Attributes
    ----------
    evaluator, costs
    budget : float or None
        In fits of SDGSClassifier with its defaults; None for no limit.
    time_limit : float or None
        In seconds from the start of the search; None for no limit.
    n_averaged : int
        Candidates that are averaged at most.
    complete : bool
        Whether no entry of the samples is missing.
    spent : float
        The budget spent so far.
    seconds : list of float
        The time that each evaluation took.
    """

    evaluator: CandidateEvaluator
    costs: CostModel
    budget: float | None
    time_limit: float | None
    n_averaged: int
    complete: bool
    spent: float = 0.0
    seconds: list[float] = field(default_factory=list)
    _start: float = field(default_factory=lambda: time.monotonic())

    def run(
        self,
        start: PipelineParameters,
        axes: Sequence[tuple[str, Sequence[Any]]],
        task: Task,
        report: Callable[[CVResult], None],
    ) -> tuple[CVResult, list[CVResult]]:
        """The best candidate found, and all that were evaluated; ``report`` is called with each result."""
        share = 1 / sum((len(values) - 1 for _, values in axes), start=1)  # each value of each axis is tried at most

        def evaluate(candidate: PipelineParameters) -> CVResult:
            self.spent += self.costs.evaluation_cost(candidate)
            began = time.monotonic()
            with task.part("candidate", n_parts=self.costs.n_folds + 1, share=share) as part:
                result = self.evaluator.evaluate(candidate, part)
            self.seconds.append(time.monotonic() - began)
            report(result)
            return result

        return coordinate_search(start, axes, evaluate, self._is_worthwhile)

    @property
    def left(self) -> float:
        """The budget that is left; by the time limit, as much as fits into it at the speed of the search so far."""
        by_time = math.inf
        if self.time_limit is not None:
            elapsed = time.monotonic() - self._start
            by_time = (self.time_limit - elapsed) * self.spent / max(elapsed, 1e-9)
        return min(math.inf if self.budget is None else self.budget - self.spent, by_time)

    def _is_worthwhile(self, candidate: PipelineParameters, best: CVResult) -> bool:
        """Whether a candidate can differ from the best, and leaves budget to fit it and to average it with others."""
        code_is_unread = best.parameters.gamma is not None and "code" not in best.choice.read_from
        if code_is_unread and self.complete and candidate.huber is None:
            only_codes_differ = _without_code_parameters(candidate) == _without_code_parameters(best.parameters)
            if only_codes_differ:
                return False
        n_others = min(self.n_averaged - 1, len(self.seconds))
        cost = self.costs.evaluation_cost(candidate) + self.costs.fit_cost(candidate)
        return bool(cost + self.costs.base_costs[1] * n_others <= self.left)


def select_averaged(
    best: CVResult, results: Sequence[CVResult], costs: Sequence[float], budget: float, n_averaged: int
) -> list[int]:
    """The best candidate, and others that are about as good, as far as the budget goes; ``n_averaged`` at most."""
    selected: list[int] = []
    for i in sorted(range(len(results)), key=lambda i: (results[i] is not best, -results[i].value)):
        is_close_and_affordable = results[i].value >= best.value - AVERAGING_TOLERANCE and costs[i] <= budget
        if not selected or (is_close_and_affordable and len(selected) < n_averaged):
            selected.append(i)
            budget -= costs[i]
    return selected


def _without_code_parameters(parameters: PipelineParameters) -> PipelineParameters:
    return replace(parameters, n_components=0, alpha=0.0)
