"""The compiled products of sparse features. Imported only where there are some."""

from sdgs._compiled import jit_cached


@jit_cached
def add_products(ptr, at, values, out):
    """Add Z^T Z, its upper triangle, for CSR Z with its indices in order."""
    for row in range(ptr.size - 1):
        for e in range(ptr[row], ptr[row + 1]):
            for f in range(e, ptr[row + 1]):
                out[at[e], at[f]] += values[e] * values[f]
