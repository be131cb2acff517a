"""Why a label is predicted: the rule that is named decides as the model does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdgs.explanation._label_decision import explain_decision, is_predicted_at
from sdgs.readout._decision import TARGET_METRICS, Decision, tune_decision, weighted_probabilities

PROBABILITIES = arrays(np.float64, st.tuples(st.just(1), st.integers(1, 6)), elements=st.floats(0.001, 0.999))


def explain(decision, P, label):
    return explain_decision(decision, P[0], decision.decide(P)[0], label)


@pytest.mark.parametrize("metric", TARGET_METRICS)
@settings(deadline=None)
@given(P=PROBABILITIES)
def test_labels_above_the_stated_threshold_are_those_that_are_predicted(metric, P):
    decision = Decision(metric)
    for label, is_predicted in enumerate(decision.decide(P)[0]):
        reason = explain(decision, P, label)
        assert reason.predicted == is_predicted
        if metric not in ("f1", "accuracy"):
            assert is_predicted == (P[0, label] >= reason.threshold)
        elif reason.threshold is None:
            assert not decision.decide(P).any()
        else:
            assert is_predicted == (P[0, label] > reason.threshold) or np.isclose(P[0, label], reason.threshold)


@pytest.mark.parametrize("at_least_one", [False, True])
@settings(deadline=None)
@given(P=PROBABILITIES)
def test_the_expected_measure_is_no_better_the_other_way(at_least_one, P):
    for metric in ("f1", "accuracy", "hamming_loss", "subset_accuracy"):
        for label in range(P.shape[1]):
            reason = explain(Decision(metric, at_least_one=at_least_one), P, label)
            if reason.rule == "most probable":
                assert at_least_one
                continue
            sign = -1 if metric == "hamming_loss" else 1
            gain = sign * (reason.value_with - reason.value_without)
            assert gain >= -1e-12 if reason.predicted else gain <= 1e-12


def test_expected_values_of_a_small_case():
    P = np.array([[0.9, 0.4, 0.1]])
    reason = explain(Decision("f1", at_least_one=True), P, 1)
    # {0} has 2 * 0.9 / (1 + 1.4) = 0.75, and {0, 1} has 2 * 1.3 / (2 + 1.4) = 0.765.
    assert reason.predicted
    assert reason.rule == "expected"
    assert reason.value_without == pytest.approx(0.75)
    assert reason.value_with == pytest.approx(2.6 / 3.4)
    assert reason.threshold == pytest.approx(1.3 / 3.4)
    assert reason.rank == 2
    assert reason.text() == (
        "p = 0.40 is above 0.38, half of the best expected F1: the expected F1 of the set is 0.765 with it and 0.75 "
        "without it."
    )
    assert explain(Decision("accuracy", at_least_one=True), P, 1) == reason  # accuracy is decided by F1
    hamming = explain(Decision("hamming_loss"), P, 1)
    assert hamming.value_with == pytest.approx((0.1 + 0.6 + 0.1) / 3)
    assert hamming.value_without == pytest.approx((0.1 + 0.4 + 0.1) / 3)
    assert hamming.text().startswith("p = 0.40 is below 0.50: the expected Hamming loss")


def test_the_empty_set_competes_where_it_may():
    P = np.array([[0.1, 0.05]])
    reason = explain(Decision("f1"), P, 0)
    assert not reason.predicted
    assert reason.value_without == pytest.approx(0.9 * 0.95)  # no label is there
    assert reason.value_with == pytest.approx(0.2 / 1.15)
    assert reason.threshold is None
    assert reason.text() == "p = 0.10: the expected F1 of the set is 0.174 with it and 0.855 without it."
    filled = explain(Decision("f1", at_least_one=True), P, 0)
    assert (
        filled.text()
        == "p = 0.10 alone would not suffice, but it is the most probable label, and every sample gets one."
    )
    assert explain(Decision("f1", at_least_one=True), P, 1).rule == "expected"
    assert explain(Decision("f1", at_least_one=True), np.array([[0.9, 0.05]]), 0).rule == "expected"
    certain = explain(Decision("f1"), np.array([[0.99999, 0.0005]]), 0)
    assert certain.text().endswith("is 1 with it and less than 0.001 without it.")


@given(P=PROBABILITIES, p=st.floats(0, 1))
def test_the_decision_at_another_probability_is_that_of_the_rule(P, p):
    for decision in (Decision("f1"), Decision("f1", at_least_one=True, thresholds=np.asarray(0.4)), Decision(top=1)):
        changed = P.copy()
        changed[0, 0] = p
        assert is_predicted_at(decision, P[0], 0, p) == decision.decide(changed)[0, 0]


def test_thresholds_ranks_and_the_most_probable_label():
    P = np.array([[0.3, 0.2, 0.6]])
    by_label = Decision("f1", thresholds=np.array([0.25, 0.5, 0.7]))
    assert explain(by_label, P, 0).text() == "p = 0.30 is above the threshold 0.25."
    assert explain(by_label, P, 2).text() == "p = 0.60 is below the threshold 0.70."
    assert explain(Decision("f1", thresholds=np.asarray(0.3)), P, 0).text() == "p = 0.30 equals the threshold 0.30."
    close = Decision("f1", thresholds=np.asarray(0.301))
    assert explain(close, P, 0).text() == "p = 0.3000 is below the threshold 0.3010."
    filled = Decision("f1", at_least_one=True, thresholds=np.asarray(0.9))
    assert explain(filled, P, 2).text().startswith("p = 0.60 alone would not suffice, but it is the most probable")
    assert explain(filled, P, 0).rule == "most probable"
    assert not explain(filled, P, 0).predicted
    top = Decision("f1", top=2)
    assert explain(top, P, 0).text() == "It is one of the 2 most probable labels (p = 0.30, rank 2)."
    assert explain(top, P, 1).text() == "It is not one of the 2 most probable labels (p = 0.20, rank 3)."
    assert explain(Decision("f1", top=1), P, 2).text() == "It is the most probable label (p = 0.60)."
    assert explain(Decision("f1", top=1), P, 0).text() == "It is not the most probable label (p = 0.30, rank 2)."


@settings(deadline=None)
@given(P=PROBABILITIES, seed=st.integers(0, 10**6), metric=st.sampled_from(TARGET_METRICS), at_least_one=st.booleans())
def test_the_threshold_of_a_label_with_a_weight_is_that_of_its_own_probability(P, seed, metric, at_least_one):
    weight = np.exp(np.random.default_rng(seed).normal(0, 2, P.shape[1]))
    decision = Decision(metric, at_least_one, label_weight=weight)
    plain = Decision(metric, at_least_one)
    Q = weighted_probabilities(P, weight)
    for label, is_predicted in enumerate(decision.decide(P)[0]):
        reason, as_if = explain(decision, P, label), explain(plain, Q, label)
        assert reason.predicted == is_predicted
        assert reason.probability == P[0, label]
        for name in ("rule", "value_with", "value_without", "rank", "n_predicted"):
            assert getattr(reason, name) == getattr(as_if, name)
        if reason.threshold is not None:
            assert is_predicted == (P[0, label] > reason.threshold) or np.isclose(P[0, label], reason.threshold)
            assert weighted_probabilities(np.array([[reason.threshold]]), weight[[label]]) == pytest.approx(
                as_if.threshold
            )


def test_a_weight_in_words():
    P = np.array([[0.2, 0.6]])
    weighted = Decision("hamming_loss", thresholds=np.asarray(0.4), label_weight=np.array([4.0, 1.0]))
    assert explain(weighted, P, 0).text() == (
        "weighted p = 0.50 is above the threshold 0.40. The odds of this label are multiplied by 4, so that p = 0.20 "
        "becomes 0.50 and p must reach 0.14."
    )
    top = Decision(top=1, label_weight=np.array([8.0, 1.0]))
    assert explain(top, P, 0).text() == (
        "It is the most probable label (weighted p = 0.67). The odds of this label are multiplied by 8, so that "
        "p = 0.20 becomes 0.67."
    )
    assert explain(top, P, 1).rank == 2


def test_label_sets_that_are_compared():
    rng = np.random.default_rng(0)
    first = rng.random(500) < 0.5
    P = np.column_stack([np.where(first, 0.6, 0.4), np.where(first, 0.45, 0.55)])
    decision = tune_decision("expected", "subset_accuracy", P, np.column_stack([first, ~first]), at_least_one=True)
    both = np.array([[0.6, 0.55]])
    assert decision.decide(both).tolist() == [[True, False]]  # they exclude each other
    reason = explain(decision, both, 1)
    assert reason.threshold is None
    assert reason.value_with < reason.value_without
    assert reason.value_with + reason.value_without < 1  # the set of both, which never occurs, has the rest
    assert reason.text().startswith("p = 0.55: the most probable set with it has probability 0.")
    assert explain(decision, both, 0).value_with == reason.value_without
