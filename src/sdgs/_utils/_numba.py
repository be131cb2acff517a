"""Options of compiled functions. Numba takes long to import, so that only modules of such functions import this."""

from numba import njit

# Reassociation lets sums use vector instructions, and does not assume finite numbers: NaN stays NaN.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}


def jit_cached(function):
    """Compile a function, and cache the machine code on disk if a folder is writable."""
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no folder is writable, as in some containers
        return njit(**OPTIONS)(function)
