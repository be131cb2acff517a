"""Codes of all rows of an array of another library, batch by batch, on its device."""

from typing import Any

import numpy as np
from array_api_compat import device

from sdgs._utils._array_api import namespace, take
from sdgs._utils._overflow import TooLargeError
from sdgs._utils._row_norms import unit_rows
from sdgs.coding._coding_problem import MIN_RELATIVE_ALPHA, ROUNDING, CodingProblem
from sdgs.coding._group_codes import GroupCodes
from sdgs.coding.array_api._huber_loss_batch import solve_huber_loss_on_device
from sdgs.coding.array_api._padded_dictionary import PaddedDictionary, pad_dictionary, round_codes
from sdgs.coding.array_api._squared_loss_batch import rounded_gaps, solve_squared_loss_on_device

_BATCH_BYTES = 1 << 29  # of the codes of a batch, and of its samples if the loss is computed from them
_MIN_BATCH_ROWS = 1024


def code_on_device(X: Any, problem: CodingProblem, *, batch_bytes: int = _BATCH_BYTES) -> GroupCodes:
    """See :func:`sdgs.group_lasso`. Codes and residual are dense."""
    xp = namespace(X)
    if len(problem.C):
        dictionary = pad_dictionary(problem.C, problem.starts, X)
    else:  # solvers need at least one group: a zero component never enters a code
        dictionary = pad_dictionary(np.zeros((1, X.shape[1])), np.array([0, 1]), X)
    C = dictionary.C
    G = C @ xp.matrix_transpose(C) if problem.alpha > 0 and not problem.huber_loss else None
    pinv = xp.linalg.pinv(C, rtol=problem.rank_tolerance) if problem.alpha == 0 else None
    step = max(batch_bytes // (8 * (C.shape[0] + (X.shape[1] if problem.huber_loss else 0))), _MIN_BATCH_ROWS)
    parts, residuals = [], []
    for start in range(0, X.shape[0], step):
        x = X[start : min(start + step, X.shape[0]), :]
        if problem.huber_loss:
            codes, gap, n_iter, s = solve_huber_loss_on_device(x, dictionary, problem)
        else:
            codes, gap, n_iter = _solve_squared_loss(x, dictionary, G, pinv, problem)
        parts.append((take(codes, dictionary.columns, axis=1), gap, n_iter))
        if problem.mu is not None:
            residuals.append(xp.astype(s, X.dtype))
    codes, gap, n_iter = (xp.concat(arrays) for arrays in zip(*parts, strict=True))
    codes = codes[:, : int(problem.groups[-1])]
    return problem.to_group_codes(codes, gap, n_iter, xp.concat(residuals) if residuals else None)


def _solve_squared_loss(
    x: Any, dictionary: PaddedDictionary, G: Any, pinv: Any, problem: CodingProblem
) -> tuple[Any, Any, Any]:
    """Codes of complete rows in their precision, the gaps of these codes, and iterations."""
    xp, dtype = namespace(x), x.dtype
    x, norms = unit_rows(xp.astype(x, xp.float64))
    if not bool(xp.all(xp.isfinite(norms))):
        raise TooLargeError("X has rows whose norm overflows. Scale X and alpha down together.")
    if pinv is not None:

        def gaps_of(b: Any) -> Any:
            # The part of the error in the row space of C is the gap to the smallest objective.
            errors = xp.sqrt(xp.sum((((x - b @ dictionary.C) @ pinv) @ dictionary.C) ** 2, axis=1))
            return (errors + ROUNDING * xp.sum(xp.abs(b), axis=1)) ** 2

        b = x @ pinv
        n_iter = xp.ones((x.shape[0],), dtype=xp.int64, device=device(x))
    else:
        # As on the host: a row of norm s has s times the code of its unit row under alpha / s.
        alpha = problem.alpha
        alphas = xp.clip(alpha / xp.where(norms > 0, norms, xp.full_like(norms, alpha)), MIN_RELATIVE_ALPHA, 2.0)
        c = x @ xp.matrix_transpose(dictionary.C)

        def gaps_of(b: Any) -> Any:
            return rounded_gaps(c, b, G, alphas, dictionary.r)

        b, _, n_iter = solve_squared_loss_on_device(c, G, dictionary, alphas, problem)
    codes, b = round_codes(b, norms, dtype)
    codes, gap = problem.or_zero_codes(codes, gaps_of(b), lambda: gaps_of(xp.zeros_like(b)))
    return codes, gap, n_iter
