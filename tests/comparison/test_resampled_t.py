"""Corrected intervals and tests of values from cross-validation: closed forms, scipy, and simulations."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from sdgs.comparison._resampled_t import corrected_mean, holm


def test_without_a_correction_it_is_the_t_test():
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    result, expected = corrected_mean(values, 0.0), ttest_1samp(values, 0)
    interval = expected.confidence_interval(0.95)
    assert result.mean == values.mean()
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-12)
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_the_correction_by_hand():
    # mean 2, s^2 = 1, J = 3, n_test / n_train = 1 / 2: variance 5 / 6, and the 97.5 % quantile of t with 2 degrees of
    # freedom is sqrt(2 * 0.95^2 / (1 - 0.95^2)).
    quantile = np.sqrt(2 * 0.95**2 / (1 - 0.95**2))
    result = corrected_mean(np.array([1.0, 2.0, 3.0]), 0.5)
    assert result.high - result.mean == pytest.approx(quantile * np.sqrt(5 / 6))
    t = 2 / np.sqrt(5 / 6)  # the t distribution with 2 degrees of freedom has a closed form
    assert result.p_value == pytest.approx(1 - t / np.sqrt(2 + t**2))


def test_values_that_are_equal_and_single_values():
    assert corrected_mean(np.zeros(4), 0.25).p_value == 1
    constant = corrected_mean(np.full(4, 0.5), 0.25)
    assert (constant.low, constant.high, constant.p_value) == (0.5, 0.5, 0)
    assert np.isnan(corrected_mean(np.array([0.5]), 0.25).high)
    assert np.isnan(corrected_mean(np.array([0.5, np.nan]), 0.25).mean)


def test_the_interval_covers_where_the_values_are_correlated():
    """Values with the correlation n_test / (n_train + n_test), which the correction assumes, and without it."""
    rng, J, rho = np.random.default_rng(1), 10, 0.2
    share = rho / (1 - rho)
    covered = {share: 0, 0.0: 0}
    for _ in range(1000):
        values = np.sqrt(rho) * rng.standard_normal() + np.sqrt(1 - rho) * rng.standard_normal(J)
        for test_share in covered:
            result = corrected_mean(values, test_share)
            covered[test_share] += result.low <= 0 <= result.high
    assert 0.92 < covered[share] / 1000 < 0.98
    assert covered[0.0] / 1000 < 0.85


def test_holm():
    p_values = np.array([0.01, 0.04, np.nan, 0.03, 0.005])
    assert holm(p_values) == pytest.approx([0.03, 0.06, np.nan, 0.06, 0.02], nan_ok=True)
    assert holm(np.array([0.6, 0.7])) == pytest.approx([1, 1])
    assert holm(np.array([0.2])) == pytest.approx([0.2])
    assert np.isnan(holm(np.array([np.nan]))).all()
