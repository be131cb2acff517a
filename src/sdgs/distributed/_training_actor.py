"""The Dask actor that holds the rows of one worker, their coefficients and their part of the residual."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from distributed import get_worker
from scipy.sparse import csr_array, issparse, vstack

from sdgs._utils._threads import blas_on_one_thread
from sdgs.decomposition._block_updates import Array, Indices, number_within_budget, slices, weighted_energy
from sdgs.decomposition._problem import Problem
from sdgs.decomposition._solvers import starts_from_last_subspace
from sdgs.distributed._dask_rows import check_block
from sdgs.distributed._k_largest import NumbersBetween, SortedSample, number_above_cut, numbers_between, sample_sorted
from sdgs.distributed._memmap_allocator import MemmapAllocator
from sdgs.distributed._worker_alternation import SLAB_BYTES, DenseWorkerAlternation, SparseWorkerAlternation

_MAX_MEMORY_SHARE = 0.5  # of a worker's memory for rows and error; beyond it dense ones are in memory-mapped files
_PIECE_BYTES = 1 << 24  # of rows that are sent to the actor at a time


class TrainingActor:
    """The rows of one worker and the state of training that belongs to them.

    Labels have their global numbers; rows and flat indices count from the first row of this worker. Each method limits
    BLAS, because the limit of the client does not reach workers, and that of Dask only those that a nanny starts.
    """

    _state: DenseWorkerAlternation | SparseWorkerAlternation

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        *,
        sparse: bool,
        max_memory_share: float = _MAX_MEMORY_SHARE,
        slab_bytes: int = SLAB_BYTES,
    ) -> None:
        self._shape, self._dtype, self._sparse, self._slab_bytes = shape, dtype, sparse, slab_bytes
        self._sparse_blocks: dict[int, Any] = {}  # by the number of their first row
        self._missing = [np.empty(0, dtype=np.intp)]
        self._largest, self._stored_bytes = 0.0, 0
        worker = get_worker()
        limit = worker.memory_manager.memory_limit
        self._max_bytes = max_memory_share * limit if limit else np.inf
        if not sparse:
            size = 2 * shape[0] * shape[1] * np.dtype(dtype).itemsize
            self._allocator = MemmapAllocator(worker.local_directory if size > self._max_bytes else None)
            self._X = self._allocator.zeros(shape, dtype)

    def put(self, start: int, block: Any) -> None:
        """Store some rows. NaN in dense rows becomes 0, and its flat index is stored."""
        if self._sparse:
            self._sparse_blocks[start] = block
            self._stored_bytes += block.data.nbytes + block.indices.nbytes
            if self._stored_bytes > self._max_bytes:
                raise MemoryError(
                    "Sparse samples take more than half of the memory of a worker. "
                    "Use more workers, or workers with more memory."
                )
            block = block.data
        else:
            rows = self._X[start : start + block.shape[0]]
            rows[:] = block
            missing = np.flatnonzero(np.isnan(block))
            if missing.size:
                rows.reshape(-1)[missing] = 0
                self._missing.append(missing + start * self._shape[1])
            self._allocator.release()
        with np.errstate(invalid="ignore"):
            self._largest = max(self._largest, float(np.nanmax(np.abs(block), initial=0)))

    def largest(self) -> float:
        """The largest magnitude of all entries."""
        return self._largest

    @blas_on_one_thread()
    def initialise(self, problem: Problem, scale: Any) -> tuple[float, list[float]]:
        """Initialise the state, and return the energy of all rows and of the rows of each label."""
        if self._sparse:
            X = csr_array(vstack([self._sparse_blocks[start] for start in sorted(self._sparse_blocks)], format="csr"))
            self._sparse_blocks.clear()
            self._state = SparseWorkerAlternation(X, problem, scale=scale)
        else:
            missing, slab_bytes = np.concatenate(self._missing), self._slab_bytes
            self._state = DenseWorkerAlternation(
                self._allocator, self._X, problem, scale=scale, missing=missing, slab_bytes=slab_bytes
            )
        return self._state.total, self._state.energies

    @blas_on_one_thread()
    def gram_products(
        self, subspaces: Mapping[int, Array], labels: Sequence[int], bases: Mapping[int, Array] | None
    ) -> list[Array]:
        """Project onto new subspaces, then return N^T (N A) for some labels that share no row.

        A is the given basis of a label; without bases its last subspace, or a random one.
        """
        self._project(subspaces)
        state = self._state
        if bases is not None:
            return [state.gram_times(i, bases[i]) for i in labels]
        if starts_from_last_subspace(state.problem.solver, state.sweeps):
            return [state.gram_times(i) for i in labels]
        if state.sweeps == 0:
            for i in labels:
                state.add_start(state.rows[i])
        return [state.gram_times(i, state.gaussian_matrix(i)) for i in labels]

    @blas_on_one_thread()
    def residual_candidates(self, subspaces: Mapping[int, Array]) -> SortedSample:
        """Project onto new subspaces, then return a sample of the magnitudes of the K largest residual entries."""
        self._project(subspaces)
        indices, values = self._state.residual_candidates()
        problem = self._state.problem
        order = np.lexsort((indices, -np.abs(values)))
        order = order[: number_within_budget(problem.costs(indices[order]), problem.K)]
        self._indices, self._values = indices[order], values[order]
        self._costs = problem.costs(self._indices)
        if problem.sample_weight is not None:
            self._last_values = self._state.values_at_residual()
        return sample_sorted(np.abs(self._values), self._costs)

    def candidates_between(self, low: float, high: float) -> NumbersBetween:
        """The magnitudes of the candidates between two bounds."""
        return numbers_between(np.abs(self._values), self._costs, low, high)

    def residual_energies(self, cut: float, remaining: float) -> tuple[float, float]:
        """The weighted energy of the entries that S has, and of those that ``set_residual`` would give it."""
        last = weighted_energy(self._last_values, self._state.problem.costs(self._state.S_indices))
        size = number_above_cut(np.abs(self._values), self._costs, cut, remaining)
        return last, weighted_energy(self._values[:size], self._costs[:size])

    @blas_on_one_thread()
    def update_residual_values(self) -> float:
        """S keeps its entries; returns the error of these rows."""
        self._state.put_residual(self._state.S_indices, self._last_values)
        self._state.sweeps += 1
        return self._state.error()

    @blas_on_one_thread()
    def set_residual(self, cut: float, remaining: float) -> float:
        """S := the candidates above the cut, and those at it that fit; returns the error of these rows."""
        size = number_above_cut(np.abs(self._values), self._costs, cut, remaining)
        order = np.argsort(self._indices[:size])
        self._state.put_residual(self._indices[:size][order], self._values[:size][order])
        self._state.sweeps += 1
        return self._state.error()

    @blas_on_one_thread()
    def factors(self) -> list[tuple[Array, Array]]:
        """For the coefficients of each label: the triangular QR factor, and the sum of the rows, both weighted."""
        in_float64 = (U.astype(np.float64, copy=False) for U in self._state.U)
        weight = self._state.problem.sample_weight
        if weight is None:
            return [(np.asarray(np.linalg.qr(U, mode="r")), U.sum(axis=0)) for U in in_float64]
        return [
            (np.asarray(np.linalg.qr(np.sqrt(weight[omega, None]) * U, mode="r")), weight[omega] @ U)
            for U, omega in zip(in_float64, self._state.rows, strict=True)
        ]

    @blas_on_one_thread()
    def coefficients(self, rotations: Sequence[Array] | None = None) -> list[Array]:
        """The coefficients of each label, rotated if rotations are given."""
        if rotations is None:
            return self._state.U
        return [(U @ V).astype(U.dtype, copy=False) for U, V in zip(self._state.U, rotations, strict=True)]

    def residual(self) -> tuple[Indices, Array]:
        """Flat indices and values of S."""
        return self._state.S_indices, self._state.S_values

    @blas_on_one_thread()
    def restore(self, U: Sequence[Array], C: Array, indices: Indices, values: Array, sweeps: int) -> None:
        """Continue from a state after ``sweeps`` sweeps."""
        flat = np.concatenate([part.reshape(-1) for part in U])
        self._state.restore({"U": flat, "C": C, "S_indices": indices, "S_values": values}, sweeps)

    def close(self) -> None:
        """Release everything."""
        self.__dict__.clear()

    def _project(self, subspaces: Mapping[int, Array]) -> None:
        for i, Q in subspaces.items():
            self._state.project(i, Q)


def send_rows(_: None, block: Any, actor: Any, start: int, dtype: Any, dense: bool) -> None:
    """Send rows to the actor on the same worker, piece by piece."""
    block = check_block(block, dtype)
    step = max(1, _PIECE_BYTES // max(block.shape[1] * np.dtype(dtype).itemsize, 1))
    for piece in slices(block.shape[0], step):
        rows = block[piece]
        actor.put(start + piece.start, rows.toarray() if dense and issparse(rows) else rows).result()
