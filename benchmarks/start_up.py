"""What a new user waits for, in fresh processes: the import, and the first code without a compiler's cache."""

import os
import subprocess
import sys
import tempfile

from benchmarks._data import Options
from benchmarks._report import Report

_CLOCK = "import time, numpy as np; t = time.perf_counter(); "
_TELL = "; print(time.perf_counter() - t)"
_TRIVIAL = "numba.njit(lambda x: x + 1)(1)"
_CODED = (
    f"from sdgs import group_lasso as g; import numba; {_TRIVIAL}; {_CLOCK}"
    f"g([[1.0, 0.2]], [np.eye(2)[:1], np.eye(2)[1:]], 0.1){_TELL}"
)
# In this order: the last finds what the one before has compiled. Each with the most seconds that it may take.
STEPS = (
    ("import sdgs", f"{_CLOCK}import sdgs{_TELL}", 1.0),
    ("from sdgs import SDGSClassifier", f"{_CLOCK}from sdgs import SDGSClassifier{_TELL}", 2.0),
    ("Numba's own start-up: compile x + 1", f"import numba; {_CLOCK}{_TRIVIAL}{_TELL}", 1.0),
    ("then the first group_lasso, compiled", _CODED, 4.0),
    ("or loaded from the compiler's cache", _CODED, 1.0),
)


def run(report: Report, options: Options) -> None:  # noqa: ARG001
    """Each step in its own process."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        for step, code, most in STEPS:
            command = [sys.executable, "-c", code]
            out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            rows.append({"step": step, "seconds": float(out.stdout)})
            report.at_most(most, f"seconds: {step}", float(out.stdout))
    report.table("Start-up, seconds in a fresh process", rows, {"step": "", "seconds": ".2f"})
