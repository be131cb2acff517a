"""Metrics of probabilities. The definitions are in the docstring of the package."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sdgs._utils._validation import check_choice, check_int
from sdgs.metrics._metric_inputs import (
    Bools,
    Floats,
    SampleSums,
    check_probabilities,
    check_sample_weight,
    mean_of,
    ratio_of_two,
)


def brier_score(y_true: Any, y_proba: Any, *, average: str | None = "micro", sample_weight: Any = None) -> Any:
    """Mean squared difference between probabilities and labels. Smaller is better.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1; NaN where a label is unobserved.
    y_proba : array-like of shape (n, k)
        Probabilities.
    average : {"micro", "macro", None}, default="micro"
        The mean over all observed entries, the mean over labels, or one value per label, which is scikit-learn's
        ``brier_score_loss``. If no label is unobserved, the two means are the same.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    float or ndarray of shape (k,)
        NaN for a label without observed entries, which ``"macro"`` leaves out.
    """
    return _mean_of_errors(_squared_errors, check_probabilities(y_true, y_proba), average, sample_weight)


def log_loss(y_true: Any, y_proba: Any, *, average: str | None = "micro", sample_weight: Any = None) -> Any:
    """Mean negative logarithm of the probability of what is true. Smaller is better.

    Probabilities are clipped to [e, 1 - e], where e is the spacing of float64 at 1, as in scikit-learn. With
    ``average=None`` the values are those of scikit-learn's ``log_loss``. Parameters and result are those of
    :func:`brier_score`.
    """
    return _mean_of_errors(_log_errors, check_probabilities(y_true, y_proba), average, sample_weight)


def expected_calibration_error(
    y_true: Any, y_proba: Any, *, n_bins: int = 10, average: str | None = "micro", sample_weight: Any = None
) -> Any:
    """Mean difference between the mean probability and the frequency in bins of probabilities. Smaller is better.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1; NaN where a label is unobserved.
    y_proba : array-like of shape (n, k)
        Probabilities.
    n_bins : int, default=10
        The number of bins of equal width. A probability on a border belongs to the upper bin.
    average : {"micro", "macro", None}, default="micro"
        The error of all labels together, the mean of the errors of the labels, or one value per label.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    float or ndarray of shape (k,)
        The sum over bins of the share of probabilities in the bin, times the absolute difference between their mean and
        the frequency of the label. NaN for a label without observed entries, which ``"macro"`` leaves out.
    """
    true, P, observed = check_probabilities(y_true, y_proba)
    check_choice(average, "average", ("micro", "macro", None))
    if average == "micro":
        return calibration_sums(true, P, observed, n_bins=n_bins).value(sample_weight)
    weights = check_sample_weight(sample_weight, len(P))
    errors = np.empty(P.shape[1])
    for j in range(errors.size):
        of_label = None if observed is None else observed[:, [j]]
        errors[j] = calibration_sums(true[:, [j]], P[:, [j]], of_label, n_bins=n_bins).value(weights)
    return errors if average is None else _mean_of_labels(errors, observed)


def brier_sums(true: Bools, P: Floats, observed: Bools | None = None) -> SampleSums:
    """Of :func:`brier_score`."""
    return _sums_of_errors(_squared_errors(true, P), observed)


def log_loss_sums(true: Bools, P: Floats, observed: Bools | None = None) -> SampleSums:
    """Of :func:`log_loss`."""
    return _sums_of_errors(_log_errors(true, P), observed)


def calibration_sums(true: Bools, P: Floats, observed: Bools | None = None, *, n_bins: int = 10) -> SampleSums:
    """Of :func:`expected_calibration_error`: differences by bin, and in the last column the number of labels."""
    n_bins = check_int(n_bins, "n_bins", minimum=1)
    n, k = P.shape
    bins = np.minimum((P * n_bins).astype(np.intp), n_bins - 1)
    errors = P - true if observed is None else np.where(observed, P - true, 0.0)
    differences = csr_array((errors.ravel(), (np.repeat(np.arange(n), k), bins.ravel())), shape=(n, n_bins))
    n_labels = np.full((n, 1), float(k)) if observed is None else observed.sum(axis=1, keepdims=True, dtype=np.float64)
    terms = np.hstack([differences.toarray(), n_labels])
    return SampleSums(terms, lambda sums: np.abs(sums[:, :-1]).sum(axis=1) / sums[:, -1])


def _squared_errors(true: Bools, P: Floats) -> Floats:
    return np.asarray(np.square(P - true))


def _log_errors(true: Bools, P: Floats) -> Floats:
    spacing = np.finfo(np.float64).eps
    return np.asarray(-np.log(np.clip(np.where(true, P, 1 - P), spacing, 1 - spacing)))


def _sums_of_errors(errors: Floats, observed: Bools | None) -> SampleSums:
    """The mean over observed entries."""
    if observed is None:
        return mean_of(errors.mean(axis=1))
    return SampleSums(np.stack([(errors * observed).sum(axis=1), observed.sum(axis=1)], axis=1), ratio_of_two)


def _mean_of_errors(
    errors_of: Callable[[Bools, Floats], Floats],
    checked: tuple[Bools, Floats, Bools | None],
    average: str | None,
    sample_weight: Any,
) -> Any:
    check_choice(average, "average", ("micro", "macro", None))
    true, P, observed = checked
    errors, weights = errors_of(true, P), check_sample_weight(sample_weight, len(P))
    if observed is None:
        by_label = np.average(errors, axis=0, weights=weights)
    elif average == "micro":
        return _sums_of_errors(errors, observed).value(weights)
    else:
        with np.errstate(invalid="ignore"):
            by_label = weights @ (errors * observed) / (weights @ observed)
    return by_label if average is None else _mean_of_labels(by_label, observed)


def _mean_of_labels(values: Floats, observed: Bools | None) -> float:
    """The mean; if labels are unobserved, of the values that are not NaN, and NaN if there are none."""
    defined = values if observed is None else values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan
