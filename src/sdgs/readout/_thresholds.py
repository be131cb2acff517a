"""Thresholds on probabilities: with the best expected F1, or tuned on labels.

P (n, k) holds probabilities, and Y labels. ``entry_weight`` (n, k) counts entries, 0 where a label is not observed;
None counts each once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, to_device_of
from sdgs.selection._defaults import MAX_CARDINALITY_FACTOR, N_THRESHOLDS

Array = NDArray[np.floating[Any]]
Weights = NDArray[np.float64] | None
NO_EVIDENCE_THRESHOLD = 0.5  # of labels that are expected nowhere, or that no training sample has


def expected_f1_thresholds(P: Any, *, per_label: bool, sample_weight: Weights = None) -> Any:
    r"""Half of the best expected micro F1, (), or of the best expected F1 of each label, (k,).

    If all labels with probabilities above t are predicted, the expected F1 over all samples is

    .. math:: F(t) = \frac{2 \sum_{p > t} p}{\sum_{p > t} 1 + \sum p},

    the ratio of expectations. It is largest for t = F(t) / 2, because a label raises the ratio if its probability is
    above half of it. Found as in :func:`sdgs.readout._decision.best_expected_f1`.
    """
    xp = namespace(P)
    columns = P if per_label else xp.reshape(P, (-1, 1))
    counts = xp.ones_like(columns)
    if sample_weight is not None:
        weight = xp.astype(to_device_of(sample_weight, P), P.dtype)
        counts = xp.reshape(xp.broadcast_to(weight[:, None], P.shape), columns.shape)
    weighted, zeros = counts * columns, xp.zeros_like(columns)
    total = xp.sum(weighted, axis=0)
    best = xp.zeros_like(total)
    tiny = float(xp.finfo(P.dtype).smallest_normal)
    while True:
        labels = best[None, :] / 2 < columns
        size = xp.sum(xp.where(labels, counts, zeros), axis=0)
        f1 = 2 * xp.sum(xp.where(labels, weighted, zeros), axis=0) / xp.clip(size + total, tiny, None)
        if not xp.any(f1 > best):
            break
        best = xp.maximum(best, f1)
    thresholds = xp.where(best > 0, best / 2, NO_EVIDENCE_THRESHOLD * xp.ones_like(best))
    return thresholds if per_label else thresholds[0]


def candidate_thresholds(P: Array, cardinality: float, entry_weight: Weights = None) -> Array:
    """Some different thresholds for all labels, for ``cardinality`` labels per sample."""
    lowest = max(0.0, 1 - MAX_CARDINALITY_FACTOR * cardinality / P.shape[1])
    levels = np.linspace(lowest, 1, N_THRESHOLDS)
    quantiles = np.quantile(P, levels) if entry_weight is None else _weighted_quantiles(P, levels, entry_weight)
    return np.unique(quantiles)


def share_threshold(P: Array, n_labels: float, entry_weight: Weights = None) -> float:
    """The threshold that predicts ``n_labels`` labels of all samples, or the closest possible number.

    Equal probabilities cannot be separated: of the two possible numbers that enclose the wanted one the closer is
    taken, of two equally close ones the larger.
    """
    values, inverse = np.unique(P, return_inverse=True)
    counts = np.bincount(inverse.reshape(-1), None if entry_weight is None else entry_weight.ravel())
    predicted = np.cumsum(counts[::-1])[::-1]  # with each value as the threshold
    if entry_weight is None:
        n_labels = min(max(round(n_labels), 1), P.size)
    else:
        n_labels = max(n_labels, min(1.0, counts[counts > 0].min()))
    first = int(np.flatnonzero(predicted >= min(n_labels, predicted[0]))[-1])
    fewer = predicted[first + 1] if first + 1 < values.size else 0
    if n_labels - fewer < predicted[first] - n_labels:
        return float(values[first + 1] if first + 1 < values.size else np.nextafter(values[first], 2))
    return float(values[first])


def label_threshold(
    p: Array, y: NDArray[np.bool_], metric: str, weight: Weights = None, *, micro_f1: float = 1.0
) -> float:
    """The threshold with the best metric for one label alone, half way between the two probabilities it separates.

    For micro F1, which labels share, it raises the numerator by more than ``micro_f1`` times the denominator.
    """
    if weight is not None:
        p, y, weight = p[weight > 0], y[weight > 0], weight[weight > 0]
    order = np.argsort(-p, kind="stable")
    if weight is None:
        true_positives, predicted, n_true = np.cumsum(y[order]), np.arange(1, len(p) + 1), y.sum()
    else:
        true_positives, predicted = np.cumsum((weight * y)[order]), np.cumsum(weight[order])
        n_true = weight @ y
    if metric == "accuracy":
        values = true_positives / (predicted + n_true - true_positives)
    elif metric in ("f1", "macro_f1"):
        values = 2 * true_positives / (predicted + n_true)
    else:  # the most right decisions, also for the most right sets
        values = 2 * true_positives - micro_f1 * predicted
    sorted_p = np.append(p[order], -1.0)
    values = np.where(sorted_p[:-1] > sorted_p[1:], values, -np.inf)  # equal ones cannot be separated
    last = int(values.argmax())
    if metric not in ("f1", "macro_f1", "accuracy") and values[last] < 0:
        return float(np.nextafter(sorted_p[0], 2))  # predicting the label never is best
    return max(float((sorted_p[last] + sorted_p[last + 1]) / 2), 0.0)


def _weighted_quantiles(P: Array, levels: Array, entry_weight: NDArray[np.float64]) -> Array:
    """Quantiles as of :func:`numpy.quantile` if each entry occurred as often as its weight says."""
    present = entry_weight.ravel() > 0
    values, weight = P.ravel()[present], entry_weight.ravel()[present]
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(weight[order])
    unit = min(1.0, float(weight.min()))  # the distance of neighbours, if weights are no numbers of occurrences
    positions = levels * (ends[-1] / unit - 1)
    below = np.floor(positions)

    def value_at(position: Array) -> Array:
        return np.asarray(values[np.minimum(np.searchsorted(ends, position * unit, side="right"), values.size - 1)])

    low, high = value_at(below), value_at(below + 1)
    return np.asarray(low + (high - low) * (positions - below))
