"""Methods over several data sets: mean ranks, and tests of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice
from sdgs.audit._audit_tables import data_frame
from sdgs.comparison._comparison_result import SIGNIFICANCE, Comparison, aligned, format_p, join_names
from sdgs.comparison._measure_units import digits, factor, titled
from sdgs.comparison._rank_tests import (
    FriedmanTest,
    critical_difference,
    friedman_test,
    groups_within,
    ranks_of,
    wilcoxon_p_value,
)
from sdgs.comparison._resampled_t import holm
from sdgs.metrics import ALL_METRICS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MethodRanks:
    """The ranks of m methods on N data sets; returned by :func:`rank_methods`. Methods are sorted by mean rank.

    Attributes
    ----------
    metric : str
    names, titles : tuple of str
        The methods, the best mean rank first.
    dataset_names : tuple of str
    values : ndarray of shape (N, m)
        The mean of the measure on each data set.
    ranks : ndarray of shape (N, m)
        1 is best; equal values have the mean of their ranks.
    mean_ranks : ndarray of shape (m,)
    friedman : FriedmanTest
        Whether the methods differ at all.
    critical_difference : float
        Nemenyi's at 0.05: mean ranks that differ by less are not significantly different.
    groups : tuple of tuple of int
        The largest sets of methods whose mean ranks differ by less, as positions in ``names``.
    wilcoxon_p_values : ndarray of shape (m,)
        The p-value of Wilcoxon's signed-rank test of each method against the first, corrected by Holm's method. NaN for
        the first.
    not_ranked : tuple of str
        Titles of methods that do not have a value on every data set.
    """

    metric: str
    names: tuple[str, ...]
    titles: tuple[str, ...]
    dataset_names: tuple[str, ...]
    values: Array
    ranks: Array
    mean_ranks: Array
    friedman: FriedmanTest
    critical_difference: float
    groups: tuple[tuple[int, ...], ...]
    wilcoxon_p_values: Array
    not_ranked: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<MethodRanks of {len(self.names)} methods on {len(self.dataset_names)} data sets>"

    def __str__(self) -> str:
        return self.table()

    def table(self) -> str:
        """Mean ranks, means of the measure and p-values as a text table, with sentences about them."""
        head = ("method", "mean rank", f"mean {titled(self.metric, arrow=False)}", "p (Wilcoxon)")
        means = self.values.mean(axis=0)
        rows = [
            (
                title,
                f"{rank:.2f}",
                f"{factor(self.metric) * mean:.{digits(self.metric)}f}",
                "" if np.isnan(p) else format_p(p),
            )
            for title, rank, mean, p in zip(self.titles, self.mean_ranks, means, self.wilcoxon_p_values, strict=True)
        ]
        return "\n".join([*aligned([head, *rows]), *self.conclusions()])

    def to_frame(self) -> Any:
        """Convert to a DataFrame with one row per method; needs pandas."""
        columns = {
            "name": list(self.names),
            "title": list(self.titles),
            "mean_rank": self.mean_ranks,
            "mean": self.values.mean(axis=0),
            "wilcoxon_p_value": self.wilcoxon_p_values,
        }
        return data_frame(columns)

    def conclusions(self) -> list[str]:
        """What follows from the ranks, in sentences."""
        N, first = len(self.dataset_names), self.titles[0]
        sentences = [f"{first} has the best mean rank over {N} data sets."]
        p_value = self.friedman.p_value_f
        if p_value >= SIGNIFICANCE:
            sentences.append(
                f"Friedman's test finds no significant difference between the methods (p = {p_value:.3f})."
            )
        else:
            sign = "<" if p_value < 0.001 else "="
            sentences.append(
                f"Friedman's test says that the methods differ (p {sign} {max(p_value, 0.001):.3f}). Mean ranks that "
                f"differ by less than {self.critical_difference:.2f} are not distinguishable (Nemenyi's test)."
            )
            similar = [self.titles[j] for j in self.similar_to_best()]
            if len(similar) == len(self.titles) - 1:
                sentences.append(f"No other method is distinguishable from {first}.")
            elif similar:
                sentences.append(f"Not distinguishable from {first}: {join_names(similar)}.")
        n_tests = len(self.titles) - 1
        smallest = n_tests * 2.0 ** (1 - N)
        if smallest >= SIGNIFICANCE:
            corrected = f", corrected for {n_tests} tests," if n_tests > 1 else ""
            sentences.append(
                f"With {N} data sets Wilcoxon's test cannot be significant: its smallest p-value{corrected} is "
                f"{min(smallest, 1.0):.3g}. Compare at least {int(np.log2(n_tests / SIGNIFICANCE)) + 2} data sets."
            )
        if self.not_ranked:
            sentences.append(
                f"Not ranked, because they do not have a value on every data set: {join_names(self.not_ranked)}."
            )
        return sentences

    def similar_to_best(self) -> list[int]:
        """The positions of the methods whose mean rank differs from the best by less than the critical difference."""
        limit = self.mean_ranks[0] + self.critical_difference
        return [j for j in range(1, len(self.names)) if self.mean_ranks[j] < limit]


def rank_methods(comparisons: Mapping[str, Comparison], *, metric: str | None = None) -> MethodRanks:
    r"""Rank the methods of several comparisons, which must have at least two of them in common.

    Parameters
    ----------
    comparisons : dict of str to Comparison
        At least two, by the name of the data set.
    metric : str, optional
        A name in ``sdgs.metrics.ALL_METRICS``. Default: that of the first comparison.

    Returns
    -------
    MethodRanks

    Notes
    -----
    With mean ranks :math:`R_j` of m methods on N data sets, Friedman's statistic is
    :math:`\frac{12N}{m(m+1)}\left(\sum_j R_j^2 - \frac{m(m+1)^2}{4}\right)`, corrected for ties, and its p-value is
    that of Iman and Davenport's F statistic. The critical difference is :math:`q\sqrt{m(m+1)/(6N)}` with the quantile
    q of the studentised range. See Demsar (2006), Statistical comparisons of classifiers over multiple data
    sets, JMLR 7. It depends on all methods that are compared; Wilcoxon's test, which Benavoli, Corani and Mangili
    (2016, JMLR 17) recommend, does not.
    """
    if len(comparisons) < 2:
        raise ValueError(f"comparisons must have at least two data sets, got {len(comparisons)}.")
    results = list(comparisons.values())
    metric = results[0].metric if metric is None else check_choice(metric, "metric", tuple(ALL_METRICS))
    tables = [
        {method.name: method for method in result.methods if not np.isnan(method.measures[metric]).any()}
        for result in results
    ]
    titles = {method.name: method.title for result in results for method in result.methods}
    common = [name for name in titles if all(name in table for table in tables)]
    if len(common) < 2:
        raise ValueError("comparisons have fewer than two methods in common that succeeded on every data set.")
    values = np.asarray([[float(table[name].measures[metric].mean()) for name in common] for table in tables])
    ranks = ranks_of(values, greater_is_better=ALL_METRICS[metric].greater_is_better)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    values, ranks, names = values[:, order], ranks[:, order], [common[j] for j in order]
    mean_ranks, difference = ranks.mean(axis=0), critical_difference(len(names), len(results))
    p_values = np.asarray([wilcoxon_p_value(values[:, j] - values[:, 0]) if j else np.nan for j in range(len(names))])
    return MethodRanks(
        metric=metric,
        names=tuple(names),
        titles=tuple(titles[name] for name in names),
        dataset_names=tuple(map(str, comparisons)),
        values=values,
        ranks=ranks,
        mean_ranks=mean_ranks,
        friedman=friedman_test(ranks),
        critical_difference=difference,
        groups=tuple(groups_within(mean_ranks, difference)),
        wilcoxon_p_values=holm(p_values),
        not_ranked=tuple(title for name, title in titles.items() if name not in common),
    )
