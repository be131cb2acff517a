"""Scaling of samples before anything else sees them: columns weighted, then rows of unit norm.

Plain functions on arrays; X (n, p) is dense or CSR, and may have missing entries.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs._utils._array_api import namespace, on_host, to_device_of
from sdgs._utils._overflow import too_large_for_model
from sdgs._utils._row_norms import unit_rows
from sdgs.readout._column_statistics import ColumnStatistics
from sdgs.selection._defaults import MAX_COLUMN_SHARE, NEGATIVE_SHARE

Array = NDArray[np.floating[Any]]
SCALINGS = ("rows", "columns", "idf", None)
COLUMN_SCALINGS = ("columns", "idf")  # those that are fitted to statistics of the columns
_SCALE_OF_CONSTANTS = 1e30  # of a constant column, as a multiple of its absolute value or of 1


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns weighted by ``scaler``, if there is one, then rows brought to unit norm, if ``to_unit_rows``."""

    scaler: Any
    to_unit_rows: bool

    def weight_columns(self, X: Any) -> Any:
        """The samples with their columns weighted."""
        if not on_host(X) and self.scaler is not None:
            xp = namespace(X)
            if isinstance(self.scaler, StandardScaler):
                X = X - xp.astype(to_device_of(self.scaler.mean_, X), X.dtype)
            return X / xp.astype(to_device_of(column_units(self.scaler), X), X.dtype)
        if isinstance(self.scaler, StandardScaler):  # whose own transform would validate X again
            X = X.toarray() if issparse(X) else X  # training was dense
            mean, scale = self.scaler.mean_, self.scaler.scale_
            X = X - mean.astype(X.dtype, copy=False)
            X /= scale.astype(X.dtype, copy=False)
            return X
        if isinstance(self.scaler, TfidfTransformer):
            idf = self.scaler.idf_.astype(X.dtype)  # its own transform takes no NaN
            return csr_array((X.data * idf[X.indices], X.indices, X.indptr), shape=X.shape) if issparse(X) else X * idf
        return X

    def transform(self, X: Any) -> tuple[Any, Array]:
        """The scaled samples, and the norm that each row had before it was divided by it."""
        with np.errstate(over="ignore"):
            X = self.weight_columns(X)
        if self.scaler is not None and on_host(X) and np.isinf(X.data if issparse(X) else X).any():
            raise too_large_for_model("they overflow when its columns are scaled")
        if self.to_unit_rows:
            return unit_rows(X)
        return X, namespace(X).ones((X.shape[0],), dtype=X.dtype, device=None if on_host(X) else device(X))

    def inverse_transform(self, X: Any, norms: Any) -> Any:
        """Scaled samples in their original units."""
        X = csr_array(X * norms[:, None]) if issparse(X) else X * norms[:, None]
        if self.scaler is None:
            return X
        units = to_device_of(column_units(self.scaler), X)
        X = csr_array(X * units) if issparse(X) else X * units
        return X + to_device_of(self.scaler.mean_, X) if isinstance(self.scaler, StandardScaler) else X


def column_units(scaler: Any) -> Any:
    """What 1 in each scaled column is in the column's own unit."""
    if isinstance(scaler, StandardScaler):
        return scaler.scale_
    if isinstance(scaler, TfidfTransformer):
        return 1 / scaler.idf_
    if scaler is None:
        return 1
    raise TypeError(f"the units of a {type(scaler).__name__} are not defined.")


def fit_scaling(statistics: ColumnStatistics | None, scaling: str | None) -> Scaling:
    """A fitted scaling, one of ``SCALINGS``; only those of ``COLUMN_SCALINGS`` need statistics."""
    if scaling not in COLUMN_SCALINGS:
        return Scaling(None, scaling is not None)
    assert statistics is not None
    scaler = None
    if scaling == "columns":
        scaler = _standard_scaler(statistics)
    elif scaling == "idf":
        if statistics.missing:
            raise ValueError('scaling="idf" needs complete samples: it counts the samples with a word. Use "rows".')
        scaler = TfidfTransformer(norm=None)
        scaler.n_features_in_ = statistics.nonzero.size
        documents = (statistics.nonzero + 1).astype(statistics.dtype)
        scaler.idf_ = np.log(np.asarray(statistics.n_samples + 1, dtype=statistics.dtype) / documents) + 1
    return Scaling(scaler, scaling is not None)


def _standard_scaler(statistics: ColumnStatistics) -> StandardScaler:
    """The scaler that scikit-learn fits, except for columns that are constant or have no observed entry.

    Nothing was learnt about those, and scikit-learn would leave them in their own units, in which a new value may
    exceed all other columns. Their scale is so large that no value counts, and finite, so that scaling can be inverted.
    """
    if statistics.sparse:
        raise ValueError('scaling="columns" would fill sparse X with non-zeros. Pass X dense, or use "rows".')
    n, variance = statistics.observed, statistics.variance
    mean, eps = np.where(n, statistics.mean, 0.0), np.finfo(np.float64).eps
    with np.errstate(all="ignore"):
        is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2  # scikit-learn's bound for rounding
        largest = np.finfo(statistics.dtype).max / 4
        ignored = np.minimum(_SCALE_OF_CONSTANTS * np.maximum(np.abs(mean), 1.0), largest)
        scale = np.where(is_constant | (n == 0), ignored, np.sqrt(variance))
    if not np.isfinite(scale).all():
        raise ValueError("X has columns whose variance overflows. Scale them down.")
    scaler = StandardScaler()
    scaler.mean_, scaler.var_, scaler.scale_, scaler.n_features_in_ = mean, variance, scale, mean.size
    scaler.n_samples_seen_ = n if statistics.missing else np.asarray(statistics.n_samples)[()]
    return scaler


def suitable_scalings(statistics: ColumnStatistics) -> tuple[str, ...]:
    """Scalings that may suit the samples, the most likely one first.

    Counts and images are sums of non-negative parts, and centring would destroy that; negative entries in them are
    corrupted ones. Measurements in different units must be standardised; a column that is often negative is one, and
    one column that outweighs all others is probably in another unit.
    Weighting rare words more than frequent ones helps on most text, but not on all.
    """
    if statistics.sparse:
        return ("rows",) if statistics.missing else ("idf", "rows")
    if (statistics.negative / np.where(statistics.observed > 0, statistics.observed, 1)).max() > NEGATIVE_SHARE:
        return ("columns",)
    if not statistics.finite_variance:
        return ("rows",)
    return ("columns", "rows") if statistics.largest_share > MAX_COLUMN_SHARE else ("rows", "columns")
