"""Doing all tasks of a protocol, once each, whatever happens in between.

A task's record is a file that appears when the task is done, whole. So the folder of records *is* the state: what is
there is done, what is not is to do, and a runner that was killed has lost only the tasks that it was at.
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
from sdgs.experiments._protocol import METHODS, PLANTED, RULES, Protocol, Rule, Task
from sdgs.experiments._tasks import data_signature, run_task
from sdgs.persistence._atomic_write import write_atomically

_LONG = 20.0  # tasks with a larger cost have a process of their own, so that both cores are busy to the end


class ExperimentError(RuntimeError):
    """Some tasks failed; the message says which and why, a line each. All others were done and are kept."""


def run(
    protocol: Protocol,
    folder: str | Path,
    *,
    data_home: str | Path | None = None,
    n_jobs: int = 2,
    progress: Callable[[float, float, str], None] | None = None,
) -> None:
    """Do what is not done yet of ``protocol``, and leave the records in ``folder``.

    Kill it at any time and run it again: it goes on where it was. Every process has one BLAS thread.

    Parameters
    ----------
    protocol : Protocol
    folder : str or Path
        For the records; made if it is not there. ``trials/`` has a record for each parameter group of a method on a
        data set, ``runs/`` for each method, data set and rule of choice, ``beyond/`` for each comparison beyond the
        paper, ``studies/`` the rest.
    data_home : str, Path or None, default=None
        Where the data are; as for :func:`sdgs.datasets.load`. Names that are none of the paper's are read from
        ``data_home/NAME/NAME.xml``, ``NAME-train.arff`` and ``NAME-test.arff``.
    n_jobs : int, default=2
        Processes.
    progress : callable, optional
        Called with the work done and the work in all, in the same unit, and what was finished last.
    """
    n_jobs = check_int(n_jobs, "n_jobs", minimum=1)
    folder, home = Path(folder), None if data_home is None else Path(data_home)
    tasks = protocol.tasks()
    found: dict[str, str | FileNotFoundError] = {}
    for dataset in (*protocol.datasets, PLANTED, DIGITS):
        try:
            found[dataset] = data_signature(dataset, home)
        except FileNotFoundError as error:
            found[dataset] = error
    todo = []
    for task in tasks:
        record, data = _record(folder, task, protocol), found[task.dataset]
        # Finished records need no data; but where there are any, they must be those of the record.
        if record is None or (isinstance(data, str) and record["data"] != data):
            todo.append(task)
    for dataset, data in found.items():
        if isinstance(data, FileNotFoundError) and any(task.dataset == dataset for task in todo):
            raise data
    for part in ("trials", "runs", "studies", "beyond"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        for pattern in ("*/.*.json-*", ".protocol.json-*", ".report.html-*", ".tables.*-*", ".beyond*-*"):
            for left in folder.glob(pattern):  # of a write that was cut off
                left.unlink(missing_ok=True)
        for task in todo:
            (folder / task.file).unlink(missing_ok=True)
        write_atomically(folder / "protocol.json", json.dumps(asdict(protocol), indent=1))
        failures = _work_off(_jobs(todo), protocol, folder, home, n_jobs, sum(task.cost for task in tasks), progress)
        for dataset, method, seed, rule in product(protocol.datasets, protocol.methods, protocol.seeds, RULES):
            path = folder / "runs" / run_file(dataset, method, seed, rule)
            content = _chosen(folder, protocol, dataset, method, seed, rule)
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_atomically(path, json.dumps(content, indent=1))
    if failures:
        raise ExperimentError("\n".join(failures))


def run_file(dataset: str, method: str, seed: int, rule: str) -> str:
    """Name of the record of a run."""
    return f"{dataset}--{method}--seed{seed}--{rule}.json"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runners out of the folder; whoever is killed lets go of it. Does nothing on Windows."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(f"Another run is at work in {folder}. Wait for it, or name another folder.") from None
        yield


def _record(folder: Path, task: Task, protocol: Protocol) -> dict[str, Any] | None:
    """The record of a task, if there is one and it was made with the same settings."""
    try:
        content: dict[str, Any] = json.loads((folder / task.file).read_text())
    except (OSError, ValueError):
        return None
    return content if content.get("fingerprint") == protocol.fingerprint(task) else None


def _jobs(todo: list[Task]) -> list[list[Task]]:
    """Tasks that share a process: those of one method on one data set, unless they are long; and all small ones."""

    def same(task: Task) -> tuple[Any, ...]:
        if task.cost > _LONG:
            return (task.dataset, task.kind, task.method, task.group, task.seed)
        of_a_method = task.kind in ("trial", "beyond") and task.method != "floor"
        return (task.dataset, task.kind if of_a_method else "", task.method if of_a_method else "", -1, -1)

    jobs = [list(job) for _, job in groupby(sorted(todo, key=same), key=same)]
    return sorted(jobs, key=lambda job: -sum(task.cost for task in job))


def _work_off(
    jobs: list[list[Task]],
    protocol: Protocol,
    folder: Path,
    home: Path | None,
    n_jobs: int,
    total: float,
    progress: Callable[[float, float, str], None] | None,
) -> list[str]:
    """At most ``n_jobs`` processes at a time, one a job; returns what went wrong, and goes on with the rest."""
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    running: dict[Any, tuple[Any, Connection, list[Task]]] = {}
    left = {task for job in jobs for task in job}
    failures = []

    def tell(what: str) -> None:
        if progress is not None:
            progress(total - sum(task.cost for task in left), total, what)

    tell("")
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                job = waiting.pop(0)
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=_do, args=(job, protocol, folder, home, there), daemon=True)
                process.start()
                there.close()
                running[process.sentinel] = (process, here, job)
            finished = wait(list(running), timeout=0.2)
            for task in [task for task in left if (folder / task.file).is_file()]:
                left.discard(task)
                tell(_name(task))
            for sentinel in finished:
                process, here, job = running.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    undone = [task for task in job if task in left]
                    failures.append(f"{_name(undone[0])}: {_last_words(here, process.exitcode)}")
                    left.difference_update(undone)
                here.close()
    finally:
        for process, _, _ in running.values():
            process.kill()
            process.join()
    return failures


def _name(task: Task) -> str:
    if task.kind == "beyond":
        return f"{task.dataset}, {task.damage}, {TITLES[task.method]}"
    return f"{task.dataset}, {METHODS[task.method].title if task.method else task.kind}"


def _last_words(from_child: Connection, status: int) -> str:
    try:
        return str(from_child.recv())
    except EOFError:  # it was killed, as for want of memory
        return f"its process ended with exit status {status} and without a word. Was there too little memory?"


def _do(job: list[Task], protocol: Protocol, folder: Path, home: Path | None, to_parent: Connection) -> None:
    """In a process of its own: do the tasks of a job, and write each record when it is there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with threadpool_limits(1):
            for task in job:
                record = run_task(task, protocol, home)
                write_atomically(folder / task.file, json.dumps(record, indent=1))
    except Exception as error:
        to_parent.send(f"{type(error).__name__}: {error}"[:2000])  # more might not fit into the pipe
        os._exit(1)


def _end_with_parent() -> None:
    """A runner that was killed leaves nobody behind who works on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _chosen(
    folder: Path, protocol: Protocol, dataset: str, method: str, seed: int, rule: Rule
) -> dict[str, Any] | None:
    """The record of a run: the trial that the rule chooses by training scores, and how. None if one is missing."""
    trials = []
    for group in range(len(protocol.groups[method])):
        trial = _record(folder, Task("trial", dataset, method, group, seed), protocol)
        if trial is None:
            return None
        trials.append(trial)
    name = {"paper": "f1_on_training_samples", "cv": "f1_in_cross_validation"}[rule]
    scores = [trial["selection"][name] for trial in trials]
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
    """The first of the best; it sees scores on training samples alone."""
    return max(range(len(scores)), key=lambda i: -1.0 if scores[i] is None else float(scores[i]))  # type: ignore[arg-type]
