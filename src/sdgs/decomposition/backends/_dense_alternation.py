"""The alternation for dense X."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._alternation import Alternation
from sdgs.decomposition._block_updates import Array, Indices, orthonormal_basis, ritz_basis, update_residual

_CHUNK_BYTES = 1 << 23  # of rows that have a sum of their own, so that threads can share them out
_BLOCK_BYTES = 1 << 18  # of rows that are copied side by side: they stay in cache while they are needed
_SHARED = 2  # times as many where threads share a label: with less to do a call, they would wait for each other
_LEAST_ROWS = 32  # side by side, however wide
_MOST_ROWS = 1024


class DenseAlternation(Alternation):
    """R is a matrix of the size of X: a label step costs its products, and reading R twice and writing it once."""

    def begin(self) -> None:
        """Only samples without a label have an error yet."""
        self.R = self.zeros()
        self._add_start(np.flatnonzero(self.card == 0))

    def zeros(self) -> Array:
        """A matrix of the size of X."""
        return np.zeros(self.X.shape, dtype=self.X.dtype)

    def working_state(self) -> dict[str, Array]:
        """R, which has the rounding of all steps in it."""
        return {"R": self.R}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps."""
        super().restore(state, sweeps)
        self.R = state.get("R", self.R)

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        chunks = self._row_chunks(self.R.shape[0])
        rows = self.workers.run(lambda chunk: np.einsum("ij,ij->i", self.R[chunk], self.R[chunk]), chunks)
        return float(np.concatenate([np.zeros(0), *rows]).sum())  # rows in the precision of X, together in float64

    def residual_step(self) -> None:
        """Update S with all else fixed."""
        self.R.reshape(-1)[self.gaps] = 0.0
        self.places, self.values = update_residual(self.R, self.places, self.values, self.K)

    def label_step(self, i: int) -> None:
        """Update L^i with all else fixed: in one go if the rows of the label are one block."""
        omega, dtype = self.rows[i], self.X.dtype
        if self.solver == "svd" or not 0 < omega.size <= self._block_rows:
            super().label_step(i)
            return
        N = self.R.take(omega, axis=0)
        N += self.U[i] @ self.C[i] if self.sweeps else self._start(omega)
        if self.sweeps and self.solver == "brp":
            Q = orthonormal_basis(_gram_times(N, self.C[i].T), dtype)
        else:
            Q = orthonormal_basis(_gram_times(N, self.drawn(i)), dtype)
            if self.solver == "brp":
                Q = ritz_basis(Q, _gram_times(N, Q), self.width[i])
        self.U[i], self.C[i] = N @ Q, np.ascontiguousarray(Q.T)
        N -= self.U[i] @ self.C[i]
        self.R[omega] = N

    def gram_times(self, i: int, A: Array, add_start: bool = False) -> Array:
        """Products with R, and small corrections.

        Added up in float64, or the more rows the more of float32's digits would be lost.
        """
        omega, U, C = self.rows[i], self.U[i], self.C[i]
        CA = C @ A

        def of_chunk(chunk: slice) -> tuple[Array, Array]:
            Y2t, inner = np.zeros(A.T.shape), np.zeros(CA.T.shape)
            for block, N in self._blocks(omega, chunk):
                if add_start:
                    N += self._start(omega[block])
                    self.R[omega[block]] = N
                Y1 = N @ A + U[block] @ CA
                Y2t += Y1.T @ N
                inner += Y1.T @ U[block]
            return Y2t, inner

        Y2t, inner = np.zeros(A.T.shape), np.zeros(CA.T.shape)
        for mine in self.workers.run(of_chunk, self._chunks(i)):
            Y2t += mine[0]
            inner += mine[1]
        return (Y2t + inner @ C).T

    def label_matrix(self, i: int) -> Array:
        """The label's rows of R, with L^i."""
        omega = self.rows[i]
        if self.sweeps == 0:
            self._add_start(omega)
        return np.take(self.R, omega, axis=0) + self.U[i] @ self.C[i]

    def project(self, i: int, Q: Array) -> None:
        """R changes by U C - U_new Q^T."""
        omega, U, C = self.rows[i], self.U[i], self.C[i]
        r, CQ, change = len(C), C @ Q, np.vstack([C, -Q.T])
        both = np.hstack([U, np.empty_like(U)])

        def of_chunk(chunk: slice) -> None:
            for block, N in self._blocks(omega, chunk):
                both[block, r:] = N @ Q + U[block] @ CQ
                N += both[block] @ change
                self.R[omega[block]] = N

        self.workers.do(of_chunk, self._chunks(i))
        self.U[i], self.C[i] = both[:, r:].copy(), np.ascontiguousarray(Q.T)

    @cached_property
    def _block_rows(self) -> int:
        fit = _BLOCK_BYTES // (self.X.itemsize * self.shape[1])
        return int(min(max(fit, _LEAST_ROWS), _MOST_ROWS))  # few enough to be summed in their own precision

    def _blocks(self, omega: Indices, chunk: slice) -> Iterator[tuple[slice, Array]]:
        """Of a chunk of a label's rows some after the other: which, and these rows of R side by side, as BLAS wants."""
        step = self._block_rows * (1 if chunk == slice(0, omega.size) else _SHARED)
        room = np.empty((min(step, chunk.stop - chunk.start), self.X.shape[1]), dtype=self.X.dtype)
        for start in range(chunk.start, chunk.stop, step):
            block = slice(start, min(start + step, chunk.stop))
            # The rows are known to be there; only if they are not looked for, they go straight to their place.
            yield block, self.R.take(omega[block], axis=0, out=room[: block.stop - start], mode="clip")

    def _chunks(self, i: int) -> list[slice]:
        """Of the label's rows: each with several times as many as its sum has."""
        return self._row_chunks(self.rows[i].size, 8 * (self.width[i] + 4))

    def _row_chunks(self, size: int, least: int = 1) -> list[slice]:
        """A power of two of them, of one size but for a row: as many for each of two or four threads."""
        most = max(least, _CHUNK_BYTES // (self.X.itemsize * self.X.shape[1]))
        number = 1 << (max(-(-size // most), 1) - 1).bit_length()
        cuts = [size * i // number for i in range(number + 1)]
        return [slice(first, last) for first, last in pairwise(cuts)] if size else []

    def _add_start(self, rows: Indices) -> None:
        """Put the paper's start of one label, which is not in U and C, back into R."""

        def of_chunk(chunk: slice) -> None:
            self.R[rows[chunk]] += self._start(rows[chunk])

        self.workers.do(of_chunk, self._row_chunks(rows.size))

    def _start(self, rows: Indices) -> Array:
        """What each label of these rows has of them, at the start."""
        mine: Array = self.X[rows]
        mine *= (self.share[rows] / self.scale)[:, None]
        return mine


def _gram_times(N: Array, A: Array) -> Array:
    """N^T (N A) in float64, the columns side by side as LAPACK wants them."""
    return ((N @ A).T @ N).T.astype(np.float64, copy=False)
