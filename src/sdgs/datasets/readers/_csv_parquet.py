"""Tables with named columns, by blocks of rows: CSV and TSV by the standard library, Parquet by pyarrow."""

import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from sdgs._utils._number_parsing import abbreviate
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import Stream, open_stream, read_lines
from sdgs.datasets.readers._table_source import RowBlock, TableSource

_MAX_CELL_LENGTH = 16 << 20  # characters; the standard library's own limit is too small for long texts
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


class CsvSource(TableSource):
    """CSV whose delimiter is a comma, semicolon, tab or vertical bar, by the first line.

    ``header`` has the names of the columns as they are in the file, with spaces around them.
    """

    def __init__(self, stream: Stream, delimiter: str | None, max_bytes: int | None, block_bytes: int) -> None:
        super().__init__(block_bytes)
        self.name, self._stream = stream.name, stream
        lines = read_lines(stream, max_bytes)
        self._n_blank_lines, first = 0, next(lines, "")
        while first and not first.strip():
            self._n_blank_lines, first = self._n_blank_lines + 1, next(lines, "")
        if not first:
            raise DataFileError(f"{self.name}: the file is empty.")
        has_controls = any(unicodedata.category(mark) == "Cc" and not mark.isspace() for mark in first)
        if has_controls and "\0" not in first and not stream.is_unicode:
            raise DataFileError(
                f"{self.name}: not a text file: the first line has control characters, and is not valid UTF-8."
            )
        self.separator = delimiter or _find_delimiter(first)
        second = next(lines, "")
        if delimiter is None and _are_spaced_numbers(first, second):
            raise DataFileError(
                f"{self.name}: columns are separated by spaces. Separate them by commas, semicolons or tabs, for "
                "example by the command: tr -s ' ' ',' < FILE > NEW-FILE"
            )
        checked_lines = self._without_nul(chain([first, second] if second else [first], lines))
        self._reader = csv.reader(checked_lines, delimiter=self.separator, strict=True)
        self.header = next(self._records())[1]
        self.names = tuple(name.strip() for name in self.header)
        numbers = _numbers_among(self.names)
        self._has_odd_names = len(numbers) > 1 and not (np.diff(numbers) > 0).all()
        if self._has_odd_names and 2 * len(numbers) > len(self.names):
            raise DataFileError(
                f"{self.name}: the first line has numbers instead of the names of the columns. Write a line with names "
                "above it."
            )
        self._check_names()

    def _without_nul(self, lines: Iterator[str]) -> Iterator[str]:
        for number, line in enumerate(lines, self._n_blank_lines + 1):
            if "\0" in line:
                raise DataFileError(f"{self.name}, line {number}: has a NUL character, so this is not a text file.")
            yield line

    def notes(self) -> list[str]:
        notes = [
            f"Columns are separated by {_SEPARATORS.get(self.separator, repr(self.separator))}; the encoding is "
            f"{self._stream.encoding}."
        ]
        if self._has_odd_names:
            listed = ", ".join(map(abbreviate, self.names[:5])) + (", ..." if len(self.names) > 5 else "")
            notes.append(
                f"The first line is taken for the names of the columns: {listed}. If it is not, write a line with "
                "names in its place, or above it if it is a sample."
            )
        return notes

    def records(self) -> Iterator[list[str]]:
        """The cells of all rows, as they are."""
        return (record for _, record in self._records())

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

    def _take(self, records: Iterator[tuple[int, list[str]]], n_rows: int) -> Iterator[tuple[int, list[str]]]:
        """The next records: so many, or fewer if their text is long."""
        last = self._stream.n_characters + self._block_bytes
        for record in islice(records, n_rows):
            yield record
            if self._stream.n_characters > last:
                return

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        width, column_of = len(self.names), {name: i for i, name in enumerate(self.names)}
        records = self._records()
        while block := list(self._take(records, max(self._block_cells // width, 1))):
            for line, record in block:
                if len(record) != width:
                    raise DataFileError(
                        f"{self.name}, line {line}: {len(record)} cells, but the first line has {width} names. Each "
                        "row needs one cell per name; a cell that contains the separator must be in quotes."
                    )
            by_column = list(zip(*(record for _, record in block), strict=True))
            cells = {name: by_column[column_of[name]] for name in columns}
            yield RowBlock(cells, [line for line, _ in block], self._stream.position)


def _numbers_among(names: Sequence[str]) -> list[float]:
    """The names that are numbers. They increase in a header, as those of pixels or wavelengths do, but not in data."""
    values = []
    for name in names:
        try:
            values.append(float(name))
        except ValueError:
            continue
    return values


def _are_spaced_numbers(first: str, second: str) -> bool:
    """Whether columns are separated by spaces: as many words in both lines, and only numbers in the second."""
    if any(separator in first + second for separator in _SEPARATORS):
        return False
    words = second.split()
    return len(words) > 1 and len(first.split()) == len(words) and len(_numbers_among(words)) == len(words)


def _find_delimiter(line: str) -> str:
    """The most frequent delimiter; a comma if there is none."""
    unquoted = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=unquoted.count)


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

    def notes(self) -> list[str]:
        return []

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
