"""Group-lasso codes of samples with missing entries or a sparse residual, one row at a time.

The loss of an entry is quadratic up to m and linear beyond; a missing one has m = 0. On a working set of groups
proximal Newton steps approximate the loss by a quadratic, whose minimum the Newton method of the squared loss finds.
"""

import math
from typing import Any

import numpy as np

from sdgs.deployment.predictor._newton_step import newton, norms_of_groups
from sdgs.deployment.predictor._row_group_lasso import MAX_ITER, TOL, choose_working_set
from sdgs.deployment.predictor._sample_blocks import Floats

CLIP_FACTOR = 1e3  # times a row's clipped norm: larger entries are clipped, as the code cannot follow them
MIN_GROUPS_ADDED, MAX_PROXIMAL_STEPS, QUADRATIC_STEPS, MIN_STEP_LENGTH = 2, 20, 12, 1e-3


def code_by_huber_loss(dictionary: Any, X: Floats, alpha: float, huber: float | None) -> tuple[Floats, Floats, int]:
    """Codes (n, R) of rows in which NaN is missing, cleaned samples, and how many rows did not converge."""
    if alpha == 0:
        raise ValueError("X has missing entries (NaN), which a model with alpha=0 does not take.")
    mu, observed = math.inf if huber is None else huber, ~np.isnan(X)
    filled = np.where(observed, X, 0.0)
    units, is_zero = clipped_norms(filled, mu)
    codes, n_unsolved = np.zeros((len(X), len(dictionary.C))), 0
    for row in np.flatnonzero(~is_zero) if codes.shape[1] else ():
        unit, limit = float(units[row]), CLIP_FACTOR
        x, bound, row_alpha = filled[row] / unit, mu / unit, min(alpha / unit, 2.0)
        while True:
            m = np.where(observed[row], bound, 0.0)
            b, gap = solve_huber_row(dictionary, np.clip(x, -limit, limit), m, row_alpha)
            reach = float(np.abs(b @ dictionary.C).max()) + min(bound, limit)
            if not (np.abs(x) > limit).any() or reach < limit:
                break
            limit *= CLIP_FACTOR
        codes[row] = b * unit
        n_unsolved += gap > TOL
    fit = codes @ dictionary.C
    cleaned = np.where(observed, X, fit)
    if huber is not None:
        error = np.where(observed, X - fit, 0.0)
        cleaned = cleaned - (error - np.clip(error, -huber, huber))
    return codes, cleaned, n_unsolved


def clipped_norms(X: Floats, mu: float) -> tuple[Floats, Any]:
    """The norm of each row clipped to [-mu, mu], or 1 if it is zero; and whether it is."""
    clipped = np.clip(X, -mu, mu)
    largest = np.abs(clipped).max(axis=1)
    is_zero = largest == 0
    norms = np.where(is_zero, 1.0, largest)
    with np.errstate(over="ignore"):
        norms = norms * np.sqrt(np.square(clipped / norms[:, None]).sum(axis=1))
    if not np.isfinite(norms).all():
        raise ValueError("X has rows whose norm overflows. Scale X down.")
    return np.where(is_zero, 1.0, norms), is_zero


def solve_huber_row(dictionary: Any, x: Floats, m: Floats, alpha: float) -> tuple[Floats, float]:
    """The code of a row in whose units alpha and the bounds m are given, and its relative duality gap."""
    C, starts, b = dictionary.C, dictionary.starts, np.zeros(len(dictionary.C))
    scale = 0.5 * float(np.square(np.clip(x, -m, m)).sum())
    used, target = 0, 1.0
    while scale > 0:
        r = x - b @ C
        theta = np.clip(r, -m, m)
        gap, b_norms, q_norms = huber_gap(starts, alpha, b, C @ theta, r, theta)
        gap /= scale
        if gap <= TOL or used >= MAX_ITER:
            return b, gap
        index, local, has_grown = choose_working_set(starts, alpha, b_norms, q_norms, MIN_GROUPS_ADDED)
        target = max(0.3 * TOL, 0.05 * gap) if has_grown else 0.1 * min(target, gap)
        used += 1
        budget = min(MAX_PROXIMAL_STEPS, MAX_ITER - used)
        G = dictionary.gram[np.ix_(index, index)]
        b[index], steps = solve_huber_set(x, m, C[index], G, local, alpha, target * scale, budget, b[index])
        used += steps
    return b, 0.0


def huber_gap(
    starts: Any, alpha: float, b: Floats, q: Floats, r: Floats, theta: Floats
) -> tuple[float, Floats, Floats]:
    """The duality gap, and the norms of the groups of b and q."""
    b_norms, q_norms = norms_of_groups(b, starts), norms_of_groups(q, starts)
    worst, gap = float(q_norms.max(initial=0)), alpha * float(b_norms.sum())
    t = alpha / worst if worst > alpha else 1.0
    if t < 1:
        gap += (1 - t) * float(theta @ (r - 0.5 * (1 + t) * theta))
    return max(gap - t * float(b @ q), 0.0), b_norms, q_norms


def solve_huber_set(
    x: Floats, m: Floats, C: Floats, G: Floats, starts: Any, alpha: float, target: float, budget: int, b: Floats
) -> tuple[Floats, int]:
    """The code with a gap over these groups of at most ``target``, and the number of proximal Newton steps."""
    damping, precision, last = 0.0, 0.1, math.inf
    for used in range(budget):
        r = x - b @ C
        theta = np.clip(r, -m, m)
        q = C @ theta
        gap = huber_gap(starts, alpha, b, q, r, theta)[0]
        if gap <= target:
            return b, used
        if gap > 0.5 * last:
            precision *= 0.03
        last = gap
        inside = np.abs(r) < m
        zeta = 4 * math.sqrt(float(np.square(np.where(inside, x, theta)).sum()))
        if 2 * np.count_nonzero(inside) >= x.size:
            H = G - C[:, ~inside] @ C[:, ~inside].T
        else:
            H = C[:, inside] @ C[:, inside].T
        H.flat[:: len(C) + 1] += damping
        step = quadratic_step(H, q, b, starts, alpha, precision * target, zeta)
        better = line_search(C, starts, alpha, gap, m, b, r, theta, step)
        if better is not None:
            damping, b = 0.1 * damping if damping > 1e-12 else 0.0, better
        else:
            damping = max(10 * damping, 1e-2)
            b = gradient_sweep(C, starts, alpha, m, b, r, theta)
    return b, budget


def quadratic_step(H: Floats, q: Floats, b: Floats, starts: Any, alpha: float, target: float, zeta: float) -> Floats:
    """The minimiser of the quadratic less b."""
    while True:
        c = (q + H @ b) / zeta
        step, _, _ = newton(H, c, starts, alpha / zeta, max(target / zeta**2, 1e-15), QUADRATIC_STEPS, b / zeta)
        if float(step @ c) < 1 or zeta > 1e6:  # the gap of the squared loss takes the sample for a unit vector
            return zeta * step - b
        zeta *= 16


def line_search(
    C: Floats, starts: Any, alpha: float, gap: float, m: Floats, b: Floats, r: Floats, theta: Floats, step: Floats
) -> Floats | None:
    """The code plus a multiple of the step that lowers the objective; None if none does."""
    fit, penalty, length = step @ C, float(norms_of_groups(b, starts).sum()), 1.0
    old = theta * (r - 0.5 * theta)
    while length > MIN_STEP_LENGTH:
        new = r - length * fit
        clipped = np.clip(new, -m, m)
        stays_outside = (np.abs(r) >= m) & (np.abs(new) >= m) & (r * new > 0)
        change = float(np.where(stays_outside, -length * fit * theta, clipped * (new - 0.5 * clipped) - old).sum())
        trial = b + length * step
        change += alpha * (float(norms_of_groups(trial, starts).sum()) - penalty)
        if change < -1e-12 * gap:
            return trial
        length *= 0.4
    return None


def gradient_sweep(C: Floats, starts: Any, alpha: float, m: Floats, b: Floats, r: Floats, theta: Floats) -> Floats:
    """The code after one proximal gradient step per group."""
    b = b.copy()
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        z = b[first:last] + C[first:last] @ theta
        norm = math.sqrt(float(z @ z))
        delta = (1 - alpha / norm if norm > alpha else 0.0) * z - b[first:last]
        b[first:last] += delta
        r = r - delta @ C[first:last]
        theta = np.clip(r, -m, m)
    return b
