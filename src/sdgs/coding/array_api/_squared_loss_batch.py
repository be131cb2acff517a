"""Codes of arrays of other libraries, on their device: many rows at once, which leave the batch when they converge.

Groups are padded to one size r. In each round all rows are checked against all groups. Rows that have not converged get
a working set, the non-zero groups and the worst violators, and are solved over it by :func:`newton`, together with rows
whose sets have a similar size. Everything is in float64, as in the compiled solver, with the same gap as certificate
and stopping rule. The few rows that do not converge (coinciding subspaces, a tiny alpha) are solved on the host.
"""

from typing import Any

import numpy as np
from array_api_compat import device

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host
from sdgs.coding._coding_problem import CodingProblem
from sdgs.coding.array_api._newton_batch import gaps, group_norms, newton, sweep
from sdgs.coding.array_api._padded_dictionary import MAX_ROUNDS, PaddedDictionary, solve_in_rounds
from sdgs.coding.compiled._squared_loss import solve_by_gram

_MAX_NEWTON_STEPS = 30
_GRAM_BYTES = 1 << 28  # of the Gram matrices of a batch of working sets; about five times that is used in all


def solve_squared_loss_on_device(
    c: Any, G: Any, dictionary: PaddedDictionary, alphas: Any, problem: CodingProblem, *, max_rounds: int = MAX_ROUNDS
) -> tuple[Any, Any, Any]:
    """Codes (m, k r), gaps and iterations of rows of unit norm, from c = C x (m, k r) and G = C C^T."""
    xp, r, (m, width) = namespace(c), dictionary.r, c.shape
    max_steps = min(_MAX_NEWTON_STEPS, problem.max_iter)

    def check(rows: Any, b: Any) -> tuple[Any, Any, Any]:
        c_rows = take(c, rows)
        q = c_rows - b @ G
        b_norms, q_norms = group_norms(b, r), group_norms(q, r)
        return gaps(c_rows, b, q, b_norms, q_norms, take(alphas, rows)), b_norms, q_norms

    def solve(rows: Any, columns: Any, b: Any, targets: Any) -> tuple[Any, Any]:
        gram_indices = columns[:, :, None] * width + columns[:, None, :]
        H = xp.reshape(take(xp.reshape(G, (-1,)), xp.reshape(gram_indices, (-1,))), gram_indices.shape)
        c_set, alpha = xp.take_along_axis(take(c, rows), columns, axis=1), take(alphas, rows)
        start = sweep(H, c_set, alpha, b, r)
        return newton(H, c_set, alpha, group_norms(start, r), targets, r, max_steps)

    arguments = (check, solve, lambda n: 8 * n * n, _GRAM_BYTES, max_rounds)
    codes, gap, n_iter = solve_in_rounds(xp.arange(m, device=device(c)), alphas, dictionary, problem, *arguments)
    remaining = xp.nonzero(~(gap <= problem.solver_tol) & (n_iter < problem.max_iter))[0]
    if remaining.shape[0]:
        b, row_gaps, used = _solve_on_host(take(c, remaining), G, dictionary, take(alphas, remaining), problem)
        codes, gap = put(codes, remaining, b), put(gap, remaining, row_gaps)
        n_iter = put(n_iter, remaining, take(n_iter, remaining) + used)
    return codes, gap, n_iter


def rounded_gaps(c: Any, b: Any, G: Any, alphas: Any, r: int) -> Any:
    """The gaps of codes b that were changed after they were solved for, by rounding."""
    q = c - b @ G
    return gaps(c, b, q, group_norms(b, r), group_norms(q, r), alphas)


def _solve_on_host(
    c: Any, G: Any, dictionary: PaddedDictionary, alphas: Any, problem: CodingProblem
) -> tuple[Any, Any, Any]:
    """Codes, gaps and iterations by the compiled solver, on the device."""
    columns, starts = dictionary.host_layout()
    c_host = np.ascontiguousarray(to_host(c)[:, columns])
    gram = np.ascontiguousarray(to_host(G)[np.ix_(columns, columns)])
    b, gap, n_iter = solve_by_gram(c_host, gram, starts, to_host(alphas), problem.solver_tol, problem.max_iter)
    return dictionary.pad_codes(b), to_device_of(gap, c), to_device_of(n_iter, c)
