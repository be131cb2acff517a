"""How the cells of a column are read: as numbers, texts, dates or lists of texts; the same in training and later."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._marked_numbers import is_missing, parse_marked_numbers
from sdgs._utils._number_parsing import BadCellError
from sdgs.datasets.readers._table_source import arrow_numbers, python_values

KINDS = ("number", "text", "date", "list")
ANY_MARK = "any"  # of columns that were numbers, and not text, in training
DECIMAL_MARKS = (".", ",", ANY_MARK)
_MAX_BITS = 1023  # of an integer that float64 can represent


@dataclass(frozen=True)
class ColumnFormat:
    """How the cells of a column are read.

    Attributes
    ----------
    kind : {"number", "text", "date", "list"}
        A text may also be a category, yes or no, or a date as written.
    decimal : {".", ",", "any"}
        The decimal mark of numbers in text. "any": there was no text, so that a later file with text decides.
    others_missing : bool
        Whether cells that are not numbers, or no dates, are missing values; else they are errors.
    """

    kind: str
    decimal: str = "."
    others_missing: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.decimal not in DECIMAL_MARKS or not isinstance(self.others_missing, bool):
            raise ValueError(
                f"{self!r} is not valid: kind is one of {', '.join(KINDS)}, and decimal a point or comma, or any."
            )


@dataclass(frozen=True)
class JoinedTexts:
    """The cells of a column of text in one string, which takes an eighth of the memory of a tuple."""

    text: str

    @classmethod
    def of(cls, cells: Sequence[str]) -> "JoinedTexts":
        """Join cells, in which there are no NUL characters."""
        return cls("\0".join(cells))

    def cells(self) -> list[str]:
        """The cells."""
        return self.text.split("\0")


def parse_cells(cells: Any, format_: ColumnFormat) -> NDArray[Any]:
    """The values of a column; a :class:`BadCellError` for a cell that does not fit.

    ``cells`` are as in :class:`RowBlock`, or joined.
    """
    if isinstance(cells, JoinedTexts):
        cells = cells.cells()
    if format_.kind == "number":
        return _numbers(cells, format_)
    values = python_values(cells)
    if format_.kind == "date":
        return np.array(
            [_date(cell, row, format_.others_missing) for row, cell in enumerate(values)], dtype="datetime64[us]"
        )
    parsed = np.empty(len(values), dtype=object)
    parsed[:] = [_list(cell) for cell in values] if format_.kind == "list" else [cell_text(cell) for cell in values]
    return parsed


def cell_text(cell: Any) -> str | None:
    """The text of a cell; None for a missing value."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, list):
        return "; ".join(_list(cell) or []) or None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime) and cell.time() == datetime.min.time():
        return str(cell.date())
    text = cell if isinstance(cell, str) else str(cell)
    return None if is_missing(text) else text


def _numbers(cells: Any, format_: ColumnFormat) -> NDArray[np.float64]:
    def parse(texts: Sequence[str]) -> NDArray[np.float64]:
        decimal = "." if format_.decimal == ANY_MARK else format_.decimal
        return parse_marked_numbers(texts, decimal, others_missing=format_.others_missing)

    if not isinstance(cells, tuple | list):
        return arrow_numbers(cells, parse)
    if all(isinstance(cell, str) for cell in cells):
        return parse(cells)
    return np.array([_number(cell, row, parse, format_.others_missing) for row, cell in enumerate(cells)])


def _number(cell: Any, row: int, parse: Any, others_missing: bool) -> float:
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        try:
            return float(parse((cell,))[0])
        except BadCellError as error:
            raise BadCellError(row, error.text, error.problem, error.advice) from None
    if isinstance(cell, float) or (isinstance(cell, int) and cell.bit_length() <= _MAX_BITS):
        return float(cell)
    if others_missing:
        return math.nan
    raise BadCellError(row, str(cell), "too large" if isinstance(cell, int) else "not a number")


def _date(cell: Any, row: int, others_missing: bool) -> np.datetime64:
    if isinstance(cell, datetime):
        offset = cell.utcoffset()
        return np.datetime64(cell.replace(tzinfo=None) - offset if offset else cell.replace(tzinfo=None), "us")
    if isinstance(cell, date):
        return np.datetime64(cell, "us")
    text = cell_text(cell)
    if text is None:
        return np.datetime64("NaT", "us")
    try:
        return _date(datetime.fromisoformat(text.strip()), row, others_missing)
    except (ValueError, OverflowError):
        if others_missing:
            return np.datetime64("NaT", "us")
        raise BadCellError(row, text, "not a date as 2025-01-31") from None


def _list(cell: Any) -> list[str] | None:
    """A list of texts; a single value is a list of one."""
    if isinstance(cell, list):
        return [text for text in map(cell_text, cell) if text is not None]
    text = cell_text(cell)
    return None if text is None else [text]
