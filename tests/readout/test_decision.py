"""From probabilities to label sets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs import SDGSClassifier, metrics
from sdgs._utils._array_api import on_host, to_host
from sdgs.datasets import make_composite_digits
from sdgs.readout._decision import (
    DECISION_RULES,
    TARGET_METRICS,
    Decision,
    best_expected_f1,
    metric_value,
    tune_decision,
)


@settings(deadline=None, max_examples=100)
@given(p=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6), metric=st.sampled_from(["f1", "accuracy"]))
def test_no_other_set_is_better_by_the_criterion(p, metric):
    def expected(labels):
        inside, outside = sum(p[i] for i in labels), sum(p[i] for i in range(len(p)) if i not in labels)
        if metric == "f1":
            return 2 * inside / (len(labels) + inside + outside)
        return inside / (len(labels) + outside)

    chosen = np.flatnonzero(best_expected_f1(np.array([p]))[0]).tolist()
    assert chosen
    every = [labels for size in range(1, len(p) + 1) for labels in combinations(range(len(p)), size)]
    assert expected(chosen) == pytest.approx(max(map(expected, every)))


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 30), allow_empty=st.booleans())
def test_the_best_set_is_that_of_sorted_probabilities(seed, k, allow_empty):
    rng = np.random.default_rng(seed)
    P = 1 / (1 + np.exp(-rng.normal(-2, 3, (20, k))))
    P[:5] = rng.choice([0, 1e-300, 0.25, 0.5, 1], (5, k))  # many are equal
    P[5:7] = [[0.0], [1e-310]]
    found = best_expected_f1(P, allow_empty=allow_empty)
    for p, labels in zip(P, found, strict=True):
        order = np.argsort(-p, kind="stable")
        expected = 2 * np.cumsum(p[order]) / (np.arange(1, k + 1) + p.sum())
        size = expected.argmax() + 1
        if allow_empty and np.prod(1 - p) > expected.max():
            size = 0
        assert labels.tolist() == np.isin(np.arange(k), order[:size]).tolist()


@pytest.mark.array_api
@pytest.mark.parametrize("allow_empty", [False, True])
def test_the_best_sets_are_those_of_the_compiled_loop(elsewhere, allow_empty):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        P = 1 / (1 + np.exp(-rng.normal(-2, 3, (30, int(rng.integers(1, 30))))))
        P[:5] = rng.choice([0, 1e-300, 0.25, 0.5, 1], P[:5].shape)
        P[5:7] = [[0.0], [1e-310]]
        labels = best_expected_f1(elsewhere(P), allow_empty=allow_empty)
        assert not on_host(labels)
        np.testing.assert_array_equal(to_host(labels), best_expected_f1(P, allow_empty=allow_empty))


def test_the_empty_set_only_if_allowed():
    unlikely = np.array([[0.06, 0.01, 0.01]])
    assert best_expected_f1(unlikely).sum() == 1
    assert best_expected_f1(unlikely, allow_empty=True).sum() == 0
    assert best_expected_f1(np.array([[0.9, 0.05, 0.05]]), allow_empty=True).sum() == 1


def draw_labels(seed, n=400, k=6):
    """Probabilities and labels drawn from them, with a different bias per label."""
    rng = np.random.default_rng(seed)
    P = 1 / (1 + np.exp(-rng.normal(-1.5, 1.5, (n, k))))
    return P ** rng.uniform(0.5, 2, k), rng.random((n, k)) < P


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 9), k=st.integers(1, 4))
def test_the_fast_metric_values_are_those_of_sdgs_metrics(seed, n, k):
    rng = np.random.default_rng(seed)
    Y, labels = rng.random((2, n, k)) < 0.3
    for metric in TARGET_METRICS:
        sign = -1 if metric == "hamming_loss" else 1
        assert metric_value(metric, Y, labels) == pytest.approx(sign * getattr(metrics, metric)(Y, labels))


def test_a_tuned_threshold_is_the_best_there_is():
    P, Y = draw_labels(0)
    for metric in TARGET_METRICS:
        found = tune_decision("threshold", metric, P, Y, at_least_one=False)
        best = max(metric_value(metric, Y, threshold <= P) for threshold in np.unique(P))
        assert metric_value(metric, Y, found.decide(P)) >= best - 0.005  # a hundred thresholds are tried, not all


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 60), ties=st.booleans())
def test_thresholds_are_the_best_of_each_label(seed, n, ties):
    P, Y = draw_labels(seed, n, 3)
    P = np.round(P, 1) if ties else P
    # For subset accuracy thresholds are those with the most right decisions; micro F1 has a test of its own.
    for metric in ("f1", "accuracy", "hamming_loss", "macro_f1", "subset_accuracy"):
        chosen = tune_decision("thresholds", metric, P, Y, at_least_one=False).decide(P)
        for label in np.flatnonzero(Y.sum(axis=0) >= 3):
            y, p = Y[:, label], P[:, label]

            def label_value(predicted, y=y, metric=metric):
                both = (y & predicted).sum()
                if metric in ("hamming_loss", "subset_accuracy"):
                    return -(y != predicted).sum()
                if metric == "accuracy":
                    return both / (y | predicted).sum()
                return 2 * both / (y.sum() + predicted.sum())

            best = max(label_value(p >= threshold) for threshold in [*p, 2.0])
            assert label_value(chosen[:, label]) == pytest.approx(best)


def test_a_rare_label_gets_the_common_threshold():
    P, Y = draw_labels(1)
    Y[:, 2] = False
    Y[:2, 2] = True
    one = tune_decision("threshold", "f1", P, Y, at_least_one=False)
    each = tune_decision("thresholds", "f1", P, Y, at_least_one=False)
    assert each.thresholds[2] == one.thresholds
    assert len(set(each.thresholds)) == 6


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_for_micro_f1_cannot_be_improved_one_by_one(seed):
    P, Y = draw_labels(seed, 100, 4)
    one, each = (tune_decision(rule, "micro_f1", P, Y, at_least_one=False) for rule in ("threshold", "thresholds"))
    value = metric_value("micro_f1", Y, each.decide(P))
    assert value >= metric_value("micro_f1", Y, one.decide(P))
    for label in range(4):
        for threshold in [*P[:, label], 2.0]:
            changed = each.thresholds.copy()
            changed[label] = threshold
            assert metric_value("micro_f1", Y, changed <= P) <= value + 1e-12


def test_a_share_and_a_number_of_labels():
    P, Y = draw_labels(2)
    assert tune_decision("share", "f1", P, Y, at_least_one=False).decide(P).sum() == Y.sum()
    top = tune_decision("top", "f1", P, Y, at_least_one=False)
    sizes = [metric_value("f1", Y, Decision(top=m).decide(P)) for m in range(1, 7)]
    assert top.top == 1 + int(np.argmax(sizes))
    assert (top.decide(P).sum(axis=1) == top.top).all()
    assert Decision(top=9).decide(P).all()


@pytest.mark.parametrize("rule", DECISION_RULES)
@pytest.mark.parametrize("metric", TARGET_METRICS)
def test_at_least_one_label_if_asked_for(rule, metric):
    P, Y = draw_labels(3)
    P[0] = 1e-9
    P[0, 4] = 2e-9
    chosen = tune_decision(rule, metric, P, Y, at_least_one=True).decide(P)
    assert chosen.any(axis=1).all()
    assert chosen[0, 4] or (rule == "expected" and metric == "subset_accuracy")  # where sets are compared
    if rule != "top":
        assert not tune_decision(rule, metric, P, Y, at_least_one=False).decide(P)[0].any()


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(200, max_labels=2, subset="train", random_state=0),  # few, so that much is uncertain
        make_composite_digits(1000, max_labels=2, subset="test", random_state=1),
    )


def test_each_metric_is_served_best_by_its_own_decision(digits):
    train, test = digits
    predicted = {
        m: SDGSClassifier(metric=m, random_state=0).fit(train.X, train.Y).predict(test.X) for m in TARGET_METRICS
    }
    assert metrics.f1(test.Y, predicted["f1"]) > metrics.f1(test.Y, predicted["hamming_loss"])
    assert metrics.accuracy(test.Y, predicted["accuracy"]) > metrics.accuracy(test.Y, predicted["hamming_loss"])
    assert metrics.hamming_loss(test.Y, predicted["hamming_loss"]) < metrics.hamming_loss(test.Y, predicted["f1"])
    for metric in ("micro_f1", "macro_f1"):
        assert getattr(metrics, metric)(test.Y, predicted[metric]) > getattr(metrics, metric)(test.Y, predicted["f1"])
    subset = {name: metrics.subset_accuracy(test.Y, labels) for name, labels in predicted.items()}
    assert max(subset, key=subset.get) == "subset_accuracy"
    assert subset["subset_accuracy"] > subset["hamming_loss"] + 0.02
    assert predicted["f1"].sum(axis=1).min() == 1
    assert predicted["hamming_loss"].sum(axis=1).min() == 0


def test_decisions_of_the_classifier(digits):
    train, test = digits

    def predicted(decision, **options):
        model = SDGSClassifier(2, decision=decision, penalty=1.0, random_state=0, **options).fit(train.X, train.Y)
        return model.predict(test.X), model.predict_proba(test.X)

    labels, p = predicted(0.3, at_least_one=False)
    np.testing.assert_array_equal(labels, p >= 0.3)
    each = np.linspace(0.1, 0.6, 10)
    np.testing.assert_array_equal(predicted(each, at_least_one=False)[0], p >= each)
    np.testing.assert_array_equal(predicted(2)[0].sum(axis=1), 2)
    labels = predicted(0.9)[0]
    np.testing.assert_array_equal(labels.sum(axis=1), np.maximum((p >= 0.9).sum(axis=1), 1))
    for rule in DECISION_RULES:
        assert metrics.f1(test.Y, predicted(rule)[0]) > 0.6


def test_float32_decides_as_float64():
    """Thresholds are exact values of probabilities: rounding must not decide a whole label."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((90, 30)), (rng.random((90, 3)) < [0.2, 0.4, 0.6]).astype(int)
    for rule in ("share", "threshold", "thresholds"):
        models = [SDGSClassifier(8, decision=rule, random_state=0).fit(X.astype(d), Y) for d in (float, np.float32)]
        double, single = (m.predict(X.astype(d)) for m, d in zip(models, (float, np.float32), strict=True))
        assert np.mean(double == single) > 0.97
    assert models[1].predict_proba(X.astype(np.float32)).dtype == np.float32


def test_a_1d_target_is_the_most_probable_class(digits):
    train, test = digits
    y = train.Y.argmax(axis=1)
    plain, two = (SDGSClassifier(decision=d, random_state=0).fit(train.X, y) for d in ("expected", 2))
    np.testing.assert_array_equal(plain.predict(test.X), two.predict(test.X))
    assert (plain.contributions(test.X[:30]).any(axis=2).sum(axis=1) <= 1).all()
