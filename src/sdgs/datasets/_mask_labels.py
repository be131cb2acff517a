"""Label matrices of which some entries are unobserved, made from a mask."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sdgs._utils._unobserved_labels import check_observed_labels
from sdgs._utils._validation import check_labels, is_data_frame


def mask_labels(Y: Any, unobserved: Any) -> Any:
    """A copy of a label matrix in which some labels are unobserved.

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1; NaN where a label is unobserved already.
    unobserved : {array-like, sparse matrix, DataFrame} of shape (n, k)
        True or 1 where the copy is to be unobserved.

    Returns
    -------
    ndarray, csr_array or DataFrame of shape (n, k)
        The labels as float64, with NaN where they are unobserved; stored NaN if ``Y`` is sparse.

    Examples
    --------
    >>> from sdgs.datasets import mask_labels
    >>> mask_labels([[1, 0], [0, 1]], [[0, 0], [1, 0]])
    array([[ 1.,  0.],
           [nan,  1.]])
    """
    labels = check_observed_labels(Y, some_positive=False).astype(np.float64)
    mask = check_labels(unobserved, name="unobserved", some_positive=False)
    if mask.shape != labels.shape:
        raise ValueError(f"unobserved must have the shape of Y, {labels.shape}; got {mask.shape}.")
    masked = csr_array(labels + mask.astype(np.float64) * np.nan)
    if issparse(Y):
        return masked
    values = masked.toarray()
    if not is_data_frame(Y):
        return values
    import pandas as pd

    return pd.DataFrame(values, index=Y.index, columns=Y.columns)
