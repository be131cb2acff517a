"""Cells of a table as they are in the file, to show beside results."""

from collections.abc import Sequence
from pathlib import Path

from sdgs.datasets.readers._column_selection import match_columns
from sdgs.datasets.readers._formats import check_is_table, detect_format
from sdgs.datasets.readers._open_table import open_table


def read_cells(path: str | Path, columns: Sequence[str], format_: str | None = None) -> dict[str, list[str]]:
    """The texts of columns, which are names or patterns; empty for missing values."""
    table_format = detect_format(path, format_)
    check_is_table(table_format, path, "Keeping columns")
    with open_table(path, table_format, None) as source:
        names = match_columns(columns, source.names, source.name, "column to keep")
        cells: dict[str, list[str]] = {name: [] for name in names}
        for rows in source.blocks(names):
            for name in names:
                cells[name].extend(rows.texts(name))
    return cells
