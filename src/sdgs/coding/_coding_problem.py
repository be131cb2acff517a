"""The group lasso of one dictionary, as the solvers take it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace
from sdgs.coding._group_codes import Array, GroupCodes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounding in float64, where S is the sum of the norms of the groups of the code of a unit row: of correlations relative
# to 1 + S, of the squared error relative to S + S^2. Gaps contain it.
ROUNDING = 4 * float(np.finfo(np.float64).eps)

# Alpha relative to the norm of a row is raised to this: rounding of correlations would make a smaller one meaningless.
MIN_RELATIVE_ALPHA = 1e-11

_MAX_GRAM_SIZE = 4096  # rows of C up to which its Gram matrix is kept: 128 MiB


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The components of all labels, stacked, and what coding derives from them, computed once.

    Attributes
    ----------
    C : ndarray of shape (R, p)
        In the precision of the samples. The rows of each group are orthonormal.
    groups : ndarray of shape (k + 1,)
        The bounds of the labels' groups in C.
    """

    C: Array
    groups: Integers

    @cached_property
    def starts(self) -> Integers:
        """The bounds of the groups that are not empty: an empty group would share its start with the next one."""
        return np.unique(self.groups)

    @cached_property
    def label_of(self) -> NDArray[np.intp]:
        """The label that each row of C belongs to."""
        return np.repeat(np.arange(self.groups.size - 1), np.diff(self.groups))

    @cached_property
    def C_float64(self) -> Floats:
        """C in the precision that is computed with on the host."""
        return self.C.astype(np.float64, copy=False)

    @cached_property
    def gram(self) -> Floats:
        """C C^T."""
        return self.C_float64 @ self.C_float64.T

    def gram_of(self, coordinates: NDArray[np.intp]) -> Floats:
        """C C^T for some rows of C; the whole matrix is computed only if it is not large."""
        if len(self.C) <= _MAX_GRAM_SIZE:
            return self.gram[np.ix_(coordinates, coordinates)]
        C = self.C_float64[coordinates]
        return np.asarray(C @ C.T)

    @cached_property
    def pinv(self) -> Array:
        """The pseudo-inverse of C, for the least-squares code."""
        return np.linalg.pinv(self.C_float64, rcond=self.rank_tolerance)

    @property
    def rank_tolerance(self) -> float:
        """Singular values of C below this share of the largest one count as zero in least squares."""
        return float(max(self.C.shape)) * float(np.finfo(self.C.dtype).eps)


@dataclass(frozen=True, eq=False)
class CodingProblem:
    """The validated arguments of :func:`sdgs.group_lasso`, without X."""

    dictionary: Dictionary
    alpha: float
    mu: float | None  # weight of the residual; None without one
    huber_loss: bool  # whether the samples have a residual or missing entries
    tol: float
    max_iter: int = 2000

    @property
    def C(self) -> Array:
        """(R, p), the components of all labels stacked."""
        return self.dictionary.C

    @property
    def groups(self) -> Integers:
        """(k + 1,), the bounds of the labels' groups in C."""
        return self.dictionary.groups

    @property
    def starts(self) -> Integers:
        """The bounds of the groups that are not empty."""
        return self.dictionary.starts

    @property
    def bound(self) -> float:
        """Mu, which is infinite without a residual: the bound on the gradient of the loss."""
        return np.inf if self.mu is None else self.mu

    @property
    def solver_tol(self) -> float:
        """The gap at which solvers stop. Rounding the codes to float32 may then raise it to ``tol``."""
        return 0.5 * self.tol if self.C.dtype == np.float32 else self.tol

    @property
    def rank_tolerance(self) -> float:
        """Singular values of C below this share of the largest one count as zero in least squares."""
        return self.dictionary.rank_tolerance

    def or_zero_codes(self, codes: Any, gap: Any, zero_gap: Callable[[], Any]) -> tuple[Any, Any]:
        """Rounded codes and their gaps, with the zero code and its gap where that gap is smaller."""
        xp = namespace(codes)
        if bool(xp.all(gap <= self.tol)):
            return codes, gap
        gap_at_zero = zero_gap()
        is_better = ~(gap <= gap_at_zero)
        return xp.where(is_better[:, None], xp.zeros_like(codes), codes), xp.where(is_better, gap_at_zero, gap)

    def to_group_codes(self, codes: Any, gap: Any, n_iter: Any, residual: Any) -> GroupCodes:
        """The result for all rows."""
        return GroupCodes(codes, self.groups, gap, n_iter, gap <= self.tol, residual)
