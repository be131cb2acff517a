"""The result of a comparison: summaries, sentences, tables and DataFrames."""

import numpy as np
import pytest
from scipy.stats import t as student_t

from comparison_results import make_comparison, make_result
from sdgs.metrics import METRICS

RNG = np.random.default_rng(0)
NOISE = RNG.normal(0, 0.004, (3, 10))
BEST, CLOSE, WORSE = 0.7 + NOISE[0], 0.699 + NOISE[1], 0.5 + NOISE[2]


def comparison(**options):
    return make_comparison([make_result("a", BEST), make_result("b", CLOSE), make_result("c", WORSE)], **options)


def test_the_summary_by_hand():
    first, second, third = comparison().summary()
    assert (first.name, second.name, third.name) == ("a", "b", "c")
    assert first.mean == BEST.mean()
    error = np.sqrt((1 / 10 + 0.25) * BEST.var(ddof=1))
    assert first.high == pytest.approx(BEST.mean() + student_t.ppf(0.975, 9) * error)
    assert np.isnan(first.p_value)
    assert (first.distinguishable, second.distinguishable, third.distinguishable) == (False, False, True)
    assert third.difference == pytest.approx(WORSE.mean() - BEST.mean())
    differences = [CLOSE - BEST, WORSE - BEST]
    p_values = [2 * student_t.sf(abs(d.mean()) / np.sqrt((1 / 10 + 0.25) * d.var(ddof=1)), 9) for d in differences]
    assert second.p_value == pytest.approx(p_values[0])  # Holm: the larger of two
    assert third.p_value == pytest.approx(2 * p_values[1])
    assert (third.fit_seconds, third.predict_seconds) == pytest.approx((1, 0.1))


def test_a_loss_is_best_where_it_is_smallest():
    names = [row.name for row in comparison().summary("hamming_loss")]
    assert names == ["c", "b", "a"]
    with pytest.raises(ValueError, match="metric must be one of"):
        comparison().summary("speed")


def test_conclusions():
    assert comparison().conclusion() == "A has the best mean F1. One method is not distinguishable from it: B."
    results = [make_result("a", BEST), make_result("c", WORSE)]
    assert (
        make_comparison(results).conclusion()
        == "A has the best mean F1, and all other methods are significantly worse."
    )
    results = [make_result("a", BEST), make_result("b", CLOSE)]
    assert make_comparison(results).conclusion() == (
        "A has the best mean F1, but no other method is distinguishable from it."
    )
    failed = make_result("f", [np.nan, 0.5], failures={0: "ValueError: no"})
    assert make_comparison([make_result("a", BEST[:2]), failed]).conclusion() == (
        "A is the only method that succeeded on all splits."
    )
    assert make_comparison([failed]).conclusion() == "No method succeeded on all splits."


def test_the_table():
    text = comparison(left_out={"Slow": "one fit would take about 20 minutes"}).table()
    lines = text.split("\n")
    assert lines[0] == "100 samples, 5 features, 3 labels. Stratified 10-fold cross-validation, seed 0."
    assert lines[1].split() == [
        "method",
        "F1",
        "%",
        "95",
        "%",
        "interval",
        "difference",
        "p",
        "fit",
        "s",
        "predict",
        "s",
    ]
    assert lines[2].startswith("A  ")
    assert " best " in lines[2]
    assert lines[4].split()[-4].startswith("-")
    assert "<0.001" in lines[4]
    assert lines[5].endswith("not distinguishable from it: B.")
    assert "Left out: Slow: one fit would take about 20 minutes" in text
    assert len({line.rindex("0.10") for line in lines[2:5]}) == 1  # aligned
    assert str(comparison()) == comparison().table()
    assert repr(comparison()) == "<Comparison of 3 methods on 10 splits>"


def test_data_frames():
    result = comparison()
    frame = result.to_frame()
    assert list(frame["name"]) == ["a", "b", "c"]
    assert frame["mean"][0] == BEST.mean()
    assert {f"mean_{name}" for name in METRICS} <= set(frame)
    splits = result.to_frame(per_split=True)
    assert len(splits) == 30
    assert splits["f1"].tolist() == [*BEST, *CLOSE, *WORSE]
    assert splits["split"].tolist() == list(range(10)) * 3
