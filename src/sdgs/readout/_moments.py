"""Moments of features Z (n, d) and labels Y (n, k), accumulated over blocks of rows.

Z comes as feature blocks side by side, each dense or CSR, in float64: codes are mostly zero, and so are most products.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs._utils._threads import ThreadPool

Array = NDArray[np.floating[Any]]

_PANEL_COLUMNS = 256  # of a product that a thread computes at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted moments of centred Z and Y.

    Attributes
    ----------
    gram : array of shape (d, d)
        Z^T Z.
    cross : array of shape (d, k)
        Z^T Y.
    Z_mean, Y_mean : ndarrays of shape (d,) and (k,)
    weight : float
        The sum of the sample weights; the number of rows without weights.
    """

    gram: Any
    cross: Any
    Z_mean: Array
    Y_mean: Array
    weight: float


class MomentAccumulator:
    """Sums of Z, of Z^T Z and of Z^T Y about a point near the mean, on the device of Z."""

    def __init__(self, Z: Sequence[Any], n_labels: int) -> None:
        xp = namespace(Z[0])
        zeros = partial(xp.zeros, dtype=xp.float64, device=None if on_host(Z[0]) else device(Z[0]))
        widths = [part.shape[1] for part in Z]
        # Sums of squares about zero would lose the digits of columns with a large mean. Sparse ones have a small mean,
        # and must stay sparse.
        self._shift = [zeros(part.shape[1]) if issparse(part) else xp.mean(part, axis=0) for part in Z]
        self._gram = [[zeros((width, other)) for other in widths[: i + 1]] for i, width in enumerate(widths)]
        self._cross = [zeros((width, n_labels)) for width in widths]
        self._Z_sum = [zeros(width) for width in widths]
        self._Y_sum = np.zeros(n_labels)
        self._weight = 0.0

    def add(self, Z: Sequence[Any], Y: Any, sample_weight: Array | None, threads: ThreadPool) -> None:
        """Add rows, with weight 1 (None) or ``sample_weight`` each."""
        root = None if sample_weight is None else np.sqrt(sample_weight)
        Y = scale_rows(Y, root)
        self._Y_sum += _weighted_sum(Y, root)
        self._weight += Z[0].shape[0] if sample_weight is None else float(sample_weight.sum())
        if not on_host(Z[0]):
            Y = namespace(Z[0]).astype(
                to_device_of(as_dense(Y), Z[0]), Z[0].dtype
            )  # labels are sent as they are: small
        shifted = [scale_rows(_subtract(part, shift), root) for part, shift in zip(Z, self._shift, strict=True)]
        for i, part in enumerate(shifted):
            for j, other in enumerate(shifted[: i + 1]):
                _add_product(self._gram[i][j], part, other, threads)
            self._cross[i] += as_dense(Y.T @ part).T
            self._Z_sum[i] += _weighted_sum(part, root)

    def moments(self) -> Moments:
        """The moments of the rows added so far."""
        xp = namespace(self._Z_sum[0])
        total, shift, cross = (xp.concat(parts) for parts in (self._Z_sum, self._shift, self._cross))
        mean, Y_mean = total / self._weight, self._Y_sum / self._weight
        gram = _symmetric(self._gram) - total[:, None] * mean[None, :]
        cross = cross - total[:, None] * to_device_of(Y_mean, mean)[None, :]
        return Moments(gram, cross, to_host(mean + shift), Y_mean, self._weight)


def accumulate(
    accumulator: MomentAccumulator | None,
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    sample_weight: Array | None,
    n_jobs: int | None = 1,
) -> MomentAccumulator:
    """Add blocks of rows to an accumulator; without one, to a new one."""
    start, threads = 0, ThreadPool(n_jobs)
    for Z in blocks:
        accumulator = MomentAccumulator(Z, Y.shape[1]) if accumulator is None else accumulator
        rows = slice(start, start + Z[0].shape[0])
        accumulator.add(Z, Y[rows], None if sample_weight is None else sample_weight[rows], threads)
        start = rows.stop
    assert accumulator is not None
    return accumulator


def merge_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of all rows, from those of parts of them."""
    weight = sum(part.weight for part in parts)
    Z_mean, Y_mean = (
        np.sum([getattr(part, name) * (part.weight / weight) for part in parts], axis=0)
        for name in ("Z_mean", "Y_mean")
    )
    gram, cross = np.zeros_like(parts[0].gram), np.zeros_like(parts[0].cross)
    for part in parts:
        shift = part.Z_mean - Z_mean
        gram += part.gram + part.weight * np.outer(shift, shift)
        cross += part.cross + part.weight * np.outer(shift, part.Y_mean - Y_mean)
    return Moments(gram, cross, Z_mean, Y_mean, weight)


def as_dense(A: Any) -> Any:
    """A itself, or a CSR matrix as an array."""
    return A.toarray() if issparse(A) else A


def scale_rows(A: Any, factors: Array | None) -> Any:
    """Every row times a factor (None: 1)."""
    if factors is None:
        return A
    if issparse(A):
        A = A.tocsr()
        return csr_array((A.data * np.repeat(factors, np.diff(A.indptr)), A.indices, A.indptr), shape=A.shape)
    return A * to_device_of(factors, A)[:, None]


def _subtract(part: Any, shift: Any) -> Any:
    return part if issparse(part) and not shift.any() else as_dense(part) - shift


def _weighted_sum(A: Any, factors: Array | None) -> Any:
    """The sum of the rows, each times a factor."""
    if factors is not None:
        return (factors if on_host(A) else to_device_of(factors, A)) @ A
    return np.asarray(A.sum(axis=0)).reshape(-1) if issparse(A) else namespace(A).sum(A, axis=0)


def _add_product(total: Any, A: Any, B: Any, threads: ThreadPool) -> None:
    """Add A^T B to ``total``; if A is B, its lower triangle is enough."""
    if issparse(A) and issparse(B):
        from sdgs.readout._sparse_gram import add_gram, add_lower_gram

        add = add_lower_gram if A is B else add_gram
        add(A.indptr, A.indices, A.data, B.indptr, B.indices, B.data, total)
    elif issparse(A) or issparse(B):
        total += (B.T @ A).T if issparse(B) else A.T @ B
    elif not on_host(A):
        total += A.T @ B
    else:
        panels = range(0, A.shape[1], _PANEL_COLUMNS)

        def add_panel(start: int) -> None:
            columns = slice(start, start + _PANEL_COLUMNS)
            stop = min(columns.stop, A.shape[1]) if A is B else B.shape[1]
            total[columns, :stop] += A[:, columns].T @ B[:, :stop]

        threads.for_each(add_panel, panels)


def _symmetric(blocks: Sequence[Sequence[Any]]) -> Any:
    """The symmetric matrix with these blocks to the left of its diagonal; of those on it the lower triangle counts."""
    if len(blocks) == 1 and not on_host(blocks[0][0]):
        return blocks[0][0]
    lower = np.block(
        [[blocks[i][j] if j <= i else blocks[j][i].T for j in range(len(blocks))] for i in range(len(blocks))]
    )
    return np.tril(lower) + np.tril(lower, -1).T
