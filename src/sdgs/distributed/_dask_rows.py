"""Samples in the blocks of a Dask array, and what is done to one block after the other."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from distributed.scheduler import KilledWorker
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from distributed import Client, Future, get_client, wait
from sdgs._utils._validation import check_features
from sdgs.persistence._checkpoint import fingerprint

PATIENCE = 5.0  # seconds between two looks whether workers that do not answer are still there


class WorkerLostError(RuntimeError):
    """A worker that held rows of the samples was lost during training."""


def lost(what: str) -> WorkerLostError:
    """Says what to do."""
    return WorkerLostError(
        f"{what} was lost during training, and its rows with it. Call it again: with checkpoint=FOLDER it goes on from "
        "the last sweep that was kept there."
    )


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: the first of them, how many, and how to get at them."""

    start: int
    size: int
    rows: Any


class Rows:
    """Samples that are on workers or yet to be read there. ``rows[index]``, or ``rows[index, :]``, brings some here.

    Columns are in one piece, and blocks without a row are left out.
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
        found = zip(starts, self.array.chunks[0], self.array.to_delayed().ravel(), strict=False)
        self.blocks = [Block(start, size, rows) for start, size, rows in found if size > 0]
        self.is_sparse = issparse(X._meta) or bool(
            self.client.compute(delayed(issparse)(self.blocks[0].rows), sync=True)
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        rows = np.arange(self.shape[0])[index[0] if isinstance(index, tuple) else index]
        asked = []
        for block in self.blocks:
            first, last = np.searchsorted(rows, [block.start, block.start + block.size])
            if last > first:
                asked.append(delayed(_some)(block.rows, rows[first:last] - block.start, self.dtype))
        parts = self.client.gather(self.client.compute(asked))
        return csr_array(vstack(parts, format="csr")) if self.is_sparse else np.vstack(parts)

    def fingerprint(self) -> str:
        """The same for the same samples in the same blocks."""
        hashes = self.client.compute([delayed(_hash)(block.rows, self.dtype) for block in self.blocks])
        return fingerprint(*self.client.gather(hashes))

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """The Dask array of what ``function`` makes of checked blocks: as many rows and columns, and the same type."""
        meta = csr_array((0, 0), dtype=self.dtype) if self.is_sparse else np.empty((0, 0), dtype=self.dtype)
        changed = delayed(_Checked(function, self.dtype))
        return da.map_blocks(_apply, self.array, changed, dtype=self.dtype, meta=meta)

    def parts(self, most: int) -> list[list[Block]]:
        """Blocks shared out: contiguous, about as many rows in each of at most ``most`` parts, and none empty."""
        middle = np.array([block.start + block.size / 2 for block in self.blocks])
        number = np.minimum(middle * most / self.shape[0], most - 1).astype(int)
        return [[self.blocks[i] for i in np.flatnonzero(number == one)] for one in np.unique(number)]

    def fold(
        self,
        step: Callable[..., Any],
        chains: Sequence[Sequence[Block]],
        workers: Sequence[str],
        arguments: Callable[[int, Block], tuple[Any, ...]],
        *,
        fixed: bool = False,
    ) -> list[Any]:
        """``step(total, rows, *arguments)`` over the blocks of each chain, from None on: what comes of it in the end.

        One chain a worker, one block at a time: so many are in memory. If ``fixed`` a chain can be nowhere else, and
        nothing comes of it but what it does there: Dask would wait for ever for a worker that is lost.
        """
        ends: list[Any] = [None] * len(chains)
        left = [iter(chain) for chain in chains]
        of: dict[Future, int] = {}

        def go_on(number: int, total: Future | None) -> None:
            block = next(left[number], None)
            if block is None:
                ends[number] = total
                return
            task = delayed(step, pure=False)(total, block.rows, *arguments(number, block))
            of[self.client.compute(task, workers=[workers[number]], allow_other_workers=not fixed)] = number

        try:
            for number in range(len(chains)):
                go_on(number, None)
            while of:
                for future in self._done(list(of)):
                    if fixed and future.status not in ("finished", "error"):
                        raise lost(f"The worker {workers[of[future]]}")
                    if future.status != "finished":
                        future.result()
                    go_on(of.pop(future), future)
                if fixed:
                    check_there(self.client, workers)
            return [] if fixed else list(self.client.gather(ends))
        except (KilledWorker, CancelledError) as error:  # the latter: what it had was nowhere else
            raise lost("A worker") from error

    def _done(self, futures: list[Future]) -> list[Future]:
        """Those that are done, as soon as one is; after a while, none."""
        try:
            return list(wait(futures, timeout=PATIENCE, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []


@dataclass(frozen=True)
class _Checked:
    """A function of blocks as Dask has them, by one of blocks as training wants them."""

    function: Callable[[Any], Any]
    dtype: Any

    def __call__(self, block: Any) -> Any:
        return self.function(checked(block, self.dtype)) if block.shape[0] else block.astype(self.dtype)


def _apply(block: Any, function: Callable[[Any], Any]) -> Any:
    return function(block)


def checked(block: Any, dtype: Any) -> Any:
    """A block with rows as training wants it; refused if it cannot be."""
    return check_features(block, missing=True).astype(dtype, copy=False)


def _some(block: Any, index: NDArray[np.intp], dtype: Any) -> Any:
    return checked(block[index], dtype)


def _hash(block: Any, dtype: Any) -> str:
    return fingerprint(checked(block, dtype))


def _client() -> Client:
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "X is a Dask array, and training on it needs workers: from dask.distributed import Client; "
            "client = Client(). Or pass X.compute() if it fits in memory."
        ) from None


def check_there(client: Client, workers: Sequence[str]) -> None:
    """Whether all workers that hold rows still are."""
    there = client.nthreads()
    for worker in workers:
        if worker not in there:
            raise lost(f"The worker {worker}")


def addresses(client: Client) -> list[str]:
    """Of the workers there are now, as the scheduler itself says."""
    found = sorted(client.nthreads())
    if not found:
        raise ValueError("The Dask cluster has no workers. Start some, or scale it up, first.")
    return found
