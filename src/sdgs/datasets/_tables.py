"""Tables with named columns: CSV and TSV by the standard library, Parquet by pyarrow; whole or by blocks of rows."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.datasets._cells import BadCellError, numbers, yes_or_no
from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets._selection import chosen, listed
from sdgs.datasets._streams import STDIN, Stream, opened, text_lines

_BLOCK_CELLS = 1 << 17
_MAX_FIELD = 16 << 20  # characters of one cell; the standard library's own limit is too small for a text
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table: the cells of each column, as text (CSV) or as an array of arrow's."""

    columns: dict[str, Any]
    lines: Sequence[int]  # where each row is in the file
    position: int  # bytes of the file so far

    def features(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN where missing."""
        cells = self.columns[name]
        return numbers(cells) if isinstance(cells, tuple) else _arrow_numbers(cells, numbers)

    def labels(self, name: str) -> NDArray[np.float64]:
        """A column of 0 and 1; NaN where missing."""
        cells = self.columns[name]
        values = yes_or_no(cells) if isinstance(cells, tuple) else _arrow_numbers(cells, yes_or_no)
        wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
        if wrong.size:
            raise BadCellError(int(wrong[0]), f"{values[wrong[0]]:g}", "neither 0 nor 1")
        return values


class Source:
    """A table that is open: the names of its columns, and its rows by blocks."""

    name: str
    names: tuple[str, ...]

    def rows(self, columns: Sequence[str]) -> Iterator[Rows]:
        """All rows, with these columns."""
        raise NotImplementedError

    def bad_cell(self, error: BadCellError, rows: Rows, column: str) -> DataFileError:
        """The error in words."""
        return DataFileError(
            f"{self.name}, line {rows.lines[error.place]}, column {column!r}: {_short(error.text)} is {error.what}."
        )

    def _check_names(self) -> None:
        twice = [name for i, name in enumerate(self.names) if name and name in self.names[:i]]
        if twice:
            raise DataFileError(f"{self.name}: two columns are named {twice[0]!r}. Rename one: columns go by name.")
        if not any(self.names):
            raise DataFileError(f"{self.name}: there is no first line with the names of the columns.")


class CsvSource(Source):
    """CSV with a comma, semicolon, tab or bar between cells, as the first line has it, and lines of equal length."""

    def __init__(self, stream: Stream, delimiter: str | None, max_bytes: int | None) -> None:
        self.name, self._stream = stream.name, stream
        lines = text_lines(stream, max_bytes)
        blank, first = 0, next(lines, "")
        while first and not first.strip():
            blank, first = blank + 1, next(lines, "")
        if not first:
            raise DataFileError(f"{self.name}: the file is empty.")
        self._blank = blank
        self._reader = csv.reader(chain([first], lines), delimiter=delimiter or _delimiter(first), strict=True)
        self.names = tuple(name.strip() for name in next(self._records())[1])
        self._check_names()

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Records that are not empty, with the line where each begins."""
        limit = csv.field_size_limit(_MAX_FIELD)
        line = self._blank + self._reader.line_num + 1
        try:
            for record in self._reader:
                if record:
                    yield line, record
                line = self._blank + self._reader.line_num + 1
        except csv.Error as error:
            raise DataFileError(f"{self.name}, line {line}: not as CSV should be ({error}).") from None
        finally:
            csv.field_size_limit(limit)

    def rows(self, columns: Sequence[str]) -> Iterator[Rows]:
        width, place = len(self.names), {name: i for i, name in enumerate(self.names)}
        records = self._records()
        while block := list(islice(records, max(_BLOCK_CELLS // width, 1))):
            for line, record in block:
                if len(record) != width:
                    raise DataFileError(
                        f"{self.name}, line {line}: {len(record)} cells, where the first line has {width} names."
                    )
            by_column = list(zip(*(record for _, record in block), strict=True))
            cells = {name: by_column[place[name]] for name in columns}
            yield Rows(cells, [line for line, _ in block], self._stream.position)


def _delimiter(line: str) -> str:
    """What stands between names most often, a comma if nothing does."""
    outside = "".join(line.split('"')[::2])  # not within quotes
    return max(_DELIMITERS, key=outside.count)


class ParquetSource(Source):
    """Parquet. Rows are numbered from 1 in messages."""

    def __init__(self, path: str | Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.name = str(path)
        try:
            self._file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise DataFileError(f"{path}: cannot be read as Parquet ({error}).") from None
        self.names = tuple(self._file.schema_arrow.names)
        self._size = Path(path).stat().st_size
        self._check_names()

    def rows(self, columns: Sequence[str]) -> Iterator[Rows]:
        import pyarrow as pa

        done, total = 0, max(self._file.metadata.num_rows, 1)
        try:
            step = max(_BLOCK_CELLS // max(len(columns), 1), 1)
            for batch in self._file.iter_batches(step, columns=list(columns), use_threads=False):
                n = batch.num_rows
                cells = {name: batch.column(name) for name in columns}
                yield Rows(cells, range(done + 1, done + n + 1), self._size * (done + n) // total)
                done += n
        except (OSError, pa.ArrowException) as error:
            raise DataFileError(f"{self.name}: cannot be read as Parquet ({error}).") from None


def _arrow_numbers(cells: Any, parse: Any) -> NDArray[np.float64]:
    """A column of numbers or booleans as float64, and one of text as ``parse`` reads it."""
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_dictionary(kind):
        cells = cells.dictionary_decode()
        kind = cells.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(parse(tuple("" if cell is None else cell for cell in cells.to_pylist())))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        cells = cells.cast(pa.float64(), safe=False)
    elif not pa.types.is_floating(kind):
        raise BadCellError(0, str(cells[0]), f"of type {kind}, which is not a number")
    values = np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)
    wrong = np.flatnonzero(np.isinf(values))
    if wrong.size:
        raise BadCellError(int(wrong[0]), f"{values[wrong[0]]:g}", "infinite; leave it empty if the value is unknown")
    return values


@contextmanager
def open_table(path: str | Path, kind: str, max_bytes: int | None) -> Iterator[Source]:
    """A CSV, TSV or Parquet file."""
    if kind != "parquet":
        with opened(path) as stream:
            yield CsvSource(stream, "\t" if kind == "tsv" else None, max_bytes)
    elif str(path) == STDIN:
        raise DataFileError("Parquet cannot be read from standard input. Name a file, or send CSV.")
    elif find_spec("pyarrow") is None:
        raise DataFileError(f"{path}: Parquet needs pyarrow. Run: pip install 'sdgs[parquet]'")
    else:
        yield ParquetSource(path)


def table_dataset(source: Source, labels: Sequence[str] | None, drop: Sequence[str]) -> Dataset:
    """A whole table. Columns that are not numbers, are empty, or have no name are dropped, and it says why."""
    if labels is None:
        raise DataFileError(_which_labels(source))
    label_names = chosen(labels, source.names, source.name)
    left_out = chosen(drop, source.names, source.name, "column to leave out")
    both = [name for name in label_names if name in left_out]
    if both:
        raise DataFileError(f"{source.name}: {listed(both)} cannot be a label and be left out.")
    dropped = dict.fromkeys(left_out, "left out, as asked for")
    if "" in source.names:
        dropped[""] = "it has no name, so an index"
    features = [name for name in source.names if name not in dropped and name not in set(label_names)]
    parts: list[dict[str, NDArray[np.float64]]] = []
    truth: list[NDArray[np.float64]] = []
    for rows in source.rows([*features, *label_names]):
        part = {}
        for name in features:
            if name not in dropped:
                try:
                    part[name] = rows.features(name)
                except BadCellError as error:
                    dropped[name] = f"{_short(error.text)} in line {rows.lines[error.place]} is {error.what}"
        parts.append(part)
        truth.append(np.empty((len(rows.lines), len(label_names))))
        for j, name in enumerate(label_names):
            try:
                truth[-1][:, j] = rows.labels(name)
            except BadCellError as error:
                raise source.bad_cell(error, rows, name) from None
    if not parts:
        raise DataFileError(f"{source.name}: there are no rows below the names of the columns.")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in features if name not in dropped}
    for name in [name for name, values in columns.items() if np.isnan(values).all()]:
        dropped[name] = "it is empty"
        del columns[name]
    if not columns:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:3])
        raise DataFileError(f"{source.name}: no column is left as a feature ({reasons or 'all are labels'}).")
    Y = np.concatenate(truth)
    missing = np.isnan(Y)
    return Dataset(
        X=np.column_stack(list(columns.values())),
        Y=None if missing.all() else Y if missing.any() else Y.astype(np.int8),
        feature_names=tuple(columns),
        label_names=tuple(label_names),
        name=Path(source.name).name,
        dropped=tuple((name, dropped[name]) for name in source.names if name in dropped),
    )


def _which_labels(source: Source) -> str:
    """That labels must be named, and which columns look as if they were some."""
    rows = next(source.rows(source.names), None)
    binary = [] if rows is None else [name for name in source.names if name and _is_binary(rows, name)]
    hint = (
        f"These hold only 0 and 1, or yes and no: {listed(binary)}." if binary else f"They are {listed(source.names)}."
    )
    return (
        f"{source.name}: which columns are labels? Name them, or give a pattern such as 'genre_*' "
        f"(labels=[...], on the command line --labels). {hint}"
    )


def _is_binary(rows: Rows, name: str) -> bool:
    try:
        return not bool(np.isnan(rows.labels(name)).all())
    except BadCellError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
