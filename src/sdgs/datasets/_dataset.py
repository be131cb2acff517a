"""What a reader returns: samples, labels, names, and the columns that were dropped."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs.datasets._errors import DataFileError
from sdgs.datasets._statistics import Statistics, dataset_statistics
from sdgs.datasets.readers._column_selection import join_names

_MAX_LABELS_SHOWN = 6
MAX_LABEL_ENTRIES = 1 << 29  # one byte each


@dataclass(frozen=True, eq=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p)
        Features; sparse if the file is. Missing values are NaN.
    Y : ndarray of shape (n, k) or None
        Labels, 0 or 1, int8. If some labels are unobserved, float64 with NaN for these. None if all are, as in a file
        to predict on.
    feature_names : tuple of p str
    label_names : tuple of k str
        In the order of the columns of ``Y``.
    name : str
        Name of the relation or file.
    dropped : tuple of (str, str)
        Columns that are not features, each with the reason.
    """

    X: Any
    Y: NDArray[Any] | None
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    name: str = ""
    dropped: tuple[tuple[str, str], ...] = field(default=())

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}: {self._sizes()}>"

    def __str__(self) -> str:
        """Sizes, the first names, missing values, and the columns that were dropped."""
        lines = [f"{self.name or 'Dataset'}: {self._sizes()}", f"features: {join_names(self.feature_names)}"]
        if self.Y is None:
            lines.append("labels: all are missing" if self.label_names else "labels: none")
        else:
            counts = np.nansum(self.Y, axis=0)
            largest = np.argsort(-counts, kind="stable")
            shown = ", ".join(f"{self.label_names[i]!r} ({counts[i]:.0f})" for i in largest[:_MAX_LABELS_SHOWN])
            more = f" and {len(counts) - _MAX_LABELS_SHOWN} more" if len(counts) > _MAX_LABELS_SHOWN else ""
            lines.append(f"labels, with their samples: {shown}{more}")
        missing = np.isnan(self.X.data if issparse(self.X) else self.X).sum() / max(np.prod(self.X.shape), 1)
        unobserved = np.isnan(self.Y) if self.Y is not None else np.zeros((1, 1), dtype=bool)
        lines.append(f"missing: {100 * missing:.1f} % of the values, {self._unobserved(unobserved)}")
        if self.dropped:
            lines.append(f"not features: {join_names([name for name, _ in self.dropped])}")
        return "\n".join(lines)

    def _sizes(self) -> str:
        n, p = self.X.shape
        form = "sparse" if issparse(self.X) else "dense"
        return f"{n:,} samples, {p:,} features ({form}), {len(self.label_names):,} labels"

    @staticmethod
    def _unobserved(mask: NDArray[np.bool_]) -> str:
        """How many labels are unobserved, and of how many samples."""
        if mask.all(axis=1).sum() == mask.any(axis=1).sum():
            return f"labels of {int(mask.any(axis=1).sum()):,} samples"
        return f"{100 * mask.mean():.1f} % of the labels, in {int(mask.any(axis=1).sum()):,} samples"

    def statistics(self) -> Statistics:
        """The statistics of a data set that the paper gives, and a few more; unobserved labels are not counted."""
        if self.Y is None:
            raise ValueError(f"data set {self.name!r} has no labels, so that it has no label statistics.")
        return dataset_statistics(self.X, self.Y, self.label_names)


def check_label_matrix_size(file: str, n_samples: int, n_labels: int) -> None:
    """Reject a label matrix that is out of proportion to its file, which may not contain the zeros."""
    if n_samples * n_labels > MAX_LABEL_ENTRIES:
        raise DataFileError(
            f"{file}: {n_samples:,} samples and {n_labels:,} labels are too many for a dense label matrix, which can "
            f"have {MAX_LABEL_ENTRIES:,} entries. Keep only the most frequent labels, or fewer samples."
        )


def as_label_matrix(Y: NDArray[np.float64]) -> NDArray[Any] | None:
    """Labels in the form that :class:`Dataset` has them: int8, float64 with NaN if some are missing, or None."""
    missing = np.isnan(Y)
    if missing.all():
        return None
    return Y if missing.any() else Y.astype(np.int8)
