"""Decisions for micro F1, macro F1 and subset accuracy: closed forms, and comparison with all possible decisions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs._utils._array_api import to_host
from sdgs.readout._decision import TARGET_METRICS, Decision, make_decision, metric_value, tune_decision
from sdgs.readout._label_set_correction import fit_label_set_correction
from sdgs.readout._thresholds import expected_f1_thresholds, share_threshold


def draw_probabilities(seed, n=40, k=4, mean=-1.5):
    return 1 / (1 + np.exp(-np.random.default_rng(seed).normal(mean, 2, (n, k))))


def expected_f1(p, threshold):
    chosen = p[p >= threshold]
    return 2 * chosen.sum() / (chosen.size + p.sum())


@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), k=st.integers(1, 5))
def test_thresholds_with_the_best_expected_f1_are_half_of_it(seed, n, k):
    P = draw_probabilities(seed, n, k)
    together = float(expected_f1_thresholds(P, per_label=False))
    each = expected_f1_thresholds(P, per_label=True)
    for p, threshold in [(P.ravel(), together), *zip(P.T, each, strict=True)]:
        best = max(expected_f1(p, t) for t in p)
        assert expected_f1(p, threshold) == pytest.approx(best)
        assert threshold == pytest.approx(best / 2)


def test_labels_that_are_expected_nowhere_are_not_predicted():
    P = np.column_stack([np.zeros(5), np.full(5, 0.2)])
    np.testing.assert_allclose(expected_f1_thresholds(P, per_label=True), [0.5, 1 / 6])
    Y = np.array([[0, 1], [0, 1], [0, 0], [0, 0], [0, 0]])
    P[:, 0] = 1e-3  # as of a label without training samples, for which it would be predicted for all
    for metric, first in (("macro_f1", False), ("micro_f1", False)):
        labels = tune_decision("expected", metric, P, Y, at_least_one=False).decide(P)
        assert labels.any(axis=0).tolist() == [first, True]


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_a_sample_is_decided_on_as_beside_others(metric):
    P = draw_probabilities(0)
    decision = tune_decision("expected", metric, P, draw_probabilities(0) > 0.5, at_least_one=True)
    together = decision.decide(P)
    np.testing.assert_array_equal(np.vstack([decision.decide(p[None]) for p in P]), together)
    without = Decision(metric, at_least_one=True)  # as in a search, where thresholds are those of the samples at hand
    np.testing.assert_array_equal(without.decide(P), together)


def with_dependent_labels(seed, n=3000):
    """Probabilities and labels of which two exclude each other, and the third is equal to the first."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.2, 0.8, n)
    first = rng.random(n) < p
    return np.column_stack([p, 1 - p, p]), np.column_stack([first, ~first, first])


def test_label_sets_that_never_occur_are_not_predicted():
    P, Y = with_dependent_labels(0)
    P = np.clip(P + np.random.default_rng(1).normal(0, 0.15, P.shape), 0.02, 0.98)
    independent = Decision("subset_accuracy").decide(P)
    decision = tune_decision("expected", "subset_accuracy", P[:1500], Y[:1500], at_least_one=False)
    labels = decision.decide(P[1500:])
    assert {tuple(row) for row in labels.tolist()} <= {(True, False, True), (False, True, False)}
    gain = metric_value("subset_accuracy", Y[1500:], labels) - metric_value(
        "subset_accuracy", Y[1500:], independent[1500:]
    )
    assert gain > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_independent_labels_are_decided_on_one_by_one(seed):
    rng = np.random.default_rng(seed)
    P = rng.uniform(0, 1, (20_000, 3))
    decision = tune_decision("expected", "subset_accuracy", P, rng.random(P.shape) < P, at_least_one=False)
    assert np.abs(decision.label_sets.log_ratios[:-1]).max() < 0.15  # all eight sets, as often as expected
    certain = (np.abs(P - 0.5) > 0.05).all(axis=1)
    np.testing.assert_array_equal(decision.decide(P)[certain], P[certain] > 0.5)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), allow_empty=st.booleans())
def test_the_chosen_set_has_the_largest_product_of_probability_and_factor(seed, allow_empty):
    rng = np.random.default_rng(seed)
    Y = rng.random((15, 3)) < [0.6, 0.3, 0.1]
    P = draw_probabilities(seed, 15, 3, mean=0)
    decision = tune_decision("expected", "subset_accuracy", P, Y, at_least_one=not allow_empty)
    correction = decision.label_sets
    if correction is None:
        assert not allow_empty and not Y.any()  # noqa: PT018
        return
    factors = dict(zip(map(tuple, correction.sets.tolist()), np.exp(correction.log_ratios), strict=False))
    for p, labels in zip(P, decision.decide(P), strict=True):
        independent = p >= 0.5
        if not allow_empty and not independent.any():
            independent[p.argmax()] = True
        candidates = [*factors, tuple(independent.tolist())]
        others = np.exp(correction.log_ratios[-1])
        values = [np.where(each, p, 1 - p).prod() * factors.get(each, others) for each in candidates]
        assert np.where(labels, p, 1 - p).prod() * factors.get(tuple(labels.tolist()), others) == pytest.approx(
            max(values)
        )
        assert allow_empty or labels.any()
        sets, probabilities = correction.set_probabilities(p, independent)
        assert probabilities.sum() == pytest.approx(1)
        assert (sets[probabilities.argmax()] == labels).all() or np.ptp(np.sort(probabilities)[-2:]) < 1e-9


def test_the_factor_of_a_set_is_its_count_over_the_expected_one():
    P = np.full((4, 2), 0.5)
    Y = np.array([[1, 1], [1, 1], [1, 1], [0, 0]], dtype=bool)
    correction = fit_label_set_correction(P, Y, None, allow_empty=True)
    factors = {tuple(s): f for s, f in zip(correction.sets.tolist(), np.exp(correction.log_ratios), strict=False)}
    assert factors == pytest.approx({(True, True): 4 / 2, (False, False): 2 / 2})  # each was expected once
    # One sample in four has a set that occurs once, so one is expected to have another set; independent labels: two.
    assert np.exp(correction.log_ratios[-1]) == pytest.approx(2 / 3)


@pytest.mark.array_api
@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_decisions_and_values_are_those_of_numpy(elsewhere, metric):
    P = draw_probabilities(3)
    rng = np.random.default_rng(0)
    Y = (rng.random(P.shape) < P).astype(float)
    weight, label_weight = rng.uniform(0.5, 2, len(P)), np.array([0.5, 1, 2, 1e-300])
    missing = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    for decision in (
        Decision(metric),
        tune_decision("expected", metric, P, Y, at_least_one=True, label_weight=label_weight),
        Decision(metric, top=1, label_weight=label_weight),
    ):
        labels, there = decision.decide(P), decision.decide(elsewhere(P))
        np.testing.assert_array_equal(to_host(there), labels)
        for target, sample_weight in product((Y, missing), (None, weight)):
            expected = metric_value(metric, target, labels, sample_weight)
            found = metric_value(metric, elsewhere(target), there, sample_weight)
            assert found == pytest.approx(expected, abs=1e-12)


def test_equal_probabilities_and_a_share_of_labels():
    # 3 of 8 labels: one threshold gives 2, the next 5.
    P = np.array([[0.9, 0.8], [0.3, 0.3], [0.3, 0.1], [0.1, 0.1]])
    assert (share_threshold(P, 3) <= P).sum() == 2
    assert (share_threshold(P, 4) <= P).sum() == 5
    assert (share_threshold(P, 5) <= P).sum() == 5
    assert (share_threshold(np.full((4, 2), 0.3), 1) <= 0.3) == False  # noqa: E712 - none is closer to 1 than 8
    assert share_threshold(np.full((4, 2), 0.3), 4) <= 0.3  # two equally close numbers: the larger
    ones = np.ones(P.shape)
    for number in (1, 2, 3, 4, 5, 8):
        assert share_threshold(P, number, ones) == share_threshold(P, number)


@given(seed=st.integers(0, 10**6), n_values=st.integers(1, 6))
def test_no_threshold_is_closer_to_the_share(seed, n_values):
    rng = np.random.default_rng(seed)
    P = rng.choice(rng.random(n_values), (6, 3))
    number = int(rng.integers(1, 19))
    found = abs((share_threshold(P, number) <= P).sum() - number)
    assert found == min(abs((threshold <= P).sum() - number) for threshold in [*P.ravel(), 2])


@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_one_class_per_sample_is_the_most_probable_one(metric):
    P = draw_probabilities(0)
    decision = make_decision("expected", metric, P, P > 0.5, at_least_one=True, one_per_sample=True)
    np.testing.assert_array_equal(decision.decide(P).argmax(axis=1), P.argmax(axis=1))
