"""Cross-fitting: the scores of samples, each from a model that was not fitted to it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, put, to_device_of
from sdgs._utils._threads import ThreadPool
from sdgs.readout._calibration import Starts, evenly_spaced_rows, fit_calibrations, label_counts
from sdgs.readout._decision import Decision, metric_value
from sdgs.readout._ridge import Path
from sdgs.selection import _defaults as defaults
from sdgs.selection._folds import Folds, Rows

Array = NDArray[np.floating[Any]]


def n_cv_samples(n: int, n_labels: int, maximum: int | None = None) -> int:
    """How many of n samples candidates are evaluated on: at most ``maximum``, and fewer if there are many labels."""
    affordable = max(defaults.MAX_CV_SCORES // n_labels, defaults.MIN_CV_SAMPLES)
    return min(n, maximum or defaults.MAX_CV_SAMPLES, affordable)


def draw_rows(n: int, size: int, seed: int) -> Rows:
    """``size`` of n rows at random, in order; all of them if there are no more."""
    return np.arange(n) if n <= size else np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


class CrossFit:
    """The scores of the test rows of all folds, as a function of the ridge penalty.

    Parameters
    ----------
    fit_fold : callable
        ``fit_fold(train, test, number)`` fits features and regressions to the training rows alone, and returns the path
        of the test rows: features fitted to all rows predict those same rows too well, and a penalty or a threshold
        chosen on such scores is far off.
    Y : ndarray of shape (n, k)
        NaN is an unobserved label.
    folds : Folds
    n_widths : int
        The length of what a path returns.
    n_jobs : int or None
        Threads over folds.
    sample_weight : ndarray of shape (n,) or None
    each : callable
        Wraps the fold numbers.
    """

    def __init__(
        self,
        fit_fold: Callable[[Rows, Rows, int], Path],
        Y: Array,
        folds: Folds,
        n_widths: int,
        n_jobs: int | None = 1,
        *,
        sample_weight: NDArray[np.float64] | None = None,
        each: Callable[[Iterable[int]], Iterable[int]] = lambda numbers: numbers,
    ) -> None:
        self._folds, self._n_widths = folds, n_widths
        counts, totals = label_counts(Y, sample_weight)
        self._frequencies, self._threads = counts / np.maximum(totals, np.finfo(float).tiny), ThreadPool(n_jobs)
        self._paths = []
        for number in each(range(len(folds.pairs))):
            train, test = folds.pairs[number]
            if (Y[train] == 1).any():
                self._paths.append((np.searchsorted(folds.test_rows, test), fit_fold(train, test, number)))

    def scores(self, penalty: float) -> list[Any]:
        """One array per number of columns. Without a label in the training rows, scores are the label frequencies."""
        shape = (self._folds.test_rows.size, self._frequencies.size)
        all_scores: list[Any] = [None] * self._n_widths
        parts = self._threads.map(lambda path: path[1](penalty), self._paths)
        for (positions, _), of_fold in zip(self._paths, parts, strict=True):
            for i, values in enumerate(of_fold):
                target = _filled(shape, self._frequencies, values) if all_scores[i] is None else all_scores[i]
                all_scores[i] = put(target, to_device_of(positions, values), values)
        return [np.full(shape, self._frequencies) if values is None else values for values in all_scores]


def _filled(shape: tuple[int, int], row: Array, like: Any) -> Any:
    """A matrix of equal rows, on the device of ``like``."""
    xp = namespace(like)
    return xp.asarray(xp.broadcast_to(to_device_of(row, like), shape), copy=True)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A ridge penalty and a number of columns, by their positions, with the cross-fitted scores and their value."""

    penalty: int
    width: int
    value: float
    scores: Any


def best_penalty(
    cross_fit: CrossFit, penalties: Sequence[float], start: int, scorer: "Scorer", calibration_starts: Starts
) -> PathPoint:
    """The best penalty and number of columns; of equal numbers of columns the first.

    The search goes from penalty ``start`` to larger ones while they are better, and if none was, to smaller ones: the
    metric has one maximum along the path, but for noise. ``calibration_starts`` are those of
    :func:`sdgs.readout._calibration.fit_calibrations`.
    """

    def evaluate(penalty: int) -> PathPoint:
        scores = cross_fit.scores(penalties[penalty])
        values = scorer.quick_values(scores, calibration_starts)
        width = int(np.argmax(values))
        return PathPoint(penalty, width, values[width], scores[width])

    best = evaluate(start)
    for step in (1, -1):
        while 0 <= best.penalty + step < len(penalties):
            point = evaluate(best.penalty + step)
            if point.value <= best.value:
                break
            best = point
        if best.penalty != start:
            break
    return best


def middle_penalty(penalties: Sequence[float]) -> int:
    """The position of the penalty that is closest to ``START_PENALTY``, as a ratio."""
    return int(np.argmin(np.abs(np.log(np.asarray(penalties) / defaults.START_PENALTY))))


@dataclass(frozen=True, eq=False)
class Scorer:
    """The metric of predictions from cross-fitted scores; labels that are NaN do not count."""

    Y: Array
    decision: Decision
    sample_weight: NDArray[np.float64] | None = None
    propensity: NDArray[np.float64] | None = None

    def value(self, scores: Any, starts: Starts) -> float:
        """The value of scores."""
        return self._values([scores], slice(None), defaults.MAX_LAST_CHANGE, starts)[0]

    def quick_values(self, candidates: Sequence[Any], starts: Starts) -> list[float]:
        """The values of several scores, on evenly spaced rows if there are many: enough to compare penalties.

        ``starts`` connects the calibrations of several calls.
        """
        n, k = self.Y.shape
        rows = evenly_spaced_rows(n, k, defaults.MAX_COMPARED_SCORES)
        return self._values(candidates, rows, defaults.MAX_LAST_CHANGE_COMPARISON, starts)

    def _values(self, candidates: Sequence[Any], rows: slice, max_change: float, starts: Starts) -> list[float]:
        candidates, Y = [scores[rows, :] for scores in candidates], self.Y[rows]
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        calibrations = fit_calibrations(
            candidates,
            Y,
            defaults.MAX_COMPARISON_CALIBRATION_SCORES,
            max_change=max_change,
            starts=starts,
            sample_weight=weight,
            propensity=self.propensity,
        )
        values = []
        for scores, calibration in zip(candidates, calibrations, strict=True):
            P = calibration.probabilities(scores)
            values.append(metric_value(self.decision.metric, to_device_of(Y, P), self.decision.decide(P), weight))
        return values
