"""Which columns matter for the labels: selection of columns, penalty weights of columns, and weights of samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, dia_array, issparse

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs.selection._defaults import MIN_RELEVANCE, PENALTY_WEIGHT_POWER, RELEVANCE_PENALTY

Array = NDArray[np.floating[Any]]

_PRODUCT_ENTRIES = 1 << 23  # labels x columns whose products are held at a time


def most_relevant_columns(
    blocks: Sequence[Any],
    labels: Any,
    max_columns: int,
    sample_weight: NDArray[np.float64] | None = None,
    *,
    product_entries: int = _PRODUCT_ENTRIES,
) -> NDArray[np.intp] | None:
    """The ``max_columns`` most relevant columns of feature blocks side by side, in order; None if that is all of them.

    The relevance of a column z is what a ridge regression on it alone explains of the labels (CSR):
    (z^T y)^2 / (z^T z + penalty), summed over labels, with z and y centred. Ranking by z^T z alone needs far more
    columns for the same predictions. With weights a sample counts as often as its weight says.
    """
    if sum(block.shape[1] for block in blocks) <= max_columns:
        return None
    explained = np.concatenate([explained_by_column(block, labels, sample_weight, product_entries) for block in blocks])
    return np.sort(np.argsort(-explained, kind="stable")[:max_columns])


def explained_by_column(
    block: Any,
    labels: Any,
    sample_weight: NDArray[np.float64] | None = None,
    product_entries: int = _PRODUCT_ENTRIES,
) -> NDArray[np.float64]:
    """The relevance of each column of a feature block: see :func:`most_relevant_columns`."""
    n, n_labels = labels.shape
    if sample_weight is None:
        frequency = np.asarray(labels.mean(axis=0), dtype=np.float64).reshape(-1)
    else:
        n, labels = sample_weight.sum(), csr_array(dia_array((sample_weight[None], 0), shape=(n, n)) @ labels)
        frequency = np.asarray(labels.sum(axis=0), dtype=np.float64).reshape(-1) / n
    column_sums, square_sums = _column_sums(block, sample_weight)
    mean = column_sums / n
    energy = square_sums - n * mean**2
    total = np.zeros(mean.size)
    step = max(1, product_entries // mean.size)
    for start in range(0, n_labels, step):
        some = slice(start, start + step)
        cross: Any = labels[:, some].T.astype(np.float64)
        if on_host(block):
            cross = cross @ block
            cross = cross.toarray() if issparse(cross) else cross
        else:
            xp = namespace(block)
            cross = to_host(to_device_of(cross.toarray(), block) @ xp.astype(block, xp.float64))
        cross -= n * np.outer(frequency[some], mean)
        total += np.einsum("ij,ij->j", cross, cross)
    return np.asarray(total / (np.maximum(energy, 0) + RELEVANCE_PENALTY))


def _column_sums(
    block: Any, sample_weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of the columns and of their squares, in float64."""
    if sample_weight is not None:
        if not on_host(block):
            block = namespace(block).astype(block, namespace(block).float64)
        weight = to_device_of(sample_weight, block)
        sums = to_host(weight @ block), to_host(weight @ (block * block))
    elif on_host(block):
        sums = block.sum(axis=0), (block * block).sum(axis=0)
    else:
        xp = namespace(block)
        block = xp.astype(block, xp.float64)
        sums = to_host(xp.sum(block, axis=0)), to_host(xp.sum(block * block, axis=0))
    columns, squares = (np.asarray(one, dtype=np.float64).reshape(-1) for one in sums)
    return columns, squares


def penalty_weights(energy: Array, cross: Array, Y_mean: Array, n: float) -> NDArray[np.float64]:
    """Weights of columns in the ridge penalty, which is divided by them: large for columns relevant to the labels.

    With columns z and labels y centred, b = z^T y / (z^T z + 1) is the coefficient of a ridge regression of y on z
    alone. The weight of a column is the fourth root of the sum over labels of b^2 / (y^T y + 1), times a constant that
    makes the mean weight 1, where a column counts z^T z / (z^T z + 1). So among words of the same frequency those that
    are associated with labels are penalised less.

    ``energy`` (d,) holds z^T z, ``cross`` (d, k) holds z^T y, ``Y_mean`` (k,) the label frequencies, of n samples.
    """
    energy = np.maximum(energy, 0)
    with np.errstate(all="ignore"):
        label_energy = np.maximum(n * Y_mean * (1 - Y_mean), 0)
        relevance = (np.square(cross / (energy + 1)[:, None]) / (label_energy + 1)).sum(axis=1)
        weights = np.maximum(relevance / relevance.max(initial=0), MIN_RELEVANCE) ** PENALTY_WEIGHT_POWER
        certainty = energy / (energy + 1)
        weights = weights * (certainty.sum() / (certainty @ weights))
    # Without any relevant column, or if numbers overflow, all columns are penalised alike.
    return np.asarray(weights if np.isfinite(weights).all() else np.ones(len(energy)), dtype=np.float64)


def f1_sample_weight(
    labels: Any, metric: str, sample_weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """Weights of samples in the ridge regression, with mean 1; None if all weigh the same.

    They are factors of ``sample_weight``, by which the means are weighted.

    The F1 of a sample with s labels, of which h of m predicted ones are right, is 2 h / (s + m): a label of a sample
    with many labels counts less. So the weight is 1 / (s + mean of s), with s at least 1. The Hamming loss has no such
    weights.
    """
    sizes = np.maximum(np.asarray(labels.sum(axis=1), dtype=np.float64).reshape(-1), 1)
    if metric == "hamming_loss" or np.ptp(sizes) == 0:
        return None
    weight = 1 / (sizes + np.average(sizes, weights=sample_weight))
    return np.asarray(weight / np.average(weight, weights=sample_weight))
