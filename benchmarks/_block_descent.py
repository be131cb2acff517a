"""Compiled block coordinate descent for the group lasso in Gram form: the library's solver without Newton steps."""

import numpy as np
from numba import njit

from sdgs.coding.compiled._squared_loss_kernel import _sweep

_NUMBA_OPTIONS = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}}
SWEEPS_PER_GAP_CHECK = 5


@njit(**_NUMBA_OPTIONS)
def _relative_gap(c, starts, alpha, b, q):
    """`_other_solvers.relative_gap` of one row, and the norms of the groups of b and q."""
    k = starts.size - 1
    b_norms, q_norms = np.zeros(k), np.zeros(k)
    for g in range(k):
        for i in range(starts[g], starts[g + 1]):
            b_norms[g] += b[i] * b[i]
            q_norms[g] += q[i] * q[i]
    b_norms, q_norms = np.sqrt(b_norms), np.sqrt(q_norms)
    bc = np.sum(b * c)
    rho2, x_rho = max(1.0 - bc - np.sum(b * q), 1e-300), 1.0 - bc
    t = min(alpha / max(q_norms.max(), 1e-9 * alpha), max(x_rho, 0.0) / rho2)
    return rho2 + 2.0 * alpha * b_norms.sum() - t * (2.0 * x_rho - t * rho2), b_norms, q_norms


@njit(**_NUMBA_OPTIONS)
def _descend(H, c, starts, alpha, target, max_sweeps, b, q):
    """Sweep until the gap over these groups is at most ``target``; returns the number of sweeps."""
    n_sweeps = 0
    while n_sweeps < max_sweeps:
        for _ in range(SWEEPS_PER_GAP_CHECK):
            _sweep(H, starts, starts.size - 1, alpha, b, q)
        n_sweeps += SWEEPS_PER_GAP_CHECK
        if _relative_gap(c, starts, alpha, b, q)[0] <= target:
            break
    return n_sweeps


@njit(**_NUMBA_OPTIONS)
def solve_over_all_groups(c, G, starts, alpha, tol, max_sweeps):
    """Every sweep covers all groups."""
    codes = np.zeros(c.shape)
    for row in range(len(c)):
        _descend(G, c[row], starts, alpha, tol, max_sweeps, codes[row], c[row].copy())
    return codes


@njit(**_NUMBA_OPTIONS)
def solve_on_working_sets(c, G, starts, alpha, tol, max_sweeps):
    """Sweeps cover a small working set, which grows by the groups that violate optimality most."""
    k = starts.size - 1
    codes = np.zeros(c.shape)
    for row in range(len(c)):
        b, q = codes[row], c[row].copy()
        target, n_sweeps = 1.0, 0
        while n_sweeps < max_sweeps:
            gap, b_norms, q_norms = _relative_gap(c[row], starts, alpha, b, q)
            if gap <= tol:
                break
            working_set = [g for g in range(k) if b_norms[g] > 0]
            n_active = len(working_set)
            violating = [(-q_norms[g], g) for g in range(k) if b_norms[g] == 0 and q_norms[g] > alpha]
            violating.sort()
            for i in range(min(len(violating), max(4, n_active))):
                working_set.append(violating[i][1])
            # Without new groups, only a more accurate solution on the working set reduces the gap.
            target = max(0.3 * tol, 0.05 * gap) if len(working_set) > n_active else 0.1 * min(target, gap)
            index = np.array([i for g in working_set for i in range(starts[g], starts[g + 1])])
            set_starts = np.zeros(len(working_set) + 1, dtype=np.int64)
            for u in range(len(working_set)):
                set_starts[u + 1] = set_starts[u] + starts[working_set[u] + 1] - starts[working_set[u]]
            H = G[index][:, index].copy()
            b_set, q_set = b[index], q[index]
            n_sweeps += _descend(H, c[row][index], set_starts, alpha, target, max_sweeps - n_sweeps, b_set, q_set)
            b[index] = b_set
            q[:] = c[row] - b_set @ G[index]
    return codes
