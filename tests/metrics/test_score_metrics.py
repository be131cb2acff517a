"""Metrics of rankings and of probabilities, compared with scikit-learn and with slow versions; ties, empty sets."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as sklearn_metrics

from sdgs import metrics

# Few different scores, so that many are equal; empty and full label sets occur.
scored = st.tuples(st.integers(1, 8), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])),
        st.none() | arrays(np.float64, shape[0], elements=st.floats(0.1, 5)),
    )
)


@settings(deadline=None)
@given(case=scored, data=st.data())
def test_rankings_agree_with_scikit_learn(case, data):
    true, scores, weight = case
    k = data.draw(st.integers(1, true.shape[1]))
    for actual, expected in (
        (metrics.ranking_loss, sklearn_metrics.label_ranking_loss),
        (metrics.label_ranking_average_precision, sklearn_metrics.label_ranking_average_precision_score),
    ):
        assert actual(true, scores, sample_weight=weight) == pytest.approx(expected(true, scores, sample_weight=weight))
    from_one = metrics.coverage(true, scores, count_from=1, sample_weight=weight)
    assert from_one == pytest.approx(sklearn_metrics.coverage_error(true, scores, sample_weight=weight))
    with_labels = np.average(true.any(axis=1), weights=weight)
    assert metrics.coverage(true, scores, sample_weight=weight) == pytest.approx(from_one - with_labels)
    assert metrics.ndcg_at_k(true, scores, k=k, sample_weight=weight) == pytest.approx(
        sklearn_metrics.ndcg_score(true, scores, k=k, sample_weight=weight)
    )


def over_all_orders(y, scores, value):
    """The mean of ``value`` over all orders of the labels that the scores allow."""
    values = []
    for order in permutations(range(len(y))):
        if all(scores[a] >= scores[b] for a, b in zip(order, order[1:], strict=False)):
            values.append(value(y[list(order)], np.array(order)))
    return np.mean(values)


@settings(deadline=None, max_examples=50)
@given(case=scored, data=st.data())
def test_first_labels_agree_with_all_orders(case, data):
    true, scores, _ = case
    k = data.draw(st.integers(1, true.shape[1]))
    p = data.draw(arrays(np.float64, true.shape[1], elements=st.floats(0.1, 1)))
    rows = list(zip(true, scores, strict=True))
    expected = np.mean([over_all_orders(y, s, lambda ranked, _: ranked[:k].mean()) for y, s in rows])
    assert metrics.precision_at_k(true, scores, k=k) == pytest.approx(expected)
    wrong_first = [over_all_orders(y, s, lambda ranked, _: 1 - ranked[0]) if y.any() else 0 for y, s in rows]
    assert metrics.one_error(true, scores) == pytest.approx(np.mean(wrong_first))
    reached = np.sum([over_all_orders(y, s, lambda ranked, order: (ranked / p[order])[:k].sum()) for y, s in rows])
    possible = np.sum([np.sort(y / p)[::-1][:k].sum() for y in true])
    actual = metrics.propensity_scored_precision_at_k(true, scores, k=k, propensities=p)
    np.testing.assert_allclose(actual, reached / possible if possible else np.nan)


def test_propensities_follow_their_formula():
    Y = (np.random.default_rng(0).random((50, 4)) < [0.5, 0.2, 0.05, 0.0]).astype(int)
    expected = []
    for count in Y.sum(axis=0):
        c = (np.log(50) - 1) * (0.4 + 1) ** 0.5
        expected.append(1 / (1 + c * np.exp(-0.5 * np.log(count + 0.4))))
    np.testing.assert_allclose(metrics.propensities(Y, a=0.5, b=0.4), expected)
    assert (np.diff(metrics.propensities(Y)) < 0).all(), "rare labels are recorded less often"
    scores = np.random.default_rng(1).random((50, 4))
    by_default = metrics.propensity_scored_precision_at_k(Y, scores, k=2)
    assert by_default == metrics.propensity_scored_precision_at_k(Y, scores, k=2, propensities=metrics.propensities(Y))
    assert metrics.propensity_scored_precision_at_k(Y, Y, k=2) == 1
    equal = metrics.propensity_scored_precision_at_k(Y, scores, k=1, propensities=np.ones(4))
    assert equal == pytest.approx(metrics.precision_at_k(Y, scores, k=1) / Y.any(axis=1).mean())


@settings(deadline=None)
@given(case=scored)
def test_probabilities_agree_with_scikit_learn(case):
    true, P, weight = case
    brier = [
        sklearn_metrics.brier_score_loss(y, p, sample_weight=weight, pos_label=1)
        for y, p in zip(true.T, P.T, strict=True)
    ]
    np.testing.assert_allclose(metrics.brier_score(true, P, average=None, sample_weight=weight), brier, atol=1e-12)
    assert metrics.brier_score(true, P, sample_weight=weight) == pytest.approx(np.mean(brier))
    loss = [
        sklearn_metrics.log_loss(y, p, labels=[0, 1], sample_weight=weight) for y, p in zip(true.T, P.T, strict=True)
    ]
    np.testing.assert_allclose(metrics.log_loss(true, P, average=None, sample_weight=weight), loss, atol=1e-12)
    assert metrics.log_loss(true, P, sample_weight=weight) == pytest.approx(np.mean(loss))


def slow_calibration_error(y, p, weights, n_bins):
    error = 0.0
    for b in range(n_bins):
        inside = (p >= b / n_bins) & ((p < (b + 1) / n_bins) | (b == n_bins - 1))
        if weights[inside].sum() > 0:
            gap = np.average(y[inside], weights=weights[inside]) - np.average(p[inside], weights=weights[inside])
            error += weights[inside].sum() / weights.sum() * abs(gap)
    return error


@settings(deadline=None)
@given(case=scored, n_bins=st.sampled_from([1, 2, 4, 8]))
def test_calibration_error_agrees_with_the_slow_version(case, n_bins):
    true, P, weight = case
    weights = np.ones(len(true)) if weight is None else weight
    by_label = [slow_calibration_error(true[:, j], P[:, j], weights, n_bins) for j in range(true.shape[1])]
    together = slow_calibration_error(true.ravel(), P.ravel(), np.repeat(weights, true.shape[1]), n_bins)
    options = {"n_bins": n_bins, "sample_weight": weight}
    np.testing.assert_allclose(
        metrics.expected_calibration_error(true, P, average=None, **options), by_label, atol=1e-12
    )
    assert metrics.expected_calibration_error(true, P, average="macro", **options) == pytest.approx(np.mean(by_label))
    assert metrics.expected_calibration_error(true, P, **options) == pytest.approx(together)


def test_empty_and_full_sets():
    scores = [[0.9, 0.5, 0.1]]
    for true, expected in (
        (
            [[0, 0, 0]],
            {"ranking_loss": 0, "one_error": 0, "coverage": 0, "coverage_error": 0, "precision@1": 0, "ndcg@3": 0},
        ),
        (
            [[1, 1, 1]],
            {"ranking_loss": 0, "one_error": 0, "coverage": 2, "coverage_error": 3, "precision@1": 1, "ndcg@3": 1},
        ),
    ):
        values = metrics.evaluate(true, true, scores, measures=[*expected, "label_ranking_average_precision"])
        assert {name: values[name] for name in expected} == expected
        assert values["label_ranking_average_precision"] == 1
    assert np.isnan(metrics.propensity_scored_precision_at_k([[0, 0]], [[0.1, 0.2]], propensities=[0.5, 0.5]))
