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

*Newton* on W, where block descent is slow. The norm is not differentiable at zero, so take its variational form
||b_g|| = min over eta_g >= 0 of (||b_g||^2/eta_g + eta_g)/2 and minimise over b first. The result is smooth and convex
in eta, down to and including eta_g = 0, with one variable per *group*::

    F(eta) = 1/2 (1 - c.b) + alpha/2 sum_g eta_g     b = D (alpha I + D G D)^-1 D c,   D = diag(sqrt(eta))
    dF/deta_g = (alpha^2 - ||q_g||^2) / (2 alpha)
    d2F/deta_g deta_h = q_g^T (C_g M^-1 C_h^T) q_h / alpha^2,    M = I + C^T D^2 C / alpha

A stationary eta has eta_g = ||b_g||. As in trust-region methods the equation 1/||q_g|| = 1/alpha is far nearer to
linear in eta than ||q_g||^2 = alpha^2 (for one group it *is* linear): Newton's method on it has the same matrix and the
right-hand side (||q_g||/alpha)^2 (||q_g|| - alpha). Bounds are met by clamping and solving again; the step is shortened
until F falls. If no step lowers F, block descent, which always descends, continues.
"""

import math

import numpy as np
from numba import njit

from sdgs._utils._numba import OPTIONS, jit_cached

# The first call waits for the compiler, so the code is written to compile fast: no allocation, explicit loops (a slice
# assignment compiles to a general broadcast), no wrappers that only Python would call, functions with one call site
# inlined before they are compiled (otherwise LLVM optimises them again for every level of calls above), and counters
# that start from _ZERO: a plain 0 has a literal type, for which every function it is passed to is compiled once more.
_jit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
_jit_inlined = njit(inline="always", **OPTIONS)
_ZERO = np.int64(0)

_SWEEPS_PER_CHECK = 5  # block-descent sweeps between two checks of their rate of convergence
_MAX_NEWTON_STEPS = 30
_MIN_GROWTH = 4  # groups by which a working set may grow at least
# If subspaces coincide the first one gets the whole code: rounding must not choose another one for every sample.
_TIE = 1.0 + 1e-5


@_jit
def _cholesky(A, n):
    """Overwrite the lower triangle of A[:n, :n] by its Cholesky factor L, with 1 / L_ii on the diagonal.

    False if A is not positive definite.
    """
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for t in range(j):
                s -= A[i, t] * A[j, t]
            if j < i:
                A[i, j] = s * A[j, j]
            elif s > 0.0:
                A[i, i] = 1.0 / math.sqrt(s)
            else:
                return False
    return True


@_jit
def _forward(A, n, x):
    """X <- L^-1 x."""
    for i in range(n):
        s = x[i]
        for t in range(i):
            s -= A[i, t] * x[t]
        x[i] = s * A[i, i]


@_jit
def _backward(A, n, x):
    """X <- L^-T x."""
    for i in range(n - 1, -1, -1):
        value = x[i] * A[i, i]
        x[i] = value
        for t in range(i):
            x[t] -= A[i, t] * value


@_jit
def _norms(v, starts, k, out):
    """Euclidean norm of each of the k groups of v."""
    for g in range(k):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += v[i] * v[i]
        out[g] = math.sqrt(s)


@_jit
def _gap(c, starts, k, alpha, b, q, b_norms, q_norms):
    """Relative duality gap of the problem over these k groups; sets ``b_norms`` and ``q_norms``."""
    _norms(b, starts, k, b_norms)
    _norms(q, starts, k, q_norms)
    penalty = 0.0
    worst = alpha * 1e-9
    for g in range(k):
        penalty += b_norms[g]
        worst = max(worst, q_norms[g])
    bc = 0.0
    bq = 0.0
    for i in range(starts[k]):
        bc += b[i] * c[i]
        bq += b[i] * q[i]
    rho2 = max(1.0 - bc - bq, 0.0)
    x_rho = 1.0 - bc
    t = alpha / worst
    if t * rho2 > x_rho and rho2 > 0.0:
        t = max(x_rho, 0.0) / rho2
    return max(rho2 + 2.0 * alpha * penalty - t * (2.0 * x_rho - t * rho2), 0.0)


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
def _ridge(H, c, starts, k, alpha, eta, K, d, live, y, b, q):
    """F(eta), with b and q at eta. Leaves chol(alpha I + D G D) over the n coordinates ``live`` (eta > 0) in K."""
    F = 1.0
    n = _ZERO
    for g in range(k):
        F += alpha * eta[g]
        for i in range(starts[g], starts[g + 1]):
            b[i] = 0.0
            q[i] = c[i]
            if eta[g] > 0.0:
                live[n] = i
                d[n] = math.sqrt(eta[g])
                y[n] = d[n] * c[i]
                for j in range(n + 1):
                    K[n, j] = d[n] * H[i, live[j]] * d[j]
                K[n, n] += alpha
                n += 1
    _cholesky(K, n)  # K >= alpha I, and alpha is well above rounding: it cannot fail
    _forward(K, n, y)
    for j in range(n):
        F -= y[j] * y[j]
    _backward(K, n, y)
    for j in range(n):
        i = live[j]
        value = d[j] * y[j]
        b[i] = value
        for t in range(starts[k]):
            q[t] -= value * H[i, t]
    return 0.5 * F, n


@_jit_inlined
def _newton_step(H, starts, k, alpha, q, q_norms, eta, K, d, live, n, Z, N, y, rhs, free, keep, step, careful):
    """The Newton step over the groups that may move, bounded so that eta stays >= 0. False if singular."""
    f = _ZERO
    for g in range(k):
        step[g] = 0.0
        if eta[g] > 0.0 or q_norms[g] > alpha:
            free[f] = g
            keep[f] = f
            rhs[f] = q_norms[g] * q_norms[g] * (q_norms[g] - alpha)
            for j in range(n):
                s = 0.0
                for i in range(starts[g], starts[g + 1]):
                    s += H[live[j], i] * q[i]
                Z[f, j] = d[j] * s
            _forward(K, n, Z[f])
            f += 1
    for u in range(f):
        for v in range(u + 1):
            s = 0.0
            for i in range(starts[free[u]], starts[free[u] + 1]):
                for j in range(starts[free[v]], starts[free[v] + 1]):
                    s += q[i] * H[i, j] * q[j]
            for j in range(n):
                s -= Z[u, j] * Z[v, j]
            N[u, v] = s
            N[v, u] = s
    moving = f
    while True:
        for s in range(moving):
            y[s] = rhs[keep[s]]
            for t in range(s + 1):
                Z[s, t] = N[keep[s], keep[t]]
            Z[s, s] *= 1.0 + 1e-12  # two groups with the same subspace make it singular
        if not _cholesky(Z, moving):
            return False
        _forward(Z, moving, y)
        _backward(Z, moving, y)
        # Groups that would become negative are clamped at zero and leave the system. The result need not be a descent
        # direction: if groups nearly coincide, the step is huge and inaccurate for the others. The careful step clamps
        # only groups that are zero already, and ends where the first group reaches zero.
        reach = 1.0
        if careful:
            for s in range(moving):
                g = free[keep[s]]
                if eta[g] > 0.0 and eta[g] + reach * y[s] < 0.0:
                    reach = -eta[g] / y[s]
        left = _ZERO
        for s in range(moving):
            u = keep[s]
            g = free[u]
            if y[s] > 0.0 or eta[g] + y[s] > 0.0 or (careful and eta[g] > 0.0):
                step[g] = reach * y[s]
                keep[left] = u
                left += 1
            else:
                step[g] = -eta[g]
                for t in range(f):
                    rhs[t] += N[t, u] * eta[g]
        if left == moving:
            return True
        moving = left


@_jit
def _newton(H, c, starts, k, alpha, target, max_steps, b, q, square, floats, ints):
    """Newton on eta from eta_g = ||b_g||, until the gap is at most ``target`` or no step lowers F."""
    K, Z, N = square[1], square[2], square[3]
    d, y, rhs, step, eta, last, norms = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5], floats[6]
    live, free, keep = ints[0], ints[1], ints[2]
    _norms(b, starts, k, last)
    for g in range(k):
        step[g] = 0.0
    F = math.inf
    careful = False
    for done in range(max_steps):
        length = 1.0
        while True:
            for g in range(k):
                eta[g] = max(last[g] + length * step[g], 0.0)
            F_new, n = _ridge(H, c, starts, k, alpha, eta, K, d, live, y, b, q)
            if F_new <= F + 1e-15 or length == 0.0:
                break
            length = 0.4 * length if length > 1e-3 else 0.0
        F = F_new
        if _gap(c, starts, k, alpha, b, q, rhs, norms) <= target or (careful and length == 0.0):
            return done
        careful = length == 0.0
        for g in range(k):
            last[g] = eta[g]
        if not _newton_step(H, starts, k, alpha, q, norms, eta, K, d, live, n, Z, N, y, rhs, free, keep, step, careful):
            return done
    return max_steps


@_jit_inlined
def _solve_working_set(H, c, starts, k, alpha, target, max_iter, b, q, square, floats, ints):
    """Bring the gap over the working set to ``target``; returns the number of sweeps and Newton steps."""
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
            used += _newton(
                H, c, starts, k, alpha, target, min(_MAX_NEWTON_STEPS, max_iter - used), b, q, square, floats, ints
            )
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
    for a working set of s coordinates, where s = R always suffices; ``floats`` (14, R + 1) and ``ints`` (5, R + 1).
    """
    n, R = C_x.shape
    k = starts.size - 1
    H = square[0]
    b, q, c_set, b_set, q_set = floats[7], floats[8], floats[9], floats[10], floats[11]
    b_norms, q_norms = floats[12], floats[13]
    groups, local = ints[3], ints[4]
    while row < n:
        c = C_x[row]
        alpha = alphas[row]
        for i in range(R):
            b[i] = 0.0
            q[i] = c[i]
        used = 0
        target = 1.0
        while True:
            gap = _gap(c, starts, k, alpha, b, q, b_norms, q_norms)
            if gap <= tol or used >= max_iter:
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
