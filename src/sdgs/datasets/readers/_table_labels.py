"""The labels of a table: which columns they are, and their values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import BadCellError
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import join_names, match_columns
from sdgs.datasets.readers._label_lists import (
    LabelGuess,
    binarize_lists,
    find_separator,
    guess_label_columns,
    split_labels,
)
from sdgs.datasets.readers._table_source import RowBlock, TableSource


class TableLabels:
    """The labels of a table that is read as a whole, collected block by block.

    Attributes
    ----------
    columns : list of str
        The columns of the table that are labels, or list them.
    dropped : dict from str to str
        The columns that are neither labels nor features, and why.
    """

    def __init__(
        self, source: TableSource, labels: Sequence[str] | None, label_column: str | None, drop: Sequence[str]
    ) -> None:
        if labels is None and label_column is None:
            raise DataFileError(_ask_for_labels(source))
        self._source = source
        self._names = match_columns(labels or [], source.names, source.name)
        self._list_column = None if label_column is None else match_list_column(source, label_column)
        self.columns = self._names if self._list_column is None else [self._list_column]
        dropped = match_columns(drop, source.names, source.name, "column to drop")
        conflicts = [name for name in self.columns if name in dropped]
        if conflicts:
            raise DataFileError(f"{source.name}: {join_names(conflicts)} cannot be both a label and dropped.")
        self.dropped = dict.fromkeys(dropped, "dropped, as requested")
        if "" in source.names:
            self.dropped[""] = "an index, because it has no name"
        self._Y: list[NDArray[np.float64]] = []
        self._lists: list[Any] = []

    def other_columns(self) -> list[str]:
        """The columns that are not labels, and are not dropped."""
        excluded = {*self.columns, *self.dropped}
        return [name for name in self._source.names if name not in excluded]

    def add(self, rows: RowBlock) -> None:
        """Read the labels of some rows."""
        if self._list_column is None:
            self._Y.append(read_matrix(self._source, rows, self._names, rows.labels))
        else:
            self._lists.extend(list_cells(self._source, rows, self._list_column))

    def values(self) -> tuple[list[str], NDArray[np.float64]]:
        """The names of the labels, and their matrix."""
        if self._list_column is None:
            return self._names, np.concatenate(self._Y)
        return _labels_from_lists(self._lists, self._source.name, self._list_column)


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
