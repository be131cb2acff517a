"""Checkpoints: the state of a long computation in a file, so that a computation that was killed can continue."""

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

FORMAT = "sdgs-checkpoint"
VERSION = 1  # raise it if a change of the code changes results
_MIN_INTERVAL = 10  # between two writes, as a multiple of the duration of the last write


class Checkpoint:
    """The arrays of one computation, in a file of ``folder`` whose name is a hash of everything that they depend on.

    So results of other data, other arguments or another version are not found, and are left alone. Many computations
    may share a folder.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    *depends_on : Any
        See :func:`fingerprint`.
    library_version : str
        The version of sdgs, which is part of the name.
    min_interval : float
        Minimum time between two writes, as a multiple of the duration of the last write.
    """

    def __init__(
        self, folder: Path, *depends_on: Any, library_version: str = __version__, min_interval: float = _MIN_INTERVAL
    ) -> None:
        self._key = fingerprint(VERSION, library_version, *depends_on)
        self._path = folder / f"{self._key}.sdgs-checkpoint"
        self._library_version, self._min_interval = library_version, min_interval
        self._last_write, self._write_duration = 0.0, 0.0
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob(f".{self._path.name}-*"):  # left by a write that was killed
            with suppress(OSError):
                unfinished.unlink()

    def load(self) -> dict[str, NDArray[Any]] | None:
        """The arrays that were stored last; None if there are none or, with a warning, if the file is damaged."""
        if not self._path.exists():
            return None
        try:
            content = read(self._path, FORMAT, (VERSION,))
        except ModelFileError as error:
            self.warn_unusable(str(error))
            return None
        return content.arrays if content.document == self._key else None

    def warn_unusable(self, reason: str) -> None:
        """Warn that the stored arrays are not used."""
        warnings.warn(f"A checkpoint cannot be used, so its computation starts again: {reason}", stacklevel=4)

    def due(self) -> bool:
        """Whether the last write is long enough ago."""
        return perf_counter() - self._last_write >= self._min_interval * self._write_duration

    def store(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Replace the stored arrays. A process that is killed at any point leaves the old or the new file, whole."""
        start = perf_counter()
        try:
            write(self._path, FORMAT, VERSION, self._library_version, self._key, arrays)
        except FileNotFoundError:
            # Another process has started the same computation and deleted the temporary file of this write.
            if not self._path.parent.is_dir():
                raise
        self._last_write = perf_counter()
        self._write_duration = self._last_write - start


def is_moderate(array: NDArray[Any], unit: float = 1.0) -> bool:
    """Whether all entries are finite, also as multiples of ``unit``, and so small that sums of their squares are."""
    limit = float(np.finfo(array.dtype).max)
    return bool((np.abs(array) <= min(limit**0.25, limit / max(unit, 1.0))).all())


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, dense or sparse, by content, and of everything else by ``repr``.

    The shape of a sparse array is not part of it: pass it too.
    """
    digest = sha256()
    for part in parts:
        if is_array_api_obj(part):
            part = to_host(part)
        for array in (part.data, part.indices, part.indptr) if issparse(part) else (part,):
            if isinstance(array, np.ndarray):
                digest.update(f"{array.dtype.str} {array.shape} ".encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            else:
                digest.update(f"{array!r} ".encode())
    return digest.hexdigest()
