"""Metrics of scores that rank the labels of each sample. The definitions are in the docstring of the package."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.utils import check_array

from sdgs._utils._validation import check_choice, check_int, check_number
from sdgs.metrics._metric_inputs import (
    Bools,
    Floats,
    SampleSums,
    check_scores,
    check_true_labels,
    mean_of,
    ratio_of_two,
)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Which labels are relevant, their scores, and their ranks, which several metrics share.

    Unobserved labels are not relevant and have the score -inf: they come after all others, whose ranks are therefore
    those among the observed labels.

    Attributes
    ----------
    true, scores : ndarray of shape (n, k)
    n_observed : ndarray of shape (n,) or None
        The number of observed labels of each sample; None if all are observed.
    first, last : ndarray of shape (n, k)
        The first and the last rank that a label may have, from 1: they differ where scores are equal.
    last_among_relevant : ndarray of shape (n, k)
        For relevant labels, the last rank if the others are left out.
    """

    true: Bools
    scores: Floats
    n_observed: NDArray[np.intp] | None = None

    @cached_property
    def first(self) -> NDArray[np.intp]:
        return np.asarray(rankdata(-self.scores, method="min", axis=1), dtype=np.intp)

    @cached_property
    def last(self) -> NDArray[np.intp]:
        return np.asarray(rankdata(-self.scores, method="max", axis=1), dtype=np.intp)

    @cached_property
    def last_among_relevant(self) -> NDArray[np.intp]:
        relevant = np.where(self.true, -self.scores, np.inf)
        return np.asarray(rankdata(relevant, method="max", axis=1), dtype=np.intp)

    @property
    def n_true(self) -> NDArray[np.intp]:
        return np.asarray(self.true.sum(axis=1))

    @property
    def n_samples(self) -> int:
        """The number of samples with an observed label."""
        return len(self.true) if self.n_observed is None else int((self.n_observed > 0).sum())

    @property
    def n_ranked(self) -> Any:
        """The number of labels that are ranked, of all samples or of each; at least 1."""
        return self.true.shape[1] if self.n_observed is None else np.maximum(self.n_observed, 1)

    def mean(self, values: Floats) -> SampleSums:
        """The mean of one value per sample, of those with an observed label."""
        return mean_of(values if self.n_observed is None else np.where(self.n_observed == 0, np.nan, values))

    def mean_weights(self, weights: Floats) -> Floats:
        """The weights of the first ranks, for each label the mean over the ranks that it may have."""
        totals = np.append(0.0, np.cumsum(weights))
        before, up_to = np.minimum(self.first - 1, weights.size), np.minimum(self.last, weights.size)
        return np.asarray((totals[up_to] - totals[before]) / (self.last - self.first + 1))


def check_ranking(y_true: Any, y_score: Any, *, name: str = "y_score") -> Ranking:
    """The ranking of valid labels and scores."""
    true, scores, observed = check_scores(y_true, y_score, name=name)
    if observed is None:
        return Ranking(true, scores)
    return Ranking(true, np.where(observed, scores, -np.inf), observed.sum(axis=1))


def ranking_loss(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Mean share of the pairs of a relevant and an irrelevant label that are ranked wrongly or equally.

    Smaller is better. It is scikit-learn's ``label_ranking_loss``: samples with no or all labels count as 0.
    """
    return ranking_loss_sums(check_ranking(y_true, y_score)).value(sample_weight)


def one_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of samples whose first label is not relevant. Smaller is better.

    If several labels are first, a sample counts as the share of these that are not relevant. Samples without labels
    count as 0.
    """
    return one_error_sums(check_ranking(y_true, y_score)).value(sample_weight)


def coverage(y_true: Any, y_score: Any, *, count_from: int = 0, sample_weight: Any = None) -> float:
    """Mean rank of the last relevant label. Smaller is better.

    With ``count_from=0`` the first label has rank 0, as in most papers and in Mulan; with 1 it is scikit-learn's
    ``coverage_error``. Labels with equal scores have the last of their ranks. Samples without labels count as 0.
    """
    start = check_choice(count_from, "count_from", (0, 1))
    return coverage_sums(check_ranking(y_true, y_score), count_from=start).value(sample_weight)


def label_ranking_average_precision(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Mean over a sample's labels of the share of relevant labels among those ranked at least as high.

    It is scikit-learn's ``label_ranking_average_precision_score``: samples with no or all labels count as 1.
    """
    return average_precision_sums(check_ranking(y_true, y_score)).value(sample_weight)


def precision_at_k(y_true: Any, y_score: Any, *, k: int = 1, sample_weight: Any = None) -> float:
    """Mean share of relevant labels among the first k.

    Where scores are equal it is the mean over all orders. Samples without labels count as 0.
    """
    return precision_at_sums(check_ranking(y_true, y_score), k=k).value(sample_weight)


def ndcg_at_k(y_true: Any, y_score: Any, *, k: int = 5, sample_weight: Any = None) -> float:
    """Normalised discounted cumulative gain of the first k labels: scikit-learn's ``ndcg_score``.

    Where scores are equal it is the mean over all orders. Samples without labels count as 0.
    """
    return ndcg_at_sums(check_ranking(y_true, y_score), k=k).value(sample_weight)


def propensity_scored_precision_at_k(
    y_true: Any, y_score: Any, *, k: int = 1, propensities: Any = None, sample_weight: Any = None
) -> float:
    """Precision of the first k labels in which a label counts 1 / propensity, over its largest possible value.

    Where scores are equal it is the mean over all orders. It is NaN if no sample has a label.

    Parameters
    ----------
    y_true : {array-like, sparse matrix, DataFrame} of shape (n, n_labels)
        Labels, 0 or 1.
    y_score : array-like of shape (n, n_labels)
        Scores; larger is more likely.
    k : int, default=1
        The number of labels that are considered.
    propensities : array-like of shape (n_labels,), optional
        What :func:`propensities` returns for the training labels. Default: for ``y_true``.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.

    Returns
    -------
    float
    """
    ranking = check_ranking(y_true, y_score)
    return propensity_precision_sums(ranking, k=k, propensities=propensities).value(sample_weight)


def propensities(Y: Any, *, a: float = 0.55, b: float = 1.5) -> Floats:
    """The probability that a relevant label was recorded, by the model of Jain, Prabhu and Varma (KDD 2016).

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n, n_labels)
        The labels of at least three training samples.
    a, b : float, default=0.55 and 1.5
        Published values are 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon, and the defaults for other data.

    Returns
    -------
    ndarray of shape (n_labels,)
        With n_j samples of label j, 1 / (1 + c (n_j + b)^-a), where c = (log(n) - 1) (b + 1)^a. Unobserved labels (NaN)
        do not count, and n is the number of samples with an observed label.

    Examples
    --------
    >>> from sdgs.metrics import propensities
    >>> propensities([[1, 0], [1, 0], [1, 1], [0, 0]]).round(2)
    array([0.78, 0.72])
    """
    indicator, unobserved = check_true_labels(Y)
    n, k = indicator.shape
    n_labelled = n if unobserved is None else int((unobserved.sum(axis=1) < k).sum())
    return _propensities(indicator.sum(axis=0), n_labelled, check_number(a, "a"), check_number(b, "b"))


def _propensities(counts: Any, n: int, a: float = 0.55, b: float = 1.5) -> Floats:
    """From the samples of each label."""
    if n < 3:
        raise ValueError(f"propensities needs at least 3 samples with labels, got {n}. Pass the training labels.")
    c = (np.log(n) - 1) * (b + 1) ** a
    return np.asarray(1 / (1 + c * (np.asarray(counts, dtype=np.float64) + b) ** -a))


def ranking_loss_sums(ranking: Ranking) -> SampleSums:
    """Of :func:`ranking_loss`."""
    n_true = ranking.n_true
    wrong = np.where(ranking.true, ranking.last - ranking.last_among_relevant, 0).sum(axis=1)
    return ranking.mean(wrong / np.maximum(n_true * (ranking.n_ranked - n_true), 1))


def one_error_sums(ranking: Ranking) -> SampleSums:
    """Of :func:`one_error`."""
    first = ranking.scores == ranking.scores.max(axis=1, keepdims=True)
    shares = (first & ~ranking.true).sum(axis=1) / first.sum(axis=1)
    return ranking.mean(np.where(ranking.n_true == 0, 0.0, shares))


def coverage_sums(ranking: Ranking, *, count_from: int) -> SampleSums:
    """Of :func:`coverage`."""
    deepest = np.where(ranking.true, ranking.last, 0).max(axis=1)
    return ranking.mean(np.maximum(deepest + count_from - 1, 0).astype(np.float64))


def average_precision_sums(ranking: Ranking) -> SampleSums:
    """Of :func:`label_ranking_average_precision`."""
    n_true = ranking.n_true
    shares = np.where(ranking.true, ranking.last_among_relevant / ranking.last, 0).sum(axis=1)
    return ranking.mean(np.where(n_true == 0, 1.0, shares / np.maximum(n_true, 1)))


def precision_at_sums(ranking: Ranking, *, k: int) -> SampleSums:
    """Of :func:`precision_at_k`."""
    included = ranking.mean_weights(np.ones(_check_k(k, ranking)))
    return ranking.mean((included * ranking.true).sum(axis=1) / np.minimum(k, ranking.n_ranked))


def ndcg_at_sums(ranking: Ranking, *, k: int) -> SampleSums:
    """Of :func:`ndcg_at_k`."""
    discounts = 1 / np.log2(np.arange(2, _check_k(k, ranking) + 2))
    gain = (ranking.mean_weights(discounts) * ranking.true).sum(axis=1)
    best = np.append(0.0, np.cumsum(discounts))[np.minimum(ranking.n_true, k)]
    return ranking.mean(np.where(best == 0, 0.0, gain / np.where(best == 0, 1.0, best)))


def propensity_precision_sums(ranking: Ranking, *, k: int, propensities: Any) -> SampleSums:
    """Of :func:`propensity_scored_precision_at_k`."""
    k = _check_k(k, ranking)
    gains = ranking.true / _check_propensities(propensities, ranking.true, ranking.n_samples)
    reached = (ranking.mean_weights(np.ones(k)) * gains).sum(axis=1)
    possible = -np.partition(-gains, k - 1, axis=1)[:, :k].sum(axis=1)
    return SampleSums(np.stack([reached, possible], axis=1), ratio_of_two)


def _check_k(k: Any, ranking: Ranking) -> int:
    if check_int(k, "k", minimum=1) > ranking.true.shape[1]:
        raise ValueError(f"k must be at most the number of labels, {ranking.true.shape[1]}, got {k}.")
    return int(k)


def _check_propensities(values: Any, true: Bools, n: int) -> Floats:
    if values is None:
        return _propensities(true.sum(axis=0), n)
    checked = check_array(values, ensure_2d=False, dtype=np.float64, input_name="propensities")
    if checked.shape != (true.shape[1],) or checked.min() <= 0 or checked.max() > 1:
        raise ValueError(f"propensities must hold one number in (0, 1] for each of the {true.shape[1]} labels.")
    return np.asarray(checked)
