"""The alternation for arrays of other libraries, on the device where X is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray

from sdgs._utils._array_api import CudaGraphRunner, copy_into, namespace, put, take, to_device_of, to_host
from sdgs.decomposition._alternation import (
    Solver,
    draw,
    levels,
    meetings,
    oversampled,
    power_of_two_above,
    rounding,
    slices,
    widths,
)
from sdgs.decomposition._block_updates import Indices, likely_rank, supported_rank

# Bytes of rows that are gathered in one go. Devices have a launch to pay for every product, so much at a time.
_GATHERED = 1 << 29
_LOOKED_AT = 1 << 26  # entries looked at in one go
_SAMPLE = 1 << 14  # entries looked at to guess how large the largest are


@dataclass(eq=False)
class _Batch:
    """Labels that share no row, of one rank and of similar size; rows that are not there are row n, which is zero."""

    labels: list[int]
    rows: Any  # (b, m), of R
    U: Any  # (b, m, r)
    C: Any  # (b, r, p)


class ArrayAlternation:
    """X = sum_i U_i C^i + S + R, in the array API standard: the steps of ``DenseAlternation``, in the same order.

    Labels of one level, which share no row, are stacked and updated by one product each: on a GPU a small product costs
    as much as one a hundred times as large. Random numbers are the host's, so that every device sees the same.
    """

    def __init__(
        self, X: Any, rows: tuple[Indices, ...], ranks: NDArray[np.intp], K: int, solver: Solver, seed: int
    ) -> None:
        self.xp = xp = namespace(X)
        self._t = xp.matrix_transpose
        missing = xp.isnan(X)
        self.missing = missing if bool(xp.any(missing)) else None
        self.X = X if self.missing is None else xp.where(missing, xp.zeros_like(X), X)
        self.rows, self.K, self.solver, self.seed = rows, K, solver, seed
        self.shape = n, p = X.shape
        self.dtype: np.dtype[np.floating[Any]] = np.dtype(np.float32 if X.dtype == xp.float32 else np.float64)
        self.scale = float(power_of_two_above(float(xp.max(xp.abs(self.X))), self.dtype))
        energy = np.concatenate(
            [to_host(_row_squares(xp.astype(block / self.scale, xp.float64))) for block in self._blocks(self.X)]
        )
        self.total = float(energy.sum())
        energies = [float(energy[omega].sum()) for omega in rows]
        self.floors = rounding([omega.size for omega in rows], energies, p, self.dtype)
        self.width = widths(ranks, rows, p)

        # One row more than X has, which stays zero. As in ``Alternation`` the start is in R before the first sweep only
        # for samples without a label; those with m have m shares of 1 / m, which their labels put back.
        card = np.bincount(np.concatenate(rows), minlength=n)
        share = np.append(1 / np.maximum(card, 1), 0).astype(self.dtype) / self.scale
        self.share = to_device_of(share, X)
        alone = to_device_of((card == 0).astype(self.dtype) / self.scale, X)
        self.R = xp.concat([self.X * alone[:, None], xp.zeros((1, p), dtype=X.dtype, device=device(X))])
        self.batches = [batch for level in levels(meetings(rows, n)) for batch in self._batches(level)]
        self.places = xp.zeros((0,), dtype=xp.int64, device=device(X))
        self.values = xp.zeros((0,), dtype=X.dtype, device=device(X))
        self.sweeps = 0
        self._repeated = CudaGraphRunner(X)

    def _batches(self, level: Sequence[int]) -> Iterator[_Batch]:
        """The labels of a level, stacked with those of the same rank and up to twice the size."""
        alike: dict[tuple[int, int], list[int]] = {}
        for i in level:
            if self.rows[i].size:
                alike.setdefault((self.width[i], self.rows[i].size.bit_length()), []).append(i)
        n, p = self.X.shape
        for (r, _), labels in alike.items():
            most = max(self.rows[i].size for i in labels)
            for part in slices(len(labels), max(1, _GATHERED // (most * p * self.dtype.itemsize))):
                mine = labels[part]
                places = np.full((len(mine), most), n, dtype=np.int64)
                for place, i in zip(places, mine, strict=True):
                    place[: self.rows[i].size] = self.rows[i]
                shape = {"dtype": self.X.dtype, "device": device(self.X)}
                yield _Batch(
                    mine,
                    to_device_of(places, self.X),
                    self.xp.zeros((len(mine), most, r), **shape),
                    self.xp.zeros((len(mine), r, p), **shape),
                )

    def sweep(self) -> None:
        """Update every label, then the residual."""
        if self.sweeps > 0 and self.solver == "brp":  # the same products in the same places, sweep for sweep
            self._repeated(self._label_steps)
        else:
            self._label_steps()
        self._residual_step()
        self.sweeps += 1

    def _label_steps(self) -> None:
        for batch in self.batches:
            self._label_step(batch)

    def _label_step(self, batch: _Batch) -> None:
        if self.sweeps == 0:
            for part, N in self._gathered(batch):
                places = self.xp.reshape(batch.rows[:, part], (-1,))
                own = self.xp.minimum(places, self.xp.asarray(self.X.shape[0] - 1, device=device(places)))
                start = take(self.X, own) * take(self.share, places)[:, None]
                self._put_back(batch, part, N + self.xp.reshape(start, N.shape))
        parts = self._gathered(batch)
        r = batch.C.shape[1]
        if self.solver == "svd":
            N = self.xp.concat([N for _, N in parts], axis=1)
            Q = self._t(self.xp.linalg.svd(N, full_matrices=False)[2][:, :r, :])
        elif self.sweeps > 0 and self.solver == "brp":
            Q = self._basis(self._gram_times(parts, self._t(batch.C)))
        else:
            width = oversampled(r, self.X.shape[1], self.solver)
            A = np.stack([draw(self.seed, self.sweeps, i, (self.X.shape[1], width), self.dtype) for i in batch.labels])
            Q = self._basis(self._gram_times(parts, to_device_of(A, self.X)))
            if self.solver == "brp":
                Y2 = self._gram_times(parts, Q)
                _, axes = self.xp.linalg.eigh(self._t(Q) @ Y2)
                Q = self._basis(Y2 @ axes[:, :, width - r :])
        self._project(batch, parts, Q)

    def _gathered(self, batch: _Batch) -> Iterable[tuple[slice, Any]]:
        """N = R + L^i of each label (b, m, p); some rows after the other, each time, where all would take much."""
        b, m = batch.rows.shape
        step = max(1, _GATHERED // (b * self.X.shape[1] * self.dtype.itemsize))
        parts = _Again(self, batch, slices(m, step))
        return parts if m > step else list(parts)

    def _rows_of(self, batch: _Batch, part: slice) -> Any:
        places = batch.rows[:, part]
        N = take(self.R, self.xp.reshape(places, (-1,)))
        return self.xp.reshape(N, (*places.shape, self.X.shape[1])) + batch.U[:, part, :] @ batch.C

    def _put_back(self, batch: _Batch, part: slice, N: Any) -> None:
        places = self.xp.reshape(batch.rows[:, part], (-1,))
        self.R = put(self.R, places, self.xp.reshape(N, (places.shape[0], N.shape[2])))

    def _gram_times(self, parts: Iterable[tuple[slice, Any]], A: Any) -> Any:
        """Y2 = N^T (N A)."""
        return reduce(add, (self._t(N) @ (N @ A) for _, N in parts))

    def _basis(self, Y2: Any) -> Any:
        return self.xp.linalg.qr(Y2)[0]

    def _project(self, batch: _Batch, parts: Iterable[tuple[slice, Any]], Q: Any) -> None:
        """L^i := N Q Q^T."""
        Qt, found = self._t(Q), []
        for part, N in parts:
            found.append(N @ Q)
            self._put_back(batch, part, N - found[-1] @ Qt)
        batch.U = copy_into(batch.U, self.xp.concat(found, axis=1) if len(found) > 1 else found[0])
        batch.C = copy_into(batch.C, Qt)

    def _residual_step(self) -> None:
        xp, (n, p) = self.xp, self.X.shape
        if self.missing is not None:
            for part in slices(n, max(1, _LOOKED_AT // p)):
                block = self.R[part, :]
                rows = xp.arange(part.start, part.stop, device=device(block))
                self.R = put(self.R, rows, xp.where(self.missing[part, :], xp.zeros_like(block), block))
        flat = xp.reshape(self.R, (-1,))
        flat = put(flat, self.places, take(flat, self.places) + self.values)
        floor = 0.0
        if self.places.shape[0] == self.K > 0:  # S held the K largest: a bound on the K-th largest from below
            floor = float(xp.min(xp.abs(take(flat, self.places))))
        self.places = self._largest(flat[: n * p], floor)
        self.values = take(flat, self.places)
        flat = put(flat, self.places, xp.zeros_like(self.values))
        self.R = xp.reshape(flat, self.R.shape)

    def _largest(self, flat: Any, floor: float) -> Any:
        """Positions, ascending, of the K non-zero entries that are largest in magnitude; of equal ones the first."""
        if self.K == 0:
            return self.places
        step = flat.shape[0] // _SAMPLE
        if step >= 2:
            sample = self.xp.sort(self.xp.abs(flat[::step]))
            rank = likely_rank(self.K, step)
            guess = float(sample[-rank]) if rank < sample.shape[0] else 0.0
            if guess > floor:
                places = self._largest_from(flat, guess)
                if places.shape[0] == self.K:
                    return places
        return self._largest_from(flat, floor)

    def _largest_from(self, flat: Any, floor: float) -> Any:
        xp = self.xp
        kept = xp.zeros((0,), dtype=xp.int64, device=device(flat))
        for part in slices(flat.shape[0], _LOOKED_AT):
            size = xp.abs(flat[part])
            found = xp.nonzero(size >= floor if floor > 0 else size > 0)[0]
            kept = xp.concat([kept, xp.astype(found, xp.int64) + part.start])
            if kept.shape[0] > 4 * self.K + 4096:
                kept = self._first_largest(flat, kept)
                floor = max(floor, float(xp.min(xp.abs(take(flat, kept)))))
        return self._first_largest(flat, kept)

    def _first_largest(self, flat: Any, places: Any) -> Any:
        if places.shape[0] <= self.K:
            return places
        order = self.xp.argsort(self.xp.abs(take(flat, places)), descending=True, stable=True)
        return self.xp.sort(take(places, order[: self.K]))

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        return sum(float(self.xp.sum(_row_squares(block))) for block in self._blocks(self.R))

    def _blocks(self, A: Any) -> Iterator[Any]:
        for part in slices(A.shape[0], max(1, _LOOKED_AT // A.shape[1])):
            yield A[part, :]

    def _pairs(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """(U_i, C^i) of every label, on the host."""
        p = self.X.shape[1]
        pairs = [(np.zeros((0, 0), dtype=self.dtype), np.zeros((0, p), dtype=self.dtype)) for _ in self.rows]
        for batch in self.batches:
            for i, U, C in zip(batch.labels, to_host(batch.U), to_host(batch.C), strict=True):
                pairs[i] = U[: self.rows[i].size], C
        return pairs

    def supported(self) -> list[tuple[Any, Any]]:
        """(U_i, C^i) of every label, with the rank that its rows support."""
        pairs = [
            supported_rank(U, C, floor) if len(U) else (U, C)
            for (U, C), floor in zip(self._pairs(), self.floors, strict=True)
        ]
        return [(to_device_of(U, self.X), to_device_of(C, self.X)) for U, C in pairs]

    def residual(self) -> Any:
        """S, dense: the standard has no sparse arrays."""
        S = self.xp.zeros_like(self.xp.reshape(self.X, (-1,)))
        return self.xp.reshape(put(S, self.places, self.values * self.scale), self.X.shape)

    def state(self) -> dict[str, NDArray[Any]]:
        """What the result is made of, after a sweep; on the host."""
        pairs = self._pairs()
        return {
            "U": np.concatenate([U.reshape(-1) for U, _ in pairs]),
            "C": np.vstack([C for _, C in pairs]),
            "places": to_host(self.places),
            "values": to_host(self.values),
        }

    def working_state(self) -> dict[str, NDArray[Any]]:
        """R, which has the rounding of all steps in it."""
        return {"R": to_host(self.R)}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps; without the working state good for no more of them."""
        sizes = [omega.size * r for omega, r in zip(self.rows, self.width, strict=True)]
        coefficients = np.split(state["U"], np.cumsum(sizes)[:-1])
        components = np.split(state["C"], np.cumsum(self.width)[:-1])
        for batch in self.batches:
            U = np.zeros(batch.U.shape, dtype=self.dtype)
            for mine, i in zip(U, batch.labels, strict=True):
                mine[: self.rows[i].size] = coefficients[i].reshape(-1, self.width[i])
            batch.U = copy_into(batch.U, to_device_of(U, self.X))
            batch.C = copy_into(batch.C, to_device_of(np.stack([components[i] for i in batch.labels]), self.X))
        self.places, self.values = to_device_of(state["places"], self.X), to_device_of(state["values"], self.X)
        if "R" in state:
            self.R = copy_into(self.R, to_device_of(state["R"], self.X))
        self.sweeps = sweeps


@dataclass(frozen=True, eq=False)
class _Again:
    """Rows of N, gathered anew whenever they are gone through."""

    state: ArrayAlternation
    batch: _Batch
    parts: Sequence[slice]

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        return ((part, self.state._rows_of(self.batch, part)) for part in self.parts)


def _row_squares(block: Any) -> Any:
    """The sum of the squares of each row, in the precision of the block; given in float64."""
    xp = namespace(block)
    return xp.astype(xp.sum(block * block, axis=1), xp.float64)
