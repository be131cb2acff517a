"""The metrics and their registry. The definitions are in the docstring of the package."""

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.metrics import f1_score, jaccard_score

from sdgs._utils._validation import check_labels, is_data_frame


def hamming_loss(Y_true: Any, Y_pred: Any) -> float:
    """Share of label assignments that are wrong. Smaller is better."""
    true, pred = _check_pair(Y_true, Y_pred)
    return float((true != pred).nnz / (true.shape[0] * true.shape[1]))


def precision(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean share of a sample's predicted labels that are true."""
    true, pred = _check_pair(Y_true, Y_pred)
    return _mean_ratio(true.multiply(pred).sum(axis=1), pred.sum(axis=1), true.sum(axis=1), both_empty, zero_division)


def recall(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean share of a sample's true labels that are predicted."""
    true, pred = _check_pair(Y_true, Y_pred)
    return _mean_ratio(true.multiply(pred).sum(axis=1), true.sum(axis=1), pred.sum(axis=1), both_empty, zero_division)


def f1(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0) -> float:
    """Mean harmonic mean of a sample's precision and recall."""
    # The denominator is zero only where both sets are empty, so scikit-learn's zero_division is our both_empty.
    pair, value = _at_least_two_columns(*_check_pair(Y_true, Y_pred)), _check_fill_value(both_empty, "both_empty")
    return float(f1_score(*pair, average="samples", zero_division=value))


def accuracy(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0) -> float:
    """Mean Jaccard index of a sample's true and predicted labels.

    It differs from scikit-learn's ``accuracy_score``, the share of samples whose labels are all right.
    """
    pair, value = _check_pair(Y_true, Y_pred), _check_fill_value(both_empty, "both_empty")
    if np.isnan(value):  # scikit-learn's jaccard_score accepts only 0 and 1
        true, pred = pair
        both = true.multiply(pred).sum(axis=1)
        return _mean_ratio(both, true.sum(axis=1) + pred.sum(axis=1) - both, 0 * both, value, 0.0)
    return float(jaccard_score(*_at_least_two_columns(*pair), average="samples", zero_division=value))


@dataclass(frozen=True)
class Metric:
    """An entry of ``METRICS``.

    Attributes
    ----------
    title : str
        The name shown in tables and figures.
    function : callable
        Takes ``Y_true``, ``Y_pred`` and ``options``, and returns a float.
    options : tuple of str
        Which of ``both_empty`` and ``zero_division`` the function takes.
    greater_is_better : bool
    """

    title: str
    function: Callable[..., float]
    options: tuple[str, ...] = ()
    greater_is_better: bool = True


METRICS: Mapping[str, Metric] = {
    "hamming_loss": Metric("Hamming loss", hamming_loss, greater_is_better=False),
    "precision": Metric("Precision", precision, ("both_empty", "zero_division")),
    "recall": Metric("Recall", recall, ("both_empty", "zero_division")),
    "f1": Metric("F1", f1, ("both_empty",)),
    "accuracy": Metric("Accuracy", accuracy, ("both_empty",)),
}


def evaluate(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> dict[str, float]:
    """All metrics of ``METRICS`` by name; the paper's five are in its order.

    Examples
    --------
    >>> from sdgs.metrics import evaluate
    >>> evaluate([[1, 1, 0, 0]], [[1, 0, 1, 0]])["f1"]
    0.5
    """
    options = {"both_empty": both_empty, "zero_division": zero_division}
    return {
        name: metric.function(Y_true, Y_pred, **{option: options[option] for option in metric.options})
        for name, metric in METRICS.items()
    }


def evaluate_labels(Y_true: Any, Y_pred: Any) -> dict[str, NDArray[Any]]:
    """Metrics per label: number of samples with the label, number predicted, precision, recall and F1.

    Returns
    -------
    dict of ndarrays of shape (k,)
        ``samples``, ``predicted``, ``precision``, ``recall`` and ``f1``. Undefined ratios are NaN: the precision of a
        label that is never predicted, the recall of a label without samples, and F1 if both apply.

    Examples
    --------
    >>> from sdgs.metrics import evaluate_labels
    >>> evaluate_labels([[1, 1], [1, 0]], [[1, 0], [0, 0]])["recall"]
    array([0.5, 0. ])
    """
    true, pred = _check_pair(Y_true, Y_pred)
    both, samples, predicted = true.multiply(pred).sum(axis=0), true.sum(axis=0), pred.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return {
            "samples": samples,
            "predicted": predicted,
            "precision": both / predicted,
            "recall": both / samples,
            "f1": 2 * both / (samples + predicted),
        }


def _check_pair(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    """Validate the shapes and the names, and return both as integer CSR matrices."""
    true = check_labels(Y_true, name="Y_true", some_positive=False)
    pred = check_labels(Y_pred, name="Y_pred", some_positive=False)
    if true.shape != pred.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, got {true.shape} and {pred.shape}.")
    if is_data_frame(Y_true) and is_data_frame(Y_pred) and not Y_true.columns.equals(Y_pred.columns):
        raise ValueError("Y_true and Y_pred have different columns, or another order: pass Y_pred[Y_true.columns].")
    if true.shape[0] == 0:
        raise ValueError("Y_true and Y_pred have no samples. At least one is needed to average over.")
    return true.tocsr().astype(np.int64), pred.tocsr().astype(np.int64)


def _at_least_two_columns(true: Any, pred: Any) -> tuple[Any, Any]:
    """Append an empty label if there is only one, because scikit-learn treats one column as a binary target."""
    if true.shape[1] > 1:
        return true, pred
    empty = csr_array(true.shape, dtype=true.dtype)
    return hstack([true, empty], format="csr"), hstack([pred, empty], format="csr")


def _mean_ratio(
    numerator: NDArray[Any],
    denominator: NDArray[Any],
    other_size: NDArray[Any],
    both_empty: float,
    zero_division: float,
) -> float:
    """Mean of the ratios; a ratio of 0/0 is ``both_empty`` if ``other_size``, the size of the other set, is 0 too."""
    both_empty = _check_fill_value(both_empty, "both_empty")
    fill = np.where(other_size == 0, both_empty, _check_fill_value(zero_division, "zero_division"))
    ratios = np.where(denominator == 0, fill, numerator / np.maximum(denominator, 1))
    defined = ratios[~np.isnan(ratios)]
    return float(defined.mean()) if defined.size else float("nan")


def _check_fill_value(value: Any, name: str) -> float:
    if isinstance(value, numbers.Real) and (value in (0, 1) or value != value):  # or NaN
        return float(value)
    raise ValueError(f"{name} must be 0, 1 or numpy.nan, got {value!r}.")
