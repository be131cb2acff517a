"""Not a target of ``make fuzz``: every kind of finding once, for the test of the harness itself."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np

from fuzz.checks import VALID, check_error, check_message, notes_allowed, only_changes
from fuzz.draw import pick

_open_files = []


def _allocate_and_hide():
    try:
        try:
            np.ones(1 << 28)  # 2 GiB
        except MemoryError:
            raise ValueError("damaged") from None
    except ValueError as error:
        return check_error(error)


def _write_elsewhere(folder):
    (folder.parent.parent / "elsewhere.txt").write_text("x")


def _leave_behind(folder):
    with only_changes(folder, "output"):
        (folder / "temporary").write_text("x")


def _note_and_warning():
    with notes_allowed():
        warnings.warn("a note", stacklevel=1)
        np.log(np.zeros(1))


def _hang():
    while True:
        pass


# The message of the finding, and what causes it.
KINDS = {
    "MemoryError": lambda _: np.ones(1 << 28),
    "needed more than 1024 MiB": lambda _: _allocate_and_hide(),
    "changed something outside": _write_elsewhere,
    "left behind": _leave_behind,
    "RuntimeWarning": lambda _: _note_and_warning(),
    "ZeroDivisionError": lambda _: 1 / 0,
    "left a file open": lambda _: _open_files.append(Path("/dev/null").open()),  # noqa: SIM115
    "several lines": lambda _: check_message("two\nlines"),
    "the process died with status -9": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "takes too long": lambda _: _hang(),
    "": lambda _: None,  # no finding
}


def kind_of(rng):
    """The kind of a case."""
    return pick(rng, list(KINDS))


def run_case(rng, folder):
    kind = kind_of(rng)
    (folder / "input.txt").write_text(kind)
    KINDS[kind](folder)
    return VALID
