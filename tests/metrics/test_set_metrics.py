"""Subset accuracy and the averages of F1, compared with scikit-learn; weights, names and bootstrap intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, make_scorer
from sklearn.model_selection import cross_validate
from sklearn.multiclass import OneVsRestClassifier

from sdgs import metrics

pairs = st.tuples(st.integers(1, 12), st.integers(2, 6)).flatmap(
    lambda shape: st.tuples(
        *[arrays(np.int64, shape, elements=st.integers(0, 1))] * 2,
        st.none() | arrays(np.float64, shape[0], elements=st.floats(0.1, 5)),
    )
)


@settings(deadline=None)
@given(case=pairs, zero_division=st.sampled_from([0.0, 1.0, np.nan]))
def test_label_set_metrics_are_those_of_scikit_learn(case, zero_division):
    true, pred, weight = case
    for average, function in (
        ("micro", metrics.micro_f1),
        ("macro", metrics.macro_f1),
        ("weighted", metrics.weighted_f1),
    ):
        expected = f1_score(true, pred, average=average, zero_division=zero_division, sample_weight=weight)
        actual = function(true, pred, zero_division=zero_division, sample_weight=weight)
        np.testing.assert_allclose(actual, expected, err_msg=average)
    assert metrics.subset_accuracy(true, pred, sample_weight=weight) == pytest.approx(
        accuracy_score(true, pred, sample_weight=weight)
    )
    assert metrics.hamming_loss(true, pred, sample_weight=weight) == pytest.approx(
        hamming_loss(true, pred, sample_weight=weight)
    )


def make_case(n=40, k=5, seed=0):
    rng = np.random.default_rng(seed)
    true, pred = (rng.random((2, n, k)) < 0.3).astype(int)
    P = np.round(np.clip(0.3 * pred + 0.3 * true + 0.4 * rng.random((n, k)), 0, 1), 1)
    return true, pred, P


def test_an_integer_weight_is_that_many_samples():
    true, pred, P = make_case()
    weight = np.random.default_rng(1).integers(0, 4, size=40)
    p = metrics.propensities(true)
    repeated = [np.repeat(array, weight, axis=0) for array in (true, pred, P)]
    expected = metrics.evaluate(*repeated, measures="all", propensities=p)
    actual = metrics.evaluate(true, pred, P, measures="all", propensities=p, sample_weight=weight)
    assert list(actual) == list(metrics.ALL_METRICS)
    for name, value in expected.items():
        assert actual[name] == pytest.approx(value), name
    by_label = metrics.evaluate_labels(true, pred, sample_weight=weight)
    for name, values in metrics.evaluate_labels(*repeated[:2]).items():
        np.testing.assert_allclose(by_label[name], values, err_msg=name)


def test_the_registry_agrees_with_the_functions():
    true, pred, P = make_case(k=7)
    weight = np.random.default_rng(1).random(40)
    values = metrics.evaluate(true, pred, P, measures=metrics.ALL_METRICS, sample_weight=weight)
    for name, metric in metrics.ALL_METRICS.items():
        other = pred if metric.uses == "labels" else P
        assert metric.function(true, other, sample_weight=weight) == pytest.approx(values[name], abs=1e-15), name
        assert (metric.function(true, true) > metric.function(true, 1 - true)) == metric.greater_is_better, name


def test_names_of_measures():
    true, pred, P = make_case()
    five = list(metrics.METRICS)
    assert list(metrics.evaluate(true, pred)) == five
    assert list(metrics.evaluate(true, pred, measures=["macro_f1", "f1"])) == [*five, "macro_f1"]
    assert list(metrics.evaluate(true, pred, measures="all"))[5:] == [
        "subset_accuracy",
        "micro_f1",
        "macro_f1",
        "weighted_f1",
    ]
    with_scores = metrics.evaluate(true, pred, 2 * P, measures="all")
    assert "ndcg@5" in with_scores
    assert "log_loss" not in with_scores
    assert "ndcg@5" not in metrics.evaluate(true[:, :4], pred[:, :4], P[:, :4], measures="all")
    value = metrics.evaluate(true, pred, P, measures=["precision@2"])["precision@2"]
    assert value == metrics.precision_at_k(true, P, k=2)


def test_kinds_of_inputs():
    true, pred, P = make_case()
    names = list("abcde")
    expected = metrics.evaluate(true, pred, P, measures="all")
    frames = [pd.DataFrame(array, columns=names) for array in (true, pred, P)]
    assert metrics.evaluate(*frames, measures="all") == expected
    assert metrics.evaluate(csr_array(true), csr_array(pred), P.tolist(), measures="all") == expected
    with pytest.raises(ValueError, match="Y_true and scores have different columns"):
        metrics.evaluate(*frames[:2], frames[2][names[::-1]], measures=["one_error"])


def test_columns_of_polars():
    pl = pytest.importorskip("polars")
    true, pred, _ = make_case()
    frames = [pl.DataFrame(array, schema=list("abcde")) for array in (true, pred)]
    assert metrics.f1(*frames) == metrics.f1(true, pred)
    with pytest.raises(ValueError, match="different columns, or another order"):
        metrics.f1(frames[0], frames[1].select(list("edcba")))


def test_one_label():
    true, pred, P = (array[:, :1] for array in make_case())
    values = metrics.evaluate(true, pred, P, measures="all")
    assert values["macro_f1"] == values["micro_f1"] == pytest.approx(f1_score(true, pred))
    assert values["ranking_loss"] == values["one_error"] == values["coverage"] == 0
    assert values["precision@1"] == values["ndcg@1"] == values["coverage_error"] == true.mean()
    assert values["label_ranking_average_precision"] == 1


def test_scorers_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    Y = (X + 0.5 * rng.standard_normal((80, 3)) > 0).astype(int)
    scoring = {
        "macro_f1": make_scorer(metrics.macro_f1),
        "coverage": make_scorer(metrics.coverage, greater_is_better=False, response_method="predict_proba"),
        "ndcg": make_scorer(metrics.ndcg_at_k, k=2, response_method="predict_proba"),
        "brier": make_scorer(metrics.brier_score, greater_is_better=False, response_method="predict_proba"),
    }
    scores = cross_validate(OneVsRestClassifier(LogisticRegression()), X, Y, scoring=scoring, error_score="raise")
    assert scores["test_macro_f1"].min() > 0.6
    assert scores["test_brier"].max() < 0


def test_intervals_agree_with_resampling_by_hand():
    true, pred, P = make_case(60)
    options = {"measures": "all", "random_state": 0, "n_resamples": 400, "confidence": 0.5}
    intervals = metrics.bootstrap_intervals(true, pred, P, **options)
    values = metrics.evaluate(true, pred, P, measures="all")
    rng = np.random.default_rng(5)
    resamples = [rng.integers(60, size=60) for _ in range(400)]
    for name in ("f1", "macro_f1", "psp@3", "expected_calibration_error"):
        interval, metric = intervals[name], metrics.ALL_METRICS[name]
        assert interval.value == values[name]
        options = {"propensities": metrics.propensities(true)} if name == "psp@3" else {}
        other = pred if metric.uses == "labels" else P
        by_hand = [metric.function(true[rows], other[rows], **options) for rows in resamples]
        low, high = np.quantile(by_hand, [0.25, 0.75])
        width = high - low
        assert abs(interval.low - low) < 0.2 * width
        assert abs(interval.high - high) < 0.2 * width


def test_intervals_of_weighted_samples_agree_with_resampling_by_hand():
    true, pred, _ = make_case(60)
    weight = 10.0 ** np.random.default_rng(2).uniform(-2, 1, 60)
    options = {"random_state": 0, "n_resamples": 400, "confidence": 0.5}
    interval = metrics.bootstrap_intervals(true, pred, sample_weight=weight, **options)["f1"]
    rng = np.random.default_rng(5)
    resamples = [rng.integers(60, size=60) for _ in range(400)]
    by_hand = [metrics.f1(true[rows], pred[rows], sample_weight=weight[rows]) for rows in resamples]
    low, high = np.quantile(by_hand, [0.25, 0.75])
    assert interval.value == metrics.f1(true, pred, sample_weight=weight)
    np.testing.assert_allclose([interval.low, interval.high], [low, high], atol=0.2 * (high - low))


def test_intervals_narrow_with_samples_and_confidence():
    true, pred, _ = make_case(2000)
    wide = metrics.bootstrap_intervals(true[:100], pred[:100], random_state=0)["f1"]
    narrow = metrics.bootstrap_intervals(true, pred, random_state=0)["f1"]
    least = metrics.bootstrap_intervals(true, pred, random_state=0, confidence=0.5)["f1"]
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low) > 6 * (least.high - least.low)
    assert metrics.bootstrap_intervals(true, pred, random_state=0)["f1"] == narrow


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        true = (rng.random((80, 3)) < 0.4).astype(int)
        pred = np.where(rng.random((80, 3)) < 0.2, 1 - true, true)
        interval = metrics.bootstrap_intervals(true, pred, random_state=seed, n_resamples=200, confidence=0.9)[
            "hamming_loss"
        ]
        covered += interval.low <= 0.2 <= interval.high
    assert 165 <= covered <= 195


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, p, P: metrics.evaluate(t, p, P, measures=["auc"]), "There is no metric 'auc'. Choose from hamming"),
        (lambda t, p, P: metrics.evaluate(t, p, P, measures=["recall@3"]), "There is no metric 'recall@3'"),
        (lambda t, p, P: metrics.evaluate(t, p, P, measures="f1"), "measures must be a list of names or 'all'"),
        (lambda t, p, _P: metrics.evaluate(t, p, measures=["coverage", "f1"]), "coverage: pass scores"),
        (lambda t, p, P: metrics.evaluate(t, p, 2 * P, measures=["log_loss"]), "y_proba must hold probabilities"),
        (lambda t, p, P: metrics.evaluate(t, p, P[:5], measures=["coverage"]), "must have the same shape"),
        (lambda t, p, P: metrics.evaluate(t, p, np.where(P > 0.5, np.nan, P), measures=["coverage"]), "contains NaN"),
        (lambda t, p, P: metrics.evaluate(t, p, P, measures=["ndcg@6"]), "k must be at most the number of labels, 5"),
        (lambda t, p, _P: metrics.evaluate(t, p, sample_weight=np.zeros(40)), "and not only zeros"),
        (lambda t, p, _P: metrics.evaluate(t, p, sample_weight=-np.ones(40)), "that of sample 0 is -1"),
        (lambda t, p, _P: metrics.evaluate(t, p, sample_weight=[1, 2]), r"its shape is \(2,\)"),
        (lambda t, p, _P: metrics.macro_f1(t, p, zero_division=0.5), "zero_division must be 0, 1 or numpy.nan"),
        (lambda t, _p, P: metrics.coverage(t, P, count_from=2), "count_from must be one of 0, 1"),
        (lambda t, p, _P: metrics.bootstrap_intervals(t, p, confidence=95), "confidence must be between 0 and 1"),
        (lambda t, _p, _P: metrics.propensities(t[:2]), "at least 3 samples"),
        (lambda t, _p, P: metrics.propensity_scored_precision_at_k(t, P, propensities=[0] * 5), r"number in \(0, 1\]"),
        (
            lambda t, _p, P: metrics.brier_score(t, P, average="samples"),
            "average must be one of 'micro', 'macro', None",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(*make_case())
