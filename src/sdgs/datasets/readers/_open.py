"""The opener of all readers: plain or compressed files and standard input, with a bound on the length of a line."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from sdgs.datasets._errors import DataFileError

STDIN = "-"
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BLOCK_BYTES = 2 << 20  # text that is read at a time
MAX_BYTES = 4 << 30  # after decompression: more than any multi-label file, and a bound on decompression bombs
_MAX_LINE_LENGTH = 64 << 20
# Bytes that are not UTF-8 are decoded to these surrogates, which stand for characters of Windows-1252; its five gaps
# are those of Latin-1.
_FIRST_ESCAPE, _LAST_ESCAPE = 0xDC80, 0xDCFF
_ESCAPES = re.compile(f"[{chr(_FIRST_ESCAPE)}-{chr(_LAST_ESCAPE)}]")
_WINDOWS_1252 = {
    escape: bytes([escape - 0xDC00]).decode("windows-1252", errors="ignore") or chr(escape - 0xDC00)
    for escape in range(_FIRST_ESCAPE, _LAST_ESCAPE + 1)
}


def display_name(path: str | Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == STDIN else str(path)


class Stream:
    """The bytes of a file. The first bytes, not the name, decide whether it is decompressed, and how."""

    def __init__(self, raw: Any, name: str) -> None:
        self.name, self.n_characters, self._counter = name, 0, _CountingReader(raw)
        file = io.BufferedReader(self._counter, buffer_size=1 << 16)
        first_bytes = file.peek(6)
        decompress = next((open_ for magic, open_ in _DECOMPRESSORS.items() if first_bytes.startswith(magic)), None)
        self.compressed = decompress is not None
        self.file: Any = file if decompress is None else decompress(file)
        self._text: io.TextIOWrapper | None = None
        self._encoding, self._has_mark, self._n_lines_of_windows_1252 = "UTF-8", False, 0

    def text(self) -> io.TextIOWrapper:
        """The file as text: UTF-16 if it starts with that byte order mark, else UTF-8; invalid bytes are escaped."""
        first_bytes = self.file.peek(3)
        is_utf_16 = first_bytes[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        self._encoding = "UTF-16" if is_utf_16 else "UTF-8"
        self._has_mark = is_utf_16 or first_bytes[:3] == codecs.BOM_UTF8
        encoding, errors = ("utf-16", "strict") if is_utf_16 else ("utf-8-sig", "surrogateescape")
        self._text = io.TextIOWrapper(self.file, encoding=encoding, errors=errors, newline="")
        return self._text

    def unescape(self, line: str) -> str:
        """A line of text with characters of Windows-1252 for bytes that are not UTF-8."""
        if line.isascii() or not _ESCAPES.search(line):
            return line
        self._n_lines_of_windows_1252 += 1
        return line.translate(_WINDOWS_1252)

    @property
    def is_unicode(self) -> bool:
        """Whether all text that was read so far is valid in its encoding."""
        return not self._n_lines_of_windows_1252

    @property
    def encoding(self) -> str:
        """The encoding of the text that was read so far, in words."""
        if self._n_lines_of_windows_1252:
            n = self._n_lines_of_windows_1252
            return (
                f"Windows-1252, because {n:,} line{'' if n == 1 else 's'} {'is' if n == 1 else 'are'} not valid UTF-8"
            )
        return f"{self._encoding} with a byte order mark" if self._has_mark else self._encoding

    def read_all(self, max_bytes: int | None) -> bytes:
        """The whole content."""
        content = bytearray()
        while part := self.file.read(BLOCK_BYTES):  # a read of max_bytes would allocate them
            content += part
            self.check_size(len(content), max_bytes)
        return bytes(content)

    def check_size(self, size: int, max_bytes: int | None) -> None:
        """Raise an error if more than ``max_bytes`` were read."""
        if max_bytes is not None and size > max_bytes:
            raise DataFileError(
                f"{self.name}: larger than {max_bytes} bytes after decompression. To read it, pass max_bytes=None."
            )

    @property
    def position(self) -> int:
        """Bytes read so far, as stored on disk."""
        return self._counter.count

    def detach(self) -> None:
        """Detach the text, because its destructor would close the file below it, which may be standard input."""
        if self._text is not None:
            with suppress(ValueError):  # closed already
                self._text.detach()


class _CountingReader(io.RawIOBase):
    """Counts the bytes that are read, because a pipe has no position."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.count = raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # A single read, so that a slow pipe or a terminal is processed line by line.
        part = self.raw.read1(len(buffer)) if hasattr(self.raw, "read1") else self.raw.read(len(buffer))
        buffer[: len(part)] = part
        self.count += len(part)
        return len(part)


def _open_zstd(file: Any) -> Any:
    for module in ("compression.zstd", "backports.zstd"):  # Python 3.14, and the same for earlier versions
        with suppress(ImportError):
            return import_module(module).ZstdFile(file)
    with suppress(ImportError):
        return io.BufferedReader(import_module("pyarrow").CompressedInputStream(file, "zstd"))
    raise OSError("it is compressed with zstd, which needs Python 3.14 or pyarrow. Run: pip install pyarrow")


_DECOMPRESSORS: dict[bytes, Any] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}


@contextmanager
def open_stream(path: str | Path) -> Iterator[Stream]:
    """A stream. Errors while it is read become a :class:`DataFileError` that names the file."""
    try:
        with ExitStack() as stack:
            raw = sys.stdin.buffer if str(path) == STDIN else stack.enter_context(open(path, "rb"))
            stream = Stream(raw, display_name(path))
            stack.callback(stream.detach)
            yield stream
    except Exception as error:
        if isinstance(error, BrokenPipeError) or not _is_read_error(error):  # a broken pipe is an error of the output
            raise
        reason = getattr(error, "strerror", None) or error
        raise DataFileError(f"{display_name(path)}: cannot be read ({reason}).") from None


def _is_read_error(error: Exception) -> bool:
    """The class of zstd's errors is known by its name only, because the module may not be installed."""
    return isinstance(error, OSError | EOFError | zlib.error | lzma.LZMAError) or type(error).__name__ == "ZstdError"


def read_lines(stream: Stream, max_bytes: int | None = None) -> Iterator[str]:
    """Lines of text with their line ends."""
    text, number = stream.text(), 0
    try:
        while line := text.readline(_MAX_LINE_LENGTH + 1):
            number += 1
            stream.n_characters += len(line)
            if len(line) > _MAX_LINE_LENGTH:
                raise DataFileError(f"{stream.name}, line {number}: longer than {_MAX_LINE_LENGTH} characters.")
            stream.check_size(stream.n_characters, max_bytes)
            yield stream.unescape(line)
    except UnicodeError as error:
        raise DataFileError(f"{stream.name}, line {number + 1}: not text ({error}). Save the file as UTF-8.") from None


def read_line_blocks(stream: Stream, block_bytes: int) -> Iterator[bytes]:
    """Whole lines, about ``block_bytes`` at a time."""
    rest = b""
    while part := stream.file.read(block_bytes):
        rest += part
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > _MAX_LINE_LENGTH:
            raise DataFileError(f"{stream.name}: a line is longer than {_MAX_LINE_LENGTH} bytes. Is it a text file?")
    if rest.strip():
        yield rest
