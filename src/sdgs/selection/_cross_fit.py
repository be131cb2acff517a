"""Cross-fitting: the scores of samples, each from a model that was not fitted to it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from sdgs._utils._array_api import namespace, put, to_device_of
from sdgs.readout._calibration import evenly_spaced_rows, fit_calibrations
from sdgs.readout._decision import Decision, metric_value
from sdgs.readout._features import FEATURE_BLOCKS
from sdgs.readout._ridge import RidgeRegression
from sdgs.selection import _defaults as defaults

Array = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and test rows of a cross-validation, and the test rows of all folds together, in order.

    Each fold is held out in turn; this stops once ``ENOUGH_TEST_SAMPLES`` samples have been predicted.
    """

    pairs: tuple[tuple[Rows, Rows], ...]
    test_rows: Rows


def make_folds(n: int, n_folds: int, seed: int, *, enough: int = defaults.ENOUGH_TEST_SAMPLES) -> Folds:
    """Shuffled folds of n samples; with one sample there are none, and it is a test row all the same."""
    if n < 2:
        return Folds((), np.arange(n))
    pairs = list(KFold(min(n_folds, n), shuffle=True, random_state=seed).split(np.empty((n, 0))))
    pairs = pairs[: n_folds_used(n, n_folds, enough=enough)]
    return Folds(tuple(pairs), np.sort(np.concatenate([test for _, test in pairs])))


def n_folds_used(n: int, n_folds: int, *, enough: int = defaults.ENOUGH_TEST_SAMPLES) -> int:
    """The number of folds whose test rows are enough."""
    return min(n_folds, -(-enough * n_folds // n))


def n_cv_samples(n: int, n_labels: int, n_penalties: int, maximum: int | None = None) -> int:
    """How many of n samples candidates are evaluated on: at most ``maximum``, and as memory for scores allows."""
    affordable = max(
        defaults.MAX_SCORE_BYTES // (8 * len(FEATURE_BLOCKS) * n_penalties * n_labels), defaults.MIN_CV_SAMPLES
    )
    return min(n, maximum or defaults.MAX_CV_SAMPLES, affordable)


def draw_rows(n: int, size: int, seed: int) -> Rows:
    """``size`` of n rows at random, in order; all of them if there are no more."""
    return np.arange(n) if n <= size else np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


@dataclass(frozen=True, eq=False)
class FoldFit:
    """Regressions that were fitted to the training rows of a fold, and the features of its test rows, in blocks."""

    regression: RidgeRegression
    test_blocks: Sequence[Sequence[Any]]
    widths: Sequence[int]

    def test_scores(self, penalties: Sequence[float], n_jobs: int | None) -> list[list[Any]]:
        """The scores of the test rows, for every width and every penalty."""
        return self.regression.path_scores(self.test_blocks, penalties, self.widths, n_jobs)


def cross_fit_scores(
    fit_fold: Callable[[Rows, Rows, int], FoldFit],
    Y: Array,
    folds: Folds,
    penalties: Sequence[float],
    n_widths: int,
    n_jobs: int | None = 1,
    *,
    each: Callable[[Iterable[int]], Iterable[int]] = lambda numbers: numbers,
) -> list[list[Any]]:
    """The scores of the test rows of all folds, for every width and every penalty.

    ``fit_fold(train, test, number)`` fits features and regressions to the training rows alone: features fitted to all
    rows predict those same rows too well, and a penalty or a threshold chosen on such scores is far off. Test rows of a
    fold without any label in its training rows get the label frequencies. ``each`` wraps the fold numbers.
    """
    shape, frequencies = (folds.test_rows.size, Y.shape[1]), Y.mean(axis=0)
    scores: list[list[Any]] = [[None] * len(penalties) for _ in range(n_widths)]
    for number in each(range(len(folds.pairs))):
        train, test = folds.pairs[number]
        if not Y[train].any():
            continue
        fold, positions = fit_fold(train, test, number), np.searchsorted(folds.test_rows, test)
        for all_scores, of_fold in zip(scores, fold.test_scores(penalties, n_jobs), strict=True):
            for i, values in enumerate(of_fold):
                target = _filled(shape, frequencies, values) if all_scores[i] is None else all_scores[i]
                all_scores[i] = put(target, to_device_of(positions, values), values)
        del fold  # before the next one is fitted
    return [[_filled(shape, frequencies, Y) if values is None else values for values in row] for row in scores]


def _filled(shape: tuple[int, int], row: Array, like: Any) -> Any:
    """A matrix of equal rows, on the device of ``like``."""
    xp = namespace(like)
    return xp.asarray(xp.broadcast_to(to_device_of(row, like), shape), copy=True)


@dataclass(frozen=True, eq=False)
class Scorer:
    """The metric of predictions from cross-fitted scores."""

    Y: Array
    decision: Decision

    def value(self, scores: Any) -> float:
        """The value of all scores."""
        return self._values([scores], slice(None), defaults.MAX_LAST_CHANGE)[0]

    def quick_values(self, candidates: Sequence[Any]) -> list[float]:
        """The values of several scores, on evenly spaced rows if there are many: enough to compare penalties."""
        n, k = self.Y.shape
        rows = evenly_spaced_rows(n, k, defaults.MAX_COMPARED_SCORES)
        return self._values(candidates, rows, defaults.MAX_LAST_CHANGE_COMPARISON)

    def _values(self, candidates: Sequence[Any], rows: slice, max_change: float) -> list[float]:
        candidates, Y = [scores[rows, :] for scores in candidates], self.Y[rows]
        calibrations = fit_calibrations(
            candidates, Y, defaults.MAX_COMPARISON_CALIBRATION_SCORES, max_change=max_change
        )
        values = []
        for scores, calibration in zip(candidates, calibrations, strict=True):
            P = calibration.probabilities(scores)
            values.append(metric_value(self.decision.metric, to_device_of(Y, P), self.decision.decide(P)))
        return values
