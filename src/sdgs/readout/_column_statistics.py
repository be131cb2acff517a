"""Statistics of the columns of X: everything that scalings are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from sdgs._utils._array_api import namespace, on_host, take_rows, to_device_of, to_host
from sdgs._utils._validation import has_missing
from sdgs.selection._defaults import MOSTLY_ZERO_SHARE

Counts = NDArray[Any]  # numbers of samples, or sums of their weights
Weights = NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Statistics of each column. For sparse samples only ``missing`` and ``nonzero`` are known.

    With weights a sample counts as often as its weight says: numbers of samples are sums of weights.
    """

    n_samples: int | float
    dtype: Any
    sparse: bool
    missing: bool  # whether any entry of X is NaN
    nonzero: Counts
    observed: Counts
    negative: Counts
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]  # sum of squared deviations from the mean
    variance: NDArray[np.float64]  # NaN for a column without observed entries

    @property
    def mostly_zero(self) -> bool:
        """Whether few entries are not zero, as in word counts, however they are stored."""
        return bool(self.nonzero.sum() < MOSTLY_ZERO_SHARE * self.n_samples * self.nonzero.size)

    @property
    def largest_share(self) -> float:
        """The share of the column with the largest squares in the sum of squares of all; 0 if all are zero."""
        with np.errstate(all="ignore"):
            size = np.hypot(np.sqrt(np.where(self.observed > 0, self.variance, 0.0)), self.mean)
            relative = size / size.max()
            return float(1 / np.square(relative).sum()) if size.max() > 0 else 0.0

    @property
    def finite_variance(self) -> bool:
        """Whether no variance overflows in the precision of X."""
        with np.errstate(over="ignore"):
            return bool(np.isfinite(self.variance[self.observed > 0].astype(self.dtype)).all())


def column_statistics(X: Any, sample_weight: Weights = None) -> ColumnStatistics:
    """Statistics of an array in memory or on a device."""
    if issparse(X) or not on_host(X):
        return mergeable_statistics(X, sample_weight)
    X, sample_weight = _positive_weights(X, sample_weight)
    is_missing = np.isnan(X)
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X, sample_weight=sample_weight)  # which neither overflows nor cancels
        negative = _count(X < 0, sample_weight)
    n = X.shape[0] if sample_weight is None else float(sample_weight.sum())
    observed = n - _count(is_missing, sample_weight)
    return ColumnStatistics(
        n_samples=n,
        dtype=X.dtype,
        sparse=False,
        missing=bool(is_missing.any()),
        nonzero=_count(X != 0, sample_weight),
        observed=observed,
        negative=negative,
        mean=scaler.mean_,
        squares=scaler.var_ * observed,
        variance=scaler.var_,
    )


def _positive_weights(X: Any, sample_weight: Weights) -> tuple[Any, Weights]:
    """The samples without those of weight 0."""
    if sample_weight is None or sample_weight.all():
        return X, sample_weight
    rows = np.flatnonzero(sample_weight)
    return take_rows(X, rows), sample_weight[rows]


def _count(mask: NDArray[np.bool_], sample_weight: Weights) -> Counts:
    """The number of samples for which each column of the mask is true."""
    return np.asarray(np.count_nonzero(mask, axis=0) if sample_weight is None else sample_weight @ mask)


def mergeable_statistics(X: Any, sample_weight: Weights = None) -> ColumnStatistics:
    """Statistics of rows that :func:`merge_statistics` joins with those of others, in two passes over ``X``."""
    X, sample_weight = _positive_weights(X, sample_weight)
    n: int | float = X.shape[0] if sample_weight is None else float(sample_weight.sum())
    if issparse(X):
        return _sparse_statistics(X, sample_weight, n)
    xp = namespace(X)
    weight = None if sample_weight is None else to_device_of(sample_weight, X)

    def sum_rows(A: Any, dtype: Any = xp.float64) -> Any:
        return xp.sum(xp.astype(A, dtype), axis=0) if weight is None else weight @ xp.astype(A, xp.float64)

    is_observed = ~xp.isnan(X)
    with np.errstate(all="ignore"):
        values = xp.astype(xp.where(is_observed, X, xp.zeros_like(X)), xp.float64)
        observed = sum_rows(is_observed, xp.int64)
        divisor = xp.where(observed > 0, observed, xp.ones_like(observed))
        mean = sum_rows(values) / xp.astype(divisor, xp.float64)
        centred = xp.where(is_observed, values - mean, xp.zeros_like(values))
        squares, observed = to_host(sum_rows(centred * centred)), to_host(observed)
        variance = squares / observed
    return ColumnStatistics(
        n_samples=n,
        dtype=np.float32 if X.dtype == xp.float32 else np.float64,
        sparse=False,
        missing=not bool(xp.all(is_observed)),
        nonzero=to_host(sum_rows(X != 0, xp.int64)),
        observed=observed,
        negative=to_host(sum_rows(values < 0, xp.int64)),
        mean=to_host(mean),
        squares=squares,
        variance=variance,
    )


def _sparse_statistics(X: Any, sample_weight: Weights, n: int | float) -> ColumnStatistics:
    p, is_nonzero = X.shape[1], X.data != 0
    weight = None if sample_weight is None else np.repeat(sample_weight, np.diff(X.indptr))[is_nonzero]
    nonzero: Any = np.bincount(X.indices[is_nonzero], weights=weight, minlength=p)
    zeros, zero, unknown = np.zeros(p, dtype=np.int64), np.zeros(p), np.full(p, np.nan)
    return ColumnStatistics(n, X.dtype, True, has_missing(X), nonzero, zeros, zeros, zero, zero, unknown)


def merge_statistics(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """The statistics of all rows, from those of parts of them."""
    counts = {
        name: np.sum([getattr(part, name) for part in parts], axis=0) for name in ("nonzero", "observed", "negative")
    }
    with np.errstate(all="ignore"):
        shares = [part.observed / np.where(counts["observed"] > 0, counts["observed"], 1) for part in parts]
        mean = np.sum([part.mean * share for part, share in zip(parts, shares, strict=True)], axis=0)
        squares = np.sum([part.squares + part.observed * (part.mean - mean) ** 2 for part in parts], axis=0)
        variance = squares / counts["observed"]
    return ColumnStatistics(
        n_samples=sum(part.n_samples for part in parts),
        dtype=parts[0].dtype,
        sparse=parts[0].sparse,
        missing=any(part.missing for part in parts),
        mean=mean,
        squares=squares,
        variance=variance,
        **counts,
    )
