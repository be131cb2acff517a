"""The propensity: the probability that a label is given where it is true, if labels that are not given may be true."""

import numpy as np

from sdgs.readout._calibration import fit_calibration
from sdgs.readout._parameters import PipelineParameters
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._defaults import MIN_PROPENSITY, PROPENSITY_QUANTILE


def estimate_propensity(evaluator: CandidateEvaluator, parameters: PipelineParameters) -> float:
    """One propensity for all labels, estimated from cross-fitted probabilities that labels are given.

    If a label is certainly true, the probability that it is given is the propensity (Elkan and Noto, 2008). So it is
    the probability at the samples with the most certain labels: a high quantile of the probabilities of given labels.
    It is too low if no label is certain, and decisions then predict too many labels.
    """
    result = evaluator.evaluate(parameters)
    Y = evaluator.test_labels
    P = fit_calibration(result.scores, Y).probabilities(result.scores)
    given = P[Y == 1]
    if given.size == 0:
        return 1.0
    return float(np.clip(np.quantile(given, PROPENSITY_QUANTILE), MIN_PROPENSITY, 1.0))
