"""The alternation for dense X."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._alternation import Alternation
from sdgs.decomposition._steps import Array, Indices, update_residual

_CHUNK_BYTES = 1 << 21  # of rows that have a sum of their own, so that threads can share them out


class DenseAlternation(Alternation):
    """R is a matrix of the size of X: a label step costs its products, and reading R twice and writing it once."""

    def begin(self) -> None:
        """Only samples without a label have an error yet."""
        self.R = self.zeros()
        without = np.flatnonzero(self.card == 0)
        self.workers.do(lambda chunk: self._add_start(without[chunk]), self._row_chunks(without.size))

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

    def gram_times(self, i: int, A: Array, add_start: bool = False) -> Array:
        """Products with R, and small corrections."""
        from sdgs.decomposition._dense_kernel import gram_times

        omega, U, C = self.rows[i], self.U[i], self.C[i]
        At = np.ascontiguousarray(A.T)
        Y1 = U @ (C @ A)

        def of_chunk(chunk: slice) -> tuple[Array, Array]:
            if add_start:
                self._add_start(omega[chunk])
            Y2t = np.zeros_like(At)
            gram_times(self.R, omega[chunk], At, Y1[chunk], Y2t)
            return Y2t, Y1[chunk].T @ U[chunk]

        # In float64, or the more rows the more of float32's digits would be lost.
        total, inner = np.zeros(At.shape), np.zeros((len(At), len(C)))
        for part, mine in self.workers.run(of_chunk, self._chunks(i)):
            total += part
            inner += mine
        return (total + inner @ C).T.astype(At.dtype, copy=False)

    def label_matrix(self, i: int) -> Array:
        """The label's rows of R, with L^i."""
        omega = self.rows[i]
        if self.sweeps == 0:
            self._add_start(omega)
        return np.take(self.R, omega, axis=0) + self.U[i] @ self.C[i]

    def project(self, i: int, Q: Array) -> None:
        """R changes by U C - U_new Q^T."""
        from sdgs.decomposition._dense_kernel import project

        omega, U, C = self.rows[i], self.U[i], self.C[i]
        change, weights, U_new = np.vstack([C, Q.T]), np.hstack([U, np.zeros_like(U)]), U @ (C @ Q)

        def of_chunk(chunk: slice) -> None:
            project(self.R, omega[chunk], change, weights[chunk], U_new[chunk])

        self.workers.do(of_chunk, self._chunks(i))
        self.U[i], self.C[i] = U_new, change[len(C) :]

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
        from sdgs.decomposition._dense_kernel import add_rows

        add_rows(self.R, rows, self.X, self.share[rows] / self.scale)
