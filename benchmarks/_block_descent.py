"""Block coordinate descent for the group lasso in Gram form, compiled: the library's solver without Newton."""

import numpy as np
from numba import njit

from sdgs.coding.compiled._squared_loss_kernel import _sweep

_options = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}}
SWEEPS = 5  # between two looks at the gap


@njit(**_options)
def _gap(c, starts, alpha, b, q):
    """`_other_solvers.relative_gap` of one row, and the norms of the groups of b and q."""
    k = starts.size - 1
    sizes, norms = np.zeros(k), np.zeros(k)
    for g in range(k):
        for i in range(starts[g], starts[g + 1]):
            sizes[g] += b[i] * b[i]
            norms[g] += q[i] * q[i]
    sizes, norms = np.sqrt(sizes), np.sqrt(norms)
    bc = np.sum(b * c)
    rho2, x_rho = max(1.0 - bc - np.sum(b * q), 1e-300), 1.0 - bc
    t = min(alpha / max(norms.max(), 1e-9 * alpha), max(x_rho, 0.0) / rho2)
    return rho2 + 2.0 * alpha * sizes.sum() - t * (2.0 * x_rho - t * rho2), sizes, norms


@njit(**_options)
def _descend(H, c, starts, alpha, target, most, b, q):
    """Sweep until the gap over these groups is at most ``target``; returns the sweeps."""
    used = 0
    while used < most:
        for _ in range(SWEEPS):
            _sweep(H, starts, starts.size - 1, alpha, b, q)
        used += SWEEPS
        if _gap(c, starts, alpha, b, q)[0] <= target:
            break
    return used


@njit(**_options)
def over_all_groups(c, G, starts, alpha, tol, most):
    """Plain: every sweep goes over all groups."""
    codes = np.zeros(c.shape)
    for row in range(len(c)):
        _descend(G, c[row], starts, alpha, tol, most, codes[row], c[row].copy())
    return codes


@njit(**_options)
def on_working_sets(c, G, starts, alpha, tol, most):
    """Sweeps go over a small set of groups, which grows by the worst offenders."""
    k = starts.size - 1
    codes = np.zeros(c.shape)
    for row in range(len(c)):
        b, q = codes[row], c[row].copy()
        target, used = 1.0, 0
        while used < most:
            gap, sizes, norms = _gap(c[row], starts, alpha, b, q)
            if gap <= tol:
                break
            inside = [g for g in range(k) if sizes[g] > 0]
            known = len(inside)
            others = [(-norms[g], g) for g in range(k) if sizes[g] == 0 and norms[g] > alpha]
            others.sort()
            for place in range(min(len(others), max(4, known))):
                inside.append(others[place][1])
            # No offender is left out where none was added: then it is the set itself that needs a closer look.
            target = max(0.3 * tol, 0.05 * gap) if len(inside) > known else 0.1 * min(target, gap)
            index = np.array([i for g in inside for i in range(starts[g], starts[g + 1])])
            bounds = np.zeros(len(inside) + 1, dtype=np.int64)
            for u in range(len(inside)):
                bounds[u + 1] = bounds[u] + starts[inside[u] + 1] - starts[inside[u]]
            H = G[index][:, index].copy()
            b_set, q_set = b[index], q[index]
            used += _descend(H, c[row][index], bounds, alpha, target, most - used, b_set, q_set)
            b[index] = b_set
            q[:] = c[row] - b_set @ G[index]
    return codes
