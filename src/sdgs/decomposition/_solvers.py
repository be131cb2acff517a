"""The solvers of the label step, and what sets them apart.

``"svd"`` takes the exact subspace. ``"brp"`` takes bilateral random projections that start from the last subspace.
``"brp-fresh"`` is Algorithm 1 as printed, for reproducing the paper only: each step starts from a new Gaussian matrix.
"""

from typing import Literal

Solver = Literal["brp", "svd", "brp-fresh"]
SOLVERS: tuple[Solver, ...] = ("brp", "svd", "brp-fresh")

_OVERSAMPLING = 4  # columns beyond the rank in the first random projection of a label


def starts_from_last_subspace(solver: Solver, sweeps: int) -> bool:
    """Whether the projection starts from the label's last subspace rather than from a Gaussian matrix."""
    return solver == "brp" and sweeps > 0


def draws_projection(solver: Solver, sweeps: int) -> bool:
    """Whether the projection starts from a Gaussian matrix."""
    return solver != "svd" and not starts_from_last_subspace(solver, sweeps)


def refines_random_start(solver: Solver) -> bool:
    """Whether the best directions of a Gaussian start are chosen by a Rayleigh-Ritz step."""
    return solver == "brp"


def projection_columns(solver: Solver, r: int, p: int) -> int:
    """Columns of the Gaussian matrix for a component of rank ``r``."""
    return min(r + _OVERSAMPLING, p) if refines_random_start(solver) else r


def is_descent_method(solver: Solver) -> bool:
    """Whether no step raises the error, so that a small decrease means convergence."""
    return solver != "brp-fresh"
