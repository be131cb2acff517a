"""Some rows of a data file as they are in it: lines, cells, or a Parquet file."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._csv_parquet import CsvSource
from sdgs.datasets.readers._open import open_stream, read_lines
from sdgs.datasets.readers._open_table import open_table

LINE_FORMATS = ("arff", "jsonl", "svmlight")  # with one sample per line
Rows = NDArray[np.intp]


def selected_lines(file: Path, format_: str, rows: Rows) -> Iterator[bytes]:
    """The lines of samples, given by ascending numbers, and the header of an ARFF file. In UTF-8."""
    with open_stream(file) as stream:
        lines = read_lines(stream)
        if format_ == "arff":
            yield from map(_whole_line, _arff_header(lines))
        samples = (line for line in lines if _is_sample(line, format_))
        yield from map(_whole_line, _selected(samples, rows, file))


def _arff_header(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.split("%")[0].strip().lower() == "@data":
            return


def _is_sample(line: str, format_: str) -> bool:
    """Whether a line is a sample, and not a comment or empty."""
    if format_ == "svmlight":
        return bool(line.split("#")[0].strip())
    text = line.strip()
    return bool(text) and not (format_ == "arff" and text.startswith("%"))


def _whole_line(line: str) -> bytes:
    return (line if line.endswith(("\n", "\r")) else f"{line}\n").encode()


@contextmanager
def selected_records(file: Path, format_: str, rows: Rows) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """The separator of a table, a comma if it has none; and the cells of its header and of some rows."""
    with open_table(file, format_, None) as source:
        if isinstance(source, CsvSource):
            header, records = source.header, source.records()
        else:
            header, records = list(source.names), _records(source)
        yield source.separator or ",", chain([header], _selected(records, rows, file))


def _records(source: Any) -> Iterator[list[str]]:
    for block in source.blocks(source.names):
        yield from map(list, zip(*map(block.texts, source.names), strict=True))


def parquet_rows(file: Path, rows: Rows) -> bytes:
    """Some rows of a Parquet file as another one."""
    import pyarrow.parquet as pq

    with open_stream(file) as stream:
        content = io.BytesIO(stream.read_all(None))
    output = io.BytesIO()
    pq.write_table(pq.read_table(content).take(rows), output)
    return output.getvalue()


def _selected(items: Iterator[Any], rows: Rows, file: Path) -> Iterator[Any]:
    """The items at these positions, which are ascending."""
    wanted = iter(rows.tolist())
    row = next(wanted, None)
    for i, item in enumerate(items):
        if i == row:
            yield item
            row = next(wanted, None)
            if row is None:
                return
    raise DataFileError(f"{file}: has changed while it was read. Run the command again.")
