"""The compiled distances of dense samples. Imported only where a kernel needs some."""

from sdgs._utils._numba import jit_cached


@jit_cached
def manhattan(X, points, out):
    """Write the sums of absolute differences, of four rows of X at a time: each number of a point is read once."""
    n, p = X.shape
    for i in range(0, n, 4):
        # The last rows are computed with others that were dealt with before, or are the same.
        a, b, c, d = X[i], X[min(i + 1, n - 1)], X[min(i + 2, n - 1)], X[min(i + 3, n - 1)]
        for j in range(points.shape[0]):
            point = points[j]
            to_a = to_b = to_c = to_d = 0.0
            for t in range(p):
                there = point[t]
                to_a += abs(a[t] - there)
                to_b += abs(b[t] - there)
                to_c += abs(c[t] - there)
                to_d += abs(d[t] - there)
            out[i, j] = to_a
            out[min(i + 1, n - 1), j] = to_b
            out[min(i + 2, n - 1), j] = to_c
            out[min(i + 3, n - 1), j] = to_d
