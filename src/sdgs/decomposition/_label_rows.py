"""Which rows carry which label, and which labels can therefore be updated at the same time."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from sdgs.decomposition._block_updates import Indices


def label_cooccurrence(rows: Sequence[Indices], n: int) -> csr_array:
    """(k, k): the number of rows, out of n, that two labels share."""
    label = np.repeat(np.arange(len(rows)), [omega.size for omega in rows])
    row = np.concatenate(rows)
    Y = csr_array((np.ones(row.size, dtype=np.int32), (label, row)), shape=(len(rows), n))
    return csr_array(Y @ Y.T)


def cooccurring_labels(cooccurrence: csr_array, i: int) -> Indices:
    """The labels that share a row with label i, itself included, ascending."""
    first, last = cooccurrence.indptr[i : i + 2]
    return np.sort(cooccurrence.indices[first:last])


def levels(cooccurrence: csr_array) -> list[list[int]]:
    """Level scheduling: the labels in groups that share no row, so that a group can be updated at the same time.

    A label is in the group after the last one that holds an earlier label with which it shares a row. Therefore each
    label sees the same state as if the labels were updated one by one, and the result is the same to the last digit.
    """
    level = np.zeros(cooccurrence.shape[0], dtype=np.intp)
    for i in range(level.size):
        neighbours = cooccurring_labels(cooccurrence, i)
        level[i] = level[neighbours[neighbours < i]].max(initial=-1) + 1
    return [np.flatnonzero(level == number).tolist() for number in range(level.max() + 1)]
