"""Tables with named columns, by blocks of rows: CSV and TSV by the standard library, Parquet by pyarrow."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import first_repeated
from sdgs.datasets.readers._number_parsing import BadCellError, abbreviate, parse_binary, parse_numbers
from sdgs.datasets.readers._open import BLOCK_BYTES, STDIN, Stream, open_stream, read_lines

_BYTES_PER_CELL = 16  # of text, about
_MAX_CELL_LENGTH = 16 << 20  # characters; the standard library's own limit is too small for long texts
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows of a table: the cells of each column, as a tuple of str (CSV) or an arrow array (Parquet)."""

    columns: dict[str, Any]
    line_numbers: Sequence[int]
    position: int  # bytes of the file read so far

    def features(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN for missing values."""
        cells = self.columns[name]
        return parse_numbers(cells) if isinstance(cells, tuple) else _arrow_numbers(cells, parse_numbers)

    def labels(self, name: str) -> NDArray[np.float64]:
        """A column of 0 and 1; NaN for missing values."""
        cells = self.columns[name]
        values = parse_binary(cells) if isinstance(cells, tuple) else _arrow_numbers(cells, parse_binary)
        wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
        if wrong.size:
            raise BadCellError(int(wrong[0]), f"{values[wrong[0]]:g}", "neither 0 nor 1")
        return values

    def cells(self, name: str) -> Sequence[Any]:
        """A column as it is: text in CSV; in Parquet also numbers, lists, and None for missing values."""
        cells = self.columns[name]
        return cells if isinstance(cells, tuple) else _python_values(cells)

    def texts(self, name: str) -> list[str]:
        """A column as text, empty for missing values."""
        return ["" if cell is None else str(cell) for cell in self.cells(name)]


class TableSource:
    """An open table: the names of its columns, and its rows by blocks."""

    name: str
    names: tuple[str, ...]

    def __init__(self, block_bytes: int) -> None:
        self._block_cells = block_bytes // _BYTES_PER_CELL

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        """All rows, with these columns."""
        raise NotImplementedError

    def bad_cell(self, error: BadCellError, rows: RowBlock, column: str) -> DataFileError:
        """The error with the file, line and column."""
        return DataFileError(
            f"{self.name}, line {rows.line_numbers[error.row]}, column {column!r}: {abbreviate(error.text)} is "
            f"{error.problem}. {error.advice}"
        )

    def check_several_columns(self) -> None:
        """Raise an error if there is only one column, which means that the delimiter was not recognised."""
        if len(self.names) == 1:
            raise DataFileError(
                f"{self.name}: there is only one column, named {abbreviate(self.names[0])}. Separate columns by a "
                "comma, a semicolon, a tab or a vertical bar."
            )

    def _check_names(self) -> None:
        repeated = first_repeated(filter(None, self.names))
        if repeated is not None:
            raise DataFileError(
                f"{self.name}: two columns are named {repeated!r}. Rename one, because columns are matched by name."
            )
        if not any(self.names):
            raise DataFileError(f"{self.name}: there is no first line with the names of the columns.")


class CsvSource(TableSource):
    """CSV whose delimiter is a comma, semicolon, tab or vertical bar, by the first line."""

    def __init__(self, stream: Stream, delimiter: str | None, max_bytes: int | None, block_bytes: int) -> None:
        super().__init__(block_bytes)
        self.name, self._stream = stream.name, stream
        lines = read_lines(stream, max_bytes)
        self._n_blank_lines, first = 0, next(lines, "")
        while first and not first.strip():
            self._n_blank_lines, first = self._n_blank_lines + 1, next(lines, "")
        if not first:
            raise DataFileError(f"{self.name}: the file is empty.")
        self._reader = csv.reader(chain([first], lines), delimiter=delimiter or _find_delimiter(first), strict=True)
        self.names = tuple(name.strip() for name in next(self._records())[1])
        if _looks_like_data(self.names):
            raise DataFileError(
                f"{self.name}: the first line has numbers instead of the names of the columns. Write a line with names "
                "above it."
            )
        self._check_names()

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Records that are not empty, with the line where each starts."""
        previous_limit = csv.field_size_limit(_MAX_CELL_LENGTH)
        line = self._n_blank_lines + self._reader.line_num + 1
        try:
            for record in self._reader:
                if record:
                    yield line, record
                line = self._n_blank_lines + self._reader.line_num + 1
        except csv.Error as error:
            raise DataFileError(f"{self.name}, line {line}: not valid CSV ({error}).") from None
        finally:
            csv.field_size_limit(previous_limit)

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        width, column_of = len(self.names), {name: i for i, name in enumerate(self.names)}
        records = self._records()
        while block := list(islice(records, max(self._block_cells // width, 1))):
            for line, record in block:
                if len(record) != width:
                    raise DataFileError(
                        f"{self.name}, line {line}: {len(record)} cells, but the first line has {width} names."
                    )
            by_column = list(zip(*(record for _, record in block), strict=True))
            cells = {name: by_column[column_of[name]] for name in columns}
            yield RowBlock(cells, [line for line, _ in block], self._stream.position)


def _looks_like_data(names: Sequence[str]) -> bool:
    """Whether the names are a row of data: mostly numbers, and not increasing as pixels or wavelengths are."""
    values = []
    for name in names:
        try:
            values.append(float(name))
        except ValueError:
            continue
    return 2 * len(values) > len(names) and not (np.diff(values) > 0).all()


def _find_delimiter(line: str) -> str:
    """The most frequent delimiter; a comma if there is none."""
    unquoted = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=unquoted.count)


class ParquetSource(TableSource):
    """Parquet. In messages rows are numbered from 1."""

    def __init__(self, path: str | Path, max_bytes: int | None, block_bytes: int) -> None:
        super().__init__(block_bytes)
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise DataFileError(f"{path}: Parquet needs pyarrow. Run: pip install 'sdgs[parquet]'") from None

        self.name = str(path)
        with open_stream(path) as stream:  # Parquet needs random access, which a compressed file does not have
            file = io.BytesIO(stream.read_all(max_bytes)) if stream.compressed else path
        try:
            self._file = pq.ParquetFile(file)
            self.names = tuple(self._file.schema_arrow.names)
        except (OSError, UnicodeError, pa.ArrowException) as error:
            raise DataFileError(f"{path}: cannot be read as Parquet ({error}).") from None
        self._size = Path(path).stat().st_size
        self._check_names()

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        import pyarrow as pa

        done, total = 0, max(self._file.metadata.num_rows, 1)
        try:
            n_rows = max(self._block_cells // max(len(columns), 1), 1)
            for batch in self._file.iter_batches(n_rows, columns=list(columns), use_threads=False):
                batch.validate(full=True)
                n = batch.num_rows
                cells = dict(zip(batch.schema.names, batch.columns, strict=True))  # by name each takes a search
                yield RowBlock(cells, range(done + 1, done + n + 1), self._size * (done + n) // total)
                done += n
        except (OSError, pa.ArrowException) as error:
            raise DataFileError(f"{self.name}: cannot be read as Parquet ({error}).") from None


def _python_values(cells: Any) -> list[Any]:
    """A column as a list; as text with a number if Python cannot represent a date or a time in it."""
    import pyarrow as pa

    try:
        return list(cells.to_pylist())
    except (OverflowError, ValueError, pa.ArrowException):
        if not pa.types.is_temporal(cells.type):
            return [f"({cells.type})"] * len(cells)
        numbers = cells.view(pa.int64() if cells.type.bit_width == 64 else pa.int32())
        return [None if number is None else f"{number} ({cells.type})" for number in numbers.to_pylist()]


def _arrow_numbers(cells: Any, parse_text: Any) -> NDArray[np.float64]:
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
        raise BadCellError(0, str(_python_values(cells[:1])[0]), f"of type {type_}, which is not a number")
    values = np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise BadCellError(int(infinite[0]), f"{values[infinite[0]]:g}", "infinite")
    return values


@contextmanager
def open_table(
    path: str | Path,
    format_: str,
    max_bytes: int | None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[TableSource]:
    """Open a CSV, TSV or Parquet file."""
    if format_ != "parquet":
        with open_stream(path) as stream:
            yield CsvSource(stream, "\t" if format_ == "tsv" else None, max_bytes, block_bytes)
    elif str(path) == STDIN:
        raise DataFileError("Parquet cannot be read from standard input. Name a file, or use CSV.")
    else:
        yield ParquetSource(path, max_bytes, block_bytes)
