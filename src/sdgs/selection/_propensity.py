"""The propensity: the probability that a label is given where it is true, if labels that are not given may be true."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sdgs.readout._calibration import fit_calibration
from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._defaults import PROPENSITIES

Array = NDArray[np.floating[Any]]


def estimate_propensity(evaluator: CandidateEvaluator, parameters: PipelineParameters) -> float:
    """One propensity for all labels, by maximum likelihood on cross-fitted scores of these parameters.

    Where labels are certainly true, the probability that they are given levels off at the propensity.
    """
    result, Y, weight = evaluator.evaluate(parameters), evaluator.test_labels, evaluator.test_weight
    return min(PROPENSITIES, key=lambda propensity: given_log_loss(result.scores, Y, propensity, weight))


def given_log_loss(
    scores: Array, Y: Array, propensity: float, sample_weight: NDArray[np.float64] | None = None
) -> float:
    """The log loss of given labels Y (n, k), whose probability is the propensity times that of the true labels."""
    with warnings.catch_warnings():
        # For a propensity that is much too small more labels are certain than there are: log-odds grow without bound.
        warnings.simplefilter("ignore", ConvergenceWarning)
        calibration = fit_calibration(
            scores, Y, sample_weight=sample_weight, propensity=np.full(Y.shape[1], propensity)
        )
    eps = np.finfo(np.float64).eps
    P = np.clip(propensity * calibration.probabilities(scores), eps, 1 - eps)
    losses = np.where(Y == 1, -np.log(P), -np.log1p(-P))
    weights = None if sample_weight is None else np.broadcast_to(sample_weight[:, None], Y.shape)[~np.isnan(Y)]
    return float(np.average(losses[~np.isnan(Y)], weights=weights))
