"""A dictionary on a device whose groups all have one size, and the rounds over working sets of its groups."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace, put, take, to_device_of, to_host
from sdgs.coding._coding_problem import CodingProblem, Integers
from sdgs.coding._group_codes import Array
from sdgs.coding.compiled._huber_loss import check_codes

MAX_ROUNDS = 12
_MIN_ALPHA = 1e-5  # below it alpha I + D G D loses too many digits
_MIN_GROWTH = 4  # groups by which a working set may grow at least
_RESOLUTION = 2.0**-30  # correlations that differ by less count as equal: if subspaces coincide the first is chosen


@dataclass(frozen=True, eq=False)
class PaddedDictionary:
    """C (k r, p) in float64, padded with zeros to groups of one size r; ``columns`` are those without padding."""

    C: Any
    r: int
    columns: Any

    def host_layout(self) -> tuple[Integers, Integers]:
        """On the host: the columns that are not padding, and the bounds of the groups among them."""
        columns = to_host(self.columns)
        return columns, np.concatenate([[0], np.cumsum(np.bincount(columns // self.r))]).astype(np.int64)

    def pad_codes(self, b: Array) -> Any:
        """Codes of the host in the layout of the device."""
        padded = np.zeros((len(b), self.C.shape[0]))
        padded[:, to_host(self.columns)] = b
        return to_device_of(padded, self.C)


def pad_dictionary(C: NDArray[Any], starts: Integers, X: Any) -> PaddedDictionary:
    """The dictionary C, on the host, for samples such as ``X``; ``starts`` are the bounds of the non-empty groups."""
    sizes = np.diff(starts)
    r = int(sizes.max())
    columns = np.concatenate([r * g + np.arange(size) for g, size in enumerate(sizes)])
    padded = np.zeros((r * sizes.size, C.shape[1]))
    padded[columns] = C
    return PaddedDictionary(to_device_of(padded, X), r, to_device_of(columns.astype(np.int64), X))


def round_codes(b: Any, units: Any, dtype: Any) -> tuple[Any, Any]:
    """Codes in the precision ``dtype``, from codes b of rows that were divided by ``units``; and b after rounding."""
    xp = namespace(b)
    with np.errstate(over="ignore"):  # of libraries that compute with NumPy
        codes = xp.astype(b * units[:, None], dtype)
    check_codes(bool(xp.all(xp.isfinite(codes))))
    return codes, xp.astype(codes, xp.float64) / xp.where(units > 0, units, xp.ones_like(units))[:, None]


def solve_in_rounds(
    rows: Any,
    alphas: Any,
    dictionary: PaddedDictionary,
    problem: CodingProblem,
    check: Callable[[Any, Any], tuple[Any, Any, Any]],
    solve: Callable[[Any, Any, Any, Any], tuple[Any, Any]],
    row_bytes: Callable[[int], int],
    max_bytes: int,
    max_rounds: int,
) -> tuple[Any, Any, Any]:
    """Codes (m, k r), gaps and iterations; the rows that are not among ``rows`` are zero.

    ``check(rows, b)`` gives the gaps over all groups and the norms of the groups of b and of the correlations.
    ``solve(rows, columns, b, targets)`` gives the codes over working sets and the number of steps, from b; ``columns``
    are the coordinates of the sets. The others are those of :func:`_batches_by_size`.
    """
    xp, tol = namespace(alphas), problem.solver_tol
    codes = xp.zeros((alphas.shape[0], dictionary.C.shape[0]), dtype=xp.float64, device=device(alphas))
    gap, targets = xp.zeros_like(alphas), xp.ones_like(alphas)
    n_iter = xp.zeros(alphas.shape, dtype=xp.int64, device=device(alphas))
    for round_number in range(max_rounds + 1):
        b, alpha = take(codes, rows), take(alphas, rows)
        row_gaps, b_norms, q_norms = check(rows, b)
        gap = put(gap, rows, row_gaps)
        solvable = (take(n_iter, rows) < problem.max_iter) & (alpha >= _MIN_ALPHA)
        remaining = xp.nonzero(~(row_gaps <= tol) & solvable)[0]
        if remaining.shape[0] == 0 or round_number == max_rounds:
            break
        arrays = (rows, b, alpha, b_norms, q_norms, row_gaps)
        rows, b, alpha, b_norms, q_norms, row_gaps = (take(array, remaining) for array in arrays)
        sets, sizes, has_grown = _choose_working_sets(b_norms, q_norms, alpha)
        # The gaps to reach on the working sets: smaller than before where the set has not grown.
        new_set = xp.maximum(0.3 * tol * xp.ones_like(row_gaps), 0.05 * row_gaps)
        target = xp.where(has_grown, new_set, 0.1 * xp.minimum(take(targets, rows), row_gaps))
        targets = put(targets, rows, target)
        new_b, used = xp.zeros_like(b), take(n_iter, rows)
        for batch, columns in _batches_by_size(sets, sizes, dictionary.r, row_bytes, max_bytes):
            b_set = xp.take_along_axis(take(b, batch), columns, axis=1)
            b_set, steps = solve(take(rows, batch), columns, b_set, take(target, batch))
            new_b = _scatter_rows(new_b, batch, columns, b_set)
            used = put(used, batch, take(used, batch) + steps + 1)
        codes, n_iter = put(codes, rows, new_b), put(n_iter, rows, used)
    return codes, gap, n_iter


def _choose_working_sets(b_norms: Any, q_norms: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """Groups in the order in which they enter a row's set (m, k), the size of the set, and whether it has grown."""
    xp = namespace(b_norms)
    nonzero = b_norms > 0
    violates = ~nonzero & (q_norms > alpha[:, None])
    rounded = xp.round(q_norms / _RESOLUTION) * _RESOLUTION
    # Correlations of unit rows are at most 1, so that the non-zero groups come first.
    key = xp.where(nonzero, xp.full_like(rounded, 4.0), xp.where(violates, 1 + rounded, xp.zeros_like(rounded)))
    n_nonzero = xp.astype(xp.count_nonzero(nonzero, axis=1), xp.int64)
    n_violators = xp.astype(xp.count_nonzero(violates, axis=1), xp.int64)
    max_new = xp.maximum(n_nonzero, xp.full_like(n_nonzero, _MIN_GROWTH))
    order = xp.argsort(key, axis=1, descending=True, stable=True)
    return order, n_nonzero + xp.minimum(n_violators, max_new), n_violators > 0


def _batches_by_size(
    sets: Any, sizes: Any, r: int, row_bytes: Callable[[int], int], max_bytes: int
) -> Iterator[tuple[Any, Any]]:
    """Batches of rows with sets of similar size: the rows, and the coordinates (m, W r) of their sets.

    W, the number of groups, is a power of two, or all groups. ``row_bytes`` is the memory of a row by its coordinates.
    """
    xp, k = namespace(sizes), sets.shape[1]
    largest, low, high = int(xp.max(sizes)), 0, _MIN_GROWTH
    while low < largest:
        rows = xp.nonzero((sizes > low) & (sizes <= high))[0]
        W = min(high, k)
        step = max(1, max_bytes // row_bytes(W * r))
        for start in range(0, rows.shape[0], step):
            batch = rows[start : min(start + step, rows.shape[0])]
            yield batch, _group_coordinates(take(sets, batch)[:, :W], r)
        low, high = high, 2 * high


def _group_coordinates(groups: Any, r: int) -> Any:
    """The coordinates (m, W r) of groups (m, W)."""
    xp = namespace(groups)
    offset = xp.arange(r, dtype=groups.dtype, device=device(groups))
    return xp.reshape(groups[:, :, None] * r + offset[None, None, :], (groups.shape[0], -1))


def _scatter_rows(b: Any, rows: Any, columns: Any, values: Any) -> Any:
    """``b`` with values (m, n) at the columns (m, n) of some rows (m,)."""
    xp = namespace(b)
    flat = xp.reshape(rows[:, None] * b.shape[1] + columns, (-1,))
    return xp.reshape(put(xp.reshape(b, (-1,)), flat, xp.reshape(values, (-1,))), b.shape)
