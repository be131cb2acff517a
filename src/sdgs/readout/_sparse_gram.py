"""The compiled products of sparse features. Imported only where there are some."""

from sdgs._utils._numba import jit_cached


@jit_cached
def add_products(a_ptr, a_at, a_values, b_ptr, b_at, b_values, out):
    """Add A^T B, for CSR A and B with as many rows."""
    for row in range(a_ptr.size - 1):
        for e in range(a_ptr[row], a_ptr[row + 1]):
            value, sums = a_values[e], out[a_at[e]]
            for f in range(b_ptr[row], b_ptr[row + 1]):
                sums[b_at[f]] += value * b_values[f]
