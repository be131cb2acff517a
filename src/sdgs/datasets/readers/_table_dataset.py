"""From a table to a data set of numbers: which columns are features, and which are dropped."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import MAX_TYPO_SHARE, BadCellError, abbreviate, count_text_cells
from sdgs.datasets._dataset import Dataset, as_label_matrix
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._table_labels import TableLabels
from sdgs.datasets.readers._table_source import TableSource


def table_dataset(
    source: TableSource, labels: Sequence[str] | None, drop: Sequence[str], label_column: str | None = None
) -> Dataset:
    """Read a whole table. Columns that are not numeric, are empty or have no name are dropped, with the reason."""
    table_labels = TableLabels(source, labels, label_column, drop)
    dropped = table_labels.dropped
    values = _read_values(source, table_labels)
    columns = _numeric_columns(values, source.name, dropped)
    if not columns:
        _raise_no_features(source, dropped)
    label_names, Y = table_labels.values()
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
    n_rows: int = 0
    text_columns: dict[str, _TextColumn] = field(default_factory=dict)


def _read_values(source: TableSource, labels: TableLabels) -> _TableValues:
    features = labels.other_columns()
    values = _TableValues({name: [] for name in features})
    for rows in source.blocks([*features, *labels.columns]):
        for name in features:
            try:
                values.features[name].append(rows.features(name))
            except BadCellError as error:
                first = _TextColumn(error, rows.line_numbers[error.row])
                values.text_columns.setdefault(name, first).n_text_cells += count_text_cells(rows.texts(name))
        labels.add(rows)
        values.n_rows += len(rows.line_numbers)
    if not values.n_rows:
        raise DataFileError(f"{source.name}: there are no rows below the names of the columns.")
    return values


def _numeric_columns(values: _TableValues, file: str, dropped: dict[str, str]) -> dict[str, NDArray[np.float64]]:
    """Columns of numbers; the others are added to ``dropped``. A few text cells in a column are an error."""
    for name, text in values.text_columns.items():
        cell = abbreviate(text.error.text)
        if text.n_text_cells <= MAX_TYPO_SHARE * values.n_rows:
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


def _raise_no_features(source: TableSource, dropped: dict[str, str]) -> None:
    if dropped:
        source.check_several_columns()
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:3])
    raise DataFileError(f"{source.name}: no column is left as a feature ({reasons or 'all are labels'}).")
