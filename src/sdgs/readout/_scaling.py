"""Samples made comparable before anything else sees them: columns weighted, rows of unit norm.

Plain functions on arrays; X (n, p) is dense or CSR, and complete or not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs._utils._row_norms import narrow_indices, unit_rows
from sdgs._utils._validation import has_missing, on_workers

Array = NDArray[np.floating[Any]]
SCALINGS = ("rows", "columns", "idf", None)

_FEW = 0.25  # a smaller share of entries that are not zero: counts of words have a tenth or less, images a half
_OFTEN = 0.2  # a larger share of negative entries is no accident

_FILLS = 'scaling="columns" would fill sparse X with non-zeros. Pass it dense, or use "rows".'
_COUNTS = 'scaling="idf" counts the samples that have a word, so X must be complete. Use "rows".'
_OVERFLOWS = "X has columns whose variance overflows. Scale them down."


@dataclass(frozen=True, eq=False)
class Scaling:
    """Samples made comparable: columns weighted by ``scaler``, if there is one, then rows of unit norm, if asked."""

    scaler: Any
    to_unit_rows: bool

    def columns(self, X: Any) -> Any:
        """The samples with their columns weighted."""
        if not on_host(X) and self.scaler is not None:
            xp = namespace(X)
            if isinstance(self.scaler, StandardScaler):
                X = X - xp.astype(to_device_of(self.scaler.mean_, X), X.dtype)
            return X / xp.astype(to_device_of(unit_of(self.scaler), X), X.dtype)
        if isinstance(self.scaler, StandardScaler):
            return self.scaler.transform(X.toarray() if issparse(X) else X)  # training was dense
        if isinstance(self.scaler, TfidfTransformer):
            idf = self.scaler.idf_.astype(X.dtype)  # its own transform takes no NaN
            return csr_array((X.data * idf[X.indices], X.indices, X.indptr), shape=X.shape) if issparse(X) else X * idf
        return X

    def __call__(self, X: Any) -> tuple[Any, Array]:
        """The samples as the method sees them, and the norms that they had before."""
        X = self.columns(X)
        if self.to_unit_rows:
            return unit_rows(X)
        return X, namespace(X).ones((X.shape[0],), dtype=X.dtype, device=None if on_host(X) else device(X))

    def undone(self, X: Any, norms: Any) -> Any:
        """Samples that were scaled, in the units that they had."""
        X = csr_array(X * norms[:, None]) if issparse(X) else X * norms[:, None]
        if self.scaler is None:
            return X
        unit = to_device_of(unit_of(self.scaler), X)
        X = csr_array(X * unit) if issparse(X) else X * unit
        return X + to_device_of(self.scaler.mean_, X) if isinstance(self.scaler, StandardScaler) else X


def unit_of(scaler: Any) -> Any:
    """What one of the scaled columns' units is in their own."""
    if scaler is None:
        return 1
    return scaler.scale_ if isinstance(scaler, StandardScaler) else 1 / scaler.idf_


def learn_scaling(X: Any, how: str | None) -> Scaling:
    """``how`` is one of ``SCALINGS``; see :class:`sdgs.SDGSClassifier`."""
    if on_workers(X) or not on_host(X):
        return scaling_from(_column_statistics(X), how)
    scaler = None
    if how == "columns":
        if issparse(X):
            raise ValueError(_FILLS)
        scaler = _standardiser(X)
    elif how == "idf":
        if has_missing(X):
            raise ValueError(_COUNTS)
        if issparse(X):
            X = narrow_indices(X).copy()
            X.sum_duplicates()
            X.eliminate_zeros()  # a word that is stored as absent is absent
        scaler = TfidfTransformer(norm=None).fit(X)
    return Scaling(scaler, how is not None)


def possible_scalings(X: Any) -> tuple[str, ...]:
    """What may suit ``X``, the likeliest first.

    Counts and images have no negative entries but corrupted ones, and mean sums: centring would take that from them.
    Measurements in different units must be made comparable first; where one of them is often negative they are no sum.
    Rare words say more than frequent ones, except where they do not.
    """
    if on_workers(X) or not on_host(X):
        found = _column_statistics(X)
        return _possible(found.sparse, found.missing, found.negative, found.observed, found.varies)
    if issparse(X):
        return _possible(True, has_missing(X))
    with np.errstate(over="ignore", invalid="ignore"):
        varies = bool(np.isfinite(np.nanvar(np.nan_to_num(X), axis=0)).all())  # or it cannot be standardised
    return _possible(False, False, (X < 0).sum(axis=0), (~np.isnan(X)).sum(axis=0), varies)


def mostly_zero(X: Any) -> bool:
    """Whether few entries say something, as in counts of words; however they are stored."""
    if on_workers(X):
        present = X.column_statistics.present.sum()
    elif on_host(X):
        present = np.count_nonzero(X.data if issparse(X) else X)
    else:
        xp = namespace(X)
        present = xp.sum(xp.astype(X != 0, xp.int64))
    return int(present) < _FEW * int(X.shape[0]) * int(X.shape[1])


def _possible(
    sparse: bool, missing: bool, negative: Any = 0, observed: Any = 1, varies: bool = True
) -> tuple[str, ...]:
    if sparse:
        return ("rows",) if missing else ("idf", "rows")
    if (negative / np.maximum(observed, 1)).max() > _OFTEN:
        return ("columns",)
    return ("rows", "columns") if varies else ("rows",)


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """What scalings go by, of the columns of samples that are not in one place.

    Of sparse samples only ``missing`` and ``present`` are known.
    """

    n_samples: int
    dtype: Any
    sparse: bool
    missing: bool  # whether any entry is
    present: NDArray[np.int64]  # entries that are not zero
    observed: NDArray[np.int64]
    negative: NDArray[np.int64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]  # sums of squares about the mean

    @property
    def variance(self) -> NDArray[np.float64]:
        """Of what was observed of each column."""
        with np.errstate(all="ignore"):
            return np.asarray(self.squares / self.observed)

    @property
    def varies(self) -> bool:
        """Whether no variance overflows."""
        with np.errstate(over="ignore"):
            return bool(np.isfinite(self.variance[self.observed > 0].astype(self.dtype)).all())


def _column_statistics(X: Any) -> ColumnStatistics:
    """Of samples on workers, or in an array of another library."""
    if on_workers(X):
        found: ColumnStatistics = X.column_statistics
        return found
    xp = namespace(X)
    seen = ~xp.isnan(X)
    values = xp.astype(xp.where(seen, X, xp.zeros_like(X)), xp.float64)
    observed = xp.sum(xp.astype(seen, xp.int64), axis=0)
    mean = xp.sum(values, axis=0) / xp.astype(xp.maximum(observed, xp.ones_like(observed)), xp.float64)
    away = xp.where(seen, values - mean, xp.zeros_like(values))
    return ColumnStatistics(
        n_samples=X.shape[0],
        dtype=np.float32 if X.dtype == xp.float32 else np.float64,
        sparse=False,
        missing=not bool(xp.all(seen)),
        present=to_host(xp.sum(xp.astype(values != 0, xp.int64), axis=0)),
        observed=to_host(observed),
        negative=to_host(xp.sum(xp.astype(values < 0, xp.int64), axis=0)),
        mean=to_host(mean),
        squares=to_host(xp.sum(away * away, axis=0)),
    )


def scaling_from(found: ColumnStatistics, how: str | None) -> Scaling:
    """The scaling that ``learn_scaling`` learns from the samples themselves."""
    scaler = None
    if how == "columns":
        if found.sparse:
            raise ValueError(_FILLS)
        scaler = StandardScaler()
        n, mean, variance = found.observed, np.where(found.observed, found.mean, 0.0), found.variance
        eps = np.finfo(np.float64).eps
        with np.errstate(all="ignore"):
            constant = variance <= n * eps * variance + (n * mean * eps) ** 2  # scikit-learn's bound for rounding
        scale = np.where(constant | (n == 0), 1.0, np.sqrt(variance))
        if not np.isfinite(scale).all():
            raise ValueError(_OVERFLOWS)
        scaler.mean_, scaler.var_, scaler.scale_, scaler.n_features_in_ = mean, variance, scale, mean.size
        scaler.n_samples_seen_ = n if found.missing else found.n_samples
    elif how == "idf":
        if found.missing:
            raise ValueError(_COUNTS)
        scaler = TfidfTransformer(norm=None)
        scaler.idf_ = (np.log((found.n_samples + 1) / (found.present + 1)) + 1).astype(found.dtype)
    return Scaling(scaler, how is not None)


def _standardiser(X: Array) -> StandardScaler:
    """Of what was observed of each column; a column of which nothing was is left alone."""
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X)
    unknown = np.isnan(X).all(axis=0)
    scaler.mean_[unknown], scaler.scale_[unknown] = 0.0, 1.0
    if not np.isfinite(scaler.scale_).all():
        raise ValueError(_OVERFLOWS)
    return scaler
