"""Other methods, with their default parameters, to compare a model with."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs.methods import BinaryRelevance, MLkNN


def fit_compared_methods(X: Any, Y: Any) -> dict[str, Any]:
    """Fit binary relevance and ML-kNN, for the parameter ``compared_methods`` of a report.

    The samples are preprocessed as in the paper's comparison: missing entries are replaced by the mean of their column,
    dense features outside [0, 1] are standardised, and every sample is scaled to unit norm. All parameters have their
    default values.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
    Y : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,)

    Returns
    -------
    dict from names to fitted classifiers
    """
    standardize = not issparse(X) and (np.nanmin(X) < 0 or np.nanmax(X) > 1)
    scalers = [*([StandardScaler()] if standardize else []), Normalizer()]
    return {
        name: make_pipeline(SimpleImputer(keep_empty_features=True), *scalers, classifier).fit(X, Y)
        for name, classifier in (("Binary relevance", BinaryRelevance()), ("ML-kNN", MLkNN()))
    }
