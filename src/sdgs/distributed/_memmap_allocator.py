"""Matrices on a worker: in memory, or in unnamed memory-mapped files if they would take too much of it."""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._threads import ThreadPool
from sdgs.persistence._atomic_write import naming_errors

Item = TypeVar("Item")
Result = TypeVar("Result")

_ITEMS_PER_RELEASE = 2  # results after which mapped pages are released: until then they count as memory of the process


class MemmapAllocator:
    """Allocates matrices, in memory or, if there is a ``folder``, in files that are deleted with them."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def zeros(self, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
        """A matrix of zeros."""
        if self._folder is None:
            return np.zeros(shape, dtype=dtype)
        size = max(shape[0] * shape[1] * np.dtype(dtype).itemsize, 1)
        with naming_errors(Path(self._folder)), TemporaryFile(dir=self._folder) as file:  # the mapping keeps it open
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # raises here if the disk is full
            else:
                file.truncate(size)
            pages = mmap.mmap(file.fileno(), size)
        self._maps.append(pages)
        return np.frombuffer(pages, dtype=dtype, count=shape[0] * shape[1]).reshape(shape)

    def release(self) -> None:
        """Tell the system that it may write pages out and free their memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for pages in self._maps:
                pages.madvise(mmap.MADV_DONTNEED)


class ReleasingThreadPool(ThreadPool):
    """Threads that release memory-mapped pages now and then."""

    def __init__(self, n_jobs: int | None, allocator: MemmapAllocator) -> None:
        super().__init__(n_jobs)
        self._allocator, self._done = allocator, 0

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results, in the order of the items."""
        for result in super().map(function, items):
            yield result
            self._done += 1
            if self._done % _ITEMS_PER_RELEASE == 0:
                self._allocator.release()
