"""Weights of samples from a column of a table."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli._console import exit_with_error
from sdgs.cli._table_data import TrainingData


def check_weight_column(column: str | None, file: Path, format_: str | None) -> list[str]:
    """The name of the column as a list, empty without one; an error if the file does not have it."""
    from sdgs.datasets.readers._column_selection import match_columns
    from sdgs.datasets.readers._formats import check_is_table, detect_format
    from sdgs.datasets.readers._open_table import open_table

    if column is None:
        return []
    if str(file) == "-":
        raise typer.BadParameter("needs a file, because standard input is read once.", param_hint="--weight-column")
    table_format = detect_format(file, format_)
    check_is_table(table_format, file, "A column of weights")
    with open_table(file, table_format, None) as source:
        names = match_columns([column], source.names, source.name, "column of weights")
    if len(names) > 1:
        raise _several_columns(column, len(names))
    return names


def read_weights(
    file: Path, column: str | None, format_: str | None, rows: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """The weights of some rows of a table; None without a column of weights."""
    from sdgs.datasets.readers._original_cells import read_cells

    if column is None:
        return None
    cells = only_column(read_cells(file, [column], format_), column)
    return parse_weights([cells[row] for row in rows.tolist()], rows, file, column)


def name_weights(data: TrainingData, weight_columns: list[str]) -> TrainingData:
    """The data with the reason why columns of weights are no features."""
    reasons = dict(data.dropped) | dict.fromkeys(weight_columns, "weights of the samples")
    return replace(data, dropped=tuple(reasons.items()))


def weights_of(weights: NDArray[np.float64] | None, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """The weights of some samples."""
    return None if weights is None else weights[rows]


def only_column(cells: dict[str, list[str]], column: str) -> list[str]:
    """The cells of the one column that a name or a pattern matches."""
    if len(cells) > 1:
        raise _several_columns(column, len(cells))
    return next(iter(cells.values()))


def _several_columns(pattern: str, n: int) -> typer.BadParameter:
    return typer.BadParameter(f"{pattern!r} matches {n} columns. Name one.", param_hint="--weight-column")


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
