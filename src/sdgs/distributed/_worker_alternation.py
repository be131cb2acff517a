"""The alternation over the rows of one worker, as in memory, except that all workers choose S together."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._threads import ThreadPool
from sdgs.decomposition._block_updates import Array, Indices, largest_entries, largest_weighted_entries, slices
from sdgs.decomposition.backends._dense_alternation import DenseAlternation
from sdgs.decomposition.backends._sparse_alternation import SparseAlternation
from sdgs.distributed._memmap_allocator import MemmapAllocator, ReleasingThreadPool

SLAB_BYTES = 1 << 25  # of R that is processed at a time


class DenseWorkerAlternation(DenseAlternation):
    """For dense rows, which may be in a memory-mapped file: operations on all rows go slab by slab."""

    def __init__(
        self, allocator: MemmapAllocator, *arguments: Any, slab_bytes: int = SLAB_BYTES, **options: Any
    ) -> None:
        self._allocator, self._slab_bytes = allocator, slab_bytes
        super().__init__(*arguments, **options)

    def make_threads(self, n_jobs: int | None) -> ThreadPool:
        """Threads that release memory-mapped pages now and then."""
        return ReleasingThreadPool(n_jobs, self._allocator)

    def zeros(self) -> Array:
        """A matrix of the shape of X, in memory or in a file as X."""
        return self._allocator.zeros(self.X.shape, self.X.dtype)

    def residual_candidates(self) -> tuple[Indices, Array]:
        """Flat indices and values of the K largest entries of R + S, or a few more; R becomes R + S."""
        p, floor = self.X.shape[1], 0.0
        indices, values = np.empty(0, dtype=np.intp), np.empty(0, dtype=self.X.dtype)
        for slab in self._slabs():
            flat, low = self.R[slab].reshape(-1), slab.start * p
            flat[self.missing[_within(self.missing, slab, p)] - low] = 0
            in_slab = _within(self.S_indices, slab, p)
            flat[self.S_indices[in_slab] - low] += self.S_values[in_slab]
            largest = self._largest_of_slab(flat, low, floor)
            indices, values = np.append(indices, largest + low), np.append(values, flat[largest])
            if indices.size > self.problem.K:
                kept, reached = self.largest_candidates(indices, values)
                kept, floor = np.sort(kept), max(floor, reached)
                indices, values = indices[kept], values[kept]
            self._allocator.release()
        return indices, values

    def _largest_of_slab(self, flat: Array, low: int, floor: float) -> Indices:
        """Indices in a slab, whose first flat index is ``low``, of its entries among the K largest."""
        problem = self.problem
        if problem.sample_weight is None:
            return np.asarray(largest_entries(flat, int(problem.K), floor))
        return np.asarray(largest_weighted_entries(flat, problem.K, lambda at: problem.costs(at + low), floor)[0])

    def values_at_residual(self) -> Array:
        """R + S at the entries of S, after R became R + S."""
        return np.asarray(self.R.reshape(-1)[self.S_indices])

    def put_residual(self, indices: Indices, values: Array) -> None:
        """S := these entries, in ascending order."""
        self.S_indices, self.S_values = indices, values
        self._clear(indices)

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after ``sweeps`` sweeps, up to the rounding of R."""
        super().restore(state, sweeps)
        for slab in self._slabs():
            self.R[slab] = self.X[slab] * (1 / self.scale)
            for omega, U, C in zip(self.rows, self.U, self.C, strict=True):
                in_slab = _within(omega, slab, 1)
                self.R[omega[in_slab]] -= U[in_slab] @ C
            self._allocator.release()
        self._clear(self.missing)
        self._clear(self.S_indices)

    def _slabs(self) -> list[slice]:
        n, p = self.X.shape
        return slices(n, max(1, self._slab_bytes // (p * self.X.dtype.itemsize)))

    def _clear(self, indices: Indices) -> None:
        """R := 0 at these ascending flat indices."""
        p = self.X.shape[1]
        for slab in self._slabs():
            self.R[slab].reshape(-1)[indices[_within(indices, slab, p)] - slab.start * p] = 0
            self._allocator.release()


class SparseWorkerAlternation(SparseAlternation):
    """For sparse rows."""

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after ``sweeps`` sweeps, up to rounding."""
        super().restore(state, sweeps)
        self.rebuild()


def _within(indices: Indices, slab: slice, p: int) -> slice:
    """The slice of ascending flat indices that lie in some rows."""
    return slice(*np.searchsorted(indices, [slab.start * p, slab.stop * p]))
