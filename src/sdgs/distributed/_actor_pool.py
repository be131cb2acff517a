"""The training actors of all workers, called together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from distributed import Future

from sdgs.distributed._dask_rows import DaskRows
from sdgs.distributed._lost_workers import (
    POLL_SECONDS,
    WorkerLostError,
    lost_data_is_an_error,
    worker_addresses,
    worker_lost,
)
from sdgs.distributed._training_actor import TrainingActor, send_rows


class ActorPool:
    """One actor per worker, each with some of the rows. Results come in the order of the rows, and so do sums of them.

    Options of :class:`TrainingActor`, such as ``max_memory_share``, are passed on to the actors.

    Attributes
    ----------
    bounds : list of (int, int)
        The first row of each actor, and the one after its last.
    """

    def __init__(self, X: DaskRows, *, dense: bool, **actor_options: Any) -> None:
        self._client = X.client
        workers = worker_addresses(X.client)
        chains = X.split(len(workers))
        self._workers = workers[: len(chains)]
        self.bounds = [(chain[0].start, chain[-1].start + chain[-1].size) for chain in chains]
        self._futures: list[Future] = []
        self._actors: list[Any] = []
        try:
            with self._a_lost_worker_is_an_error():
                self._start(X, chains, dense, actor_options)
        except BaseException:
            self.close()
            raise

    def _start(self, X: DaskRows, chains: Sequence[Any], dense: bool, actor_options: dict[str, Any]) -> None:
        p, options = X.shape[1], {"sparse": X.is_sparse and not dense, **actor_options}
        keys = [f"sdgs-actor-{uuid4().hex}" for _ in chains]
        self._futures = [
            self._client.submit(
                TrainingActor, (last - first, p), X.dtype, **options, actor=True, workers=[worker], key=key
            )
            for (first, last), worker, key in zip(self.bounds, self._workers, keys, strict=True)
        ]
        for future in self._futures:
            self._actors.append(self._result(future))

        def arguments(number: int, block: Any) -> tuple[Any, ...]:
            return self._futures[number], block.start - self.bounds[number][0], X.dtype, dense

        X.reduce_blocks(send_rows, chains, self._workers, arguments, pinned=True)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of all actors at the same time; those without arguments (None) are not called."""
        with self._a_lost_worker_is_an_error():
            futures = [
                None if values is None else getattr(actor, method)(*values)
                for actor, values in zip(self._actors, arguments, strict=True)
            ]
            return [None if future is None else self._result(future) for future in futures]

    def call_all(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of all actors with the same arguments."""
        return self.call(method, [arguments] * len(self._actors))

    def close(self) -> None:
        """Release the rows at once; the actors are deleted when the garbage collector finds their futures."""
        for actor in self._actors:
            with suppress(OSError, RuntimeError, ValueError):  # a lost worker has nothing to release
                actor.close()  # not waited for: work in progress finishes first
        self._actors, self._futures = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if future.done():  # the method itself raised it
                    raise
                self._check_workers()

    def _check_workers(self) -> None:
        """Raise if a worker is gone, or was started again at the same address, without its actor."""
        present = self._client.nthreads()
        for number, (worker, future) in enumerate(zip(self._workers, self._futures, strict=True)):
            is_started = number < len(self._actors)
            if worker not in present or (is_started and future.status != "finished"):
                raise worker_lost(f"The worker {worker}")

    @contextmanager
    def _a_lost_worker_is_an_error(self) -> Iterator[None]:
        """Raise WorkerLostError if that is what an error means; its type depends on the version of Dask."""
        try:
            with lost_data_is_an_error():
                yield
        except WorkerLostError:
            raise
        except Exception as error:
            try:
                self._check_workers()
            except WorkerLostError as lost:
                raise lost from error
            if "Unable to contact Actor" in str(error) or "holding Actor was lost" in str(error):
                raise worker_lost("A worker") from error
            raise
