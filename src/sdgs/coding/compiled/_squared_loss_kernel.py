"""The compiled solver of the group lasso, one row at a time. Imported only when something is coded.

The problem, for a row x of unit norm and the dictionary C of orthonormal groups, with G = C C^T and c = C x::

    P(b) = 1/2 ||x - b C||^2 + alpha sum_g ||b_g||        q = c - G b  (the correlations of the error rho)
    D(t) = t x.rho - t^2/2 ||rho||^2                      0 <= t <= alpha / max_g ||q_g||
    ||rho||^2 = 1 - b.c - b.q,   x.rho = 1 - b.c          gap = (P - D) / P(0),   P(0) = 1/2

Everything is in Gram form, so that the cost of a row does not depend on p. Three loops, from the outside in:

*Working set.* Only a few groups are non-zero. Solve over a small set W, check all groups against ||q_g|| <= alpha, add
the worst violators, repeat; the gap over all groups is the certificate and the stopping rule.

*Block descent* on W: b_g <- (1 - alpha/||z||)_+ z with z = b_g + q_g is the exact minimiser over one group. Cheap, and
sufficient if groups hardly overlap; otherwise it needs thousands of sweeps.

*Newton* on W, where block descent is slow: see ``_newton_kernel.py``. If no step of it descends, block descent, which
always descends, continues.

*Rounding.* ||rho||^2 is a difference of numbers of the size of S^2, S = sum_g ||b_g||, which is large if subspaces all
but coincide and alpha is tiny. The gap contains bounds on the rounding, so that it remains an upper bound. If no code
converges, the one with the smallest gap is returned.
"""

import math

from sdgs._utils._numba import jit_cached
from sdgs.coding.compiled._newton_kernel import _ZERO, _gap, _jit, _jit_inlined, _newton, _objective

_SWEEPS_PER_CHECK = 5  # block-descent sweeps between two checks of their rate of convergence
_MAX_NEWTON_STEPS = 30
_MIN_GROWTH = 4  # groups by which a working set may grow at least
_MAX_INCREASE = 1e-12  # of P by Newton's method: if rounding makes it larger, its result is not used
# If subspaces coincide the first one gets the whole code: rounding must not choose another one for every sample.
_TIE = 1.0 + 1e-5


@_jit
def _sweep(H, starts, k, alpha, b, q):
    """One pass of exact block updates; keeps q = c - H b."""
    for g in range(k):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += (b[i] + q[i]) * (b[i] + q[i])
        s = math.sqrt(s)
        shrink = 1.0 - alpha / s if s > alpha else 0.0
        for i in range(starts[g], starts[g + 1]):
            # H is the identity within a group, so q of the coordinates still to come has not moved.
            delta = shrink * (b[i] + q[i]) - b[i]
            if delta != 0.0:
                b[i] += delta
                for j in range(starts[k]):
                    q[j] -= delta * H[i, j]


@_jit_inlined
def _solve_working_set(H, c, starts, k, alpha, target, max_iter, b, q, square, floats, ints):
    """Bring the gap over the working set to ``target``; returns the number of sweeps and Newton steps."""
    start = floats[15]
    used = 0
    before = math.inf
    while used < max_iter:
        gap = _gap(c, starts, k, alpha, b, q, floats[0], floats[1])
        if gap <= target:
            break
        # A few Newton steps cost about as much as one sweep per coordinate: continue sweeping only if it converges
        # sooner at the current rate.
        slow = gap >= before or _SWEEPS_PER_CHECK * math.log(gap / target) > starts[k] * math.log(before / gap)
        if slow and before < math.inf:
            P = _objective(c, starts, k, alpha, b, q)
            for i in range(starts[k]):
                start[i] = b[i]
            used += _newton(
                H, c, starts, k, alpha, target, min(_MAX_NEWTON_STEPS, max_iter - used), b, q, square, floats, ints
            )
            if not _objective(c, starts, k, alpha, b, q) <= P + _MAX_INCREASE:
                for i in range(starts[k]):
                    b[i] = start[i]
                    q[i] = c[i]
                    for j in range(starts[k]):
                        q[i] -= H[i, j] * start[j]
            before = math.inf
        else:
            before = gap
            for _ in range(min(_SWEEPS_PER_CHECK, max_iter - used)):
                _sweep(H, starts, k, alpha, b, q)
                used += 1
    return used


@_jit_inlined
def _choose_working_set(starts, k, alpha, b_norms, q_norms, min_growth, groups, local):
    """Set ``groups`` to the non-zero groups followed by the worst violators, and ``local`` to their bounds.

    Returns the size of the set and the number of non-zero groups. Overwrites ``q_norms``.
    """
    nw = _ZERO
    for g in range(k):
        if b_norms[g] > 0.0:
            groups[nw] = g
            nw += 1
            q_norms[g] = 0.0
    known = nw
    for _ in range(max(min_growth, nw)):
        worst = -1
        bound = alpha
        for g in range(k):
            if q_norms[g] > bound:
                worst = g
                bound = q_norms[g] * _TIE
        if worst < 0:
            break
        groups[nw] = worst
        nw += 1
        q_norms[worst] = 0.0
    local[0] = 0
    for u in range(nw):
        local[u + 1] = local[u] + starts[groups[u] + 1] - starts[groups[u]]
    return nw, known


@_jit_inlined
def _gather_gram(G, starts, groups, local, nw, G_set):
    """Copy the products of the groups of a working set."""
    for u in range(nw):
        down = starts[groups[u]] - local[u]
        for i in range(local[u], local[u + 1]):
            for v in range(nw):
                across = starts[groups[v]] - local[v]
                for j in range(local[v], local[v + 1]):
                    G_set[i, j] = G[i + down, j + across]


@jit_cached
def solve_rows(row, C_x, G, starts, alphas, tol, max_iter, gaps, n_iter, square, floats, ints):
    """Solve the rows from ``row`` on. Returns the first row that is not solved because ``square`` is too small, or n.

    ``C_x`` holds C x for rows x of unit norm, and is overwritten by the codes b. The workspace: ``square`` (4, s, s)
    for a working set of s coordinates, where s = R always suffices; ``floats`` (16, R + 1) and ``ints`` (5, R + 1).
    """
    n, R = C_x.shape
    k = starts.size - 1
    H = square[0]
    b, q, c_set, b_set, q_set = floats[7], floats[8], floats[9], floats[10], floats[11]
    b_norms, q_norms, best = floats[12], floats[13], floats[14]
    groups, local = ints[3], ints[4]
    while row < n:
        c = C_x[row]
        alpha = alphas[row]
        for i in range(R):
            b[i] = 0.0
            q[i] = c[i]
        used = 0
        target = 1.0
        smallest_gap = math.inf
        while True:
            gap = _gap(c, starts, k, alpha, b, q, b_norms, q_norms)
            if gap <= tol:
                break
            if gap < smallest_gap:
                smallest_gap = gap
                for i in range(R):
                    best[i] = b[i]
            if used >= max_iter:
                gap = smallest_gap
                for i in range(R):
                    b[i] = best[i]
                break
            nw, known = _choose_working_set(starts, k, alpha, b_norms, q_norms, _MIN_GROWTH, groups, local)
            if local[nw] > H.shape[0]:
                return row
            _gather_gram(G, starts, groups, local, nw, H)
            for u in range(nw):
                down = starts[groups[u]] - local[u]
                for i in range(local[u], local[u + 1]):
                    c_set[i] = c[i + down]
                    b_set[i] = b[i + down]
                    q_set[i] = q[i + down]

            # If no group was added, the working set itself must be solved more accurately.
            target = max(0.3 * tol, 0.05 * gap) if nw > known else 0.1 * min(target, gap)
            used += 1
            used += _solve_working_set(
                H, c_set, local, nw, alpha, target, max_iter - used, b_set, q_set, square, floats, ints
            )

            for i in range(R):
                q[i] = c[i]
            for u in range(nw):
                down = starts[groups[u]] - local[u]
                for i in range(local[u], local[u + 1]):
                    value = b_set[i]
                    b[i + down] = value
                    if value != 0.0:
                        for j in range(R):
                            q[j] -= value * G[i + down, j]
        gaps[row] = gap
        n_iter[row] = used
        for i in range(R):
            c[i] = b[i]
        row += 1
    return row
