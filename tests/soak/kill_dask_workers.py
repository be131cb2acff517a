"""Kill workers during a fit on Dask, many times: one clear error, and the same call again gives the same model.

``python tests/soak/kill_dask_workers.py 40`` kills 40 times during a fit of 9,000 digits on two workers: one worker, or
every eighth time both, in one step of the fit after the other. It prints one line per kill, and exits with 1 if a call
does not end, raises another error than WorkerLostError, or gives another model than an undisturbed fit.
"""

import argparse
import faulthandler
import logging
import os
import signal
import sys
import traceback
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from sdgs import SDGSClassifier
from sdgs.datasets import Dataset, make_composite_digits
from sdgs.distributed import WorkerLostError

TOLERANCE = 1e-12  # of probabilities
CLUSTER = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
MAX_DELAY = 0.3  # seconds from the start of a step to the kill
# Functions during which a worker is killed. One that does not run, as the last: after the fit, before the next.
STEPS = (
    "DistributedAlternation.sweep",
    "ActorPool._start",
    "DaskSamples.prepare_ridge",
    "DistributedAlternation.low_rank_factors",
    "DistributedAlternation.sweep",
    "ActorPool.close",
    "DaskSamples.column_statistics",
    "ActorPool._start",
    "DistributedAlternation.sweep",
    "DaskRows.fingerprint",
    "DaskSamples.prepare_ridge",
    "after the fit",
)


@dataclass
class Call:
    """What became of one fit."""

    outcome: str = "no end"  # or "finished", "WorkerLostError", "other error"
    seconds: float = np.nan
    model: Any = None
    error: BaseException | None = None  # kept, as an interactive session does


class Fit(Thread):
    """A fit in a thread of its own, so that one that does not end can be reported."""

    def __init__(self, data: Dataset, checkpoint: Path) -> None:
        super().__init__(daemon=True)
        self._X, self._Y = da.from_array(data.X, chunks=(len(data.X) // 9, -1)), data.Y
        self._model, self._call = SDGSClassifier(random_state=0, checkpoint=checkpoint), Call()
        self.start()

    def run(self) -> None:
        start, outcome, error = perf_counter(), "finished", None
        try:
            self._model.fit(self._X, self._Y)
        except Exception as raised:
            outcome, error = "WorkerLostError" if isinstance(raised, WorkerLostError) else "other error", raised
        self._call = Call(outcome, perf_counter() - start, self._model, error)

    def result(self, limit: float) -> Call:
        """What became of it; after ``limit`` seconds it counts as without end."""
        self.join(limit)
        return self._call

    def functions(self) -> list[str]:
        """The functions of this library that run now, innermost first."""
        names, frame = [], sys._current_frames().get(self.ident or 0)
        while frame is not None:
            if "sdgs" in Path(frame.f_code.co_filename).parts:
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        return names

    def wait_for_step(self, step: str) -> None:
        """Wait until the step begins, or the fit ends."""
        while self.is_alive() and step not in self.functions():
            sleep(0.0005)


def main(n_kills: int = 40, *, seed: int = 0, limit: float = 300.0, n_samples: int = 9000) -> int:
    """Kill so many times, and return the number of failures."""
    data = make_composite_digits(n_samples, max_labels=2, subset="train", random_state=0)
    rng, outcomes, failures, longest = np.random.default_rng(seed), Counter[str](), 0, 0.0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        # Otherwise a LocalCluster gives up a worker that is not there 15 s after a loss, perhaps because of the next.
        stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
        client = stack.enter_context(Client(stack.enter_context(LocalCluster(**CLUSTER))))
        undisturbed = [Fit(data, folder / f"undisturbed-{i}").result(limit) for i in range(2)]  # the first one compiles
        expected = undisturbed[1].model.predict_proba(data.X)
        print(f"undisturbed fit: {undisturbed[1].seconds:.1f} s", flush=True)
        for number, step in enumerate(islice(cycle(STEPS), n_kills)):
            client.wait_for_workers(2, timeout=limit)
            sleep(0.5)  # a worker that is killed while it starts is not started again
            pids = list(client.run(os.getpid).values())
            fit = Fit(data, folder / str(number))
            fit.wait_for_step(step)
            fit.join(rng.uniform(0, MAX_DELAY) * rng.integers(2))
            killed_in = " < ".join(fit.functions()[:3]) or "no fit"
            for pid in pids if number % 8 == 7 else pids[number % 2 :][:1]:
                os.kill(pid, signal.SIGKILL)
            calls = [fit.result(limit)]
            while calls[-1].outcome == "WorkerLostError" or (len(calls) == 1 and calls[0].outcome == "finished"):
                calls.append(_fit_again(client, data, folder / str(number), limit))
                if len(calls) > 3:
                    break
            longest = max([longest, *(call.seconds for call in calls[1:])])
            difference = np.nan
            if calls[-1].outcome == "finished":
                difference = np.abs(calls[-1].model.predict_proba(data.X) - expected).max()
            failed = not (difference <= TOLERANCE and len(calls) == 2)
            failures += failed
            summary = ", then ".join(call.outcome for call in calls)
            outcomes[summary] += 1
            seconds = ", ".join(f"{call.seconds:.1f}" for call in calls)
            print(
                f"{number:4d} {'FAILED ' * failed}{summary} ({seconds} s); {difference:.1e}; in {killed_in}", flush=True
            )
            if calls[-1].error is not None:
                traceback.print_exception(calls[-1].error)
            if calls[-1].outcome == "no end":
                _report_hang(client)
                break
        print(*(f"{count} x {summary}" for summary, count in outcomes.items()), sep="\n")
        print(f"longest call after a kill: {longest:.1f} s; {failures} failures", flush=True)
    return failures


def _fit_again(client: Client, data: Dataset, checkpoint: Path, limit: float) -> Call:
    """The same call, at once if there is a worker."""
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=60)
    return Fit(data, checkpoint).result(limit)


def _report_hang(client: Client) -> None:
    """Print the stacks of this process and of the workers, and what the scheduler knows."""
    faulthandler.dump_traceback(all_threads=True)
    for what in (client.nthreads, client.call_stack, client.processing):
        print(what.__name__, what(), flush=True)

    def describe_tasks(dask_scheduler: Any) -> list[str]:
        return [f"{key} {ts.state} {ts.worker_restrictions} {ts.who_has}" for key, ts in dask_scheduler.tasks.items()]

    print(*client.run_on_scheduler(describe_tasks), sep="\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_kills", type=int, nargs="?", default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a call counts as without end")
    arguments = parser.parse_args()
    sys.exit(main(arguments.n_kills, seed=arguments.seed, limit=arguments.limit) > 0)
