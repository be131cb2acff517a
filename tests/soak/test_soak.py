"""A short form of ``make soak``."""

from contextlib import ExitStack

import numpy as np
import pytest

from soak.in_threads import soak_fits, soak_predictions
from soak.usage import MIB, no_growth


def print_nothing(_):
    pass


@pytest.mark.slow
def test_single_row_predictions_in_eight_threads_are_the_same_and_nothing_grows():
    soak_predictions(200, 8, print_nothing)


@pytest.mark.slow
def test_fits_in_eight_threads_are_the_same_and_nothing_grows():
    soak_fits(10, 8, print_nothing)


LEAKS = {
    "objects": lambda stack: stack.callback([object() for _ in range(100_000)].clear),
    "resident": lambda stack: stack.callback(np.ones(64 * MIB // 8).sum),
    "files": lambda stack: stack.enter_context(open("/dev/null")),  # noqa: SIM115
}


@pytest.mark.parametrize("what", LEAKS)
def test_growth_is_noticed(what):
    with ExitStack() as stack, pytest.raises(AssertionError, match=f"{what} grew by"), no_growth(print_nothing):
        LEAKS[what](stack)
