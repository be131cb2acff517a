"""Compiled distances between samples. Imported only when a kernel needs them."""

import numpy as np

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


@jit_cached
def sparse_manhattan(x_indptr, x_indices, x_data, z_indptr, z_indices, z_data, n_features, out):
    """Write the same for CSR matrices X and Z: ||x||_1 + sum over the entries of z of |x_j - z_j| - |x_j|."""
    x = np.zeros(n_features)
    for i in range(x_indptr.size - 1):
        norm = 0.0
        for t in range(x_indptr[i], x_indptr[i + 1]):
            x[x_indices[t]] = x_data[t]
            norm += abs(x_data[t])
        for j in range(z_indptr.size - 1):
            total = norm
            for t in range(z_indptr[j], z_indptr[j + 1]):
                value = x[z_indices[t]]
                total += abs(value - z_data[t]) - abs(value)
            out[i, j] = max(total, 0.0)
        for t in range(x_indptr[i], x_indptr[i + 1]):
            x[x_indices[t]] = 0.0
