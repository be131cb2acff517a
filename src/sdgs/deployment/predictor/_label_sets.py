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


def decide(decision: dict[str, Any], scores: Floats) -> NDArray[np.bool_]:
    """The label sets (n, k) by a decision: on probabilities, or by a threshold of the scores themselves."""
    rule, threshold = decision["rule"], decision["threshold"]
    if rule == "score above":
        return np.asarray(scores > threshold)
    if rule == "score at least":
        return np.asarray(scores >= threshold)
    P = expit(scores)
    if rule == "top":
        labels = np.zeros(P.shape, dtype=bool)
        np.put_along_axis(labels, np.argsort(-P, axis=1, kind="stable")[:, : decision["top"]], True, axis=1)
        return labels
    if rule == "expected f1":
        return best_expected_f1(P, allow_empty=not decision["at_least_one"])
    labels = threshold <= P
    return fill_empty(labels, P) if decision["at_least_one"] else labels


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
