"""Codes of rows with a sparse residual or with missing entries."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sdgs._utils._array_api import namespace
from sdgs._utils._overflow import TooLargeError
from sdgs.coding._coding_problem import ROUNDING, CodingProblem, Floats, Integers
from sdgs.coding._group_codes import Array
from sdgs.coding.compiled._squared_loss import correlation_rounding, group_norms

# Entries larger than this many times a row's clipped norm are clipped to it: the code cannot follow them, so that only
# their sign matters, while their size would cost digits. If the code does reach the bound, the bound is raised.
CLIP_FACTOR = 1e3


def solve_huber_loss(X: Any, problem: CodingProblem, G: Floats) -> tuple[Array, Floats, Integers, Floats]:
    """Codes (n, R), gaps, iterations and residuals (n, p) of the rows of ``X``, in which NaN is a missing entry.

    Rows are divided by the norm of their clipped entries, and alpha and mu with them. ``G`` is C C^T. Codes have the
    precision of ``X``; gaps and residuals are those of the codes after rounding.
    """
    mu, dtype = problem.bound, X.dtype
    X = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    C = np.asarray(problem.C, dtype=np.float64)
    observed = ~np.isnan(X)
    unit, is_zero = clipped_norms(np.where(observed, X, 0.0), mu)
    n, R = len(X), C.shape[0]
    b, gap, n_iter = np.zeros((n, R)), np.zeros(n), np.zeros(n, dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled, bounds = X / unit[:, None], mu / unit
        clipped = np.zeros_like(X)
        rows, limit = np.flatnonzero(~is_zero) if R else np.empty(0, dtype=np.intp), CLIP_FACTOR
        # Correlations of unit rows are at most 1: above 2 the code is zero as well.
        alphas = np.minimum(problem.alpha / unit, 2.0)
        while rows.size:
            x = np.clip(scaled[rows], -limit, limit)
            b[rows], n_iter[rows] = _solve_scaled(x, problem, C, G, alphas[rows], bounds[rows])
            clipped[rows] = x  # in which missing entries are 0 now
            reach = np.abs(b[rows] @ C).max(axis=1) + np.minimum(bounds[rows], limit)
            is_clipped = (np.abs(np.where(observed[rows], scaled[rows], 0.0)) > limit).any(axis=1)
            rows, limit = rows[is_clipped & (reach >= limit)], limit * CLIP_FACTOR
        codes = (b * unit[:, None]).astype(dtype)
    check_codes(np.isfinite(codes).all())
    if R:
        bounds_of_entries = np.where(observed, bounds[:, None], 0.0)

        def gaps_of(b: Floats) -> Floats:
            return _gaps(clipped, bounds_of_entries, alphas, b, C, problem.starts)

        gap = gaps_of(codes.astype(np.float64) / unit[:, None])
        codes, gap = problem.or_zero_codes(codes, gap, lambda: gaps_of(np.zeros((n, R))))
    error = np.where(observed, X - codes.astype(np.float64) @ C, 0.0)
    return codes, gap, n_iter, error - clip(error, mu)


def check_codes(is_finite: bool) -> None:
    """Raise if a code overflows, which it does only if the sample itself nearly does."""
    if not is_finite:
        raise TooLargeError("X has rows whose code overflows. Scale X, alpha and huber down together.")


def clipped_norms(X: Any, mu: float) -> tuple[Any, Any]:
    """The norm of each row of dense X, clipped to [-mu, mu], or 1 if it is zero; and whether it is."""
    xp = namespace(X)
    clipped = clip(X, mu)
    largest = xp.max(xp.abs(clipped), axis=1)
    is_zero, one = largest == 0, xp.ones_like(largest)
    norms = xp.where(is_zero, one, largest)
    with np.errstate(over="ignore"):
        norms = norms * xp.sqrt(xp.sum((clipped / norms[:, None]) ** 2, axis=1))
    if not bool(xp.all(xp.isfinite(norms))):
        raise TooLargeError("X has rows whose norm overflows. Scale X, alpha and huber down together.")
    return xp.where(is_zero, one, norms), is_zero


def clip(X: Any, mu: float) -> Any:
    """X clipped to [-mu, mu]."""
    return namespace(X).clip(X, -mu, mu) if np.isfinite(mu) else X


def _solve_scaled(
    x: Floats, problem: CodingProblem, C: Floats, G: Floats, alphas: Floats, bounds: Floats
) -> tuple[Floats, Integers]:
    """Codes and iterations of rows in their own units."""
    from sdgs.coding.compiled._huber_loss_kernel import solve_rows_huber

    (n, p), R, starts = x.shape, C.shape[0], problem.starts
    codes, gap, n_iter = np.zeros((n, R)), np.zeros(n), np.zeros(n, dtype=np.int64)
    floats, ints, wide = np.empty((15, R + 1)), np.empty((5, R + 1), dtype=np.int64), np.empty((4, p))
    size, row = min(R, 32 * int(np.diff(starts).max())), 0
    while True:
        workspace = np.empty((5, size, size)), floats, ints, wide, np.empty((size, p))
        results = codes, gap, n_iter, *workspace
        row = solve_rows_huber(row, x, C, G, starts, alphas, bounds, problem.solver_tol, problem.max_iter, *results)
        if row == n:
            return codes, n_iter
        size = min(R, 2 * size)


def _gaps(x: Floats, bounds: Floats, alphas: Floats, b: Floats, C: Floats, starts: Integers) -> Floats:
    """Relative duality gaps of codes of rows in their own units; the formulas are in the docstring of the kernel."""
    error = x - b @ C
    theta = np.clip(error, -bounds, bounds)
    q = theta @ C.T
    penalty = group_norms(b, starts).sum(axis=1)
    worst = group_norms(q, starts).max(axis=1) + correlation_rounding(penalty)
    t = alphas / np.maximum(worst, alphas)
    loss = np.einsum("ij,ij->i", theta, error - 0.5 * (1 + t)[:, None] * theta)
    gap = np.maximum(alphas * penalty + (1 - t) * loss - t * np.einsum("ij,ij->i", b, q), 0)
    gap += ROUNDING * penalty * (1 + penalty)
    at_zero = 0.5 * np.square(np.clip(x, -bounds, bounds)).sum(axis=1)
    return np.where(at_zero > 0, gap / np.where(at_zero > 0, at_zero, 1.0), 0.0)
