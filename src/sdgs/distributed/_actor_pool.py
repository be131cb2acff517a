"""The actors of all workers, asked together."""

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Self
from uuid import uuid4

from distributed import Future
from sdgs.distributed._dask_rows import PATIENCE, Rows, WorkerLostError, addresses, check_there, lost
from sdgs.distributed._training_actor import TrainingActor, hand_over


class ActorPool:
    """One part of the rows on each worker. Answers come in the order of the rows, so sums over workers do too.

    Attributes
    ----------
    bounds : list of (int, int)
        The first row of each part, and the one after its last.
    """

    def __init__(self, X: Rows, *, dense: bool) -> None:
        self._client = X.client
        found = addresses(X.client)
        chains = X.parts(len(found))
        self._workers = found[: len(chains)]
        self.bounds = [(chain[0].start, chain[-1].start + chain[-1].size) for chain in chains]
        self._futures: list[Future] = []
        self._parts: list[Any] = []
        try:
            self._begin(X, chains, dense)
        except BaseException:
            self.close()
            raise

    def _begin(self, X: Rows, chains: Sequence[Any], dense: bool) -> None:
        p, sparse = X.shape[1], X.is_sparse and not dense
        keys = [f"sdgs-part-{uuid4().hex}" for _ in chains]
        self._futures = [
            self._client.submit(
                TrainingActor, (last - first, p), X.dtype, sparse=sparse, actor=True, workers=[worker], key=key
            )
            for (first, last), worker, key in zip(self.bounds, self._workers, keys, strict=True)
        ]
        self._parts = [self._answer(future) for future in self._futures]

        def arguments(number: int, block: Any) -> tuple[Any, ...]:
            return self._futures[number], block.start - self.bounds[number][0], X.dtype, dense

        try:
            X.fold(hand_over, chains, self._workers, arguments, fixed=True)
        except (OSError, RuntimeError, ValueError) as error:
            self._raise(error)

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """What the parts answer, all at the same time; those without arguments are not asked, and answer None."""
        try:
            asked = [
                None if mine is None else getattr(part, method)(*mine)
                for part, mine in zip(self._parts, arguments, strict=True)
            ]
            return [None if future is None else self._answer(future) for future in asked]
        except (OSError, RuntimeError, ValueError) as error:
            self._raise(error)

    def ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """The same with the same arguments for all."""
        return self.ask(method, [arguments] * len(self._parts))

    def close(self) -> None:
        """Let go of the rows, at once: the actors themselves go when the garbage collector finds their futures."""
        for part in self._parts:
            with suppress(OSError, RuntimeError, ValueError):  # a worker that is gone has nothing to let go of
                part.close()  # whoever is at work finishes first: not waited for
        self._parts, self._futures = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _answer(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:  # long work, or nobody there
                check_there(self._client, self._workers)

    def _raise(self, error: Exception) -> NoReturn:
        """Say that a worker was lost, if that is what the error means; its type depends on the version of Dask."""
        if isinstance(error, WorkerLostError):
            raise error
        for future, worker in zip(self._futures, self._workers, strict=True):
            if future.status != "finished":
                raise lost(f"The worker {worker}") from error
        if "Unable to contact Actor" in str(error) or "holding Actor was lost" in str(error):
            raise lost("A worker") from error
        raise error
