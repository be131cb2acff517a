"""The alternation for arrays of other libraries, on the device of X."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from itertools import repeat
from operator import add
from typing import Any

import numpy as np
from array_api_compat import device, is_torch_array
from numpy.typing import NDArray

from sdgs._utils._array_api import CudaGraphRunner, copy_into, namespace, put, take, to_device_of, to_host
from sdgs._utils._threads import ThreadPool
from sdgs.decomposition._alternation import AlternationState, power_of_two_above
from sdgs.decomposition._block_updates import Array, Indices, slices, update_residual
from sdgs.decomposition._label_rows import label_cooccurrence, levels
from sdgs.decomposition._problem import Problem
from sdgs.decomposition._solvers import draws_projection, refines_random_start, starts_from_last_subspace

_Parts = Callable[[], Iterable[tuple[slice, Any]]]  # gives N part by part: a slice of a batch's rows, and N there


@dataclass(eq=False)
class _Batch:
    """Labels that share no row, of one rank and of similar size; padded rows are row n of R, which is zero."""

    labels: list[int]
    rows: Any  # (b, m), of R
    U: Any  # (b, m, r)
    C: Any  # (b, r, p)
    weight: Any  # (b, m, 1), of the samples; None for 1


class ArrayApiAlternation(AlternationState):
    """X = sum_i U_i C^i + S + R, in the array API standard: the steps of ``DenseAlternation``, in the same order.

    Labels of one level, which share no row, are stacked and updated by one product each: on a GPU a small product costs
    as much as one a hundred times as large. Random numbers are drawn on the host, so that they are the same on every
    device.
    """

    # Bytes of rows that are gathered at a time: large, because every product on a device has the overhead of a launch.
    gathered_bytes = 1 << 29
    scan_entries = 1 << 26  # entries of R that are scanned at a time
    min_distinct_rows = 64  # labels with fewer rows count as similar: their products cost no more than a launch

    def __init__(self, X: Any, problem: Problem) -> None:
        self.xp = xp = namespace(X)
        self._t = xp.matrix_transpose
        self.problem, self.rows, self.ranks = problem, problem.rows, problem.ranks.tolist()
        self.threads = ThreadPool(problem.n_jobs)
        is_missing = xp.isnan(X)
        self.missing = xp.nonzero(xp.reshape(is_missing, (-1,)))[0]
        self.X = xp.where(is_missing, xp.zeros_like(X), X) if self.missing.shape[0] else X
        n, p = X.shape
        self.dtype: np.dtype[np.floating[Any]] = np.dtype(np.float32 if X.dtype == xp.float32 else np.float64)
        self.scale = float(power_of_two_above(float(xp.max(xp.abs(self.X))), self.dtype))
        energy = np.concatenate(
            [to_host(_row_squares(xp.astype(block / self.scale, xp.float64))) for block in self._blocks(self.X)]
        )
        self.sample_weight = None
        if problem.sample_weight is not None:
            energy *= problem.sample_weight
            self.sample_weight = to_device_of(np.append(problem.sample_weight, 0), X)  # of the rows of R
        self.total = float(energy.sum())
        self.energies = [float(energy[omega].sum()) for omega in self.rows]

        # R has one more row than X, which stays zero. As in ``Alternation`` only samples without a label have an error
        # before the first sweep; those with m labels have m parts of 1 / m, which the labels add back.
        cardinality = np.bincount(np.concatenate(self.rows), minlength=n)
        start_weight = np.append(1 / np.maximum(cardinality, 1), 0).astype(self.dtype) / self.scale
        self.start_weight = to_device_of(start_weight, X)
        unlabelled = to_device_of((cardinality == 0).astype(self.dtype) / self.scale, X)
        self.R = xp.concat([self.X * unlabelled[:, None], xp.zeros((1, p), dtype=X.dtype, device=device(X))])
        all_levels = levels(label_cooccurrence(self.rows, n))
        self.batches = [batch for level in all_levels for batch in self._batches(level)]
        self.S_indices = xp.zeros((0,), dtype=xp.int64, device=device(X))
        self.S_values = xp.zeros((0,), dtype=X.dtype, device=device(X))
        self.sweeps = 0
        self._graph_runner = CudaGraphRunner(X)
        self._fused = _fused_label_step(X)

    def _batches(self, level: Sequence[int]) -> Iterator[_Batch]:
        """The labels of a level, stacked with those of the same rank and up to twice the size."""
        by_shape: dict[tuple[int, int], list[int]] = {}
        for i in level:
            if self.rows[i].size:
                size = max(self.rows[i].size, self.min_distinct_rows)
                by_shape.setdefault((self.ranks[i], size.bit_length()), []).append(i)
        n, p = self.X.shape
        for (r, _), labels in by_shape.items():
            max_rows = max(self.rows[i].size for i in labels)
            for part in slices(len(labels), max(1, self.gathered_bytes // (max_rows * p * self.dtype.itemsize))):
                rows = np.full((len(labels[part]), max_rows), n, dtype=np.int64)
                for padded, i in zip(rows, labels[part], strict=True):
                    padded[: self.rows[i].size] = self.rows[i]
                options = {"dtype": self.X.dtype, "device": device(self.X)}
                yield _Batch(
                    labels[part],
                    to_device_of(rows, self.X),
                    self.xp.zeros((len(rows), max_rows, r), **options),
                    self.xp.zeros((len(rows), r, p), **options),
                    self._weights_of(rows),
                )

    def _weights_of(self, rows: NDArray[np.int64]) -> Any:
        """The weights of padded rows (b, m, 1)."""
        if self.problem.sample_weight is None:
            return None
        weight = np.append(self.problem.sample_weight, 0).astype(self.dtype)
        return to_device_of(weight[rows][:, :, None], self.X)

    def sweep(self) -> None:
        """Update every label, then the residual."""
        if starts_from_last_subspace(
            self.problem.solver, self.sweeps
        ):  # the same products on the same memory in every sweep
            self._graph_runner(self._label_steps)
        else:
            self._label_steps()
        self._residual_step()
        self.sweeps += 1

    def _label_steps(self) -> None:
        draws: Iterable[Any] = repeat(None)
        if draws_projection(self.problem.solver, self.sweeps):  # by threads, while this one launches the steps
            draws = self.threads.map(self._gaussian_matrices, self.batches)
        for batch, A in zip(self.batches, draws, strict=False):
            self._label_step(batch, None if A is None else to_device_of(A, self.X))

    def _label_step(self, batch: _Batch, A: Any) -> None:
        """A step that starts from the Gaussian matrices A (b, p, w), or from the last subspaces if that is None."""
        if self._is_fused(batch.C.shape[1]):
            arrays = self.R, batch.rows, batch.U, batch.C
            if A is None:
                self._fused.update_labels(*arrays)
            else:
                self._fused.add_start(self.R, batch.rows, self.X, self.start_weight)
                self._fused.start_labels(*arrays, A)
            return
        if self.sweeps == 0:
            self._add_start(batch)
        parts, r = self._gather(batch), batch.C.shape[1]
        if self.problem.solver == "svd":
            N = self.xp.concat([N for _, N in parts()], axis=1)
            N = N if batch.weight is None else N * self.xp.sqrt(batch.weight)
            Q = self._t(self.xp.linalg.svd(N, full_matrices=False)[2][:, :r, :])
        else:
            Q, _ = self.xp.linalg.qr(self._gram_times(parts, self._t(batch.C) if A is None else A, batch.weight))
            if A is not None and refines_random_start(self.problem.solver):
                Y2 = self._gram_times(parts, Q, batch.weight)
                _, axes = self.xp.linalg.eigh(self._t(Q) @ Y2)
                Q, _ = self.xp.linalg.qr(Y2 @ axes[:, :, axes.shape[2] - r :])
        self._project(batch, parts, Q)

    def _is_fused(self, r: int) -> bool:
        """Whether the steps of labels of this rank are compiled, which is for samples without weights."""
        is_default = self.problem.solver == "brp" and self.sample_weight is None
        return is_default and self._fused is not None and bool(self._fused.supports(r, self.X.shape[1]))

    def _gaussian_matrices(self, batch: _Batch) -> Array:
        """The random projections of the labels (b, p, w), on the host."""
        return np.stack([self.gaussian_matrix(i) for i in batch.labels])

    def _add_start(self, batch: _Batch) -> None:
        """Add the paper's start of the labels, which is not in U and C, back to R."""
        for part, N in self._gather(batch)():
            rows = self.xp.reshape(batch.rows[:, part], (-1,))
            row_of_X = self.xp.minimum(rows, self.xp.asarray(self.X.shape[0] - 1, device=device(rows)))
            start = take(self.X, row_of_X) * take(self.start_weight, rows)[:, None]
            self._scatter(batch, part, N + self.xp.reshape(start, N.shape))

    def _gather(self, batch: _Batch) -> _Parts:
        """N = R + L^i of each label (b, m, p); in parts that are gathered anew on each pass if all would be large."""
        b, m = batch.rows.shape
        parts = slices(m, max(1, self.gathered_bytes // (b * self.X.shape[1] * self.dtype.itemsize)))
        if len(parts) > 1:
            return lambda: ((part, self._gather_part(batch, part)) for part in parts)
        whole = [(part, self._gather_part(batch, part)) for part in parts]
        return lambda: whole

    def _gather_part(self, batch: _Batch, part: slice) -> Any:
        """These rows of N."""
        rows = batch.rows[:, part]
        N = take(self.R, self.xp.reshape(rows, (-1,)))
        return self.xp.reshape(N, (*rows.shape, self.X.shape[1])) + batch.U[:, part, :] @ batch.C

    def _scatter(self, batch: _Batch, part: slice, N: Any) -> None:
        """Write rows back to R."""
        rows = self.xp.reshape(batch.rows[:, part], (-1,))
        self.R = put(self.R, rows, self.xp.reshape(N, (rows.shape[0], N.shape[2])))

    def _gram_times(self, parts: _Parts, A: Any, weight: Any) -> Any:
        """Y2 = N^T diag(w) (N A)."""
        if weight is None:
            return reduce(add, (self._t(N) @ (N @ A) for _, N in parts()))
        return reduce(add, (self._t(N) @ (N @ A * weight[:, part, :]) for part, N in parts()))

    def _project(self, batch: _Batch, parts: _Parts, Q: Any) -> None:
        """L^i := N Q Q^T."""
        Qt, U_parts = self._t(Q), []
        for part, N in parts():
            U_parts.append(N @ Q)
            self._scatter(batch, part, N - U_parts[-1] @ Qt)
        batch.U = copy_into(batch.U, self.xp.concat(U_parts, axis=1) if len(U_parts) > 1 else U_parts[0])
        batch.C = copy_into(batch.C, Qt)

    def _residual_step(self) -> None:
        zeros = self.xp.zeros((self.missing.shape[0],), dtype=self.X.dtype, device=device(self.X))
        self.R = self.xp.reshape(put(self.xp.reshape(self.R, (-1,)), self.missing, zeros), self.R.shape)
        self.R, self.S_indices, self.S_values = update_residual(
            self.R, self.S_indices, self.S_values, self.problem.K, self.scan_entries, self.sample_weight
        )

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        if self.sample_weight is None:
            return sum(float(self.xp.sum(_row_squares(block))) for block in self._blocks(self.R))
        squares = self.xp.concat([_row_squares(block) for block in self._blocks(self.R)])
        return float(self.xp.sum(squares * self.sample_weight))

    def _blocks(self, A: Any) -> Iterator[Any]:
        for part in slices(A.shape[0], max(1, self.scan_entries // A.shape[1])):
            yield A[part, :]

    def factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label, on the host."""
        p = self.X.shape[1]
        factors: list[tuple[Array, Array]] = [
            (np.zeros((0, 0), dtype=self.dtype), np.zeros((0, p), dtype=self.dtype)) for _ in self.rows
        ]
        all_U, all_C = ([getattr(batch, name) for batch in self.batches] for name in ("U", "C"))
        for batch, U_of_batch, C_of_batch in zip(self.batches, _all_to_host(all_U), _all_to_host(all_C), strict=True):
            for i, U, C in zip(batch.labels, U_of_batch, C_of_batch, strict=True):
                factors[i] = U[: self.rows[i].size], C
        return factors

    def residual_entries(self) -> tuple[Indices, Array]:
        """Flat indices and values of S in the unit scale, on the host."""
        return to_host(self.S_indices), to_host(self.S_values)

    def low_rank_factors(self) -> list[tuple[Any, Any]]:
        """(U_i, C^i) of every label, with the rank that its rows support."""
        U, C = zip(*super().low_rank_factors(), strict=True)
        return list(zip(_all_to_device_of(U, self.X), _all_to_device_of(C, self.X), strict=True))

    def residual(self) -> Any:
        """S, dense: the standard has no sparse arrays."""
        S = self.xp.zeros_like(self.xp.reshape(self.X, (-1,)))
        return self.xp.reshape(put(S, self.S_indices, self.S_values * self.scale), self.X.shape)

    def working_state(self) -> dict[str, NDArray[Any]]:
        """R, which accumulates the rounding of all steps."""
        return {"R": to_host(self.R)}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after so many sweeps; without the working state no sweep can follow."""
        coefficients, components = self.split_factors(state)
        for batch in self.batches:
            U = np.zeros(batch.U.shape, dtype=self.dtype)
            for padded, i in zip(U, batch.labels, strict=True):
                padded[: self.rows[i].size] = coefficients[i]
            batch.U = copy_into(batch.U, to_device_of(U, self.X))
            batch.C = copy_into(batch.C, to_device_of(np.stack([components[i] for i in batch.labels]), self.X))
        self.S_indices = to_device_of(state["S_indices"], self.X)
        self.S_values = to_device_of(state["S_values"], self.X)
        if "R" in state:
            self.R = copy_into(self.R, to_device_of(state["R"], self.X))
        self.sweeps = sweeps


def _row_squares(block: Any) -> Any:
    """The sum of the squares of each row, computed in the precision of the block and returned in float64."""
    xp = namespace(block)
    return xp.astype(xp.sum(block * block, axis=1), xp.float64)


def _fused_label_step(X: Any) -> Any:
    """The module of label steps in few kernels, or None: it is for float32 on a CUDA device, and needs Triton."""
    if not is_torch_array(X) or not X.is_cuda or X.element_size() != 4:
        return None
    try:
        return import_module("sdgs.decomposition.backends._fused_label_step")
    except ImportError:
        return None


def _all_to_host(arrays: Sequence[Any]) -> list[NDArray[Any]]:
    """Arrays of one device on the host, by one transfer."""
    if not arrays:
        return []
    flat = to_host(namespace(arrays[0]).concat([namespace(array).reshape(array, (-1,)) for array in arrays]))
    return _split(flat, arrays)


def _all_to_device_of(arrays: Sequence[NDArray[Any]], X: Any) -> list[Any]:
    """Arrays of NumPy on the device of ``X``, by one transfer; views of one array."""
    return _split(to_device_of(np.concatenate([array.reshape(-1) for array in arrays]), X), arrays)


def _split(flat: Any, arrays: Sequence[Any]) -> list[Any]:
    """``flat`` as arrays of these shapes."""
    ends = np.cumsum([math.prod(array.shape) for array in arrays]).tolist()
    reshape = namespace(flat).reshape
    return [
        reshape(flat[start:end], tuple(array.shape))
        for array, start, end in zip(arrays, [0, *ends], ends, strict=False)
    ]
