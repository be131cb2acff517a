"""Rows of a data file, written in the format of the file: its lines or cells stay as they are."""

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.cli._csv_lines import csv_writer

_BLOCK_ROWS = 4096
_SUFFIXES = {"svmlight": ".svm", "xlsx": ".csv"}  # Excel files are written as CSV
Rows = NDArray[np.intp]


def part_suffix(format_: str) -> str:
    """The suffix of a file that :func:`write_rows` writes."""
    return _SUFFIXES.get(format_, f".{format_}")


def write_rows(output: Path, file: Path, format_: str, rows: Rows) -> None:
    """Write some rows of a file to another, in their order in the file."""
    from sdgs.persistence._atomic_write import write_atomically

    if format_ == "parquet":
        write_atomically(output, _parquet_rows(file, rows))
    else:
        parts = _line_rows if format_ in ("arff", "jsonl", "svmlight") else _table_rows
        write_atomically(output, parts(file, format_, rows))


def _line_rows(file: Path, format_: str, rows: Rows) -> Iterator[bytes]:
    """The lines of a file with one sample per line, and the header of an ARFF file."""
    from sdgs.datasets.readers._open import open_stream, read_lines

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


def _selected(items: Iterator[Any], rows: Rows, file: Path) -> Iterator[Any]:
    """The items at these positions, which are ascending."""
    from sdgs.datasets import DataFileError

    wanted = iter(rows.tolist())
    row = next(wanted, None)
    for i, item in enumerate(items):
        if i == row:
            yield item
            row = next(wanted, None)
            if row is None:
                return
    raise DataFileError(f"{file}: has changed while it was read. Run the command again.")


def _table_rows(file: Path, format_: str, rows: Rows) -> Iterator[bytes]:
    """The cells of a table as CSV, with the separator of the file."""
    from sdgs.datasets.readers._csv_parquet import CsvSource
    from sdgs.datasets.readers._open_table import open_table

    with open_table(file, format_, None) as source:
        if isinstance(source, CsvSource):
            header, records = source.header, source.records()
        else:
            header, records = list(source.names), _records(source)
        text = io.StringIO()
        writer = csv_writer(text, source.separator or ",")
        for i, record in enumerate(chain([header], _selected(records, rows, file)), 1):
            writer.writerow(record)
            if i % _BLOCK_ROWS == 0:
                yield text.getvalue().encode()
                text.seek(0)
                text.truncate()
        yield text.getvalue().encode()


def _records(source: Any) -> Iterator[list[str]]:
    for block in source.blocks(source.names):
        yield from map(list, zip(*map(block.texts, source.names), strict=True))


def _parquet_rows(file: Path, rows: Rows) -> bytes:
    import pyarrow.parquet as pq

    from sdgs.datasets.readers._open import open_stream

    with open_stream(file) as stream:
        content = io.BytesIO(stream.read_all(None))
    output = io.BytesIO()
    pq.write_table(pq.read_table(content).take(rows), output)
    return output.getvalue()
