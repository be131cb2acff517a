"""A cost model of fits, in units of one fit of SDGSClassifier with its defaults.

Rough on purpose: it spends a budget without a clock, so that results do not depend on the speed of the machine.
"""

from dataclasses import dataclass

import numpy as np

from sdgs.readout._landmark_kernel import landmark_number
from sdgs.readout._parameters import PipelineParameters
from sdgs.selection import _defaults as defaults
from sdgs.selection._cross_fit import n_cv_samples, n_folds_used


@dataclass(frozen=True)
class CostModel:
    """The cost of evaluating a candidate on some samples, and of fitting it to all.

    Attributes
    ----------
    shape : (n, p, k)
    n_evaluated : int
        Samples that candidates are evaluated on.
    n_folds : int
    n_landmarks : int or "auto"
    sparse : bool
    """

    shape: tuple[int, int, int]
    n_evaluated: int
    n_folds: int
    n_landmarks: int | str
    sparse: bool

    def evaluation_cost(self, candidate: PipelineParameters) -> float:
        """Of a cross-validation."""
        n_train = self.n_evaluated * (self.n_folds - 1) // self.n_folds
        base, _ = base_costs(self.shape[0], self.n_evaluated, self._n_default, self.n_folds, sparse=self.sparse)
        return float(base * self._relative_cost(candidate, n_train))

    def fit_cost(self, candidate: PipelineParameters) -> float:
        """Of the fit to all samples; on a subset evaluated candidates are evaluated on all samples once more."""
        return self.base_fit_cost * self._relative_cost(candidate, self.shape[0])

    @property
    def base_fit_cost(self) -> float:
        """The same for SDGSClassifier's defaults."""
        return base_costs(self.shape[0], self.n_evaluated, self._n_default, self.n_folds, sparse=self.sparse)[1]

    @property
    def _n_default(self) -> int:
        return n_cv_samples(self.shape[0], self.shape[2], len(defaults.PENALTIES))

    def _relative_cost(self, candidate: PipelineParameters, n_train: int) -> float:
        _, p, k = self.shape
        number = landmark_number(self.n_landmarks, n_train, sparse=self.sparse)
        return relative_cost(candidate, k, p, number, sparse=self.sparse)


def base_costs(n: int, n_evaluated: int, n_default: int, n_folds: int, *, sparse: bool) -> tuple[float, float]:
    """Costs of the default parameters: evaluated on ``n_evaluated`` of n samples, and fitted to all in the end.

    A fit of SDGSClassifier evaluates its parameters on ``n_default`` samples, which takes ``CV_SHARE_DENSE`` of its
    time if these are all samples and all folds are left out.
    """
    cv_share = defaults.CV_SHARE_SPARSE if sparse else defaults.CV_SHARE_DENSE

    def evaluation(size: int) -> float:
        return cv_share * size * n_folds_used(size, n_folds) / n_folds

    fit = evaluation(n_default) + (1 - cv_share) * n
    return evaluation(n_evaluated) / fit, 1.0 if n_evaluated < n else defaults.REFIT_SHARE * n / fit


def relative_cost(
    candidate: PipelineParameters, n_labels: int, n_features: int, n_landmarks: int, *, sparse: bool
) -> float:
    """The cost of a candidate relative to SDGSClassifier's defaults.

    Coding takes time proportional to the length of a code, and up to its square if the subspaces together have more
    dimensions than there are features. A kernel takes time by its landmarks: 0.3 to 2.9 of a default fit was measured.
    """
    length = float(np.mean(candidate.n_components)) / defaults.START_RANK
    overlap = min(defaults.START_RANK * length * n_labels / n_features, length)
    cost = length * max(overlap, 1) * (defaults.START_ALPHA / candidate.alpha) ** 0.5
    if sparse:
        kernel = (
            defaults.SPARSE_KERNEL_COST + defaults.SPARSE_KERNEL_COST_PER_LANDMARK_AND_LABEL * n_landmarks / n_labels
        )
    else:
        kernel = min(n_landmarks / defaults.LANDMARKS_PER_DENSE_COST, defaults.MAX_DENSE_KERNEL_COST)
    return float(
        cost * (1 if candidate.huber is None else defaults.HUBER_COST) + (0 if candidate.gamma is None else kernel)
    )
