"""Codes of all rows of an array of another library, some rows after the other."""

from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, take
from sdgs._utils._row_norms import unit_rows
from sdgs._utils._validation import has_missing
from sdgs.coding._group_codes import GroupCodes
from sdgs.coding.array_api._huber_loss_batch import solve_robust_on_device
from sdgs.coding.array_api._squared_loss_batch import Dictionary, dictionary, solve_on_device

_BYTES = 1 << 29  # of the codes that are made in one go, and of the samples where they are looked at again and again


def coded_on_device(
    X: Any,
    C: NDArray[Any],
    starts: NDArray[np.int64],
    groups: NDArray[np.int64],
    alpha: float,
    mu: float | None,
    tol: float,
    max_iter: int,
) -> GroupCodes:
    """See :func:`sdgs.group_lasso`. Codes and residual are dense; C comes from the host."""
    xp = namespace(X)
    robust = mu is not None or has_missing(X)
    if len(C) == 0:  # a word that nothing says is as good as none
        C, starts = np.zeros((1, X.shape[1])), np.array([0, 1])
    words = dictionary(C, starts, X)
    G = words.C @ xp.matrix_transpose(words.C) if alpha > 0 and not robust else None
    pinv = xp.linalg.pinv(words.C) if alpha == 0 else None
    step = max(_BYTES // (8 * (words.C.shape[0] + (X.shape[1] if robust else 0))), 1024)
    parts, residuals = [], []
    for start in range(0, X.shape[0], step):
        x = X[start : min(start + step, X.shape[0]), :]
        if robust:
            b, gap, n_iter, s = solve_robust_on_device(x, words, alpha, mu or np.inf, tol, max_iter)
        else:
            b, gap, n_iter = _plain(x, words, G, pinv, alpha, tol, max_iter)
        parts.append((xp.astype(take(b, words.columns, axis=1), X.dtype), gap, n_iter))
        if mu is not None:
            residuals.append(xp.astype(s, X.dtype))
    codes, gap, n_iter = (xp.concat(several) for several in zip(*parts, strict=True))
    return GroupCodes(
        codes=codes[:, : int(groups[-1])],
        groups=groups,
        gap=gap,
        n_iter=n_iter,
        converged=gap <= tol,
        residual=xp.concat(residuals) if residuals else None,
    )


def _plain(
    x: Any, words: Dictionary, G: Any, pinv: Any, alpha: float, tol: float, max_iter: int
) -> tuple[Any, Any, Any]:
    xp = namespace(x)
    x, norms = unit_rows(x)
    norms = xp.astype(norms, xp.float64)
    if not bool(xp.all(xp.isfinite(norms))):
        raise ValueError("X has rows whose norm overflows. Scale X and alpha down together.")
    if pinv is not None:
        x = xp.astype(x, xp.float64)
        b = x @ pinv
        # What the error still has in the row space of C is how far the objective is from its least.
        gap = xp.sum((((x - b @ words.C) @ pinv) @ words.C) ** 2, axis=1)
        n_iter = xp.ones((x.shape[0],), dtype=xp.int64, device=device(x))
    else:
        # As on the host: a row of norm s has s times the code of its unit row under alpha / s.
        alphas = xp.clip(alpha / xp.where(norms > 0, norms, xp.full_like(norms, alpha)), 1e-13, 2.0)
        c = xp.astype(x @ xp.astype(xp.matrix_transpose(words.C), x.dtype), xp.float64)
        b, gap, n_iter = solve_on_device(c, G, words, alphas, tol, max_iter)
    return b * norms[:, None], gap, n_iter
