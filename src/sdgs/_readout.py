"""From features to labels: a ridge regression for all labels at once, its calibration, and the decision.

Plain functions on arrays. Z (n, d) holds what the labels are read from, Y (n, k) the labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from sdgs import metrics

Array = NDArray[np.floating[Any]]

_ENOUGH = 500_000  # scores to fit four numbers to


@dataclass(frozen=True, eq=False)
class Ridge:
    """Scores Z @ coef.T + intercept."""

    coef: Array
    intercept: Array

    def scores(self, Z: Array) -> Array:
        """One column a label; near 1 where the label is likely, near 0 where not."""
        return np.asarray(Z @ self.coef.T + self.intercept)


def ridge_path(Z: Array, Y: Array, penalties: Sequence[float]) -> list[Ridge]:
    r"""Multi-output ridge regressions, with intercept, for every penalty from one factorisation.

    .. math:: \min_{W, w} \; \|Y - Z W^T - 1 w^T\|_F^2 + \lambda \|W\|_F^2

    With Z and Y centred, W^T = V (s + lambda)^-1 V^T Z^T Y from Z^T Z = V s V^T, or from Z Z^T where that is smaller.
    """
    Z_mean, Y_mean = Z.mean(axis=0), Y.mean(axis=0)
    Z, Y = Z - Z_mean, Y - Y_mean
    wide = Z.shape[0] < Z.shape[1]
    s, V = eigh(Z @ Z.T if wide else Z.T @ Z, check_finite=False)
    s = np.maximum(s, 0)
    right = V.T @ (Y if wide else Z.T @ Y)
    models = []
    for penalty in penalties:
        W = V @ (right / (s + penalty)[:, None])
        coef = (Z.T @ W if wide else W).T
        models.append(Ridge(coef, Y_mean - coef @ Z_mean))
    return models


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds slope * score + offset, with a slope and an offset for each label."""

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def log_odds(self, scores: Array) -> NDArray[np.float64]:
        """Of each label, from its score."""
        return np.asarray(scores * self.slope + self.offset, dtype=np.float64)


def cross_fitted(
    features: Callable[[NDArray[np.intp], NDArray[np.intp]], Sequence[tuple[Array, Array]]],
    Y: Array,
    choices: Sequence[tuple[int, int, float]],
    n_folds: int,
    seed: int,
) -> list[Array]:
    """For every choice the scores of each sample, from a model that was not learnt from it.

    ``features(train, test)`` gives the features of both, learnt from the rows ``train`` alone, in one variant or
    several. What features that were learnt from all rows say of those same rows is too good, and a penalty or a
    threshold chosen on it is wrong by far. A choice is a variant, a number of columns to leave out at the end, and a
    penalty.
    """
    n = len(Y)
    # Where nothing can be learnt (one sample, or no label in all but one fold) the frequencies are all there is.
    scores = [np.tile(Y.mean(axis=0), (n, 1)) for _ in choices]
    folds = KFold(min(n_folds, n), shuffle=True, random_state=seed).split(Y) if n >= 2 else ()
    for train, test in folds:
        if not Y[train].any():
            continue
        variants = features(train, test)
        for variant, left_out in dict.fromkeys(choice[:2] for choice in choices):
            Z, Z_test = variants[variant]
            places = [i for i, choice in enumerate(choices) if choice[:2] == (variant, left_out)]
            width = Z.shape[1] - left_out
            models = ridge_path(Z[:, :width], Y[train], [choices[i][2] for i in places])
            for i, model in zip(places, models, strict=True):
                scores[i][test] = model.scores(Z_test[:, :width])
    return scores


def calibrate(scores: Array, Y: NDArray[Any]) -> Calibration:
    """Fit the probabilities of all labels together, from scores of samples that the scores were not learnt from.

    Few labels have the samples for a calibration of their own, and one for all is wrong for the rare ones. So slope and
    offset are linear in the log-odds of a label's frequency: four numbers in all. Where that would turn a label's order
    around, one slope for all; and where scores say nothing, as those of noise do, the frequencies alone.
    """
    n, k = scores.shape
    frequency = (Y.sum(axis=0) + 1) / (n + 2)  # Laplace's rule: no log-odds are infinite
    odds = np.log(frequency / (1 - frequency))
    some = slice(None, None, max(1, n * k // _ENOUGH))
    scores, n = scores[some], len(scores[some])
    target = np.asarray(Y[some], dtype=bool).ravel()
    if not target.all() and target.any():
        columns = np.column_stack([scores.ravel(), np.tile(odds, n), (scores * odds).ravel()])
        for used in (3, 2):
            # Next to no regularisation: some, or separable labels would have no solution.
            model = LogisticRegression(C=1e3, solver="newton-cholesky").fit(columns[:, :used], target)
            a, b, c = (*model.coef_[0], 0.0)[:3]
            slope = a + c * odds
            if (slope > 0).all():
                return Calibration(slope, model.intercept_[0] + b * odds)
    return Calibration(np.zeros(k), odds)


def best_choice(scores: Sequence[Array], Y: NDArray[Any], *, allow_none: bool) -> tuple[int, Calibration]:
    """Which of several cross-fitted scores has the best F1 once calibrated and decided on, and its calibration."""
    calibrations = [calibrate(score, Y) for score in scores]
    f1 = [
        metrics.f1(Y, expected_f1_labels(expit(calibration.log_odds(score)), allow_none=allow_none))
        for score, calibration in zip(scores, calibrations, strict=True)
    ]
    best = int(np.argmax(f1))
    return best, calibrations[best]


def expected_f1_labels(probabilities: Array, *, allow_none: bool = False) -> NDArray[np.bool_]:
    r"""For each sample the labels that are best for its F1, as far as its probabilities p say.

    F1 has no threshold that is best for all samples: a label that is half certain belongs to the set of a sample of
    which nothing else is known, and not to that of one with three certain labels. Among the sets of the m most probable
    labels, take that which maximises

    .. math:: \frac{2 \sum_{i \in set} p_i}{m + \sum_i p_i}

    the expected F1 but for the ratio of expectations in place of the expectation of the ratio. (The latter, with labels
    taken for independent, was no better in cross-validation: labels are not.) With ``allow_none`` the empty set
    competes with the probability that there is no label, the product of all 1 - p.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    sizes = np.arange(1, probabilities.shape[1] + 1)
    value = 2 * np.cumsum(ranked, axis=1) / (sizes + ranked.sum(axis=1, keepdims=True))
    chosen = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(chosen, order, sizes <= value.argmax(axis=1)[:, None] + 1, axis=1)
    if allow_none:
        chosen[np.prod(1 - probabilities, axis=1) > value.max(axis=1)] = False
    return chosen
