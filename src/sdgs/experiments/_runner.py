"""Execute all tasks of a protocol, each once, even if the run is interrupted and started again.

The record of a task is a file that is written atomically when the task is done. The folder of records is therefore the
only state: tasks with a record are done, and a run that was killed has lost only the tasks that were being executed.
"""

import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby, product
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from sdgs._utils._validation import check_int
from sdgs.experiments._extended_comparison import DIGITS, TITLES
from sdgs.experiments._introduction_methods import INTRODUCTION_METHODS
from sdgs.experiments._protocol import METHODS, PLANTED, RULES, ExperimentTask, Protocol, Rule
from sdgs.experiments._tasks import data_signature, run_task
from sdgs.persistence._atomic_write import write_atomically

_MAX_SHARED_COST = 20.0  # tasks with a larger cost have a process of their own, so that all cores are busy to the end


class ExperimentError(RuntimeError):
    """Some tasks failed: the message has one line per failure. The records of all other tasks are kept."""


def run(
    protocol: Protocol,
    folder: str | Path,
    *,
    data_home: str | Path | None = None,
    n_jobs: int = 2,
    progress: Callable[[float, float, str], None] | None = None,
) -> None:
    """Execute the tasks of ``protocol`` that have no record in ``folder`` yet.

    The run can be killed at any time and continues when it is started again. Every process has one BLAS thread.

    Parameters
    ----------
    protocol : Protocol
    folder : str or Path
        The folder of the records, created if needed. ``trials/`` has one record per parameter group of a method on a
        data set, ``runs/`` one per method, data set and rule, ``introduction/`` one per method of the paper's
        introduction and data set, ``beyond/`` one per comparison beyond the paper, and ``studies/`` the others.
    data_home : str, Path or None, default=None
        The folder of the data, as for :func:`sdgs.datasets.load`. Data sets that are not the paper's are read from
        ``data_home/NAME/NAME.xml``, ``NAME-train.arff`` and ``NAME-test.arff``.
    n_jobs : int, default=2
        The number of processes.
    progress : callable, optional
        Called with the finished work, the total work, and the name of the last finished task.
    """
    n_jobs = check_int(n_jobs, "n_jobs", minimum=1)
    folder, home = Path(folder), None if data_home is None else Path(data_home)
    tasks = protocol.tasks()
    pending = _pending_tasks(tasks, protocol, folder, home)
    for name in ("trials", "runs", "studies", "introduction", "beyond"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _remove_outdated_files(folder, pending)
        write_atomically(folder / "protocol.json", json.dumps(asdict(protocol), indent=1))
        total = sum(task.cost for task in tasks)
        failures = _execute(_group_into_jobs(pending), protocol, folder, home, n_jobs, total, progress)
        _write_runs(protocol, folder)
    if failures:
        raise ExperimentError("\n".join(failures))


def _pending_tasks(
    tasks: list[ExperimentTask], protocol: Protocol, folder: Path, home: Path | None
) -> list[ExperimentTask]:
    """Tasks without a valid record; raises an error if their data are not found."""
    signatures: dict[str, str | FileNotFoundError] = {}
    for dataset in (*protocol.datasets, PLANTED, DIGITS):
        try:
            signatures[dataset] = data_signature(dataset, home)
        except FileNotFoundError as error:
            signatures[dataset] = error
    pending = []
    for task in tasks:
        record, signature = _read_record(folder, task, protocol), signatures[task.dataset]
        # A finished record does not need its data. If there are data, they must be those of the record.
        if record is None or (isinstance(signature, str) and record["data"] != signature):
            pending.append(task)
    for dataset, signature in signatures.items():
        if isinstance(signature, FileNotFoundError) and any(task.dataset == dataset for task in pending):
            raise signature
    return pending


def _remove_outdated_files(folder: Path, pending: list[ExperimentTask]) -> None:
    """Remove outdated records, and temporary files of interrupted writes."""
    for pattern in ("*/.*.json-*", ".protocol.json-*", ".report.html-*", ".tables.*-*", ".beyond*-*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    for task in pending:
        (folder / task.file).unlink(missing_ok=True)


def _write_runs(protocol: Protocol, folder: Path) -> None:
    """Write the record of each run: the trial that the rule chooses."""
    for dataset, method, seed, rule in product(protocol.datasets, protocol.methods, protocol.seeds, RULES):
        path = folder / "runs" / run_file(dataset, method, seed, rule)
        record = _run_record(folder, protocol, dataset, method, seed, rule)
        if record is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, json.dumps(record, indent=1))


def run_file(dataset: str, method: str, seed: int, rule: str) -> str:
    """File name of the record of a run."""
    return f"{dataset}--{method}--seed{seed}--{rule}.json"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs; the lock ends with the process. Does nothing on Windows."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(
                f"Another run is active in {folder}. Wait until it ends, or choose another folder."
            ) from None
        yield


def _read_record(folder: Path, task: ExperimentTask, protocol: Protocol) -> dict[str, Any] | None:
    """The record of a task, or None if there is none or it has other settings."""
    try:
        content: dict[str, Any] = json.loads((folder / task.file).read_text())
    except (OSError, ValueError):
        return None
    return content if content.get("fingerprint") == protocol.fingerprint(task) else None


def _group_into_jobs(tasks: list[ExperimentTask]) -> list[list[ExperimentTask]]:
    """Tasks that share a process, unless they are long: those of one method on one data set, or of the studies."""

    def job_key(task: ExperimentTask) -> tuple[Any, ...]:
        if task.cost > _MAX_SHARED_COST:
            return (task.dataset, task.kind, task.method, task.group, task.seed)
        if task.kind == "introduction":
            return (task.dataset, task.kind, "", -1, -1)
        has_model = task.kind in ("trial", "beyond") and task.method != "floor"
        return (task.dataset, task.kind if has_model else "", task.method if has_model else "", -1, -1)

    jobs = [list(job) for _, job in groupby(sorted(tasks, key=job_key), key=job_key)]
    return sorted(jobs, key=lambda job: -sum(task.cost for task in job))


def _execute(
    jobs: list[list[ExperimentTask]],
    protocol: Protocol,
    folder: Path,
    home: Path | None,
    n_jobs: int,
    total: float,
    progress: Callable[[float, float, str], None] | None,
) -> list[str]:
    """Execute the jobs in up to ``n_jobs`` processes; failures do not stop other jobs and are returned."""
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    running: dict[Any, tuple[Any, Connection, list[ExperimentTask]]] = {}
    unfinished = {task for job in jobs for task in job}
    failures = []

    def report_progress(last_finished: str) -> None:
        if progress is not None:
            progress(total - sum(task.cost for task in unfinished), total, last_finished)

    report_progress("")
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                job = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_execute_job, args=(job, protocol, folder, home, sender), daemon=True)
                process.start()
                sender.close()
                running[process.sentinel] = (process, receiver, job)
            finished = wait(list(running), timeout=0.2)
            for task in [task for task in unfinished if (folder / task.file).is_file()]:
                unfinished.discard(task)
                report_progress(_task_title(task))
            for sentinel in finished:
                process, receiver, job = running.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    failed = [task for task in job if task in unfinished]
                    failures.append(f"{_task_title(failed[0])}: {_error_message(receiver, process.exitcode)}")
                    unfinished.difference_update(failed)
                receiver.close()
    finally:
        for process, _, _ in running.values():
            process.kill()
            process.join()
    return failures


def _task_title(task: ExperimentTask) -> str:
    if task.kind == "beyond":
        return f"{task.dataset}, {task.damage}, {TITLES[task.method]}"
    if task.kind == "introduction":
        return f"{task.dataset}, {INTRODUCTION_METHODS[task.method].title}"
    if task.kind == "explanations":
        return f"{task.dataset}, {task.method}"
    return f"{task.dataset}, {METHODS[task.method].title if task.method else task.kind}"


def _error_message(receiver: Connection, status: int) -> str:
    try:
        return str(receiver.recv())
    except EOFError:  # killed by the system, for example because memory ran out
        return f"its process ended with exit status {status} and no message. Check whether there is enough memory."


def _execute_job(
    job: list[ExperimentTask], protocol: Protocol, folder: Path, home: Path | None, sender: Connection
) -> None:
    """Execute the tasks of a job in a process of its own, and write the record of each."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        with threadpool_limits(1):
            for task in job:
                record = run_task(task, protocol, home)
                write_atomically(folder / task.file, json.dumps(record, indent=1))
    except Exception as error:
        sender.send(f"{type(error).__name__}: {error}"[:2000])  # a longer message might block the pipe
        os._exit(1)


def _exit_with_parent() -> None:
    """Exit if the parent process was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run_record(
    folder: Path, protocol: Protocol, dataset: str, method: str, seed: int, rule: Rule
) -> dict[str, Any] | None:
    """The record of a run: the trial that the rule chooses by training scores. None if a trial is missing."""
    trials = []
    for group in range(len(protocol.groups[method])):
        trial = _read_record(folder, ExperimentTask("trial", dataset, method, group, seed), protocol)
        if trial is None:
            return None
        trials.append(trial)
    score_name = {"paper": "f1_on_training_samples", "cv": "f1_in_cross_validation"}[rule]
    scores = [trial["selection"][score_name] for trial in trials]
    best = choose(scores)
    return {
        **{key: value for key, value in trials[best].items() if key not in ("kind", "selection", "fingerprint")},
        "kind": "run",
        "rule": rule,
        "chosen_by": RULES[rule] if len(trials) > 1 else "nothing to choose",
        "candidates": [
            {"parameters": trial["parameters"], "score": score} for trial, score in zip(trials, scores, strict=True)
        ],
    }


def choose(scores: list[float | None]) -> int:
    """The index of the best score, the first of equal ones."""
    return max(range(len(scores)), key=lambda i: -1.0 if scores[i] is None else float(scores[i]))  # type: ignore[arg-type]
