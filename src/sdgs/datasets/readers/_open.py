"""Opening data files: plain or compressed, named or standard input, and never more of a line than memory can take."""

import bz2
import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sdgs.datasets._errors import DataFileError

MAX_LINE = 64 << 20
STDIN = "-"


def stated(path: str | Path) -> str:
    """The file in words."""
    return "standard input" if str(path) == STDIN else str(path)


class Stream:
    """The bytes of a file, decompressed if it is compressed (by its first bytes, whatever its name)."""

    def __init__(self, path: str | Path) -> None:
        self.name = stated(path)
        self._raw: Any = sys.stdin.buffer if str(path) == STDIN else open(path, "rb")  # noqa: SIM115
        self._counted = _Counted(self._raw)
        start = io.BufferedReader(self._counted, buffer_size=1 << 16)
        magic = start.peek(3)[:3]
        opened: Any = start
        if magic[:2] == b"\x1f\x8b":
            opened = gzip.GzipFile(fileobj=start)
        elif magic == b"BZh":
            opened = bz2.BZ2File(start)
        self.file = opened
        self._text: io.TextIOWrapper | None = None

    def text(self) -> io.TextIOWrapper:
        """The same as text: UTF-8, and what is not as Latin-1; UTF-16 where the file begins with its mark."""
        marked = self.file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        codecs.register_error("sdgs-latin-1", _as_latin_1)
        encoding = "utf-16" if marked else "utf-8-sig"
        self._text = io.TextIOWrapper(self.file, encoding=encoding, errors="sdgs-latin-1", newline="")
        return self._text

    @property
    def position(self) -> int:
        """Bytes of the file that were read, as they lie on disk."""
        return self._counted.count

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._text is not None:
            with suppress(ValueError):  # closed already
                self._text.detach()  # or it would close what it reads from
        if self._raw is not sys.stdin.buffer:
            self._raw.close()


class _Counted(io.RawIOBase):
    """Counts what is read. A position could not be asked of a pipe."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.count = raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One read and not more: who types into a terminal, or pipes slowly, is answered as lines come.
        part = self.raw.read1(len(buffer)) if hasattr(self.raw, "read1") else self.raw.read(len(buffer))
        buffer[: len(part)] = part
        self.count += len(part)
        return len(part)


@contextmanager
def opened(path: str | Path) -> Iterator[Stream]:
    """A stream, whose troubles become errors that name the file."""
    try:
        stream = Stream(path)
    except OSError as error:
        raise DataFileError(f"{stated(path)}: cannot be read ({error.strerror or error}).") from None
    try:
        yield stream
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, BrokenPipeError):  # of whom the result is for
            raise
        raise DataFileError(f"{stream.name}: cannot be read ({error}).") from None
    finally:
        stream.close()


def text_lines(stream: Stream, max_bytes: int | None = None) -> Iterator[str]:
    """Lines with their ends."""
    text, size, number = stream.text(), 0, 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            size += len(line)
            if len(line) > MAX_LINE:
                raise DataFileError(f"{stream.name}, line {number}: longer than {MAX_LINE} characters.")
            if max_bytes is not None and size > max_bytes:
                raise DataFileError(
                    f"{stream.name}, line {number}: the file has over {max_bytes} characters; "
                    "pass max_bytes=None to read it."
                )
            yield line
    except UnicodeError as error:
        raise DataFileError(f"{stream.name}, line {number + 1}: not text ({error}). Save the file as UTF-8.") from None


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError) or not error.encoding.startswith("utf-8"):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end
