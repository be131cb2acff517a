"""From a table to a data set: which columns are labels, features, or neither."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.datasets._dataset import Dataset, as_label_matrix
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import join_names, match_columns
from sdgs.datasets.readers._csv_parquet import RowBlock, TableSource
from sdgs.datasets.readers._label_lists import (
    LabelGuess,
    binarize_lists,
    find_separator,
    guess_label_columns,
    split_labels,
)
from sdgs.datasets.readers._number_parsing import BadCellError, abbreviate, count_text_cells

_MAX_TYPO_SHARE = 0.1  # of a column of numbers; a column with more text is not one


def table_dataset(
    source: TableSource, labels: Sequence[str] | None, drop: Sequence[str], label_column: str | None = None
) -> Dataset:
    """Read a whole table. Columns that are not numeric, are empty or have no name are dropped, with the reason."""
    if labels is None and label_column is None:
        raise DataFileError(_ask_for_labels(source))
    label_names = match_columns(labels or [], source.names, source.name)
    list_column = None if label_column is None else match_list_column(source, label_column)
    targets = label_names if list_column is None else [list_column]
    dropped = dict.fromkeys(match_columns(drop, source.names, source.name, "column to drop"), "dropped, as requested")
    conflicts = [name for name in targets if name in dropped]
    if conflicts:
        raise DataFileError(f"{source.name}: {join_names(conflicts)} cannot be both a label and dropped.")
    if "" in source.names:
        dropped[""] = "an index, because it has no name"
    not_features = {*dropped, *targets}
    features = [name for name in source.names if name not in not_features]
    values = _read_values(source, features, label_names, list_column)
    columns = _numeric_columns(values, source.name, dropped)
    if not columns:
        _raise_no_features(source, dropped)
    if list_column is None:
        Y = np.concatenate(values.Y)
    else:
        label_names, Y = _labels_from_lists(values.lists, source.name, list_column)
    return Dataset(
        X=np.column_stack(list(columns.values())),
        Y=as_label_matrix(Y),
        feature_names=tuple(columns),
        label_names=tuple(label_names),
        name=Path(source.name).name,
        dropped=tuple((name, dropped[name]) for name in source.names if name in dropped),
    )


@dataclass
class _TextColumn:
    """A column with cells that are not numbers: the first of them, and how many are text."""

    error: BadCellError
    line: int
    n_text_cells: int = 0


@dataclass
class _TableValues:
    """The values of a table, one array per block of rows."""

    features: dict[str, list[NDArray[np.float64]]]
    Y: list[NDArray[np.float64]] = field(default_factory=list)
    lists: list[Any] = field(default_factory=list)
    text_columns: dict[str, _TextColumn] = field(default_factory=dict)


def _read_values(
    source: TableSource, features: list[str], label_names: list[str], list_column: str | None
) -> _TableValues:
    values = _TableValues({name: [] for name in features})
    list_columns = [] if list_column is None else [list_column]
    for rows in source.blocks([*features, *label_names, *list_columns]):
        for name in features:
            try:
                values.features[name].append(rows.features(name))
            except BadCellError as error:
                first = _TextColumn(error, rows.line_numbers[error.row])
                values.text_columns.setdefault(name, first).n_text_cells += count_text_cells(rows.texts(name))
        values.Y.append(read_matrix(source, rows, label_names, rows.labels))
        for name in list_columns:
            values.lists.extend(list_cells(source, rows, name))
    if not values.Y:
        raise DataFileError(f"{source.name}: there are no rows below the names of the columns.")
    return values


def read_matrix(
    source: TableSource, rows: RowBlock, names: Sequence[str], parse: Callable[[str], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Columns of some rows, read by ``rows.features`` or ``rows.labels``; an error names the line and column."""
    matrix = np.empty((len(rows.line_numbers), len(names)))
    for j, name in enumerate(names):
        try:
            matrix[:, j] = parse(name)
        except BadCellError as error:
            raise source.bad_cell(error, rows, name) from None
    return matrix


def _numeric_columns(values: _TableValues, file: str, dropped: dict[str, str]) -> dict[str, NDArray[np.float64]]:
    """Columns of numbers; the others are added to ``dropped``. A few text cells in a column are an error."""
    n = sum(map(len, values.Y))
    for name, text in values.text_columns.items():
        cell = abbreviate(text.error.text)
        if text.n_text_cells <= _MAX_TYPO_SHARE * n:
            raise DataFileError(
                f"{file}, line {text.line}, column {name!r}: {cell} is {text.error.problem}, but the other cells of "
                f"the column are numbers. {text.error.advice} Or drop the column (drop=[...], on the command line "
                "--drop)."
            )
        dropped[name] = f"{cell} in line {text.line} is {text.error.problem}"
    columns = {name: np.concatenate(parts) for name, parts in values.features.items() if name not in dropped}
    empty = [name for name, column in columns.items() if np.isnan(column).all()]
    dropped.update(dict.fromkeys(empty, "it is empty"))
    return {name: column for name, column in columns.items() if name not in dropped}


def match_list_column(source: TableSource, pattern: str) -> str:
    """The column that lists labels; an error with similar names if it does not exist."""
    matches = match_columns([pattern], source.names, source.name, "column that lists labels")
    if len(matches) > 1:
        raise DataFileError(
            f"{source.name}: one column must list the labels, but {pattern!r} matches {join_names(matches)}."
        )
    return matches[0]


def list_cells(source: TableSource, rows: RowBlock, column: str) -> Sequence[Any]:
    """The cells of the column that lists labels: text, lists of names, or None for missing values."""
    cells = rows.cells(column)
    for i, cell in enumerate(cells):
        is_list = isinstance(cell, list) and None not in cell
        if not (cell is None or isinstance(cell, str) or is_list):
            error = BadCellError(i, str(cell), "neither text nor a list of names")
            raise source.bad_cell(error, rows, column)
    return cells


def _labels_from_lists(cells: Sequence[Any], file: str, column: str) -> tuple[list[str], NDArray[np.float64]]:
    separator = find_separator(cells)
    lists = [split_labels(cell, separator) for cell in cells]
    names = sorted({label for sample_labels in lists for label in sample_labels or []})
    if not names:
        raise DataFileError(f"{file}: the column {column!r} lists no labels.")
    return names, binarize_lists(lists, names)[0]


def _raise_no_features(source: TableSource, dropped: dict[str, str]) -> None:
    if dropped:
        source.check_several_columns()
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:3])
    raise DataFileError(f"{source.name}: no column is left as a feature ({reasons or 'all are labels'}).")


def guess_labels_of(source: TableSource) -> LabelGuess:
    """Guess which columns are labels from the first block of rows."""
    rows = next(source.blocks(source.names), None)
    if rows is None:
        return LabelGuess()
    names = [name for name in source.names if name]
    binary = [name for name in names if _is_binary(rows, name)]
    return guess_label_columns(names, binary, {name: rows.cells(name) for name in names if _is_text(rows, name)})


def _ask_for_labels(source: TableSource) -> str:
    guess = guess_labels_of(source)
    hints = [f"These columns hold only 0 and 1, or yes and no: {join_names(guess.columns)}."] if guess.columns else []
    if guess.lists:
        hints.append(f"{join_names(guess.lists)} may list all labels (label_column=..., --label-column).")
    return (
        f"{source.name}: which columns are labels? Name them, or give a pattern such as 'genre_*' (labels=[...], on "
        f"the command line --labels). {' '.join(hints) or f'The columns are {join_names(source.names)}.'}"
    )


def _is_binary(rows: RowBlock, name: str) -> bool:
    try:
        return not bool(np.isnan(rows.labels(name)).all())
    except BadCellError:
        return False


def _is_text(rows: RowBlock, name: str) -> bool:
    try:
        rows.features(name)
    except BadCellError:
        return all(cell is None or isinstance(cell, str | list) for cell in rows.cells(name))
    return False
