"""Newton's method on the norms of the groups, for many rows at once: the compiled solver's, in the array API standard.

The problem and the method stand at the head of ``_kernel.py``. Here every row has W groups of r coordinates, n = W r,
and all arrays have one more axis, the rows, in front. Padded coordinates have zeros in H and c, and stay zero.
"""

from dataclasses import dataclass
from typing import Any

from array_api_compat import device

from sdgs._utils._array_api import namespace, put, take

_CLAMPINGS = 6  # rounds in which groups are held at zero before a step is cut off there
_SHORTEST = 1e-3
_LEAVE = 0.6  # share of the rows that still go on at which the others leave the batch


@dataclass(frozen=True, eq=False)
class Solved:
    """Codes (m, n), and how many steps each row took."""

    b: Any
    steps: Any


def group_norms(v: Any, r: int) -> Any:
    """Euclidean norm of each group of each row (m, k), of (m, k r)."""
    xp = namespace(v)
    m, width = v.shape
    return xp.sqrt(xp.sum(xp.reshape(v * v, (m, width // r, r)), axis=2))


def gaps(c: Any, b: Any, q: Any, b_norms: Any, q_norms: Any, alphas: Any) -> Any:
    """Relative duality gaps of rows of unit norm; the formulas are at the head of the kernel."""
    xp = namespace(c)
    bc, bq = xp.sum(b * c, axis=1), xp.sum(b * q, axis=1)
    zero = xp.zeros_like(bc)
    rho2, x_rho = xp.maximum(1 - bc - bq, zero), 1 - bc
    t = alphas / xp.maximum(xp.max(q_norms, axis=1), 1e-9 * alphas)
    beyond = t * rho2 > x_rho
    t = xp.where(beyond, xp.maximum(x_rho, zero) / xp.where(beyond & (rho2 > 0), rho2, xp.ones_like(rho2)), t)
    return xp.maximum(rho2 + 2 * alphas * xp.sum(b_norms, axis=1) - t * (2 * x_rho - t * rho2), zero)


def newton(H: Any, c: Any, alphas: Any, eta: Any, targets: Any, r: int, max_steps: int) -> Solved:
    """Minimise over W groups, H (m, n, n), c (m, n), from norms ``eta`` (m, W), until the gap is at most ``targets``.

    A row that does not get there, for no step lowers F or there were ``max_steps``, has what it came to.
    """
    xp = namespace(H)
    rows = xp.arange(eta.shape[0], device=device(H))
    b_out, steps_out = xp.zeros_like(c), xp.zeros_like(rows)
    one = xp.ones_like(alphas)
    F, length, step = one * float("inf"), one, xp.zeros_like(eta)
    b, careful, finished = xp.zeros_like(c), alphas < 0, alphas < 0
    most = 1 / alphas  # the penalty at the solution is at most P(0) = 1/2
    held = _twins(H, r)
    eta = xp.where(held, xp.zeros_like(eta), eta)
    for done in range(max_steps + 1):
        trial = xp.minimum(xp.maximum(eta + length[:, None] * step, xp.zeros_like(eta)), most[:, None])
        F_trial, b_trial, q_trial, inverse, D = _ridge(H, c, alphas, trial, r)
        accepted = ((F_trial <= F + 1e-15) | (length == 0)) & ~finished
        eta = xp.where(accepted[:, None], trial, eta)
        b = xp.where(accepted[:, None], b_trial, b)
        F = xp.where(accepted, F_trial, F)
        q_norms = group_norms(q_trial, r)
        gap = gaps(c, b_trial, q_trial, group_norms(b_trial, r), q_norms, alphas)
        finished = finished | (accepted & ((gap <= targets) | (careful & (length == 0))))
        careful = xp.where(accepted, length == 0, careful)
        left = int(xp.count_nonzero(~finished))
        if left == 0 or done == max_steps:
            break
        new = _step(H, q_trial, q_norms, alphas, trial, inverse, D, careful, held, r)
        step = xp.where(accepted[:, None], new, step)
        shorter = xp.where(length > _SHORTEST, 0.4 * length, xp.zeros_like(length))
        length = xp.where(accepted, xp.ones_like(length), shorter)
        if left <= _LEAVE * finished.shape[0]:
            gone, stay = xp.nonzero(finished)[0], xp.nonzero(~finished)[0]
            b_out, steps_out = _leave(b_out, steps_out, rows, b, gone, done)
            rows, H, c, alphas, eta, targets, F, length, step, b, careful, finished, most, held = (
                take(array, stay)
                for array in (rows, H, c, alphas, eta, targets, F, length, step, b, careful, finished, most, held)
            )
    b_out, steps_out = _leave(b_out, steps_out, rows, b, xp.arange(rows.shape[0], device=device(H)), done)
    return Solved(b_out, steps_out)


def _leave(b_out: Any, steps_out: Any, rows: Any, b: Any, gone: Any, done: int) -> tuple[Any, Any]:
    xp = namespace(b)
    places = take(rows, gone)
    return put(b_out, places, take(b, gone)), put(steps_out, places, xp.full_like(places, done))


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


def _twins(H: Any, r: int) -> Any:
    """Groups whose subspace is in that of an earlier one (m, W): that one takes all, as block descent would have it.

    With P_g = C_g^T C_g the sum of squares of a block of H is <P_g, P_h>, which is |P_g|^2 if the subspace of g is in
    that of h; and if H is weighted by entries, if they are the same.
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

    Of several groups that would do as well, the first has all then. Newton's method alone would split it evenly.
    """
    xp = namespace(H)
    q, parts = c - _times(H, b), []
    for start in range(0, b.shape[1], r):
        own = slice(start, start + r)
        z = b[:, own] + q[:, own]
        norm = xp.sqrt(xp.sum(z * z, axis=1))
        shrink = xp.where(norm > alphas, 1 - alphas / xp.maximum(norm, alphas), xp.zeros_like(norm))
        parts.append(shrink[:, None] * z)
        q = q - ((parts[-1] - b[:, own])[:, None, :] @ H[:, own, :])[:, 0, :]
    return xp.concat(parts, axis=1)


def _step(
    H: Any, q: Any, q_norms: Any, alphas: Any, eta: Any, inverse: Any, D: Any, careful: Any, held: Any, r: int
) -> Any:
    """The Newton step over the groups that may move, bounded so that eta stays >= 0; those ``held`` at 0 may not."""
    xp = namespace(H)
    m, n = q.shape
    W = n // r
    zero = xp.zeros_like(eta)
    by_group = xp.reshape(q, (m, W, r))
    P = xp.sum(xp.reshape(H, (m, n, W, r)) * by_group[:, None, :, :], axis=3)  # H q_g, a column a group
    DP = D[:, :, None] * P
    N = xp.sum(by_group[:, :, :, None] * xp.reshape(P, (m, W, r, W)), axis=2)
    N = N - xp.matrix_transpose(DP) @ (inverse @ DP)
    alpha = alphas[:, None]
    moving = (eta > 0) | ((q_norms > alpha) & ~held)
    rhs = xp.where(moving, q_norms * q_norms * (q_norms - alpha), zero)
    eye = xp.eye(W, dtype=H.dtype, device=device(H))
    clamped = zero > 1
    for _ in range(_CLAMPINGS):
        both = moving[:, :, None] & moving[:, None, :]
        # Two groups with the same subspace make it singular, and so does one with nothing to say.
        A = xp.where(both, N * (1 + 1e-12 * eye) + 1e-30 * eye, eye)
        right = xp.where(moving, rhs + _times(N, xp.where(clamped, eta, zero)), zero)
        y = xp.linalg.solve(A, right[:, :, None])[:, :, 0]
        y = xp.where(xp.isfinite(y), y, zero)
        below = moving & (y <= 0) & (eta + y <= 0) & ~(careful[:, None] & (eta > 0))
        if not bool(xp.any(below)):
            break
        clamped, moving = clamped | below, moving & ~below
    # The careful step ends where the first group gets to zero.
    over = careful[:, None] & moving & (eta > 0) & (eta + y < 0)
    reach = xp.min(xp.where(over, -eta / xp.where(over, y, -xp.ones_like(y)), xp.ones_like(y)), axis=1)
    return xp.where(clamped, -eta, xp.where(moving, reach[:, None] * y, zero))


def _times(A: Any, v: Any) -> Any:
    return (A @ v[:, :, None])[:, :, 0]
