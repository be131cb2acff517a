"""Tables as people have them: numbers, categories, text, dates and lists, column by column."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import BadCellError
from sdgs.datasets._dataset import as_label_matrix
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_detection import detect_formats
from sdgs.datasets.readers._column_format import ColumnFormat, JoinedTexts, parse_cells
from sdgs.datasets.readers._column_selection import join_names, match_columns
from sdgs.datasets.readers._formats import check_is_table, detect_format
from sdgs.datasets.readers._open import MAX_BYTES
from sdgs.datasets.readers._open_table import open_table
from sdgs.datasets.readers._table_labels import TableLabels
from sdgs.datasets.readers._table_source import RowBlock, TableSource


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose columns are numbers, texts, dates or lists.

    Attributes
    ----------
    names : tuple of str
        The columns, without those that are labels.
    columns : dict from names to ndarray of shape (n,)
        Numbers are float64 with NaN for missing values; dates of Excel and Parquet are datetime64 with NaT. Everything
        else has dtype object: str, or lists of str, with None for missing values.
    Y : ndarray of shape (n, k) or None
        Labels, as in :class:`Dataset`.
    label_names : tuple of k str
    formats : dict from names to ColumnFormat
        How each column was read, for :func:`read_table_blocks`.
    notes : tuple of str
        Sentences about everything that was detected, and could be wrong.
    left_out : tuple of (str, str)
        Columns of the file that are not in the table, each with the reason.
    name : str
        Name of the file.
    """

    names: tuple[str, ...]
    columns: dict[str, NDArray[Any]]
    Y: NDArray[Any] | None = None
    label_names: tuple[str, ...] = ()
    formats: dict[str, ColumnFormat] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    name: str = ""

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns[self.names[0]])

    def to_pandas(self) -> Any:
        """The columns as a DataFrame."""
        import pandas as pd

        return pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in self.columns.items()})

    def __str__(self) -> str:
        kinds: dict[str, list[str]] = {}
        for name in self.names:
            kinds.setdefault(self.formats[name].kind if name in self.formats else "column", []).append(name)
        lines = [f"{self.name or 'Table'}: {len(self):,} rows, {len(self.names):,} columns"]
        lines += [f"  {kind}: {join_names(names)}" for kind, names in kinds.items()]
        if self.label_names:
            lines.append(f"  labels: {join_names(self.label_names)}")
        if self.Y is not None and np.isnan(self.Y).any():
            lines.append(f"  unobserved: {100 * np.isnan(self.Y).mean():.1f} % of the labels")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self}>"


def read_table(
    path: str | Path,
    *,
    labels: Sequence[str] | None = (),
    label_column: str | None = None,
    drop: Sequence[str] = (),
    numbers: Sequence[str] = (),
    texts: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
    max_bytes: int | None = MAX_BYTES,
) -> Table:
    """Read a table with columns of any kind: CSV, TSV, Excel, JSON lines or Parquet.

    Parameters
    ----------
    path : str or Path
        As for :func:`read`: .csv, .tsv, .xlsx, .jsonl or .ndjson, and .parquet or .pq, compressed or not.
    labels, label_column, drop
        As for :func:`read`; by default there are no labels. None: an error that names columns that may be labels.
    numbers : sequence of str, default=()
        Columns to read as numbers: names or patterns. Cells that are not numbers are missing values.
    texts : sequence of str, default=()
        Columns to read as text, such as identifiers that look like numbers.
    format : {"csv", "tsv", "parquet", "xlsx", "jsonl"}, optional
        Default: by the suffix.
    max_bytes : int or None
        Maximum number of bytes of the file after decompression; None for no limit.

    Returns
    -------
    Table

    Notes
    -----
    A column of text is read as numbers if all its cells are numbers of one notation: with a decimal point or a decimal
    comma, marks between thousands (``1,234.5``, ``1.234,5``, ``1 234``, ``1'234``), a currency, or a percent sign.
    Cells with leading zeros are not numbers. If both marks fit, as in ``1,234`` throughout, the one decides that other
    columns of the file have; else a comma is a decimal comma if semicolons separate columns, else a mark between
    thousands; and a point is a decimal point. ``notes`` says so.

    Examples
    --------
    >>> from sdgs.datasets import read_table, tickets_path
    >>> tickets = read_table(tickets_path(), label_column="tags", drop=["ticket"])
    >>> print(tickets)
    tickets.csv: 400 rows, 5 columns
      text: 'message', 'plan', 'channel', 'opened'
      number: 'amount'
      labels: 'billing', 'bug', 'cancellation', 'feature_request', 'login', 'refund' and 1 more
    >>> tickets.notes
    ('Columns are separated by commas; the encoding is UTF-8.',)
    """
    format_ = detect_format(path, format)
    check_is_table(format_, path, "A table with columns of any kind")
    with open_table(path, format_, max_bytes, whole=True) as source:
        table_labels = TableLabels(source, labels, label_column, drop)
        as_numbers = match_columns(numbers, source.names, source.name, "column of numbers")
        as_texts = match_columns(texts, source.names, source.name, "column of text")
        both = [name for name in as_numbers if name in as_texts]
        if both:
            raise DataFileError(f"{source.name}: {join_names(both)} cannot be both numbers and text.")
        blocks = _compact_blocks(source, table_labels)
        parts = {name: [rows.columns[name] for rows in blocks] for name in table_labels.other_columns()}
        detected = detect_formats(source.name, parts, source.separator, as_numbers, as_texts)
        columns = {name: _parse(source, blocks, name, format_) for name, format_ in detected.formats.items()}
        left_out = table_labels.dropped | detected.left_out
        if not columns:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:3])
            raise DataFileError(f"{source.name}: no column is left ({reasons or 'all are labels'}).")
        label_names, Y = table_labels.values()
        return Table(
            tuple(columns),
            columns,
            as_label_matrix(Y) if label_names else None,
            tuple(label_names),
            detected.formats,
            tuple(filter(None, [*source.notes(), source.single_column_problem(), *detected.notes])),
            tuple((name, left_out[name]) for name in source.names if name in left_out),
            Path(source.name).name,
        )


def _compact_blocks(source: TableSource, labels: TableLabels) -> list[RowBlock]:
    """All rows, with the cells of CSV files joined, and without the labels."""
    blocks = list[RowBlock]()
    names = labels.other_columns()
    for rows in source.blocks([*names, *labels.columns]):
        labels.add(rows)
        cells = {name: rows.columns[name] for name in names}
        compact = {name: JoinedTexts.of(part) if isinstance(part, tuple) else part for name, part in cells.items()}
        blocks.append(RowBlock(compact, array("q", rows.line_numbers), rows.position))
    if not blocks:
        raise DataFileError(f"{source.name}: there are no rows below the names of the columns.")
    return blocks


def _parse(source: TableSource, blocks: Sequence[RowBlock], name: str, format_: ColumnFormat) -> NDArray[Any]:
    parts = []
    for rows in blocks:
        try:
            parts.append(parse_cells(rows.columns.pop(name), format_))
        except BadCellError as error:
            raise source.bad_cell(error, rows, name) from None
    return np.concatenate(parts)
