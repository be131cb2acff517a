"""Kill a worker during a fit on Dask, many times: one clear error, and the same call again gives the same model.

``python tests/soak/kill_dask_workers.py 40`` kills 40 workers, each at a random time of a fit of 9,000 digits on two
workers, most of them late in it. It prints one line per kill and exits with 1 if a call does not end, raises another
error than WorkerLostError, or gives another model than an undisturbed fit.
"""

import argparse
import faulthandler
import logging
import os
import signal
import sys
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.distributed import WorkerLostError

TOLERANCE = 1e-12  # of probabilities
LATE = (
    0.7  # kills come between this share of the duration of a fit and its end, but for every fourth, which comes earlier
)


@dataclass
class Call:
    """What became of one fit."""

    outcome: str  # "finished", "lost" (WorkerLostError), "other error" or "no end"
    seconds: float
    model: Any = None
    error: str = ""


class Fit(Thread):
    """A fit in a thread of its own, so that one that does not end can be reported."""

    def __init__(self, X: Any, Y: Any, checkpoint: Path) -> None:
        super().__init__(daemon=True)
        self._X, self._Y = X, Y
        self._model = SDGSClassifier(random_state=0, checkpoint=checkpoint)
        self._result = Call("no end", np.nan)
        self.begun = Event()

    def run(self) -> None:
        self.begun.set()
        start, outcome, error = perf_counter(), "finished", ""
        try:
            self._model.fit(self._X, self._Y)
        except WorkerLostError as raised:
            outcome, error = "lost", str(raised)
        except BaseException:
            outcome, error = "other error", traceback.format_exc()
        self._result = Call(outcome, perf_counter() - start, self._model, error)

    def result(self, limit: float) -> Call:
        """What became of it; after ``limit`` seconds it counts as without end."""
        self.join(limit)
        return self._result

    def where(self) -> str:
        """The functions of this library that run now, innermost last."""
        frames, frame = [], sys._current_frames().get(self.ident or 0)
        while frame is not None:
            if "sdgs/" in frame.f_code.co_filename and frame.f_code.co_filename != __file__:
                frames.append(frame.f_code.co_name)
            frame = frame.f_back
        return " ".join(reversed(frames[:4])) or "after the fit"


def main(n_kills: int = 40, *, seed: int = 0, limit: float = 300.0, n_samples: int = 9000) -> int:
    """Kill so many workers, and return the number of failures."""
    train = make_composite_digits(n_samples, max_labels=2, subset="train", random_state=0)
    rng, failures, counts, longest = np.random.default_rng(seed), 0, Counter(), 0.0
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**options) as cluster, Client(cluster) as client, TemporaryDirectory() as folder:

        def start(checkpoint: str) -> Fit:
            fit = Fit(da.from_array(train.X, chunks=(n_samples // 9, -1)), train.Y, Path(folder) / checkpoint)
            fit.start()
            return fit

        undisturbed = [start(f"undisturbed-{i}").result(limit) for i in range(2)]  # the first one compiles
        expected, duration = undisturbed[1].model.predict_proba(train.X), undisturbed[1].seconds
        print(f"undisturbed fit: {duration:.1f} s", flush=True)
        for number in range(n_kills):
            client.wait_for_workers(2, timeout=60)
            pid = int(rng.choice(list(client.run(os.getpid).values())))
            delay = duration * (rng.uniform(0, LATE) if number % 4 == 3 else rng.uniform(LATE, 1.1))
            fit = start(str(number))
            fit.begun.wait()
            fit.join(delay)
            if not fit.is_alive():
                pass  # it was faster: the worker is lost between two fits
            where = fit.where()
            os.kill(pid, signal.SIGKILL)
            first = fit.result(limit)
            calls = [first]
            if first.outcome != "no end":
                calls.append(start(str(number)).result(limit))
            longest = max(longest, calls[-1].seconds)
            difference = np.nan
            if calls[-1].outcome == "finished":
                difference = np.abs(calls[-1].model.predict_proba(train.X) - expected).max()
            good = first.outcome in ("finished", "lost") and difference <= TOLERANCE
            counts[first.outcome, calls[-1].outcome] += 1
            failures += not good
            print(
                f"{number:4d} killed after {delay:5.2f} s in {where}: "
                + ", then ".join(f"{call.outcome} ({call.seconds:.1f} s)" for call in calls)
                + f", difference {difference:.1e}"
                + ("" if good else "  FAILURE"),
                flush=True,
            )
            for call in calls:
                if call.outcome == "other error":
                    print(call.error, flush=True)
            if calls[-1].outcome == "no end":
                _report_hang(client)
                break
    print(dict(counts), f"longest second call {longest:.1f} s, {failures} failures", flush=True)
    return failures


def _report_hang(client: Client) -> None:
    """Print the stacks of this process and of the workers, and what the scheduler knows."""
    faulthandler.dump_traceback(all_threads=True)
    for what in (client.nthreads, client.call_stack, client.processing, client.who_has):
        with suppress(Exception):
            print(what.__name__, what(), flush=True)

    def tasks(dask_scheduler: Any) -> list[str]:
        return [f"{key} {ts.state} {ts.worker_restrictions} {ts.who_has}" for key, ts in dask_scheduler.tasks.items()]

    with suppress(Exception):
        print(*client.run_on_scheduler(tasks), sep="\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_kills", type=int, nargs="?", default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a call counts as without end")
    arguments = parser.parse_args()
    sys.exit(main(arguments.n_kills, seed=arguments.seed, limit=arguments.limit) > 0)
