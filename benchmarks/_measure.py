"""Measurements: wall time, peak memory in a new process, growth exponents, and a description of the environment."""

import importlib
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "sdgs",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "skglm",
    "celer",
    "iterative-stratification",
    "scikit-multilearn-ng",
)
MIB = 1 << 20
_LINUX = sys.platform == "linux"
# None if peak memory can be measured.
WHY_NO_MEMORY = None if _LINUX else "only on Linux can a process read and reset its peak memory"


def measure_time(
    run: Callable[[], Any], repeat: int = 3, clock: Callable[[], float] = perf_counter
) -> tuple[float, Any]:
    """Median time by a clock, by default wall time, and the last result."""
    times = []
    for _ in range(repeat):
        start = clock()
        result = run()
        times.append(clock() - start)
    return median(times), result


def measure_time_adaptively(run: Callable[[], Any], repeat_below: float = 2.0) -> tuple[float, Any]:
    """One run if it takes ``repeat_below`` seconds or more, otherwise the median of three further runs."""
    time, result = measure_time(run, 1)
    return measure_time(run) if time < repeat_below else (time, result)


def measure_times_alternately(
    runs: dict[str, Callable[[], Any]], repeat: int = 5, clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Median time of each, in turns, so that other load on the machine affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            times[name].append(measure_time(run, 1, clock)[0])
    return {name: median(run_times) for name, run_times in times.items()}


def growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Least-squares slope of values over sizes on logarithmic axes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def measure_in_subprocess(
    job: Callable[..., Any], *, threads: int = 1, **arguments: Any
) -> dict[str, dict[str, float]]:
    """Seconds and peak MiB of each step of ``job(**arguments)``, in a new process.

    ``job`` is a function of a module of this package. It makes its data and returns the steps as (name, callable) in
    order. Memory is the peak of the process during a step, minus its memory before the data were made.
    """
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = os.environ | dict.fromkeys(variables, str(threads))
    request = json.dumps({"module": job.__module__, "function": job.__name__, "arguments": arguments})
    command = [sys.executable, "-m", "benchmarks._measure", request]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job.__name__}({arguments}) ended with status {done.returncode}.")
    return json.loads(done.stdout.splitlines()[-1])


def _run_job(request_json: str) -> None:
    """The new process of `measure_in_subprocess`: prints the measurements as JSON."""
    from sdgs import group_lasso

    warnings.simplefilter("ignore")
    if _LINUX:
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, the kernel ends this process first
    request = json.loads(request_json)
    job = getattr(importlib.import_module(request["module"]), request["function"])
    for dtype in (np.float64, np.float32):  # imports and compiled code are not part of the measured memory
        group_lasso(np.eye(2, dtype=dtype), [np.eye(2)[:1], np.eye(2)[1:]], 0.1)
    memory_before = _process_memory("VmRSS") if _LINUX else 0.0
    measurements = {}
    for name, step in job(**request["arguments"]):
        if _LINUX:
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current memory
        time, _ = measure_time(step, 1)
        peak_mib = (_process_memory("VmHWM") - memory_before) / MIB if _LINUX else None
        measurements[name] = {"seconds": time, "peak_mib": peak_mib}
    print(json.dumps(measurements))


def _process_memory(field: str) -> float:
    """VmRSS (current) or VmHWM (peak) in bytes. `resource` also counts the memory of the parent at the fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field))


def describe_environment() -> dict[str, Any]:
    """Machine, versions, threads and commit."""
    return {
        "python": platform.python_version(),
        "packages": {name: _package_version(name) for name in PACKAGES},
        "blas": sorted(
            {f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if "blas" in lib["user_api"]}
        ),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu_name(),
        "cpus": os.cpu_count(),
        "threads": max((lib["num_threads"] for lib in threadpool_info()), default=1),
        "commit": _git_commit(),
    }


def _package_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _git_commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


if __name__ == "__main__":
    _run_job(sys.argv[1])
