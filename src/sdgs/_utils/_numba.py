"""Options of compiled functions. Numba takes long to import, so that only modules of such functions import this."""

import warnings
from contextlib import suppress

from numba import njit
from numba.core.caching import FunctionCache

# Reassociation lets sums use vector instructions, and does not assume finite numbers: NaN stays NaN.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}

_CONSEQUENCE = (
    "Functions are compiled in memory, which takes some seconds at each start. Free space, or set the environment "
    "variable NUMBA_CACHE_DIR to a writable folder."
)


def jit_cached(function):
    """Compile a function, and cache the machine code on disk; with a warning, in memory alone if that is impossible."""
    dispatcher = njit(**OPTIONS)(function)
    try:
        dispatcher._cache = _TolerantCache(function)
    except RuntimeError:  # no folder is writable, as in some containers
        _warn_of_cache("No folder is writable for Numba's cache", _CONSEQUENCE)
    return dispatcher


class _TolerantCache(FunctionCache):
    """A cache of one function on disk that is renewed if it is damaged, and left alone if it cannot be written."""

    def load_overload(self, sig, target_context):
        """The compiled function; None if there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file raises whatever unpickling or LLVM raises
            _warn_of_cache(f"Numba's cache in {self.cache_path} is damaged ({_describe(error)})", "It is renewed.")
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig, data):
        """Write a compiled function; it is used whether or not that succeeds."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn_of_cache(f"Numba's cache in {self.cache_path} cannot be written ({_describe(error)})", _CONSEQUENCE)


def _warn_of_cache(problem, consequence):
    warnings.warn(f"{problem}. {consequence}", stacklevel=2)


def _describe(error):
    return str(error) or type(error).__name__
