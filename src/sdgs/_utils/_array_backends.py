"""Arrays that are computed with elsewhere: which module of ours does it."""

from importlib import import_module
from typing import Any, Protocol, cast

# The top-level module of an array's type, and the module of ours that computes with such arrays. It is imported when
# the first such array comes in, so that nothing below it imports it.
_BACKENDS = {"dask": "sdgs.distributed"}


class ArrayBackend(Protocol):
    """What a module that computes with its own kind of arrays offers."""

    def check_decomposable(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """The samples to pass to ``decompose``, which have a ``shape``, and their labels on this machine."""

    def decompose(self, X: Any, problem: Any) -> Any:
        """The :class:`sdgs.Decomposition` of such samples; ``problem`` holds the validated arguments."""

    def check_samples(self, model: Any, X: Any, y: Any) -> tuple[Any, Any]:
        """:class:`sdgs.readout._samples.Samples` and a label matrix (CSC) that ``model`` can be fitted to."""

    def map_method(self, model: Any, method: str, X: Any) -> Any:
        """The array of what a method of a fitted model returns for the blocks of ``X``."""


def backend_of(X: Any) -> ArrayBackend | None:
    """The backend module for ``X``, or None if it is computed with here."""
    name = _BACKENDS.get(type(X).__module__.partition(".")[0])
    # A Dask DataFrame has no chunks: it is no array, and is rejected like any other table.
    return cast(ArrayBackend, import_module(name)) if name is not None and hasattr(X, "chunks") else None
