"""From the probabilities of labels to a set of labels.

Plain functions on arrays. P (n, k) holds probabilities, Y (n, k) the labels; what is tuned is tuned on probabilities of
samples that they were not learnt from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def labels(self, P: Array) -> NDArray[np.bool_]:
        """Whether each sample gets each label."""
        if self.top is not None:
            return _leading(np.argsort(-P, axis=1, kind="stable"), self.top)
        if self.thresholds is not None:
            chosen = np.asarray(self.thresholds <= P)
        elif self.metric == "hamming_loss":
            chosen = np.asarray(P >= 0.5)
        else:
            return expected_best(P, allow_none=not self.at_least_one)
        if self.at_least_one:
            none = np.flatnonzero(~chosen.any(axis=1))
            chosen[none, P[none].argmax(axis=1)] = True
        return chosen


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


def value(metric: str, Y: NDArray[Any], labels: NDArray[np.bool_]) -> float:
    """The measure of :mod:`sdgs.metrics` by this name, turned round where less is better; for dense labels, and quick.

    It is asked for thousands of times. Two empty sets agree.
    """
    Y = np.asarray(Y, dtype=bool)
    if metric == "hamming_loss":
        return -float(np.mean(labels != Y))
    both, sizes = (Y & labels).sum(axis=1), Y.sum(axis=1) + labels.sum(axis=1)
    part, whole = (2 * both, sizes) if metric == "f1" else (both, sizes - both)
    return float(np.where(whole == 0, 1, part / np.maximum(whole, 1)).mean())


def expected_best(P: Array, *, allow_none: bool = False) -> NDArray[np.bool_]:
    r"""For each sample the labels that are best for its F1 and its Jaccard index, as far as its probabilities p say.

    Neither has a threshold that is best for all samples: a label that is half certain belongs to the set of a sample of
    which nothing else is known, and not to that of one with three certain labels. Among the sets of the m most probable
    labels, take that which maximises

    .. math:: \frac{2 \sum_{i \in set} p_i}{m + \sum_i p_i}

    the expected F1 but for the ratio of expectations in place of the expectation of the ratio. (The latter, with labels
    taken for independent, was no better in cross-validation: labels are not.) The same for the Jaccard index is F / (2
    - F), which rises with F: one set is best for both. With ``allow_none`` the empty set competes with the probability
    that there is no label, the product of all 1 - p.
    """
    order = np.argsort(-P, axis=1, kind="stable")
    ranked = np.take_along_axis(P, order, axis=1)
    sizes, inside, total = np.arange(1, P.shape[1] + 1), np.cumsum(ranked, axis=1), ranked.sum(axis=1, keepdims=True)
    expected = 2 * inside / (sizes + total)
    size = expected.argmax(axis=1) + 1
    if allow_none:
        size[np.prod(1 - P, axis=1) > expected.max(axis=1)] = 0
    return _leading(order, size)


def _leading(order: NDArray[np.intp], size: Any) -> NDArray[np.bool_]:
    """The first ``size`` labels of each row of ``order``."""
    chosen = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(order.shape[1]) < np.reshape(size, (-1, 1)), axis=1)
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
