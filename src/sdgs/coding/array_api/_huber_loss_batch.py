"""Codes with a sparse residual or with missing entries, of arrays of other libraries, on their device.

The problem and its dual are described in ``_huber_loss_kernel.py``. As there: a working set of groups, proximal Newton
steps on it, and for the quadratic of each step Newton's method on the norms of the groups. Rows for which no step
lowers the objective take a gradient step, and their next quadratic is damped. Rows that do not converge are solved on
the host.
"""

from dataclasses import dataclass, replace
from typing import Any

from array_api_compat import device

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host
from sdgs.coding._coding_problem import ROUNDING, CodingProblem, Dictionary
from sdgs.coding.array_api._newton_batch import correlation_rounding, group_norms, newton
from sdgs.coding.array_api._padded_dictionary import MAX_ROUNDS, PaddedDictionary, round_codes, solve_in_rounds
from sdgs.coding.compiled._huber_loss import CLIP_FACTOR, clip, clipped_norms, solve_huber_loss

_MAX_PROXIMAL_STEPS = 20  # on one working set
_QUADRATIC_STEPS = 12  # Newton steps on one quadratic
_STEP_LENGTHS = (1.0, 0.4, 0.16, 0.064, 0.0256, 0.01)
_SET_BYTES = 1 << 28  # of the components of a batch of working sets


@dataclass(frozen=True, eq=False)
class _ScaledSamples:
    """x (m, p) and bounds mu (m, p), both 0 where missing, in units in which the clipped row has norm 1."""

    x: Any
    bound: Any
    alpha: Any

    def take(self, rows: Any) -> "_ScaledSamples":
        return _ScaledSamples(take(self.x, rows), take(self.bound, rows), take(self.alpha, rows))


def solve_huber_loss_on_device(
    X: Any, dictionary: PaddedDictionary, problem: CodingProblem, *, max_rounds: int = MAX_ROUNDS
) -> tuple[Any, Any, Any, Any]:
    """Codes (m, k r), gaps, iterations and residuals (m, p) of the rows of ``X``, in which NaN is a missing entry.

    Codes have the precision of ``X``; gaps and residuals are those of the codes after rounding.
    """
    xp, C, mu, dtype = namespace(X), dictionary.C, problem.bound, X.dtype
    X = xp.astype(X, xp.float64)
    missing = xp.isnan(X)
    observed = xp.where(missing, xp.zeros_like(X), X)
    unit, is_zero = clipped_norms(observed, mu)
    bound = xp.where(missing, xp.zeros_like(X), (mu / unit)[:, None] * xp.ones_like(X))
    scaled = observed / unit[:, None]
    alphas = xp.minimum(problem.alpha / unit, 2.0 * xp.ones_like(unit))
    samples = _ScaledSamples(xp.clip(scaled, -CLIP_FACTOR, CLIP_FACTOR), bound, alphas)
    b, gap, n_iter = _solve_scaled(samples, dictionary, xp.nonzero(~is_zero)[0], problem, max_rounds)

    # The host solves the rows that have not converged, and those with clipped entries whose code reaches the bound.
    reach = xp.max(xp.abs(b @ C), axis=1) + xp.minimum(mu / unit, CLIP_FACTOR * xp.ones_like(unit))
    too_clipped = xp.any(xp.abs(scaled) > CLIP_FACTOR, axis=1) & (reach >= CLIP_FACTOR)
    unsolved = ~(gap <= problem.solver_tol) & (n_iter < problem.max_iter)
    codes, b = round_codes(b, unit, dtype)
    gap = xp.where(is_zero, gap, _check(samples, b, dictionary)[0])
    codes, gap = problem.or_zero_codes(codes, gap, lambda: _check(samples, xp.zeros_like(b), dictionary)[0])
    rows = xp.nonzero(too_clipped | unsolved)[0]
    if rows.shape[0]:
        columns, starts = dictionary.host_layout()
        C_host = to_host(C)[columns]
        on_host = replace(problem, dictionary=Dictionary(C_host.astype(problem.C.dtype), starts))
        x = to_host(xp.astype(take(X, rows), dtype))
        row_codes, row_gaps, used, _ = solve_huber_loss(x, on_host, C_host @ C_host.T)
        codes = put(codes, rows, xp.astype(dictionary.pad_codes(row_codes), dtype))
        gap = put(gap, rows, to_device_of(row_gaps, X))
        n_iter = put(n_iter, rows, take(n_iter, rows) + to_device_of(used, X))
    error = xp.where(missing, xp.zeros_like(X), observed - xp.astype(codes, xp.float64) @ C)
    return codes, gap, n_iter, error - clip(error, mu)


def _solve_scaled(
    samples: _ScaledSamples, dictionary: PaddedDictionary, rows: Any, problem: CodingProblem, max_rounds: int
) -> tuple[Any, Any, Any]:
    """Codes, gaps and iterations; rows that are not among ``rows`` are zero where observed."""
    xp, r, C, p = namespace(samples.x), dictionary.r, dictionary.C, samples.x.shape[1]

    def check(rows: Any, b: Any) -> tuple[Any, Any, Any]:
        return _check(samples.take(rows), b, dictionary)

    def solve(rows: Any, columns: Any, b: Any, targets: Any) -> tuple[Any, Any]:
        C_set = xp.reshape(take(C, xp.reshape(columns, (-1,))), (*columns.shape, p))
        return _solve_working_sets(samples.take(rows), C_set, b, 0.5 * targets, r)

    arguments = (check, solve, lambda n: 8 * n * (p + n), _SET_BYTES, max_rounds)
    return solve_in_rounds(rows, samples.alpha, dictionary, problem, *arguments)


def _check(samples: _ScaledSamples, b: Any, dictionary: PaddedDictionary) -> tuple[Any, Any, Any]:
    """Relative gaps over all groups, and the norms of the groups of b and of the correlations."""
    C, r = dictionary.C, dictionary.r
    error, theta = _residual(samples, b, C)
    q = theta @ namespace(b).matrix_transpose(C)
    b_norms, q_norms = group_norms(b, r), group_norms(q, r)
    # Clipped entries have norm 1, so that the objective of the zero code is 1/2.
    return 2 * _gap(samples.alpha, b, q, error, theta, b_norms, q_norms), b_norms, q_norms


def _residual(samples: _ScaledSamples, b: Any, C: Any) -> tuple[Any, Any]:
    """X - b C, and the same clipped to its bounds."""
    xp = namespace(b)
    fit = b @ C if C.ndim == 2 else (b[:, None, :] @ C)[:, 0, :]
    error = samples.x - fit
    return error, xp.minimum(xp.maximum(error, -samples.bound), samples.bound)


def _gap(alpha: Any, b: Any, q: Any, error: Any, theta: Any, b_norms: Any, q_norms: Any) -> Any:
    """P - D at theta scaled into the dual's bounds, at most."""
    xp = namespace(b)
    penalty = xp.sum(b_norms, axis=1)
    worst = xp.max(q_norms, axis=1) + correlation_rounding(penalty)
    t = xp.where(worst > alpha, alpha / xp.maximum(worst, alpha), xp.ones_like(worst))
    loss = xp.sum(theta * (error - 0.5 * (1 + t)[:, None] * theta), axis=1)
    gap = alpha * penalty + (1 - t) * loss - t * xp.sum(b * q, axis=1)
    return xp.maximum(gap, xp.zeros_like(gap)) + ROUNDING * penalty * (1 + penalty)


def _solve_working_sets(samples: _ScaledSamples, C: Any, b: Any, target: Any, r: int) -> tuple[Any, Any]:
    """Bring the gap over the groups C (m, n, p) to ``target``, from b (m, n), until the last row has converged.

    Returns the codes and the number of steps of each row.
    """
    xp = namespace(b)
    n = b.shape[1]
    Ct = xp.matrix_transpose(C)
    eye = xp.eye(n, dtype=b.dtype, device=device(b))
    damping, precision = xp.zeros_like(target), 0.1 * xp.ones_like(target)
    last, steps = float("inf") * xp.ones_like(target), xp.zeros(target.shape, dtype=xp.int64, device=device(b))
    for _ in range(_MAX_PROXIMAL_STEPS):
        error, theta = _residual(samples, b, C)
        q = (theta[:, None, :] @ Ct)[:, 0, :]
        b_norms = group_norms(b, r)
        gap = _gap(samples.alpha, b, q, error, theta, b_norms, group_norms(q, r))
        unsolved = ~(gap <= target)
        if not bool(xp.any(unsolved)):
            break
        steps = steps + xp.astype(unsolved, xp.int64)
        precision = xp.where(gap > 0.5 * last, 0.03 * precision, precision)
        last = gap
        # The quadratic has the gradient of the loss here, and its curvature where entries are within their bounds.
        inside = xp.astype(xp.abs(error) < samples.bound, b.dtype)
        H = (C * inside[:, None, :]) @ Ct + damping[:, None, None] * eye
        zeta = 4 * xp.sqrt(xp.sum(inside * samples.x**2 + (1 - inside) * theta**2, axis=1))
        zeta = xp.maximum(zeta, 1e-3 * xp.ones_like(zeta))
        c = (q + (H @ b[:, :, None])[:, :, 0]) / zeta[:, None]
        quadratic_target = xp.maximum(precision * target / zeta**2, 1e-15 * xp.ones_like(zeta))
        b_quadratic, _ = newton(
            H, c, samples.alpha / zeta, b_norms / zeta[:, None], quadratic_target, r, _QUADRATIC_STEPS
        )
        step = zeta[:, None] * b_quadratic - b
        fit = (step[:, None, :] @ C)[:, 0, :]
        length = _step_length(samples, error, theta, b, step, fit, b_norms, gap, r)
        descends = length > 0
        new_b = xp.where(descends[:, None], b + length[:, None] * step, _gradient_step(b, q, samples.alpha, r))
        b = xp.where(unsolved[:, None], new_b, b)
        reduced = xp.where(damping > 1e-12, 0.1 * damping, xp.zeros_like(damping))
        damping = xp.where(descends, reduced, xp.maximum(10 * damping, 1e-2 * xp.ones_like(damping)))
    return b, steps


def _gradient_step(b: Any, q: Any, alpha: Any, r: int) -> Any:
    """A proximal gradient step: C_g has orthonormal rows, so that over W groups the curvature is at most W."""
    xp = namespace(b)
    W = b.shape[1] // r
    z = b + q / W
    norms = group_norms(z, r)
    shrink = 1 - xp.minimum((alpha / W)[:, None] / xp.maximum(norms, 1e-300 * xp.ones_like(norms)), norms * 0 + 1)
    return z * xp.repeat(shrink, r, axis=1)


def _step_length(
    samples: _ScaledSamples, error: Any, theta: Any, b: Any, step: Any, fit: Any, b_norms: Any, gap: Any, r: int
) -> Any:
    """The first of some lengths at which the objective falls; 0 if there is none."""
    xp = namespace(b)
    chosen = xp.zeros_like(gap)
    penalty = xp.sum(b_norms, axis=1)
    outside = xp.abs(error) >= samples.bound
    before = theta * (error - 0.5 * theta)
    for length in _STEP_LENGTHS:
        new = error - length * fit
        clipped = xp.minimum(xp.maximum(new, -samples.bound), samples.bound)
        # Large entries that stay outside cancel exactly.
        stays = outside & (xp.abs(new) >= samples.bound) & (error * new > 0)
        change = xp.where(stays, -length * fit * theta, clipped * (new - 0.5 * clipped) - before)
        total = xp.sum(change, axis=1)
        total = total + samples.alpha * (xp.sum(group_norms(b + length * step, r), axis=1) - penalty)
        better = (chosen == 0) & (total < -1e-12 * gap)
        chosen = xp.where(better, xp.full_like(chosen, length), chosen)
        if bool(xp.all(chosen > 0)):
            break
    return chosen
