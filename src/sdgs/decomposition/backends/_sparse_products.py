"""The compiled products of the sparse alternation. Imported only when sparse data are decomposed.

A matrix is passed as the three arrays of CSR. ``rows`` are the rows of R = V X - W C - S that carry a label. ``slots``
maps each component to its row among the components that are passed, and is negative for components that are left out:
those of the label itself, because it is fitted to N = R + L^i, and those that are still zero.
"""

import numpy as np

from sdgs._utils._numba import jit_cached


@jit_cached
def times(rows, x_ptr, x_col, x, v, A, w_ptr, w_col, w, slots, CA, s_ptr, s_col, s, out):
    """Out = N A, given C A of the components that are passed."""
    width = A.shape[1]
    for t in range(rows.size):
        row = rows[t]
        for j in range(width):
            out[t, j] = 0.0
        for e in range(x_ptr[row], x_ptr[row + 1]):
            value, column = x[e] * v[row], x_col[e]  # in the unit scale, or the sum may overflow
            for j in range(width):
                out[t, j] += value * A[column, j]
        for e in range(w_ptr[row], w_ptr[row + 1]):
            value, slot = w[e], slots[w_col[e]]
            if slot >= 0:
                for j in range(width):
                    out[t, j] -= value * CA[slot, j]
        for e in range(s_ptr[row], s_ptr[row + 1]):
            value, column = s[e], s_col[e]
            for j in range(width):
                out[t, j] -= value * A[column, j]


@jit_cached
def transposed_times(rows, x_ptr, x_col, x, v, Y, w_ptr, w_col, w, slots, s_ptr, s_col, s, out, W_Y):
    """Add (V X - S)^T Y to ``out`` and W^T Y to ``W_Y``."""
    width = Y.shape[1]
    for t in range(rows.size):
        row = rows[t]
        for e in range(x_ptr[row], x_ptr[row + 1]):
            value, column = x[e] * v[row], x_col[e]
            for j in range(width):
                out[column, j] += value * Y[t, j]
        for e in range(w_ptr[row], w_ptr[row + 1]):
            value, slot = w[e], slots[w_col[e]]
            if slot >= 0:
                for j in range(width):
                    W_Y[slot, j] += value * Y[t, j]
        for e in range(s_ptr[row], s_ptr[row + 1]):
            value, column = s[e], s_col[e]
            for j in range(width):
                out[column, j] -= value * Y[t, j]


@jit_cached
def reconstruction_at(x_ptr, x_col, w_ptr, w_col, w, Ct, out):
    """Out = W C at the stored entries of X; ``Ct`` is C^T."""
    for row in range(x_ptr.size - 1):
        for e in range(x_ptr[row], x_ptr[row + 1]):
            column, total = x_col[e], 0.0
            for f in range(w_ptr[row], w_ptr[row + 1]):
                total += w[f] * Ct[column, w_col[f]]
            out[e] = total


@jit_cached
def is_stored(rows, columns, x_ptr, x_col, out):
    """Whether X, with sorted indices, stores an entry at each (row, column)."""
    for t in range(rows.size):
        stored = x_col[x_ptr[rows[t]] : x_ptr[rows[t] + 1]]
        position = np.searchsorted(stored, columns[t])
        out[t] = position < stored.size and stored[position] == columns[t]
