"""Samples made comparable before anything else sees them: columns weighted, rows of unit norm.

Plain functions on arrays; X (n, p) is dense or CSR, and complete or not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs._rows import narrow_indices, unit_rows
from sdgs._validation import has_missing

Array = NDArray[np.floating[Any]]
SCALINGS = ("rows", "columns", "idf", None)

_OFTEN = 0.2  # a larger share of negative entries is no accident


@dataclass(frozen=True, eq=False)
class Scaling:
    """Samples made comparable: columns weighted by ``scaler``, if there is one, then rows of unit norm, if asked."""

    scaler: Any
    to_unit_rows: bool

    def columns(self, X: Any) -> Any:
        """The samples with their columns weighted."""
        if isinstance(self.scaler, StandardScaler):
            return self.scaler.transform(X.toarray() if issparse(X) else X)  # training was dense
        if isinstance(self.scaler, TfidfTransformer):
            idf = self.scaler.idf_.astype(X.dtype)  # its own transform takes no NaN
            return csr_array((X.data * idf[X.indices], X.indices, X.indptr), shape=X.shape) if issparse(X) else X * idf
        return X

    def __call__(self, X: Any) -> tuple[Any, Array]:
        """The samples as the method sees them, and the norms that they had before."""
        X = self.columns(X)
        return unit_rows(X) if self.to_unit_rows else (X, np.ones(X.shape[0], dtype=X.dtype))


def learn_scaling(X: Any, how: str | None) -> Scaling:
    """``how`` is one of ``SCALINGS``; see :class:`sdgs.SDGSClassifier`."""
    scaler = None
    if how == "columns":
        if issparse(X):
            raise ValueError('scaling="columns" would fill sparse X with non-zeros. Pass it dense, or use "rows".')
        scaler = _standardiser(X)
    elif how == "idf":
        if has_missing(X):
            raise ValueError('scaling="idf" counts the samples that have a word, so X must be complete. Use "rows".')
        if issparse(X):
            X = narrow_indices(X).copy()
            X.sum_duplicates()
            X.eliminate_zeros()  # a word that is stored as absent is absent
        scaler = TfidfTransformer(norm=None).fit(X)
    return Scaling(scaler, how is not None)


def possible_scalings(X: Any) -> tuple[str, ...]:
    """What may suit ``X``, the likeliest first.

    Counts and images have no negative entries but corrupted ones, and mean sums: centring would take that from them.
    Measurements in different units must be made comparable first, and some of those are often negative. Rare words say
    more than frequent ones, except where they do not.
    """
    if issparse(X):
        return ("rows",) if has_missing(X) else ("idf", "rows")
    observed = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    if ((X < 0).sum(axis=0) / observed).max() > _OFTEN:
        return ("columns",)
    with np.errstate(over="ignore", invalid="ignore"):
        varies = bool(np.isfinite(np.nanvar(np.nan_to_num(X), axis=0)).all())  # or it cannot be standardised
    return ("rows", "columns") if varies else ("rows",)


def _standardiser(X: Array) -> StandardScaler:
    """Of what was observed of each column; a column of which nothing was is left alone."""
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X)
    unknown = np.isnan(X).all(axis=0)
    scaler.mean_[unknown], scaler.scale_[unknown] = 0.0, 1.0
    if not np.isfinite(scaler.scale_).all():
        raise ValueError("X has columns whose variance overflows. Scale them down.")
    return scaler
