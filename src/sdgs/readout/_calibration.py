"""Calibration: from scores to the probabilities of labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sdgs._utils._array_api import expit, to_device_of, to_host
from sdgs.selection._defaults import CALIBRATION_C, MAX_CALIBRATION_SCORES


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds = slope * score + offset, with a slope and an offset per label."""

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def log_odds(self, scores: Any) -> Any:
        """The log-odds of labels, from their scores (n, k)."""
        return scores * to_device_of(self.slope, scores) + to_device_of(self.offset, scores)

    def probabilities(self, scores: Any) -> Any:
        """The probabilities of labels, from their scores (n, k)."""
        return expit(self.log_odds(scores))


def fit_calibration(scores: Any, Y: NDArray[Any], max_scores: int = MAX_CALIBRATION_SCORES) -> Calibration:
    """Fit the probabilities of all labels together, to cross-fitted scores (n, k).

    Most labels have too few samples for a calibration of their own, and one for all labels is wrong for rare ones. So
    slope and offset are linear in the log-odds of a label's frequency: four coefficients. If that gives some label a
    negative slope, all labels share one slope; if that is negative too, as for noise, frequencies alone are used. About
    ``max_scores`` scores are used.
    """
    n, k = scores.shape
    frequency = (Y.sum(axis=0) + 1) / (n + 2)  # Laplace's rule keeps the log-odds finite
    log_odds = np.log(frequency / (1 - frequency))
    rows = evenly_spaced_rows(n, k, max_scores)
    scores = to_host(scores[rows, :])
    n = len(scores)
    target = np.asarray(Y[rows], dtype=bool).ravel()
    if not target.all() and target.any():
        columns = np.column_stack([scores.ravel(), np.tile(log_odds, n), (scores * log_odds).ravel()])
        for n_columns in (3, 2):
            model = LogisticRegression(C=CALIBRATION_C, solver="newton-cholesky").fit(columns[:, :n_columns], target)
            a, b, c = (*model.coef_[0], 0.0)[:3]
            slope = a + c * log_odds
            if (slope > 0).all():
                return Calibration(slope, model.intercept_[0] + b * log_odds)
    return Calibration(np.zeros(k), log_odds)


def evenly_spaced_rows(n: int, k: int, max_scores: int) -> slice:
    """Rows of an (n, k) matrix that hold about ``max_scores`` entries."""
    return slice(None, None, max(1, n * k // max_scores))
