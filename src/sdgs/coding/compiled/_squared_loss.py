"""Codes of complete rows without a residual, from their correlations c = C x with the dictionary."""

import numpy as np
from scipy.sparse import csr_array

from sdgs.coding._coding_problem import ROUNDING, Floats, Integers

Solution = tuple[Floats, Floats, Integers]  # codes (n, R), gaps (n,) and iterations (n,)

_MIN_NEW_GROUPS = 16  # by which a row's working set may grow at least


def solve_by_gram(c: Floats, G: Floats, starts: Integers, alphas: Floats, tol: float, max_iter: int) -> Solution:
    """Codes of rows of unit norm; ``c`` (n, R) is overwritten. ``G`` is C C^T."""
    from sdgs.coding.compiled._squared_loss_kernel import solve_rows

    n, R = c.shape
    gap, n_iter = np.zeros(n), np.zeros(n, dtype=np.int64)
    if R == 0:
        return c, gap, n_iter
    floats, ints = np.empty((16, R + 1)), np.empty((5, R + 1), dtype=np.int64)
    size, row = min(R, 32 * int((starts[1:] - starts[:-1]).max())), 0
    while True:
        square = np.empty((4, size, size))
        row = solve_rows(row, c, G, starts, alphas, tol, max_iter, gap, n_iter, square, floats, ints)
        if row == n:
            return c, gap, n_iter
        size = min(R, 2 * size)


def solve_by_working_sets(
    c: Floats, C: Floats, starts: Integers, alphas: Floats, tol: float, max_iter: int
) -> Solution:
    """The same without C C^T, for dictionaries for which that would be too large.

    Each row is solved over a working set, the groups in its code and the worst violators, with the products of that set
    alone. Then all rows are checked against all groups by two products with C. The gap over all groups is the stopping
    rule.
    """
    n, R = c.shape
    codes, best, q = np.zeros((n, R)), np.zeros((n, R)), c.copy()
    gap, n_iter = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    rows, target = np.arange(n), np.full(n, tol)
    while True:
        b_norms, q_norms = group_norms(codes[rows], starts), group_norms(q[rows], starts)
        row_gaps = _gaps(c[rows], codes[rows], q[rows], b_norms, q_norms, alphas[rows])
        better = row_gaps < gap[rows]
        gap[rows[better]], best[rows[better]] = row_gaps[better], codes[rows[better]]
        unsolved = ~(row_gaps <= tol) & (n_iter[rows] < max_iter)
        rows, b_norms, q_norms = rows[unsolved], b_norms[unsolved], q_norms[unsolved]
        if rows.size == 0:
            return best, gap, n_iter
        for row, b_norm, q_norm in zip(rows, b_norms, q_norms, strict=True):
            groups, has_grown = _choose_working_set(b_norm, q_norm, alphas[row])
            if not has_grown:  # the working set itself must be solved more accurately
                target[row] *= 0.1
            sizes = np.diff(starts)[groups]
            index = np.repeat(starts[groups] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            C_set = C[index]
            b, _, used = solve_by_gram(
                c[row, index][None],
                C_set @ C_set.T,
                np.concatenate([[0], np.cumsum(sizes)]),
                alphas[row : row + 1],
                max(target[row], 1e-15),
                max_iter - n_iter[row],
            )
            codes[row] = 0
            codes[row, index] = b[0]
            n_iter[row] += used[0] + 1
        q[rows] = c[rows] - (csr_array(codes[rows]) @ C) @ C.T


def _choose_working_set(b_norm: Floats, q_norm: Floats, alpha: float) -> tuple[Integers, bool]:
    """The groups in the code and the worst violators, ascending, and whether there are any of the latter."""
    nonzero = b_norm > 0
    violators = np.flatnonzero(~nonzero & (q_norm > alpha))
    max_new = max(_MIN_NEW_GROUPS, int(nonzero.sum()))
    if violators.size > max_new:
        violators = violators[np.argpartition(-q_norm[violators], max_new)[:max_new]]
    return np.sort(np.concatenate([np.flatnonzero(nonzero), violators])), violators.size > 0


def rounded_gaps(c: Floats, b: Floats, G: Floats | None, C: Floats, starts: Integers, alphas: Floats) -> Floats:
    """The gaps of codes b that were changed after they were solved for, by rounding."""
    sparse = csr_array(b)
    q = c - (sparse @ G if G is not None else (sparse @ C) @ C.T)
    return _gaps(c, b, q, group_norms(b, starts), group_norms(q, starts), alphas)


def group_norms(v: Floats, starts: Integers) -> Floats:
    """Euclidean norm of each group of each row."""
    return np.asarray(np.sqrt(np.add.reduceat(v * v, starts[:-1], axis=1)))


def correlation_rounding(penalty: Floats) -> Floats:
    """The rounding of correlations, from the sum of the norms of the groups; a zero code has none."""
    return np.where(penalty > 0, ROUNDING * (1 + penalty), 0.0)


def _gaps(c: Floats, b: Floats, q: Floats, b_norms: Floats, q_norms: Floats, alphas: Floats) -> Floats:
    """Relative duality gaps, at most; the formulas are in the docstring of the kernel."""
    bc, bq = np.einsum("ij,ij->i", b, c), np.einsum("ij,ij->i", b, q)
    rho2, x_rho = np.maximum(1 - bc - bq, 0), 1 - bc
    penalty = b_norms.sum(axis=1)
    t = alphas / (np.maximum(q_norms.max(axis=1), 1e-9 * alphas) + correlation_rounding(penalty))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((t * rho2 > x_rho) & (rho2 > 0), np.maximum(x_rho, 0) / rho2, t)
    gap = np.maximum(rho2 + 2 * alphas * penalty - t * (2 * x_rho - t * rho2), 0)
    return np.asarray(gap + ROUNDING * penalty * (1 + penalty))
