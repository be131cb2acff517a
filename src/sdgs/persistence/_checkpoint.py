"""What a long computation has got so far, in a file, so that it can be killed and go on."""

import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._array_api import to_host
from sdgs._utils._version import __version__
from sdgs.persistence._container import ModelFileError, read, write

_FORMAT = "sdgs-checkpoint"
_VERSION = 6  # a new one whenever the same arguments give other digits
_PAUSE = 10  # times as long as the last write took


class Checkpoint:
    """The arrays of one computation, in a file of ``folder`` that is named after all that they depend on.

    So what was computed from other data, with other arguments or by another version is not found, and is left alone.
    Many computations may share a folder.
    """

    def __init__(self, folder: Path, *depends_on: Any) -> None:
        self._name = fingerprint(_VERSION, __version__, *depends_on)
        self._path = folder / f"{self._name}.sdgs-checkpoint"
        self._written, self._took = 0.0, 0.0
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f".{self._path.name}-*"):  # of a write that was cut off
            with suppress(OSError):
                left.unlink()

    def load(self) -> dict[str, NDArray[Any]] | None:
        """What was stored last, if anything; also None, with a warning, if that is damaged."""
        if not self._path.exists():
            return None
        try:
            content = read(self._path, _FORMAT, (_VERSION,))
        except ModelFileError as error:
            self.distrust(str(error))
            return None
        return content.arrays if content.document == self._name else None

    def distrust(self, reason: str) -> None:
        """Say that what was stored is not used."""
        warnings.warn(f"A checkpoint is of no use, so its work is done again: {reason}", stacklevel=4)

    def due(self) -> bool:
        """Whether so much time went by that to store again takes little of it."""
        return perf_counter() - self._written >= _PAUSE * self._took

    def store(self, arrays: dict[str, NDArray[Any]]) -> None:
        """In place of what was stored before. Killed at any point, either of them is there, whole."""
        began = perf_counter()
        try:
            write(self._path, _FORMAT, _VERSION, __version__, self._name, arrays)
        except FileNotFoundError:
            # Another process has begun the same computation, and taken this write for one that was cut off.
            if not self._path.parent.is_dir():
                raise
        self._written = perf_counter()
        self._took = self._written - began


def fingerprint(*parts: Any) -> str:
    """The same for the same arrays, dense or sparse, and the same values of anything else that says what it is."""
    found = sha256()
    for part in parts:
        if is_array_api_obj(part):
            part = to_host(part)
        part = part.fingerprint() if hasattr(part, "fingerprint") else part  # samples on workers
        arrays = (part.data, part.indices, part.indptr) if issparse(part) else (part,)
        for array in arrays:
            if isinstance(array, np.ndarray):
                found.update(f"{array.dtype.str} {array.shape} ".encode())
                found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            else:
                found.update(f"{array!r} ".encode())
    return found.hexdigest()
