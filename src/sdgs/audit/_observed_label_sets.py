"""Which samples have the same labels, as far as these are observed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ObservedLabelSets:
    """The labels of samples.

    Attributes
    ----------
    labels : csr_array of shape (n, k)
        Boolean, with sorted indices; False where a label is unobserved.
    unobserved : csr_array of shape (n, k) or None
        Where labels are unobserved; None if all are observed.
    """

    labels: csr_array
    unobserved: csr_array | None

    @cached_property
    def _numbers(self) -> Rows:
        return label_set_numbers(self.labels)

    def agree(self, rows: Rows, others: Rows) -> NDArray[np.bool_]:
        """Whether each of some samples and each of others have the same labels among those observed of both."""
        if self.unobserved is None:
            return np.asarray(self._numbers[rows][:, None] == self._numbers[others][None, :])
        A, B = (csr_array(self.labels[part], dtype=np.float64) for part in (rows, others))
        U, V = (csr_array(self.unobserved[part], dtype=np.float64) for part in (rows, others))
        # Labels of one sample that are observed of the other: all of them minus those in common would be differences.
        of_A = A.sum(axis=1)[:, None] - (A @ V.T).toarray()
        of_B = B.sum(axis=1)[None, :] - (U @ B.T).toarray()
        return np.asarray(of_A + of_B == 2 * (A @ B.T).toarray())

    def known_of(self, rows: Rows, others: Rows) -> csr_array:
        """The labels of samples, without those that are unobserved of the other sample of each pair."""
        known = csr_array(self.labels[rows])
        if self.unobserved is not None:
            known = csr_array(known > known.multiply(self.unobserved[others]))
            known.sort_indices()
        return known


def label_set_numbers(labels: csr_array) -> NDArray[np.intp]:
    """A number for each sample, equal for equal label sets."""
    numbers: dict[bytes, int] = {}
    indices = labels.indices.astype(np.int64)
    sets = (indices[start:end].tobytes() for start, end in zip(labels.indptr[:-1], labels.indptr[1:], strict=True))
    return np.array([numbers.setdefault(label_set, len(numbers)) for label_set in sets], dtype=np.intp)
