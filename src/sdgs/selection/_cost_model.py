"""A cost model of fits, in units of one fit of SDGSClassifier with its defaults.

Rough on purpose: it spends a budget without a clock, so that results do not depend on the speed of the machine.
"""

from dataclasses import dataclass

import numpy as np

from sdgs.readout._landmark_kernel import landmark_number
from sdgs.readout._parameters import PipelineParameters
from sdgs.selection import _defaults as defaults
from sdgs.selection._cross_fit import n_cv_samples
from sdgs.selection._folds import n_folds_used


@dataclass(frozen=True)
class CostModel:
    """The cost of evaluating a candidate on some samples, and of fitting it to all.

    Attributes
    ----------
    shape : (n, p, k)
    n_evaluated : int
        Samples that candidates are evaluated on.
    n_folds : int
    n_landmarks : int, "auto" or "many"
    sparse : bool
    """

    shape: tuple[int, int, int]
    n_evaluated: int
    n_folds: int
    n_landmarks: int | str
    sparse: bool

    def evaluation_cost(self, candidate: PipelineParameters) -> float:
        """The cost of a cross-validation."""
        n_train = self.n_evaluated * (self.n_folds - 1) // self.n_folds
        return float(self.base_costs[0] * self.relative_cost(candidate, n_train))

    def fit_cost(self, candidate: PipelineParameters) -> float:
        """The cost of a fit to all samples, and of another evaluation on them if the first was on a subset."""
        return self.base_costs[1] * self.relative_cost(candidate, self.shape[0])

    @property
    def base_costs(self) -> tuple[float, float]:
        """The costs of an evaluation and of a fit with the default parameters.

        A fit of SDGSClassifier also evaluates its parameters. If that uses all samples and all folds, it takes the
        share ``CV_SHARE_DENSE`` or ``CV_SHARE_SPARSE`` of the time.
        """
        n, _, k = self.shape
        cv_share = defaults.CV_SHARE_SPARSE if self.sparse else defaults.CV_SHARE_DENSE

        def evaluation(size: int) -> float:
            return cv_share * size * n_folds_used(size, self.n_folds) / self.n_folds

        fit = evaluation(n_cv_samples(n, k)) + (1 - cv_share) * n
        return evaluation(self.n_evaluated) / fit, 1.0 if self.n_evaluated < n else defaults.REFIT_SHARE * n / fit

    def relative_cost(self, candidate: PipelineParameters, n_train: int) -> float:
        """The cost of a candidate relative to the default parameters.

        Coding takes time proportional to the length of a code, and up to its square if the subspaces together have more
        dimensions than there are features. A kernel takes time by its landmarks: 0.3 to 2.9 default fits were measured.
        """
        _, p, k = self.shape
        length = float(np.mean(candidate.n_components)) / defaults.START_RANK
        overlap = min(defaults.START_RANK * length * k / p, length)
        cost = length * max(overlap, 1) * (defaults.START_ALPHA / candidate.alpha) ** 0.5
        if candidate.huber is not None:
            cost *= defaults.HUBER_COST
        if candidate.gamma is None:
            return float(cost)
        number = landmark_number(self.n_landmarks, n_train)
        if self.sparse:
            kernel = defaults.SPARSE_KERNEL_COST + defaults.SPARSE_COST_PER_LANDMARKS_PER_LABEL * number / k
            return float(cost + kernel)
        return float(cost + min(number / defaults.LANDMARKS_PER_DENSE_COST, defaults.MAX_DENSE_KERNEL_COST))
