"""The compiled solver of the group lasso with the Huber loss, one row at a time. Imported only when it is used.

The problem, for a row x whose entry j may be missing, with m_j = mu where it is observed and m_j = 0 where not::

    P(b) = sum_j h_j(x_j - (b C)_j) + alpha sum_g ||b_g||     h_j(t) = t^2/2 if |t| <= m_j else m_j |t| - m_j^2/2
    D(theta) = x.theta - 1/2 ||theta||^2                      |theta_j| <= m_j,  ||C_g theta|| <= alpha

h_j is the minimum over s of 1/2 (t - s)^2 + mu |s|: a sparse residual at prediction. A missing entry has m_j = 0, so
that it does not contribute. theta = clip(x - b C, -m, m) is the gradient of the loss, and t theta, with t <= 1 as large
as the penalty allows, the dual point. At t = 1 the gap is alpha sum ||b_g|| - b.q with q = C theta, in which no large
number appears, however large the outliers of x are.

Three loops, from the outside in: a working set of groups, as for the squared loss; on it proximal Newton steps, each of
which approximates the loss by a quadratic where |x - b C| < m and by a linear function elsewhere, with the step
shortened until P falls; and for that quadratic the Newton method of the squared loss on the norms of the groups. If few
entries are within their bounds the quadratic is a poor approximation: if no step towards its solution lowers P, one
sweep of gradient steps does, b_g <- (1 - alpha/||z||)_+ z with z = b_g + q_g, because C_g has orthonormal rows and the
curvature of the loss in b_g is therefore at most 1; and the next quadratic is damped.
"""

import math

from sdgs._utils._numba import jit_cached
from sdgs.coding.compiled._newton_kernel import _jit, _jit_inlined, _newton, _norms
from sdgs.coding.compiled._squared_loss_kernel import _choose_working_set, _gather_gram

_MIN_GROWTH = 2  # groups by which a working set may grow at least: the cost of its Newton steps is cubic in the size
_MAX_PROXIMAL_STEPS = 20  # on one working set
_QUADRATIC_STEPS = 12  # Newton steps on one quadratic
_MIN_STEP_LENGTH = 1e-3


@_jit
def _residual(x, m, rows, R, b, r, theta):
    """Set r = x - b C, with C the first R of ``rows``, and theta = clip(r, -m, m)."""
    p = x.size
    for j in range(p):
        r[j] = x[j]
    for i in range(R):
        value = b[i]
        if value != 0.0:
            for j in range(p):
                r[j] -= value * rows[i, j]
    for j in range(p):
        theta[j] = min(max(r[j], -m[j]), m[j])


@_jit
def _correlations(rows, R, theta, q):
    """Set q = C theta."""
    for i in range(R):
        s = 0.0
        for j in range(theta.size):
            s += rows[i, j] * theta[j]
        q[i] = s


@_jit
def _huber_gap(starts, k, alpha, b, q, r, theta, b_norms, q_norms):
    """P - D at theta scaled into the dual's bounds; sets ``b_norms`` and ``q_norms``."""
    _norms(b, starts, k, b_norms)
    _norms(q, starts, k, q_norms)
    gap = 0.0
    worst = 0.0
    for g in range(k):
        gap += alpha * b_norms[g]
        worst = max(worst, q_norms[g])
    bq = 0.0
    for i in range(starts[k]):
        bq += b[i] * q[i]
    t = 1.0
    if worst > alpha:
        t = alpha / worst
    if t < 1.0:  # (1 - t) sum (r theta - (1 + t)/2 theta^2), from h = r theta - theta^2 / 2
        s = 0.0
        for j in range(r.size):
            s += theta[j] * (r[j] - 0.5 * (1.0 + t) * theta[j])
        gap += (1.0 - t) * s
    return max(gap - t * bq, 0.0)


@_jit
def _penalty(b, starts, k, norms):
    _norms(b, starts, k, norms)
    s = 0.0
    for g in range(k):
        s += norms[g]
    return s


@_jit_inlined
def _quadratic_model(x, m, rows, G_set, R, r, theta, damping, H, column):
    """Set H to the curvature of the loss at r, plus damping; returns a unit in which the quadratic is well scaled.

    The quadratic has the gradient of the loss here, and its curvature where the entries are within their bounds.
    """
    p = x.size
    inside = 0
    zeta = 0.0
    for j in range(p):
        if abs(r[j]) < m[j]:
            inside += 1
            zeta += x[j] * x[j]
        else:
            zeta += theta[j] * theta[j]
    subtract = 2 * inside >= p  # few entries are outside: subtract them from the Gram matrix rather than build it
    for i in range(R):
        for h in range(i + 1):
            H[i, h] = G_set[i, h] if subtract else 0.0
    for j in range(p):
        if (abs(r[j]) < m[j]) != subtract:
            for i in range(R):
                column[i] = rows[i, j]
            sign = -1.0 if subtract else 1.0
            for i in range(R):
                value = sign * column[i]
                for h in range(i + 1):
                    H[i, h] += value * column[h]
    for i in range(R):
        for h in range(i):
            H[h, i] = H[i, h]
        H[i, i] += damping
    return 4.0 * math.sqrt(zeta)


@_jit_inlined
def _newton_direction(H, q, b, starts, k, alpha, target, zeta, step, c, q_step, square, floats, ints):
    """Set ``step`` to the minimiser of the quadratic less b."""
    R = starts[k]
    while True:
        for i in range(R):
            s = q[i]
            for h in range(R):
                s += H[i, h] * b[h]
            c[i] = s / zeta
            step[i] = b[i] / zeta
        quadratic_target = max(target / (zeta * zeta), 1e-15)
        _newton(H, c, starts, k, alpha / zeta, quadratic_target, _QUADRATIC_STEPS, step, q_step, square, floats, ints)
        # The gap of the squared loss takes x for a unit vector, so that b.c < 1. A larger unit makes it so.
        s = 0.0
        for i in range(R):
            s += step[i] * c[i]
        if s < 1.0 or zeta > 1e6:
            break
        zeta *= 16.0
    for i in range(R):
        step[i] = zeta * step[i] - b[i]


@_jit_inlined
def _line_search(rows, starts, k, alpha, gap, m, b, r, theta, step, step_fit, trial, b_norms, trial_norms):
    """Set ``trial`` to b plus a multiple of the step that lowers P. False if no multiple does."""
    p, R = r.size, starts[k]
    for j in range(p):
        step_fit[j] = 0.0
    for i in range(R):
        if step[i] != 0.0:
            for j in range(p):
                step_fit[j] += step[i] * rows[i, j]
    penalty = _penalty(b, starts, k, b_norms)
    length = 1.0
    while length > _MIN_STEP_LENGTH:
        # The new loss less the old one, entry by entry: large entries that stay outside cancel exactly.
        change = 0.0
        for j in range(p):
            new = r[j] - length * step_fit[j]
            if abs(r[j]) >= m[j] and abs(new) >= m[j] and r[j] * new > 0.0:
                change -= length * step_fit[j] * theta[j]
            else:
                clipped = min(max(new, -m[j]), m[j])
                change += clipped * (new - 0.5 * clipped) - theta[j] * (r[j] - 0.5 * theta[j])
        for i in range(R):
            trial[i] = b[i] + length * step[i]
        change += alpha * (_penalty(trial, starts, k, trial_norms) - penalty)
        if change < -1e-12 * gap:
            break
        length *= 0.4
    return length > _MIN_STEP_LENGTH


@_jit_inlined
def _gradient_sweep(rows, starts, k, alpha, m, b, r, theta, z):
    """One proximal gradient step per group; keeps r and theta up to date."""
    p = r.size
    for g in range(k):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            z[i] = b[i]
            for j in range(p):
                z[i] += rows[i, j] * theta[j]
            s += z[i] * z[i]
        s = math.sqrt(s)
        shrink = 1.0 - alpha / s if s > alpha else 0.0
        for i in range(starts[g], starts[g + 1]):
            delta = shrink * z[i] - b[i]
            b[i] += delta
            for j in range(p):
                r[j] -= delta * rows[i, j]
        for j in range(p):
            theta[j] = min(max(r[j], -m[j]), m[j])


@_jit
def _solve_working_set_huber(x, m, rows, G_set, starts, k, alpha, target, budget, b, square, floats, ints, wide):
    """Bring the gap over these k groups to ``target``; returns the number of proximal Newton steps."""
    H = square[0]
    r, theta, step_fit = wide[0], wide[1], wide[2]
    q, step, c, trial, norms, b_norms = floats[7], floats[8], floats[9], floats[10], floats[11], floats[12]
    R = starts[k]
    _residual(x, m, rows, R, b, r, theta)
    damping = 0.0
    precision = 0.1  # of the quadratic's solution, relative to the target: refined where the gap hardly falls
    last = math.inf
    for used in range(budget):
        _correlations(rows, R, theta, q)
        gap = _huber_gap(starts, k, alpha, b, q, r, theta, b_norms, norms)
        if gap <= target:
            return used
        if gap > 0.5 * last:
            precision *= 0.03
        last = gap
        zeta = _quadratic_model(x, m, rows, G_set, R, r, theta, damping, H, c)
        _newton_direction(H, q, b, starts, k, alpha, precision * target, zeta, step, c, trial, square, floats, ints)
        if _line_search(rows, starts, k, alpha, gap, m, b, r, theta, step, step_fit, trial, b_norms, norms):
            damping = 0.1 * damping if damping > 1e-12 else 0.0
            for i in range(R):
                b[i] = trial[i]
        else:
            damping = max(10.0 * damping, 1e-2)
            _gradient_sweep(rows, starts, k, alpha, m, b, r, theta, q)
        _residual(x, m, rows, R, b, r, theta)
    return budget


@jit_cached
def solve_rows_huber(
    row, X, C, G, starts, alphas, mus, tol, max_iter, codes, gaps, n_iter, square, floats, ints, wide, C_set
):
    """Solve the rows from ``row`` on. Returns the first row that is not solved because ``square`` is too small, or n.

    ``X`` holds rows in whose units alpha and mu are ``alphas`` and ``mus``; NaN marks missing entries, which are
    overwritten by 0. The gap is relative to half the squared norm of the clipped row. The workspace: ``square``
    (5, s, s) and ``C_set`` (s, p) for a working set of s coordinates, ``floats`` (15, R + 1), ``ints`` (5, R + 1) and
    ``wide`` (4, p) for vectors.
    """
    n, p = X.shape
    R = C.shape[0]
    k = starts.size - 1
    G_set = square[4]
    b_set, q, b_norms, q_norms = floats[13], floats[14], floats[5], floats[6]
    r, theta, m = wide[0], wide[1], wide[3]
    groups, local = ints[3], ints[4]
    while row < n:
        x, b = X[row], codes[row]
        alpha = alphas[row]
        scale = 0.0
        for j in range(p):
            m[j] = mus[row]
            if math.isnan(x[j]):
                x[j] = 0.0
                m[j] = 0.0
            clipped = min(max(x[j], -m[j]), m[j])
            scale += 0.5 * clipped * clipped
        for i in range(R):
            b[i] = 0.0
        used = 0
        target = 1.0
        gap = 0.0
        while scale > 0.0:
            _residual(x, m, C, R, b, r, theta)
            _correlations(C, R, theta, q)
            gap = _huber_gap(starts, k, alpha, b, q, r, theta, b_norms, q_norms) / scale
            if gap <= tol or used >= max_iter:
                break
            nw, known = _choose_working_set(starts, k, alpha, b_norms, q_norms, _MIN_GROWTH, groups, local)
            if local[nw] > G_set.shape[0]:
                return row
            _gather_gram(G, starts, groups, local, nw, G_set)
            for u in range(nw):
                down = starts[groups[u]] - local[u]
                for i in range(local[u], local[u + 1]):
                    b_set[i] = b[i + down]
                    for j in range(p):
                        C_set[i, j] = C[i + down, j]
            target = max(0.3 * tol, 0.05 * gap) if nw > known else 0.1 * min(target, gap)
            used += 1
            budget = min(_MAX_PROXIMAL_STEPS, max_iter - used)
            used += _solve_working_set_huber(
                x, m, C_set, G_set, local, nw, alpha, target * scale, budget, b_set, square, floats, ints, wide
            )
            for u in range(nw):
                down = starts[groups[u]] - local[u]
                for i in range(local[u], local[u + 1]):
                    b[i + down] = b_set[i]
        gaps[row] = gap
        n_iter[row] = used
        row += 1
    return row
