"""Metrics of predicted label sets. The definitions are in the docstring of the package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from sdgs.metrics._metric_inputs import Floats, SampleSums, check_fill_value, check_pair, mean_of, ratio_of_two

_ROUNDING = 1e-12  # of sums of weights


def hamming_loss(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of label assignments that are wrong. Smaller is better."""
    return hamming_sums(*check_pair(Y_true, Y_pred)).value(sample_weight)


def precision(
    Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Mean share of a sample's predicted labels that are true."""
    pair = check_pair(Y_true, Y_pred)
    return precision_sums(*pair, both_empty=both_empty, zero_division=zero_division).value(sample_weight)


def recall(
    Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Mean share of a sample's true labels that are predicted."""
    pair = check_pair(Y_true, Y_pred)
    return recall_sums(*pair, both_empty=both_empty, zero_division=zero_division).value(sample_weight)


def f1(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, sample_weight: Any = None) -> float:
    """Mean harmonic mean of a sample's precision and recall."""
    return f1_sums(*check_pair(Y_true, Y_pred), both_empty=both_empty).value(sample_weight)


def accuracy(Y_true: Any, Y_pred: Any, *, both_empty: float = 1.0, sample_weight: Any = None) -> float:
    """Mean Jaccard index of a sample's true and predicted labels.

    It differs from scikit-learn's ``accuracy_score``, the share of samples whose labels are all right, which is
    :func:`subset_accuracy`.
    """
    return accuracy_sums(*check_pair(Y_true, Y_pred), both_empty=both_empty).value(sample_weight)


def subset_accuracy(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of samples whose labels are all right: scikit-learn's ``accuracy_score``."""
    return subset_accuracy_sums(*check_pair(Y_true, Y_pred)).value(sample_weight)


def micro_f1(Y_true: Any, Y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None) -> float:
    """F1 of all label assignments together: scikit-learn's ``f1_score`` with ``average="micro"``."""
    return micro_f1_sums(*check_pair(Y_true, Y_pred), zero_division=zero_division).value(sample_weight)


def macro_f1(Y_true: Any, Y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None) -> float:
    """Mean over labels of the label's F1: scikit-learn's ``f1_score`` with ``average="macro"``.

    A label that no sample has and that is never predicted counts as ``zero_division``; with NaN it is left out.
    """
    return macro_f1_sums(*check_pair(Y_true, Y_pred), zero_division=zero_division).value(sample_weight)


def weighted_f1(Y_true: Any, Y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None) -> float:
    """Mean over labels of the label's F1, weighted by its samples: ``f1_score`` with ``average="weighted"``."""
    return weighted_f1_sums(*check_pair(Y_true, Y_pred), zero_division=zero_division).value(sample_weight)


def hamming_sums(true: csr_array, pred: csr_array, unobserved: csr_array | None = None) -> SampleSums:
    """Of :func:`hamming_loss`."""
    wrong = _wrong(true, pred)
    if unobserved is None:
        return mean_of(wrong / true.shape[1])
    return SampleSums(np.stack([wrong, _n_observed(unobserved)], axis=1).astype(np.float64), ratio_of_two)


def subset_accuracy_sums(true: csr_array, pred: csr_array, unobserved: csr_array | None = None) -> SampleSums:
    """Of :func:`subset_accuracy`."""
    return _mean_of_observed((_wrong(true, pred) == 0).astype(np.float64), unobserved)


def precision_sums(
    true: csr_array,
    pred: csr_array,
    unobserved: csr_array | None = None,
    *,
    both_empty: float,
    zero_division: float,
) -> SampleSums:
    """Of :func:`precision`."""
    both, n_true, n_pred = _sizes(true, pred)
    return _mean_of_observed(_ratio(both, n_pred, n_true, both_empty, zero_division), unobserved)


def recall_sums(
    true: csr_array,
    pred: csr_array,
    unobserved: csr_array | None = None,
    *,
    both_empty: float,
    zero_division: float,
) -> SampleSums:
    """Of :func:`recall`."""
    both, n_true, n_pred = _sizes(true, pred)
    return _mean_of_observed(_ratio(both, n_true, n_pred, both_empty, zero_division), unobserved)


def f1_sums(true: csr_array, pred: csr_array, unobserved: csr_array | None = None, *, both_empty: float) -> SampleSums:
    """Of :func:`f1`."""
    both, n_true, n_pred = _sizes(true, pred)
    return _mean_of_observed(_ratio(2 * both, n_true + n_pred, 0 * both, both_empty, 0.0), unobserved)


def accuracy_sums(
    true: csr_array, pred: csr_array, unobserved: csr_array | None = None, *, both_empty: float
) -> SampleSums:
    """Of :func:`accuracy`."""
    both, n_true, n_pred = _sizes(true, pred)
    return _mean_of_observed(_ratio(both, n_true + n_pred - both, 0 * both, both_empty, 0.0), unobserved)


def micro_f1_sums(
    true: csr_array,
    pred: csr_array,
    unobserved: csr_array | None = None,
    *,
    zero_division: float,
) -> SampleSums:
    """Of :func:`micro_f1`."""
    fill = check_fill_value(zero_division, "zero_division")
    both, n_true, n_pred = _sizes(true, pred)
    columns = [2.0 * both, n_true + n_pred] + ([] if unobserved is None else [_n_observed(unobserved)])

    def combine(sums: Floats) -> Floats:
        empty = fill if unobserved is None else np.where(sums[:, 2] == 0, np.nan, fill)
        return np.where(sums[:, 1] == 0, empty, sums[:, 0] / sums[:, 1])

    return SampleSums(np.stack(columns, axis=1), combine)


def macro_f1_sums(
    true: csr_array, pred: csr_array, unobserved: csr_array | None = None, *, zero_division: float
) -> SampleSums:
    """Of :func:`macro_f1`."""
    return _label_f1_sums(true, pred, unobserved, zero_division, lambda _, n_pred: np.ones_like(n_pred))


def weighted_f1_sums(
    true: csr_array, pred: csr_array, unobserved: csr_array | None = None, *, zero_division: float
) -> SampleSums:
    """Of :func:`weighted_f1`."""
    return _label_f1_sums(true, pred, unobserved, zero_division, lambda n_true, _: n_true)


def _label_f1_sums(
    true: csr_array, pred: csr_array, unobserved: csr_array | None, zero_division: float, label_weights: Any
) -> SampleSums:
    """The weighted mean of F1 over labels; if all weights are 0, the mean, as in scikit-learn.

    Labels that no sample has observed are left out.
    """
    fill, k = check_fill_value(zero_division, "zero_division"), true.shape[1]

    def combine(sums: Floats) -> Floats:
        both, n_true, n_pred = (sums[:, start : start + k] for start in (0, k, 2 * k))
        size = n_true + n_pred
        values = np.where(size == 0, fill, 2 * both / size)
        if unobserved is not None:
            n_unobserved, n_samples = sums[:, 3 * k : 4 * k], sums[:, 4 * k :]
            values[n_unobserved >= (1 - _ROUNDING) * n_samples] = np.nan
        defined = ~np.isnan(values)
        weights = defined * label_weights(n_true, n_pred)
        weights = np.where(weights.sum(axis=1, keepdims=True) == 0, defined, weights)
        means: Floats = (weights * np.nan_to_num(values)).sum(axis=1) / weights.sum(axis=1)
        return means

    terms = [true.multiply(pred), true, pred]
    if unobserved is not None:
        terms += [unobserved, np.ones((true.shape[0], 1))]
    return SampleSums(csr_array(hstack(terms, format="csr"), dtype=np.float64), combine)


def _mean_of_observed(values: Floats, unobserved: csr_array | None) -> SampleSums:
    """The mean of one value per sample, of those with an observed label."""
    return mean_of(values if unobserved is None else np.where(_n_observed(unobserved) == 0, np.nan, values))


def _n_observed(unobserved: csr_array) -> NDArray[Any]:
    """The number of observed labels of each sample."""
    n_observed: NDArray[Any] = unobserved.shape[1] - unobserved.sum(axis=1)
    return n_observed


def _wrong(true: csr_array, pred: csr_array) -> NDArray[Any]:
    """The number of wrong labels of each sample."""
    wrong: NDArray[Any] = abs(true - pred).sum(axis=1)
    return wrong


def _sizes(true: csr_array, pred: csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The sizes of the intersection, of the true and of the predicted label set of each sample."""
    return true.multiply(pred).sum(axis=1), true.sum(axis=1), pred.sum(axis=1)


def _ratio(
    numerator: NDArray[Any],
    denominator: NDArray[Any],
    other_size: NDArray[Any],
    both_empty: float,
    zero_division: float,
) -> Floats:
    """The ratios; a ratio of 0/0 is ``both_empty`` if ``other_size``, the size of the other set, is 0 too."""
    both_empty = check_fill_value(both_empty, "both_empty")
    fill = np.where(other_size == 0, both_empty, check_fill_value(zero_division, "zero_division"))
    ratios: Floats = np.where(denominator == 0, fill, numerator / np.maximum(denominator, 1))
    return ratios
