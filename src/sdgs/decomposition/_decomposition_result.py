"""The frozen result of the training decomposition."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class SampleParts:
    """The decomposition of one training sample: ``parts.sum(axis=0) + residual + error`` is the sample.

    Attributes
    ----------
    labels : ndarray of shape (m,)
        Indices of the sample's labels.
    parts : ndarray of shape (m, p)
        The contribution of each of those labels.
    residual : ndarray of shape (p,)
        The sample's row of the sparse residual S.
    """

    labels: NDArray[np.intp]
    parts: Array
    residual: Array


@dataclass(frozen=True, eq=False)
class Decomposition:
    """X = sum_i L^i + S + error, with L^i = coefficients[i] @ components[i] on the rows of label i.

    If X is an array of another library, all but ``rows`` and ``objective`` are arrays of that library, on its device.
    Samples of weight 0 were left out: their coefficients and their rows of the residual are 0.

    Attributes
    ----------
    components : tuple of k ndarrays of shape (r_i, p)
        C^i, the subspace of label i: orthonormal rows, the strongest first. ``r_i`` is the rank that the label's rows
        support: at most ``n_components``, and 0 for a label without samples, or with samples of weight 0 only.
    coefficients : tuple of k ndarrays of shape (len(rows[i]), r_i)
        U_i, the coefficients of the label's rows in its subspace.
    rows : tuple of k ndarrays of int
        Omega_i, the samples that carry label i, ascending.
    residual : csr_array of shape (n, p)
        S, the sparse residual; zero where an entry of X is missing. A dense array if X is an array of another library.
    objective : ndarray of shape (n_iter,)
        ``||X - sum_i L^i - S||_F^2`` over the observed entries, after each sweep; with weights the weighted sum of the
        squared errors of the samples.
    n_iter : int
        Number of sweeps.
    converged : bool
        Whether the stopping rule was met within ``max_iter`` sweeps.
    """

    components: tuple[Array, ...]
    coefficients: tuple[Array, ...]
    rows: tuple[NDArray[np.intp], ...]
    residual: Any
    objective: NDArray[np.float64]
    n_iter: int
    converged: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, p, k): samples, features, labels."""
        n, p = self.residual.shape
        return n, p, len(self.rows)

    def on_host(self) -> "Decomposition":
        """The same as NumPy arrays, with a sparse residual."""
        return replace(
            self,
            components=tuple(map(to_host, self.components)),
            coefficients=tuple(map(to_host, self.coefficients)),
            residual=_sparse_on_host(self.residual),
        )

    def with_rows(self, rows: NDArray[np.intp], n: int) -> "Decomposition":
        """The same on the host, if its samples were ``rows`` of n, ascending; the others have no label."""
        S = csr_array(self.residual)
        sizes = np.zeros(n, dtype=S.indptr.dtype)
        sizes[rows] = np.diff(S.indptr)
        indptr = np.concatenate([S.indptr[:1], np.cumsum(sizes, dtype=S.indptr.dtype)])
        residual = csr_array((S.data, S.indices, indptr), shape=(n, S.shape[1]))
        return replace(self, rows=tuple(rows[omega] for omega in self.rows), residual=residual)

    def without_rows(self) -> "Decomposition":
        """The same subspaces without the training samples."""
        return replace(
            self,
            coefficients=tuple(U[:0] for U in self.coefficients),
            rows=tuple(rows[:0] for rows in self.rows),
            residual=self.residual[:0],
        )

    def labels_of(self, samples: NDArray[np.intp]) -> NDArray[np.bool_]:
        """The labels of some training samples as a matrix (len(samples), k)."""
        return np.column_stack([np.isin(samples, rows) for rows in self.rows])

    def low_rank(self, label: int) -> Any:
        """L^i as a dense (n, p) matrix, zero outside the label's rows."""
        n, p, _ = self.shape
        part = self.coefficients[label] @ self.components[label]
        L = namespace(part).zeros((n, p), dtype=part.dtype, device=device(part))
        return put(L, to_device_of(self.rows[label], part), part)

    def sample(self, row: int) -> SampleParts:
        """The contributions of the labels of training sample ``row``, and its residual."""
        n, p, _ = self.shape
        if not -n <= row < n:
            raise IndexError(f"row {row} is out of range: the decomposition has {n} samples.")
        row %= n
        positions = {i: int(np.searchsorted(rows, row)) for i, rows in enumerate(self.rows) if row in rows}
        residual = self.residual[[row]].toarray()[0] if issparse(self.residual) else self.residual[row, :]
        xp = namespace(residual)
        parts = [xp.zeros((0, p), dtype=residual.dtype, device=device(residual))]
        for i, position in positions.items():
            parts.append(self.coefficients[i][position : position + 1, :] @ self.components[i])
        return SampleParts(np.asarray(list(positions), dtype=np.intp), xp.concat(parts), residual)

    def reconstruct(self) -> Any:
        """``sum_i L^i + S`` as a dense (n, p) matrix. Missing entries of X are filled in by ``sum_i L^i``."""
        S = self.residual.toarray() if issparse(self.residual) else self.residual
        total = namespace(S).asarray(S, copy=True)
        for omega, U, C in zip(self.rows, self.coefficients, self.components, strict=True):
            rows = to_device_of(omega, total)
            total = put(total, rows, take(total, rows) + U @ C)
        return total


def _sparse_on_host(S: Any) -> csr_array:
    """A dense array of any library as a sparse one; only entries other than zero are transferred."""
    rows, columns = namespace(S).nonzero(S)
    flat = namespace(S).reshape(S, (-1,))
    values = take(flat, rows * S.shape[1] + columns)
    return csr_array((to_host(values), (to_host(rows), to_host(columns))), shape=tuple(S.shape))
