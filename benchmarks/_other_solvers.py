"""Other group lasso solvers, each in its fastest form for many samples and one dictionary, at the same accuracy.

Accuracy is the duality gap that the library certifies, computed here by one function for every solver. The tolerance of
a solver that works sample by sample is tightened per sample until that gap is small enough, and only the last run
counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np

from benchmarks._measure import measure_time_adaptively

_TOL_FACTOR = 1 / 4  # from one attempt to the next
_MAX_ATTEMPTS = 12
_BATCH_SIZE = 256  # rows of FISTA
_MAX_FISTA_ITERATIONS = 20_000
_FISTA_GAP_CHECK_INTERVAL = 10  # iterations
_MAX_DESCENT_SWEEPS = 100_000
_MAX_SECONDS_PER_SOLVER = 10.0  # no further row is started after this time
_REPEAT_ROW_BELOW = 0.02  # seconds

RowSolver = Callable[[np.ndarray, float], np.ndarray]
GramSolver = Callable[[np.ndarray, np.ndarray, np.ndarray, float, float, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of unit norm to be coded over a dictionary of orthonormal groups, to a relative gap of ``tol``."""

    X: np.ndarray
    components: Sequence[np.ndarray]
    alpha: float
    tol: float

    @cached_property
    def C(self) -> np.ndarray:
        """The dictionary, (R, p)."""
        return np.vstack(self.components)

    @cached_property
    def starts(self) -> np.ndarray:
        """First rows of the groups that are not empty, and R."""
        return np.unique(np.concatenate([[0], np.cumsum([len(C) for C in self.components])]))

    @cached_property
    def G(self) -> np.ndarray:
        """The Gram matrix."""
        return self.C @ self.C.T


@dataclass(frozen=True)
class Timing:
    """Mean seconds per row, the number of rows, and whether all of them reached the requested gap."""

    seconds_per_row: float
    n_rows: int
    converged: bool


def relative_gap(problem: Problem, c: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(P(b) - D(t rho)) / P(0) of each row, with the best feasible t; c = X C^T."""
    q = c - b @ problem.G
    largest_norm = _group_norms(q, problem.starts).max(axis=1)
    bc = np.einsum("ij,ij->i", b, c)
    rho2 = np.maximum(1 - bc - np.einsum("ij,ij->i", b, q), 1e-300)
    x_rho = 1 - bc
    t = np.minimum(problem.alpha / np.maximum(largest_norm, 1e-300), np.maximum(x_rho, 0) / rho2)
    penalty = _group_norms(b, problem.starts).sum(axis=1)
    return rho2 + 2 * problem.alpha * penalty - t * (2 * x_rho - t * rho2)


def _group_norms(b: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.sqrt(np.add.reduceat(b * b, starts[:-1], axis=1))


def time_fista(problem: Problem) -> Timing:
    """Accelerated proximal gradient with restarts, on batches of rows; converged rows leave the batch."""
    step = 1 / np.linalg.eigvalsh(problem.G)[-1]  # not timed, because it is computed once per dictionary

    def run() -> bool:
        c = problem.X @ problem.C.T
        converged = [_solve_batch(problem, c[i : i + _BATCH_SIZE], step) for i in range(0, len(c), _BATCH_SIZE)]
        return all(converged)

    time, converged = measure_time_adaptively(run)
    return Timing(time / len(problem.X), len(problem.X), converged)


def _solve_batch(problem: Problem, c: np.ndarray, step: float) -> bool:
    """Whether all rows converged."""
    R, p = problem.C.shape
    threshold, group_sizes = step * problem.alpha, np.diff(problem.starts)
    b = np.zeros_like(c)
    z, momentum = b, np.ones(len(c))
    for iteration in range(1, _MAX_FISTA_ITERATIONS + 1):
        # The Gram matrix or two thinner products, whichever needs fewer operations.
        q = c - ((z @ problem.C) @ problem.C.T if 2 * p < R else z @ problem.G)
        b_next = z + step * q
        norms = _group_norms(b_next, problem.starts)
        b_next *= np.repeat(np.maximum(0, 1 - threshold / np.maximum(norms, 1e-300)), group_sizes, axis=1)
        # Restart the momentum of each row in which it points uphill.
        momentum[np.einsum("ij,ij->i", z - b_next, b_next - b) > 0] = 1.0
        momentum_next = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = b_next + ((momentum - 1) / momentum_next)[:, None] * (b_next - b)
        b, momentum = b_next, momentum_next
        if iteration % _FISTA_GAP_CHECK_INTERVAL == 0:
            unconverged = relative_gap(problem, c, b) > problem.tol
            if not unconverged.any():
                return True
            if not unconverged.all():
                b, z, c, momentum = b[unconverged], z[unconverged], c[unconverged], momentum[unconverged]
    return False


def time_block_descent(problem: Problem, solve: GramSolver) -> Timing:
    """Compiled block coordinate descent by one of the functions of `_block_descent`."""
    c = problem.X @ problem.C.T
    solve(c[:1], problem.G, problem.starts, problem.alpha, 1.0, 5)  # compile
    time, codes = measure_time_adaptively(
        lambda: solve(c, problem.G, problem.starts, problem.alpha, problem.tol, _MAX_DESCENT_SWEEPS)
    )
    converged = bool((relative_gap(problem, c, codes) <= 1.001 * problem.tol).all())
    return Timing(time / len(c), len(c), converged)


def time_skglm(problem: Problem) -> Timing:
    """skglm: block coordinate descent with working sets and Anderson acceleration."""
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD

    D, rotation = _rotated_dictionary(problem)
    starts, group_indices = problem.starts.astype(np.int32), np.arange(D.shape[1], dtype=np.int32)
    datafit = QuadraticGroup(starts, group_indices)
    # skglm divides the objective by its number of samples, the rows of D.
    weights = np.ones(starts.size - 1)
    penalty = WeightedGroupL2(problem.alpha / len(D), weights, starts, group_indices)

    def solve(y: np.ndarray, tol: float) -> np.ndarray:
        return GroupBCD(tol=tol / len(D), fit_intercept=False).solve(D, y, datafit, penalty, run_checks=False)[0]

    return _time_each_row(problem, rotation, solve, 100 * problem.tol)


def time_celer(problem: Problem) -> Timing:
    """celer: working sets and dual extrapolation."""
    from celer.homotopy import celer_path

    D, rotation = _rotated_dictionary(problem)
    groups, alphas = np.diff(problem.starts).tolist(), np.array([problem.alpha / len(D)])

    def solve(y: np.ndarray, tol: float) -> np.ndarray:
        path = celer_path(D, y, "grouplasso", alphas=alphas, groups=groups, tol=tol, max_iter=100, prune=True)
        return path[1][:, 0]

    return _time_each_row(problem, rotation, solve, 10 * problem.tol)


def _rotated_dictionary(problem: Problem) -> tuple[np.ndarray, np.ndarray | None]:
    """The dictionary with one column per atom, rotated to R dimensions if R < p, which is faster; the rotation."""
    R, p = problem.C.shape
    if p <= R:
        return np.asfortranarray(problem.C.T), None
    Q, T = np.linalg.qr(problem.C.T)
    return np.asfortranarray(T), Q


def _time_each_row(problem: Problem, rotation: np.ndarray | None, solve: RowSolver, initial_tol: float) -> Timing:
    """Time ``solve(y, tol)`` on each row with the largest tol tried that reaches the gap."""
    rotation_time, targets = measure_time_adaptively(lambda: problem.X if rotation is None else problem.X @ rotation)
    solve(targets[0], initial_tol)  # compile
    start = perf_counter()
    times, converged = [], True
    for x, y in zip(problem.X, targets, strict=True):
        c, tol = (x @ problem.C.T)[None], initial_tol
        for _ in range(_MAX_ATTEMPTS):
            time, code = measure_time_adaptively(lambda y=y, tol=tol: solve(y, tol), _REPEAT_ROW_BELOW)
            if relative_gap(problem, c, np.asarray(code)[None])[0] <= problem.tol:
                break
            tol *= _TOL_FACTOR
        else:
            converged = False
        times.append(time)
        if perf_counter() - start > _MAX_SECONDS_PER_SOLVER:
            break
    return Timing(rotation_time / len(targets) + float(np.mean(times)), len(times), converged)
