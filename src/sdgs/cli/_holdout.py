"""Samples that `sdgs fit` holds out to evaluate the model on."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli import _options as option
from sdgs.cli._console import count, exit_with_error
from sdgs.cli._csv_lines import csv_writer


def check_holdout(file: Path, holdout: float | None, holdout_file: Path | None, test: Path | None) -> None:
    """Reject a share that is none, and options that exclude each other."""
    if holdout is not None and test is not None:
        raise typer.BadParameter("give --test or --holdout, not both.", param_hint="--holdout")
    check_share(holdout, "--holdout")
    if holdout_file is not None:
        if holdout is None or str(file) == "-":
            raise typer.BadParameter("needs --holdout and a file to read.", param_hint="--holdout-file")
        option.check_output(holdout_file, file, suffixes=(".csv",), hint="--holdout-file")


def check_share(share: float | None, hint: str) -> None:
    """Reject a share that is not between 0 and 1."""
    if share is not None and not 0 < share < 1:
        percent = f" For {share:g} % give {share / 100:g}." if 1 < share < 100 else ""
        raise typer.BadParameter(f"{share:g} must be a share between 0 and 1.{percent}", param_hint=hint)


def split_samples(
    Y: Any, holdout: float | None, seed: int, *, groups: Any = None, hint: str = "--holdout"
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to hold out, and the others, in order; each label has about the same share in both."""
    from sdgs.model_selection import MultilabelStratifiedShuffleSplit

    n = Y.shape[0]
    if holdout is None:
        return np.arange(0), np.arange(n)
    n_held_out = round(holdout * n)
    if not 0 < n_held_out < n:
        exit_with_error(f"{hint} {holdout:g} of {count(n, 'sample')} leaves none to train on or to hold out.")
    splitter = MultilabelStratifiedShuffleSplit(1, test_size=n_held_out, random_state=seed)
    try:
        kept, held_out = next(splitter.split(np.empty((n, 0)), Y, groups))
    except ValueError as error:  # a single group
        exit_with_error(str(error))
    return np.sort(held_out), np.sort(kept)


def write_samples(output: Path, file: Path, format_: str | None, rows: NDArray[np.intp]) -> None:
    """Write rows of a table as they are in the file, as CSV."""
    from sdgs.datasets.readers._original_cells import read_cells
    from sdgs.persistence._atomic_write import write_atomically

    cells = read_cells(file, ["*"], format_)
    text = io.StringIO()
    csv_writer(text).writerows([list(cells), *([column[row] for column in cells.values()] for row in rows.tolist())])
    write_atomically(output, text.getvalue().encode())
