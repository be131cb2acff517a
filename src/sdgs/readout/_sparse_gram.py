"""Compiled products of sparse feature blocks. Imported only when there are some."""

from sdgs._utils._numba import jit_cached


@jit_cached
def add_gram(a_indptr, a_indices, a_data, b_indptr, b_indices, b_data, out):
    """Add A^T B to ``out``, for CSR matrices A and B with the same number of rows."""
    for row in range(a_indptr.size - 1):
        for i in range(a_indptr[row], a_indptr[row + 1]):
            value, out_row = a_data[i], out[a_indices[i]]
            for j in range(b_indptr[row], b_indptr[row + 1]):
                out_row[b_indices[j]] += value * b_data[j]


@jit_cached
def add_lower_gram(a_indptr, a_indices, a_data, b_indptr, b_indices, b_data, out):  # noqa: ARG001
    """Add the lower triangle of A^T A to ``out``, for a CSR matrix A with sorted indices; takes A twice."""
    for row in range(a_indptr.size - 1):
        for i in range(a_indptr[row], a_indptr[row + 1]):
            value, out_row = a_data[i], out[a_indices[i]]
            for j in range(a_indptr[row], i + 1):
                out_row[a_indices[j]] += value * a_data[j]
