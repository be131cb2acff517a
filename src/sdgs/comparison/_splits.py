"""The splits of a comparison: repeated stratified K-fold cross-validation, the same for all methods."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.model_selection import RepeatedMultilabelStratifiedKFold

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


def make_splits(labels: Any, *, n_splits: int, n_repeats: int, random_state: int) -> Sequence[Split]:
    """Training and test rows of each split: the folds of the first repetition, then those of the next."""
    n = labels.shape[0]
    if n_splits > n:
        raise ValueError(f"cv={n_splits} folds need at least as many samples; there are {n}. Choose fewer folds.")
    splitter = RepeatedMultilabelStratifiedKFold(n_splits, n_repeats=n_repeats, random_state=random_state)
    return list(splitter.split(np.empty((n, 0)), labels))
