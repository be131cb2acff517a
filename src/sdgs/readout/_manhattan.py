"""Compiled distances between dense samples. Imported only when a kernel needs them."""

from sdgs._utils._numba import jit_cached


@jit_cached
def manhattan(X, landmarks, out):
    """Write sums of absolute differences, for four rows of X at a time: each entry of a landmark is read once."""
    n, p = X.shape
    for i in range(0, n, 4):
        # The last block repeats the last row, and writes the same distances to it again.
        a, b, c, d = X[i], X[min(i + 1, n - 1)], X[min(i + 2, n - 1)], X[min(i + 3, n - 1)]
        for j in range(landmarks.shape[0]):
            landmark = landmarks[j]
            to_a = to_b = to_c = to_d = 0.0
            for t in range(p):
                value = landmark[t]
                to_a += abs(a[t] - value)
                to_b += abs(b[t] - value)
                to_c += abs(c[t] - value)
                to_d += abs(d[t] - value)
            out[i, j] = to_a
            out[min(i + 1, n - 1), j] = to_b
            out[min(i + 2, n - 1), j] = to_c
            out[min(i + 3, n - 1), j] = to_d
