"""Near-duplicates with different labels: pairs of samples, the most similar first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.audit._audit_tables import count, data_frame, html_page_table

_MAX_SHOWN = 10  # by ``print`` and in notebooks


@dataclass(frozen=True, eq=False)
class DifferingDuplicates:
    """Pairs of samples that are equal or nearly so, and have different labels, the most similar first.

    Attributes
    ----------
    rows : ndarray of shape (q, 2)
        The two samples of each pair, as row numbers, the smaller one first.
    distance : ndarray of shape (q,)
        Relative to the usual distance of two samples; 0 if they are equal.
    first_labels, second_labels : csr_array of bool, shape (q, k)
        The labels of both.
    n_samples : int
        How many samples were compared.
    label_names : ndarray of shape (k,)
    sample_names : ndarray of shape (q, 2)
    """

    rows: NDArray[np.intp]
    distance: NDArray[np.float64]
    first_labels: csr_array
    second_labels: csr_array
    n_samples: int
    label_names: NDArray[Any]
    sample_names: NDArray[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def only_first(self, i: int) -> list[Any]:
        """The names of the labels that only the first sample of pair ``i`` has."""
        return self._names(self.first_labels, self.second_labels, i)

    def only_second(self, i: int) -> list[Any]:
        """The names of the labels that only the second sample of pair ``i`` has."""
        return self._names(self.second_labels, self.first_labels, i)

    def shared(self, i: int) -> list[Any]:
        """The names of the labels that both samples of pair ``i`` have."""
        return list(self.label_names[np.intersect1d(_columns(self.first_labels, i), _columns(self.second_labels, i))])

    def _names(self, labels: csr_array, others: csr_array, i: int) -> list[Any]:
        return list(self.label_names[np.setdiff1d(_columns(labels, i), _columns(others, i))])

    def to_frame(self) -> Any:
        """Convert to a DataFrame with one row per pair; needs pandas.

        Returns
        -------
        pandas.DataFrame
            With the columns ``first``, ``second``, ``distance``, and lists of label names, ``only_first`` and
            ``only_second``.
        """
        pairs = range(len(self))
        columns = {
            "first": self.sample_names[:, 0],
            "second": self.sample_names[:, 1],
            "distance": self.distance,
            "only_first": [self.only_first(i) for i in pairs],
            "only_second": [self.only_second(i) for i in pairs],
        }
        return data_frame(columns)

    def text(self, *, max_pairs: int | None = None) -> str:
        """Describe the pairs in sentences, one per line, after a summary; ``max_pairs`` limits their number."""
        shown = len(self) if max_pairs is None else min(max_pairs, len(self))
        more = [f"... and {len(self) - shown} more."] if len(self) > shown else []
        return "\n".join([self.summary(), *map(self._describe, range(shown)), *more])

    def summary(self) -> str:
        """How many pairs there are, in a sentence."""
        n_equal = int((self.distance == 0).sum())
        verb = "has" if len(self) == 1 else "have"
        equal = f"; in {count(n_equal, 'pair')} both samples are identical" if n_equal else ""
        compared = f"{count(self.n_samples, 'sample')} {'was' if self.n_samples == 1 else 'were'} compared"
        return f"{compared}: {count(len(self), 'pair')} of near-duplicates {verb} different labels{equal}."

    def _describe(self, i: int) -> str:
        first, second = self.sample_names[i]
        parts = [
            f"only {name} has {', '.join(map(str, labels))}"
            for name, labels in ((first, self.only_first(i)), (second, self.only_second(i)))
            if labels
        ]
        relation = "are identical" if self.distance[i] == 0 else f"are similar (distance {self.distance[i]:.2g})"
        return f"samples {first} and {second} {relation}: {'; '.join(parts)}"

    def __repr__(self) -> str:
        return f"<DifferingDuplicates: {count(len(self), 'pair')} of {count(self.n_samples, 'sample')}>"

    def __str__(self) -> str:
        return self.text(max_pairs=_MAX_SHOWN)

    def _repr_html_(self) -> str:
        head = ["first", "second", "distance", "only the first has", "only the second has"]
        rows = [
            [
                *self.sample_names[i],
                f"{self.distance[i]:.2g}",
                ", ".join(map(str, self.only_first(i))),
                ", ".join(map(str, self.only_second(i))),
            ]
            for i in range(min(len(self), _MAX_SHOWN))
        ]
        return html_page_table(self.summary(), head, rows, len(self))


def _columns(labels: csr_array, i: int) -> NDArray[np.intp]:
    return np.asarray(labels.indices[labels.indptr[i] : labels.indptr[i + 1]])
