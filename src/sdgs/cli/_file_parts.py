"""Rows of a data file, written in the format of the file: its lines or cells stay as they are."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdgs.cli._csv_lines import csv_writer

_BLOCK_ROWS = 4096
_SUFFIXES = {"svmlight": ".svm", "xlsx": ".csv"}  # Excel files are written as CSV


def part_suffix(format_: str) -> str:
    """The suffix of a file that :func:`write_rows` writes."""
    return _SUFFIXES.get(format_, f".{format_}")


def write_rows(output: Path, file: Path, format_: str, rows: NDArray[np.intp]) -> None:
    """Write some rows of a file, given by ascending numbers, to another."""
    from sdgs.datasets.readers._file_rows import LINE_FORMATS, parquet_rows, selected_lines
    from sdgs.persistence._atomic_write import write_atomically

    if format_ == "parquet":
        write_atomically(output, parquet_rows(file, rows))
    elif format_ in LINE_FORMATS:
        write_atomically(output, selected_lines(file, format_, rows))
    else:
        write_atomically(output, _csv_rows(file, format_, rows))


def _csv_rows(file: Path, format_: str, rows: NDArray[np.intp]) -> Iterator[bytes]:
    """The cells of a table as CSV, with the separator of the file."""
    from sdgs.datasets.readers._file_rows import selected_records

    with selected_records(file, format_, rows) as (separator, records):
        text = io.StringIO()
        writer = csv_writer(text, separator)
        for i, record in enumerate(records, 1):
            writer.writerow(record)
            if i % _BLOCK_ROWS == 0:
                yield text.getvalue().encode()
                text.seek(0)
                text.truncate()
        yield text.getvalue().encode()
