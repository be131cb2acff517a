"""A file of arrays and JSON: the layout of safetensors, with a checksum as its last array.

::

    8 bytes    N, little-endian
    N bytes    JSON: dtype, shape and offsets of each array, and metadata of the file
    the rest   the arrays, one after the other, without a gap

There is no compression, no path and no code in it: reading takes memory in proportion to the size of the file, writes
nothing, and runs nothing. docs/model-format.md specifies it, with the factor.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from sdgs.persistence._atomic_write import write_atomically

Array = NDArray[Any]

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}
_CHECKSUM = "sha256"  # of all bytes before it
_CHECKSUM_SIZE = 32
_METADATA = "__metadata__"
_MAX_REASON_LENGTH = 500
_MAX_HEADER_BYTES = 100_000_000  # as for safetensors
_MAX_DIMENSION = 1 << 48  # more than a file can hold, less than numpy's limit

# Errors of a decoder whose input is not what an encoder writes.
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged or is too new; or a model that no file can hold."""


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a file."""

    version: int
    written_by: str  # the version of sdgs that wrote it
    document: Any
    arrays: dict[str, Array]


def write(path: Path, kind: str, version: int, library: str, document: Any, arrays: Mapping[str, Array]) -> None:
    """Write a file of format ``kind``; it appears whole or not at all.

    ``library`` is the version of sdgs, ``document`` is JSON.
    """
    # The memory order is kept, because the last digits of products depend on it.
    transposed = [name for name, array in arrays.items() if not array.flags.c_contiguous and array.flags.f_contiguous]
    stored = {name: _little_endian(array.T if name in transposed else array) for name, array in arrays.items()}
    header: dict[str, Any] = {
        _METADATA: {
            "format": kind,
            "version": str(version),
            "library": library,
            "document": json.dumps(document, allow_nan=False),
            "transposed": json.dumps(transposed),
        }
    }
    end = 0
    for name, array in stored.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": _CODES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    header[_CHECKSUM] = {"dtype": "U8", "shape": [_CHECKSUM_SIZE], "data_offsets": [end, end + _CHECKSUM_SIZE]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    check_header_size(len(text))
    write_atomically(path, _content_parts(len(text).to_bytes(8, "little") + text, stored))


def check_header_size(size: int) -> None:
    """Raise an error if the names and parameters of a model take too many bytes."""
    if size > _MAX_HEADER_BYTES:
        raise ModelFileError(
            f"its names and parameters take {size} bytes; a file holds at most {_MAX_HEADER_BYTES}. Shorten the names."
        )


def _content_parts(header: bytes, arrays: Mapping[str, Array]) -> Iterator[Any]:
    checksum = sha256(header)
    yield header
    for array in arrays.values():
        raw = array.reshape(-1).view(np.uint8).data
        checksum.update(raw)
        yield raw
    yield checksum.digest()


def _little_endian(array: Array) -> Array:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def read(path: Path, kind: str, versions: Collection[int]) -> Content:
    """The content of a file of format ``kind`` in one of these versions.

    Raises :class:`ModelFileError` for any other content, and OSError if the file cannot be opened.
    """
    path.stat()  # raises FileNotFoundError
    if not path.is_file():
        raise ModelFileError(f"{path} is not a file.")
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size, kind, versions)
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"{path} cannot be read as {kind}: {reason_of(error)}") from None


def reason_of(error: BaseException) -> str:
    """What is wrong with a file, in a line: errors may quote what the file holds, which may be of any length."""
    return (str(error) or type(error).__name__)[:_MAX_REASON_LENGTH]


def _read(file: BinaryIO, size: int, kind: str, versions: Collection[int]) -> Content:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > size - 8:
        raise ValueError("it has another format, or is truncated.")
    if length > _MAX_HEADER_BYTES:
        raise ValueError("its header is too long.")
    text = file.read(length)
    header = _parse_json(text.decode())
    metadata = header.pop(_METADATA) if isinstance(header, dict) and _METADATA in header else None
    if not isinstance(metadata, dict) or metadata.get("format") != kind:
        raise ValueError("it has another format.")
    version, library = metadata.get("version"), metadata.get("library")
    if not (isinstance(library, str) and isinstance(version, str) and re.fullmatch("[1-9][0-9]{0,5}", version)):
        raise ValueError("its header is damaged.")
    if int(version) not in versions:
        raise ValueError(
            f"it has format version {version}, written by sdgs {library[:40]!r}. This sdgs reads up to version "
            f"{max(versions)}: install a newer one."
        )
    layout = _check_header(header, size - 8 - length)
    checksum = sha256(start + text)
    arrays = {}
    for name, (dtype, shape) in layout.items():
        if name == _CHECKSUM:
            break
        array: Array = np.empty(shape, dtype=dtype)
        raw = array.reshape(-1).view(np.uint8).data
        if file.readinto(raw) != raw.nbytes:  # type: ignore[attr-defined]
            raise ValueError("it is truncated.")
        checksum.update(raw)
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    if file.read(_CHECKSUM_SIZE + 1) != checksum.digest():
        raise ValueError("it is damaged: its checksum is wrong.")
    for name in _parse_json(metadata["transposed"]):
        arrays[name] = arrays[name].T
    return Content(int(version), library, _parse_json(metadata["document"]), arrays)


def _parse_json(text: str) -> Any:
    def reject_constant(constant: str) -> NoReturn:
        raise ValueError(f"its JSON has {constant[:40]}, which is not a finite number.")

    def parse_finite(text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else reject_constant(text)

    def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise ValueError("its JSON repeats a name.")
        return fields

    try:
        return json.loads(
            text, parse_float=parse_finite, parse_constant=reject_constant, object_pairs_hook=reject_duplicates
        )
    except json.JSONDecodeError:
        raise ValueError("its JSON is damaged.") from None


def _check_header(header: dict[str, Any], size: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The dtype and the shape of each array, in order; together they must be the ``size`` bytes after the header."""
    layout = {}
    end = 0
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError("its header is damaged.")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not (isinstance(code, str) and code in _DTYPES and _is_shape(shape) and _is_shape(offsets)):
            raise ValueError("its header is damaged.")
        dtype = _DTYPES[code]
        if offsets != [end, end + math.prod(shape) * np.dtype(dtype).itemsize]:
            raise ValueError("its arrays are not contiguous.")
        end = offsets[1]
        layout[name] = dtype, tuple(shape)
    if end != size:
        raise ValueError("it is truncated, or has data after its end.")
    if list(layout)[-1:] != [_CHECKSUM] or layout[_CHECKSUM] != ("|u1", (_CHECKSUM_SIZE,)):
        raise ValueError("it has no checksum.")
    return layout


def _is_shape(value: Any) -> bool:
    is_short_list = isinstance(value, list) and len(value) <= 2
    return is_short_list and all(type(number) is int and 0 <= number <= _MAX_DIMENSION for number in value)


class CheckedArrays:
    """The arrays of a file; each is taken once, after checks of dtype, shape and range."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._remaining = dict(arrays)
        self.n_bytes = sum(array.nbytes for array in arrays.values())

    def take(self, name: str, kind: str, *shape: int | None, finite: bool = True) -> Array:
        """An array of floats (``kind`` "f"), integers ("i"), bytes ("u") or some of them; None is any number."""
        array = self._remaining.pop(name, None)
        if array is None:
            raise ValueError(f"the array {name} is missing.")
        if array.dtype.kind not in kind:
            raise ValueError(f"{name} has dtype {array.dtype}.")
        if array.ndim != len(shape) or any(n not in (None, m) for m, n in zip(array.shape, shape, strict=True)):
            raise ValueError(f"{name} has shape {array.shape}.")
        if finite and not np.isfinite(array).all():
            raise ValueError(f"{name} has entries that are not finite.")
        return array

    def indices(self, name: str, below: int, size: int | None = None) -> Array:
        """An array of indices, at least 0 and less than ``below``."""
        array = self.take(name, "i", size)
        if array.size and not (array.min() >= 0 and array.max() < below):
            raise ValueError(f"{name} is out of range.")
        return array

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array that is not taken yet; () if there is none."""
        return self._remaining[name].shape if name in self._remaining else ()

    def has(self, name: str) -> bool:
        """Whether there is an array of this name that is not taken yet."""
        return name in self._remaining

    def check_all_taken(self) -> None:
        """Raise an error if an unexpected array is left."""
        if self._remaining:
            raise ValueError(f"it has an unexpected array {min(self._remaining)!r}.")
