"""The alternating minimisation: the state between two steps, and the steps that change it."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs.decomposition._steps import (
    Array,
    Indices,
    brp_subspace,
    exact_subspace,
    supported_rank,
    update_residual,
)

Solver = Literal["brp", "svd", "brp-fresh"]


class Alternation:
    """X = sum_i U_i C^i + S + R, improved in place one block at a time.

    Trusts its arguments: X is finite, ``rows`` holds the ascending rows of each label, ``ranks`` is positive.
    """

    def __init__(
        self, X: Any, rows: tuple[Indices, ...], ranks: NDArray[np.intp], K: int, solver: Solver, seed: int
    ) -> None:
        self.rows, self.K, self.solver, self.seed = rows, K, solver, seed
        self.R, self.scale = _dense_copy_of_unit_scale(X)
        self.total = sum_of_squares(self.R)
        n, p = self.R.shape
        dtype = self.R.dtype

        # The paper's start shares each sample out equally: L^i = X / (labels of the row). It is not low-rank, so it is
        # kept in this form, until the first sweep replaces it, and the error of every labelled row starts at zero.
        self.card = np.zeros(n, dtype=dtype)
        for omega in rows:
            self.card[omega] += 1
        self.shared = self.R / np.maximum(self.card, 1)[:, None]
        self.R[self.card > 0] = 0

        # Below this a singular value of a label's rows is rounding.
        eps = float(np.finfo(dtype).eps)
        self.floors = [
            max(omega.size, p) * eps * np.sqrt(sum_of_squares(self.shared[omega] * self.card[omega, None]))
            for omega in rows
        ]
        width = [min(int(r), omega.size, p) for r, omega in zip(ranks, rows, strict=True)]
        self.C: list[Array] = [np.zeros((r, p), dtype=dtype) for r in width]
        self.U: list[Array] = [np.zeros((omega.size, r), dtype=dtype) for omega, r in zip(rows, width, strict=True)]
        self.places, self.values = np.empty(0, dtype=np.intp), np.empty(0, dtype=dtype)
        self.sweeps = 0

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        return sum_of_squares(self.R)

    def sweep(self) -> None:
        """Update every label, then the residual."""
        for i in range(len(self.rows)):
            self.label_step(i)
        self.residual_step()
        self.sweeps += 1

    def label_step(self, i: int) -> None:
        """Update L^i with all else fixed."""
        omega = self.rows[i]
        if omega.size == 0:
            return
        N = self.R[omega]
        N += self.shared[omega] if self.sweeps == 0 else self.U[i] @ self.C[i]
        Q = exact_subspace(N, len(self.C[i])) if self.solver == "svd" else brp_subspace(N, self._start(i))
        self.C[i] = np.ascontiguousarray(Q.T)
        self.U[i] = N @ Q
        N -= self.U[i] @ self.C[i]
        self.R[omega] = N

    def residual_step(self) -> None:
        """Update S with all else fixed."""
        self.places, self.values = update_residual(self.R, self.places, self.values, self.K)

    def supported(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label, with the rank that its rows support."""
        return [
            supported_rank(U, C, floor) if len(U) else (U, C)
            for U, C, floor in zip(self.U, self.C, self.floors, strict=True)
        ]

    def _start(self, i: int) -> Array:
        """A (p, r): the last subspace, with Gaussian columns for the directions that carry nothing.

        Directions that carry nothing are all of them in the first sweep, and later those with which QR filled up a
        deficient basis; left alone, such a direction may never find what the label's rows come to need.
        Seeding by sweep and label makes a draw independent of the order in which labels are visited.
        """
        A = self.C[i].T.copy()
        fresh = self.solver == "brp-fresh"
        idle = np.ones(A.shape[1], dtype=bool) if fresh else np.linalg.norm(self.U[i], axis=0) <= self.floors[i]
        if idle.any():
            rng = np.random.default_rng((self.seed, self.sweeps, i))
            A[:, idle] = rng.standard_normal((len(A), int(idle.sum()))) / np.sqrt(len(A))
        return A


def sum_of_squares(A: Array) -> float:
    """``||A||_F^2``, summed in float64."""
    return float(np.vdot(A, A)) if A.dtype == np.float64 else float(np.einsum("ij,ij->", A, A, dtype=np.float64))


def _dense_copy_of_unit_scale(X: Any) -> tuple[Array, Any]:
    """A dense copy of X with its largest magnitude in [0.5, 1), and the power of two taken out: squares are safe."""
    values = X.data if issparse(X) else X
    _, exponent = np.frexp(np.abs(values).max(initial=0))
    # 2**1024 is not a float64: the very largest numbers are only brought below 2.
    scale = X.dtype.type(2.0 ** min(int(exponent), np.finfo(X.dtype).maxexp - 1))
    return (X.toarray() if issparse(X) else X) / scale, scale
