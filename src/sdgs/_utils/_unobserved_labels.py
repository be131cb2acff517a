"""Label matrices of which some entries are unobserved.

Such a matrix is CSR or CSC in float64, with a stored NaN for each unobserved entry. One without them is boolean.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from sdgs._utils._validation import check_labels, is_missing, unwrap_labels

Array = NDArray[np.floating[Any]]


def check_observed_labels(
    Y: Any, *, n_samples: int | None = None, name: str = "Y", some_positive: bool = True
) -> csc_array:
    """``Y`` as a CSC matrix: boolean if all labels are observed, else in float64 with a stored NaN for the others.

    NaN, None and NA are unobserved labels. Anything else but a 2-D matrix of 0 and 1 is rejected.
    """
    Y, unobserved = split_unobserved(Y, name)
    labels = check_labels(Y, n_samples=n_samples, name=name, some_positive=some_positive)
    if unobserved is None:
        return labels
    return csc_array(labels.astype(np.float64) + _filled_with(unobserved, np.nan))


def split_unobserved(Y: Any, name: str = "Y") -> tuple[Any, csc_array | None]:
    """A label matrix with 0 for unobserved labels, and where these are (boolean); None if all are observed.

    What is not a matrix is returned as it is: other checks reject it.
    """
    if issparse(Y):
        return _split_sparse(Y)
    values = unwrap_labels(Y, name)
    if values.ndim != 2 or values.dtype.kind not in "fO":
        return values, None
    mask = np.isnan(values) if values.dtype.kind == "f" else np.frompyfunc(is_missing, 1, 1)(values).astype(bool)
    if not mask.any():
        return values, None
    values = np.where(mask, 0, values)
    with suppress(TypeError, ValueError, OverflowError):  # check_labels reports other values
        values = values.astype(np.float64)
    return values, csc_array(mask)


def _split_sparse(Y: Any) -> tuple[Any, csc_array | None]:
    if Y.dtype.kind != "f" or not has_unobserved(Y if Y.format in ("csr", "csc", "coo") else Y.tocsc()):
        return Y, None
    values = csc_array(Y, copy=True)
    values.sum_duplicates()
    unobserved = _unobserved(values)
    values.data[np.isnan(values.data)] = 0
    values.eliminate_zeros()
    return values, unobserved


def has_unobserved(labels: Any) -> bool:
    """Whether a label matrix, sparse or an array, has NaN."""
    values = labels.data if issparse(labels) else labels
    return bool(values.dtype.kind == "f" and np.isnan(values).any())


def known_positives(labels: Any) -> Any:
    """The labels that samples are known to have: a boolean matrix of the same format."""
    if labels.dtype == bool:
        return labels
    positive = type(labels)((labels.data == 1, labels.indices.copy(), labels.indptr.copy()), shape=labels.shape)
    positive.eliminate_zeros()
    return positive


def informative_rows(labels: csr_array, sample_weight: Array | None = None) -> NDArray[np.intp] | None:
    """The samples with a positive weight and an observed label; None if these are all."""
    informative = np.ones(labels.shape[0], dtype=bool) if sample_weight is None else sample_weight > 0
    if has_unobserved(labels):
        n_unobserved = csr_array((np.isnan(labels.data).astype(np.int64), labels.indices, labels.indptr)).sum(axis=1)
        informative &= n_unobserved < labels.shape[1]
    return None if informative.all() else np.flatnonzero(informative)


def label_frequencies(labels: Any, sample_weight: Array | None = None) -> Array:
    """The share of each label among the samples of which it is known; 0 for a label that is never observed."""
    positive = column_sums(known_positives(labels), sample_weight)
    observed = observed_totals(labels, sample_weight)
    if not isinstance(observed, np.ndarray):
        return np.asarray(positive / observed)
    return np.asarray(np.divide(positive, observed, out=np.zeros_like(positive), where=observed > 0))


def observed_totals(labels: Any, sample_weight: Array | None = None) -> float | Array:
    """The weight of the samples in which each label is observed; one number if all labels are in all samples."""
    total = float(labels.shape[0]) if sample_weight is None else float(sample_weight.sum())
    return total - column_sums(_unobserved(labels), sample_weight) if has_unobserved(labels) else total


def expected_labels(labels: Any, sample_weight: Array | None = None) -> Any:
    """The labels (CSR), with a label's frequency where it is unobserved: such an entry is zero once it is centred."""
    if not has_unobserved(labels):
        return labels
    frequencies = label_frequencies(labels, sample_weight)
    labels = csr_array(labels, copy=True)
    mask = np.isnan(labels.data)
    labels.data[mask] = frequencies[labels.indices[mask]]
    return labels


def observed_samples(X: Any, y: NDArray[Any], *others: Any) -> tuple[Any, ...]:
    """Samples, one label of theirs and other arrays (or None), without the samples in which the label is unobserved."""
    if not has_unobserved(y):
        return X, y, *others
    rows = np.flatnonzero(~np.isnan(y))
    return X[rows], y[rows] == 1, *(None if each is None else each[rows] for each in others)


def column_sums(indicator: Any, sample_weight: Array | None = None) -> Array:
    """The sums of the columns of a sparse matrix, of rows with weights."""
    if sample_weight is None:
        return np.asarray(indicator.sum(axis=0), dtype=np.float64).reshape(-1)
    return np.asarray(indicator.T.astype(np.float64) @ sample_weight, dtype=np.float64).reshape(-1)


def _unobserved(labels: Any) -> Any:
    entries = type(labels)((np.isnan(labels.data), labels.indices.copy(), labels.indptr.copy()), shape=labels.shape)
    entries.eliminate_zeros()
    return entries


def _filled_with(indicator: csc_array, value: float) -> csc_array:
    return csc_array((np.full(indicator.nnz, value), indicator.indices, indicator.indptr), shape=indicator.shape)
