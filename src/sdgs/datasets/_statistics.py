"""Statistics of a data set: computed here once, for readers, the command line and the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

_MIN_SAMPLES_OF_COUNTER = 10  # in fewer samples a feature may increase by one each time by chance


@dataclass(frozen=True)
class Statistics:
    """Sizes of a data set and of its label sets.

    Unobserved labels count neither as labels that a sample has nor as labels that it lacks.

    Attributes
    ----------
    n_samples, n_features, n_labels : int
    cardinality : float
        Mean number of labels per sample: the sum over labels of the share of the samples that have the label, among
        those of which it is observed.
    density : float
        Cardinality divided by the number of labels.
    distinct_label_sets : int
        Number of different sets of known labels, of the samples with an observed label.
    label_counts : dict
        Number of samples per label.
    label_set_sizes : list of int
        Number of samples with 0, 1, 2, ... known labels, of those with an observed label.
    nonzero_share, missing_share : float
        Share of the entries of X that are not zero (missing values included), and that are missing.
    n_incomplete_samples : int
        Number of samples with unobserved labels.
    n_unlabelled_samples : int
        Number of samples without any observed label.
    n_unobserved_labels : int
        Number of unobserved entries of the label matrix.
    observed_counts : dict
        Number of samples of which each label is observed.
    """

    n_samples: int
    n_features: int
    n_labels: int
    cardinality: float
    density: float
    distinct_label_sets: int
    label_counts: dict[Any, int]
    label_set_sizes: list[int]
    nonzero_share: float
    missing_share: float
    n_incomplete_samples: int
    n_unlabelled_samples: int
    n_unobserved_labels: int
    observed_counts: dict[Any, int]

    @property
    def imbalance(self) -> dict[Any, float]:
        """Count of the most frequent label divided by the count of each label; inf for a label without samples."""
        largest = max(self.label_counts.values())
        return {name: largest / count if count else float("inf") for name, count in self.label_counts.items()}


def dataset_statistics(X: Any, Y: NDArray[Any] | None, label_names: Sequence[Any]) -> Statistics:
    """Statistics of samples X (n, p), dense, sparse or a DataFrame, and labels Y (n, k), NaN where missing."""
    (n, p), k = np.shape(X), len(label_names)
    entries = X.data if issparse(X) else np.asarray(X, dtype=np.float64)
    observed = np.zeros((n, k), dtype=bool) if Y is None else ~np.isnan(Y)
    labelled = observed.any(axis=1)
    known = np.zeros((0, k), dtype=bool) if Y is None else Y[labelled] == 1
    counts, n_observed = known.sum(axis=0, dtype=np.int64), observed.sum(axis=0, dtype=np.int64)
    n_labelled, n_complete = len(known), int(observed.all(axis=1).sum())
    cardinality = counts.sum() / max(n_labelled, 1)
    if (n_observed < n_labelled).any():
        cardinality = (counts / np.maximum(n_observed, 1)).sum()
    return Statistics(
        n_samples=n,
        n_features=p,
        n_labels=k,
        cardinality=float(cardinality),
        density=float(counts.sum() / max(n_observed.sum(), 1)),
        distinct_label_sets=len(np.unique(np.packbits(known, axis=1), axis=0)),
        label_counts=dict(zip(label_names, counts.tolist(), strict=True)),
        label_set_sizes=np.bincount(known.sum(axis=1)).tolist(),
        nonzero_share=float(np.count_nonzero(entries) / max(n * p, 1)),
        missing_share=float(np.isnan(entries).sum() / max(n * p, 1)),
        n_incomplete_samples=n - n_complete if k else 0,
        n_unlabelled_samples=n - n_labelled if k else 0,
        n_unobserved_labels=n * k - int(n_observed.sum()),
        observed_counts=dict(zip(label_names, n_observed.tolist(), strict=True)),
    )


def labelled_samples(Y: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the samples with at least one observed label."""
    return np.asarray(~np.isnan(Y).all(axis=1))


def find_row_number_columns(X: Any) -> NDArray[np.intp]:
    """Features that increase by one from each sample to the next: they number the samples, and do not describe them."""
    if issparse(X) or X.shape[0] < _MIN_SAMPLES_OF_COUNTER:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero((np.diff(X, axis=0) == 1).all(axis=0))
