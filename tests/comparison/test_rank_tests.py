"""Tests of ranks: published values, scipy, and closed forms."""

import numpy as np
import pytest
from scipy.stats import f, friedmanchisquare, wilcoxon

from sdgs.comparison._rank_tests import (
    critical_difference,
    friedman_test,
    groups_within,
    nemenyi_quantile,
    ranks_of,
    wilcoxon_p_value,
)

PUBLISHED = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}


@pytest.mark.parametrize(("n_methods", "quantile"), PUBLISHED.items())
def test_quantiles_are_those_of_demsar(n_methods, quantile):
    assert nemenyi_quantile(n_methods) == pytest.approx(quantile, abs=1.5e-3)


def test_critical_differences_of_demsar():
    """Four methods on 14 data sets."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, alpha=0.1) == pytest.approx(1.12, abs=5e-3)


def test_ranks():
    values = np.array([[0.3, 0.5, 0.5, 0.1]])
    assert ranks_of(values, greater_is_better=True).tolist() == [[3, 1.5, 1.5, 4]]
    assert ranks_of(values, greater_is_better=False).tolist() == [[2, 3.5, 3.5, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_the_f_statistic_is_that_of_a_two_way_analysis_of_variance_of_ranks(seed):
    ranks = ranks_of(np.random.default_rng(seed).integers(0, 5, (6, 4)).astype(float), greater_is_better=True)
    N, m = ranks.shape
    centred = ranks - ranks.mean()
    between = N * (centred.mean(axis=0) ** 2).sum()
    residual = (centred**2).sum() - between  # data sets have the same mean rank
    F = (between / (m - 1)) / (residual / ((m - 1) * (N - 1)))
    assert friedman_test(ranks).p_value_f == pytest.approx(f.sf(F, m - 1, (m - 1) * (N - 1)), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_friedman_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (7, 4)).astype(float)  # with ties
    expected = friedmanchisquare(*values.T)
    for sign in (True, False):
        result = friedman_test(ranks_of(values, greater_is_better=sign))
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-12)
        assert result.p_value == pytest.approx(expected.pvalue, rel=1e-10)


def test_friedman_at_its_limits():
    same_order = np.tile([1.0, 2.0, 3.0], (4, 1))
    result = friedman_test(same_order)
    assert (result.statistic, result.p_value_f) == (pytest.approx(8), 0)  # N (m - 1)
    assert friedman_test(np.full((4, 3), 2.0)).p_value_f == 1
    assert friedman_test(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).statistic == 0
    assert np.isnan(friedman_test(np.array([[1.0, 2.0]])).p_value_f)


def test_wilcoxon():
    differences = np.array([0.1, 0.4, -0.2, 0.5, 0.3, 0.7])
    assert wilcoxon_p_value(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue)
    assert wilcoxon_p_value(np.arange(1.0, 7)) == pytest.approx(2**-5)
    assert wilcoxon_p_value(np.zeros(5)) == 1
    zeros = np.r_[np.zeros(8), np.arange(1, 13), -1.5, -2.5]
    assert wilcoxon_p_value(zeros) == pytest.approx(wilcoxon(zeros, zero_method="zsplit").pvalue)
    assert wilcoxon_p_value(zeros) != pytest.approx(wilcoxon(zeros[8:]).pvalue)
    assert wilcoxon_p_value(np.array([0.5, 0.5])) == pytest.approx(0.5)


def test_groups():
    assert groups_within(np.array([3.0, 1.0, 1.5, 4.0]), 1.6) == [(1, 2), (2, 0), (0, 3)]
    assert groups_within(np.array([1.0, 2.0, 3.0]), 1.0) == []
    assert groups_within(np.array([1.0, 2.0, 3.0]), 5.0) == [(0, 1, 2)]
