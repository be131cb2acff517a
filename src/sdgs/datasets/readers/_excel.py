"""Tables as Excel files (.xlsx), by openpyxl: the stored values of the first sheet. Formulas are never evaluated."""

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import MAX_BYTES, open_stream
from sdgs.datasets.readers._table_source import RowBlock, TableSource

_MAX_ROWS, _MAX_COLUMNS = 1 << 20, 1 << 14  # of a sheet
_MAX_BLOCK_ROWS = 4096
_ERRORS = {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA"}


class ExcelSource(TableSource):
    """The first sheet of a workbook: its first row that is not empty has the names of the columns."""

    def __init__(self, path: str | Path, max_bytes: int | None, block_bytes: int) -> None:
        super().__init__(block_bytes)
        try:
            import openpyxl
        except ImportError:
            raise DataFileError(f"{path}: Excel files need openpyxl. Run: pip install 'sdgs[excel]'") from None

        self.name, self._size, self._n_error_cells = str(path), Path(path).stat().st_size, 0
        with open_stream(path) as stream:  # a file in a zip archive needs random access
            content = stream.read_all(max_bytes)
        with self._errors():
            self._check_unpacked_size(content, MAX_BYTES if max_bytes is None else max_bytes)
            self._workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            self._sheets = [sheet for sheet in self._workbook.worksheets if hasattr(sheet, "iter_rows")]
            if not self._sheets:
                raise DataFileError(f"{self.name}: the workbook has no sheet with cells.")
        first = next(self._rows(_MAX_COLUMNS), None)
        if first is None:
            raise DataFileError(f"{self.name}: the sheet {self._sheets[0].title!r} is empty.")
        self._first_row, header = first
        names = ["" if cell is None else str(cell).strip() for cell in header]
        while names and not names[-1]:
            names.pop()
        self.names = tuple(names)
        self._check_names()

    def __enter__(self) -> "ExcelSource":
        return self

    def __exit__(self, *_: object) -> None:
        self._workbook.close()

    def notes(self) -> list[str]:
        sheets = [repr(sheet.title) for sheet in self._sheets]
        others = f"The sheet {sheets[0]} was read, which is the first; not read: {', '.join(sheets[1:])}."
        errors = f"{self._n_error_cells:,} cells hold an error of Excel, such as #N/A, and are missing values."
        return [others] * (len(sheets) > 1) + [errors] * (self._n_error_cells > 0)

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        width, column_of = len(self.names), {name: i for i, name in enumerate(self.names)}
        rows = ((number, row) for number, row in self._rows(width + 1) if number > self._first_row)
        n_rows = min(max(self._block_cells // width, 1), _MAX_BLOCK_ROWS)
        while block := list(islice(rows, n_rows)):
            for number, row in block:
                if row[width:] and row[width] is not None:
                    raise DataFileError(
                        f"{self.name}, line {number}: has a cell to the right of the last column with a name."
                    )
            cells = {name: [self._value(row, column_of[name]) for _, row in block] for name in columns}
            yield RowBlock(cells, [number for number, _ in block], self._size)

    def _value(self, row: tuple[Any, ...], column: int) -> Any:
        value = row[column] if column < len(row) else None
        if isinstance(value, str) and value in _ERRORS:
            self._n_error_cells += 1
            return None
        return value

    def _rows(self, width: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The rows that are not empty, with their numbers; the first cells of each."""
        rows = enumerate(self._sheets[0].iter_rows(max_row=_MAX_ROWS, max_col=width, values_only=True), 1)
        while True:
            with self._errors():
                number, row = next(rows, (0, ()))
            if not number:
                return
            if any(cell is not None for cell in row):
                yield number, row

    def _check_unpacked_size(self, content: bytes, max_bytes: int) -> None:
        """Bound the decompressed size, which the archive states, and beyond which zipfile does not read."""
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > max_bytes:
            raise DataFileError(f"{self.name}: larger than {max_bytes} bytes after decompression.")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Report whatever openpyxl raises about a damaged file, which may be of any class, as an error of the file."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (DataFileError, MemoryError):
            raise
        except Exception as error:
            raise DataFileError(
                f"{self.name}: cannot be read as an Excel file ({error or type(error).__name__})."
            ) from None
