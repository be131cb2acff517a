"""Newton's method on the norms of the groups: the group lasso of one row, restricted to a working set of groups.

In the variational form ||b_g|| = min over eta_g >= 0 of (||b_g||^2 / eta_g + eta_g) / 2 the problem is smooth in
eta, with one variable per group. H holds the products of the rows of the dictionary, c those with the sample, and
q = c - H b.
"""

import math
from typing import Any

import numpy as np

from sdgs.deployment.predictor._sample_blocks import Floats

ROUNDING = 4 * float(np.finfo(np.float64).eps)


def norms_of_groups(v: Floats, starts: Any) -> Floats:
    """The Euclidean norm of each group of a vector."""
    return np.asarray(np.sqrt(np.add.reduceat(v * v, starts[:-1])))


def duality_gap(c: Floats, starts: Any, alpha: float, b: Floats, q: Floats) -> tuple[float, Floats, Floats]:
    """The relative duality gap, at most, and the norms of the groups of b and q."""
    b_norms, q_norms = norms_of_groups(b, starts), norms_of_groups(q, starts)
    penalty = float(b_norms.sum())
    worst = max(alpha * 1e-9, float(q_norms.max(initial=0))) + (ROUNDING * (1 + penalty) if penalty > 0 else 0.0)
    bc, bq = float(b @ c), float(b @ q)
    rho2, x_rho, t = max(1 - bc - bq, 0.0), 1 - bc, alpha / worst
    if t * rho2 > x_rho and rho2 > 0:
        t = max(x_rho, 0.0) / rho2
    gap = max(rho2 + 2 * alpha * penalty - t * (2 * x_rho - t * rho2), 0.0)
    return gap + ROUNDING * penalty * (1 + penalty), b_norms, q_norms


class RidgePoint:
    """F(eta), and b and q there; F is infinite if alpha is lost in the rounding of the products."""

    def __init__(self, H: Floats, c: Floats, starts: Any, alpha: float, eta: Floats) -> None:
        of_coordinates = np.repeat(eta, np.diff(starts))
        self.live = np.flatnonzero(of_coordinates > 0)
        self.d = np.sqrt(of_coordinates[self.live])
        self.b, self.q, self.F = np.zeros(c.size), c.copy(), math.inf
        K = self.d[:, None] * H[np.ix_(self.live, self.live)] * self.d
        K.flat[:: self.live.size + 1] += alpha
        try:
            self.L = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return
        y = np.linalg.solve(self.L, self.d * c[self.live])
        self.F = 0.5 * float(1 + alpha * eta.sum() - y @ y)
        self.b[self.live] = self.d * np.linalg.solve(self.L.T, y)
        self.q -= self.b[self.live] @ H[self.live]


def newton_step(
    H: Floats, starts: Any, alpha: float, point: RidgePoint, q_norms: Floats, eta: Floats, *, careful: bool
) -> Floats | None:
    """The step over the groups that may move, bounded so that eta stays >= 0. None if the system is singular."""
    step = np.zeros(eta.size)
    free = np.flatnonzero((eta > 0) | (q_norms > alpha))
    Q = np.zeros((free.size, point.q.size))
    for row, group in enumerate(free):
        part = slice(starts[group], starts[group + 1])
        Q[row, part] = point.q[part]
    products = H @ Q.T
    Z = np.linalg.solve(point.L, point.d[:, None] * products[point.live])
    N = Q @ products - Z.T @ Z
    rhs = q_norms[free] ** 2 * (q_norms[free] - alpha)
    keep = np.arange(free.size)
    while True:
        A = N[np.ix_(keep, keep)]
        A.flat[:: keep.size + 1] *= 1 + 1e-12  # two groups with the same subspace make it singular
        try:
            L = np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return None
        y = np.linalg.solve(L.T, np.linalg.solve(L, rhs[keep]))
        groups = free[keep]
        reach = 1.0
        if careful:
            for value, norm in zip(y, eta[groups], strict=True):
                if norm > 0 and norm + reach * value < 0:
                    reach = -norm / value
        stays = (y > 0) | (eta[groups] + y > 0) | (careful & (eta[groups] > 0))
        step[groups] = np.where(stays, reach * y, -eta[groups])
        if stays.all():
            return step
        rhs += N[:, keep[~stays]] @ eta[groups[~stays]]
        keep = keep[stays]


def newton(
    H: Floats, c: Floats, starts: Any, alpha: float, target: float, max_steps: int, b: Floats
) -> tuple[Floats, Floats, int]:
    """The code and q after Newton steps from eta_g = ||b_g||, and their number; until the gap is at most ``target``."""
    last = norms_of_groups(b, starts)
    step, F, careful = np.zeros(last.size), math.inf, False
    for done in range(max_steps):
        length = 1.0
        while True:
            eta = np.maximum(last + length * step, 0.0)
            point = RidgePoint(H, c, starts, alpha, eta)
            if point.F <= F + 1e-15 or length == 0:
                break
            length = 0.4 * length if length > 1e-3 else 0.0
        F = point.F
        gap, _, q_norms = duality_gap(c, starts, alpha, point.b, point.q)
        if gap <= target or (careful and length == 0) or not math.isfinite(F):
            return point.b, point.q, done
        careful, last = length == 0, eta
        found = newton_step(H, starts, alpha, point, q_norms, eta, careful=careful)
        if found is None:
            return point.b, point.q, done
        step = found
    return point.b, point.q, max_steps
