"""Arrays that are computed with elsewhere, and the module of ours that does it."""

from importlib import import_module
from typing import Any, Protocol

# The top-level module of an array's type, and the module that computes with such arrays. It is imported when the first
# such array comes in: no layer below it imports it.
_BACKENDS = {"dask": "sdgs.distributed"}


class ArrayBackend(Protocol):
    """What such a module offers to the doors of ``decompose``, ``fit`` and ``predict``."""

    def check_samples(self, model: Any, X: Any, y: Any) -> tuple[Any, Any]:
        """Validated :class:`sdgs.readout._samples.Samples` and labels (CSC) that ``model`` can be fitted to."""

    def map_method(self, model: Any, method: str, X: Any) -> Any:
        """An array of what a method of a fitted model returns for ``X``, computed when it is asked for."""


def backend_of(X: Any) -> Any | None:
    """The backend for ``X``; None if it is computed with here."""
    name = _BACKENDS.get(type(X).__module__.partition(".")[0])
    return import_module(name) if name is not None and hasattr(X, "chunks") else None
