"""Newton's method on the norms of the groups, for many rows at once, in the array API standard.

The problem is described in ``_squared_loss_kernel.py``, the method in ``_newton_kernel.py``. Here every row has W
groups of r coordinates, n = W r, and the first axis of all arrays is that of the rows. Padded coordinates have zeros in
H and c, and stay zero.
"""

from typing import Any

from array_api_compat import device

from sdgs._utils._array_api import namespace, put, take
from sdgs.coding._coding_problem import ROUNDING

_MAX_CLAMPING_ROUNDS = 6  # in which groups are clamped at zero before a step is cut off there
_MIN_STEP_LENGTH = 1e-3
_COMPACTION_FRACTION = 0.6  # finished rows leave the batch when at most this fraction of its rows is left


def group_norms(v: Any, r: int) -> Any:
    """Euclidean norm of each group of each row (m, k), of (m, k r)."""
    xp = namespace(v)
    m, width = v.shape
    return xp.sqrt(xp.sum(xp.reshape(v * v, (m, width // r, r)), axis=2))


def correlation_rounding(penalty: Any) -> Any:
    """The rounding of correlations, from the sum of the norms of the groups; a zero code has none."""
    return namespace(penalty).where(penalty > 0, ROUNDING * (1 + penalty), penalty)


def gaps(c: Any, b: Any, q: Any, b_norms: Any, q_norms: Any, alphas: Any) -> Any:
    """Relative duality gaps of rows of unit norm, at most; the formulas are in ``_squared_loss_kernel.py``."""
    xp = namespace(c)
    bc, bq = xp.sum(b * c, axis=1), xp.sum(b * q, axis=1)
    zero = xp.zeros_like(bc)
    rho2, x_rho = xp.maximum(1 - bc - bq, zero), 1 - bc
    penalty = xp.sum(b_norms, axis=1)
    t = alphas / (xp.maximum(xp.max(q_norms, axis=1), 1e-9 * alphas) + correlation_rounding(penalty))
    beyond = t * rho2 > x_rho
    t = xp.where(beyond, xp.maximum(x_rho, zero) / xp.where(beyond & (rho2 > 0), rho2, xp.ones_like(rho2)), t)
    gap = xp.maximum(rho2 + 2 * alphas * penalty - t * (2 * x_rho - t * rho2), zero)
    return gap + ROUNDING * penalty * (1 + penalty)


def newton(H: Any, c: Any, alphas: Any, eta: Any, targets: Any, r: int, max_steps: int) -> tuple[Any, Any]:
    """Minimise over W groups, H (m, n, n), c (m, n), from norms ``eta`` (m, W), until the gap is at most ``targets``.

    Returns the codes (m, n) and the number of steps (m,). A row stops early, with its last code, if no step lowers F or
    after ``max_steps``.
    """
    xp = namespace(H)
    rows = xp.arange(eta.shape[0], device=device(H))
    b_out, steps_out = xp.zeros_like(c), xp.zeros_like(rows)
    one = xp.ones_like(alphas)
    F, length, step = one * float("inf"), one, xp.zeros_like(eta)
    b, careful, finished = xp.zeros_like(c), alphas < 0, alphas < 0
    eta_max = 1 / alphas  # the penalty at the solution is at most P(0) = 1/2
    redundant = _redundant_groups(H, r)
    eta = xp.where(redundant, xp.zeros_like(eta), eta)
    for done in range(max_steps + 1):
        trial = xp.minimum(xp.maximum(eta + length[:, None] * step, xp.zeros_like(eta)), eta_max[:, None])
        F_trial, b_trial, q_trial, inverse, D = _ridge(H, c, alphas, trial, r)
        accepted = ((F_trial <= F + 1e-15) | (length == 0)) & ~finished
        eta = xp.where(accepted[:, None], trial, eta)
        b = xp.where(accepted[:, None], b_trial, b)
        F = xp.where(accepted, F_trial, F)
        q_norms = group_norms(q_trial, r)
        gap = gaps(c, b_trial, q_trial, group_norms(b_trial, r), q_norms, alphas)
        finished = finished | (accepted & ((gap <= targets) | (careful & (length == 0))))
        careful = xp.where(accepted, length == 0, careful)
        n_unfinished = int(xp.count_nonzero(~finished))
        if n_unfinished == 0 or done == max_steps:
            break
        new_step = _newton_step(H, q_trial, q_norms, alphas, trial, inverse, D, careful, redundant, r)
        step = xp.where(accepted[:, None], new_step, step)
        shorter = xp.where(length > _MIN_STEP_LENGTH, 0.4 * length, xp.zeros_like(length))
        length = xp.where(accepted, xp.ones_like(length), shorter)
        if n_unfinished <= _COMPACTION_FRACTION * finished.shape[0]:
            b_out, steps_out = _store_rows(b_out, steps_out, rows, b, xp.nonzero(finished)[0], done)
            unfinished = xp.nonzero(~finished)[0]
            state = rows, H, c, alphas, eta, targets, F, length, step, b, careful, finished, eta_max, redundant
            rows, H, c, alphas, eta, targets, F, length, step, b, careful, finished, eta_max, redundant = (
                take(array, unfinished) for array in state
            )
    return _store_rows(b_out, steps_out, rows, b, xp.arange(rows.shape[0], device=device(H)), done)


def _store_rows(b_out: Any, steps_out: Any, rows: Any, b: Any, finished: Any, done: int) -> tuple[Any, Any]:
    """Copy the codes of finished rows of the batch, and their number of steps, to the output."""
    rows = take(rows, finished)
    return put(b_out, rows, take(b, finished)), put(steps_out, rows, namespace(b).full_like(rows, done))


def _ridge(H: Any, c: Any, alphas: Any, eta: Any, r: int) -> tuple[Any, ...]:
    """F(eta), b and q there, (alpha I + D H D)^-1 and the diagonal of D."""
    xp = namespace(H)
    D = xp.repeat(xp.sqrt(eta), r, axis=1)
    n = D.shape[1]
    K = D[:, :, None] * H * D[:, None, :] + alphas[:, None, None] * xp.eye(n, dtype=H.dtype, device=device(H))
    inverse = xp.linalg.inv(K)
    b = D * _times(inverse, D * c)
    F = 0.5 * (1 - xp.sum(c * b, axis=1) + alphas * xp.sum(eta, axis=1))
    return F, b, c - _times(H, b), inverse, D


def _redundant_groups(H: Any, r: int) -> Any:
    """(m, W): whether a group's subspace is contained in that of an earlier group, which then gets the whole code.

    Block descent gives the same. With P_g = C_g^T C_g the sum of squares of a block of H is <P_g, P_h>, which equals
    |P_g|^2 if the subspace of g is contained in that of h; or, if H is weighted by entries, if the two are the same.
    """
    xp = namespace(H)
    m, n, _ = H.shape
    W = n // r
    M = xp.sum(xp.reshape(H * H, (m, W, r, W, r)), axis=(2, 4))
    size = xp.linalg.diagonal(M)[:, :, None]
    earlier = xp.tril(xp.ones((W, W), dtype=H.dtype, device=device(H)), k=-1) > 0
    within = (xp.abs(M - size) <= 1e-9 * size) & (xp.matrix_transpose(size) >= (1 - 1e-9) * size)
    return xp.any(earlier & within, axis=2)


def sweep(H: Any, c: Any, alphas: Any, b: Any, r: int) -> Any:
    """One pass of exact block updates from b (m, n), where H is the identity within groups.

    If several groups fit equally well, the first gets the whole code; Newton's method alone would split it evenly.
    """
    xp = namespace(H)
    q, parts = c - _times(H, b), []
    for start in range(0, b.shape[1], r):
        group = slice(start, start + r)
        z = b[:, group] + q[:, group]
        norm = xp.sqrt(xp.sum(z * z, axis=1))
        shrink = xp.where(norm > alphas, 1 - alphas / xp.maximum(norm, alphas), xp.zeros_like(norm))
        parts.append(shrink[:, None] * z)
        q = q - ((parts[-1] - b[:, group])[:, None, :] @ H[:, group, :])[:, 0, :]
    return xp.concat(parts, axis=1)


def _newton_step(
    H: Any, q: Any, q_norms: Any, alphas: Any, eta: Any, inverse: Any, D: Any, careful: Any, redundant: Any, r: int
) -> Any:
    """The Newton step over the groups that may move, bounded so that eta stays >= 0; redundant groups stay at 0."""
    xp = namespace(H)
    m, n = q.shape
    W = n // r
    zero = xp.zeros_like(eta)
    by_group = xp.reshape(q, (m, W, r))
    P = xp.sum(xp.reshape(H, (m, n, W, r)) * by_group[:, None, :, :], axis=3)  # H q_g, one column per group
    DP = D[:, :, None] * P
    N = xp.sum(by_group[:, :, :, None] * xp.reshape(P, (m, W, r, W)), axis=2)
    N = N - xp.matrix_transpose(DP) @ (inverse @ DP)
    alpha = alphas[:, None]
    moving = (eta > 0) | ((q_norms > alpha) & ~redundant)
    rhs = xp.where(moving, q_norms * q_norms * (q_norms - alpha), zero)
    eye = xp.eye(W, dtype=H.dtype, device=device(H))
    clamped = zero > 1
    for _ in range(_MAX_CLAMPING_ROUNDS):
        both = moving[:, :, None] & moving[:, None, :]
        # Two groups with the same subspace, or one without correlation, would make it singular.
        A = xp.where(both, N * (1 + 1e-12 * eye) + 1e-30 * eye, eye)
        right = xp.where(moving, rhs + _times(N, xp.where(clamped, eta, zero)), zero)
        y = xp.linalg.solve(A, right[:, :, None])[:, :, 0]
        y = xp.where(xp.isfinite(y), y, zero)
        below = moving & (y <= 0) & (eta + y <= 0) & ~(careful[:, None] & (eta > 0))
        if not bool(xp.any(below)):
            break
        clamped, moving = clamped | below, moving & ~below
    # The careful step ends where the first group reaches zero.
    over = careful[:, None] & moving & (eta > 0) & (eta + y < 0)
    reach = xp.min(xp.where(over, -eta / xp.where(over, y, -xp.ones_like(y)), xp.ones_like(y)), axis=1)
    return xp.where(clamped, -eta, xp.where(moving, reach[:, None] * y, zero))


def _times(A: Any, v: Any) -> Any:
    return (A @ v[:, :, None])[:, :, 0]
