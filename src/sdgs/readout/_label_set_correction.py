"""The most probable label set of a sample, with dependences between labels.

Probabilities of labels give that of a set only if labels are independent, given the sample. How wrong that is, the sets
of the training samples tell: a set that occurs more often than the probabilities say is more probable than their
product.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, on_host, put, take, to_device_of
from sdgs.selection._defaults import MAX_LABEL_SETS, SET_COUNT_SMOOTHING

Array = NDArray[np.floating[Any]]
_BLOCK_ENTRIES = 1 << 22  # of scores of sets that are held at a time


@dataclass(frozen=True, eq=False)
class LabelSetCorrection:
    """Factors by which label sets are more frequent than independent labels would make them, as logarithms.

    Attributes
    ----------
    sets : boolean ndarray of shape (m, k)
        Label sets of training samples, the most frequent ones.
    log_ratios : ndarray of shape (m + 1,)
        log((samples with the set + a) / (expected number of them + a)), and last the same of all other sets together.
    """

    sets: NDArray[np.bool_]
    log_ratios: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not self.sets.shape[0] or self.log_ratios.shape != (self.sets.shape[0] + 1,):
            raise ValueError("a correction needs at least one label set, and one ratio more than label sets.")

    def scores(self, P: Any) -> Any:
        """The log probability of each set (n, m), up to a constant of the sample."""
        sets = to_device_of(self.sets.astype(np.float64), P)
        xp = namespace(P)
        log_ratios = xp.astype(to_device_of(self.log_ratios[:-1], P), P.dtype)
        return log_odds(P) @ xp.astype(sets, P.dtype).T + log_ratios[None, :]

    def set_probabilities(self, p: Array, independent: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Array]:
        """The sets that one sample is compared with, and their probabilities, which sum to 1, from p (k,)."""
        sets, scores = self.sets, self.scores(p[None])[0]
        if not (sets == independent).all(axis=1).any():
            sets = np.vstack([sets, independent])
            scores = np.append(scores, log_odds(p)[independent].sum() + self.log_ratios[-1])
        weight = np.exp(scores - scores.max())
        return sets, weight / weight.sum()

    def most_probable(self, P: Any, independent: Any) -> Any:
        """For each sample the best of ``sets`` and of its set if labels were independent, both boolean (n, k)."""
        n, step = P.shape[0], max(_BLOCK_ENTRIES // self.log_ratios.size, 1)
        rows = [slice(start, min(start + step, n)) for start in range(0, n, step)]
        blocks = [self._most_probable(P[some, :], independent[some, :]) for some in rows]
        return namespace(P).concat(blocks) if blocks else independent

    def _most_probable(self, P: Any, independent: Any) -> Any:
        xp = namespace(P)
        sets, scores = to_device_of(self.sets, P), self.scores(P)
        labels = take(sets, xp.argmax(scores, axis=1))
        zeros = xp.zeros_like(P)
        own_score = xp.sum(xp.where(independent, log_odds(P), zeros), axis=1) + float(self.log_ratios[-1])
        rows = xp.nonzero(own_score > xp.max(scores, axis=1))[0]
        if rows.shape[0] == 0:
            return labels
        # Those that occur in training have a factor of their own.
        own, of_training = (xp.astype(one, P.dtype) for one in (take(independent, rows), sets))
        sizes, own_sizes = xp.sum(of_training, axis=1), xp.sum(own, axis=1)
        common = own @ of_training.T
        known = xp.any((common == sizes[None, :]) & (common == own_sizes[:, None]), axis=1)
        rows = rows[~known]
        return put(labels, rows, take(independent, rows))


def log_odds(P: Any) -> Any:
    """log(p / (1 - p)), of probabilities that are bounded away from 0 and 1 by the precision of ``P``."""
    xp = namespace(P)
    eps = float(xp.finfo(P.dtype).eps)
    P = xp.clip(P, eps, 1 - eps)
    return xp.log(P) - xp.log1p(-P)


def fit_label_set_correction(
    P: Array, Y: NDArray[np.bool_], sample_weight: NDArray[np.float64] | None, *, allow_empty: bool
) -> LabelSetCorrection | None:
    """From probabilities and labels (n, k) of samples, all of whose labels are known; None if there are no sets."""
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    packed, codes = np.unique(np.packbits(Y, axis=1), axis=0, return_inverse=True)
    sets = np.unpackbits(packed, axis=1, count=Y.shape[1]).astype(np.bool_)
    counts = np.bincount(codes.reshape(-1), weight, len(sets))
    if not allow_empty:
        sets, counts = sets[sets.any(axis=1)], counts[sets.any(axis=1)]
    if not counts.size:
        return None
    n_new = counts[counts <= 1].sum()  # as many samples have new sets as have one that occurs once (Good and Turing)
    chosen = np.argsort(-counts, kind="stable")[:MAX_LABEL_SETS]
    expected = _expected_counts(P, sets[chosen], weight)
    counts = np.append(counts[chosen], max(n_new, counts.sum() - counts[chosen].sum()))
    expected = np.append(expected, max(weight.sum() - expected.sum(), 0.0))
    log_ratios = np.log((counts + SET_COUNT_SMOOTHING) / (expected + SET_COUNT_SMOOTHING))
    return LabelSetCorrection(sets[chosen], log_ratios)


def _expected_counts(P: Array, sets: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many samples would have each set if labels were independent."""
    assert on_host(P)
    members = sets.astype(np.float64).T
    expected = np.zeros(len(sets))
    step = max(_BLOCK_ENTRIES // len(sets), 1)
    for start in range(0, len(P), step):
        odds = log_odds(P[start : start + step])
        log_none = -np.logaddexp(0, odds).sum(axis=1)
        expected += weight[start : start + step] @ np.exp(odds @ members + log_none[:, None])
    return expected
