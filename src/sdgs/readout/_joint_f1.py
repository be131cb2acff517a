"""The label set with the largest expected F1 under a joint distribution of the labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_ENTRIES = 1 << 22  # of marginals by set size that are held at a time


def best_expected_f1_of_sets(sets: NDArray[np.bool_], weights: Any) -> NDArray[np.bool_]:
    r"""For each sample the label set with the largest expected F1; (n, k) from m sets (m, k) and weights (n, m),
    dense or CSR.

    The weights of a sample are the probabilities of the sets. Exact, by the algorithm of Dembczynski, Waegeman, Cheng
    and Hüllermeier (2011), and never worse than any of the 2^k sets: with

    .. math:: q_{is} = P(y_i = 1, |y| = s), \qquad D_i(m) = \sum_s q_{is} \frac{2}{s + m}

    the expected F1 of a set of m labels is the sum of its :math:`D_i(m)`, so that for each m the best set has the m
    largest. The empty set has the probability that there is no label. The smallest of equally good sets is taken.
    """
    sizes = sets.sum(axis=1)
    n, k = weights.shape[0], sets.shape[1]
    step = max(_BLOCK_ENTRIES // (k * (int(sizes.max()) + 1)), 1)
    labels = np.zeros((n, k), dtype=bool)
    for start in range(0, n, step):
        block = weights[start : start + step]
        Q = np.zeros((block.shape[0], k, int(sizes.max())))
        for size in np.unique(sizes[sizes > 0]):
            of_size = sizes == size
            Q[:, :, size - 1] = block[:, of_size] @ sets[of_size].astype(np.float64)
        labels[start : start + step] = best_expected_f1_of_sizes(Q, block[:, sizes == 0].sum(axis=1))
    return labels


def best_expected_f1_of_sizes(Q: NDArray[np.floating[Any]], p_empty: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """The same from P(y_i = 1, |y| = s) for s = 1, 2, ..., (n, k, largest size), and the probability of no label."""
    n, k, largest = Q.shape
    sizes = np.arange(1, largest + 1)
    best_value, best_size = np.array(p_empty, dtype=np.float64), np.zeros(n, dtype=np.intp)
    n_possible = int((Q > 0).any(axis=2).sum(axis=1).max(initial=0))
    for m in range(1, n_possible + 1):
        D = Q @ (2.0 / (sizes + m))
        value = np.partition(D, k - m, axis=1)[:, k - m :].sum(axis=1)
        better = value > best_value + 1e-12  # rounding must not prefer a larger set
        best_value, best_size = np.where(better, value, best_value), np.where(better, m, best_size)
    D = np.einsum("nis,ns->ni", Q, 2.0 / (sizes + best_size[:, None]))
    rank = np.argsort(np.argsort(-D, axis=1, kind="stable"), axis=1)
    return np.asarray(rank < best_size[:, None])
