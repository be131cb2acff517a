"""Near-duplicates with different labels, found by comparing all samples with each other, block by block."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import to_host
from sdgs._utils._row_norms import unit_rows
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_features, check_labels, check_names, check_number
from sdgs.audit._differing_duplicates import DifferingDuplicates
from sdgs.audit._observed_label_sets import ObservedLabelSets
from sdgs.selection._defaults import MAX_DUPLICATE_DISTANCE, MAX_ZERO_DISTANCE, MOSTLY_ZERO_SHARE

_BLOCK_ROWS = 1024  # that are compared with as many others at a time
_MIN_COMMON_SHARE = 0.5  # of the features, observed in both of two samples that can be compared
_MAX_DIFFERENCES = 1 << 22  # entries of differences that are computed at a time


@blas_on_one_thread()
def find_differing_duplicates(
    X: Any,
    Y: Any,
    *,
    max_distance: float = MAX_DUPLICATE_DISTANCE,
    label_names: Any = None,
    sample_names: Any = None,
) -> DifferingDuplicates:
    """Find samples that are equal or nearly so, and have different labels: one of them is probably labelled wrongly.

    For each sample the most similar other one with different labels is found. Each pair is returned once. Memory is
    bounded; time grows with the square of the number of samples.

    Parameters
    ----------
    X : array-like, sparse or DataFrame of shape (n, p)
        NaN is a missing entry. Two samples are compared by the features that are observed in both, if these are at
        least half of all.
    Y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1
        NaN is an unobserved label, in which samples do not differ.
    max_distance : float, default=0.1
        The largest distance of near-duplicates; 0 for copies alone. The distance is Euclidean, relative to the root
        mean square distance of two samples. Features are compared in standard deviations, or if fewer than a quarter of
        all entries are not zero, as in word counts, samples are scaled to unit norm.
    label_names : array-like of shape (k,), optional
        Default: the columns of ``Y`` if it is a DataFrame, else column numbers.
    sample_names : array-like of shape (n,), optional
        Default: the index of ``X`` if it is a DataFrame, else row numbers.

    Returns
    -------
    DifferingDuplicates

    Examples
    --------
    >>> from sdgs.audit import find_differing_duplicates
    >>> X = [[1.0, 2.0], [3.0, 1.0], [1.0, 2.0], [0.0, 5.0]]
    >>> Y = [[1, 0], [0, 1], [1, 1], [0, 1]]
    >>> print(find_differing_duplicates(X, Y, label_names=["calm", "sad"]))
    4 samples were compared: 1 pair of near-duplicates has different labels; in 1 pair both samples are identical.
    samples 0 and 2 are identical: only 2 has sad
    """
    max_distance = check_number(max_distance, "max_distance")
    names = getattr(X, "index", None) if sample_names is None and hasattr(X, "iloc") else sample_names
    columns = getattr(Y, "columns", None) if label_names is None else label_names
    X = check_features(X, missing=True)
    X = X if issparse(X) else to_host(X)
    n = X.shape[0]
    known, unobserved = split_unobserved(Y)
    labels = check_labels(known, n_samples=n, some_positive=False).tocsr()
    sets = ObservedLabelSets(labels, None if unobserved is None else csr_array(unobserved))
    samples = comparable_samples(X)
    pairs = _nearest_pairs(samples, sets, max_distance)
    distances = samples.distances(pairs)
    near = distances <= max_distance
    pairs, distances = pairs[near], distances[near]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], distances))
    pairs, distances = pairs[order], distances[order]
    first, second = pairs.T
    return DifferingDuplicates(
        rows=pairs,
        distance=distances,
        first_labels=sets.known_of(first, second),
        second_labels=sets.known_of(second, first),
        n_samples=n,
        label_names=check_names(columns, "label_names", labels.shape[1], range(labels.shape[1])),
        sample_names=check_names(names, "sample_names", n, range(n))[pairs],
    )


@dataclass(frozen=True, eq=False)
class ComparableSamples:
    """Scaled samples whose Euclidean distances are compared.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, p)
        0 where an entry is missing.
    missing : csr_array of shape (n, p) or None
        1 where an entry is missing; None if none is.
    usual : float
        The root mean square distance of two samples.
    """

    values: Any
    missing: csr_array | None
    usual: float

    def squared_distances(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
        """Squared distances between two sets of rows, up to rounding; inf if too few features are observed in both."""
        A, B = self.values[rows], self.values[others]
        squares_A, squares_B = _squares(A), _squares(B)
        products = _dense(A @ B.T)
        if self.missing is None:
            return np.asarray(squares_A.sum(axis=1)[:, None] + squares_B.sum(axis=1)[None, :] - 2 * products)
        p, M, N = self.values.shape[1], self.missing[rows], self.missing[others]
        n_common = p - M.sum(axis=1)[:, None] - N.sum(axis=1)[None, :] + _dense(M @ N.T)
        of_A = squares_A.sum(axis=1)[:, None] - _dense(squares_A @ N.T)
        of_B = squares_B.sum(axis=1)[None, :] - _dense(M @ squares_B.T)
        scale = np.where(n_common >= max(_MIN_COMMON_SHARE * p, 1), p / np.maximum(n_common, 1), np.inf)
        # A difference of 0 times infinity would be NaN.
        return np.asarray(np.maximum(of_A + of_B - 2 * products, np.finfo(np.float64).tiny) * scale)

    def distances(self, pairs: NDArray[np.intp]) -> NDArray[np.float64]:
        """The distances of pairs of rows, by differences, relative to the usual one."""
        p, distances = self.values.shape[1], np.empty(len(pairs))
        step = max(_MAX_DIFFERENCES // max(p, 1), 1)
        for start in range(0, len(pairs), step):
            first, second = pairs[start : start + step].T
            squares = np.square(_dense(self.values[first] - self.values[second]))
            if self.missing is not None:
                hidden = _dense(self.missing[first] + self.missing[second]) > 0
                squares = np.where(hidden, 0, squares) * (p / np.maximum(p - hidden.sum(axis=1), 1))[:, None]
            distances[start : start + step] = np.sqrt(squares.sum(axis=1)) / self.usual
        return distances


def comparable_samples(X: Any) -> ComparableSamples:
    """Scale samples: columns by their standard deviation, or mostly zero samples to unit norm."""
    values = X.data if issparse(X) else X
    is_missing = np.isnan(values)
    if np.count_nonzero(values) < MOSTLY_ZERO_SHARE * X.shape[0] * X.shape[1]:
        Z = csr_array(unit_rows(csr_array(X).astype(np.float64))[0])
        missing = csr_array((np.isnan(Z.data).astype(np.float64), Z.indices, Z.indptr), shape=Z.shape, copy=True)
        missing.eliminate_zeros()
        Z = csr_array((np.nan_to_num(Z.data), Z.indices, Z.indptr), shape=Z.shape)
        mean = np.asarray(Z.mean(axis=0)).ravel()
    else:
        Z = _standardised(X.toarray() if issparse(X) else X)
        missing = csr_array(np.isnan(Z).astype(np.float64))
        Z = np.nan_to_num(Z, copy=False)
        mean = Z.mean(axis=0)
    n = Z.shape[0]
    scatter = float(_squares(Z).sum()) - n * float(mean @ mean)
    usual = np.sqrt(2 * max(scatter, 0.0) / max(n - 1, 1)) or 1.0
    return ComparableSamples(Z, missing if is_missing.any() else None, float(usual))


def _standardised(X: NDArray[Any]) -> NDArray[np.float64]:
    """Columns that are not constant, minus their mean, divided by their standard deviation; NaN stays."""
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0).astype(np.float64)
    Z = X / np.where(largest > 0, largest, 1)  # so that squares do not overflow
    n_observed = np.maximum((~np.isnan(Z)).sum(axis=0), 1)
    Z -= np.nansum(Z, axis=0) / n_observed
    spread = np.sqrt(np.nansum(np.square(Z), axis=0) / n_observed)
    varies = spread > np.finfo(X.dtype).eps
    return np.asarray(Z[:, varies] / spread[varies])


def _nearest_pairs(samples: ComparableSamples, sets: ObservedLabelSets, max_distance: float) -> NDArray[np.intp]:
    """Pairs (i, j), i < j, of each sample with the nearest one that has another label set, if that is near."""
    n = samples.values.shape[0]
    order, radii = _by_distance_from_mean(samples)
    limit = max_distance * samples.usual + MAX_ZERO_DISTANCE * (samples.usual + radii.max(initial=0))
    nearest, partner = np.full(n, limit**2), np.full(n, -1)
    for start in range(0, n, _BLOCK_ROWS):
        rows = order[start : start + _BLOCK_ROWS]
        # A difference of distances from the mean is a lower bound on the distance. Blocks before are done.
        end = int(np.searchsorted(radii, radii[min(start + _BLOCK_ROWS, n) - 1] + limit, side="right"))
        for other_start in range(start, end, _BLOCK_ROWS):
            others = order[other_start : other_start + _BLOCK_ROWS]
            squared = samples.squared_distances(rows, others)
            squared[sets.agree(rows, others)] = np.inf
            for of, by, axis in ((rows, others, 1), (others, rows, 0)):
                best = squared.argmin(axis=axis)
                values = np.take_along_axis(squared, np.expand_dims(best, axis), axis=axis).ravel()
                nearer = values < nearest[of]
                nearest[of[nearer]], partner[of[nearer]] = values[nearer], by[best[nearer]]
    found = np.flatnonzero(partner >= 0)
    pairs = np.sort(np.column_stack([found, partner[found]]), axis=1)
    return np.unique(pairs, axis=0).reshape(-1, 2)


def _by_distance_from_mean(samples: ComparableSamples) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The rows by their distance from the mean, and these distances; all 0 where the triangle inequality fails."""
    n = samples.values.shape[0]
    if samples.missing is not None:  # distances are extrapolated from the observed features
        return np.arange(n), np.zeros(n)
    mean = np.asarray(samples.values.mean(axis=0)).ravel()
    squared = _squares(samples.values).sum(axis=1) - 2 * (samples.values @ mean) + mean @ mean
    radii = np.sqrt(np.maximum(np.asarray(squared), 0))
    order = np.argsort(radii, kind="stable")
    return order, radii[order]


def _squares(A: Any) -> Any:
    return A.multiply(A) if issparse(A) else np.square(A)


def _dense(A: Any) -> NDArray[np.float64]:
    return np.asarray(A.toarray() if issparse(A) else A)
