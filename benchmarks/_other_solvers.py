"""Other solvers of the group lasso, each in its best form for many samples and one dictionary, to the same accuracy.

Accuracy is the duality gap that the library certifies, computed here for every solver alike. A solver that goes sample
by sample is asked for less and less error until that gap is small enough, for each sample anew, and only the run that
got there is on the clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np

from benchmarks import _block_descent
from benchmarks._measure import steady

_TIGHTER = 1 / 4  # from one attempt to the next
_ATTEMPTS = 12
_BATCH = 256  # rows that FISTA moves together
_MOST_ITERATIONS = 20_000
_LOOK = 10  # iterations of FISTA between two looks at the gap
_PATIENCE = 10.0  # seconds a solver may take for its samples: after that, those done so far must do


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
        """Bounds of the groups that are not empty."""
        return np.unique(np.concatenate([[0], np.cumsum([len(C) for C in self.components])]))

    @cached_property
    def G(self) -> np.ndarray:
        """The Gram matrix."""
        return self.C @ self.C.T


@dataclass(frozen=True)
class Timing:
    """Seconds a row, on how many rows, and whether all of them got to the accuracy that was asked for."""

    per_row: float
    rows: int
    reached: bool


def relative_gap(problem: Problem, c: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(P(b) - D(t rho)) / P(0) of each row, for the best t that is feasible; c = X C^T."""
    q = c - b @ problem.G
    worst = _group_norms(q, problem.starts).max(axis=1)
    bc = np.einsum("ij,ij->i", b, c)
    rho2 = np.maximum(1 - bc - np.einsum("ij,ij->i", b, q), 1e-300)
    x_rho = 1 - bc
    t = np.minimum(problem.alpha / np.maximum(worst, 1e-300), np.maximum(x_rho, 0) / rho2)
    penalty = _group_norms(b, problem.starts).sum(axis=1)
    return rho2 + 2 * problem.alpha * penalty - t * (2 * x_rho - t * rho2)


def _group_norms(b: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.sqrt(np.add.reduceat(b * b, starts[:-1], axis=1))


def fista(problem: Problem) -> Timing:
    """Accelerated proximal gradient with restarts, on many rows at a time; rows that are done leave the batch."""
    step = 1 / np.linalg.eigvalsh(problem.G)[-1]  # once a dictionary: not on the clock

    def run() -> bool:
        c = problem.X @ problem.C.T
        done = [_fista_batch(problem, c[i : i + _BATCH], step) for i in range(0, len(c), _BATCH)]
        return all(done)

    time, reached = steady(run)
    return Timing(time / len(problem.X), len(problem.X), reached)


def _fista_batch(problem: Problem, c: np.ndarray, step: float) -> bool:
    """Whether all rows converged."""
    R, p = problem.C.shape
    shrink_by, sizes = step * problem.alpha, np.diff(problem.starts)
    b = np.zeros_like(c)
    z, momentum = b, np.ones(len(c))
    for iteration in range(1, _MOST_ITERATIONS + 1):
        # The Gram matrix, or two thinner products, whichever is less arithmetic.
        q = c - ((z @ problem.C) @ problem.C.T if 2 * p < R else z @ problem.G)
        new = z + step * q
        norms = _group_norms(new, problem.starts)
        new *= np.repeat(np.maximum(0, 1 - shrink_by / np.maximum(norms, 1e-300)), sizes, axis=1)
        # Momentum that points uphill is dropped, for each row on its own.
        momentum[np.einsum("ij,ij->i", z - new, new - b) > 0] = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + ((momentum - 1) / after)[:, None] * (new - b)
        b, momentum = new, after
        if iteration % _LOOK == 0:
            left = relative_gap(problem, c, b) > problem.tol
            if not left.any():
                return True
            if not left.all():
                b, z, c, momentum = b[left], z[left], c[left], momentum[left]
    return False


def block_descent(problem: Problem, kind: str) -> Timing:
    """Compiled block coordinate descent, ``over_all_groups`` or ``on_working_sets``."""
    solve = getattr(_block_descent, kind)
    c = problem.X @ problem.C.T
    solve(c[:1], problem.G, problem.starts, problem.alpha, 1.0, 5)  # compile
    time, codes = steady(lambda: solve(c, problem.G, problem.starts, problem.alpha, problem.tol, 100_000))
    reached = bool((relative_gap(problem, c, codes) <= 1.001 * problem.tol).all())
    return Timing(time / len(c), len(c), reached)


def skglm(problem: Problem) -> Timing:
    """Block coordinate descent with working sets and Anderson acceleration, by skglm."""
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD

    D, rotation = _rotated(problem)
    starts, members = problem.starts.astype(np.int32), np.arange(D.shape[1], dtype=np.int32)
    datafit = QuadraticGroup(starts, members)
    # Its objective is divided by the number of its samples, which are our features.
    weights = np.ones(starts.size - 1)
    penalty = WeightedGroupL2(problem.alpha / len(D), weights, starts, members)

    def solve(y: np.ndarray, tol: float) -> np.ndarray:
        return GroupBCD(tol=tol / len(D), fit_intercept=False).solve(D, y, datafit, penalty, run_checks=False)[0]

    return _row_by_row(problem, rotation, solve, 100 * problem.tol)


def celer(problem: Problem) -> Timing:
    """Working sets and dual extrapolation, by celer."""
    from celer.homotopy import celer_path

    D, rotation = _rotated(problem)
    groups, alphas = np.diff(problem.starts).tolist(), np.array([problem.alpha / len(D)])

    def solve(y: np.ndarray, tol: float) -> np.ndarray:
        path = celer_path(D, y, "grouplasso", alphas=alphas, groups=groups, tol=tol, max_iter=100, prune=True)
        return path[1][:, 0]

    return _row_by_row(problem, rotation, solve, 10 * problem.tol)


def _rotated(problem: Problem) -> tuple[np.ndarray, np.ndarray | None]:
    """The dictionary with a column an atom; turned into R dimensions if that is fewer, which only saves work."""
    R, p = problem.C.shape
    if p <= R:
        return np.asfortranarray(problem.C.T), None
    Q, T = np.linalg.qr(problem.C.T)
    return np.asfortranarray(T), Q


def _row_by_row(
    problem: Problem, rotation: np.ndarray | None, solve: Callable[[np.ndarray, float], np.ndarray], tol: float
) -> Timing:
    """Time ``solve(y, tol)`` on each row with the loosest tol that is good enough."""
    turned, targets = steady(lambda: problem.X if rotation is None else problem.X @ rotation)
    solve(targets[0], tol)  # compile
    started = perf_counter()
    times, reached = [], True
    for x, y in zip(problem.X, targets, strict=True):
        c, asked = (x @ problem.C.T)[None], tol
        for _ in range(_ATTEMPTS):
            time, code = steady(lambda y=y, asked=asked: solve(y, asked), 0.02)
            if relative_gap(problem, c, np.asarray(code)[None])[0] <= problem.tol:
                break
            asked *= _TIGHTER
        else:
            reached = False
        times.append(time)
        if perf_counter() - started > _PATIENCE:
            break
    return Timing(turned / len(targets) + float(np.mean(times)), len(times), reached)
