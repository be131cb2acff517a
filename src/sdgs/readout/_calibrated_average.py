"""Averages of the calibrated log-odds of several models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from sdgs.readout._calibration import Calibration, calibrate_varying, entry_weights, evenly_spaced_rows, identity
from sdgs.readout._decision import Decision, metric_value
from sdgs.selection._defaults import CALIBRATION_C, MAX_CALIBRATION_SCORES, N_WEIGHT_STEPS

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CalibratedAverage:
    """Log-odds = last(sum of weight_m calibration_m(scores_m)): of one or several models."""

    calibrations: tuple[Calibration, ...]
    weights: NDArray[np.float64]
    last: Calibration

    def log_odds(self, scores: Sequence[Scores]) -> Scores:
        """The log-odds of labels (n, k), from the scores (n, k) of each model."""
        calibrated = [of_one.log_odds(values) for of_one, values in zip(self.calibrations, scores, strict=True)]
        return np.asarray(self.last.log_odds(_weighted_sum(self.weights, calibrated)))


def fit_average(
    scores: Sequence[Scores],
    Y: NDArray[Any],
    decision: Decision,
    weights: NDArray[np.float64] | None = None,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> CalibratedAverage:
    """Calibrate the cross-fitted scores (n, k) of each model, average them, and calibrate the average.

    Unless they are given, the weights are half way between those with the smallest log loss and those with the best
    metric of ``decision``. Labels that are NaN are left out.

    The first calibrations bring all models to the scale of log-odds. The last one is needed because an average of
    log-odds is too cautious where models agree for different reasons.
    """
    calibrations = tuple(calibrate_varying(values, Y, sample_weight=sample_weight) for values in scores)
    log_odds = [calibration.log_odds(values) for calibration, values in zip(calibrations, scores, strict=True)]
    if len(scores) == 1:
        return CalibratedAverage(calibrations, np.ones(1), identity(Y.shape[1]))
    if weights is None:
        smallest_loss = best_weights(log_odds, Y, sample_weight)
        best_metric = weights_with_best_metric(log_odds, Y, decision, smallest_loss, sample_weight)
        weights = (smallest_loss + best_metric) / 2
    last = calibrate_varying(_weighted_sum(weights, log_odds), Y, sample_weight=sample_weight)
    return CalibratedAverage(calibrations, weights, last)


def weights_with_best_metric(
    log_odds: Sequence[Scores],
    Y: NDArray[Any],
    decision: Decision,
    start: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The best of ``start`` and of weights on the lines from there to each single model; the first of equal ones."""
    steps = np.arange(1, N_WEIGHT_STEPS + 1) / N_WEIGHT_STEPS
    candidates = [start] + [start + step * (single - start) for single in np.eye(len(log_odds)) for step in steps]

    def value(weights: NDArray[np.float64]) -> float:
        average = _weighted_sum(weights, log_odds)
        P = expit(calibrate_varying(average, Y, sample_weight=sample_weight).log_odds(average))
        return metric_value(decision.metric, Y, decision.decide(P), sample_weight)

    return max(candidates, key=value)


def best_weights(
    log_odds: Sequence[Scores], Y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Non-negative weights of models with the smallest log loss, scaled so that they sum to 1.

    With the log-odds l_m of model m and labels y of -1 and 1 this minimises

    .. math:: \sum \log(1 + \exp(-y \sum_m w_m l_m)) + \frac{1}{2 C} \sum_m (w_m - 1/M)^2

    over w >= 0, which is convex. The sum is over the observed labels, with the weights of the samples. The second term
    matters only if the first has no unique minimiser. The sum of w is free, because the scale is that of a later
    calibration. Weights that sum to 0, of models that know nothing, are replaced by equal ones.
    """
    n_models = len(log_odds)
    equal = np.full(n_models, 1 / n_models)
    rows = evenly_spaced_rows(Y.shape[0], Y.shape[1], MAX_CALIBRATION_SCORES)
    signs = np.where(Y[rows] > 0, 1.0, -1.0).ravel()
    signed = np.stack([values[rows].ravel() * signs for values in log_odds])
    entry_weight = entry_weights(Y[rows], None if sample_weight is None else sample_weight[rows])
    share = 1.0 if entry_weight is None else entry_weight.T.ravel()
    total = signs.size if entry_weight is None else entry_weight.sum()

    def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = w @ signed
        loss = (share * np.logaddexp(0, -margin)).sum() + ((w - equal) ** 2).sum() / (2 * CALIBRATION_C)
        return float(loss) / total, (-signed @ (share * expit(-margin)) + (w - equal) / CALIBRATION_C) / total

    found = minimize(objective, equal, jac=True, method="L-BFGS-B", bounds=[(0, None)] * n_models, tol=1e-10)
    total = float(found.x.sum())
    return np.asarray(found.x / total) if total > 0 else equal


def _weighted_sum(weights: NDArray[np.float64], log_odds: Sequence[Scores]) -> Scores:
    total = np.zeros(log_odds[0].shape)
    for weight, values in zip(weights, log_odds, strict=True):
        total += weight * values
    return total
