"""Runs cases in worker processes, and replaces a worker that hangs or dies."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

MAX_SECONDS = 10  # of processor time per case, because other processes may slow it down
_WALL_FACTOR = 6  # a case that waits may take this much longer
_MAX_START_SECONDS = 300  # of a worker, which may have to compile
_TESTS = Path(__file__).parents[1]


def run(cases, *, seed=0, n_workers=2, max_seconds=MAX_SECONDS, on_record):
    """Run cases, pairs (target, number); ``on_record`` gets the record of each.

    ``record["files"]`` is the folder with the files of a finding.
    """
    lock = threading.Lock()

    def record_safely(record):
        with lock:
            on_record(record)

    with TemporaryDirectory(prefix="sdgs-fuzz-") as scratch:
        supervisors = [
            threading.Thread(
                target=_supervise, args=(cases[i::n_workers], seed, Path(scratch) / str(i), max_seconds, record_safely)
            )
            for i in range(n_workers)
        ]
        for supervisor in supervisors:
            supervisor.start()
        for supervisor in supervisors:
            supervisor.join()


def _supervise(cases, seed, folder, max_seconds, on_record):
    """Run cases in one worker at a time. After a case that hangs or kills its worker, a new one goes on."""
    done = 0
    while done < len(cases):
        with _WorkerProcess(folder, seed, cases[done:]) as worker:
            if worker.read(_MAX_START_SECONDS, _MAX_START_SECONDS) is None:
                on_record(worker.failure("setup", 0, "the worker did not start"))
                return
            while done < len(cases):
                record = worker.read(max_seconds, _WALL_FACTOR * max_seconds)
                name, case = cases[done]
                done += 1
                if record is None:
                    on_record(worker.failure(name, case))
                    break
                on_record(record)


class _WorkerProcess:
    """A worker, with a pipe of its own for records, because libraries may print to the standard streams."""

    def __init__(self, folder, seed, cases):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "home").mkdir(exist_ok=True)
        home = str(folder / "home")
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "MPLCONFIGDIR": home}
        environment |= {"HOME": home, "TMPDIR": home, "COLUMNS": "120"}
        environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # pyarrow's own reserves 1 GiB at first use
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_TESTS), os.environ.get("PYTHONPATH")]))
        self._log = open(folder / "log.txt", "w+")  # noqa: SIM115  (closed in __exit__)
        self._reader, writer = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", str(folder), str(writer)],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[writer],
            env=environment,
        )
        os.close(writer)
        self._lines, self._rest, self._timed_out = [], b"", False
        self._process.stdin.write(json.dumps({"seed": seed, "cases": cases}).encode())
        self._process.stdin.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._reader)
        self._log.close()

    def read(self, cpu_seconds, wall_seconds):
        """The next record; None if the worker takes longer or dies."""
        end, cpu_start = monotonic() + wall_seconds, self._cpu_seconds()
        while not self._lines:
            if not select.select([self._reader], [], [], 0.5)[0]:
                if monotonic() > end or self._cpu_seconds() - cpu_start > cpu_seconds:
                    self._timed_out = True
                    return None
                continue
            part = os.read(self._reader, 1 << 16)
            if not part:
                return None
            *self._lines, self._rest = (self._rest + part).split(b"\n")
        return json.loads(self._lines.pop(0))

    def _cpu_seconds(self):
        """Processor time of the worker so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def failure(self, name, case, problem=None):
        """The record of a case that hangs or has killed the worker, with the traceback that it leaves."""
        if self._timed_out:
            self._process.send_signal(signal.SIGABRT)  # faulthandler writes where it hangs
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if problem is None:
            problem = "takes too long" if self._timed_out else f"the process died with status {status}"
        self._log.seek(0)
        text = self._log.read()[-20_000:]
        frame = next((line.strip() for line in text.splitlines() if f"{os.sep}sdgs{os.sep}" in line), "")
        record = {"target": name, "case": case, "outcome": "finding", "place": f"{problem} {frame}", "message": problem}
        record["files"] = str(self._folder / "case")
        return record | {"traceback": text, "seconds": 0, "memory": 0}
