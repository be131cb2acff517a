"""Iterative stratification as a plain function on label matrices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from sdgs.selection._defaults import EXCHANGE_SIZE_WEIGHT, MAX_EXCHANGE_ROUNDS

Ints = NDArray[np.int64]


def stratify(
    Y: csr_array,
    room: Ints,
    *,
    n_spare: int = 0,
    seed: int | None,
    order: int = 1,
    groups: Ints | None = None,
) -> Ints:
    """Assign samples to folds so that each label has the same share in all folds.

    Iterative stratification [1]_: take the label with the fewest samples that have no fold yet. Each of these samples
    goes to the fold that lacks most samples of this label; of several such folds to the one that lacks most samples;
    of several such folds to a random one. Repeat until all labels are assigned. Samples without labels come last. Here
    a fold that is full takes no sample, so that the sizes are exact.

    Samples that come late may therefore miss the fold that lacks their labels. So each sample is then offered for
    exchange with up to ``MAX_EXCHANGE_ROUNDS`` random ones. It is exchanged if that lowers the sum over folds and
    labels of (samples with the label - wanted number)^2 / (samples with the label in all folds).

    Parameters
    ----------
    Y : csr_array of shape (n, k)
        Boolean, with sorted indices.
    room : ndarray of shape (n_folds,)
        The sizes of the folds. With groups they are approximate.
    n_spare : int
        The number of folds that get one sample more. The algorithm chooses which. n is the sum of ``room`` plus
        ``n_spare``.
    seed : int or None
        The seed of the random numbers. None: samples are taken in their order, and ties go to the first fold.
    order : {1, 2}
        2 stratifies pairs of labels that occur together, too [2]_.
    groups : ndarray of shape (n,), optional
        The numbers of the groups, from 0. Samples of a group get the same fold. Large groups of a label come
        first, and groups of different sizes may be exchanged: the sizes of the folds count in the sum as
        ``EXCHANGE_SIZE_WEIGHT`` labels that all samples have.

    Returns
    -------
    ndarray of shape (n,)
        The fold of each sample.

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas, I. Vlahavas: On the stratification of multi-label data. ECML PKDD 2011.
    .. [2] P. Szymański, T. Kajdanowicz: A network perspective on stratification of multi-label data. LIDTA 2017.
    """
    from sdgs.model_selection._stratification_kernel import assign_folds

    columns = csr_array(hstack([Y, _label_pairs(Y)])) if order == 2 else Y
    units = _units(columns, groups, seed)
    totals = np.asarray(units.counts.sum(axis=0), dtype=np.float64)
    sizes = room + n_spare / room.size
    wanted = np.outer(totals, sizes / sizes.sum())
    by_label = units.counts.tocsc()
    room, folds = room.astype(np.int64), np.full(units.sizes.size, -1, dtype=np.int64)
    assign_folds(
        *_csr_arrays(units.counts),
        by_label.indptr.astype(np.int64),
        by_label.indices.astype(np.int64),
        units.sizes,
        wanted,
        room,
        n_spare,
        units.draws,
        folds,
    )
    _exchange(units, totals, wanted, room, folds, seed)
    return folds[units.of_sample]


@dataclass(frozen=True, eq=False)
class _Units:
    """Samples or groups, in the order in which they are assigned: the labels, the sizes and the random draws."""

    counts: csr_array  # samples that have the label
    sizes: Ints
    draws: NDArray[np.float64]
    of_sample: Ints


def _units(columns: csr_array, groups: Ints | None, seed: int | None) -> _Units:
    """Units and labels in random order, so that ties between labels are random, and large groups first."""
    n, k = columns.shape
    of_sample = np.arange(n) if groups is None else groups
    sizes = np.bincount(of_sample)
    m = sizes.size
    if seed is None:
        unit_order, label_order, draws = np.arange(m), np.arange(k), np.zeros(m)
    else:
        rng = np.random.default_rng(seed)
        unit_order, label_order, draws = rng.permutation(m), rng.permutation(k), rng.random(m)
    unit_order = unit_order[np.argsort(-sizes[unit_order], kind="stable")]
    counts = csr_array(columns, dtype=np.float64)
    if groups is None:
        counts = counts[unit_order]
    else:
        members = csr_array((np.ones(n), (groups, np.arange(n))), shape=(m, n))
        counts = csr_array(members @ counts)[unit_order]
    counts = csr_array(counts[:, label_order])
    counts.sort_indices()
    position = np.empty(m, dtype=np.int64)
    position[unit_order] = np.arange(m)
    return _Units(counts, sizes[unit_order], draws, position[of_sample])


def _exchange(
    units: _Units, totals: NDArray[Any], wanted: NDArray[Any], room: Ints, folds: Ints, seed: int | None
) -> None:
    """Exchange pairs of units where that brings the labels of the folds closer to what is wanted."""
    from sdgs.model_selection._stratification_kernel import exchange_units

    rng = np.random.default_rng([0 if seed is None else seed, 1])
    arrays, weights = _csr_arrays(units.counts), 1 / np.maximum(totals, 1)
    size_weight = EXCHANGE_SIZE_WEIGHT / units.sizes.sum()
    for _ in range(MAX_EXCHANGE_ROUNDS):
        partners = rng.integers(folds.size, size=folds.size)
        if exchange_units(*arrays, units.sizes, weights, size_weight, partners, wanted, room, folds) == 0:
            break


def _label_pairs(Y: csr_array) -> csr_array:
    """One column for each pair of labels that occurs, with the samples that have both."""
    from sdgs.model_selection._stratification_kernel import write_pairs

    n, k = Y.shape
    lengths = np.diff(Y.indptr).astype(np.int64)
    rows, codes = np.empty((2, int((lengths * (lengths - 1) // 2).sum())), dtype=np.int64)
    indptr, labels, _ = _csr_arrays(Y)
    write_pairs(indptr, labels, k, rows, codes)
    pairs, columns = np.unique(codes, return_inverse=True)
    return csr_array((np.ones(codes.size, dtype=bool), (rows, columns)), shape=(n, pairs.size))


def _csr_arrays(matrix: csr_array) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The arrays of a CSR matrix, always of the same types, so that a kernel is compiled once."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(np.float64)
