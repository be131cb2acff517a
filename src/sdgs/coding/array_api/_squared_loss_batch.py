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
from sdgs.coding.array_api._padded_dictionary import (
    PaddedDictionary,
    batches_by_size,
    choose_working_sets,
    scatter_rows,
)
from sdgs.coding.compiled._squared_loss import solve_by_gram

MAX_ROUNDS = 12
MIN_ALPHA = 1e-5  # below it alpha I + D G D loses too many digits
_MAX_NEWTON_STEPS = 30
_GRAM_BYTES = 1 << 28  # of the Gram matrices of a batch of working sets; about five times that is used in all


def solve_squared_loss_on_device(
    c: Any, G: Any, dictionary: PaddedDictionary, alphas: Any, problem: CodingProblem, *, max_rounds: int = MAX_ROUNDS
) -> tuple[Any, Any, Any]:
    """Codes (m, k r), gaps and iterations of rows of unit norm, from c = C x (m, k r) and G = C C^T."""
    xp, tol, max_iter = namespace(c), problem.tol, problem.max_iter
    r, (m, width) = dictionary.r, c.shape
    codes, gap = xp.zeros_like(c), xp.zeros_like(alphas)
    n_iter = xp.zeros((m,), dtype=xp.int64, device=device(c))
    rows, b, q, targets = xp.arange(m, device=device(c)), xp.zeros_like(c), c, xp.ones_like(alphas)
    for _ in range(max_rounds + 1):
        b_norms, q_norms = group_norms(b, r), group_norms(q, r)
        row_gaps = gaps(take(c, rows), b, q, b_norms, q_norms, take(alphas, rows))
        codes, gap = put(codes, rows, b), put(gap, rows, row_gaps)
        solvable = (take(n_iter, rows) < max_iter) & (take(alphas, rows) >= MIN_ALPHA)
        remaining = xp.nonzero((row_gaps > tol) & solvable)[0]
        if remaining.shape[0] == 0:
            break
        rows, b, b_norms, q_norms, row_gaps = (take(a, remaining) for a in (rows, b, b_norms, q_norms, row_gaps))
        alpha, c_rows, used = take(alphas, rows), take(c, rows), take(n_iter, rows)
        sets, sizes, has_grown = choose_working_sets(b_norms, q_norms, alpha)
        target = next_targets(take(targets, rows), row_gaps, has_grown, tol)
        targets = put(targets, rows, target)
        new_b = xp.zeros_like(c_rows)
        for batch, columns in batches_by_size(sets, sizes, r, lambda n: 8 * n * n, _GRAM_BYTES):
            gram_indices = columns[:, :, None] * width + columns[:, None, :]
            H = xp.reshape(take(xp.reshape(G, (-1,)), xp.reshape(gram_indices, (-1,))), gram_indices.shape)
            c_set, b_set = (xp.take_along_axis(take(a, batch), columns, axis=1) for a in (c_rows, b))
            alpha_set = take(alpha, batch)
            start = sweep(H, c_set, alpha_set, b_set, r)
            max_steps = min(_MAX_NEWTON_STEPS, max_iter)
            b_set, steps = newton(H, c_set, alpha_set, group_norms(start, r), take(target, batch), r, max_steps)
            new_b = scatter_rows(new_b, batch, columns, b_set)
            used = put(used, batch, take(used, batch) + steps + 1)
        n_iter = put(n_iter, rows, used)
        b, q = new_b, c_rows - new_b @ G

    remaining = xp.nonzero((gap > tol) & (n_iter < max_iter))[0]
    if remaining.shape[0]:
        b, row_gaps, used = _solve_on_host(take(c, remaining), G, dictionary, take(alphas, remaining), problem)
        codes, gap = put(codes, remaining, b), put(gap, remaining, row_gaps)
        n_iter = put(n_iter, remaining, take(n_iter, remaining) + used)
    return codes, gap, n_iter


def next_targets(targets: Any, row_gaps: Any, has_grown: Any, tol: float) -> Any:
    """The gaps to reach on the working sets: smaller than before where the set has not grown."""
    xp = namespace(row_gaps)
    new_set = xp.maximum(0.3 * tol * xp.ones_like(row_gaps), 0.05 * row_gaps)
    return xp.where(has_grown, new_set, 0.1 * xp.minimum(targets, row_gaps))


def _solve_on_host(
    c: Any, G: Any, dictionary: PaddedDictionary, alphas: Any, problem: CodingProblem
) -> tuple[Any, Any, Any]:
    """Codes, gaps and iterations by the compiled solver, on the device."""
    columns, starts = dictionary.host_layout()
    c_host = np.ascontiguousarray(to_host(c)[:, columns])
    gram = np.ascontiguousarray(to_host(G)[np.ix_(columns, columns)])
    b, gap, n_iter = solve_by_gram(c_host, gram, starts, to_host(alphas), problem.tol, problem.max_iter)
    return dictionary.pad_codes(b), to_device_of(gap, c), to_device_of(n_iter, c)
