"""The alternation over the rows of one worker: that of all rows in memory, with S chosen by all workers together."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition._alternation import slices
from sdgs.decomposition._block_updates import Array, Indices, largest_entries, largest_indices
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation
from sdgs.decomposition.backends._threads import ThreadPool
from sdgs.distributed._memmap_allocator import MemmapAllocator, ReleasingWorkers

_SLAB_BYTES = 1 << 25  # of R, looked at in one go


class DensePart(DenseAlternation):
    """Rows that are dense. What is done to all of them is done to a slab after the other: they may be in a file."""

    def __init__(self, pages: MemmapAllocator, *arguments: Any, **options: Any) -> None:
        self._pages = pages
        super().__init__(*arguments, **options)

    def make_threads(self, n_jobs: int | None) -> ThreadPool:
        """Threads that give pages back every so often."""
        return ReleasingWorkers(n_jobs, self._pages)

    def zeros(self) -> Array:
        """A matrix of the size of X, where X is."""
        return self._pages.zeros(self.shape, self.X.dtype)

    def residual_candidates(self) -> tuple[Indices, Array]:
        """(flat place, value) of the K largest entries, S taken back into R."""
        p, floor = self.shape[1], 0.0
        places, values = np.empty(0, dtype=np.intp), np.empty(0, dtype=self.X.dtype)
        for slab in self._slabs():
            flat, low = self.R[slab].reshape(-1), slab.start * p
            flat[self.missing[_within(self.missing, slab, p)] - low] = 0
            mine = _within(self.S_indices, slab, p)
            flat[self.S_indices[mine] - low] += self.S_values[mine]
            found = largest_entries(flat, self.K, floor)
            places, values = np.append(places, found + low), np.append(values, flat[found])
            if places.size > self.K:
                few = np.sort(largest_indices(np.abs(values), self.K))
                places, values = places[few], values[few]
                floor = float(np.abs(values).min())
            self._pages.release()
        return places, values

    def put_residual(self, places: Indices, values: Array) -> None:
        """S := these, in order."""
        self.S_indices, self.S_values = places, values
        self._clear(places)

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps, but for the rounding of R."""
        super().restore(state, sweeps)
        for slab in self._slabs():
            self.R[slab] = self.X[slab] * (1 / self.scale)
            for omega, U, C in zip(self.rows, self.U, self.C, strict=True):
                mine = _within(omega, slab, 1)
                self.R[omega[mine]] -= U[mine] @ C
            self._pages.release()
        self._clear(self.missing)
        self._clear(self.S_indices)

    def _slabs(self) -> list[slice]:
        n, p = self.shape
        return slices(n, max(1, _SLAB_BYTES // (p * self.X.dtype.itemsize)))

    def _clear(self, places: Indices) -> None:
        """R := 0 at these places, which are in order."""
        p = self.shape[1]
        for slab in self._slabs():
            self.R[slab].reshape(-1)[places[_within(places, slab, p)] - slab.start * p] = 0
            self._pages.release()


class SparsePart(SparseAlternation):
    """Rows that are sparse."""

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps, but for rounding."""
        super().restore(state, sweeps)
        self.rebuild()


def _within(places: Indices, slab: slice, p: int) -> slice:
    """Where, of places in order, those of some rows are."""
    return slice(*np.searchsorted(places, [slab.start * p, slab.stop * p]))
