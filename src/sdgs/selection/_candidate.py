"""The cross-validated result of one candidate: a set of pipeline parameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.readout._parameters import PipelineParameters, RidgeChoice

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class CVResult:
    """How well a candidate predicts in cross-validation, and with what ridge regression.

    Attributes
    ----------
    parameters : PipelineParameters
        The candidate.
    choice : RidgeChoice
        The best ridge penalty, and the feature blocks that labels are best read from.
    value : float
        The metric of the calibrated and decided scores; the larger the better.
    rows : ndarray of shape (m,)
        The samples that were predicted.
    scores : ndarray of shape (m, k)
        Cross-fitted: each row is predicted by a model that was not fitted to it.
    """

    parameters: PipelineParameters
    choice: RidgeChoice
    value: float
    rows: NDArray[np.intp]
    scores: Array
