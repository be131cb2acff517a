"""Inference in classifier chains: P(y | x) as the product of P(y_t | x, y_1, ..., y_(t-1)) over a chain.

A distribution is stored as label sets with weights. The searches extend prefixes of label sets, link by link, for all
samples at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sdgs.methods._base_learners import Array, FittedLearner, rows_of
from sdgs.readout._joint_f1 import best_expected_f1_of_sets

_BLOCK_ENTRIES = 1 << 22  # of samples with prefixes that a base learner gets at a time

Prefixes = tuple[NDArray[np.intp], NDArray[np.bool_]]  # the sample of each, in increasing order, and the labels so far


@dataclass(frozen=True, eq=False)
class FittedChain:
    """Link t is a learner of label ``order[t]`` from the features and the labels ``order[:t]``."""

    order: NDArray[np.intp]
    links: Sequence[FittedLearner]
    label_weight: float  # value of a present label among the features

    @property
    def n_free(self) -> int:
        """Labels that are not constant."""
        return sum(link.estimator is not None for link in self.links)


@dataclass(frozen=True, eq=False)
class LabelDistribution:
    """For each of n samples label sets with probabilities, all others having none, and marginals of the labels.

    The marginals need not be those of the sets: Monte Carlo has more precise ones.
    """

    marginals: Array  # (n, k)
    rows: NDArray[np.intp]  # (m,) the sample of each set, in increasing order
    sets: NDArray[np.bool_]  # (m, k)
    weights: Array  # (m,)

    def mode(self) -> NDArray[np.bool_]:
        """The most probable set of each sample, (n, k)."""
        order = np.lexsort((-self.weights, self.rows))
        return self.sets[order[np.searchsorted(self.rows, np.arange(len(self.marginals)))]]

    def best_expected_f1(self) -> NDArray[np.bool_]:
        """The set with the largest expected F1 of each sample, (n, k)."""
        return best_expected_f1_of_sets(self.sets, _by_sample(self.rows, self.weights, len(self.marginals)))


def _by_sample(rows: NDArray[np.intp], weights: Array, n: int) -> Any:
    """Weights as a sparse matrix, (n, m)."""
    return csr_array((weights, (rows, np.arange(rows.size))), shape=(n, rows.size))


def with_labels(X: Any, labels: NDArray[np.bool_], weight: float) -> Any:
    """X with labels as further columns."""
    columns = labels.astype(X.dtype) * X.dtype.type(weight)
    return hstack([X, csr_array(columns)], format="csr") if issparse(X) else np.hstack([X, columns])


class LinkProbabilities:
    """P(y_t = 1 | x, prefix) for the samples X.

    Logistic regression reads the features once and not for every prefix, because its scores are sums.
    """

    def __init__(self, chain: FittedChain, X: Any) -> None:
        self._chain, self._X = chain, X
        weights = np.zeros((X.shape[1], len(chain.links)))
        self._is_linear = [type(link.estimator) is LogisticRegression for link in chain.links]
        for t, link in enumerate(chain.links):
            if self._is_linear[t]:
                weights[:, t] = link.estimator.coef_[0, : X.shape[1]]
        self._feature_scores = np.asarray(X @ weights) if any(self._is_linear) else None

    def __call__(self, t: int, prefixes: Prefixes) -> Array:
        rows, labels = prefixes
        link, p, weight = self._chain.links[t], self._X.shape[1], self._chain.label_weight
        if self._feature_scores is not None and self._is_linear[t]:
            from_labels = labels @ (weight * link.estimator.coef_[0, p:]) + link.estimator.intercept_
            return np.asarray(expit(self._feature_scores[rows, t] + from_labels))
        if link.estimator is None:
            return np.full(rows.size, float(link.only_class))
        step = max(_BLOCK_ENTRIES // p, 1)
        blocks = [slice(start, start + step) for start in range(0, rows.size, step)]
        inputs = (with_labels(rows_of(self._X, rows[block]), labels[block], weight) for block in blocks)
        return np.concatenate([link.positive(block) for block in inputs])


def greedy(chain: FittedChain, X: Any) -> Array:
    """P(y_t = 1 | x, labels predicted before) of each label, (n, k)."""
    link_probabilities, k = LinkProbabilities(chain, X), len(chain.links)
    rows, P = np.arange(X.shape[0]), np.empty((X.shape[0], k))
    labels = np.zeros((X.shape[0], k), dtype=bool)
    for t, label in enumerate(chain.order):
        P[:, label] = link_probabilities(t, (rows, labels[:, :t]))
        labels[:, t] = P[:, label] > 0.5
    return P


def beam_search(chain: FittedChain, X: Any, width: int | None) -> LabelDistribution:
    """The ``width`` most probable prefixes of each sample are kept at every link; all that are possible with None."""
    link_probabilities, n = LinkProbabilities(chain, X), X.shape[0]
    rows, labels, weights = np.arange(n), np.zeros((n, 0), dtype=bool), np.ones(n)
    for t in range(len(chain.links)):
        p = link_probabilities(t, (rows, labels))
        extended = np.column_stack([weights * (1 - p), weights * p]).ravel()
        kept = np.flatnonzero(extended > 0)
        if width is not None:
            kept = kept[_rank_in_row(rows[kept // 2], extended[kept]) < width]
        parent, bit = kept // 2, kept % 2 == 1
        rows, labels, weights = rows[parent], np.column_stack([labels[parent], bit]), extended[kept]
        starts = np.searchsorted(rows, np.arange(n))
        weights = weights / np.maximum.reduceat(weights, starts)[rows]  # only ratios matter, and products may underflow
    weights = weights / np.bincount(rows, weights=weights)[rows]
    sets = _in_column_order(chain, labels)
    marginals = np.clip(_by_sample(rows, weights, n) @ sets.astype(np.float64), 0.0, 1.0)
    return LabelDistribution(marginals, rows, sets, weights)


def monte_carlo(chain: FittedChain, X: Any, uniforms: Array) -> LabelDistribution:
    """Label sets drawn along the chain: link t of draw d is 1 if ``uniforms[d, t]`` is below its probability.

    All samples have the same random numbers, so that the prediction for a sample does not depend on the others. Equal
    prefixes are evaluated once. The marginal of a label is the mean of its probabilities given the prefixes, which
    varies less than the share of draws that have it.
    """
    link_probabilities, n = LinkProbabilities(chain, X), X.shape[0]
    rows, labels = np.arange(n), np.zeros((n, 0), dtype=bool)
    prefix_of = np.repeat(rows[:, None], len(uniforms), axis=1)  # of each sample and draw
    marginals = np.empty((n, len(chain.links)))
    for t in range(len(chain.links)):
        p = link_probabilities(t, (rows, labels))[prefix_of]
        marginals[:, chain.order[t]] = p.mean(axis=1)
        extended = 2 * prefix_of + (uniforms[:, t] < p)
        is_drawn = np.zeros(2 * rows.size, dtype=bool)
        is_drawn[extended] = True
        prefix_of = (np.cumsum(is_drawn) - 1)[extended]
        kept = np.flatnonzero(is_drawn)
        rows, labels = rows[kept // 2], np.column_stack([labels[kept // 2], kept % 2 == 1])
    weights = np.bincount(prefix_of.ravel()) / len(uniforms)
    return LabelDistribution(marginals, rows, _in_column_order(chain, labels), weights)


def latin_hypercube(rng: np.random.Generator, n_draws: int, k: int) -> Array:
    """Uniform numbers (n_draws, k), each column of which has one in every interval of length 1 / n_draws."""
    strata = rng.permuted(np.tile(np.arange(n_draws)[:, None], k), axis=0)
    return np.asarray((strata + rng.random((n_draws, k))) / n_draws)


def mixture(distributions: Sequence[LabelDistribution]) -> LabelDistribution:
    """The mean of several distributions of the same samples; equal sets of a sample become one."""
    if len(distributions) == 1:
        return distributions[0]
    marginals = np.mean([each.marginals for each in distributions], axis=0)
    rows = np.concatenate([each.rows for each in distributions])
    sets = np.concatenate([each.sets for each in distributions])
    weights = np.concatenate([each.weights for each in distributions]) / len(distributions)
    keys = np.column_stack([rows.astype(">u8").view(np.uint8).reshape(-1, 8), np.packbits(sets, axis=1)])
    keys = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    total = np.asarray(np.bincount(index.ravel(), weights=weights), dtype=np.float64)
    return LabelDistribution(marginals, rows[first], sets[first], total)


def _rank_in_row(rows: NDArray[np.intp], weights: Array) -> NDArray[np.intp]:
    """The rank of each weight among those of its row, from 0 for the largest; ``rows`` increase."""
    order = np.lexsort((-weights, rows))
    rank = np.empty(rows.size, dtype=np.intp)
    rank[order] = np.arange(rows.size) - np.searchsorted(rows, rows)
    return rank


def _in_column_order(chain: FittedChain, labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    sets = np.empty_like(labels)
    sets[:, chain.order] = labels
    return sets
