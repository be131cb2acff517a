"""The folds of a cross-validation: drawn at random, or given."""

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from sdgs._utils._validation import check_int
from sdgs.selection import _defaults as defaults

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]  # training and test rows


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and test rows of a cross-validation, and the test rows of all folds together, in order.

    Each fold is held out in turn; this stops once ``ENOUGH_TEST_SAMPLES`` samples have been predicted.
    """

    pairs: tuple[tuple[Rows, Rows], ...]
    test_rows: Rows


def check_cv(cv: Any) -> None:
    """Reject what is neither a number of folds nor splits."""
    if isinstance(cv, numbers.Integral | str) or not (hasattr(cv, "split") or isinstance(cv, Sequence)):
        check_int(cv, "cv", minimum=2)


def splits_of(cv: Any, X: Any, y: Any) -> int | tuple[Split, ...]:
    """``cv`` of an estimator: a number of folds, or the splits of a splitter or a list as checked arrays of rows.

    ``y`` is what a splitter may stratify by. Lists with other than these two arrays are rejected.
    """
    if isinstance(cv, numbers.Integral):
        return int(cv)
    n = int(X.shape[0])
    try:
        pairs = list(cv.split(np.empty((n, 0)), y)) if hasattr(cv, "split") else list(cv)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(cv).__name__} cannot split these samples: {error} A splitter is given the number of samples and "
            "the labels, a label matrix as a sparse one. Pass what it splits as a list: list(cv.split(X, ...))."
        ) from error
    try:
        splits = tuple((_check_rows(train, n), _check_rows(test, n)) for train, test in pairs)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cv must give pairs of arrays with training and test rows: {error}") from None
    if not splits:
        raise ValueError("cv gives no splits. Pass a number of folds, a splitter or a list of splits.")
    tests = np.concatenate([test for _, test in splits])
    if np.unique(tests).size < tests.size or any(np.intersect1d(train, test).size for train, test in splits):
        raise ValueError(
            "cv must predict each sample at most once, by a model that was not fitted to it: its test rows overlap "
            "with each other or with their training rows. Use K-fold splits."
        )
    return splits


def _check_rows(rows: Any, n: int) -> Rows:
    rows = np.asarray(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0 or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"rows must be integers from 0 to {n - 1}, and not empty.")
    if np.unique(rows).size < rows.size:
        raise ValueError("no row may be there twice. Use sample_weight.")
    return np.sort(rows).astype(np.intp)


def restrict_splits(splits: Iterable[Split], rows: Rows) -> tuple[Split, ...]:
    """Splits of the rows that are used (ascending), as positions in ``rows``.

    Splits that have no training or test row are left out; an error if none is left.
    """
    positions = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    restricted = tuple((train, test) for train, test in positions if train.size and test.size)
    if not restricted:
        raise ValueError(
            "cv has no split with both training and test samples among those that are used: samples of weight 0 or "
            "without observed labels are not, and of large data a random part. Pass splits with more samples, or a "
            "number of folds."
        )
    return restricted


def folds_of(splits: int | tuple[Split, ...], rows: Rows, seed: int, *, enough: int) -> Folds:
    """Folds of some rows: a number of new ones, or given splits of all rows."""
    if isinstance(splits, int):
        return make_folds(rows.size, splits, seed, enough=enough)
    pairs = restrict_splits(splits, rows)
    return Folds(pairs, np.sort(np.concatenate([test for _, test in pairs])))


def check_test_labels(Y: NDArray[np.floating[Any]]) -> None:
    """Reject labels of test rows that are all unobserved (NaN)."""
    if Y.size and np.isnan(Y).all():
        raise ValueError(
            "none of the samples that cross-validation predicts has an observed label: in y all of theirs are NaN. "
            "Leave out samples without an observed label, or pass splits that test others."
        )


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
