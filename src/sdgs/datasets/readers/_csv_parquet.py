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

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_selection import chosen, listed
from sdgs.datasets.readers._label_lists import LabelGuess, guessed, label_matrix, labels_in, separator_in
from sdgs.datasets.readers._number_parsing import BadCellError, count_text, numbers, yes_or_no
from sdgs.datasets.readers._open import STDIN, Stream, opened, text_lines

_BLOCK_CELLS = 1 << 17
_MAX_FIELD = 16 << 20  # characters of one cell; the standard library's own limit is too small for a text
_DELIMITERS = ",;\t|"
_SLIPS = 0.1  # cells of a column of numbers that may be wrong, at most; a column with more is none


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

    def cells(self, name: str) -> Sequence[Any]:
        """A column as it is: text in CSV; in Parquet also numbers, lists, and None where it is missing."""
        cells = self.columns[name]
        return cells if isinstance(cells, tuple) else cells.to_pylist()

    def texts(self, name: str) -> list[str]:
        """A column as text, empty where it is missing."""
        return ["" if cell is None else str(cell) for cell in self.cells(name)]


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
            f"{self.name}, line {rows.lines[error.place]}, column {column!r}: {_short(error.text)} is {error.what}. "
            f"{error.advice}"
        )

    def only_one_column(self) -> str:
        """In words, if there is no other."""
        if len(self.names) > 1:
            return ""
        return (
            f"{self.name}: there is only one column, named {_short(self.names[0])}. Columns must have a comma, a "
            "semicolon, a tab or a bar between them."
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
        if _are_values(self.names):
            raise DataFileError(
                f"{self.name}: the first line has numbers, where the names of the columns should be. Write a line with "
                "names above it."
            )
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


def _are_values(names: Sequence[str]) -> bool:
    """Whether the names are a row of data: mostly numbers, which do not go up as those of pixels or wavelengths do."""
    found = []
    for name in names:
        try:
            found.append(float(name))
        except ValueError:
            continue
    return 2 * len(found) > len(names) and not (np.diff(found) > 0).all()


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
        raise BadCellError(int(wrong[0]), f"{values[wrong[0]]:g}", "infinite")
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


def table_dataset(
    source: Source, labels: Sequence[str] | None, drop: Sequence[str], label_column: str | None = None
) -> Dataset:
    """A whole table. Columns that are not numbers, are empty, or have no name are dropped, and it says why."""
    if labels is None and label_column is None:
        raise DataFileError(_which_labels(source))
    label_names = chosen(labels or [], source.names, source.name)
    listing = [] if label_column is None else [list_column(source, label_column)]
    left_out = chosen(drop, source.names, source.name, "column to leave out")
    both = [name for name in [*label_names, *listing] if name in left_out]
    if both:
        raise DataFileError(f"{source.name}: {listed(both)} cannot be a label and be left out.")
    dropped = dict.fromkeys(left_out, "left out, as asked for")
    if "" in source.names:
        dropped[""] = "it has no name, so an index"
    features = [name for name in source.names if name not in dropped and name not in {*label_names, *listing}]
    parts: list[dict[str, NDArray[np.float64]]] = []
    truth: list[NDArray[np.float64]] = []
    lists: list[Any] = []
    slips: dict[str, _Slip] = {}
    for rows in source.rows([*features, *label_names, *listing]):
        part = {}
        for name in features:
            try:
                part[name] = rows.features(name)
            except BadCellError as error:
                slips.setdefault(name, _Slip(error, rows.lines[error.place])).add(rows.cells(name))
        parts.append(part)
        truth.append(np.empty((len(rows.lines), len(label_names))))
        for j, name in enumerate(label_names):
            try:
                truth[-1][:, j] = rows.labels(name)
            except BadCellError as error:
                raise source.bad_cell(error, rows, name) from None
        lists += [cell for name in listing for cell in rows.cells(name)]
    if not parts:
        raise DataFileError(f"{source.name}: there are no rows below the names of the columns.")
    for name, slip in slips.items():
        if slip.text <= _SLIPS * len(np.concatenate(truth)):
            raise DataFileError(slip.in_words(source.name, name))
        dropped[name] = f"{_short(slip.error.text)} in line {slip.line} is {slip.error.what}"
    columns = {name: np.concatenate([part[name] for part in parts]) for name in features if name not in dropped}
    for name in [name for name, values in columns.items() if np.isnan(values).all()]:
        dropped[name] = "it is empty"
        del columns[name]
    if not columns:
        raise DataFileError(_no_features(source, dropped))
    Y = np.concatenate(truth)
    if label_column is not None:
        label_names, Y = _from_lists(lists, source.name, label_column)
    missing = np.isnan(Y)
    return Dataset(
        X=np.column_stack(list(columns.values())),
        Y=None if missing.all() else Y if missing.any() else Y.astype(np.int8),
        feature_names=tuple(columns),
        label_names=tuple(label_names),
        name=Path(source.name).name,
        dropped=tuple((name, dropped[name]) for name in source.names if name in dropped),
    )


@dataclass
class _Slip:
    """The first cell of a column that is not a number, and how many are not even meant to be one."""

    error: BadCellError
    line: int
    text: int = 0

    def add(self, cells: Sequence[Any]) -> None:
        self.text += count_text(["" if cell is None else str(cell) for cell in cells])

    def in_words(self, file: str, column: str) -> str:
        return (
            f"{file}, line {self.line}, column {column!r}: {_short(self.error.text)} is {self.error.what}, and other "
            f"cells of that column are numbers. {self.error.advice} Or leave the column out (drop=[...], on the "
            "command line --drop)."
        )


def list_column(source: Source, name: str) -> str:
    """The column that lists labels; an error with names near it if it is not there."""
    found = chosen([name], source.names, source.name, "column that lists labels")
    if len(found) > 1:
        raise DataFileError(f"{source.name}: one column lists the labels, but {name!r} means {listed(found)}.")
    return found[0]


def _from_lists(cells: Sequence[Any], file: str, column: str) -> tuple[list[str], NDArray[np.float64]]:
    mark = separator_in(cells)
    lists = [labels_in(cell, mark) for cell in cells]
    names = sorted({label for listed in lists for label in listed or []})
    if not names:
        raise DataFileError(f"{file}: the column {column!r} lists no labels.")
    return names, label_matrix(lists, names)[0]


def _no_features(source: Source, dropped: dict[str, str]) -> str:
    if dropped and source.only_one_column():
        return source.only_one_column()
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:3])
    return f"{source.name}: no column is left as a feature ({reasons or 'all are labels'})."


def guess_in(source: Source) -> LabelGuess:
    """Which columns may be labels, by the first rows."""
    rows = next(source.rows(source.names), None)
    if rows is None:
        return LabelGuess()
    names = [name for name in source.names if name]
    binary = [name for name in names if _is_binary(rows, name)]
    return guessed(names, binary, {name: rows.cells(name) for name in names if _is_text(rows, name)})


def _which_labels(source: Source) -> str:
    """That labels must be named, and which columns look as if they were some."""
    guess = guess_in(source)
    hints = [f"These hold only 0 and 1, or yes and no: {listed(guess.columns)}."] if guess.columns else []
    if guess.lists:
        hints.append(f"{listed(guess.lists)} may list them all (label_column=..., --label-column).")
    return (
        f"{source.name}: which columns are labels? Name them, or give a pattern such as 'genre_*' "
        f"(labels=[...], on the command line --labels). {' '.join(hints) or f'They are {listed(source.names)}.'}"
    )


def _is_binary(rows: Rows, name: str) -> bool:
    try:
        return not bool(np.isnan(rows.labels(name)).all())
    except BadCellError:
        return False


def _is_text(rows: Rows, name: str) -> bool:
    try:
        rows.features(name)
    except BadCellError:
        return all(cell is None or isinstance(cell, str | list) for cell in rows.cells(name))
    return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
