"""The comparison beyond the paper: what is done to data, rivals at their best, and what is made of the records."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from sdgs import metrics
from sdgs.datasets import REGISTRY, make_composite_digits
from sdgs.experiments import Protocol, run, write_report
from sdgs.experiments._compared_methods import Chains, Rival, make_rival, prepared
from sdgs.experiments._extended_comparison import CLEAN, DIGITS, TITLES, Damage, beyond_cases, compare, damaged, digits
from sdgs.experiments._extended_tables import beyond_csv, beyond_markdown, cells, clean_table, dirty_findings
from sdgs.experiments._figures import damage as damage_figure
from sdgs.experiments._published import MEASURES, SETS
from sdgs.experiments._tasks import _clock
from sdgs.methods import BinaryRelevance


@pytest.fixture(scope="module")
def data():
    train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(200, max_labels=2, subset="test", random_state=1)
    return train.X, train.Y, test.X, test.Y


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4])
def test_damage_is_done_to_this_share_of_entries(share):
    rng = np.random.default_rng(0)
    X, unit = rng.standard_normal((400, 50)), np.linspace(1, 2, 50)
    spiked = Damage("spikes", share).done_to(X, unit, rng)
    hit = spiked != X
    assert hit.mean() == pytest.approx(share, abs=0.01)
    size = np.abs(spiked - X) / unit
    assert size[hit].min(initial=3) >= 3 - 1e-9
    assert size[hit].max(initial=6) <= 6 + 1e-9
    gappy = Damage("missing", share).done_to(X, unit, rng)
    assert np.isnan(gappy).mean() == pytest.approx(share, abs=0.01)
    np.testing.assert_array_equal(gappy[~np.isnan(gappy)], X[~np.isnan(gappy)])
    words = csr_array(np.maximum(X, 0))
    sparse = Damage("spikes", share).done_to(words, unit, rng)
    assert issparse(sparse)
    changed = np.abs((sparse - words).toarray())
    assert (changed > 0).mean() == pytest.approx(share, abs=0.01)
    assert (changed / unit)[changed > 0].min(initial=3) >= 3 - 1e-9


def test_the_same_seed_does_the_same_damage_to_training_and_test_samples(data):
    first, second = (damaged(data, Damage("spikes", 0.1), seed=4) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first[0] != data[0]).any()
    assert (first[2] != data[2]).any()
    spikes = digits(0, Damage("spikes", 0.1))[0] - digits(0, CLEAN)[0]
    assert set(np.unique(np.abs(spikes))) == {0.0, 16.0}


def test_which_comparisons_there_are():
    cases = beyond_cases(tuple(REGISTRY))
    assert {(d, m) for d, damage, m in cases if damage == CLEAN} >= {
        (d, m) for d in (*REGISTRY, DIGITS) for m in ("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest")
    }
    assert {d for d, damage, _ in cases if damage.kind == "missing"} == {"emotions", "mediamill", DIGITS}
    assert {damage.share for d, damage, _ in cases if damage.kind == "spikes"} == {0.0, 0.01, 0.02, 0.05, 0.1}
    assert {d for d, _, m in cases if m == "boosting"} == {"emotions", "mediamill", "genbase", DIGITS}
    assert ("mediamill", CLEAN, "boosting") not in cases
    assert {damage for _, damage, _ in beyond_cases(("mine",))} == {CLEAN}


@pytest.mark.parametrize("method", [m for m in TITLES if m not in ("br-mean", "br-knn")])
def test_every_method_learns(data, method):
    with threadpool_limits(1):
        record = compare(data, method, 0, _clock)
    assert record["test"]["f1"] > 0.6
    assert record["seconds"]["fit"]["wall"] > 0
    assert (record["n_train"], record["n_test"]) == (300, 200)


@pytest.mark.parametrize("method", ["sdgs-cv", "br-mean", "br-knn", "forest", "boosting"])
def test_every_method_for_gaps_takes_them(data, method):
    gappy = damaged(data, Damage("missing", 0.1), 0)
    assert np.isnan(gappy[0]).any()
    with threadpool_limits(1):
        assert compare(gappy, method, 0, _clock)["test"]["f1"] > 0.55


@pytest.mark.parametrize("method", ["br", "mlknn", "forest", "sdgs"])
def test_the_first_samples_may_have_no_label(data, method):
    """What is compiled and loaded before the clock starts is done with these."""
    X, Y, X_test, Y_test = data
    order = np.argsort(Y[:, :2].any(axis=1), kind="stable")
    rare = Y[order][:, :2]
    assert not rare[:40].any()
    assert compare((X[order], rare, X_test, Y_test[:, :2]), method, 0, _clock)["n_train"] == 300


def test_gaps_are_filled_from_training_samples_alone():
    X, X_test = np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([[np.nan, 100.0]])
    train, test = prepared("br-mean", X, X_test, lambda _: "rows")
    np.testing.assert_allclose(train[1], np.array([3, 2]) / np.hypot(3, 2))
    np.testing.assert_allclose(test[0], np.array([2, 100]) / np.hypot(2, 100))
    as_they_are = prepared("forest", X, X_test, lambda _: "rows")
    assert as_they_are[0] is X
    assert as_they_are[1] is X_test


def test_a_rivals_parameter_and_decision_are_chosen_on_samples_that_were_left_out(data):
    """A rival that knows its training samples by heart must not gain by it."""
    X, Y, X_test, Y_test = data

    class ByHeart:
        def __init__(self, honest, seed):
            self.honest, self.seed = honest, seed

        def fit(self, X, Y):
            self.known = {x.tobytes(): y for x, y in zip(X, Y, strict=True)}
            self.svm = BinaryRelevance(1.0, random_state=0).fit(X, Y)
            return self

        def decision_function(self, X):
            if self.honest:
                return self.svm.decision_function(X)
            return np.array([10.0 * self.known.get(x.tobytes(), np.zeros(10)) for x in X])

    rival = Rival(ByHeart, ({"honest": False}, {"honest": True}), 0).fit(X, Y)
    assert rival.parameters == {"honest": True}
    assert metrics.f1(Y_test, rival.predict(X_test)[rival.best_rule]) > 0.6


def test_rivals_gain_by_their_decision(data):
    X, Y, X_test, Y_test = data
    X, X_test = prepared("br", X, X_test, lambda _: "rows")
    plain = max(
        metrics.f1(Y_test, BinaryRelevance(C, random_state=0).fit(X, Y).predict(X_test)) for C in (0.1, 1.0, 10.0)
    )
    tuned = make_rival("br", 0).fit(X, Y).predict(X_test)
    assert tuned.keys() == {"expected", "threshold"}
    assert all(metrics.f1(Y_test, labels) > plain for labels in tuned.values())


def test_the_forest_is_one_of_classification_trees(data):
    X, Y, X_test, _ = data
    ours = make_rival("forest", 0).fit(X, Y)
    scores = ours.scores(X_test)
    theirs = RandomForestClassifier(200, random_state=1).fit(X, Y).predict_proba(X_test)
    theirs = np.column_stack([p[:, 1] for p in theirs])
    assert np.abs(scores - theirs).mean() < 0.03  # two draws of the same forest


def test_chains_learn_what_varies():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    Y = np.column_stack([X[:, :2] > 0, np.ones(600), np.zeros(600)]).astype(int)
    scores = Chains(1.0, 0).fit(X[:400], Y[:400]).decision_function(X[400:])
    assert scores.shape == (200, 4)
    assert ((scores[:, :2] > 0) == Y[400:, :2]).mean() > 0.95
    assert (scores[:, 2:] == -1).all()
    assert np.abs(scores).max() <= 1


def record(dataset, kind, share, method, seed, f1, seconds=1.0):
    values = dict.fromkeys(MEASURES, f1 / 100)
    times = {"fit": {"cpu": seconds, "wall": seconds}}
    damage = {"kind": kind, "share": share}
    both = {"expected": values, "threshold": dict.fromkeys(MEASURES, f1 / 100 - 0.01)}
    decided = both if "sdgs" not in method else {"expected": values}
    base = {"dataset": dataset, "damage": damage, "method": method, "seed": seed, "seconds": times}
    return {**base, "test": values, "test_by_decision": decided}


def made_up():
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


def test_the_tables_say_what_the_records_say():
    found = cells(made_up())
    table = clean_table(found)
    assert table.datasets == [*(name for name in SETS if name in ("emotions", "medical", "enron")), DIGITS]
    cell = table.f1["emotions"]["sdgs-cv"]
    assert (cell.values["f1"], cell.spread, cell.seeds) == (pytest.approx(71), pytest.approx(1), 3)
    assert table.means["br"]["f1"] == pytest.approx((66 + 80.1 + 61) / 3 + 1)
    assert "boosting" not in table.means
    assert table.findings[0].startswith(
        "SDGSClassifierCV: mean F1 71.0, +1.0 points against the best rival by the mean, BR (70.0)"
    )
    assert "on 2 of 3 data sets" in table.findings[0]  # level on Medical, behind on Enron
    assert "+2.0 points against BR (69.0)" in table.findings[1]
    assert "5.0 to 5.0 times the CPU seconds" in table.findings[3]
    words = dirty_findings(found, "spikes", 0.05)
    assert words == ["Emotions: 70.0, +0.0 against without; +2.0 against the best rival, random forest (68.0)."]
    words = dirty_findings(found, "missing", 0.2)
    assert words[0].startswith("Emotions: 69.0, -1.0 against without; +4.0 against the best rival, BR, gaps")
    lines = list(csv.DictReader(beyond_csv(found).splitlines()))
    assert len(lines) == len(found)
    assert {line["method"] for line in lines} <= set(TITLES)
    text = beyond_markdown(found)
    assert "| Emotions | **71.0** \u00b1 1.0 | 68.0 \u00b1 1.0 | 67.0 \u00b1 1.0 | 70.0 \u00b1 1.0 | \u2013 |" in text
    assert "| Emotions | SDGSClassifierCV | **70.0** | **70.0** |" in text
    assert "| Emotions | BR, gaps filled by neighbours | 65.0 |" in text


def test_digits_alone_have_no_mean():
    alone = [record(DIGITS, "clean", 0.0, method, 0, 90) for method in ("sdgs-cv", "br")]
    table = clean_table(cells(alone))
    assert table.datasets == [DIGITS]
    assert table.means == {}
    assert table.findings == []


def test_pictures_have_a_line_for_every_method():
    found = cells(made_up())
    picture = damage_figure(found, "spikes")
    assert picture.startswith("<svg")
    for name in ("SDGSClassifierCV", "BR", "random forest", "Emotions", "entries corrupted, %"):
        assert name in picture
    assert "gaps filled by neighbours" in damage_figure(found, "missing")


def test_a_run_and_its_page(tmp_path, write_mulan):
    write_mulan(tmp_path / "home", "mine")
    protocol = Protocol(datasets=("mine",), methods=("mlknn",), beyond=True, beyond_seeds=(0, 1))
    run(protocol, tmp_path / "out", data_home=tmp_path / "home")
    records = [json.loads(path.read_text()) for path in (tmp_path / "out" / "beyond").iterdir()]
    assert {(r["method"], r["seed"]) for r in records} == {
        (m, seed) for m in ("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest") for seed in (0, 1)
    }
    page = write_report(tmp_path / "out").read_text()
    assert "Beyond the paper" in page
    assert "points against the best rival by the mean" in page
    assert (tmp_path / "out" / "beyond.csv").is_file()
    assert "| mine |" in (tmp_path / "out" / "beyond.md").read_text()
    without = Protocol(datasets=("mine",), methods=("mlknn",))
    run(without, tmp_path / "out", data_home=tmp_path / "home")
    assert "Beyond the paper" not in write_report(tmp_path / "out").read_text()
