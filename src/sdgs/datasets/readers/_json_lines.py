"""Tables as JSON lines: one object per line, whose keys are the names of columns."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from sdgs._utils._number_parsing import abbreviate
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import Stream, read_lines
from sdgs.datasets.readers._table_source import RowBlock, TableSource

_MAX_COLUMNS = 100_000


class JsonLinesSource(TableSource):
    """JSON lines. A key that an object does not have is a missing value.

    The columns are the keys of all objects if the file is read as a whole, else those of the first block. Objects in
    an object are flattened by one level: ``{"customer": {"plan": "pro"}}`` is the column ``customer.plan``.
    """

    absent_is_missing = True

    def __init__(self, stream: Stream, max_bytes: int | None, block_bytes: int, *, whole: bool) -> None:
        super().__init__(block_bytes)
        self.name, self._stream = stream.name, stream
        lines = ((number, line) for number, line in enumerate(read_lines(stream, max_bytes), 1) if line.strip())
        first = list(lines) if whole else list(_take(lines, self._block_bytes))
        if not first:
            raise DataFileError(f"{self.name}: the file is empty.")
        if first[0][1].lstrip().startswith("["):
            raise DataFileError(
                f"{self.name}: a JSON array, where one object per line is read. Convert it, for example by the "
                "command: jq -c '.[]' FILE > NEW-FILE.jsonl"
            )
        columns: dict[str, None] = {}
        for number, line in first:
            columns.update(dict.fromkeys(self._parse(number, line)))
            if len(columns) > _MAX_COLUMNS:
                raise DataFileError(
                    f"{self.name}, line {number}: more than {_MAX_COLUMNS:,} different keys. Every object should have "
                    "the same keys, which are the names of the columns."
                )
        self.names = tuple(columns)
        self._check_names()
        self._lines = chain(first, lines)

    def notes(self) -> list[str]:
        return []

    def blocks(self, columns: Sequence[str]) -> Iterator[RowBlock]:
        while block := list(_take(self._lines, self._block_bytes)):
            records = [self._parse(number, line) for number, line in block]
            cells = {name: [record.get(name) for record in records] for name in columns}
            yield RowBlock(cells, [number for number, _ in block], self._stream.position)

    def _parse(self, number: int, line: str) -> dict[str, Any]:
        """The cells of a line by the names of their columns."""
        try:
            pairs = _decode(line)
        except RecursionError:
            raise self._error(number, "values are nested too deeply") from None
        except ValueError as error:
            reason = getattr(error, "msg", error)
            raise self._error(number, f"not valid JSON ({reason})") from None
        if not isinstance(pairs, _Object):
            raise self._error(number, 'not an object, as in {"amount": 3, "message": "..."}')
        cells: dict[str, Any] = {}
        for key, value in pairs:
            for name, cell in _flattened(key, value):
                if isinstance(cell, _Object):
                    raise self._error(number, f"{abbreviate(name)} has objects in an object in an object. Flatten them")
                if name in cells:
                    raise self._error(number, f"two values are named {abbreviate(name)}")
                cells[name] = self._checked(cell, number, name)
        return cells

    def _checked(self, cell: Any, number: int, name: str) -> Any:
        """A cell: text, a number, a boolean, None, or a list of text."""
        if isinstance(cell, float) and math.isinf(cell):
            raise self._error(number, f"{abbreviate(name)} is an infinite number")
        if not isinstance(cell, list):
            return cell
        if any(isinstance(value, list | _Object) for value in cell):
            raise self._error(number, f"{abbreviate(name)} is a list of lists or of objects, not of text")
        return [_as_text(value) for value in cell if value is not None]

    def _error(self, number: int, problem: str) -> DataFileError:
        return DataFileError(f"{self.name}, line {number}: {problem}.")


class _Object(tuple[tuple[str, Any], ...]):
    """The pairs of an object, which are not yet checked for keys that occur twice."""

    __slots__ = ()


def _decode(line: str) -> Any:
    """The value of a line; a ValueError if it is not valid, or has parts of characters."""
    value = json.loads(line, object_pairs_hook=_Object)
    if "\\u" in line:
        json.dumps(value, ensure_ascii=False).encode()  # an error for half of a surrogate pair
    return value


def _flattened(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, _Object):
        yield from ((f"{key}.{inner}", cell) for inner, cell in value)
    else:
        yield key, value


def _as_text(value: Any) -> str:
    """A value in a list as text: JSON's words for booleans."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _take(lines: Iterator[tuple[int, str]], size: int) -> Iterator[tuple[int, str]]:
    """The next lines, about ``size`` characters together."""
    for number, line in lines:
        yield number, line
        size -= len(line)
        if size <= 0:
            return
