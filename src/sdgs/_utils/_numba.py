"""How hot loops are compiled. Imported only by what is about to run one."""

from numba import njit

# Reassociation lets sums use vector instructions. It does not assume finite numbers: NaN stays NaN.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}


def jit_cached(function):
    """Compile for Python, and keep the machine code on disk where a place for it can be found."""
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # nothing is writable, as in some containers
        return njit(**OPTIONS)(function)
