"""Doing all tasks of a protocol, once each, whatever happens in between.

A task's record is a file that appears when the task is done, whole. So the folder of records *is* the state: what is
there is done, what is not is to do, and a runner that was killed has lost only the tasks that it was at.
"""

import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from itertools import groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sdgs._files import write_whole
from sdgs._validation import check_int
from sdgs.experiments._protocol import METHODS, RULES, Protocol, Rule, Task
from sdgs.experiments._tasks import check_present, run_task

_LONG = 20.0  # tasks with a larger cost have a process of their own, so that both cores are busy to the end


class ExperimentError(RuntimeError):
    """A task failed; the message says which and why. What was done before it is kept."""


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
        data set, ``runs/`` for each method, data set and rule of choice, ``studies/`` the rest.
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
    todo = [task for task in tasks if _record(folder, task, protocol) is None]
    for dataset in protocol.datasets:
        if any(task.dataset == dataset for task in todo):
            check_present(dataset, home)
    for part in ("trials", "runs", "studies"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for left in (folder / part).glob(".*.json-*"):  # of a write that was cut off
            left.unlink()

    _work_off(_jobs(todo), protocol, folder, home, n_jobs, sum(task.cost for task in tasks), progress)
    for dataset in protocol.datasets:
        for method in protocol.methods:
            for seed in protocol.seeds:
                for rule in RULES:
                    content = _chosen(folder, protocol, dataset, method, seed, rule)
                    path = folder / "runs" / f"{dataset}--{method}--seed{seed}--{rule}.json"
                    write_whole(path, json.dumps(content, indent=1))


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
        of_a_method = task.kind == "trial" and task.method != "floor"
        return (task.dataset, task.method if of_a_method else "", "", -1, -1)

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
) -> None:
    """At most ``n_jobs`` processes at a time, one a job: a fresh one knows its own peak memory."""
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    running: dict[Any, tuple[Any, Connection, list[Task]]] = {}
    left = {task for job in jobs for task in job}

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
                if _record(folder, task, protocol) is not None:
                    left.discard(task)
                    tell(f"{task.dataset}, {METHODS[task.method].title if task.method else task.kind}")
            for sentinel in finished:
                process, here, job = running.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    message = here.recv() if here.poll() else f"its process ended with exit status {process.exitcode}"
                    raise ExperimentError(f"{job[0].dataset}, {job[0].method or job[0].kind}: {message}")
                here.close()
    finally:
        for process, _, _ in running.values():
            process.kill()
            process.join()


def _do(job: list[Task], protocol: Protocol, folder: Path, home: Path | None, to_parent: Connection) -> None:
    """In a process of its own: do the tasks of a job, and write each record when it is there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with threadpool_limits(1):
            for task in job:
                record = run_task(task, protocol, home)
                write_whole(folder / task.file, json.dumps(record, indent=1))
    except Exception as error:
        to_parent.send(f"{type(error).__name__}: {error}")
        os._exit(1)


def _end_with_parent() -> None:
    """A runner that was killed leaves nobody behind who works on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _chosen(folder: Path, protocol: Protocol, dataset: str, method: str, seed: int, rule: Rule) -> dict[str, Any]:
    """The record of a run: the trial that the rule chooses by training scores, and how it was chosen."""
    trials = []
    for group in range(len(protocol.groups[method])):
        trial = _record(folder, Task("trial", dataset, method, group, seed), protocol)
        if trial is None:
            raise ExperimentError(f"{dataset}, {method}: a record went missing while it ran. Run it again.")
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
        "peak_memory_mib": max((trial["peak_memory_mib"] or 0 for trial in trials), default=None),
        "seconds_of_all_candidates": float(
            np.sum([part["cpu"] for trial in trials for part in trial["seconds"].values()])
        ),
    }


def choose(scores: list[float | None]) -> int:
    """The first of the best; it sees scores on training samples alone."""
    return max(range(len(scores)), key=lambda i: -1.0 if scores[i] is None else float(scores[i]))  # type: ignore[arg-type]
