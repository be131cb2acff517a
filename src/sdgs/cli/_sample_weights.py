"""Weights of samples from a column of a table."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli._console import exit_with_error


def check_weight_column(column: str | None, file: Path, format_: str | None) -> list[str]:
    """The column as a list, empty without one; an error if the file cannot have one."""
    from sdgs.datasets.readers._formats import check_is_table, detect_format

    if column is None:
        return []
    if str(file) == "-":
        raise typer.BadParameter("needs a file, because standard input is read once.", param_hint="--weight-column")
    check_is_table(detect_format(file, format_), file, "A column of weights")
    return [column]


def read_weights(
    file: Path, column: str | None, format_: str | None, rows: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """The weights of some rows of a table; None without a column of weights."""
    from sdgs.datasets.readers._original_cells import read_cells

    if column is None:
        return None
    cells = only_column(read_cells(file, [column], format_), column)
    return parse_weights([cells[row] for row in rows.tolist()], rows, file, column)


def weights_of(weights: NDArray[np.float64] | None, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """The weights of some samples."""
    return None if weights is None else weights[rows]


def only_column(cells: dict[str, list[str]], column: str) -> list[str]:
    """The cells of the one column that a name or a pattern matches."""
    if len(cells) > 1:
        raise typer.BadParameter(f"{column!r} matches {len(cells)} columns. Name one.", param_hint="--weight-column")
    return next(iter(cells.values()))


def parse_weights(cells: Sequence[str], rows: NDArray[np.intp], file: Path, column: str) -> NDArray[np.float64]:
    """Weights from their texts. Rows are named in errors, from 1."""
    weights = np.array([_number(cell) for cell in cells], dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        cell, row = cells[wrong[0]], rows[wrong[0]] + 1
        exit_with_error(
            f"{file}, sample {row}, column {column!r}: {cell[:50]!r} is not a weight, a number of at least 0. To leave "
            "out a sample give it the weight 0."
        )
    return weights


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
