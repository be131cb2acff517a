"""The rows of a Dask array: access by index, and work on one block after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, Future, get_client
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from sdgs._utils._validation import check_features
from sdgs.distributed._lost_workers import gather, wait_for
from sdgs.persistence._checkpoint import fingerprint


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows: the index of the first, how many, and a Dask object that computes them."""

    start: int
    size: int
    rows: Any


class DaskRows:
    """Samples on workers, or still to be read there. ``rows[index]`` brings some to this process.

    Every block has all columns, and at least one row.
    """

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"X must be a 2-D Dask array of samples, got {X.ndim} dimension(s).")
        if np.isnan(X.shape[0]) or np.isnan(X.shape[1]):
            raise ValueError("X is a Dask array with chunks of unknown size. Call X.compute_chunk_sizes() first.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has no samples or no features: its shape is {X.shape}.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold numbers; its dtype is {X.dtype}. Convert it first.")
        self.client = _client()
        self.array = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.shape: tuple[int, int] = X.shape
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        starts = np.cumsum([0, *self.array.chunks[0]]).tolist()
        blocks = zip(starts, self.array.chunks[0], self.array.to_delayed().ravel(), strict=False)
        self.blocks = [Block(start, size, rows) for start, size, rows in blocks if size > 0]
        self.is_sparse = issparse(X._meta) or bool(*self._compute([delayed(issparse)(self.blocks[0].rows)]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        rows = np.arange(self.shape[0])[index]
        if rows.size == 0 or (np.diff(rows) < 0).any():
            raise IndexError("rows of a Dask array are taken in ascending order, and at least one.")
        tasks = []
        for block in self.blocks:
            first, last = np.searchsorted(rows, [block.start, block.start + block.size])
            if last > first:
                tasks.append(delayed(_take_rows)(block.rows, rows[first:last] - block.start, self.dtype))
        parts = self._compute(tasks)
        return csr_array(vstack(parts, format="csr")) if self.is_sparse else np.vstack(parts)

    def take(self, rows: NDArray[np.intp]) -> "DaskRows":
        """Some rows, given by ascending indices, on the workers."""
        parts = []
        for block in self.blocks:
            first, last = np.searchsorted(rows, [block.start, block.start + block.size])
            if last > first:
                part = delayed(_take_rows)(block.rows, rows[first:last] - block.start, self.dtype)
                parts.append(da.from_delayed(part, (last - first, self.shape[1]), meta=self._meta))
        return DaskRows(da.concatenate(parts))

    @property
    def _meta(self) -> Any:
        return csr_array((0, 0), dtype=self.dtype) if self.is_sparse else np.empty((0, 0), dtype=self.dtype)

    def fingerprint(self) -> str:
        """Equal for equal samples in equal blocks."""
        return fingerprint(*self._compute([delayed(_hash)(block.rows, self.dtype) for block in self.blocks]))

    def map_blocks(self, function: Callable[[Any], Any]) -> Any:
        """The Dask array of a function of validated blocks that keeps their shape and type."""
        checked_function = delayed(_CheckedFunction(function, self.dtype))
        return da.map_blocks(_apply, self.array, checked_function, dtype=self.dtype, meta=self._meta)

    def split(self, n_parts: int) -> list[list[Block]]:
        """The blocks in at most ``n_parts`` contiguous parts with about as many rows each, none of them empty."""
        middle = np.array([block.start + block.size / 2 for block in self.blocks])
        number = np.minimum(middle * n_parts / self.shape[0], n_parts - 1).astype(int)
        return [[self.blocks[i] for i in np.flatnonzero(number == part)] for part in np.unique(number)]

    def reduce_blocks(
        self,
        step: Callable[..., Any],
        chains: Sequence[Sequence[Block]],
        workers: Sequence[str],
        arguments: Callable[[int, Block], tuple[Any, ...]],
        *,
        pinned: bool = False,
    ) -> list[Any]:
        """Reduce the blocks of each chain by ``step(total, rows, *arguments)``, with None as the first total.

        As many chains at a time as there are workers, and one block of each, which bounds memory. The steps of a
        ``pinned`` chain run on its worker only, for their side effects, and return nothing; a lost worker is an error,
        because Dask would wait for it for ever.

        Rows are computed without a restriction to a worker. Their keys are the same in the next call and in other
        computations with the same array, and Dask keeps the restriction of a key that it knows: it would wait for ever
        for a worker that was lost in this call.
        """
        totals: list[Any] = [None] * len(chains)
        remaining = [iter(chain) for chain in chains]
        waiting = iter(range(len(chains)))  # chains that have not begun
        chain_of: dict[Future, int] = {}
        needed = workers if pinned else ()

        def submit_next(number: int, total: Future | None) -> None:
            block = next(remaining[number], None)
            if block is None:
                totals[number] = total
                start_next()
                return
            rows = self.client.compute(block.rows)
            on_worker = {"workers": [workers[number]]} if pinned else {}
            future = self.client.submit(step, total, rows, *arguments(number, block), pure=False, **on_worker)
            chain_of[future] = number

        def start_next() -> None:
            number = next(waiting, None)
            if number is not None:
                submit_next(number, None)

        try:
            for _ in workers:
                start_next()
            while chain_of:
                for future in wait_for(self.client, list(chain_of), workers=needed, return_when="FIRST_COMPLETED"):
                    if future.status == "error":
                        gather(self.client, [future])  # raises the error of the task
                    submit_next(chain_of.pop(future), future)
            return [] if pinned else gather(self.client, totals)
        except BaseException:
            self.client.cancel(list(chain_of))  # a traceback that is kept would keep them, and their rows
            raise

    def _compute(self, tasks: Sequence[Any]) -> list[Any]:
        return gather(self.client, self.client.compute(list(tasks)))


@dataclass(frozen=True)
class _CheckedFunction:
    """Validates a block before it calls the function."""

    function: Callable[[Any], Any]
    dtype: Any

    def __call__(self, block: Any) -> Any:
        return self.function(check_block(block, self.dtype)) if block.shape[0] else block.astype(self.dtype)


def _apply(block: Any, function: Callable[[Any], Any]) -> Any:
    return function(block)


def check_block(block: Any, dtype: Any) -> Any:
    """A validated block, in the precision of training."""
    return check_features(block, missing=True).astype(dtype, copy=False)


def _take_rows(block: Any, index: NDArray[np.intp], dtype: Any) -> Any:
    return check_block(block[index], dtype)


def _hash(block: Any, dtype: Any) -> str:
    return fingerprint(check_block(block, dtype))


def _client() -> Client:
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "X is a Dask array, and training on it needs workers: from dask.distributed import Client; "
            "client = Client(). Or pass X.compute() if it fits in memory."
        ) from None
