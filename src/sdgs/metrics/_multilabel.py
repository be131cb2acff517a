"""The paper's five measures of a multi-label prediction, with its definitions, averaged over samples.

With Y_i the true and Z_i the predicted label set of sample i, of k labels::

    Hamming loss  |Y_i xor Z_i| / k
    precision     |Y_i & Z_i| / |Z_i|
    recall        |Y_i & Z_i| / |Y_i|
    F1            2 |Y_i & Z_i| / (|Y_i| + |Z_i|)
    accuracy      |Y_i & Z_i| / |Y_i | Z_i|

The paper leaves 0/0 open. The rule here, for all four ratios alike: where *both* sets are empty the prediction is right
and counts as ``both_empty`` (1 by default); where only one is, precision or recall may be 0/0 and counts as
``zero_division`` (0 by default). Either may be ``numpy.nan``, which leaves such samples out of the average.
"""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.metrics import f1_score, jaccard_score

from sdgs._utils._validation import check_labels

__all__ = ["accuracy", "evaluate", "evaluate_labels", "f1", "hamming_loss", "precision", "recall"]


def hamming_loss(Y_true: Any, Y_pred: Any) -> float:
    """Share of label assignments that are wrong; the smaller the better."""
    true, pred = _pair(Y_true, Y_pred)
    return float((true != pred).nnz / (true.shape[0] * true.shape[1]))


def precision(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean share of a sample's predicted labels that are true."""
    true, pred = _pair(Y_true, Y_pred)
    return _mean_share(true.multiply(pred).sum(axis=1), pred.sum(axis=1), true.sum(axis=1), both_empty, zero_division)


def recall(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean share of a sample's true labels that are predicted."""
    true, pred = _pair(Y_true, Y_pred)
    return _mean_share(true.multiply(pred).sum(axis=1), true.sum(axis=1), pred.sum(axis=1), both_empty, zero_division)


def f1(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0) -> float:
    """Mean harmonic mean of a sample's precision and recall."""
    # Its denominator is zero only where both sets are empty, so scikit-learn's zero_division is our both_empty.
    pair, value = _two_columns(*_pair(Y_true, Y_pred)), _allowed(both_empty, "both_empty")
    return float(f1_score(*pair, average="samples", zero_division=value))


def accuracy(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0) -> float:
    """Mean Jaccard index of a sample's true and predicted labels.

    Not scikit-learn's accuracy, which for label sets is the share of samples that are right as a whole.
    """
    pair, value = _pair(Y_true, Y_pred), _allowed(both_empty, "both_empty")
    if np.isnan(value):  # scikit-learn's Jaccard index knows only 0 and 1 here
        true, pred = pair
        both = true.multiply(pred).sum(axis=1)
        return _mean_share(both, true.sum(axis=1) + pred.sum(axis=1) - both, 0 * both, value, 0.0)
    return float(jaccard_score(*_two_columns(*pair), average="samples", zero_division=value))


def evaluate(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0) -> dict[str, float]:
    """All five measures, by name, in the paper's order.

    Examples
    --------
    >>> from sdgs.metrics import evaluate
    >>> evaluate([[1, 1, 0, 0]], [[1, 0, 1, 0]])["f1"]
    0.5
    """
    return {
        "hamming_loss": hamming_loss(Y_true, Y_pred),
        "precision": precision(Y_true, Y_pred, both_empty=both_empty, zero_division=zero_division),
        "recall": recall(Y_true, Y_pred, both_empty=both_empty, zero_division=zero_division),
        "f1": f1(Y_true, Y_pred, both_empty=both_empty),
        "accuracy": accuracy(Y_true, Y_pred, both_empty=both_empty),
    }


def evaluate_labels(Y_true: Any, Y_pred: Any) -> dict[str, NDArray[Any]]:
    """Each label by itself: in how many samples it is and is predicted, precision, recall and F1 over the samples.

    Returns
    -------
    dict of ndarrays of shape (k,)
        ``samples``, ``predicted``, ``precision``, ``recall`` and ``f1``. NaN where a share is not defined: precision
        of a label that was never predicted, recall of one that no sample has, F1 where both are so.

    Examples
    --------
    >>> from sdgs.metrics import evaluate_labels
    >>> evaluate_labels([[1, 1], [1, 0]], [[1, 0], [0, 0]])["recall"]
    array([0.5, 0. ])
    """
    true, pred = _pair(Y_true, Y_pred)
    both, samples, predicted = true.multiply(pred).sum(axis=0), true.sum(axis=0), pred.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return {
            "samples": samples,
            "predicted": predicted,
            "precision": both / predicted,
            "recall": both / samples,
            "f1": 2 * both / (samples + predicted),
        }


def _pair(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    """Both as integer CSR matrices of one shape."""
    true = check_labels(Y_true, name="Y_true", some_positive=False)
    pred = check_labels(Y_pred, name="Y_pred", some_positive=False)
    if true.shape != pred.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, got {true.shape} and {pred.shape}.")
    if true.shape[0] == 0:
        raise ValueError("Y_true and Y_pred have no samples: there is nothing to average over.")
    return true.tocsr().astype(np.int64), pred.tocsr().astype(np.int64)


def _two_columns(true: Any, pred: Any) -> tuple[Any, Any]:
    """Both with a label that nobody has added if there is only one: scikit-learn would not take it for multi-label."""
    if true.shape[1] > 1:
        return true, pred
    nobody = csr_array(true.shape, dtype=true.dtype)
    return hstack([true, nobody], format="csr"), hstack([pred, nobody], format="csr")


def _mean_share(
    part: NDArray[Any], whole: NDArray[Any], other: NDArray[Any], both_empty: float, zero_division: float
) -> float:
    """Mean of part / whole; where ``whole`` is 0 the rule above applies, ``other`` being the size of the other set."""
    fill = np.where(other == 0, _allowed(both_empty, "both_empty"), _allowed(zero_division, "zero_division"))
    shares = np.where(whole == 0, fill, part / np.maximum(whole, 1))
    counted = shares[~np.isnan(shares)]
    return float(counted.mean()) if counted.size else float("nan")


def _allowed(value: Any, name: str) -> float:
    if isinstance(value, numbers.Real) and (value in (0, 1) or np.isnan(float(value))):
        return float(value)
    raise ValueError(f"{name} must be 0, 1 or numpy.nan, got {value!r}.")
