"""The tables and figures of the comparison beyond the paper agree with its records."""

import csv

import pytest

from sdgs.experiments._extended_comparison import DIGITS, TITLES
from sdgs.experiments._extended_tables import (
    beyond_csv,
    beyond_markdown,
    clean_comparison,
    damage_findings,
    mean_results,
)
from sdgs.experiments._figures import damage_curves
from sdgs.experiments._published import PAPER_METRICS, SETS


def record(dataset, kind, share, method, seed, f1, seconds=1.0):
    values = dict.fromkeys(PAPER_METRICS, f1 / 100)
    times = {"fit": {"cpu": seconds, "wall": seconds}}
    damage = {"kind": kind, "share": share}
    both = {"expected": values, "threshold": dict.fromkeys(PAPER_METRICS, f1 / 100 - 0.01)}
    by_decision = both if "sdgs" not in method else {"expected": values}
    base = {"dataset": dataset, "damage": damage, "method": method, "seed": seed, "seconds": times}
    return {**base, "test": values, "test_by_decision": by_decision}


def make_records():
    clean = [
        record(d, "clean", 0.0, m, seed, f1 + seed, 5.0 if m == "sdgs-cv" else 1.0)
        for d, row in {
            "emotions": {"sdgs-cv": 70, "sdgs": 67, "br": 66, "forest": 69},
            "medical": {"sdgs-cv": 80, "sdgs": 79, "br": 80.1, "forest": 70},
            "enron": {"sdgs-cv": 60, "sdgs": 59, "br": 61, "forest": 50},
            DIGITS: {"sdgs-cv": 95, "sdgs": 94, "br": 88, "boosting": 90},
        }.items()
        for m, f1 in row.items()
        for seed in (0, 1, 2)
    ]
    dirty = [
        record("emotions", "spikes", share, m, 0, f1 - 20 * share * (m != "sdgs-cv"))
        for share in (0.0, 0.05)
        for m, f1 in {"sdgs-cv": 70, "br": 66, "forest": 69}.items()
    ]
    gaps = [record("emotions", "missing", 0.2, m, 0, f1) for m, f1 in {"sdgs-cv": 69, "br-knn": 65}.items()]
    return clean + dirty + gaps


def test_tables_and_findings_agree_with_the_records():
    results = mean_results(make_records())
    table = clean_comparison(results)
    assert table.datasets == [*(name for name in SETS if name in ("emotions", "medical", "enron")), DIGITS]
    result = table.results["emotions"]["sdgs-cv"]
    assert (result.values["f1"], result.spread, result.seeds) == (pytest.approx(71), pytest.approx(1), 3)
    assert table.means["br"]["f1"] == pytest.approx((66 + 80.1 + 61) / 3 + 1)
    assert "boosting" not in table.means
    assert table.findings[0].startswith(
        "SDGSClassifierCV: mean F1 71.0, +1.0 points compared with the best other method by the mean, BR (70.0)"
    )
    assert "on 2 of 3 data sets" in table.findings[0]  # tied on Medical, behind on Enron
    assert "+2.0 points compared with BR (69.0)" in table.findings[1]
    assert "5.0 to 5.0 times the CPU seconds" in table.findings[3]
    findings = damage_findings(results, "spikes", 0.05)
    assert findings == [
        "Emotions: 70.0, +0.0 compared with clean data; +2.0 compared with the best other method, random forest (68.0)."
    ]
    findings = damage_findings(results, "missing", 0.2)
    assert findings[0].startswith(
        "Emotions: 69.0, -1.0 compared with clean data; +4.0 compared with the best other method, BR, gaps"
    )
    lines = list(csv.DictReader(beyond_csv(results).splitlines()))
    assert len(lines) == len(results)
    assert {line["method"] for line in lines} <= set(TITLES)
    text = beyond_markdown(results)
    assert "| Emotions | **71.0** \u00b1 1.0 | 68.0 \u00b1 1.0 | 67.0 \u00b1 1.0 | 70.0 \u00b1 1.0 | \u2013 |" in text
    assert "| Emotions | SDGSClassifierCV | **70.0** | **70.0** |" in text
    assert "| Emotions | BR, gaps filled by neighbours | 65.0 |" in text


def test_digits_alone_have_no_mean():
    alone = [record(DIGITS, "clean", 0.0, method, 0, 90) for method in ("sdgs-cv", "br")]
    table = clean_comparison(mean_results(alone))
    assert table.datasets == [DIGITS]
    assert table.means == {}
    assert table.findings == []


def test_figures_have_a_line_for_every_method():
    results = mean_results(make_records())
    figure = damage_curves(results, "spikes")
    assert figure.startswith("<svg")
    for name in ("SDGSClassifierCV", "BR", "random forest", "Emotions", "entries corrupted, %"):
        assert name in figure
    assert "gaps filled by neighbours" in damage_curves(results, "missing")
