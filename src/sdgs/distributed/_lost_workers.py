"""Waiting for workers that may be lost: every wait ends with a result or an error."""

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from time import monotonic
from typing import Any

import dask
from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

POLL_SECONDS = 5.0  # between two checks that workers which do not answer are still there
_MAX_SECONDS_WITHOUT_WORKERS = 300.0  # as long as Dask waits for a worker that does not answer


class WorkerLostError(RuntimeError):
    """A worker that held rows of the samples was lost during training."""


def worker_lost(what: str) -> WorkerLostError:
    """The error that says what to do."""
    return WorkerLostError(
        f"{what} was lost during training, and its rows with it. Run the same call again. With "
        "checkpoint=FOLDER it continues from the last stored sweep."
    )


@contextmanager
def lost_data_is_an_error() -> Iterator[None]:
    """Raise WorkerLostError if Dask gives up a task because of lost workers."""
    try:
        yield
    except (KilledWorker, CancelledError) as error:  # cancelled: its data were on a lost worker
        raise worker_lost("A worker") from error


def worker_addresses(client: Client) -> list[str]:
    """The addresses of the present workers, from the scheduler."""
    addresses = sorted(client.nthreads())
    if not addresses:
        raise ValueError("The Dask cluster has no workers. Start some, or scale it up, first.")
    return addresses


def wait_for(
    client: Client,
    futures: Sequence[Future],
    *,
    workers: Sequence[str] = (),
    return_when: str = "ALL_COMPLETED",
    max_seconds_without_workers: float = _MAX_SECONDS_WITHOUT_WORKERS,
) -> list[Future]:
    """The completed futures, with a result or an error: all of them, or as soon as there are some.

    Dask repeats tasks of lost workers elsewhere, so this waits until there are workers again, but not for ever. A loss
    of one of ``workers``, which hold what cannot be computed again, is an error.
    """
    last_seen = monotonic()
    with lost_data_is_an_error():
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS, return_when=return_when)
            except TimeoutError:
                present = client.nthreads()
                for worker in workers:
                    if worker not in present:
                        raise worker_lost(f"The worker {worker}") from None
                if present:
                    last_seen = monotonic()
                elif monotonic() - last_seen > max_seconds_without_workers:
                    raise worker_lost("Every worker of the Dask cluster") from None
            completed = [future for future in futures if future.status in ("finished", "error")]
            if len(completed) == len(futures) or (completed and return_when == "FIRST_COMPLETED"):
                return completed


def gather(client: Client, futures: Sequence[Future]) -> list[Any]:
    """The results of all futures; raises the error of one that failed."""
    wait_for(client, futures)
    with lost_data_is_an_error():
        return list(client.gather(futures))


def share(client: Client, value: Any) -> Future:
    """A future of a value that all workers need, which a lost worker does not take with it.

    ``scatter`` would not do: its data are lost with their worker, and if a worker is lost during a broadcast, it raises
    CommClosedError or never ends.
    """
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):  # it is sent once
        return client.submit(_identity, value, pure=False)


def _identity(value: Any) -> Any:
    return value
