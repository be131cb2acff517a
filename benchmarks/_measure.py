"""Measuring: wall time here, wall time and peak memory in a process of its own, growth, and where it was measured."""

import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[1]
PACKAGES = ("sdgs", "numpy", "scipy", "scikit-learn", "numba", "skglm", "celer", "scikit-multilearn-ng")
MIB = 1 << 20
_LINUX = sys.platform == "linux"
# Why no memory is measured, if none is.
NO_MEMORY = None if _LINUX else "a process can only ask for its peak memory, and start it anew, on Linux"


def seconds(run: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """Median wall time, and the last result."""
    times = []
    for _ in range(repeat):
        start = perf_counter()
        result = run()
        times.append(perf_counter() - start)
    return median(times), result


def steady(run: Callable[[], Any], short: float = 2.0) -> tuple[float, Any]:
    """The same of three runs if one is ``short``, which a moment's disturbance would spoil; else of one."""
    time, result = seconds(run, 1)
    return seconds(run) if time < short else (time, result)


def alternately(runs: dict[str, Callable[[], Any]], repeat: int = 5) -> dict[str, float]:
    """Median wall time of each, taken in turns: what slows the machine for a while slows all of them."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            times[name].append(seconds(run, 1)[0])
    return {name: median(of_one) for name, of_one in times.items()}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of values over sizes on logarithmic axes, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def isolated(job: Callable[..., Any], *, threads: int = 1, **arguments: Any) -> dict[str, dict[str, float]]:
    """Seconds and peak MiB of each step of ``job(**arguments)``, in a fresh process.

    ``job`` is a function of a module of this package. It makes its data and returns the steps, (name, callable) in
    order. Memory is what the process has at most during a step, over what it had before the data were made.
    """
    pinned = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    request = json.dumps({"module": job.__module__, "function": job.__name__, "arguments": arguments})
    command = [sys.executable, "-m", "benchmarks._measure", request]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | pinned, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job.__name__}({arguments}) ended with status {done.returncode}.")
    return json.loads(done.stdout.splitlines()[-1])


def _answer(request: str) -> None:
    """The other side of `isolated`."""
    import warnings

    from sdgs import group_lasso

    warnings.simplefilter("ignore")
    if _LINUX:
        Path("/proc/self/oom_score_adj").write_text("1000")  # should memory run out, this is what has to go
    asked = json.loads(request)
    job = getattr(importlib.import_module(asked["module"]), asked["function"])
    for dtype in (np.float64, np.float32):  # what every user of the library has: it is loaded, and compiled
        group_lasso(np.eye(2, dtype=dtype), [np.eye(2)[:1], np.eye(2)[1:]], 0.1)
    before = _memory("VmRSS") if _LINUX else 0.0
    answer = {}
    for name, step in job(**asked["arguments"]):
        if _LINUX:
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew at what there is now
        time, _ = seconds(step, 1)
        answer[name] = {"seconds": time, "peak_mib": (_memory("VmHWM") - before) / MIB if _LINUX else None}
    print(json.dumps(answer))


def _memory(what: str) -> float:
    """VmRSS (now) or VmHWM (at most) in bytes; `resource` would also count what the parent had when it forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(what))


def environment() -> dict[str, Any]:
    """Where this is measured, and with which versions."""
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": sorted(
            {f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if "blas" in lib["user_api"]}
        ),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "threads": max((lib["num_threads"] for lib in threadpool_info()), default=1),
        "commit": _commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


if __name__ == "__main__":
    _answer(sys.argv[1])
