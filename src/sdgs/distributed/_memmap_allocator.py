"""Room for matrices on a worker: in memory, or in unnamed files where they would take too much of it."""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdgs.decomposition.backends._threads import ThreadPool

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 2  # pieces of work between two releases: what they touched counts as memory of the process until then


class MemmapAllocator:
    """Makes matrices, in memory or, if ``folder`` is one, in files that vanish with them."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def zeros(self, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
        """A matrix of zeros."""
        if self._folder is None:
            return np.zeros(shape, dtype=dtype)
        size = max(shape[0] * shape[1] * np.dtype(dtype).itemsize, 1)
        with TemporaryFile(dir=self._folder) as file:  # the map keeps it
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a disk that is full says so here
            else:
                file.truncate(size)
            pages = mmap.mmap(file.fileno(), size)
        self._maps.append(pages)
        return np.frombuffer(pages, dtype=dtype, count=shape[0] * shape[1]).reshape(shape)

    def release(self) -> None:
        """Pages that were touched are the system's again, to write out and to take from memory when it likes."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for pages in self._maps:
                pages.madvise(mmap.MADV_DONTNEED)


class ReleasingWorkers(ThreadPool):
    """Threads that give pages back every so often."""

    def __init__(self, n_jobs: int | None, pages: MemmapAllocator) -> None:
        super().__init__(n_jobs)
        self._pages, self._done = pages, 0

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results, in the order of the items."""
        for result in super().map(function, items):
            yield result
            self._done += 1
            if self._done % _AT_ONCE == 0:
                self._pages.release()
