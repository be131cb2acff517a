"""What a worker holds in training, as a Dask actor: its rows, their coefficients and their part of the residual."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from threadpoolctl import ThreadpoolController

from distributed import get_worker
from sdgs.decomposition._alternation import SharedParameters, slices
from sdgs.decomposition._block_updates import Array, Indices
from sdgs.decomposition._label_rows import rows_by_label
from sdgs.decomposition._solvers import Solver, starts_from_last_subspace
from sdgs.distributed._dask_rows import checked
from sdgs.distributed._k_largest import Between, Sample, between, sampled
from sdgs.distributed._memmap_allocator import MemmapAllocator
from sdgs.distributed._worker_alternation import DensePart, SparsePart

_SHARE = 0.5  # of a worker's memory that its rows and their error may take; else dense ones are in files
_PIECE_BYTES = 1 << 24  # handed over in one go


def _on_one_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same with BLAS on one thread, for the reasons that ``decompose`` has: what the client says holds there only.

    Dask says so to the processes that it starts itself, and not where workers are threads or have no nanny.
    """

    @wraps(method)
    def limited(self: "TrainingActor", *arguments: Any) -> Any:
        with self._blas.limit(limits=1, user_api="blas"):
            return method(self, *arguments)

    return limited


class TrainingActor:
    """The rows of one worker and the state of training that belongs to them.

    Labels are numbered as in all rows; rows and places from the first row of this worker.
    """

    _state: DensePart | SparsePart

    def __init__(self, shape: tuple[int, int], dtype: Any, *, sparse: bool) -> None:
        self._shape, self._dtype, self._sparse = shape, dtype, sparse
        self._blocks: dict[int, Any] = {}  # sparse ones
        self._gaps = [np.empty(0, dtype=np.intp)]
        self._largest, self._stored = 0.0, 0
        self._blas = ThreadpoolController()
        worker = get_worker()
        limit = worker.memory_manager.memory_limit
        self._room = _SHARE * limit if limit else np.inf
        if not sparse:
            size = 2 * shape[0] * shape[1] * np.dtype(dtype).itemsize
            self._pages = MemmapAllocator(worker.local_directory if size > self._room else None)
            self._X = self._pages.zeros(shape, dtype)

    def put(self, start: int, block: Any) -> None:
        """Take over some rows, in order. NaN is kept apart: where it is, and a zero in its place."""
        if self._sparse:
            self._blocks[start] = block
            self._stored += block.data.nbytes + block.indices.nbytes
            if self._stored > self._room:
                raise MemoryError(
                    "Sparse samples take more than half of a worker's memory. Use more workers, or larger."
                )
            block = block.data
        else:
            rows = self._X[start : start + block.shape[0]]
            rows[:] = block
            gaps = np.flatnonzero(np.isnan(block))
            if gaps.size:
                rows.reshape(-1)[gaps] = 0
                self._gaps.append(gaps + start * self._shape[1])
            self._pages.release()
        with np.errstate(invalid="ignore"):
            self._largest = max(self._largest, float(np.nanmax(np.abs(block), initial=0)))

    def largest(self) -> float:
        """The largest magnitude of all entries."""
        return self._largest

    @_on_one_thread
    def begin(
        self,
        labels: Any,
        ranks: NDArray[np.intp],
        K: int,
        solver: Solver,
        seed: int,
        whole: SharedParameters,
    ) -> tuple[float, list[float]]:
        """Make the state of the start. The energy of the rows, of all and of each label's."""
        rows = rows_by_label(labels)
        if self._sparse:
            X = csr_array(vstack([self._blocks[start] for start in sorted(self._blocks)], format="csr"))
            self._blocks.clear()
            self._state = SparsePart(X, rows, ranks, K, solver, seed, shared=whole)
        else:
            gaps = np.concatenate(self._gaps)
            self._state = DensePart(self._pages, self._X, rows, ranks, K, solver, seed, shared=whole, missing=gaps)
        return self._state.total, self._state.energies

    @_on_one_thread
    def sums(self, found: Mapping[int, Array], labels: Sequence[int], bases: Mapping[int, Array] | None) -> list[Array]:
        """Put subspaces that were ``found`` in place; then N^T (N A) of each of some labels that share no row.

        A is the basis that is given; without, the label's last subspace, or a random one.
        """
        self._project(found)
        state = self._state
        if bases is not None:
            return [state.gram_times(i, bases[i]) for i in labels]
        if starts_from_last_subspace(state.solver, state.sweeps):
            return [state.gram_times_last(i) for i in labels]
        return [state.gram_times_random(i) for i in labels]

    @_on_one_thread
    def candidates(self, found: Mapping[int, Array]) -> Sample:
        """Put subspaces in place; then a sample of how large the K largest entries of the residual are."""
        self._project(found)
        places, values = self._state.residual_candidates()
        order = np.lexsort((places, -np.abs(values)))[: self._state.K]
        self._places, self._values = places[order], values[order]
        return sampled(np.abs(self._values), self._state.K)

    def between(self, low: float, high: float) -> Between:
        """Those that are between two bounds."""
        return between(np.abs(self._values), low, high)

    @_on_one_thread
    def keep(self, size: int) -> float:
        """S := so many of the largest. The error of these rows."""
        order = np.argsort(self._places[:size])
        self._state.put_residual(self._places[:size][order], self._values[:size][order])
        self._state.sweeps += 1
        return self._state.error()

    @_on_one_thread
    def factors(self) -> list[tuple[Array, Array]]:
        """Of the coefficients of each label: the triangular factor, and the sum of the rows."""
        exact = (U.astype(np.float64, copy=False) for U in self._state.U)
        return [(np.asarray(np.linalg.qr(U, mode="r")), U.sum(axis=0)) for U in exact]

    @_on_one_thread
    def coefficients(self, turned: Sequence[Array] | None = None) -> list[Array]:
        """Of each label; in other axes if those are given."""
        U = self._state.U
        if turned is None:
            return U
        return [(mine @ axes).astype(mine.dtype, copy=False) for mine, axes in zip(U, turned, strict=True)]

    def residual(self) -> tuple[Indices, Array]:
        """Flat places and values of S."""
        return self._state.S_indices, self._state.S_values

    @_on_one_thread
    def restore(self, U: Sequence[Array], C: Array, places: Indices, values: Array, sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps."""
        flat = np.concatenate([mine.reshape(-1) for mine in U])
        self._state.restore({"U": flat, "C": C, "S_indices": places, "S_values": values}, sweeps)

    def close(self) -> None:
        """Let go of all of it."""
        self.__dict__.clear()

    def _project(self, found: Mapping[int, Array]) -> None:
        for i, Q in found.items():
            self._state.project(i, Q)


def hand_over(_: None, block: Any, part: Any, start: int, dtype: Any, dense: bool) -> None:
    """Give rows to the part that is on the same worker, a piece after the other."""
    block = checked(block, dtype)
    step = max(1, _PIECE_BYTES // max(block.shape[1] * np.dtype(dtype).itemsize, 1))
    for piece in slices(block.shape[0], step):
        rows = block[piece]
        part.put(start + piece.start, rows.toarray() if dense and hasattr(rows, "toarray") else rows).result()
