"""A short form of ``make soak``."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from soak.in_threads import soak_fits, soak_predictions
from soak.usage import MIB, no_growth

KILL_AND_RESUME = Path(__file__).parent / "kill_and_resume.py"


def print_nothing(_):
    pass


@pytest.mark.slow
def test_single_row_predictions_in_eight_threads_are_the_same_and_nothing_grows():
    # Asserts both itself, as in `make soak`; the tests of growth below show that it fails.
    soak_predictions(200, 8, print_nothing)


@pytest.mark.slow
def test_fits_in_eight_threads_are_the_same_and_nothing_grows():
    # As above.
    soak_fits(10, 8, print_nothing)


@pytest.mark.slow
@pytest.mark.parametrize("work", ["fit", "search"])
def test_work_that_is_killed_twenty_times_has_the_same_result(work):
    command = [sys.executable, KILL_AND_RESUME, "20", "--part", work]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(f"{work}: 20 kills, ")
    assert process.stdout.endswith(" results, the same to the last bit\n")


LEAKS = {
    "objects": lambda stack: stack.callback([object() for _ in range(100_000)].clear),
    "resident": lambda stack: stack.callback(np.ones(64 * MIB // 8).sum),
    "files": lambda stack: stack.enter_context(open("/dev/null")),  # noqa: SIM115
}


@pytest.mark.parametrize("what", LEAKS)
def test_growth_is_noticed(what):
    with ExitStack() as stack, pytest.raises(AssertionError, match=f"{what} grew by"), no_growth(print_nothing):
        LEAKS[what](stack)
