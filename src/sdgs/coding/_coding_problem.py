"""The group lasso of one dictionary, as the solvers take it."""

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class CodingProblem:
    """The validated arguments of :func:`sdgs.group_lasso`, without X."""

    C: Array  # (R, p), the components of all labels stacked
    groups: Integers  # (k + 1,), the bounds of the labels' groups in C
    alpha: float
    mu: float | None  # weight of the residual; None without one
    huber_loss: bool  # whether the samples have a residual or missing entries
    tol: float
    max_iter: int

    @property
    def starts(self) -> Integers:
        """The bounds of the groups that are not empty: an empty group would share its start with the next one."""
        return np.unique(self.groups)

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
        return float(max(self.C.shape)) * float(np.finfo(self.C.dtype).eps)

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
