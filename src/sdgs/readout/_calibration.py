"""From features to the probabilities of labels: scores of samples that were left out, and their calibration.

Plain functions on arrays. Z (n, d) holds what the labels are read from, Y (n, k) the labels; see :mod:`sdgs.readout._ridge`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from sdgs._utils._array_api import expit, namespace, put, to_device_of, to_host
from sdgs.readout._ridge import Regression, Ridge, regression

Array = NDArray[np.floating[Any]]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_ENOUGH = 500_000  # scores to fit four numbers to
_KEPT_BYTES = 1 << 30  # of what was learnt from folds: what is more is learnt again


@dataclass(frozen=True, eq=False)
class Features:
    """Of training rows and of others, both in blocks; the rest is for :func:`sdgs.readout._ridge.regression`."""

    training: Iterable[Sequence[Any]]
    others: Iterable[Sequence[Any]]
    widths: Sequence[int]
    weighed: slice | None = None
    kernels: Array | None = None
    worth: Array | None = None


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds slope * score + offset, with a slope and an offset for each label."""

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def log_odds(self, scores: Any) -> Any:
        """Of each label, from its score."""
        return scores * to_device_of(self.slope, scores) + to_device_of(self.offset, scores)

    def probabilities(self, scores: Any) -> Any:
        """Of each label, from its score."""
        return expit(self.log_odds(scores))


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What was learnt from the training rows of a fold, and the features of the others."""

    places: NDArray[np.intp]  # of the others among all that are scored
    learnt: Regression
    others: Sequence[Sequence[Any]]
    widths: Sequence[int]

    def put_scores(self, model: Ridge, scores: Any) -> Any:
        """All scores, with those of this fold put in place."""
        parts = [model.scores(block) for block in self.others]
        found = namespace(parts[0]).concat(parts)
        return put(to_device_of(scores, found), to_device_of(self.places, found), found)

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        return self.learnt.nbytes + sum(_bytes_of(part) for block in self.others for part in block)


def _bytes_of(part: Any) -> int:
    if issparse(part):
        return int(part.data.nbytes + part.indices.nbytes)
    return 8 * int(math.prod(part.shape))


def cross_fitted(
    features: Callable[[int], Features],
    Y: Array,
    folds: Iterable[Fold],
    penalties: Sequence[float],
    n_widths: int,
    kept: list[Callable[[], FoldFit]] | None = None,
    tested: NDArray[np.intp] | None = None,
) -> list[list[Any]]:
    """The scores of samples, from a model that was not learnt from them: for every width, for every penalty.

    Of all, or of those that ``tested`` names, in order, if no fold leaves others out.

    ``features(i)`` are those of the training and of the test rows of fold i, learnt from the training rows alone. What
    features that were learnt from all rows say of those same rows is too good, and a penalty or a threshold chosen on
    it is wrong by far. What was learnt from each fold is added to ``kept``, or how to learn it again.
    """
    # Where nothing can be learnt (no label in all but one fold) the frequencies are all there is.
    tested = np.arange(len(Y)) if tested is None else tested
    shape, frequencies = (tested.size, Y.shape[1]), Y.mean(axis=0)
    scores: list[list[Any]] = [[np.full(shape, frequencies) for _ in penalties] for _ in range(n_widths)]

    def learn(i: int, train: NDArray[np.intp], test: NDArray[np.intp]) -> FoldFit:
        Z = features(i)
        learnt = regression(Z.training, Y[train], Z.widths, Z.weighed, Z.kernels, Z.worth)
        others = list(Z.others)  # after the training samples are dealt with
        return FoldFit(np.searchsorted(tested, test), learnt, others, Z.widths)

    room = _KEPT_BYTES
    for i, (train, test) in enumerate(folds):
        if not Y[train].any():
            continue
        fold = learn(i, train, test)
        for place, penalty in enumerate(penalties):
            for mine, model in zip(scores, fold.learnt.ridges(penalty, fold.widths), strict=True):
                mine[place] = fold.put_scores(model, mine[place])
        if kept is not None:
            room -= fold.nbytes
            kept.append(partial(_same, fold) if room >= 0 else partial(learn, i, train, test))
        del fold  # before the next one is learnt
    return scores


def _same(fold: FoldFit) -> FoldFit:
    return fold


def cross_fitted_partially(
    kept: Sequence[Callable[[], FoldFit]],
    scores: Sequence[Any],
    penalties: Sequence[float],
    number: int,
    partialities: Sequence[float],
) -> list[list[Any]]:
    """The ``scores`` of some penalties and of one of the widths, learnt again with every partiality."""
    found = [[namespace(one).asarray(one, copy=True) for _ in partialities] for one in scores]
    for fold_of in kept:
        fold = fold_of()
        for mine, penalty in zip(found, penalties, strict=True):
            for place, model in enumerate(fold.learnt.partial(penalty, fold.widths[number], partialities)):
                mine[place] = fold.put_scores(model, mine[place])
    return found


def worth_of_samples(labels: Any, metric: str) -> NDArray[np.float64] | None:
    """How much a sample counts in a regression on its labels (a sparse matrix), with a mean of 1; None: all alike.

    The F1 of a sample that has s labels and gets m is 2 h / (s + m), if h of them are right: there a label of a sample
    with many counts less. So a sample counts by 1 / (s + the mean of s), one without a label as one with one. For the
    Hamming loss all count alike.
    """
    sizes = np.maximum(np.asarray(labels.sum(axis=1), dtype=np.float64).reshape(-1), 1)
    if metric == "hamming_loss" or np.ptp(sizes) == 0:
        return None
    worth = 1 / (sizes + sizes.mean())
    return np.asarray(worth / worth.mean())


def calibrate(scores: Any, Y: NDArray[Any], enough: int = _ENOUGH) -> Calibration:
    """Fit the probabilities of all labels together, from scores of samples that the scores were not learnt from.

    Few labels have the samples for a calibration of their own, and one for all is wrong for the rare ones. So slope and
    offset are linear in the log-odds of a label's frequency: four numbers in all. Where that would turn a label's order
    around, one slope for all; and where scores say nothing, as those of noise do, the frequencies alone. About
    ``enough`` of the scores are used.
    """
    n, k = scores.shape
    frequency = (Y.sum(axis=0) + 1) / (n + 2)  # Laplace's rule: no log-odds are infinite
    odds = np.log(frequency / (1 - frequency))
    some = every_so_often(n, k, enough)
    scores = to_host(scores[some, :])
    n = len(scores)
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


def every_so_often(n: int, k: int, enough: int) -> slice:
    """Rows that have about ``enough`` of n x k scores."""
    return slice(None, None, max(1, n * k // enough))
