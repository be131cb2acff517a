"""Group-lasso codes of complete samples without a residual, one row at a time.

A working set of groups grows by the worst violators; block descent solves it, or Newton's method where that is slow.
"""

import math
from typing import Any

import numpy as np

from sdgs.deployment.predictor._newton_step import ROUNDING, duality_gap, newton, norms_of_groups
from sdgs.deployment.predictor._sample_blocks import Floats, times
from sdgs.deployment.predictor._scaled_rows import nonzero, unit_rows

TOL, MAX_ITER = 1e-6, 2000
MIN_RELATIVE_ALPHA = 1e-11
SWEEPS_PER_CHECK, MAX_NEWTON_STEPS, MIN_GROWTH, MAX_INCREASE = 5, 30, 4, 1e-12
TIE = 1.0 + 1e-5  # if subspaces coincide the first one gets the whole code


def code_complete_rows(dictionary: Any, X: Floats, alpha: float) -> tuple[Floats, int]:
    """Codes (n, R) of complete rows, and how many did not converge."""
    squares = np.einsum("ij,ij->i", X, X)
    limits = np.finfo(np.float64)
    norms = np.sqrt(squares)
    is_safe = limits.tiny / limits.eps**2 < squares.min() and squares.max() < limits.max * limits.eps
    divisors = norms
    if not is_safe or alpha == 0:
        X, norms = unit_rows(X)
        divisors = np.ones_like(norms)
    if not np.isfinite(norms).all():
        raise ValueError("X has rows whose norm overflows. Scale X down.")
    if alpha == 0:
        return times(X, dictionary.pinv) * norms[:, None], 0
    c = times(X, dictionary.C.T) / divisors[:, None]
    with np.errstate(over="ignore"):
        alphas = (alpha / nonzero(norms)).clip(MIN_RELATIVE_ALPHA, 2.0)
    codes, n_unsolved = np.zeros(c.shape), 0
    for row, row_alpha in enumerate(alphas):
        codes[row], gap = solve_row(c[row], dictionary.gram, dictionary.starts, float(row_alpha))
        n_unsolved += gap > TOL
    return codes * norms[:, None], n_unsolved


def solve_row(c: Floats, G: Floats, starts: Any, alpha: float) -> tuple[Floats, float]:
    """The code of a row of unit norm with the correlations c, and its relative duality gap."""
    b, q, best = np.zeros(c.size), c.copy(), np.zeros(c.size)
    used, target, smallest = 0, 1.0, math.inf
    while True:
        gap, b_norms, q_norms = duality_gap(c, starts, alpha, b, q)
        if gap <= TOL:
            return b, gap
        if gap < smallest:
            smallest, best = gap, b.copy()
        if used >= MAX_ITER:
            return best, smallest
        index, local, has_grown = choose_working_set(starts, alpha, b_norms, q_norms, MIN_GROWTH)
        target = max(0.3 * TOL, 0.05 * gap) if has_grown else 0.1 * min(target, gap)
        used += 1
        H = G[np.ix_(index, index)]
        b[index], iterations = solve_working_set(H, c[index], local, alpha, target, MAX_ITER - used, b[index], q[index])
        used += iterations
        nonzeros = index[b[index] != 0]
        q = c - b[nonzeros] @ G[nonzeros]


def choose_working_set(
    starts: Any, alpha: float, b_norms: Floats, q_norms: Floats, min_growth: int
) -> tuple[Any, Any, bool]:
    """The coordinates of the non-zero groups and of the worst violators, their bounds, and if any violate."""
    groups = np.flatnonzero(b_norms > 0).tolist()
    n_known = len(groups)
    q_norms[groups] = 0
    for _ in range(max(min_growth, n_known)):
        worst, first, bound = -1, 0, alpha
        while (later := np.flatnonzero(q_norms[first:] > bound)).size:
            worst = first + int(later[0])
            first, bound = worst + 1, float(q_norms[worst]) * TIE
        if worst < 0:
            break
        groups.append(worst)
        q_norms[worst] = 0
    index = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in groups]) if groups else np.arange(0)
    return index, np.cumsum([0, *(starts[g + 1] - starts[g] for g in groups)]), len(groups) > n_known


def solve_working_set(
    H: Floats, c: Floats, starts: Any, alpha: float, target: float, max_iter: int, b: Floats, q: Floats
) -> tuple[Floats, int]:
    """The code with a gap over the working set of at most ``target``, and the number of iterations."""
    used, before = 0, math.inf
    while used < max_iter:
        gap = duality_gap(c, starts, alpha, b, q)[0]
        if gap <= target:
            break
        slow = gap >= before or SWEEPS_PER_CHECK * math.log(gap / target) > starts[-1] * math.log(before / gap)
        if slow and before < math.inf:
            P, start = objective(c, starts, alpha, b, q), b
            b, q, iterations = newton(H, c, starts, alpha, target, min(MAX_NEWTON_STEPS, max_iter - used), b)
            used += iterations
            if not objective(c, starts, alpha, b, q) <= P + MAX_INCREASE:
                b, q = start, c - H @ start
            before = math.inf
        else:
            before = gap
            for _ in range(min(SWEEPS_PER_CHECK, max_iter - used)):
                sweep(H, starts, alpha, b, q)
                used += 1
    return b, used


def objective(c: Floats, starts: Any, alpha: float, b: Floats, q: Floats) -> float:
    """The objective, at most."""
    penalty = float(norms_of_groups(b, starts).sum())
    return 0.5 * max(1 - float(b @ (c + q)), 0.0) + alpha * penalty + 0.5 * ROUNDING * penalty * (1 + penalty)


def sweep(H: Floats, starts: Any, alpha: float, b: Floats, q: Floats) -> None:
    """One pass of exact block updates; keeps q = c - H b."""
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        z = b[first:last] + q[first:last]
        norm = math.sqrt(float(z @ z))
        delta = (1 - alpha / norm if norm > alpha else 0.0) * z - b[first:last]
        if delta.any():
            b[first:last] += delta
            q -= delta @ H[first:last]
