"""The compiled products of the dense alternation, on the rows of R where they are: no row is copied.

BLAS would want the rows of a label side by side; products as thin as these cost less than to gather and scatter them.
Rows are taken some at a time and their columns in tiles, so that what is used again is found in cache. Four components
go together: each entry of R is loaded once for four of them. Slices, for only those compile to vector instructions.
"""

from numba import njit

from sdgs._compiled import OPTIONS, jit_cached

_jit = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)

_ROWS = 8
_TILE = 1024


@_jit
def _four_dots(x, a, b, c, d, out):
    s = t = u = v = x[0] * 0
    for i in range(x.size):
        value = x[i]
        s += value * a[i]
        t += value * b[i]
        u += value * c[i]
        v += value * d[i]
    out[0] += s
    out[1] += t
    out[2] += u
    out[3] += v


@_jit
def _dot(x, a):
    s = x[0] * 0
    for i in range(x.size):
        s += x[i] * a[i]
    return s


@_jit
def _add_to_four(y, x, a, b, c, d):
    s, t, u, v = y[0], y[1], y[2], y[3]
    for i in range(x.size):
        value = x[i]
        a[i] += s * value
        b[i] += t * value
        c[i] += u * value
        d[i] += v * value


@_jit
def _add_four(y, a, b, c, d, x):
    s, t, u, v = y[0], y[1], y[2], y[3]
    for i in range(x.size):
        x[i] += s * a[i] + t * b[i] + u * c[i] + v * d[i]


@_jit
def _add(y, a, x):
    for i in range(x.size):
        x[i] += y * a[i]


@_jit
def _times(R, rows, first, last, At, out):
    """Add R A to ``out``, for some of the rows."""
    width, p = At.shape
    fours = width - width % 4
    for low in range(0, p, _TILE):
        high = min(low + _TILE, p)
        for t in range(first, last):
            x = R[rows[t], low:high]
            for j in range(0, fours, 4):
                a, b, c, d = At[j, low:high], At[j + 1, low:high], At[j + 2, low:high], At[j + 3, low:high]
                _four_dots(x, a, b, c, d, out[t, j : j + 4])
            for j in range(fours, width):
                out[t, j] += _dot(x, At[j, low:high])


@_jit
def _add_combinations(R, rows, first, last, U, C):
    """Add U C to some of the rows of R."""
    width, p = C.shape
    fours = width - width % 4
    for low in range(0, p, _TILE):
        high = min(low + _TILE, p)
        for t in range(first, last):
            x = R[rows[t], low:high]
            for j in range(0, fours, 4):
                a, b, c, d = C[j, low:high], C[j + 1, low:high], C[j + 2, low:high], C[j + 3, low:high]
                _add_four(U[t, j : j + 4], a, b, c, d, x)
            for j in range(fours, width):
                _add(U[t, j], C[j, low:high], x)


@jit_cached
def gram_times(R, rows, At, Y1, Y2t):
    """Add R A to ``Y1``, and then (Y1^T R) to ``Y2t``."""
    width, p = At.shape
    fours = width - width % 4
    for first in range(0, rows.size, _ROWS):
        last = min(first + _ROWS, rows.size)
        _times(R, rows, first, last, At, Y1)
        for low in range(0, p, _TILE):
            high = min(low + _TILE, p)
            for t in range(first, last):
                x = R[rows[t], low:high]
                for j in range(0, fours, 4):
                    a, b, c, d = Y2t[j, low:high], Y2t[j + 1, low:high], Y2t[j + 2, low:high], Y2t[j + 3, low:high]
                    _add_to_four(Y1[t, j : j + 4], x, a, b, c, d)
                for j in range(fours, width):
                    _add(Y1[t, j], x, Y2t[j, low:high])


@jit_cached
def project(R, rows, change, weights, U):
    """Add R Q to U (m, r), and then ``weights`` C - U Q^T to R; ``change`` holds C, and Q^T below it."""
    width = U.shape[1]
    for first in range(0, rows.size, _ROWS):
        last = min(first + _ROWS, rows.size)
        _times(R, rows, first, last, change[width:], U)
        for t in range(first, last):
            for j in range(width):
                weights[t, width + j] = -U[t, j]
        _add_combinations(R, rows, first, last, weights, change)


@jit_cached
def add_rows(R, rows, X, weights):
    """Add weights X to some rows of R."""
    for t in range(rows.size):
        _add(weights[t], X[rows[t]], R[rows[t]])
