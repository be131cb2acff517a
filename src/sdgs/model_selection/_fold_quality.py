"""How equal the folds of a split are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_labels


@dataclass(frozen=True)
class FoldQuality:
    """What :func:`fold_quality` returns. Smaller is better for all.

    Attributes
    ----------
    label_distribution : float
        LD: the mean over labels and folds of the absolute difference between the odds of the label in the fold and in
        all samples. The odds are samples with the label over samples without it. A fold in which all samples have the
        label is left out.
    fold_size : float
        ED: the mean over folds of the absolute difference between their size and the mean size.
    folds_lacking_labels : int
        FZ: the number of folds that lack a label.
    labels_lacking_in_folds : int
        FLZ: the number of labels that a fold lacks.

    Notes
    -----
    Labels without samples, or that all samples have, are left out.
    """

    label_distribution: float
    fold_size: float
    folds_lacking_labels: int
    labels_lacking_in_folds: int


def fold_quality(Y: Any, test_folds: Any) -> FoldQuality:
    """Measure how equally labels and samples are distributed over folds.

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1, and NaN for unobserved ones, which count as 0.
    test_folds : iterable
        The rows of each fold, or the pairs (train, test) of a splitter.

    Returns
    -------
    FoldQuality

    Examples
    --------
    >>> from sdgs.model_selection import fold_quality
    >>> fold_quality([[1, 0], [1, 1], [0, 0], [0, 0]], [[0, 2], [1, 3]])
    FoldQuality(label_distribution=0.25, fold_size=0.0, folds_lacking_labels=1, labels_lacking_in_folds=1)
    """
    indicator = check_labels(split_unobserved(Y)[0], some_positive=False).tocsr()
    rows = [np.asarray(fold[1] if isinstance(fold, tuple) else fold) for fold in test_folds]
    if not rows or not all(fold.size for fold in rows):
        raise ValueError("test_folds must hold at least one fold, and each fold at least one row.")
    sizes = np.array([fold.size for fold in rows])
    total = indicator.sum(axis=0)
    varies = (total > 0) & (total < indicator.shape[0])
    positives = np.array([indicator[fold].sum(axis=0)[varies] for fold in rows])
    negatives = sizes[:, None] - positives
    odds = total[varies] / (indicator.shape[0] - total[varies])
    difference = np.abs(positives / np.where(negatives == 0, np.nan, negatives) - odds)
    return FoldQuality(
        float(np.nanmean(difference)) if not np.isnan(difference).all() else float("nan"),
        float(np.abs(sizes - sizes.mean()).mean()),
        int((positives == 0).any(axis=1).sum()),
        int((positives == 0).any(axis=0).sum()),
    )
