"""Weights of samples: the samples that take part in the alternation, and its result for all samples."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from sdgs._utils._array_api import namespace, put, to_device_of
from sdgs.decomposition._alternation import power_of_two_above
from sdgs.decomposition._block_updates import Indices
from sdgs.decomposition._decomposition_result import Decomposition


@dataclass(frozen=True, eq=False)
class WeightedSamples:
    """The samples of positive weight.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Which of all samples they are, ascending.
    labels : csc_array of shape (m, k)
    weight : ndarray of shape (m,)
        Their weights divided by ``unit``: the largest is in [0.5, 1), so that sums do not overflow.
    unit : float
        A power of two, so that the division is exact.
    all_labels : csc_array of shape (n, k)
        The labels of all samples.
    """

    rows: Indices
    labels: csc_array
    weight: NDArray[np.float64]
    unit: float
    all_labels: csc_array

    def complete(self, result: Decomposition) -> Decomposition:
        """The result for all samples, given that for these: the others get zeros. The objective without the unit."""
        with np.errstate(over="ignore"):
            result = replace(result, objective=result.objective * self.unit)
        n = self.all_labels.shape[0]
        if self.rows.size == n:
            return result
        is_selected = np.zeros(n, dtype=bool)
        is_selected[self.rows] = True
        all_rows = tuple(
            omega.astype(np.intp) for omega in np.split(self.all_labels.indices, self.all_labels.indptr[1:-1])
        )
        coefficients = tuple(
            _insert_zeros(U, np.flatnonzero(is_selected[omega]), omega.size)
            for omega, U in zip(all_rows, result.coefficients, strict=True)
        )
        residual = _insert_zeros(result.residual, self.rows, n)
        return replace(result, rows=all_rows, coefficients=coefficients, residual=residual)


def select_weighted_samples(labels: csc_array, sample_weight: NDArray[np.float64]) -> WeightedSamples:
    """The samples of positive weight; an error if none of them has a label."""
    unit = float(power_of_two_above(sample_weight.max(), np.float64))
    weight = sample_weight / unit
    rows = np.flatnonzero(weight)
    selected = labels if rows.size == weight.size else csc_array(labels.tocsr()[rows])
    selected.sort_indices()
    if selected.nnz == 0:
        raise ValueError("sample_weight is 0 for every sample that has a label, so there is nothing to learn.")
    return WeightedSamples(rows, selected, weight[rows], unit, labels)


def _insert_zeros(A: Any, rows: Indices, n: int) -> Any:
    """The rows of A, a dense array or CSR, at these positions among n rows, which are zero elsewhere."""
    if issparse(A):
        lengths = np.zeros(n + 1, dtype=A.indptr.dtype)
        lengths[rows + 1] = np.diff(A.indptr)
        return csr_array((A.data, A.indices, np.cumsum(lengths, dtype=lengths.dtype)), shape=(n, A.shape[1]))
    zeros = namespace(A).zeros((n, A.shape[1]), dtype=A.dtype, device=device(A))
    return put(zeros, to_device_of(rows, A), A)
