"""Evaluate methods on splits in several processes, cheap methods first, and store each record when it is there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.process_executor import TerminatedWorkerError

from sdgs.comparison._compared_data import ComparedData
from sdgs.comparison._evaluation import Record, evaluate_split
from sdgs.comparison._records import RecordFolder
from sdgs.comparison._splits import Split

Progress = Callable[[float, float, str], None]


class ComparisonError(RuntimeError):
    """A process of a comparison was ended from outside."""


@dataclass(frozen=True, eq=False)
class Task:
    """One method on one split. ``path`` is the file of its record, if records are stored."""

    method: str
    title: str
    split: int
    estimator: Any
    parameters: dict[str, str]
    cost: float
    path: Path | None


def run_tasks(
    tasks: Sequence[Task],
    data: ComparedData,
    splits: Sequence[Split],
    folder: RecordFolder | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> dict[tuple[str, int], Record]:
    """The record of each task, by method and split: those in the folder, and the others evaluated now."""
    records: dict[tuple[str, int], Record] = {}
    pending = []
    for task in tasks:
        stored = None if folder is None or task.path is None else folder.read(task.path, data.labels.shape[1])
        if stored is None:
            pending.append(task)
        else:
            records[task.method, task.split] = stored
    total, done = (
        sum(task.cost for task in tasks),
        sum(task.cost for task in tasks) - sum(task.cost for task in pending),
    )

    def show(message: str) -> None:
        if progress is not None:
            progress(done, total, message)

    show(pending[0].title if pending else "")
    for position, record in _evaluate(pending, data, splits, n_jobs):
        task = pending[position]
        record |= {"method": task.method, "parameters": task.parameters, "split": task.split}
        if folder is not None and task.path is not None and "error" not in record:
            folder.write(task.path, record)
        records[task.method, task.split] = record
        done += task.cost
        show(f"{task.title}, split {task.split + 1} of {len(splits)}")
    return records


def _evaluate(
    tasks: Sequence[Task], data: ComparedData, splits: Sequence[Split], n_jobs: int | None
) -> Iterator[tuple[int, Record]]:
    """Pairs of the position of a task and its record, as they are ready."""
    if effective_n_jobs(n_jobs) == 1 or len(tasks) < 2:
        for position, task in enumerate(tasks):
            yield position, evaluate_split(data, task.estimator, splits[task.split])
        return
    calls = (
        delayed(_evaluate_task)(position, data, task.estimator, splits[task.split])
        for position, task in enumerate(tasks)
    )
    # One task per process in advance: a task may take minutes, and memory is that of its data.
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    try:
        with closing(parallel(calls)) as results:
            yield from results
    except TerminatedWorkerError as error:
        raise ComparisonError(
            "A process that evaluated a method was ended by the system, probably because memory ran out. Use fewer "
            "jobs or fewer samples, or leave out the method that needs most. What is in the folder of records is kept."
        ) from error


def _evaluate_task(position: int, data: ComparedData, estimator: Any, split: Split) -> tuple[int, Record]:
    return position, evaluate_split(data, estimator, split)
