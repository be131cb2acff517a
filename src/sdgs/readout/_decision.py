"""From the probabilities of labels to label sets.

Plain functions on arrays. P (n, k) holds probabilities, Y (n, k) labels. Decisions are tuned on the host, on
cross-fitted probabilities, and made where P is.
"""

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, on_host, put, take, to_device_of
from sdgs.selection._defaults import MAX_CARDINALITY_FACTOR, MIN_POSITIVES_PER_THRESHOLD, N_THRESHOLDS

Array = NDArray[np.floating[Any]]

TARGET_METRICS = ("f1", "accuracy", "hamming_loss")  # that decisions can be tuned for
DECISION_RULES = ("expected", "threshold", "thresholds", "share", "top")


@dataclass(frozen=True, eq=False)
class Decision:
    """Which labels a sample with given probabilities gets.

    With ``top`` its most probable labels; with ``thresholds`` (one for all labels, or one per label) those with at
    least that probability; else the set with the best expected ``metric``. With ``at_least_one`` a sample that would
    get no label gets its most probable one.
    """

    metric: str = "f1"
    at_least_one: bool = False
    thresholds: NDArray[np.float64] | None = None
    top: int | None = None

    def decide(self, P: Any) -> Any:
        """The label sets, boolean (n, k)."""
        xp = namespace(P)
        if self.top is not None:
            return _leading(xp.argsort(P, axis=1, descending=True, stable=True), self.top)
        if self.thresholds is not None:
            labels = to_device_of(self.thresholds, P) <= P
        elif self.metric == "hamming_loss":
            labels = P >= 0.5
        else:
            return best_expected_f1(P, allow_empty=not self.at_least_one)
        return _fill_empty(labels, P) if self.at_least_one else labels


def tune_decision(rule: str, metric: str, P: Array, Y: NDArray[Any], *, at_least_one: bool) -> Decision:
    """The decision of a rule, tuned for a metric: see ``decision`` of :class:`sdgs.SDGSClassifier`."""

    def best(candidates: list[Decision]) -> Decision:
        return max(candidates, key=lambda candidate: metric_value(metric, Y, candidate.decide(P)))

    n, k = Y.shape
    positive = np.asarray(Y, dtype=bool)
    cardinality = positive.sum() / n
    if rule == "expected":
        return Decision(metric, at_least_one)
    if rule == "top":
        largest = int(positive.sum(axis=1).max())
        return best([Decision(metric, top=top) for top in range(1, max(largest, 1) + 1)])
    if rule == "share":
        return Decision(metric, at_least_one, thresholds=np.asarray(_share_threshold(P, cardinality)))
    lowest = max(0.0, 1 - MAX_CARDINALITY_FACTOR * cardinality / k)
    candidates = np.unique(np.quantile(P, np.linspace(lowest, 1, N_THRESHOLDS)))
    single = best([Decision(metric, at_least_one, thresholds=np.asarray(threshold)) for threshold in candidates])
    if rule == "threshold":
        return single
    assert single.thresholds is not None
    thresholds = np.full(k, float(single.thresholds))
    for label in np.flatnonzero(positive.sum(axis=0) >= MIN_POSITIVES_PER_THRESHOLD):
        thresholds[label] = _label_threshold(P[:, label], positive[:, label], metric)
    return Decision(metric, at_least_one, thresholds=thresholds)


def make_decision(
    decision: Any, metric: str, P: Array, Y: NDArray[Any], *, at_least_one: bool, one_per_sample: bool
) -> Decision:
    """What ``decision`` of an estimator says: a rule to tune on P and Y, a number of labels, or thresholds.

    With ``one_per_sample``, for classes that exclude each other, the most probable one.
    """
    if one_per_sample:
        return Decision(metric, top=1)
    if isinstance(decision, str):
        return tune_decision(decision, metric, P, Y, at_least_one=at_least_one)
    if isinstance(decision, numbers.Integral):
        return Decision(metric, top=int(decision))
    return Decision(metric, at_least_one, thresholds=np.asarray(decision, dtype=np.float64))


def metric_value(metric: str, Y: Any, labels: Any) -> float:
    """The measure of :mod:`sdgs.metrics` by this name, negated if less is better.

    Faster than that module, because tuning calls it thousands of times; for dense labels. Two empty sets agree.
    """
    xp = namespace(labels)
    Y = xp.astype(Y, xp.bool)
    if metric == "hamming_loss":
        return -float(xp.count_nonzero(labels != Y)) / int(np.prod(Y.shape))
    both, sizes = _row_counts(Y & labels), _row_counts(Y) + _row_counts(labels)
    numerator, denominator = (2 * both, sizes) if metric == "f1" else (both, sizes - both)
    ones = xp.ones_like(denominator)
    return float(xp.mean(xp.where(denominator == 0, ones, numerator / xp.maximum(denominator, ones))))


def _row_counts(labels: Any) -> Any:
    """True entries per row."""
    xp = namespace(labels)
    return xp.astype(xp.count_nonzero(labels, axis=1), xp.float64)


def best_expected_f1(P: Any, *, allow_empty: bool = False) -> Any:
    r"""For each sample the label set with about the largest expected F1, which is best for the Jaccard index too.

    Among the sets of the m most probable labels, the one that maximises

    .. math:: \frac{2 \sum_{i \in set} p_i}{m + \sum_i p_i}

    is taken: the expected F1, with the ratio of expectations in place of the expectation of the ratio. (The latter,
    with labels taken for independent, was no better in cross-validation.) No threshold is best for all samples: a label
    with probability one half belongs to the set of a sample without likelier labels, and not to that of a sample with
    three certain ones. The same ratio for the Jaccard index is F / (2 - F), which increases with F. With
    ``allow_empty`` the empty set competes, at the probability that there is no label, the product of all 1 - p. (To
    compare this with F / (2 - F) where the Jaccard index is the metric was worse in cross-validation, by 2 points on
    Medical and Corel5k without two in five of their labels.)

    A label belongs to the best set if its probability is above half of the best F1, because then it raises the ratio.
    So nothing is sorted: start with the F1 of the most probable label alone, take the labels above half of the F1 so
    far, and repeat until it no longer rises (Dinkelbach's method, a few passes).
    """
    if on_host(P):
        from sdgs.readout._decision_kernel import write_best_expected_f1

        labels = np.empty(P.shape, dtype=bool)
        write_best_expected_f1(np.ascontiguousarray(P), allow_empty, labels)
        return labels
    xp = namespace(P)
    total, zeros = xp.sum(P, axis=1), xp.zeros_like(P)
    best = 2 * xp.max(P, axis=1) / (1 + total)
    while True:
        labels = best[:, None] / 2 < P
        size = xp.astype(xp.count_nonzero(labels, axis=1), P.dtype)
        # Clipped because size and total may both be 0.
        f1 = 2 * xp.sum(xp.where(labels, P, zeros), axis=1) / xp.clip(size + total, 1.0, None)
        if not xp.any(f1 > best):
            break
        best = xp.maximum(best, f1)
    labels = _fill_empty(labels, P)  # if all probabilities underflow, none is above half of the best F1
    if allow_empty:
        labels = labels & ~(xp.prod(1 - P, axis=1) > best)[:, None]
    return labels


def _fill_empty(labels: Any, P: Any) -> Any:
    """The same sets, with the most probable label in those that are empty."""
    xp = namespace(P)
    empty = xp.nonzero(~xp.any(labels, axis=1))[0]
    most_probable = xp.argmax(take(P, empty), axis=1)
    true = xp.ones_like(most_probable) > 0
    flat = put(xp.reshape(labels, (-1,)), empty * P.shape[1] + most_probable, true)
    return xp.reshape(flat, P.shape)


def _leading(order: Any, size: int) -> Any:
    """Whether each label is among the first ``size`` of its row of ``order``."""
    if not on_host(order):  # the standard has no put_along_axis, but a rank is the order of the order
        return namespace(order).argsort(order, axis=1) < size
    labels = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(labels, order[:, :size], True, axis=1)
    return labels


def _share_threshold(P: Array, cardinality: float) -> float:
    """The threshold that predicts ``cardinality`` labels per sample on average."""
    n_labels = min(max(round(cardinality * len(P)), 1), P.size)
    return float(np.partition(P.ravel(), P.size - n_labels)[P.size - n_labels])


def _label_threshold(p: Array, y: NDArray[np.bool_], metric: str) -> float:
    """The threshold with the best metric for one label alone, half way between the two probabilities it separates."""
    order = np.argsort(-p, kind="stable")
    true_positives, predicted = np.cumsum(y[order]), np.arange(1, len(p) + 1)
    formulas: Mapping[str, Callable[[], Array]] = {
        "f1": lambda: 2 * true_positives / (predicted + y.sum()),
        "accuracy": lambda: true_positives / (predicted + y.sum() - true_positives),
        "hamming_loss": lambda: true_positives - (predicted - true_positives) + 0.0,
    }
    sorted_p = np.append(p[order], -1.0)
    values = np.where(sorted_p[:-1] > sorted_p[1:], formulas[metric](), -np.inf)  # equal ones cannot be separated
    last = int(values.argmax())
    if metric == "hamming_loss" and values[last] < 0:
        return float(np.nextafter(sorted_p[0], 2))  # predicting the label never is best
    return max(float((sorted_p[last] + sorted_p[last + 1]) / 2), 0.0)
