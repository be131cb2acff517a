"""Other methods to compare a model with, as they are by default."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs.methods import BinaryRelevance, MLkNN


def fitted_rivals(X: Any, Y: Any) -> dict[str, Any]:
    """Binary relevance and ML-kNN, fitted to samples with known labels, for ``rivals`` of a report.

    They get samples as in the paper's comparison: dense ones that do not lie in [0, 1] are standardised, then all are
    brought to unit norm. Missing entries are the mean of their column. Their parameters are as by default.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
    Y : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,)

    Returns
    -------
    dict from names to fitted classifiers
    """
    outside = not issparse(X) and (np.nanmin(X) < 0 or np.nanmax(X) > 1)
    found = {}
    for name, rival in (("Binary relevance", BinaryRelevance()), ("ML-kNN", MLkNN())):
        steps = [SimpleImputer(keep_empty_features=True), *([StandardScaler()] if outside else []), Normalizer(), rival]
        found[name] = make_pipeline(*steps).fit(X, Y)
    return found
