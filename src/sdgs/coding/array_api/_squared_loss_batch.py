"""Codes of arrays of other libraries, on the device where they are: many rows at once, rows leave when they are done.

Groups are padded to one size r. In rounds: all rows are checked against all groups; those that are not done get a
working set, what is non-zero and the worst offenders, and are solved over it by :func:`newton`, rows with sets of
similar size together. Everything is in float64, as in the compiled solver, with the same gap as certificate and stop.
The few rows that do not get there (subspaces that coincide, a tiny alpha) are left to the compiled solver.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host
from sdgs.coding.array_api._newton_batch import gaps, group_norms, newton, sweep
from sdgs.coding.compiled._squared_loss import solve_by_gram

ROUNDS = 12
LEAST_ALPHA = 1e-5  # below it digits get lost in alpha I + D G D
_STEPS = 30
_GROW = 4  # least number of groups by which a working set grows
_SQUARE_BYTES = 1 << 28  # of the products of working sets that are solved in one go; some five times that in all
_QUANTUM = 2.0**-30  # of correlations that are told apart: of twins the first is taken


@dataclass(frozen=True, eq=False)
class Dictionary:
    """C (k r, p) in float64, padded with zeros to groups of one size r; ``columns`` are those that are no padding."""

    C: Any
    r: int
    columns: Any

    def on_host(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns that are no padding, and without it the bounds of the groups."""
        columns = to_host(self.columns)
        return columns, np.concatenate([[0], np.cumsum(np.bincount(columns // self.r))]).astype(np.int64)

    def padded(self, b: NDArray[np.float64]) -> Any:
        """Codes of the host as the device has them."""
        wide = np.zeros((len(b), self.C.shape[0]))
        wide[:, to_host(self.columns)] = b
        return to_device_of(wide, self.C)


def dictionary(C: NDArray[Any], starts: NDArray[np.int64], X: Any) -> Dictionary:
    """Of components on the host, for samples such as ``X``; ``starts`` are the bounds of groups that are not empty."""
    sizes = np.diff(starts)
    r = int(sizes.max())
    columns = np.concatenate([r * g + np.arange(size) for g, size in enumerate(sizes)])
    padded = np.zeros((r * sizes.size, C.shape[1]))
    padded[columns] = C
    return Dictionary(to_device_of(padded, X), r, to_device_of(columns.astype(np.int64), X))


def solve_on_device(c: Any, G: Any, words: Dictionary, alphas: Any, tol: float, max_iter: int) -> tuple[Any, Any, Any]:
    """Codes (m, k r), gaps and iterations of rows of unit norm, from c = C x (m, k r) and G = C C^T."""
    xp = namespace(c)
    r, (m, width) = words.r, c.shape
    codes, gap = xp.zeros_like(c), xp.zeros_like(alphas)
    n_iter = xp.zeros((m,), dtype=xp.int64, device=device(c))
    rows, b, q, targets = xp.arange(m, device=device(c)), xp.zeros_like(c), c, xp.ones_like(alphas)
    for _ in range(ROUNDS + 1):
        b_norms, q_norms = group_norms(b, r), group_norms(q, r)
        found = gaps(take(c, rows), b, q, b_norms, q_norms, take(alphas, rows))
        codes, gap = put(codes, rows, b), put(gap, rows, found)
        may = (take(n_iter, rows) < max_iter) & (take(alphas, rows) >= LEAST_ALPHA)
        stay = xp.nonzero((found > tol) & may)[0]
        if stay.shape[0] == 0:
            break
        rows, b, b_norms, q_norms, found = (take(a, stay) for a in (rows, b, b_norms, q_norms, found))
        alpha, own, used = take(alphas, rows), take(c, rows), take(n_iter, rows)
        sets, sizes, offended = working_sets(b_norms, q_norms, alpha)
        before = take(targets, rows)
        target = xp.where(
            offended, xp.maximum(0.3 * tol * xp.ones_like(found), 0.05 * found), 0.1 * xp.minimum(before, found)
        )
        targets = put(targets, rows, target)
        new = xp.zeros_like(own)
        for some, W in by_size(sets, sizes, r, lambda n: 8 * n * n, _SQUARE_BYTES):
            places = coordinates(take(sets, some)[:, :W], r)
            H = xp.reshape(take(xp.reshape(G, (-1,)), _pairs(places, width)), (*places.shape, places.shape[1]))
            mine, its_alpha = _taken(take(own, some), places), take(alpha, some)
            start = sweep(H, mine, its_alpha, _taken(take(b, some), places), r)
            result = newton(H, mine, its_alpha, group_norms(start, r), take(target, some), r, min(_STEPS, max_iter))
            new = scattered(new, some, places, result.b)
            used = put(used, some, take(used, some) + result.steps + 1)
        n_iter = put(n_iter, rows, used)
        b, q = new, own - new @ G
    return _left_to_the_host(c, G, words, alphas, tol, max_iter, codes, gap, n_iter)


def _left_to_the_host(
    c: Any, G: Any, words: Dictionary, alphas: Any, tol: float, max_iter: int, codes: Any, gap: Any, n_iter: Any
) -> tuple[Any, Any, Any]:
    xp = namespace(c)
    rows = xp.nonzero((gap > tol) & (n_iter < max_iter))[0]
    if rows.shape[0] == 0:
        return codes, gap, n_iter
    columns, starts = words.on_host()
    part = np.ascontiguousarray(to_host(take(c, rows))[:, columns])
    products = np.ascontiguousarray(to_host(G)[np.ix_(columns, columns)])
    b, found, used = solve_by_gram(part, products, starts, to_host(take(alphas, rows)), tol, max_iter)
    codes, gap = put(codes, rows, words.padded(b)), put(gap, rows, to_device_of(found, c))
    return codes, gap, put(n_iter, rows, take(n_iter, rows) + to_device_of(used, c))


def working_sets(b_norms: Any, q_norms: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """Groups in the order in which they enter a row's set (m, k), how many do, and whether any of them is new."""
    xp = namespace(b_norms)
    inside = b_norms > 0
    offends = ~inside & (q_norms > alpha[:, None])
    worst = xp.round(q_norms / _QUANTUM) * _QUANTUM
    # Correlations of unit rows are at most 1.
    key = xp.where(inside, xp.full_like(worst, 4.0), xp.where(offends, 1 + worst, xp.zeros_like(worst)))
    known = xp.astype(xp.count_nonzero(inside, axis=1), xp.int64)
    new = xp.astype(xp.count_nonzero(offends, axis=1), xp.int64)
    room = xp.maximum(known, xp.full_like(known, _GROW))
    return xp.argsort(key, axis=1, descending=True, stable=True), known + xp.minimum(new, room), new > 0


def by_size(sets: Any, sizes: Any, r: int, row_bytes: Any, most: int) -> Iterator[tuple[Any, int]]:
    """Rows with sets of similar size, and that size: a power of two of groups, for some rows after the other."""
    xp, k = namespace(sizes), sets.shape[1]
    largest, low, W = int(xp.max(sizes)), 0, _GROW
    while low < largest:
        some = xp.nonzero((sizes > low) & (sizes <= W))[0]
        groups = min(W, k)
        step = max(1, most // row_bytes(groups * r))
        for start in range(0, some.shape[0], step):
            yield some[start : min(start + step, some.shape[0])], groups
        low, W = W, 2 * W


def coordinates(groups: Any, r: int) -> Any:
    """Of groups (m, W), (m, W r)."""
    xp = namespace(groups)
    inner = xp.arange(r, dtype=groups.dtype, device=device(groups))
    return xp.reshape(groups[:, :, None] * r + inner[None, None, :], (groups.shape[0], -1))


def scattered(b: Any, rows: Any, places: Any, values: Any) -> Any:
    """``b`` with values (m, n) at places (m, n) of its rows."""
    xp = namespace(b)
    flat = xp.reshape(rows[:, None] * b.shape[1] + places, (-1,))
    return xp.reshape(put(xp.reshape(b, (-1,)), flat, xp.reshape(values, (-1,))), b.shape)


def _taken(A: Any, places: Any) -> Any:
    """Of each row of A, its entries at its places."""
    return namespace(A).take_along_axis(A, places, axis=1)


def _pairs(places: Any, width: int) -> Any:
    """Where the products of a row's coordinates are in the flat Gram matrix."""
    return namespace(places).reshape(places[:, :, None] * width + places[:, None, :], (-1,))
