"""Weights of samples and labels, and labels that are not observed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs import metrics
from sdgs.readout._decision import (
    DECISION_RULES,
    TARGET_METRICS,
    Decision,
    make_decision,
    metric_value,
    tune_decision,
    weighted_probabilities,
)


def draw(seed, n=30, k=3):
    rng = np.random.default_rng(seed)
    P = 1 / (1 + np.exp(-rng.normal(-1, 1.5, (n, k))))
    Y = (rng.random((n, k)) < P).astype(float)
    Y[0, 0] = 1
    return P, Y, rng


def assert_same_decision(found, expected):
    assert found.top == expected.top
    for name in ("thresholds", "label_weight"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-8)
    assert (found.label_sets is None) == (expected.label_sets is None)
    if found.label_sets is not None:
        np.testing.assert_allclose(found.label_sets.log_ratios, expected.label_sets.log_ratios, atol=1e-8)


def are_equally_good(metric, rule, P, Y):
    """Whether rounding decides between numbers of labels or thresholds with the same value."""
    if rule == "top":
        candidates = [Decision(top=top).decide(P) for top in range(1, P.shape[1] + 1)]
    elif rule in ("threshold", "thresholds"):
        candidates = [threshold <= P for threshold in np.unique(P)]
    else:
        return False
    best = np.sort([metric_value(metric, Y, labels) for labels in candidates])[::-1]
    return best.size > 1 and best[0] - best[1] < 1e-12


@pytest.mark.parametrize("metric", TARGET_METRICS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), rule=st.sampled_from(DECISION_RULES), missing=st.booleans(), ties=st.booleans())
def test_a_weight_is_a_number_of_equal_samples(metric, seed, rule, missing, ties):
    P, Y, rng = draw(seed)
    P = np.round(P, 1) if ties else P
    if missing:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    weight = rng.integers(0, 4, len(Y)).astype(float)
    weight[0] = 2
    repeated = np.repeat(np.arange(len(Y)), weight.astype(int))
    labels = rng.random(Y.shape) < 0.4
    assert metric_value(metric, Y, labels, weight) == pytest.approx(metric_value(metric, Y[repeated], labels[repeated]))
    for weights, rows in ((weight, repeated), (np.ones(len(Y)), np.arange(len(Y)))):
        found = tune_decision(rule, metric, P, Y, at_least_one=False, sample_weight=weights)
        expected = tune_decision(rule, metric, P[rows], Y[rows], at_least_one=False)
        values = [metric_value(metric, Y[rows], decision.decide(P[rows])) for decision in (found, expected)]
        # A probability may equal half of an expected F1, up to rounding; thresholds are compared below.
        assert rule == "expected" or values[0] == pytest.approx(values[1], abs=1e-12)
        if not are_equally_good(metric, rule, P[rows], Y[rows]):
            assert_same_decision(found, expected)


@pytest.mark.parametrize("rule", DECISION_RULES)
@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_small_weights_say_the_same_as_large_ones(rule, metric):
    P, Y, rng = draw(0, 200)
    weight = rng.uniform(0.5, 2, len(Y))
    found = [tune_decision(rule, metric, P, Y, at_least_one=True, sample_weight=w * weight) for w in (1, 1e-6)]
    values = [metric_value(metric, Y, decision.decide(P), weight) for decision in found]
    if rule == "thresholds":  # with a small sum of weights no label has enough samples for a threshold of its own
        values[0] = metric_value(
            metric, Y, tune_decision("threshold", metric, P, Y, at_least_one=True).decide(P), weight
        )
    assert values[0] == pytest.approx(values[1], abs=0.03)


def slow_value(metric, Y, labels, weight):
    """By the definitions, entry by entry."""
    n, k = Y.shape
    observed = [[j for j in range(k) if not np.isnan(Y[i, j])] for i in range(n)]
    true = [{j for j in observed[i] if Y[i, j] == 1} for i in range(n)]
    predicted = [{j for j in observed[i] if labels[i, j]} for i in range(n)]
    if metric == "hamming_loss":
        wrong = sum(w * len(t ^ p) for w, t, p in zip(weight, true, predicted, strict=True))
        return -wrong / sum(w * len(o) for w, o in zip(weight, observed, strict=True))
    if metric in ("micro_f1", "macro_f1"):
        both, sizes = np.zeros(k), np.zeros(k)
        for w, t, p in zip(weight, true, predicted, strict=True):
            for j in range(k):
                both[j] += 2 * w * (j in t and j in p)
                sizes[j] += w * ((j in t) + (j in p))
        if metric == "micro_f1":
            return both.sum() / sizes.sum() if sizes.sum() else 0
        return np.mean([b / s if s else 0 for b, s in zip(both, sizes, strict=True)])
    values, weights = [], []
    for w, o, t, p in zip(weight, observed, true, predicted, strict=True):
        if not o:
            continue
        ratio = {
            "f1": lambda t=t, p=p: 2 * len(t & p) / (len(t) + len(p)) if t | p else 1,
            "accuracy": lambda t=t, p=p: len(t & p) / len(t | p) if t | p else 1,
            "subset_accuracy": lambda t=t, p=p: float(t == p),
        }[metric]()
        values.append(w * ratio)
        weights.append(w)
    return sum(values) / sum(weights)


@pytest.mark.parametrize("metric", TARGET_METRICS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), k=st.integers(1, 4))
def test_labels_that_are_not_observed_are_neither_true_nor_false(metric, seed, n, k):
    rng = np.random.default_rng(seed)
    Y = rng.choice([0, 1, np.nan], (n, k))
    Y[0, 0] = 1
    labels, weight = rng.random((n, k)) < 0.5, rng.uniform(0.1, 3, n)
    assert metric_value(metric, Y, labels, weight) == pytest.approx(slow_value(metric, Y, labels, weight))
    assert metric_value(metric, Y, labels) == pytest.approx(slow_value(metric, Y, labels, np.ones(n)))
    known = np.nan_to_num(Y)
    sign = -1 if metric == "hamming_loss" else 1
    expected = sign * getattr(metrics, metric)(known, labels, sample_weight=weight)
    assert metric_value(metric, known, labels, weight) == pytest.approx(expected)
    assert metric_value(metric, np.full((n, k), np.nan), labels) == 0


@pytest.mark.parametrize("rule", DECISION_RULES)
@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_samples_without_an_observed_label_change_nothing(rule, metric):
    P, Y, _ = draw(1, 50)
    if rule == "expected" and metric in ("micro_f1", "macro_f1"):
        pytest.skip("expected values need no labels, and use the probabilities of all samples")
    more, unknown = np.vstack([P, np.full((5, 3), 0.7)]), np.vstack([Y, np.full((5, 3), np.nan)])
    found = tune_decision(rule, metric, more, unknown, at_least_one=False)
    expected = tune_decision(rule, metric, P, Y, at_least_one=False)
    if rule in ("threshold", "thresholds") and metric != "subset_accuracy":
        assert_same_decision(found, expected)
    value = [metric_value(metric, Y, decision.decide(P)) for decision in (found, expected)]
    assert value[0] == pytest.approx(value[1])


def test_thresholds_are_those_of_observed_labels():
    P, Y, rng = draw(2, 200)
    unobserved = rng.random(len(Y)) < 0.4
    partly = Y.copy()
    partly[unobserved, 1] = np.nan
    for metric in ("f1", "macro_f1", "hamming_loss", "accuracy"):
        found = tune_decision("thresholds", metric, P, partly, at_least_one=False).thresholds[1]
        expected = tune_decision("thresholds", metric, P[~unobserved], Y[~unobserved], at_least_one=False).thresholds[1]
        assert found == expected


@given(p=st.floats(0, 1), w=st.floats(1e-300, 1e300))
def test_weighted_odds(p, w):
    q = float(weighted_probabilities(np.array([[p]]), np.array([w]))[0, 0])
    assert 0 <= q <= 1
    if p in (0, 1):
        assert q == p
    if 1e-6 < p < 1 - 1e-6 and 1e-6 < w < 1e6:
        assert q / (1 - q) == pytest.approx(w * p / (1 - p), rel=1e-6)
        back = weighted_probabilities(np.array([[q]]), np.array([1 / w]))
        assert float(back[0, 0]) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_extreme_weights_of_float32(weight):
    P = np.array([[0, 0.5, 1]], dtype=np.float32)
    q = weighted_probabilities(P, np.full(3, weight))
    assert q.dtype == np.float32
    np.testing.assert_allclose(q, [[0, weight > 1, 1]], atol=1e-30)


@pytest.mark.parametrize("rule", [*DECISION_RULES, 0.3, 2])
@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_labels_are_decided_on_as_if_their_odds_were_larger(rule, metric):
    P, Y, _ = draw(4, 300, 5)
    options = {"at_least_one": False, "one_per_sample": False}
    weight = np.array([1, 4, 1, 0.25, 1])
    decision = make_decision(rule, metric, P, Y, label_weight=weight, **options)
    labels = decision.decide(P)
    if metric != "subset_accuracy" or rule != "expected":  # whose factors are those of honest probabilities
        Q = weighted_probabilities(P, weight)
        np.testing.assert_array_equal(labels, make_decision(rule, metric, Q, Y, **options).decide(Q))
    plain = make_decision(rule, metric, P, Y, **options)
    difference = labels.sum(axis=0) - plain.decide(P).sum(axis=0)
    if rule == "thresholds":
        assert (difference == 0).all()  # they adapt
    else:
        assert difference[1] > 0 > difference[3]
    ones = make_decision(rule, metric, P, Y, label_weight=np.ones(5), **options)
    np.testing.assert_array_equal(ones.decide(P), plain.decide(P))


def test_a_class_with_a_weight():
    P = np.array([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1]])
    decision = make_decision(
        "expected", "f1", P, P > 0.4, at_least_one=True, one_per_sample=True, label_weight=np.array([1, 1, 5.0])
    )
    assert decision.decide(P).tolist() == [[False, False, True], [True, False, False]]
    assert Decision().label_weight is None
