"""A short form of ``make soak``."""

import pytest

from soak.in_threads import soak_fits, soak_predictions
from soak.usage import MIB, no_growth

_kept = []


@pytest.mark.slow
def test_single_row_predictions_in_eight_threads_are_the_same_and_nothing_grows():
    soak_predictions(400, 8, print_nothing)


@pytest.mark.slow
def test_fits_in_eight_threads_are_the_same_and_nothing_grows():
    soak_fits(18, 8, print_nothing)


def print_nothing(_):
    pass


def leak_objects():
    _kept.append([object() for _ in range(100_000)])


def leak_memory():
    import numpy as np

    _kept.append(np.ones(64 * MIB // 8))


def leak_file():
    _kept.append(open("/dev/null"))  # noqa: SIM115


@pytest.mark.parametrize("leak", [leak_objects, leak_memory, leak_file])
def test_growth_is_noticed(leak):
    with pytest.raises(AssertionError, match="grew by"), no_growth(print_nothing):
        leak()
    _kept.clear()
