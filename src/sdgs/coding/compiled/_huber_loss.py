"""Codes of rows with a sparse residual of their own, or with entries that were not observed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# Entries this many times larger than a row's clipped norm are cut to that: beyond what a code can reach, only their
# sign counts, and it is their size that costs digits. Where a code does reach that far the bound is raised.
FAR = 1e3

_Codes = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


def solve_robust(
    X: Any,
    C: NDArray[Any],
    G: NDArray[np.float64],
    starts: NDArray[np.int64],
    alpha: float,
    mu: float,
    tol: float,
    max_iter: int,
) -> _Codes:
    """Codes (n, R), gaps, iterations and residuals (n, p) of the rows of ``X``, in which NaN is a missing entry.

    Rows are brought to a unit in which their clipped entries have norm 1; alpha and mu go with them.
    """
    X = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    C = np.asarray(C, dtype=np.float64)
    seen = ~np.isnan(X)
    clipped = np.where(seen, np.clip(X, -mu, mu), 0.0)
    largest = np.abs(clipped).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    with np.errstate(over="ignore"):
        unit = unit * np.maximum(np.linalg.norm(clipped / unit[:, None], axis=1), 1e-300)
    unit[largest == 0] = 1.0
    if not np.isfinite(unit).all():
        raise ValueError("X has rows whose norm overflows. Scale X, alpha and huber down together.")

    n, R = len(X), C.shape[0]
    b, gap, n_iter = np.zeros((n, R)), np.zeros(n), np.zeros(n, dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled, bound = X / unit[:, None], mu / unit
        rows, far = np.flatnonzero(largest > 0) if R else np.empty(0, dtype=np.intp), FAR
        # No correlation of a unit row exceeds 1: above 2 nothing changes.
        alphas = np.minimum(alpha / unit, 2.0)
        while rows.size:
            x = np.clip(scaled[rows], -far, far)
            b[rows], gap[rows], n_iter[rows] = _solve(x, C, G, starts, alphas[rows], bound[rows], tol, max_iter)
            reach = np.abs(b[rows] @ C).max(axis=1) + np.minimum(bound[rows], far)
            cut = (np.abs(np.where(seen[rows], scaled[rows], 0.0)) > far).any(axis=1)
            rows, far = rows[cut & (reach >= far)], far * FAR
        codes = b * unit[:, None]
        error = np.where(seen, X - codes @ C, 0.0)
    return codes, gap, n_iter, error - np.clip(error, -mu, mu)


def _solve(
    x: NDArray[np.float64],
    C: NDArray[np.float64],
    G: NDArray[np.float64],
    starts: NDArray[np.int64],
    alphas: NDArray[np.float64],
    bounds: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    from sdgs.coding.compiled._huber_loss_kernel import solve_rows_huber

    (n, p), R = x.shape, C.shape[0]
    codes, gap, n_iter = np.zeros((n, R)), np.zeros(n), np.zeros(n, dtype=np.int64)
    floats, ints, wide = np.empty((15, R + 1)), np.empty((5, R + 1), dtype=np.int64), np.empty((4, p))
    size, row = min(R, 32 * int(np.diff(starts).max())), 0
    while True:
        room = np.empty((5, size, size)), floats, ints, wide, np.empty((size, p))
        row = solve_rows_huber(row, x, C, G, starts, alphas, bounds, tol, max_iter, codes, gap, n_iter, *room)
        if row == n:
            return codes, gap, n_iter
        size = min(R, 2 * size)
