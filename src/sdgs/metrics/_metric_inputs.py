"""What metrics are computed from: checked labels, scores and weights, and sums over samples."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_array

from sdgs._utils import _sample_weight
from sdgs._utils._array_api import is_dispatched, to_host
from sdgs._utils._label_collections import align_label_lists, has_label_lists
from sdgs._utils._validation import check_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampleSums:
    """A metric as a function of sums over samples, so that weights and resampled samples are one product each.

    Attributes
    ----------
    terms : {ndarray, csr_array} of shape (n, m)
        What is summed.
    combine : callable
        Takes sums of shape (r, m), and returns r values.
    """

    terms: Any
    combine: Callable[[Floats], Floats]

    def values(self, weights: Floats) -> Floats:
        """The values for ``weights`` of shape (r, n)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.combine(np.asarray((self.terms.T @ weights.T).T))

    def value(self, sample_weight: Any = None) -> float:
        """The value for one weight per sample, by default 1."""
        return float(self.values(check_sample_weight(sample_weight, self.terms.shape[0])[None])[0])


def mean_of(values: Floats) -> SampleSums:
    """The mean of one value per sample; samples whose value is NaN are left out."""
    defined = ~np.isnan(values)
    return SampleSums(np.stack([np.where(defined, values, 0.0), defined], axis=1), ratio_of_two)


def ratio_of_two(sums: Floats) -> Floats:
    """The first sum over the second; 0/0 is NaN."""
    ratios: Floats = sums[:, 0] / sums[:, 1]
    return ratios


def check_pair(Y_true: Any, Y_pred: Any) -> tuple[csr_array, csr_array]:
    """True and predicted labels as integer CSR matrices; an error if shapes or names differ."""
    Y_true, Y_pred = align_label_lists(Y_true, Y_pred)
    true = check_true_labels(Y_true)
    pred = check_labels(Y_pred, name="Y_pred", some_positive=False)
    _check_alike(Y_true, Y_pred, true.shape, pred.shape, "Y_pred")
    return true, pred.tocsr().astype(np.int64)


def check_true_labels(Y_true: Any) -> csr_array:
    """True labels as an integer CSR matrix with at least one row."""
    if has_label_lists(Y_true):
        raise ValueError(
            "Y_true has a list of labels for each sample, but columns of scores have no names. Pass a label matrix "
            "with the columns of the scores: sklearn.preprocessing.MultiLabelBinarizer(classes=model.classes_)."
        )
    true = check_labels(Y_true, name="Y_true", some_positive=False)
    if true.shape[0] == 0:
        raise ValueError("Y_true has no samples. At least one is needed to average over.")
    return true.tocsr().astype(np.int64)


def check_scores(Y_true: Any, scores: Any, *, name: str = "y_score") -> tuple[NDArray[np.bool_], Floats]:
    """True labels as a boolean array, and finite scores of the same shape."""
    true = check_true_labels(Y_true)
    values = check_array(to_host(scores) if is_dispatched(scores) else scores, dtype=np.float64, input_name=name)
    _check_alike(Y_true, scores, true.shape, values.shape, name)
    return true.toarray().astype(bool), values


def check_probabilities(Y_true: Any, probabilities: Any) -> tuple[NDArray[np.bool_], Floats]:
    """True labels as a boolean array, and probabilities of the same shape."""
    true, P = check_scores(Y_true, probabilities, name="y_proba")
    if P.min() < 0 or P.max() > 1:
        raise ValueError(
            f"y_proba must hold probabilities, from 0 to 1; got values from {P.min():.3g} to {P.max():.3g}. "
            "Use predict_proba rather than decision_function."
        )
    return true, P


def check_sample_weight(sample_weight: Any, n: int) -> Floats:
    """One weight per sample, by default 1."""
    weights = _sample_weight.check_sample_weight(sample_weight, n)
    return np.ones(n) if weights is None else weights


def check_fill_value(value: Any, name: str) -> float:
    """What 0/0 counts as: 0, 1 or NaN."""
    if isinstance(value, numbers.Real) and (value in (0, 1) or value != value):  # or NaN
        return float(value)
    raise ValueError(f"{name} must be 0, 1 or numpy.nan, got {value!r}.")


def _check_alike(Y_true: Any, other: Any, shape: tuple[int, ...], other_shape: tuple[int, ...], name: str) -> None:
    if shape != other_shape:
        raise ValueError(f"Y_true and {name} must have the same shape, got {shape} and {other_shape}.")
    names, other_names = (getattr(frame, "columns", None) for frame in (Y_true, other))  # of pandas or Polars
    if names is not None and other_names is not None and list(names) != list(other_names):
        raise ValueError(f"Y_true and {name} have different columns, or another order: pass {name}[Y_true.columns].")
