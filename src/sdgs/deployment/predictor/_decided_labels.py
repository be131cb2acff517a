"""From log-odds or other scores to probabilities and label sets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.deployment.predictor._sample_blocks import Floats


def expit(log_odds: Floats) -> Floats:
    """Probabilities from log-odds."""
    return np.exp(-np.logaddexp(0, -log_odds))


def softmax_of_log_expit(log_odds: Floats) -> Floats:
    """Probabilities that sum to 1 in each row."""
    log_p = -np.logaddexp(0, -log_odds)
    odds = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def clipped_log_odds(P: Floats) -> Floats:
    """log(p / (1 - p)), of probabilities that are bounded away from 0 and 1."""
    eps = float(np.finfo(np.float64).eps)
    P = np.clip(P, eps, 1 - eps)
    return np.asarray(np.log(P) - np.log1p(-P))


def weighted_class_scores(decision: dict[str, Any], scores: Floats) -> Floats:
    """What is largest for the predicted class of a sample, of classes that exclude each other."""
    weight = decision["label_weight"]
    return scores if weight is None else clipped_log_odds(softmax_of_log_expit(scores)) + np.log(weight)


def decide(decision: dict[str, Any], scores: Floats) -> NDArray[np.bool_]:
    """The label sets (n, k) by a decision: on probabilities, or by a threshold of the scores themselves."""
    rule, threshold, weight = decision["rule"], decision["threshold"], decision["label_weight"]
    if rule == "score above":
        return np.asarray(scores > threshold)
    if rule == "score at least":
        return np.asarray(scores >= threshold)
    P = expit(scores)
    if weight is not None:
        P = weight * P / ((1 - P) + weight * P)
    if rule == "top":
        labels = np.zeros(P.shape, dtype=bool)
        np.put_along_axis(labels, np.argsort(-P, axis=1, kind="stable")[:, : decision["top"]], True, axis=1)
        return labels
    if rule == "expected f1":
        return best_expected_f1(P, allow_empty=not decision["at_least_one"])
    labels = threshold <= P
    labels = fill_empty(labels, P) if decision["at_least_one"] else labels
    return labels if decision["label_sets"] is None else most_probable_sets(decision["label_sets"], P, labels)


def most_probable_sets(corrected: dict[str, Any], P: Floats, independent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each sample the best of some sets, whose probabilities are corrected, and of that of independent labels."""
    sets, log_ratios, log_odds = corrected["sets"], corrected["log_ratios"], clipped_log_odds(P)
    labels = np.empty(P.shape, dtype=bool)
    for row, own in enumerate(independent):  # few operations per sample, and no array of samples x sets
        scores = sets @ log_odds[row] + log_ratios[:-1]
        own_score = float(log_odds[row, own].sum()) + log_ratios[-1]
        is_new = own_score > scores.max() and not (sets == own).all(axis=1).any()
        labels[row] = own if is_new else sets[scores.argmax()] > 0
    return labels


def best_expected_f1(P: Floats, *, allow_empty: bool) -> NDArray[np.bool_]:
    """The sets with the best ratio of expectations 2 sum p / (m + sum p), by Dinkelbach's method."""
    total = P.sum(axis=1)
    best = 2 * P.max(axis=1) / (1 + total)
    while True:
        labels = best[:, None] / 2 < P
        f1 = 2 * np.where(labels, P, 0).sum(axis=1) / np.maximum(labels.sum(axis=1) + total, 1)
        if not (f1 > best).any():
            break
        best = np.maximum(best, f1)
    labels = fill_empty(labels, P)
    return labels & ~(np.prod(1 - P, axis=1) > best)[:, None] if allow_empty else labels


def fill_empty(labels: NDArray[np.bool_], P: Floats) -> NDArray[np.bool_]:
    """The same sets, with the most probable label in those that are empty."""
    empty = np.flatnonzero(~labels.any(axis=1))
    labels = labels.copy()
    labels[empty, P[empty].argmax(axis=1)] = True
    return labels
