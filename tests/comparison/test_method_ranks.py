"""Methods over several data sets."""

import numpy as np
import pytest

from comparison_results import make_comparison, make_result
from sdgs.comparison import rank_methods
from sdgs.comparison._rank_tests import critical_difference


def comparisons(values, **options):
    """One comparison per row, with one method per column; two equal splits."""
    named = {}
    for i, row in enumerate(values):
        results = [make_result(f"m{j}", [value, value]) for j, value in enumerate(row)]
        named[f"set {i}"] = make_comparison(results, **options)
    return named


def test_ranks_by_hand():
    ranks = rank_methods(comparisons([[0.5, 0.7, 0.6], [0.5, 0.9, 0.5], [0.8, 0.7, 0.6]]))
    assert ranks.names == ("m1", "m0", "m2")
    assert ranks.dataset_names == ("set 0", "set 1", "set 2")
    assert ranks.ranks.tolist() == [[1, 3, 2], [1, 2.5, 2.5], [2, 1, 3]]
    assert ranks.mean_ranks == pytest.approx([4 / 3, 6.5 / 3, 7.5 / 3])
    assert ranks.values[0].tolist() == [0.7, 0.5, 0.6]
    assert ranks.critical_difference == critical_difference(3, 3)
    assert ranks.groups == ((0, 1, 2),)
    assert "With 3 data sets Wilcoxon's test cannot be significant" in ranks.table()
    assert "finds no significant difference" in ranks.table()
    assert list(ranks.to_frame()["mean_rank"]) == list(ranks.mean_ranks)


@pytest.mark.parametrize(("n_methods", "enough"), [(2, 6), (3, 7), (11, 9)])
def test_it_says_how_many_data_sets_a_significant_difference_needs(n_methods, enough):
    """Holm's correction multiplies the smallest p-value by the number of tests."""
    values = np.linspace(0.9, 0.1, n_methods) + np.arange(enough)[:, None] * np.linspace(0.01, 0, n_methods)
    fewer, ranks = rank_methods(comparisons(values[1:])), rank_methods(comparisons(values))
    assert fewer.wilcoxon_p_values[1] >= 0.05 > ranks.wilcoxon_p_values[1]
    assert f"cannot be significant: its smallest p-value{'' if n_methods == 2 else ', c'}" in fewer.table()
    assert f"Compare at least {enough} data sets." in fewer.table()
    assert "Wilcoxon's test cannot" not in ranks.table()


def test_a_loss_has_rank_1_where_it_is_smallest():
    ranks = rank_methods(comparisons([[0.5, 0.7], [0.5, 0.6]], metric="hamming_loss"))
    assert ranks.names == ("m0", "m1")
    assert ranks.mean_ranks.tolist() == [1, 2]
    assert rank_methods(comparisons([[0.5, 0.7], [0.5, 0.6]]), metric="hamming_loss").names == ("m0", "m1")
    assert rank_methods(comparisons([[0.5, 0.7], [0.5, 0.6]])).names == ("m1", "m0")


def test_clear_differences():
    rng = np.random.default_rng(0)
    values = np.array([0.9, 0.7, 0.5, 0.3]) + rng.normal(0, 0.01, (10, 4))
    ranks = rank_methods(comparisons(values))
    assert ranks.names == ("m0", "m1", "m2", "m3")
    assert ranks.friedman.p_value_f == 0
    assert ranks.groups == ((0, 1), (1, 2), (2, 3))  # the critical difference is 1.48
    assert np.isnan(ranks.wilcoxon_p_values[0])
    assert ranks.wilcoxon_p_values[1:] == pytest.approx(3 * 2**-9)  # the smallest of ten, times three
    text = ranks.table()
    assert "M0 has the best mean rank over 10 data sets." in text
    assert "the methods differ (p < 0.001)" in text
    assert "Not distinguishable from M0: M1." in text


def test_methods_that_are_not_everywhere_are_not_ranked():
    named = comparisons([[0.5, 0.7, 0.6], [0.5, 0.9, 0.5]])
    failed = make_result("m3", [np.nan, 0.5], failures={0: "ValueError: no"})
    for name, result in named.items():
        named[name] = make_comparison([*result.methods, failed])
    named["set 2"] = make_comparison([make_result("m0", [0.5, 0.5]), make_result("m2", [0.5, 0.6])])
    ranks = rank_methods(named)
    assert set(ranks.names) == {"m0", "m2"}
    assert ranks.not_ranked == ("M1", "M3")
    assert "Not ranked, because they do not have a value on every data set: M1 and M3." in ranks.table()


def test_invalid_arguments():
    named = comparisons([[0.5, 0.7]])
    with pytest.raises(ValueError, match="at least two data sets, got 1"):
        rank_methods(named)
    with pytest.raises(ValueError, match="fewer than two methods in common"):
        rank_methods({**named, "other": make_comparison([make_result("else", [0.5, 0.5])])})
    with pytest.raises(ValueError, match="metric must be one of"):
        rank_methods(comparisons([[0.5, 0.7], [0.5, 0.6]]), metric="speed")
