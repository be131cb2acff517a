"""Threads that share the work of training."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Runs a function over items, on as many threads as asked for. What runs inside another run has its one thread.

    Not by joblib, which looks every ten milliseconds whether a task is done: most of these take less.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.number = effective_n_jobs(n_jobs)
        self._threads = ThreadPoolExecutor(self.number) if self.number > 1 else None
        self._busy = False

    def run(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results, in the order of the items."""
        if self._threads is None or self._busy or len(items) < 2:
            return [function(item) for item in items]
        self._busy = True
        try:
            return list(self._threads.map(function, items))
        finally:
            self._busy = False
