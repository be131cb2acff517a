"""The compiled products of the sparse alternation. Imported only when sparse data are taken apart.

A matrix comes as the three arrays of CSR. ``rows`` are those of R = V X - W C - S that a label has. ``where`` is the
place of each component among those that are at hand, and negative for those that do not count: the label's own, for it
sees N = R + L^i, and those that are zero.
"""

from sdgs._utils._numba import jit_cached


@jit_cached
def times(rows, x_ptr, x_at, x, v, A, w_ptr, w_at, w, where, CA, s_ptr, s_at, s, out):
    """Out = N A, given C A of the components at hand."""
    width = A.shape[1]
    for t in range(rows.size):
        row = rows[t]
        for j in range(width):
            out[t, j] = 0.0
        for e in range(x_ptr[row], x_ptr[row + 1]):
            value, column = x[e] * v[row], x_at[e]  # in the unit scale, or the sum may overflow
            for j in range(width):
                out[t, j] += value * A[column, j]
        for e in range(w_ptr[row], w_ptr[row + 1]):
            value, place = w[e], where[w_at[e]]
            if place >= 0:
                for j in range(width):
                    out[t, j] -= value * CA[place, j]
        for e in range(s_ptr[row], s_ptr[row + 1]):
            value, column = s[e], s_at[e]
            for j in range(width):
                out[t, j] -= value * A[column, j]


@jit_cached
def transposed_times(rows, x_ptr, x_at, x, v, Y, w_ptr, w_at, w, where, s_ptr, s_at, s, out, W_Y):
    """Add (V X - S)^T Y to ``out`` and W^T Y to ``W_Y``."""
    width = Y.shape[1]
    for t in range(rows.size):
        row = rows[t]
        for e in range(x_ptr[row], x_ptr[row + 1]):
            value, column = x[e] * v[row], x_at[e]
            for j in range(width):
                out[column, j] += value * Y[t, j]
        for e in range(w_ptr[row], w_ptr[row + 1]):
            value, place = w[e], where[w_at[e]]
            if place >= 0:
                for j in range(width):
                    W_Y[place, j] += value * Y[t, j]
        for e in range(s_ptr[row], s_ptr[row + 1]):
            value, column = s[e], s_at[e]
            for j in range(width):
                out[column, j] -= value * Y[t, j]


@jit_cached
def said(x_ptr, x_at, w_ptr, w_at, w, Ct, out):
    """Out = W C where X stores an entry; ``Ct`` is C^T."""
    for row in range(x_ptr.size - 1):
        for e in range(x_ptr[row], x_ptr[row + 1]):
            column, total = x_at[e], 0.0
            for f in range(w_ptr[row], w_ptr[row + 1]):
                total += w[f] * Ct[column, w_at[f]]
            out[e] = total


@jit_cached
def is_stored(rows, columns, x_ptr, x_at, out):
    """Whether X, its indices in order, stores an entry at each place."""
    for t in range(rows.size):
        low, high = x_ptr[rows[t]], x_ptr[rows[t] + 1]
        while low < high:
            middle = (low + high) // 2
            if x_at[middle] < columns[t]:
                low = middle + 1
            else:
                high = middle
        out[t] = low < x_ptr[rows[t] + 1] and x_at[low] == columns[t]
