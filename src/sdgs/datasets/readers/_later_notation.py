"""How a later file writes the numbers and dates of columns that were no text in training."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sdgs._utils._marked_numbers import Notation, is_missing
from sdgs.datasets.readers._column_detection import decimal_mark, is_evidence
from sdgs.datasets.readers._column_format import ANY_MARK, ColumnFormat
from sdgs.datasets.readers._table_source import RowBlock, holds_texts, python_values
from sdgs.preprocessing._date_parsing import find_date_format, parse_date


class LaterNotation:
    """Formats of columns, completed by the first rows of a file.

    Parameters
    ----------
    formats : dict from names to ColumnFormat
        Those of training. Of numbers with any decimal mark, and of dates, the texts decide how they are read.
    rows : RowBlock
        The first rows.
    separator : str
        The separator of a CSV file; empty for other formats.
    """

    def __init__(self, formats: Mapping[str, ColumnFormat], rows: RowBlock, separator: str) -> None:
        self.formats, self._date_forms = dict(formats), dict[str, str]()
        notations = dict[str, Notation]()
        for name, format_ in formats.items():
            is_open = format_.kind == "date" or (format_.kind == "number" and format_.decimal == ANY_MARK)
            texts = _texts(rows.columns.get(name)) if is_open else []
            if texts and format_.kind == "date":
                self._date_forms[name] = find_date_format(texts) or ""
            elif texts:
                notations[name] = Notation()
                notations[name].add(texts)
        marks = {notation.decimals for notation in notations.values() if is_evidence(notation)}
        file_mark = marks.pop() if len(marks) == 1 else ""
        for name, notation in notations.items():
            mark = decimal_mark(notation, separator, file_mark) if notation.decimals else "."
            self.formats[name] = replace(formats[name], decimal=mark)

    def cells(self, rows: RowBlock, name: str) -> Any:
        """The cells of a column, with dates in the place of texts that are dates as people write them."""
        cells, form = rows.columns[name], self._date_forms.get(name)
        return [_as_date(cell, form) for cell in python_values(cells)] if form else cells


def _texts(cells: Any) -> list[str]:
    if cells is None or not (isinstance(cells, tuple | list) or holds_texts(cells)):
        return []
    values: Sequence[Any] = python_values(cells)
    return [cell for cell in values if isinstance(cell, str) and not is_missing(cell)]


def _as_date(cell: Any, form: str) -> Any:
    if not isinstance(cell, str) or is_missing(cell):
        return cell
    moment = parse_date(cell, form).item()
    return moment if isinstance(moment, datetime) else cell
