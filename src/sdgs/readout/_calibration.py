"""Calibration: from scores to the probabilities of labels."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, softmax
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._array_api import expit, to_device_of, to_host
from sdgs._utils._unobserved_labels import has_unobserved
from sdgs.selection._defaults import CALIBRATION_C, MAX_CALIBRATION_SCORES, MAX_LAST_CHANGE

Starts = dict[int, NDArray[np.float64]]

_MAX_START = 10.0  # where larger coefficients give probabilities of 0 or 1 for other scores, there is nothing to follow


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


def fit_calibration(
    scores: Any,
    Y: NDArray[Any],
    max_scores: int = MAX_CALIBRATION_SCORES,
    *,
    sample_weight: NDArray[np.float64] | None = None,
    propensity: NDArray[np.float64] | None = None,
) -> Calibration:
    """Fit the probabilities of all labels together, to cross-fitted scores (n, k): see :func:`fit_calibrations`."""
    return fit_calibrations([scores], Y, max_scores, sample_weight=sample_weight, propensity=propensity)[0]


def fit_calibrations(
    candidates: Sequence[Any],
    Y: NDArray[Any],
    max_scores: int = MAX_CALIBRATION_SCORES,
    *,
    max_change: float = MAX_LAST_CHANGE,
    starts: Starts | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    propensity: NDArray[np.float64] | None = None,
) -> list[Calibration]:
    """Calibrations of several candidates for the scores (n, k) of the same labels.

    Labels that are NaN are left out. With a ``propensity`` (k,), the probability that a label is given where it is
    true, the labels Y are replaced by Y / propensity: these have the same expectation as all true labels, and so has
    the log loss, which is linear in the labels.

    Most labels have too few samples for a calibration of their own, and one for all labels is wrong for rare ones. So
    slope and offset are linear in the log-odds of a label's frequency: four coefficients. If that gives some label a
    negative slope, all labels share one slope; if that is negative too, as for noise, frequencies alone are used. About
    ``max_scores`` scores are used.

    Newton's method starts each calibration at the one before, because candidates are similar, unless that is steep
    (nearly separable labels) or not increasing. It ends with a step that changes no log-odds by more than
    ``max_change``; the error is about its square. ``starts`` connects several calls: it has coefficients to start at,
    by their number, and gets the new ones.
    """
    n, k = Y.shape
    counts, totals = label_counts(Y, sample_weight)
    if propensity is not None:
        counts = np.minimum(counts / propensity, totals)
    frequency = (counts + 1) / (totals + 2)  # Laplace's rule keeps the log-odds finite
    log_odds = np.log(frequency / (1 - frequency))
    rows = evenly_spaced_rows(n, k, max_scores)
    weights = entry_weights(Y[rows], None if sample_weight is None else sample_weight[rows])
    target = np.ascontiguousarray(Y[rows].T == 1 if weights is not None else Y[rows].T, dtype=bool)
    counted = target if weights is None else target[weights > 0]
    if counted.all() or not counted.any():
        return [Calibration(np.zeros(k), log_odds)] * len(candidates)
    starts = {} if starts is None else starts
    target = target if propensity is None else np.divide(target, propensity[:, None])
    return [
        _fit_coefficients(to_host(scores[rows, :]), target, log_odds, starts, max_change, weights)
        for scores in candidates
    ]


def label_counts(
    Y: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[Any], NDArray[Any] | int | float]:
    """The weights of the samples with each label, and of all samples in which it is observed (not NaN)."""
    if sample_weight is None and not has_unobserved(Y):
        return Y.sum(axis=0), len(Y)
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    return weight @ (Y == 1), weight @ ~np.isnan(Y)


def entry_weights(Y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """The weight of each label of each sample (k, n), 0 if it is unobserved; None if all are 1."""
    if sample_weight is None and not has_unobserved(Y):
        return None
    weights = np.ones(Y.T.shape) if sample_weight is None else np.tile(sample_weight, (Y.shape[1], 1))
    weights[np.isnan(Y.T)] = 0
    return weights


def _fit_coefficients(
    scores: Any,
    target: NDArray[np.bool_ | np.float64],
    log_odds: NDArray[np.float64],
    starts: Starts,
    max_change: float,
    weights: NDArray[np.float64] | None,
) -> Calibration:
    """A calibration; ``starts`` is that of :func:`fit_calibrations`, ``weights`` (k, n) are those of the entries.

    The log-odds of label j are (a + c l_j) s + d + b l_j, penalised by (a^2 + b^2 + c^2) / (2 C). They are fitted to
    standardised scores u = (s - m) / t, because a Newton step loses digits if scores are far from zero.
    """
    from sdgs.readout._calibration_kernel import minimise_log_loss

    scores = np.ascontiguousarray(scores.T, dtype=np.float64)
    mean = float(np.average(scores, weights=weights))
    spread = float(scores.std() if weights is None else np.sqrt(np.average((scores - mean) ** 2, weights=weights)))
    spread = spread or 1.0
    u = (scores - mean) / spread
    for n_free in (4, 3):
        theta = starts.setdefault(n_free, np.zeros(4))
        # (a, d, b, c) as linear functions of the coefficients of u; d is not penalised.
        from_u = np.eye(4)
        from_u[0, 0] = from_u[3, 3] = 1 / spread
        from_u[1, 0] = from_u[2, 3] = -mean / spread
        penalty = from_u.T @ np.diag([1.0, 0.0, 1.0, 1.0]) @ from_u / CALIBRATION_C
        problem = u, target, log_odds, n_free, penalty, max_change, theta, weights
        if not minimise_log_loss(*problem):
            theta[:] = 0  # from there it converges; no other start is certain to be near enough
            if not minimise_log_loss(*problem):
                warnings.warn("The calibration of probabilities did not converge.", ConvergenceWarning, stacklevel=2)
        a, d, b, c = from_u @ theta
        slope = a + c * log_odds
        is_valid = (slope > 0).all()
        if not is_valid or np.abs(theta).max() > _MAX_START:
            theta[:] = 0
        if is_valid:
            return Calibration(slope, d + b * log_odds)
    return Calibration(np.zeros(len(log_odds)), log_odds)


def identity(k: int) -> Calibration:
    """The calibration of scores that are log-odds."""
    return Calibration(np.ones(k), np.zeros(k))


def calibrate_varying(
    scores: NDArray[np.float64],
    Y: NDArray[Any],
    *,
    fit: bool = True,
    sample_weight: NDArray[np.float64] | None = None,
) -> Calibration:
    """A calibration of cross-fitted scores (n, k) in which labels that are constant in Y get their log-odds.

    These are finite by Laplace's rule. Without ``fit`` the scores of the others are taken for log-odds.
    """
    counts, n = label_counts(Y, sample_weight)
    varies = (counts > 0) & (counts < n)
    slope, offset = varies.astype(np.float64), np.where(varies, 0.0, np.log((counts + 1) / (n - counts + 1)))
    if fit and varies.any():
        fitted = fit_calibration(scores[:, varies], Y[:, varies], sample_weight=sample_weight)
        slope[varies], offset[varies] = fitted.slope, fitted.offset
    return Calibration(slope, offset)


def shrunk_log_odds(P: NDArray[np.float64], share: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds of probabilities after ``share`` of them was replaced by 1/2: finite, and in the same order."""
    # Both probabilities are formed from the smaller parts, so that tiny ones stay distinguishable.
    return np.log((1 - share) * P + share / 2) - np.log((1 - share) * (1 - P) + share / 2)


def label_probabilities(log_odds: Any, *, one_per_sample: bool) -> Any:
    """The probabilities of labels with these log-odds (n, k); with ``one_per_sample`` they sum to 1 in each row."""
    if not one_per_sample:
        return expit(log_odds)
    P = softmax(log_expit(to_host(log_odds)), axis=1)  # on the host: one column per class is little to transfer
    return to_device_of(P, log_odds)


def evenly_spaced_rows(n: int, k: int, max_scores: int) -> slice:
    """Rows of an (n, k) matrix that hold about ``max_scores`` entries."""
    return slice(None, None, max(1, n * k // max_scores))
