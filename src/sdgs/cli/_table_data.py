"""Training data from files: numbers as they are, and tables with text, categories and dates, which are encoded."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.cli import _options as option
from sdgs.cli._console import escape, exit_with_error, make_table, note, out

_MAX_COLUMNS_SHOWN, _MAX_NAMES_SHOWN = 30, 6


@dataclass(frozen=True, eq=False)
class TableSamples:
    """Samples as columns of a table, which the model encodes, with the part of an array's interface that is needed."""

    columns: dict[str, NDArray[Any]]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of columns."""
        return len(next(iter(self.columns.values()))), len(self.columns)

    def __getitem__(self, rows: Any) -> "TableSamples":
        return TableSamples({name: values[rows] for name, values in self.columns.items()})


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What `sdgs fit`, `audit` and `info` read: the attributes of a data set, and how columns were read.

    ``X`` is an array, or :class:`TableSamples`. ``formats`` is None if the columns are plain numbers; ``kinds`` are
    those that the user has chosen.
    """

    X: Any
    Y: Any
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    name: str
    dropped: tuple[tuple[str, str], ...]
    formats: dict[str, Any] | None
    kinds: dict[str, str]
    label_column: str | None = None  # which lists the labels

    @property
    def is_table(self) -> bool:
        """Whether the samples are to be encoded."""
        return isinstance(self.X, TableSamples)


def read_training_data(
    file: Path,
    label_arguments: dict[str, Any],
    drop: list[str],
    format_: str | None,
    kinds: Mapping[str, list[str] | None],
    *,
    numbers_only: bool = False,
) -> TrainingData:
    """Read a file with labels. ``kinds`` are the columns that were given for each kind: names or patterns."""
    from sdgs.datasets import read, read_table
    from sdgs.datasets.readers._formats import TABLE_FORMATS, detect_format
    from sdgs.datasets.readers._mulan_meka import read_label_names

    patterns = {kind: option.split_names(values) for kind, values in kinds.items()}
    label_column = label_arguments.get("label_column")
    if numbers_only or detect_format(file, format_) not in TABLE_FORMATS:
        _reject_kinds(patterns)
        data = read(file, **label_arguments, drop=drop, format=format_)
        names = data.feature_names, data.label_names, data.name, data.dropped
        return TrainingData(data.X, data.Y, *names, formats=None, kinds={}, label_column=label_column)
    arguments = dict(label_arguments)
    if "xml" in arguments:
        arguments["labels"] = read_label_names(arguments.pop("xml"))
    texts = [name for kind in ("text", "category", "date") for name in patterns[kind]]
    arguments.setdefault("labels", None)
    table = read_table(file, **arguments, drop=drop, numbers=patterns["number"], texts=texts, format=format_)
    for sentence in table.notes[_n_source_notes(table.notes) :]:
        note(f"{file}: {sentence}")
    chosen = _chosen_kinds(table, patterns, file)
    formats = table.formats
    X: Any = TableSamples(table.columns)
    if not chosen and all(format_.kind == "number" for format_ in formats.values()):
        X = np.column_stack(list(table.columns.values()))
        is_plain = all(format_.decimal == "." and not format_.others_missing for format_ in formats.values())
        formats = {} if is_plain else formats
    names = table.names, table.label_names, table.name, table.left_out
    return TrainingData(X, table.Y, *names, formats or None, chosen, label_column)


def _n_source_notes(notes: tuple[str, ...]) -> int:
    """1 if the first note only says that a CSV file is as usual."""
    usual = "Columns are separated by commas; the encoding is UTF-8"
    return int(bool(notes) and notes[0].startswith(usual))


def _reject_kinds(patterns: Mapping[str, list[str]]) -> None:
    import typer

    for kind, names in patterns.items():
        if names:
            raise typer.BadParameter(
                "needs a table: CSV, Excel, JSON lines or Parquet, without --set encode=None.", param_hint=f"--{kind}"
            )


def _chosen_kinds(table: Any, patterns: Mapping[str, list[str]], file: Path) -> dict[str, str]:
    from sdgs.datasets.readers._column_selection import match_columns

    chosen: dict[str, str] = {}
    for kind, names in patterns.items():
        for name in match_columns(names, table.names, str(file), f"column of kind {kind}"):
            if chosen.setdefault(name, kind) != kind:
                import typer

                problem = f"the column {name!r} cannot also be of kind {chosen[name]}."
                raise typer.BadParameter(problem, param_hint=f"--{kind}")
    return chosen


def new_encoder(data: TrainingData) -> Any:
    """An encoder of the table, with the kinds that the user has chosen."""
    from sdgs.preprocessing import TableEncoder

    return TableEncoder(kinds=data.kinds or None)


def fit_encoder(data: TrainingData, columns: dict[str, NDArray[Any]]) -> tuple[Any, Any]:
    """A fitted encoder, and the encoded columns."""
    encoder = new_encoder(data)
    try:
        return encoder, encoder.fit_transform(columns)
    except ValueError as error:
        exit_with_error(f"{data.name}: {error} On the command line: --text, --category, --number or --date COLUMN.")


def used_formats(data: TrainingData, encoder: Any) -> dict[str, Any] | None:
    """The formats of the columns that the model needs."""
    if encoder is None or data.formats is None:
        return data.formats
    used = {column.name for column in encoder.columns_ if column.kind != "drop"}
    return {name: format_ for name, format_ in data.formats.items() if name in used}


def columns_content(encoder: Any) -> dict[str, Any]:
    """What an encoder does with each column, for JSON."""
    return {
        column.name: {"kind": column.kind, "reason": column.reason, "features": column.n_features}
        for column in ([] if encoder is None else encoder.columns_)
    }


def print_columns(encoder: Any, file: Path) -> None:
    """Print how each column is used, and note which are left out, with what to do."""
    table = make_table("column", "kind", "why", "features", "note")
    for i, column in enumerate(table.columns):
        column.justify = "right" if i == 3 else "left"
    for record in encoder.columns_[:_MAX_COLUMNS_SHOWN]:
        cells = (record.name, record.kind, record.reason, f"{record.n_features:,}", record.note)
        table.add_row(*map(escape, cells))
    out().print(table)
    if len(encoder.columns_) > _MAX_COLUMNS_SHOWN:
        out().print(f"[dim]... and {len(encoder.columns_) - _MAX_COLUMNS_SHOWN} more columns.[/]")
    out().print("Other kinds: --text, --category, --number or --date COLUMN; --drop COLUMN leaves it out.")
    for record in encoder.columns_[_MAX_COLUMNS_SHOWN:]:
        if record.kind == "drop":
            note(f"{file}: the column {record.name!r} is left out: {record.reason}.")
    unused = [r.name for r in encoder.columns_ if r.kind == "drop" and r.reason not in ("constant", "empty")]
    if unused:
        names = ",".join(name.replace(",", "?") for name in unused[:_MAX_NAMES_SHOWN])
        out().print(f"To use a column of kind drop: {escape(shlex.join(['--category', names]))}, or --text.")
