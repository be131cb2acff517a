"""Linear systems (A + penalty * P) W = right, for leading blocks of A and P."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.linalg import blas, eigh, lapack

from sdgs._utils._array_api import namespace, on_host, to_device_of

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class PenaltyMatrix:
    """P: a diagonal matrix, with the Gram matrix of the landmarks added to its leading block."""

    diagonal: NDArray[np.float64]
    landmark_gram: Array | None = None

    def times(self, W: Array) -> Array:
        """The product of the leading block of P with W."""
        product = self.diagonal[: len(W), None] * W
        if self.landmark_gram is not None:
            m = len(self.landmark_gram)
            product[:m] += self.landmark_gram @ W[:m]
        return product

    def add_to(self, A: Any, penalty: float) -> Any:
        """A + penalty * P, on the device of A."""
        if on_host(A):
            A = A.copy()
            A.flat[:: len(A) + 1] += penalty * self.diagonal
        else:
            xp = namespace(A)
            eye = xp.eye(A.shape[0], dtype=A.dtype, device=device(A))
            A = A + penalty * to_device_of(self.diagonal, A)[:, None] * eye
        if self.landmark_gram is not None:
            m = len(self.landmark_gram)
            A[:m, :m] += penalty * to_device_of(self.landmark_gram, A)
        return A


def factorise(A: Any, penalty: float, P: PenaltyMatrix) -> "CholeskyFactor | RangeFactor":
    """A factorisation of A + penalty * P, which solves for any right-hand side."""
    L, failed = lapack.dpotrf(P.add_to(A, penalty).T, lower=1, overwrite_a=1, clean=0)
    if failed:  # the penalty is lost in the rounding of A
        return RangeFactor(A, penalty, P)
    return CholeskyFactor(L)


def solve(A: Any, penalty: float, P: PenaltyMatrix, right: Any, widths: Sequence[int]) -> list[Array]:
    """The solutions of (A + penalty * P) W = right for leading blocks of A and P."""
    return factorise(A, penalty, P).solve(right, widths)


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """The Cholesky factor L of a positive definite matrix; its leading blocks are those of the leading blocks."""

    L: Array

    def leading(self, width: int) -> "CholeskyFactor":
        """The factor of a leading block."""
        return self if width == len(self.L) else CholeskyFactor(np.asfortranarray(self.L[:width, :width]))

    def solve(self, right: Any, widths: Sequence[int]) -> list[Array]:
        """The solutions for leading blocks.

        The solution for the first w columns is L^-T times the first w rows of L^-1 right, with zeros below them: one
        call solves all widths.
        """
        half, k = blas.dtrsm(1.0, self.L, right, lower=1), right.shape[1]
        leading = np.zeros((len(self.L), len(widths) * k), order="F")
        for i, width in enumerate(widths):
            leading[:width, i * k : (i + 1) * k] = half[:width]
        leading = blas.dtrsm(1.0, self.L, leading, lower=1, trans_a=1, overwrite_b=1)
        return [leading[:width, i * k : (i + 1) * k] for i, width in enumerate(widths)]


@dataclass(frozen=True, eq=False)
class RangeFactor:
    """The same for a matrix that is singular up to rounding: solutions are zero in the directions where A is."""

    A: Array
    penalty: float
    P: PenaltyMatrix

    def leading(self, width: int) -> "RangeFactor":
        """The factor of a leading block."""
        return RangeFactor(
            self.A[:width, :width], self.penalty, PenaltyMatrix(self.P.diagonal[:width], self.P.landmark_gram)
        )

    def solve(self, right: Any, widths: Sequence[int]) -> list[Array]:
        """The solutions for leading blocks."""
        dense_P = self.P.add_to(np.zeros_like(self.A), 1.0)
        solutions = []
        for width in widths:
            s, V = eigh(self.A[:width, :width], dense_P[:width, :width], check_finite=False)
            in_range = s > width * np.finfo(s.dtype).eps * s.max(initial=0)
            V, s = V[:, in_range], s[in_range]
            solutions.append(V @ ((V.T @ right[:width]) / (s + self.penalty)[:, None]))
        return solutions
