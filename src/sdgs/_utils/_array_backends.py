"""Backends: modules of this package that compute with arrays which are not in the memory of this process."""

from importlib import import_module
from typing import Any, Protocol, cast

# The top-level module of an array's type, and the backend for it. A backend is imported when the first such array is
# passed, so that no lower layer imports it.
_BACKENDS = {"dask": "sdgs.distributed"}


class ArrayBackend(Protocol):
    """The functions of a backend."""

    def check_decomposable(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """The samples to pass to ``decompose``, and their labels on this machine.

        The samples have a ``shape`` and a method ``take(rows)``, which selects some by ascending indices.
        """

    def decompose(self, X: Any, problem: Any) -> Any:
        """The :class:`sdgs.Decomposition` of such samples; ``problem`` holds the validated arguments."""

    def check_samples(self, model: Any, X: Any, y: Any) -> tuple[Any, Any]:
        """:class:`sdgs.readout._samples.Samples` and a label matrix (CSC) that ``model`` can be fitted to."""

    def map_method(self, model: Any, method: str, X: Any) -> Any:
        """The array of what a method of a fitted model returns for the blocks of ``X``."""


def backend_of(X: Any) -> ArrayBackend | None:
    """The backend for ``X``, or None for arrays that need none."""
    name = _BACKENDS.get(type(X).__module__.partition(".")[0])
    # A Dask DataFrame, which has no chunks, is no array and is rejected later.
    return cast(ArrayBackend, import_module(name)) if name is not None and hasattr(X, "chunks") else None
