"""Statistics of the columns of X: everything that scalings are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from sdgs._utils._array_api import namespace, on_host, to_host
from sdgs._utils._validation import has_missing
from sdgs.selection._defaults import MOSTLY_ZERO_SHARE

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Statistics of each column. For sparse samples only ``missing`` and ``nonzero`` are known."""

    n_samples: int
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
        return int(self.nonzero.sum()) < MOSTLY_ZERO_SHARE * self.n_samples * self.nonzero.size

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


def column_statistics(X: Any) -> ColumnStatistics:
    """Statistics of an array in memory or on a device."""
    if issparse(X) or not on_host(X):
        return mergeable_statistics(X)
    is_missing = np.isnan(X)
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X)  # which neither overflows nor cancels
        negative = (X < 0).sum(axis=0)
    observed = X.shape[0] - is_missing.sum(axis=0)
    return ColumnStatistics(
        n_samples=X.shape[0],
        dtype=X.dtype,
        sparse=False,
        missing=bool(is_missing.any()),
        nonzero=np.count_nonzero(X, axis=0),
        observed=observed,
        negative=negative,
        mean=scaler.mean_,
        squares=scaler.var_ * observed,
        variance=scaler.var_,
    )


def mergeable_statistics(X: Any) -> ColumnStatistics:
    """Statistics of rows that :func:`merge_statistics` joins with those of others, in two passes over ``X``."""
    n, p = X.shape
    if issparse(X):
        nonzero, zeros = np.bincount(X.indices[X.data != 0], minlength=p), np.zeros(p, dtype=np.int64)
        zero, unknown = np.zeros(p), np.full(p, np.nan)
        return ColumnStatistics(n, X.dtype, True, has_missing(X), nonzero, zeros, zeros, zero, zero, unknown)
    xp = namespace(X)
    is_observed = ~xp.isnan(X)
    with np.errstate(all="ignore"):
        values = xp.astype(xp.where(is_observed, X, xp.zeros_like(X)), xp.float64)
        observed = xp.sum(xp.astype(is_observed, xp.int64), axis=0)
        mean = xp.sum(values, axis=0) / xp.astype(xp.maximum(observed, xp.ones_like(observed)), xp.float64)
        centred = xp.where(is_observed, values - mean, xp.zeros_like(values))
        squares, observed = to_host(xp.sum(centred * centred, axis=0)), to_host(observed)
        variance = squares / observed
    return ColumnStatistics(
        n_samples=n,
        dtype=np.float32 if X.dtype == xp.float32 else np.float64,
        sparse=False,
        missing=not bool(xp.all(is_observed)),
        nonzero=to_host(xp.sum(xp.astype(X != 0, xp.int64), axis=0)),
        observed=observed,
        negative=to_host(xp.sum(xp.astype(values < 0, xp.int64), axis=0)),
        mean=to_host(mean),
        squares=squares,
        variance=variance,
    )


def merge_statistics(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """The statistics of all rows, from those of parts of them."""
    counts = {
        name: np.sum([getattr(part, name) for part in parts], axis=0) for name in ("nonzero", "observed", "negative")
    }
    with np.errstate(all="ignore"):
        shares = [part.observed / np.maximum(counts["observed"], 1) for part in parts]
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
