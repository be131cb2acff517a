"""From the probabilities of labels to label sets.

Plain functions on arrays. P (n, k) holds probabilities, Y (n, k) labels. Decisions are tuned on the host, on
cross-fitted probabilities, and made where P is.
"""

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, on_host, put, take, to_device_of
from sdgs.readout._label_set_correction import LabelSetCorrection, fit_label_set_correction
from sdgs.readout._thresholds import (
    NO_EVIDENCE_THRESHOLD,
    Weights,
    candidate_thresholds,
    expected_f1_thresholds,
    label_threshold,
    share_threshold,
)
from sdgs.selection._defaults import MIN_POSITIVES_PER_THRESHOLD

Array = NDArray[np.floating[Any]]

# That decisions can be tuned for.
TARGET_METRICS = ("f1", "accuracy", "hamming_loss", "micro_f1", "macro_f1", "subset_accuracy")
DECISION_RULES = ("expected", "threshold", "thresholds", "share", "top")


@dataclass(frozen=True, eq=False)
class Decision:
    """Which labels a sample with given probabilities gets.

    With ``top`` its most probable labels; with ``thresholds`` (one for all labels, or one per label) those with at
    least that probability; else the set with the best expected ``metric``. With ``at_least_one`` a sample that would
    get no label gets its most probable one. Thresholds for the best expected micro and macro F1, which are properties
    of many samples, are found from the given probabilities if there are none. The most probable set, for subset
    accuracy, is that of independent labels without ``label_sets``.

    With ``label_weight`` (k,) the odds of each label are first multiplied by its weight.
    """

    metric: str = "f1"
    at_least_one: bool = False
    thresholds: NDArray[np.float64] | None = None
    top: int | None = None
    label_weight: NDArray[np.float64] | None = None
    label_sets: LabelSetCorrection | None = None

    def decide(self, P: Any) -> Any:
        """The label sets, boolean (n, k)."""
        P = weighted_probabilities(P, self.label_weight)
        if self.top is not None:
            return _leading(namespace(P).argsort(P, axis=1, descending=True, stable=True), self.top)
        thresholds = self.thresholds_for(P)
        if thresholds is None:
            return best_expected_f1(P, allow_empty=not self.at_least_one)
        labels = to_device_of(thresholds, P) <= P
        labels = _fill_empty(labels, P) if self.at_least_one else labels
        return labels if self.label_sets is None else self.label_sets.most_probable(P, labels)

    def thresholds_for(self, P: Any) -> Any:
        """The thresholds on probabilities with the weights of labels, or None."""
        if self.thresholds is not None:
            return self.thresholds
        if self.metric in ("micro_f1", "macro_f1"):
            return expected_f1_thresholds(P, per_label=self.metric == "macro_f1")
        return 0.5 if self.metric in ("hamming_loss", "subset_accuracy") else None


def weighted_probabilities(P: Any, label_weight: NDArray[np.float64] | None) -> Any:
    """The probabilities of labels if their odds were ``label_weight`` (k,) times as large; None leaves them."""
    if label_weight is None:
        return P
    xp = namespace(P)
    info = xp.finfo(P.dtype)  # a weight beyond the range of float32 must not become 0 or infinite there
    weight = to_device_of(np.clip(label_weight, float(info.smallest_normal), float(info.max)), P)
    weighted = xp.astype(weight, P.dtype) * P
    return weighted / ((1 - P) + weighted)  # p = 0 and p = 1 stay


def tune_decision(
    rule: str,
    metric: str,
    P: Array,
    Y: NDArray[Any],
    *,
    at_least_one: bool,
    label_weight: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Decision:
    """The decision of a rule, tuned for a metric: see ``decision`` of :class:`sdgs.SDGSClassifier`.

    Rules are tuned on probabilities with the weights of labels. NaN in ``Y`` is a label that is not observed.
    """
    if sample_weight is not None:
        used = sample_weight > 0
        P, Y, sample_weight = P[used], Y[used], sample_weight[used]
    if rule == "expected":
        decision = _expected_decision(metric, P, Y, at_least_one, label_weight, sample_weight)
    else:
        weighted = weighted_probabilities(P, label_weight)
        decision = _tuned_decision(rule, metric, weighted, Y, at_least_one, sample_weight)
    return replace(decision, label_weight=label_weight)


def _expected_decision(
    metric: str, P: Array, Y: NDArray[Any], at_least_one: bool, label_weight: Weights, sample_weight: Weights
) -> Decision:
    """The decision with the best expected metric; what the metric needs of many samples is found here."""
    thresholds: Any = None
    label_sets = None
    if metric in ("micro_f1", "macro_f1"):
        weighted = weighted_probabilities(P, label_weight)
        thresholds = expected_f1_thresholds(weighted, per_label=metric == "macro_f1", sample_weight=sample_weight)
    if metric == "macro_f1":  # a label that no sample has would be predicted for all: that costs no macro F1
        thresholds = np.where((Y > 0).any(axis=0), thresholds, NO_EVIDENCE_THRESHOLD)
    if metric == "subset_accuracy":
        complete = slice(None) if _observed(Y) is None else ~np.isnan(Y).any(axis=1)
        weight = None if sample_weight is None else sample_weight[complete]
        # From probabilities without the weights of labels: those are no property of how labels depend on each other.
        label_sets = fit_label_set_correction(P[complete], Y[complete] > 0, weight, allow_empty=not at_least_one)
    thresholds = None if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    return Decision(metric, at_least_one, thresholds, label_sets=label_sets)


def _tuned_decision(
    rule: str, metric: str, P: Array, Y: NDArray[Any], at_least_one: bool, sample_weight: Weights
) -> Decision:
    def value(candidate: Decision) -> float:
        return metric_value(metric, Y, candidate.decide(P), sample_weight)

    def with_thresholds(thresholds: Any) -> Decision:
        return Decision(metric, at_least_one, thresholds=np.asarray(thresholds))

    n, k = Y.shape
    positive, entry_weight = Y > 0, _entry_weight(Y, sample_weight)
    if entry_weight is None:
        n_positives, cardinality = positive.sum(axis=0), positive.sum() / n
    else:
        n_positives = (entry_weight * positive).sum(axis=0)
        cardinality = n_positives.sum() / max(entry_weight.sum(), np.finfo(np.float64).tiny) * k
    if rule == "top":
        largest = int(positive.sum(axis=1).max())
        return max([Decision(metric, top=top) for top in range(1, max(largest, 1) + 1)], key=value)
    if rule == "share":
        return with_thresholds(share_threshold(P, n_positives.sum(), entry_weight))
    single = max(map(with_thresholds, candidate_thresholds(P, cardinality, entry_weight)), key=value)
    if rule == "threshold":
        return single
    assert single.thresholds is not None
    frequent = np.flatnonzero(n_positives >= MIN_POSITIVES_PER_THRESHOLD)
    micro_f1 = value(single) if metric == "micro_f1" else 1.0
    while True:
        thresholds = np.full(k, float(single.thresholds))
        for label in frequent:
            weight = None if entry_weight is None else entry_weight[:, label]
            thresholds[label] = label_threshold(P[:, label], positive[:, label], metric, weight, micro_f1=micro_f1)
        decision = with_thresholds(thresholds)
        # For micro F1 each label's best threshold depends on that of all: Dinkelbach's method, which rises to the best.
        if metric != "micro_f1" or not value(decision) > micro_f1:
            return decision
        micro_f1 = value(decision)


def _entry_weight(Y: NDArray[Any], sample_weight: Weights) -> Weights:
    """How much each entry of Y counts; None if all count once."""
    observed = _observed(Y)
    if sample_weight is None:
        return None if observed is None else observed.astype(np.float64)
    ones = np.ones(Y.shape) if observed is None else observed
    return np.asarray(sample_weight[:, None] * ones)


def _observed(Y: Any) -> Any:
    """Which entries are not NaN; None if all are not."""
    xp = namespace(Y)
    if not xp.isdtype(Y.dtype, "real floating") or not bool(xp.isnan(xp.sum(Y))):
        return None
    return ~xp.isnan(Y)


def make_decision(
    decision: Any,
    metric: str,
    P: Array,
    Y: NDArray[Any],
    *,
    at_least_one: bool,
    one_per_sample: bool,
    label_weight: NDArray[np.float64] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Decision:
    """What ``decision`` of an estimator says: a rule to tune on P and Y, a number of labels, or thresholds.

    With ``one_per_sample``, for classes that exclude each other, the most probable one.
    """
    if one_per_sample:
        return Decision(metric, top=1, label_weight=label_weight)
    if isinstance(decision, str):
        return tune_decision(
            decision,
            metric,
            P,
            Y,
            at_least_one=at_least_one,
            label_weight=label_weight,
            sample_weight=sample_weight,
        )
    if isinstance(decision, numbers.Integral):
        return Decision(metric, top=int(decision), label_weight=label_weight)
    thresholds = np.asarray(decision, dtype=np.float64)
    return Decision(metric, at_least_one, thresholds=thresholds, label_weight=label_weight)


def metric_value(metric: str, Y: Any, labels: Any, sample_weight: Any = None) -> float:
    """The measure of :mod:`sdgs.metrics` by this name, negated if less is better.

    Faster than that module, because tuning calls it thousands of times; for dense labels. Two empty sets agree. As
    there, a label that no sample has and that is never predicted has an F1 of 0.

    NaN in ``Y`` is a label that is not observed: neither true nor false. Samples without an observed label do not
    count. If nothing counts, the value is 0.
    """
    xp = namespace(labels)
    observed = _observed(Y)
    if observed is None and sample_weight is None:
        return _unweighted_value(metric, xp.astype(Y, xp.bool), labels)
    n_observed = _row_counts(labels | ~labels if observed is None else observed)
    if observed is not None:
        Y, labels = xp.where(observed, Y, xp.zeros_like(Y)), labels & observed
    weight = xp.ones_like(n_observed)
    if sample_weight is not None:
        weight = xp.astype(to_device_of(sample_weight, labels), xp.float64)
    Y = xp.astype(Y, xp.bool)
    if metric in ("micro_f1", "macro_f1"):
        both, sizes = (_weighted_column_sums(weight, each) for each in ((Y & labels,), (Y, labels)))
        return _mean_f1(both, sizes) if metric == "macro_f1" else _ratio(2 * xp.sum(both), xp.sum(sizes))
    if metric == "hamming_loss":
        return -_ratio(xp.sum(weight * _row_counts(labels != Y)), xp.sum(weight * n_observed))
    weight = xp.where(n_observed > 0, weight, xp.zeros_like(weight))
    return _ratio(xp.sum(weight * _sample_values(metric, Y, labels)), xp.sum(weight))


def _unweighted_value(metric: str, Y: Any, labels: Any) -> float:
    xp = namespace(labels)
    if metric == "hamming_loss":
        return -float(xp.count_nonzero(labels != Y)) / int(np.prod(Y.shape))
    if metric == "micro_f1":
        both, n_true, n_predicted = (xp.count_nonzero(each) for each in (Y & labels, Y, labels))
        return _ratio(2 * both, n_true + n_predicted)
    if metric == "macro_f1":
        return _mean_f1(_column_counts(Y & labels), _column_counts(Y) + _column_counts(labels))
    return float(xp.mean(_sample_values(metric, Y, labels)))


def _sample_values(metric: str, Y: Any, labels: Any) -> Any:
    """F1, accuracy or subset accuracy of each sample, from boolean labels."""
    xp = namespace(labels)
    if metric == "subset_accuracy":
        return xp.astype(xp.all(labels == Y, axis=1), xp.float64)
    both, sizes = _row_counts(Y & labels), _row_counts(Y) + _row_counts(labels)
    numerator, denominator = (2 * both, sizes) if metric == "f1" else (both, sizes - both)
    ones = xp.ones_like(denominator)
    return xp.where(denominator == 0, ones, numerator / xp.maximum(denominator, ones))


def _mean_f1(both: Any, sizes: Any) -> float:
    """Macro F1 from counts per label: of true positives, and of true and predicted labels together."""
    xp = namespace(both)
    return float(xp.mean(2 * both / xp.where(sizes > 0, sizes, xp.ones_like(sizes))))


def _ratio(numerator: Any, denominator: Any) -> float:
    """0 for 0/0."""
    return float(numerator) / float(denominator) if float(denominator) > 0 else 0.0


def _row_counts(labels: Any) -> Any:
    """True entries per row."""
    xp = namespace(labels)
    return xp.astype(xp.count_nonzero(labels, axis=1), xp.float64)


def _column_counts(labels: Any) -> Any:
    """True entries per column."""
    xp = namespace(labels)
    return xp.astype(xp.count_nonzero(labels, axis=0), xp.float64)


def _weighted_column_sums(weight: Any, matrices: Any) -> Any:
    xp = namespace(weight)
    return sum(weight @ xp.astype(labels, weight.dtype) for labels in matrices)


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
