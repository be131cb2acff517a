"""The loop of the alternating minimisation: sweeps until the error converges, with checkpoints in between."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._alternation import AlternationState
from sdgs.decomposition._decomposition_result import Decomposition
from sdgs.decomposition._solvers import is_descent_method
from sdgs.persistence._checkpoint import Checkpoint, is_moderate


def minimise(state: AlternationState, checkpoint: Checkpoint | None = None) -> Decomposition:
    """Sweep until the error converges or ``max_iter`` sweeps are done."""
    objective, max_iter = [] if checkpoint is None else _resume(state, checkpoint), state.problem.max_iter
    converged = _has_converged(objective, state)
    while not converged and len(objective) < max_iter:
        state.sweep()
        objective.append(state.error())
        converged = _has_converged(objective, state)
        finished = converged or len(objective) == max_iter
        if checkpoint is not None and (finished or checkpoint.due()):
            working_state = {} if finished else state.working_state()
            checkpoint.store({**state.state(), **working_state, "objective": np.asarray(objective)})

    with np.errstate(over="ignore"):  # squares of the largest numbers are inf
        objective_of_X = np.asarray(objective) * np.float64(state.scale) * np.float64(state.scale)
    factors = state.low_rank_factors()
    return Decomposition(
        components=tuple(C for _, C in factors),
        coefficients=tuple(U * state.scale for U, _ in factors),
        rows=state.problem.rows,
        residual=state.residual(),
        objective=objective_of_X,
        n_iter=len(objective),
        converged=converged,
    )


def _has_converged(objective: Sequence[float], state: AlternationState) -> bool:
    """Whether the error is small, or the last sweep lowered it by little."""
    if not objective:
        return False
    tol = state.problem.tol
    converged = objective[-1] <= tol * state.total
    if len(objective) > 1 and is_descent_method(state.problem.solver):
        converged |= objective[-2] - objective[-1] <= tol * objective[-2]
    return converged


def _resume(state: AlternationState, checkpoint: Checkpoint) -> list[float]:
    """Restore ``state`` from the checkpoint and return the objective so far; empty if there is nothing stored."""
    stored = checkpoint.load()
    if stored is None:
        return []
    objective = stored.pop("objective", np.empty(0))
    if objective.ndim != 1 or not _is_state_of(stored, state):
        checkpoint.warn_unusable("it does not fit the data.")
        return []
    state.restore(stored, objective.size)
    return [float(error) for error in objective]


def _is_state_of(stored: Mapping[str, NDArray[Any]], state: AlternationState) -> bool:
    """Whether arrays have the names, types and shapes of ``state``; only the size of S may differ."""
    fresh = {**state.state(), **state.working_state()}
    residual = ("S_indices", "S_values")
    return (
        {"U", "C", *residual} <= stored.keys() <= fresh.keys()
        and all(array.dtype == fresh[name].dtype and array.ndim == fresh[name].ndim for name, array in stored.items())
        and all(array.shape == fresh[name].shape for name, array in stored.items() if name not in residual)
        and stored["S_indices"].size == stored["S_values"].size
        and bool((np.diff(stored["S_indices"], prepend=-1, append=math.prod(state.problem.shape)) > 0).all())
        and state.problem.fits_budget(stored["S_indices"])
        and all(is_moderate(array, float(state.scale)) for array in stored.values() if array.dtype.kind == "f")
    )
