"""The alternation for dense X."""

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._alternation import Alternation
from sdgs.decomposition._block_updates import Array, Indices, update_residual


class DenseAlternation(Alternation):
    """R is a matrix of the size of X: a label step costs its products, and reading R twice and writing it once."""

    chunk_bytes = 1 << 23  # of rows with a sum of their own, so that threads can share a label
    block_bytes = 1 << 18  # of rows that are copied together: they stay in cache while they are used
    threaded_block_factor = 2  # larger blocks where threads share a label: with small ones they wait for each other
    min_block_rows = 32
    max_block_rows = 1024  # few enough to be summed in their own precision

    def init_error(self) -> None:
        """Only samples without a label have an error before the first sweep."""
        self.R = self.zeros()
        self.add_start(np.flatnonzero(self.cardinality == 0))

    def zeros(self) -> Array:
        """A matrix of the size of X."""
        return np.zeros(self.X.shape, dtype=self.X.dtype)

    def working_state(self) -> dict[str, Array]:
        """R, which accumulates the rounding of all steps."""
        return {"R": self.R}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after so many sweeps."""
        super().restore(state, sweeps)
        self.R = state.get("R", self.R)

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        chunks = self._row_chunks(self.R.shape[0])
        rows = self.threads.map(lambda chunk: np.einsum("ij,ij->i", self.R[chunk], self.R[chunk]), chunks)
        squares = np.concatenate([np.zeros(0), *rows])  # rows in the precision of X, their sum in float64
        weight = self.problem.sample_weight
        return float(squares.sum() if weight is None else weight @ squares)

    def residual_step(self) -> None:
        """Update S with all else fixed."""
        self.R.reshape(-1)[self.missing] = 0.0
        self.R, self.S_indices, self.S_values = update_residual(
            self.R, self.S_indices, self.S_values, self.problem.K, weight=self.problem.sample_weight
        )

    def label_step(self, i: int) -> None:
        """Update L^i with all else fixed: with one copy of the label's rows if they fit in one block."""
        omega = self.rows[i]
        if self.problem.solver == "svd" or not 0 < omega.size <= self._block_rows:
            super().label_step(i)
            return
        N = self.R.take(omega, axis=0)
        N += self.U[i] @ self.C[i] if self.sweeps else self._start(omega)
        weight = None if self.weight is None else self.weight[omega, None]
        Q = self.bilateral_basis(i, partial(_gram_times, N, weight, self.C[i].T))
        self.U[i], self.C[i] = N @ Q, np.ascontiguousarray(Q.T)
        N -= self.U[i] @ self.C[i]
        self.R[omega] = N

    def gram_times(self, i: int, A: Array | None = None) -> Array:
        """Products with R, and small corrections for L^i.

        Sums are in float64: float32 would lose digits as the number of rows grows.
        """
        omega, U, C = self.rows[i], self.U[i], self.C[i]
        A = C.T if A is None else A
        CA = C @ A

        def sum_chunk(chunk: slice) -> tuple[Array, Array]:
            Y2t, Y1t_U = np.zeros(A.T.shape), np.zeros(CA.T.shape)
            for block, N in self._blocks(omega, chunk):
                Y1 = N @ A + U[block] @ CA
                if self.weight is not None:
                    Y1 *= self.weight[omega[block], None]
                Y2t += Y1.T @ N
                Y1t_U += Y1.T @ U[block]
            return Y2t, Y1t_U

        Y2t, Y1t_U = np.zeros(A.T.shape), np.zeros(CA.T.shape)
        for chunk_sums in self.threads.map(sum_chunk, self._chunks(i)):
            Y2t += chunk_sums[0]
            Y1t_U += chunk_sums[1]
        return (Y2t + Y1t_U @ C).T

    def label_matrix(self, i: int) -> Array:
        """The label's rows of R, plus L^i."""
        return np.take(self.R, self.rows[i], axis=0) + self.U[i] @ self.C[i]

    def project(self, i: int, Q: Array) -> None:
        """R changes by U C - U_new Q^T."""
        omega, U, C = self.rows[i], self.U[i], self.C[i]
        r, CQ, change = len(C), C @ Q, np.vstack([C, -Q.T])
        both = np.hstack([U, np.empty_like(U)])  # U and U_new

        def project_chunk(chunk: slice) -> None:
            for block, N in self._blocks(omega, chunk):
                both[block, r:] = N @ Q + U[block] @ CQ
                N += both[block] @ change
                self.R[omega[block]] = N

        self.threads.for_each(project_chunk, self._chunks(i))
        self.U[i], self.C[i] = both[:, r:].copy(), np.ascontiguousarray(Q.T)

    @cached_property
    def _block_rows(self) -> int:
        fit = self.block_bytes // (self.X.itemsize * self.X.shape[1])
        return int(min(max(fit, self.min_block_rows), self.max_block_rows))

    def _blocks(self, omega: Indices, chunk: slice) -> Iterator[tuple[slice, Array]]:
        """Blocks of a chunk of a label's rows: their slice of ``omega``, and a contiguous copy of these rows of R."""
        step = self._block_rows * (1 if chunk == slice(0, omega.size) else self.threaded_block_factor)
        buffer = np.empty((min(step, chunk.stop - chunk.start), self.X.shape[1]), dtype=self.X.dtype)
        for start in range(chunk.start, chunk.stop, step):
            block = slice(start, min(start + step, chunk.stop))
            # The indices are valid. "clip" makes NumPy write to the buffer directly; "raise" would buffer once more.
            yield block, self.R.take(omega[block], axis=0, out=buffer[: block.stop - start], mode="clip")

    def _chunks(self, i: int) -> list[slice]:
        """Chunks of the label's rows, each with several times as many rows as its sum has."""
        return self._row_chunks(self.rows[i].size, 8 * (self.ranks[i] + 4))

    def _row_chunks(self, size: int, min_rows: int = 1) -> list[slice]:
        """A power of two of chunks, equal but for one row, so that two or four threads get the same number."""
        max_rows = max(min_rows, self.chunk_bytes // (self.X.itemsize * self.X.shape[1]))
        number = 1 << (max(-(-size // max_rows), 1) - 1).bit_length()
        bounds = [size * i // number for i in range(number + 1)]
        return [slice(first, last) for first, last in pairwise(bounds)] if size else []

    def add_start(self, rows: Indices) -> None:
        """Add the paper's start of one label, which is not in U and C, back to these rows of R."""

        def add_to_chunk(chunk: slice) -> None:
            for block, N in self._blocks(rows, chunk):
                N += self._start(rows[block])
                self.R[rows[block]] = N

        self.threads.for_each(add_to_chunk, self._row_chunks(rows.size))

    def _start(self, rows: Indices) -> Array:
        """The start of each label of these rows: an equal part of the sample."""
        start: Array = self.X[rows]
        start *= (self.start_weight[rows] / self.scale)[:, None]
        return start


def _gram_times(N: Array, weight: Array | None, last: Array, A: Array | None = None) -> Array:
    """N^T diag(w) (N A) in float64, in the column-major order of LAPACK. A is by default the ``last`` subspace."""
    Y1 = N @ (last if A is None else A)
    if weight is not None:
        Y1 *= weight
    return (Y1.T @ N).T.astype(np.float64, copy=False)
