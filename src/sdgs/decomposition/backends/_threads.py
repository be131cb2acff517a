"""Threads that share the work of training."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Runs a function over items, on as many threads as asked for. What runs inside another run has its one thread.

    Not by joblib, which looks every ten milliseconds whether a task is done: most of these take less.
    """

    def __init__(self, n_jobs: int | None) -> None:
        # Where the user's backend of joblib has a cluster behind it, that is not what this machine has.
        self.number = min(effective_n_jobs(n_jobs), n_jobs if n_jobs is not None and n_jobs > 0 else cpu_count())
        self._threads = ThreadPoolExecutor(self.number) if self.number > 1 else None
        self._busy = False

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results, in the order of the items. Nothing is done before the first is asked for."""
        if self._threads is None or self._busy or len(items) < 2:
            yield from map(function, items)
            return
        self._busy = True
        try:
            yield from self._threads.map(function, items)
        finally:
            self._busy = False

    def do(self, function: Callable[[Item], None], items: Sequence[Item]) -> None:
        """The same for what gives nothing back."""
        for _ in self.run(function, items):
            pass

    def total(self, function: Callable[[Item], Array], items: Sequence[Item], start: Array) -> Array:
        """The sum of the results, added to ``start`` in place and in order, each as soon as it is there."""
        for part in self.run(function, items):
            start += part
        return start
