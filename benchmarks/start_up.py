"""Start-up time in new processes: the import, and the first code with a cold and a warm compilation cache."""

import os
import subprocess
import sys
import tempfile

from benchmarks._data import Options
from benchmarks._report import Report

_START_CLOCK = "import time, numpy as np; t = time.perf_counter(); "
_PRINT_SECONDS = "; print(time.perf_counter() - t)"
_COMPILE_TRIVIAL = "numba.njit(lambda x: x + 1)(1)"
_FIRST_CODE = (
    f"from sdgs import group_lasso as g; import numba; {_COMPILE_TRIVIAL}; {_START_CLOCK}"
    f"g([[1.0, 0.2]], [np.eye(2)[:1], np.eye(2)[1:]], 0.1){_PRINT_SECONDS}"
)
# Step, program, largest number of seconds. The order matters: the last step loads what the one before it compiled.
STEPS = (
    ("import sdgs", f"{_START_CLOCK}import sdgs{_PRINT_SECONDS}", 1.0),
    ("from sdgs import SDGSClassifier", f"{_START_CLOCK}from sdgs import SDGSClassifier{_PRINT_SECONDS}", 2.0),
    ("Numba itself: compile x + 1", f"import numba; {_START_CLOCK}{_COMPILE_TRIVIAL}{_PRINT_SECONDS}", 1.0),
    ("first group_lasso, compiled", _FIRST_CODE, 4.0),
    ("first group_lasso, loaded from the compilation cache", _FIRST_CODE, 1.0),
)


def run(report: Report, options: Options) -> None:  # noqa: ARG001
    """Run each step in its own process."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        for step, code, max_seconds in STEPS:
            command = [sys.executable, "-c", code]
            out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            rows.append({"step": step, "seconds": float(out.stdout)})
            report.claim_at_most(max_seconds, "time in a new process", float(out.stdout), step, "s")
    report.add_table("Start-up: seconds in a new process", rows, {"step": "", "seconds": ".2f"})
