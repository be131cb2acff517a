"""Metrics of probabilities. The definitions are in the docstring of the package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs._utils._validation import check_choice, check_int
from sdgs.metrics._metric_inputs import Floats, SampleSums, check_probabilities, check_sample_weight, mean_of

Bools = NDArray[np.bool_]


def brier_score(y_true: Any, y_proba: Any, *, average: str | None = "macro", sample_weight: Any = None) -> Any:
    """Mean squared difference between probabilities and labels. Smaller is better.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1.
    y_proba : array-like of shape (n, k)
        Probabilities.
    average : {"macro", None}, default="macro"
        The mean over labels, or one value per label, which is scikit-learn's ``brier_score_loss``.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    float or ndarray of shape (k,)
    """
    return _mean_of_errors(_squared_errors(*check_probabilities(y_true, y_proba)), average, sample_weight)


def log_loss(y_true: Any, y_proba: Any, *, average: str | None = "macro", sample_weight: Any = None) -> Any:
    """Mean negative logarithm of the probability of what is true. Smaller is better.

    Probabilities are clipped to [e, 1 - e], where e is the spacing of float64 at 1, as in scikit-learn.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1.
    y_proba : array-like of shape (n, k)
        Probabilities.
    average : {"macro", None}, default="macro"
        The mean over labels, or one value per label, which is scikit-learn's ``log_loss``.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    float or ndarray of shape (k,)
    """
    return _mean_of_errors(_log_errors(*check_probabilities(y_true, y_proba)), average, sample_weight)


def expected_calibration_error(
    y_true: Any, y_proba: Any, *, n_bins: int = 10, average: str | None = "micro", sample_weight: Any = None
) -> Any:
    """Mean difference between the mean probability and the frequency in bins of probabilities. Smaller is better.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, k)
        Labels, 0 or 1.
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
        the frequency of the label.
    """
    true, P = check_probabilities(y_true, y_proba)
    check_choice(average, "average", ("micro", "macro", None))
    if average == "micro":
        return calibration_sums(true, P, n_bins=n_bins).value(sample_weight)
    weights = check_sample_weight(sample_weight, len(P))
    errors = np.array(
        [calibration_sums(true[:, [j]], P[:, [j]], n_bins=n_bins).value(weights) for j in range(P.shape[1])]
    )
    return errors if average is None else float(errors.mean())


def brier_sums(true: Bools, P: Floats) -> SampleSums:
    """Of :func:`brier_score`."""
    return mean_of(_squared_errors(true, P).mean(axis=1))


def log_loss_sums(true: Bools, P: Floats) -> SampleSums:
    """Of :func:`log_loss`."""
    return mean_of(_log_errors(true, P).mean(axis=1))


def calibration_sums(true: Bools, P: Floats, *, n_bins: int = 10) -> SampleSums:
    """Of :func:`expected_calibration_error`: differences by bin, and in the last column the number of labels."""
    n_bins = check_int(n_bins, "n_bins", minimum=1)
    n, k = P.shape
    bins = np.minimum((P * n_bins).astype(np.intp), n_bins - 1)
    differences = csr_array(((P - true).ravel(), (np.repeat(np.arange(n), k), bins.ravel())), shape=(n, n_bins))
    terms = np.hstack([differences.toarray(), np.full((n, 1), float(k))])
    return SampleSums(terms, lambda sums: np.abs(sums[:, :-1]).sum(axis=1) / sums[:, -1])


def _squared_errors(true: Bools, P: Floats) -> Floats:
    return np.asarray(np.square(P - true))


def _log_errors(true: Bools, P: Floats) -> Floats:
    spacing = np.finfo(np.float64).eps
    return np.asarray(-np.log(np.clip(np.where(true, P, 1 - P), spacing, 1 - spacing)))


def _mean_of_errors(errors: Floats, average: str | None, sample_weight: Any) -> Any:
    check_choice(average, "average", ("macro", None))
    by_label = np.average(errors, axis=0, weights=check_sample_weight(sample_weight, len(errors)))
    return by_label if average is None else float(by_label.mean())
