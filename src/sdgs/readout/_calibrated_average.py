"""Averages of the calibrated log-odds of several models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from sdgs.readout._calibration import Calibration, calibrate_varying, evenly_spaced_rows, identity
from sdgs.selection._defaults import CALIBRATION_C, MAX_CALIBRATION_SCORES

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CalibratedAverage:
    """Log-odds = last(sum of weight_m calibration_m(scores_m)): of one or several models."""

    calibrations: tuple[Calibration, ...]
    weights: NDArray[np.float64]
    last: Calibration

    def log_odds(self, scores: Sequence[Scores]) -> Scores:
        """The log-odds of labels (n, k), from the scores (n, k) of each model."""
        return np.asarray(self.last.log_odds(_weighted_sum(self.calibrations, self.weights, scores)))


def fit_average(
    scores: Sequence[Scores], Y: NDArray[Any], weights: NDArray[np.float64] | None = None
) -> CalibratedAverage:
    """Calibrate the cross-fitted scores (n, k) of each model, average them, and calibrate the average.

    The weights are those with the smallest log loss, unless they are given.

    The first calibrations bring all models to the scale of log-odds. The last one is needed because an average of
    log-odds is too cautious where models agree for different reasons.
    """
    calibrations = tuple(calibrate_varying(values, Y) for values in scores)
    if weights is None:
        log_odds = [calibration.log_odds(values) for calibration, values in zip(calibrations, scores, strict=True)]
        weights = best_weights(log_odds, Y)
    if len(scores) == 1:
        return CalibratedAverage(calibrations, weights, identity(Y.shape[1]))
    return CalibratedAverage(calibrations, weights, calibrate_varying(_weighted_sum(calibrations, weights, scores), Y))


def best_weights(log_odds: Sequence[Scores], Y: NDArray[Any]) -> NDArray[np.float64]:
    r"""Non-negative weights of models with the smallest log loss, scaled so that they sum to 1.

    With the log-odds l_m of model m and labels y of -1 and 1 this minimises

    .. math:: \sum \log(1 + \exp(-y \sum_m w_m l_m)) + \frac{1}{2 C} \sum_m (w_m - 1/M)^2

    over w >= 0, which is convex; the second term matters only if the first has no unique minimiser. The sum of w is
    free, because the scale is that of a later calibration. Weights that sum to 0, of models that know nothing, are
    replaced by equal ones.
    """
    n_models = len(log_odds)
    equal = np.full(n_models, 1 / n_models)
    rows = evenly_spaced_rows(Y.shape[0], Y.shape[1], MAX_CALIBRATION_SCORES)
    signs = np.where(Y[rows], 1.0, -1.0).ravel()
    signed = np.stack([values[rows].ravel() * signs for values in log_odds])

    def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = w @ signed
        loss = np.logaddexp(0, -margin).sum() + ((w - equal) ** 2).sum() / (2 * CALIBRATION_C)
        return float(loss) / signs.size, (-signed @ expit(-margin) + (w - equal) / CALIBRATION_C) / signs.size

    found = minimize(objective, equal, jac=True, method="L-BFGS-B", bounds=[(0, None)] * n_models, tol=1e-10)
    total = float(found.x.sum())
    return np.asarray(found.x / total) if total > 0 else equal


def _weighted_sum(
    calibrations: Sequence[Calibration], weights: NDArray[np.float64], scores: Sequence[Scores]
) -> Scores:
    total = np.zeros(scores[0].shape)
    for calibration, weight, values in zip(calibrations, weights, scores, strict=True):
        total += weight * calibration.log_odds(values)
    return total
