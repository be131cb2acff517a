"""Confidence intervals and paired tests of the values of repeated K-fold cross-validation.

The J values of a method are from models whose training samples overlap, so they are not independent, and the usual
variance of their mean, s^2 / J, is too small. Nadeau and Bengio (2003, Inference for the generalization error, Machine
Learning 52) correct it::

    variance of the mean = (1 / J + n_test / n_train) s^2

with the sample variance s^2 of the J values (divided by J - 1). The mean divided by the root of this variance is
compared with Student's t distribution with J - 1 degrees of freedom. With K folds n_test / n_train is 1 / (K - 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CorrectedMean:
    """The mean of values from resampling, its interval, and the p-value for a true mean of zero (two-sided)."""

    mean: float
    low: float
    high: float
    p_value: float


def corrected_mean(values: Array, test_share: float, *, confidence: float = 0.95) -> CorrectedMean:
    """The mean of the values (J,) of one method, or of paired differences of two, with a corrected interval.

    ``test_share`` is n_test / n_train. The interval is not defined (NaN) for a single value. Values that are all equal
    have an interval of length zero, and a p-value of 1 if they are 0, else 0.
    """
    J, mean = values.size, float(values.mean())
    if J < 2:
        return CorrectedMean(mean, float("nan"), float("nan"), float("nan"))
    error = float(np.sqrt((1 / J + test_share) * values.var(ddof=1)))
    margin = error * float(student_t.ppf((1 + confidence) / 2, J - 1))
    p_value = float(2 * student_t.sf(abs(mean) / error, J - 1)) if error > 0 else float(mean == 0)
    return CorrectedMean(mean, mean - margin, mean + margin, p_value)


def holm(p_values: Array) -> Array:
    """P-values of several tests, corrected by Holm's method: the i-th smallest of m times m - i + 1, made monotone.

    NaN stays NaN and does not count.
    """
    corrected = np.full(p_values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return corrected
