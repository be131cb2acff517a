"""Threads that share the work of training."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs

from sdgs.decomposition._block_updates import Array

Item = TypeVar("Item")
Result = TypeVar("Result")


class ThreadPool:
    """Applies a function to items on ``n_jobs`` threads. A nested call runs on the thread that makes it.

    joblib is not used because it polls every ten milliseconds, and most of these tasks take less than that.
    """

    def __init__(self, n_jobs: int | None) -> None:
        # joblib counts the cores of a cluster if the user's backend has one; these threads are of this machine.
        self.n_threads = min(effective_n_jobs(n_jobs), n_jobs if n_jobs is not None and n_jobs > 0 else cpu_count())
        self._executor = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None
        self._busy = False

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results in the order of the items. Nothing runs before the first result is requested."""
        if self._executor is None or self._busy or len(items) < 2:
            yield from map(function, items)
            return
        self._busy = True
        try:
            yield from self._executor.map(function, items)
        finally:
            self._busy = False

    def for_each(self, function: Callable[[Item], None], items: Sequence[Item]) -> None:
        """Apply a function that returns nothing."""
        for _ in self.map(function, items):
            pass

    def sum(self, function: Callable[[Item], Array], items: Sequence[Item], start: Array) -> Array:
        """Add the results to ``start``, in place and in the order of the items."""
        for result in self.map(function, items):
            start += result
        return start
