"""Open a table of any format."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._csv_parquet import CsvSource, ParquetSource
from sdgs.datasets.readers._excel import ExcelSource
from sdgs.datasets.readers._json_lines import JsonLinesSource
from sdgs.datasets.readers._open import BLOCK_BYTES, STDIN, open_stream
from sdgs.datasets.readers._table_source import TableSource


@contextmanager
def open_table(
    path: str | Path,
    format_: str,
    max_bytes: int | None,
    block_bytes: int = BLOCK_BYTES,
    *,
    whole: bool = False,
) -> Iterator[TableSource]:
    """Open a table. ``whole``: it will be read completely, so that columns may be found by reading all rows."""
    if format_ in ("parquet", "xlsx") and str(path) == STDIN:
        name = "Parquet" if format_ == "parquet" else "Excel"
        raise DataFileError(f"{name} cannot be read from standard input. Name a file, or use CSV.")
    if format_ == "parquet":
        yield ParquetSource(path, max_bytes, block_bytes)
    elif format_ == "xlsx":
        with ExcelSource(path, max_bytes, block_bytes) as source:
            yield source
    elif format_ == "jsonl":
        with open_stream(path) as stream:
            yield JsonLinesSource(stream, max_bytes, block_bytes, whole=whole)
    else:
        with open_stream(path) as stream:
            yield CsvSource(stream, "\t" if format_ == "tsv" else None, max_bytes, block_bytes)
