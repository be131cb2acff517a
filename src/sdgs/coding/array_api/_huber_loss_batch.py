"""Codes with a sparse residual or with missing entries, of arrays of other libraries, on the device where they are.

The problem and its dual stand at the head of ``_huber_kernel.py``. As there: a working set of groups, proximal Newton
steps on it, and for the quadratic of each the Newton method on the norms of the groups. Rows in which no step lowers
the objective take a gradient step, with the next quadratic damped. Rows that do not get there are left to the compiled
solver.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host
from sdgs.coding.array_api._newton_batch import group_norms, newton
from sdgs.coding.array_api._squared_loss_batch import (
    LEAST_ALPHA,
    ROUNDS,
    Dictionary,
    by_size,
    coordinates,
    scattered,
    working_sets,
)
from sdgs.coding.compiled._huber_loss import FAR, solve_robust

_STEPS = 20  # proximal Newton steps on one working set
_INNER = 12  # Newton steps on one quadratic
_LENGTHS = (1.0, 0.4, 0.16, 0.064, 0.0256, 0.01)
_SET_BYTES = 1 << 28  # of the components of working sets that are looked at in one go


@dataclass(frozen=True, eq=False)
class _Rows:
    """x (m, p) and bounds mu (m, p), both 0 where missing, in units in which the clipped row has norm 1."""

    x: Any
    bound: Any
    alpha: Any

    def some(self, rows: Any) -> "_Rows":
        return _Rows(take(self.x, rows), take(self.bound, rows), take(self.alpha, rows))


def solve_robust_on_device(
    X: Any, words: Dictionary, alpha: float, mu: float, tol: float, max_iter: int
) -> tuple[Any, Any, Any, Any]:
    """Codes (m, k r), gaps, iterations and residuals (m, p) of the rows of ``X``, in which NaN is a missing entry."""
    xp = namespace(X)
    X = xp.astype(X, xp.float64)
    missing = xp.isnan(X)
    seen = xp.where(missing, xp.zeros_like(X), X)
    clipped = xp.clip(seen, -mu, mu) if np.isfinite(mu) else seen
    largest = xp.max(xp.abs(clipped), axis=1)
    positive = largest > 0
    unit = xp.where(positive, largest, xp.ones_like(largest))
    unit = unit * xp.sqrt(xp.sum((clipped / unit[:, None]) ** 2, axis=1))
    unit = xp.where(positive, unit, xp.ones_like(unit))
    if not bool(xp.all(xp.isfinite(unit))):
        raise ValueError("X has rows whose norm overflows. Scale X, alpha and huber down together.")
    bound = xp.where(missing, xp.zeros_like(X), (mu / unit)[:, None] * xp.ones_like(X))
    scaled = seen / unit[:, None]
    alphas = xp.minimum(alpha / unit, 2.0 * xp.ones_like(unit))
    rows = _Rows(xp.clip(scaled, -FAR, FAR), bound, alphas)
    codes, gap, n_iter = _solve(rows, words, xp.nonzero(positive)[0], tol, max_iter)

    # Wild entries were cut, and a code reaches that far; or the rounds did not suffice.
    reach = xp.max(xp.abs(codes @ words.C), axis=1) + xp.minimum(mu / unit, FAR * xp.ones_like(unit))
    cut = xp.any(xp.abs(scaled) > FAR, axis=1) & (reach >= FAR)
    codes = codes * unit[:, None]
    left = xp.nonzero(cut | ((gap > tol) & (n_iter < max_iter)))[0]
    if left.shape[0]:
        columns, starts = words.on_host()
        C = to_host(words.C)[columns]
        b, found, used, _ = solve_robust(to_host(take(X, left)), C, C @ C.T, starts, alpha, mu, tol, max_iter)
        codes, gap = put(codes, left, words.padded(b)), put(gap, left, to_device_of(found, X))
        n_iter = put(n_iter, left, take(n_iter, left) + to_device_of(used, X))
    error = xp.where(missing, xp.zeros_like(X), seen - codes @ words.C)
    clipped_error = xp.clip(error, -mu, mu) if np.isfinite(mu) else error
    return codes, gap, n_iter, error - clipped_error


def _solve(rows: _Rows, words: Dictionary, going: Any, tol: float, max_iter: int) -> tuple[Any, Any, Any]:
    """Codes, gaps and iterations; rows that are not among ``going`` have nothing observed but zeros."""
    xp, r = namespace(rows.x), words.r
    m = rows.x.shape[0]
    codes = xp.zeros((m, words.C.shape[0]), dtype=xp.float64, device=device(rows.x))
    gap, n_iter = xp.zeros_like(rows.alpha), xp.zeros((m,), dtype=xp.int64, device=device(rows.x))
    targets = xp.ones_like(gap)
    for number in range(ROUNDS + 1):
        mine, b = rows.some(going), take(codes, going)
        error, theta = _residual(mine, b, words.C)
        q = theta @ xp.matrix_transpose(words.C)
        b_norms, q_norms = group_norms(b, r), group_norms(q, r)
        # Clipped entries have norm 1, so half of that is the objective of the zero code.
        found = 2 * _gap(mine.alpha, b, q, error, theta, b_norms, q_norms)
        gap = put(gap, going, found)
        stay = xp.nonzero((found > tol) & (take(n_iter, going) < max_iter) & (mine.alpha >= LEAST_ALPHA))[0]
        if stay.shape[0] == 0 or number == ROUNDS:
            break
        going, b, b_norms, q_norms, found = (take(a, stay) for a in (going, b, b_norms, q_norms, found))
        mine, used, before = mine.some(stay), take(n_iter, going), take(targets, going)
        sets, sizes, offended = working_sets(b_norms, q_norms, mine.alpha)
        least = 0.3 * tol * xp.ones_like(found)
        target = xp.where(offended, xp.maximum(least, 0.05 * found), 0.1 * xp.minimum(before, found))
        targets = put(targets, going, target)
        p, new = rows.x.shape[1], xp.zeros_like(b)
        for some, W in by_size(sets, sizes, r, lambda n: 8 * n * (p + n), _SET_BYTES):  # noqa: B023
            places = coordinates(take(sets, some)[:, :W], r)
            start = xp.take_along_axis(take(b, some), places, axis=1)
            C = xp.reshape(take(words.C, xp.reshape(places, (-1,))), (*places.shape, p))
            found_b, steps = _solve_set(mine.some(some), C, start, 0.5 * take(target, some), r)
            new = scattered(new, some, places, found_b)
            used = put(used, some, take(used, some) + steps + 1)
        codes, n_iter = put(codes, going, new), put(n_iter, going, used)
    return codes, gap, n_iter


def _residual(rows: _Rows, b: Any, C: Any) -> tuple[Any, Any]:
    """X - b C, and the same within its bounds."""
    xp = namespace(b)
    fit = b @ C if C.ndim == 2 else (b[:, None, :] @ C)[:, 0, :]
    error = rows.x - fit
    return error, xp.minimum(xp.maximum(error, -rows.bound), rows.bound)


def _gap(alpha: Any, b: Any, q: Any, error: Any, theta: Any, b_norms: Any, q_norms: Any) -> Any:
    """P - D at theta scaled into the dual's bounds."""
    xp = namespace(b)
    worst = xp.max(q_norms, axis=1)
    t = xp.where(worst > alpha, alpha / xp.maximum(worst, alpha), xp.ones_like(worst))
    loss = xp.sum(theta * (error - 0.5 * (1 + t)[:, None] * theta), axis=1)
    gap = alpha * xp.sum(b_norms, axis=1) + (1 - t) * loss - t * xp.sum(b * q, axis=1)
    return xp.maximum(gap, xp.zeros_like(gap))


def _solve_set(rows: _Rows, C: Any, b: Any, target: Any, r: int) -> tuple[Any, Any]:
    """Bring the gap over the groups C (m, n, p) to ``target``, from b (m, n); all rows go on until the last is done."""
    xp = namespace(b)
    n = b.shape[1]
    Ct = xp.matrix_transpose(C)
    eye = xp.eye(n, dtype=b.dtype, device=device(b))
    damping, share = xp.zeros_like(target), 0.1 * xp.ones_like(target)
    last, steps = float("inf") * xp.ones_like(target), xp.zeros(target.shape, dtype=xp.int64, device=device(b))
    for _ in range(_STEPS):
        error, theta = _residual(rows, b, C)
        q = (theta[:, None, :] @ Ct)[:, 0, :]
        b_norms = group_norms(b, r)
        gap = _gap(rows.alpha, b, q, error, theta, b_norms, group_norms(q, r))
        going = gap > target
        if not bool(xp.any(going)):
            break
        steps = steps + xp.astype(going, xp.int64)
        share = xp.where(gap > 0.5 * last, 0.03 * share, share)
        last = gap
        # The quadratic that has the loss' gradient here, and its curvature where entries are inside their bounds.
        inside = xp.astype(xp.abs(error) < rows.bound, b.dtype)
        H = (C * inside[:, None, :]) @ Ct + damping[:, None, None] * eye
        zeta = 4 * xp.sqrt(xp.sum(inside * rows.x**2 + (1 - inside) * theta**2, axis=1))
        zeta = xp.maximum(zeta, 1e-3 * xp.ones_like(zeta))
        c = (q + (H @ b[:, :, None])[:, :, 0]) / zeta[:, None]
        inner = xp.maximum(share * target / zeta**2, 1e-15 * xp.ones_like(zeta))
        found = newton(H, c, rows.alpha / zeta, b_norms / zeta[:, None], inner, r, _INNER)
        step = zeta[:, None] * found.b - b
        fit = (step[:, None, :] @ C)[:, 0, :]
        length = _step_length(rows, error, theta, b, step, fit, b_norms, gap, r)
        taken = length > 0
        # C_g has orthonormal rows: over W groups the loss curves at most as much as W/2 ||b||^2 does.
        W = n // r
        z = b + q / W
        norms = group_norms(z, r)
        shrink = 1 - xp.minimum(
            (rows.alpha / W)[:, None] / xp.maximum(norms, 1e-300 * xp.ones_like(norms)), norms * 0 + 1
        )
        gradient = z * xp.repeat(shrink, r, axis=1)
        new = xp.where(taken[:, None], b + length[:, None] * step, gradient)
        b = xp.where(going[:, None], new, b)
        eased = xp.where(damping > 1e-12, 0.1 * damping, xp.zeros_like(damping))
        damping = xp.where(taken, eased, xp.maximum(10 * damping, 1e-2 * xp.ones_like(damping)))
    return b, steps


def _step_length(
    rows: _Rows, error: Any, theta: Any, b: Any, step: Any, fit: Any, b_norms: Any, gap: Any, r: int
) -> Any:
    """The first of some lengths at which the objective falls; 0 where it does at none."""
    xp = namespace(b)
    chosen = xp.zeros_like(gap)
    penalty = xp.sum(b_norms, axis=1)
    outside = xp.abs(error) >= rows.bound
    before = theta * (error - 0.5 * theta)
    for length in _LENGTHS:
        new = error - length * fit
        clipped = xp.minimum(xp.maximum(new, -rows.bound), rows.bound)
        # Large entries that stay outside cancel exactly.
        stays = outside & (xp.abs(new) >= rows.bound) & (error * new > 0)
        change = xp.where(stays, -length * fit * theta, clipped * (new - 0.5 * clipped) - before)
        total = xp.sum(change, axis=1)
        total = total + rows.alpha * (xp.sum(group_norms(b + length * step, r), axis=1) - penalty)
        better = (chosen == 0) & (total < -1e-12 * gap)
        chosen = xp.where(better, xp.full_like(chosen, length), chosen)
        if bool(xp.all(chosen > 0)):
            break
    return chosen
