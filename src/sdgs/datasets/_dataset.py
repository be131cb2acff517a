"""What a reader returns: data, names, and what was left out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


@dataclass(frozen=True, eq=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p)
        Features; sparse when the file is. A missing value is NaN.
    Y : ndarray of shape (n, k) or None
        Labels, 0 or 1, int8. None if every label of every sample is missing, as in a file to predict on; where only
        some are, float64 with NaN for those.
    feature_names : tuple of p str
    label_names : tuple of k str
        In the order of the columns of ``Y``.
    name : str
        Of the relation or file.
    dropped : tuple of (str, str)
        Attributes that are not features, each with the reason.
    """

    X: Any
    Y: NDArray[Any] | None
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    name: str = ""
    dropped: tuple[tuple[str, str], ...] = field(default=())

    def statistics(self) -> "Statistics":
        """The paper's statistics of a data set, and a few more. Needs all labels."""
        n, p = self.X.shape
        if self.Y is None or not np.isfinite(self.Y).all():
            raise ValueError(f"data set {self.name!r} has missing labels: its label statistics are not known.")
        count = self.Y.sum(axis=0, dtype=np.int64)
        stored = self.X.nnz if issparse(self.X) else np.count_nonzero(self.X)
        return Statistics(
            n_samples=n,
            n_features=p,
            n_labels=len(self.label_names),
            cardinality=float(count.sum() / n),
            density=float(count.sum() / (n * len(self.label_names))),
            distinct_label_sets=len(np.unique(np.packbits(self.Y.astype(bool), axis=1), axis=0)),
            label_counts=dict(zip(self.label_names, count.tolist(), strict=True)),
            nonzero_share=float(stored / (n * p)) if p else 0.0,
        )


@dataclass(frozen=True)
class Statistics:
    """Sizes of a data set and of its label sets.

    Attributes
    ----------
    n_samples, n_features, n_labels : int
    cardinality : float
        Mean number of labels of a sample.
    density : float
        Cardinality over the number of labels.
    distinct_label_sets : int
        Label sets that occur.
    label_counts : dict
        Samples of each label.
    nonzero_share : float
        Share of the features' entries that are not zero.
    """

    n_samples: int
    n_features: int
    n_labels: int
    cardinality: float
    density: float
    distinct_label_sets: int
    label_counts: dict[str, int]
    nonzero_share: float

    @property
    def imbalance(self) -> dict[str, float]:
        """Samples of the most frequent label over the samples of each; inf for a label without samples."""
        most = max(self.label_counts.values())
        return {name: most / count if count else float("inf") for name, count in self.label_counts.items()}
