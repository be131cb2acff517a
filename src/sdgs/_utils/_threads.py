"""Threads: how many, a pool of them, and BLAS on one.

The policy of ``fit``, ``predict`` and everything under them: BLAS has one thread, and loops over rows, labels, blocks
or penalties have several. Threads of BLAS wait for each other in busy loops, which takes many times as long if other
processes use the cores, and they gain little on small matrices. So results do not depend on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from threadpoolctl import LibController, ThreadpoolController

Array = NDArray[np.floating[Any]]
Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` asks for.

    None means as many as BLAS has: one per core, unless the environment, ``threadpool_limits`` or a parent process
    says less. In a worker of joblib it means one, and in ``joblib.parallel_config(n_jobs=...)`` that number.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    if get_active_backend()[0].nesting_level:
        return 1
    number = int(effective_n_jobs(None))
    return number if number > 1 else _blas_limit.outside()


@cache
def _blas_libraries() -> list[LibController]:
    """The BLAS libraries in this process; to find them takes milliseconds."""
    import scipy.linalg  # noqa: F401  (brings a library of its own)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _BlasLimit:
    """BLAS has one thread while there are calls; they may be nested and overlap in threads, and the last end restores.

    An interrupted beginning or end can be repeated. The lock is reentrant, because a garbage collection may end a call.
    """

    def __init__(self) -> None:
        self._lock, self._calls = RLock(), set[object]()
        self._numbers: list[int] | None = None  # of threads without the limit, while there is one

    def outside(self) -> int:
        """The number of threads that BLAS has where this does not limit it."""
        with self._lock:
            numbers = self._numbers or [library.num_threads for library in _blas_libraries()]
            return max(numbers, default=cpu_count())

    def begin(self, call: object) -> None:
        with self._lock:
            if self._numbers is None:
                self._numbers = [library.num_threads for library in _blas_libraries()]
                _set_numbers([1] * len(self._numbers))
            self._calls.add(call)

    def end(self, call: object) -> None:
        with self._lock:
            self._calls.discard(call)
            if not self._calls and self._numbers is not None:
                _set_numbers(self._numbers)
                self._numbers = None


_blas_limit = _BlasLimit()


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """Context manager and decorator: BLAS has one thread inside, and afterwards as many as before."""
    call = object()
    try:
        _blas_limit.begin(call)
        yield
    finally:
        try:
            _blas_limit.end(call)
        except BaseException:  # such as Ctrl-C
            _blas_limit.end(call)
            raise


def _set_numbers(numbers: Sequence[int]) -> None:
    for library, number in zip(_blas_libraries(), numbers, strict=True):
        _release(library)
        library.set_num_threads(number)
        _release(library)


def _release(library: Any) -> None:
    """Let any thread set OpenBLAS: in threadpoolctl 3.7 and newer only the first that did so can, until it releases."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


class ThreadPool:
    """Applies a function to items on some threads. A nested call runs on the thread that makes it.

    joblib is not used because it polls every ten milliseconds, and most of these tasks take less than that.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_threads = 1 if n_jobs == 1 else n_threads(n_jobs)
        if n_jobs is None or n_jobs < 0:  # joblib counts the cores of a cluster if the user's backend has one
            self.n_threads = min(self.n_threads, cpu_count()) if self.n_threads > 1 else 1
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
