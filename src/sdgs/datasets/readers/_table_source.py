"""What all tables have in common: named columns, and rows by blocks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import BadCellError, abbreviate, parse_binary, parse_numbers
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import first_repeated

_BYTES_PER_CELL = 16  # of text, about


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows of a table.

    The cells of a column are a tuple of str (CSV), a list of Python values (Excel, JSON lines), or an arrow array
    (Parquet).
    """

    columns: dict[str, Any]
    line_numbers: Sequence[int]
    position: int  # bytes of the file read so far

    def features(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN for missing values."""
        return self._numbers(name, parse_numbers)

    def valid_features(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN also for cells that are not."""
        try:
            return self.features(name)
        except BadCellError:
            return np.concatenate([_number_or_nan(cell) for cell in self.cells(name)])

    def labels(self, name: str) -> NDArray[np.float64]:
        """A column of 0 and 1; NaN for missing values."""
        values = self._numbers(name, parse_binary)
        wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
        if wrong.size:
            raise BadCellError(int(wrong[0]), f"{values[wrong[0]]:g}", "neither 0 nor 1")
        return values

    def _numbers(self, name: str, parse_text: Callable[[Sequence[str]], NDArray[np.float64]]) -> NDArray[np.float64]:
        cells = self.columns[name]
        if isinstance(cells, tuple):
            return parse_text(cells)
        return _python_numbers(cells, parse_text) if isinstance(cells, list) else arrow_numbers(cells, parse_text)

    def cells(self, name: str) -> Sequence[Any]:
        """A column as it is: text in CSV; elsewhere also numbers, lists, and None for missing values."""
        cells = self.columns[name]
        return python_values(cells)

    def texts(self, name: str) -> list[str]:
        """A column as text, empty for missing values."""
        return ["" if cell is None else str(cell) for cell in self.cells(name)]


class TableSource:
    """An open table: the names of its columns, and its rows by blocks."""

    name: str
    names: tuple[str, ...]
    separator: str = ""  # of CSV
    absent_is_missing: bool = False  # whether a column that the file does not have has only missing values

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes, self._block_cells = max(block_bytes, 1), block_bytes // _BYTES_PER_CELL

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        """All rows, with these columns."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """How the file was read, in sentences; complete after the last block."""
        raise NotImplementedError

    def bad_cell(self, error: BadCellError, rows: RowBlock, column: str) -> DataFileError:
        """The error with the file, line and column."""
        return DataFileError(
            f"{self.name}, line {rows.line_numbers[error.row]}, column {column!r}: {abbreviate(error.text)} is "
            f"{error.problem}. {error.advice}"
        )

    def check_several_columns(self) -> None:
        """Raise an error if there is only one column, which means that the delimiter was not recognised."""
        problem = self.single_column_problem()
        if problem:
            raise DataFileError(f"{self.name}: {problem}")

    def single_column_problem(self) -> str:
        """What may be wrong with a CSV file that has one column; else empty."""
        if len(self.names) > 1 or not self.separator:
            return ""
        return (
            f"there is only one column, named {abbreviate(self.names[0])}. Separate columns by a comma, a semicolon, "
            "a tab or a vertical bar."
        )

    def _check_names(self) -> None:
        repeated = first_repeated(filter(None, self.names))
        if repeated is not None:
            raise DataFileError(
                f"{self.name}: two columns are named {repeated!r}. Rename one, because columns are matched by name."
            )
        if not any(self.names):
            raise DataFileError(f"{self.name}: there is no first line with the names of the columns.")


def _number_or_nan(cell: Any) -> NDArray[np.float64]:
    try:
        return _python_numbers([cell], parse_numbers)
    except BadCellError:
        return np.full(1, math.nan)


def python_values(cells: Any) -> Sequence[Any]:
    """A column as Python values; as text with a number if Python cannot represent a date or a time in it."""
    if isinstance(cells, tuple | list):
        return cells
    import pyarrow as pa

    try:
        return list(cells.to_pylist())
    except (KeyError, OverflowError, ValueError, pa.ArrowException):  # a KeyError for an unknown time zone
        if not pa.types.is_temporal(cells.type):
            return [f"({cells.type})"] * len(cells)
        numbers = cells.view(pa.int64() if cells.type.bit_width == 64 else pa.int32())
        return [None if number is None else f"{number} ({cells.type})" for number in numbers.to_pylist()]


def _python_numbers(
    cells: Sequence[Any], parse_text: Callable[[Sequence[str]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Numbers and booleans as float64; text by ``parse_text``."""
    values = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            try:
                values[row] = parse_text((cell,))[0]
            except BadCellError as error:
                raise BadCellError(row, error.text, error.problem, error.advice) from None
        elif isinstance(cell, bool | int | float):
            values[row] = _finite(cell, row)
        elif cell is not None:
            raise BadCellError(row, str(cell), "not a number")
    return values


def _finite(cell: float, row: int) -> float:
    """A number as float; an error if it is infinite or too large."""
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise BadCellError(row, abbreviate(str(cell)[:50]), "infinite")
    return value


def holds_texts(cells: Any) -> bool:
    """Whether an arrow array has text."""
    import pyarrow.types as pt

    type_ = cells.type.value_type if pt.is_dictionary(cells.type) else cells.type
    return bool(pt.is_string(type_) or pt.is_large_string(type_) or str(type_) == "string_view")


def arrow_numbers(cells: Any, parse_text: Callable[[Sequence[str]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """A column of numbers or booleans as float64; a column of text by ``parse_text``."""
    import pyarrow as pa

    type_ = cells.type
    if pa.types.is_dictionary(type_):
        cells = cells.dictionary_decode()
        type_ = cells.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return np.asarray(parse_text(tuple("" if cell is None else cell for cell in cells.to_pylist())))
    if (
        pa.types.is_boolean(type_)
        or pa.types.is_integer(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_null(type_)
    ):
        cells = cells.cast(pa.float64(), safe=False)
    elif not pa.types.is_floating(type_):
        raise BadCellError(0, str(python_values(cells[:1])[0]), f"of type {type_}, which is not a number")
    values = np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise BadCellError(int(infinite[0]), f"{values[infinite[0]]:g}", "infinite")
    return values
