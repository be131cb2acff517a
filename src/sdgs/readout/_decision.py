"""From the probabilities of labels to a set of labels.

Plain functions on arrays. P (n, k) holds probabilities, Y (n, k) the labels; what is tuned is tuned on probabilities of
samples that they were not learnt from. Decisions are made where P is; what is tuned is tuned on the host.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, on_host, put, take, to_device_of

Array = NDArray[np.floating[Any]]

METRICS = ("f1", "accuracy", "hamming_loss")
RULES = ("expected", "threshold", "thresholds", "share", "top")

_CUTS = 100  # thresholds that are tried for all labels together
_POSITIVES = 3  # a label with fewer has no threshold of its own


@dataclass(frozen=True, eq=False)
class Decision:
    """Which labels to give a sample with probabilities p.

    Those of the set that is best by ``metric`` as far as p says, or those with a probability of at least ``thresholds``
    (one for all, or one a label), or the ``top`` most probable ones. A sample that would have none gets its most
    probable label if ``at_least_one``.
    """

    metric: str = "f1"
    at_least_one: bool = False
    thresholds: NDArray[np.float64] | None = None
    top: int | None = None

    def labels(self, P: Any) -> Any:
        """Whether each sample gets each label."""
        xp = namespace(P)
        if self.top is not None:
            return _leading(xp.argsort(P, axis=1, descending=True, stable=True), self.top)
        if self.thresholds is not None:
            chosen = to_device_of(self.thresholds, P) <= P
        elif self.metric == "hamming_loss":
            chosen = P >= 0.5
        else:
            return expected_best(P, allow_none=not self.at_least_one)
        return _with_one(chosen, P) if self.at_least_one else chosen


def tuned_decision(rule: str, metric: str, P: Array, Y: NDArray[Any], *, at_least_one: bool) -> Decision:
    """The decision of a rule, with what it leaves open tuned for a metric: see :class:`sdgs.SDGSClassifier`."""

    def best(candidates: list[Decision]) -> Decision:
        return max(candidates, key=lambda candidate: value(metric, Y, candidate.labels(P)))

    k = Y.shape[1]
    if rule == "expected":
        return Decision(metric, at_least_one)
    if rule == "top":
        most = int(np.asarray(Y, dtype=bool).sum(axis=1).max())
        return best([Decision(metric, top=top) for top in range(1, max(most, 1) + 1)])
    cardinality = np.asarray(Y, dtype=bool).sum() / len(Y)
    if rule == "share":
        return Decision(metric, at_least_one, thresholds=np.asarray(_share_threshold(P, cardinality)))
    # The threshold that gives four times as many labels as there are is lower than any good one.
    cuts = np.unique(np.quantile(P, np.linspace(max(0.0, 1 - 4 * cardinality / k), 1, _CUTS)))
    single = best([Decision(metric, at_least_one, thresholds=np.asarray(cut)) for cut in cuts])
    if rule == "threshold":
        return single
    assert single.thresholds is not None
    thresholds = np.full(k, float(single.thresholds))
    for label in np.flatnonzero(np.asarray(Y, dtype=bool).sum(axis=0) >= _POSITIVES):
        thresholds[label] = _label_threshold(P[:, label], np.asarray(Y[:, label], dtype=bool), metric)
    return Decision(metric, at_least_one, thresholds=thresholds)


def value(metric: str, Y: Any, labels: Any) -> float:
    """The measure of :mod:`sdgs.metrics` by this name, turned round where less is better; for dense labels, and quick.

    It is asked for thousands of times. Two empty sets agree.
    """
    xp = namespace(labels)
    Y = xp.astype(Y, xp.bool)
    if metric == "hamming_loss":
        return -float(xp.count_nonzero(labels != Y)) / int(np.prod(Y.shape))
    both, sizes = _counts(Y & labels), _counts(Y) + _counts(labels)
    part, whole = (2 * both, sizes) if metric == "f1" else (both, sizes - both)
    one = xp.ones_like(whole)
    return float(xp.mean(xp.where(whole == 0, one, part / xp.maximum(whole, one))))


def _counts(labels: Any) -> Any:
    """True entries of each row."""
    xp = namespace(labels)
    return xp.astype(xp.count_nonzero(labels, axis=1), xp.float64)


def expected_best(P: Any, *, allow_none: bool = False) -> Any:
    r"""For each sample the labels that are best for its F1 and its Jaccard index, as far as its probabilities p say.

    Neither has a threshold that is best for all samples: a label that is half certain belongs to the set of a sample of
    which nothing else is known, and not to that of one with three certain labels. Among the sets of the m most probable
    labels, take that which maximises

    .. math:: \frac{2 \sum_{i \in set} p_i}{m + \sum_i p_i}

    the expected F1 but for the ratio of expectations in place of the expectation of the ratio. (The latter, with labels
    taken for independent, was no better in cross-validation: labels are not.) The same for the Jaccard index is F / (2
    - F), which rises with F: one set is best for both. With ``allow_none`` the empty set competes with the probability
    that there is no label, the product of all 1 - p.

    A label belongs to that set if its probability is above half of the best F1: with it the ratio rises. So nothing
    needs to be sorted. Begin with the F1 of the most probable label alone; the labels above half of the F1 found so far
    have one that is at least as high; repeat until it no longer rises (Dinkelbach's method: a few passes).
    """
    xp = namespace(P)
    total, zero = xp.sum(P, axis=1), xp.zeros_like(P)
    best = 2 * xp.max(P, axis=1) / (1 + total)
    while True:
        chosen = best[:, None] / 2 < P
        size = xp.astype(xp.count_nonzero(chosen, axis=1), P.dtype)
        # At least 1: where no label is chosen, size and total may both be 0.
        found = 2 * xp.sum(xp.where(chosen, P, zero), axis=1) / xp.clip(size + total, 1.0, None)
        if not xp.any(found > best):
            break
        best = xp.maximum(best, found)
    chosen = _with_one(chosen, P)  # where all probabilities are next to nothing, none is above half of that
    if allow_none:
        chosen = chosen & ~(xp.prod(1 - P, axis=1) > best)[:, None]
    return chosen


def _with_one(chosen: Any, P: Any) -> Any:
    """The same, with the most probable label for samples without any."""
    xp = namespace(P)
    none = xp.nonzero(~xp.any(chosen, axis=1))[0]
    best = xp.argmax(take(P, none), axis=1)
    flat = put(xp.reshape(chosen, (-1,)), none * P.shape[1] + best, xp.ones_like(best) > 0)
    return xp.reshape(flat, P.shape)


def _leading(order: Any, size: int) -> Any:
    """The first ``size`` labels of each row of ``order``."""
    if not on_host(order):  # the standard cannot put along an axis, but a rank is an order of the order
        return namespace(order).argsort(order, axis=1) < size
    chosen = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(chosen, order[:, :size], True, axis=1)
    return chosen


def _share_threshold(P: Array, cardinality: float) -> float:
    """Gives as many labels in all as there are: ``cardinality`` a sample."""
    wanted = min(max(round(cardinality * len(P)), 1), P.size)
    return float(np.partition(P.ravel(), P.size - wanted)[P.size - wanted])


def _label_threshold(p: Array, y: NDArray[np.bool_], metric: str) -> float:
    """Best for the metric of one label on its own; half way between the two probabilities that it parts."""
    order = np.argsort(-p, kind="stable")
    right, given = np.cumsum(y[order]), np.arange(1, len(p) + 1)
    by: Mapping[str, Callable[[], Array]] = {
        "f1": lambda: 2 * right / (given + y.sum()),
        "accuracy": lambda: right / (given + y.sum() - right),
        "hamming_loss": lambda: right - (given - right) + 0.0,
    }
    ranked = np.append(p[order], -1.0)
    worth = np.where(ranked[:-1] > ranked[1:], by[metric](), -np.inf)  # equal ones cannot be parted
    last = int(worth.argmax())
    if metric == "hamming_loss" and worth[last] < 0:
        return float(np.nextafter(ranked[0], 2))  # better never
    return max(float((ranked[last] + ranked[last + 1]) / 2), 0.0)
