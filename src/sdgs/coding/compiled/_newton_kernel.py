"""Newton's method on the norms of the groups, compiled: the inner loop of the group lasso of one row.

The problem, over a working set of groups, is that of ``_squared_loss_kernel.py``. The norm is not differentiable at
zero, so take its variational form ||b_g|| = min over eta_g >= 0 of (||b_g||^2/eta_g + eta_g)/2 and minimise over b
first. The result is smooth and convex in eta, down to and including eta_g = 0, with one variable per *group*::

    F(eta) = 1/2 (1 - c.b) + alpha/2 sum_g eta_g     b = D (alpha I + D G D)^-1 D c,   D = diag(sqrt(eta))
    dF/deta_g = (alpha^2 - ||q_g||^2) / (2 alpha)
    d2F/deta_g deta_h = q_g^T (C_g M^-1 C_h^T) q_h / alpha^2,    M = I + C^T D^2 C / alpha

A stationary eta has eta_g = ||b_g||. As in trust-region methods the equation 1/||q_g|| = 1/alpha is far nearer to
linear in eta than ||q_g||^2 = alpha^2 (for one group it *is* linear): Newton's method on it has the same matrix and the
right-hand side (||q_g||/alpha)^2 (||q_g|| - alpha). Bounds are met by clamping and solving again; the step is shortened
until F falls.
"""

import math

import numpy as np
from numba import njit

from sdgs._utils._numba import OPTIONS
from sdgs.coding._coding_problem import ROUNDING

# The first call waits for the compiler, so the code is written to compile fast: no allocation, explicit loops (a slice
# assignment compiles to a general broadcast), no wrappers that only Python would call, functions with one call site
# inlined before they are compiled (otherwise LLVM optimises them again for every level of calls above), and counters
# that start from _ZERO: a plain 0 has a literal type, for which every function it is passed to is compiled once more.
_jit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
_jit_inlined = njit(inline="always", **OPTIONS)
_ZERO = np.int64(0)


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
    """Relative duality gap of the problem over these k groups, at most; sets ``b_norms`` and ``q_norms``."""
    _norms(b, starts, k, b_norms)
    _norms(q, starts, k, q_norms)
    penalty = 0.0
    worst = alpha * 1e-9
    for g in range(k):
        penalty += b_norms[g]
        worst = max(worst, q_norms[g])
    if penalty > 0.0:
        worst += ROUNDING * (1.0 + penalty)
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
    gap = max(rho2 + 2.0 * alpha * penalty - t * (2.0 * x_rho - t * rho2), 0.0)
    return gap + ROUNDING * penalty * (1.0 + penalty)


@_jit
def _objective(c, starts, k, alpha, b, q):
    """P(b), at most."""
    penalty = 0.0
    rho2 = 1.0
    for g in range(k):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += b[i] * b[i]
            rho2 -= b[i] * (c[i] + q[i])
        penalty += math.sqrt(s)
    return 0.5 * max(rho2, 0.0) + alpha * penalty + 0.5 * ROUNDING * penalty * (1.0 + penalty)


@_jit_inlined
def _ridge(H, c, starts, k, alpha, eta, K, d, live, y, b, q):
    """F(eta), with b and q at eta. Leaves chol(alpha I + D G D) over the n coordinates ``live`` (eta > 0) in K.

    F is infinite if alpha is lost in the rounding of D G D.
    """
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
    if not _cholesky(K, n):
        return math.inf, n
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
    """Newton on eta from eta_g = ||b_g||, until the gap is at most ``target`` or no step lowers F.

    If F is not finite, b is zero.
    """
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
        gap = _gap(c, starts, k, alpha, b, q, rhs, norms)
        if gap <= target or (careful and length == 0.0) or not math.isfinite(F):
            return done
        careful = length == 0.0
        for g in range(k):
            last[g] = eta[g]
        if not _newton_step(H, starts, k, alpha, q, norms, eta, K, d, live, n, Z, N, y, rhs, free, keep, step, careful):
            return done
    return max_steps
