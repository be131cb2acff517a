"""Methods compared over several data sets by their ranks (Demsar 2006; Benavoli, Corani and Mangili 2016).

With N data sets, m methods and the mean ranks R_j over the data sets (1 is best; ties get the mean of their ranks)::

    Friedman     chi2 = 12 N / (m (m + 1)) * (sum_j R_j^2 - m (m + 1)^2 / 4), divided by a correction for ties,
                 with m - 1 degrees of freedom; the p-value is that of the F statistic of Iman and Davenport,
                 F = (N - 1) chi2 / (N (m - 1) - chi2), with m - 1 and (m - 1)(N - 1) degrees of freedom
    Nemenyi      two methods differ if their mean ranks differ by at least CD = q sqrt(m (m + 1) / (6 N)),
                 where q is the quantile of the studentised range, with infinite degrees of freedom, over sqrt(2)
    Wilcoxon     signed-rank test of two methods over the N data sets, corrected by Holm's method. It does not depend
                 on which other methods are compared.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2 as chi_squared
from scipy.stats import f as f_distribution
from scipy.stats import rankdata, studentized_range, wilcoxon

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FriedmanTest:
    """Friedman's statistic, and p-values by its chi-squared distribution and by Iman and Davenport's F."""

    statistic: float
    p_value: float
    p_value_f: float


def ranks_of(values: Array, *, greater_is_better: bool) -> Array:
    """The ranks (N, m) of the methods on each data set; 1 is best."""
    return np.asarray(rankdata(-values if greater_is_better else values, axis=1), dtype=np.float64)


def friedman_test(ranks: Array) -> FriedmanTest:
    """Whether the methods differ at all, from their ranks (N, m)."""
    N, m = ranks.shape
    ties = sum(float((counts**3 - counts).sum()) for counts in map(_tie_sizes, ranks))
    correction = 1 - ties / (N * m * (m**2 - 1))
    if correction <= 0:  # all methods are equal on all data sets
        return FriedmanTest(0.0, 1.0, 1.0)
    mean_ranks = ranks.mean(axis=0)
    statistic = 12 * N / (m * (m + 1)) * float((mean_ranks**2).sum() - m * (m + 1) ** 2 / 4) / correction
    statistic = max(statistic, 0.0)  # rounding
    remainder = N * (m - 1) - statistic
    if N < 2:
        p_value_f = float("nan")
    elif remainder <= 1e-12 * N * m:  # the same order on every data set
        p_value_f = 0.0
    else:
        p_value_f = float(f_distribution.sf((N - 1) * statistic / remainder, m - 1, (m - 1) * (N - 1)))
    return FriedmanTest(statistic, float(chi_squared.sf(statistic, m - 1)), p_value_f)


def _tie_sizes(ranks: Array) -> NDArray[np.int64]:
    return np.unique(ranks, return_counts=True)[1].astype(np.int64)


def nemenyi_quantile(n_methods: int, alpha: float = 0.05) -> float:
    """The critical value q of Nemenyi's test."""
    return float(studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2))


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """The smallest difference of mean ranks that is significant by Nemenyi's test."""
    return nemenyi_quantile(n_methods, alpha) * float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def wilcoxon_p_value(differences: Array) -> float:
    """The two-sided p-value of the signed-rank test; 1 if no difference is other than zero. Exact for few data sets.

    Differences of zero are split between both signs, as Demsar (2006) recommends.
    """
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, zero_method="zsplit").pvalue)


def groups_within(mean_ranks: Array, difference: float) -> list[tuple[int, ...]]:
    """The largest sets of methods whose mean ranks all lie within less than ``difference``, best first.

    Sets of one method are left out. Each set is a bar of the critical difference diagram.
    """
    order = [int(j) for j in np.argsort(mean_ranks, kind="stable")]
    groups: list[tuple[int, ...]] = []
    for start in range(len(order)):
        members = [j for j in order[start:] if mean_ranks[j] - mean_ranks[order[start]] < difference]
        if len(members) > 1 and not (groups and set(members) <= set(groups[-1])):
            groups.append(tuple(members))
    return groups
