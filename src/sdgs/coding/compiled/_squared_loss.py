"""Codes of complete rows without a residual, from their correlations c = C x with the dictionary."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Solved = tuple[Floats, Floats, Integers]

_FIRST = 16  # groups that a row's set begins with, at most


def solve_by_gram(c: Floats, G: Floats, starts: Integers, alphas: Floats, tol: float, max_iter: int) -> Solved:
    """Codes (n, R), gaps and iterations of rows of unit norm; ``c`` (n, R) is overwritten. ``G`` is C C^T."""
    from sdgs.coding.compiled._squared_loss_kernel import solve_rows

    n, R = c.shape
    gap, n_iter = np.zeros(n), np.zeros(n, dtype=np.int64)
    if R == 0:
        return c, gap, n_iter
    floats, ints = np.empty((14, R + 1)), np.empty((5, R + 1), dtype=np.int64)
    size, row = min(R, 32 * int(np.diff(starts).max())), 0
    while True:
        square = np.empty((4, size, size))
        row = solve_rows(row, c, G, starts, alphas, tol, max_iter, gap, n_iter, square, floats, ints)
        if row == n:
            return c, gap, n_iter
        size = min(R, 2 * size)


def solve_by_sets(c: Floats, C: Floats, starts: Integers, alphas: Floats, tol: float, max_iter: int) -> Solved:
    """The same without C C^T, where that would be too large.

    Each row is solved over a set of groups, those in its code and the worst offenders, with the products of that set
    alone. Then all rows are checked against all groups by two products with C. The gap over all groups is the stop.
    """
    n, R = c.shape
    codes, q = np.zeros((n, R)), c.copy()
    gap, n_iter = np.zeros(n), np.zeros(n, dtype=np.int64)
    rows, target = np.arange(n), np.full(n, tol)
    while True:
        b_norms, q_norms = _group_norms(codes[rows], starts), _group_norms(q[rows], starts)
        gap[rows] = _gaps(c[rows], codes[rows], q[rows], b_norms, q_norms, alphas[rows])
        going = (gap[rows] > tol) & (n_iter[rows] < max_iter)
        rows, b_norms, q_norms = rows[going], b_norms[going], q_norms[going]
        if rows.size == 0:
            return codes, gap, n_iter
        for row, b_norm, q_norm in zip(rows, b_norms, q_norms, strict=True):
            inside = b_norm > 0
            q_norm[inside] = 0
            offenders = np.flatnonzero(q_norm > alphas[row])
            new = max(_FIRST, int(inside.sum()))
            if offenders.size > new:
                offenders = offenders[np.argpartition(-q_norm[offenders], new)[:new]]
            elif offenders.size == 0:  # it is the set itself that needs a closer look
                target[row] *= 0.1
            groups = np.sort(np.concatenate([np.flatnonzero(inside), offenders]))
            sizes = np.diff(starts)[groups]
            index = np.repeat(starts[groups] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            own = C[index]
            b, _, used = solve_by_gram(
                c[row, index][None],
                own @ own.T,
                np.concatenate([[0], np.cumsum(sizes)]),
                alphas[row : row + 1],
                max(target[row], 1e-15),
                max_iter - n_iter[row],
            )
            codes[row] = 0
            codes[row, index] = b[0]
            n_iter[row] += used[0] + 1
        q[rows] = c[rows] - (csr_array(codes[rows]) @ C) @ C.T


def _group_norms(v: Floats, starts: Integers) -> Floats:
    """Euclidean norm of each group of each row."""
    return np.asarray(np.sqrt(np.add.reduceat(v * v, starts[:-1], axis=1)))


def _gaps(c: Floats, b: Floats, q: Floats, b_norms: Floats, q_norms: Floats, alphas: Floats) -> Floats:
    """Relative duality gaps; the formulas are at the head of the kernel."""
    bc, bq = np.einsum("ij,ij->i", b, c), np.einsum("ij,ij->i", b, q)
    rho2, x_rho = np.maximum(1 - bc - bq, 0), 1 - bc
    t = alphas / np.maximum(q_norms.max(axis=1), 1e-9 * alphas)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((t * rho2 > x_rho) & (rho2 > 0), np.maximum(x_rho, 0) / rho2, t)
    return np.asarray(np.maximum(rho2 + 2 * alphas * b_norms.sum(axis=1) - t * (2 * x_rho - t * rho2), 0))
