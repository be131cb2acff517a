"""The protocol, the runner and what is made of its records, on small data sets written here."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import chain, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from typer.testing import CliRunner

from sdgs import metrics
from sdgs.cli import app
from sdgs.experiments import METHODS, ExperimentError, Protocol, run, write_report
from sdgs.experiments._analysis import claims, f1_ranking, ranking
from sdgs.experiments._figures import _alike
from sdgs.experiments._floor import MostFrequentLabels
from sdgs.experiments._published import MEASURES, RESULTS, SETS, broken_bounds, published
from sdgs.experiments._runner import choose
from sdgs.experiments._tables import Records, result_rows

PROTOCOL = Protocol(datasets=("one", "two", "three"), seeds=(0, 1))


@pytest.fixture(scope="session")
def home(made_records):
    return made_records[0]


@pytest.fixture(scope="session")
def records(made_records):
    return made_records[1]


def content(folder):
    """All records, less what differs between two runs: times and memory."""
    found = {}
    for path in chain(*((folder / part).iterdir() for part in ("trials", "runs", "studies"))):
        record = json.loads(path.read_text())
        for key in ("seconds", "seconds_of_all_candidates", "peak_memory_mib", "environment"):
            record.pop(key, None)
        for curve in record.get("curves", {}).values():
            del curve["seconds"]
        found[f"{path.parent.name}/{path.name}"] = record
    return found


def test_a_record_says_what_was_done_and_how_it_was_chosen(records):
    record = json.loads((records / "runs" / "one--sdgs--seed1--cv.json").read_text())
    assert record["test"].keys() == set(MEASURES)
    assert record["seed"] == 1
    assert record["parameters"] in METHODS["sdgs"].groups
    assert [candidate["parameters"] for candidate in record["candidates"]] == list(METHODS["sdgs"].groups)
    scores = [candidate["score"] for candidate in record["candidates"]]
    assert record["parameters"] == METHODS["sdgs"].groups[int(np.argmax(scores))]
    assert "cross-validation" in record["chosen_by"]
    assert record["seconds"]["fit"]["cpu"] > 0
    assert record["seconds"]["predict"]["wall"] > 0
    assert record["peak_memory_mib"] > 10
    assert {"sdgs", "Python", "numpy", "processor"} <= record["environment"].keys()


def test_one_record_for_every_task_and_run(records):
    files = set(content(records))
    assert files >= {task.file for task in PROTOCOL.tasks()}
    runs = {
        f"runs/{d}--{m}--seed{s}--{r}.json"
        for d, m, s, r in product(PROTOCOL.datasets, METHODS, PROTOCOL.seeds, ("paper", "cv"))
    }
    assert {file for file in files if file.startswith("runs/")} == runs


def test_nothing_is_done_twice(home, records):
    before = {path: path.stat().st_mtime_ns for path in (records / "trials").iterdir()}
    told = []
    run(PROTOCOL, records, data_home=home, progress=lambda *what: told.append(what))
    assert {path: path.stat().st_mtime_ns for path in (records / "trials").iterdir()} == before
    assert len(told) == 1
    assert told[0][0] == told[0][1]


def test_records_that_are_broken_or_of_other_settings_are_made_again(home, tmp_path):
    protocol = Protocol(datasets=("one",), methods=("mlknn",))
    run(protocol, tmp_path, data_home=home)
    whole = content(tmp_path)
    path = tmp_path / "trials" / "one--mlknn--group0--seed0.json"
    path.write_text(path.read_text()[:100])
    (tmp_path / "trials" / ".one--mlknn--group0--seed0.json-abc").write_text("{")
    run(protocol, tmp_path, data_home=home)
    assert content(tmp_path) == whole
    other = Protocol(datasets=("one",), methods=("mlknn",), groups={**protocol.groups, "mlknn": ({"n_neighbors": 3},)})
    run(other, tmp_path, data_home=home)
    assert json.loads(path.read_text())["parameters"] == {"n_neighbors": 3}


def test_killed_ten_times_it_ends_with_the_same_records(home, records, tmp_path):
    command = [sys.executable, "-m", "sdgs", "reproduce", "--data-home", str(home), "--datasets", "one,two,three"]
    command += ["--seeds", "0,1", "-o", str(tmp_path / "out")]
    rng, unfinished = random.Random(0), 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 3.5))
        unfinished += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert unfinished >= 5
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "report.html" in done.stdout
    assert content(tmp_path / "out") == content(records)
    names = [path.name for path in (tmp_path / "out").rglob("*")]
    assert not [name for name in names if name.startswith(".")]


def test_a_runner_that_is_killed_leaves_nobody_behind(home, tmp_path):
    command = [sys.executable, "-m", "sdgs", "reproduce", "--data-home", str(home), "--datasets", "one,two,three"]
    process = subprocess.Popen([*command, "-o", str(tmp_path)], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("trials/*.json")):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    time.sleep(2)
    left = len(list(tmp_path.glob("*/*.json")))
    time.sleep(2)
    assert len(list(tmp_path.glob("*/*.json"))) == left


def test_the_choice_sees_no_test_sample(home, records, tmp_path):
    """Test scores turned upside down change nothing in what is chosen."""
    protocol = Protocol(datasets=("one",), seeds=(0,))
    for part in ("trials", "studies"):
        (tmp_path / part).mkdir()
        for path in (records / part).iterdir():
            record = json.loads(path.read_text())
            record["test"] = {name: 1 - value for name, value in record.get("test", {}).items()}
            (tmp_path / part / path.name).write_text(json.dumps(record))
    run(protocol, tmp_path, data_home=home)
    for path in (tmp_path / "runs").iterdir():
        here, there = json.loads(path.read_text()), json.loads((records / "runs" / path.name).read_text())
        assert here["parameters"] == there["parameters"]
        assert here["test"] != there["test"]


def test_choose():
    assert choose([0.1, 0.5, 0.5, 0.2]) == 1
    assert choose([None]) == 0


def test_a_task_that_fails_says_which_and_why(tmp_path, write_mulan):
    write_mulan(tmp_path, "bad")
    path = tmp_path / "bad" / "bad-test.arff"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ExperimentError, match=r"bad, .*bad-test.arff"):
        run(Protocol(datasets=("bad",)), tmp_path / "out", data_home=tmp_path)


# What is made of the records


@pytest.fixture(scope="module")
def report(records):
    return write_report(records)


def test_tables_hold_every_row(records, report):
    with open(records / "tables.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    # BR and SDGS by two rules, three methods with nothing to choose
    assert len(lines) == 3 * (2 * 2 + 3)
    line = next(x for x in lines if (x["dataset"], x["method"], x["source"]) == ("two", "sdgs", "cv"))
    f1 = [json.loads((records / "runs" / f"two--sdgs--seed{s}--cv.json").read_text())["test"]["f1"] for s in (0, 1)]
    assert float(line["f1"]) == pytest.approx(100 * np.mean(f1), abs=1e-6)
    assert float(line["f1_sd"]) == pytest.approx(100 * np.std(f1, ddof=1), abs=1e-6)
    assert line["seeds"] == "2"
    markdown = (records / "tables.md").read_text()
    assert markdown.count("\n| two |") == 1 + 7
    page = report.read_text()
    assert f"{100 * np.mean(f1):.1f}" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert "<script" not in page


def test_a_method_below_the_floor_says_so(records):
    rows = result_rows(Records.read(records))
    floor = {row.dataset: row.values["f1"] for row in rows if row.method == "floor"}
    measured = [row for row in rows if row.method != "floor"]
    assert any(row.below_floor for row in measured) or all(row.values["f1"] >= floor[row.dataset] for row in measured)
    for row in measured:
        assert row.below_floor == (row.values["f1"] < floor[row.dataset])


def test_the_report_needs_records(tmp_path):
    with pytest.raises(FileNotFoundError, match="sdgs reproduce"):
        write_report(tmp_path)


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 10**6), digits=st.sampled_from([0, 1]), n=st.integers(1, 6), k=st.integers(1, 5))
def test_no_real_prediction_breaks_a_bound(seed, digits, n, k):
    rng = np.random.default_rng(seed)
    Y, Z = rng.random((2, n, k)) < rng.random((2, 1, 1))
    scores = metrics.evaluate(Y.astype(int), Z.astype(int))
    assert broken_bounds({name: f"{100 * value:.{digits}f}" for name, value in scores.items()}) == []


def test_bounds_that_published_rows_break():
    broken = {key: broken_bounds(published(*key)) for key in RESULTS}
    assert "2A/(1+A), at most 67.1" in broken["genbase", "mlknn"][0]
    assert "at least 39.0" in broken["emotions", "sdgs"][0]
    assert broken["yahoo-arts", "sdgs"] == broken["mediamill", "sdgs"] == []
    assert all(broken[name, "mddm"] for name in SETS)
    row = {"hamming_loss": "5", "precision": "20", "recall": "30", "f1": "20", "accuracy": "25"}
    assert len(broken_bounds(row)) == 2  # accuracy above precision, F1 below accuracy
    assert "mean of precision and recall" in broken_bounds({**row, "precision": "26", "f1": "31"})[-1]


def test_every_set_has_its_published_rows():
    assert {dataset for dataset, _ in RESULTS} == set(SETS) == set(Protocol().datasets)
    assert len(RESULTS) == 44


def test_ranking_by_hand():
    scores = np.array([[3.0, 2, 1], [3, 1, 2], [2, 2, 1], [5, 4, 3]])
    result = ranking(scores, ["br", "mlknn", "sdgs"])
    np.testing.assert_allclose(result.ranks, [4.5 / 4, 8.5 / 4, 11 / 4])
    # Friedman's statistic with ties, from its definition
    ranks = np.array([[1, 2, 3], [1, 3, 2], [1.5, 1.5, 3], [1, 2, 3]])
    between = 4 * np.sum((ranks.mean(axis=0) - 2) ** 2)
    within = np.sum((ranks - 2) ** 2) / (4 * 2)
    assert result.p_value == pytest.approx(chi2.sf(between / within, 2))
    # Demsar's table: q = 2.569 for four methods at 5 %
    four = ranking(np.random.default_rng(0).random((11, 4)), list("abcd"))
    assert four.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 11)), rel=1e-3)
    assert ranking(scores[:2], ["a", "b", "c"]).p_value is None


def test_methods_that_are_not_told_apart():
    assert _alike([1.0, 1.5, 2.6, 4.0], 1.2) == [(1.0, 1.5), (1.5, 2.6)]
    assert _alike([1.0, 2.0, 3.0], 0.5) == []
    assert _alike([1.0, 2.0, 3.0], 5.0) == [(1.0, 3.0)]


def test_claims_follow_the_figures(records):
    rows = result_rows(Records.read(records))
    found = claims(rows)
    assert [claim.verdict in ("holds", "holds in part", "does not hold") for claim in found] == [True] * 3
    f1 = {(row.dataset, row.method): row.values["f1"] for row in rows if row.source in ("cv", "both")}
    wins = sum(f1[d, "sdgs"] > f1[d, "br"] for d in PROTOCOL.datasets)
    assert found[0].findings[0].startswith(f"F1 above BR's on {wins} of 3")
    assert f1_ranking(rows, "cv").n_datasets == 3
    assert f1_ranking(rows, "published") is None
    assert claims([row for row in rows if row.method == "sdgs"]) == []


@given(seed=st.integers(0, 1000))
def test_the_floor_takes_the_best_number_of_labels(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((12, 5)) < rng.random(5)).astype(int)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    scores = []
    for m in range(1, 6):
        constant = np.zeros_like(Y)
        constant[:, order[:m]] = 1
        scores.append(metrics.f1(Y, constant))
    model = MostFrequentLabels().fit(Y, Y)
    assert metrics.f1(Y, model.predict(Y)) == max(scores)


# The command


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SDGS_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["reproduce", *arguments])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 1, "corel5k is not on this machine. Get corel5k-train.arff"),
        (["--datasets", "nothing"], 1, "nothing is none of the paper's data sets"),
        (["--datasets", "nothing", "--data-home", "nowhere"], 1, "nowhere/nothing does not hold nothing.xml"),
        (["--methods", "svm"], 2, "method must be one of"),
        (["--methods", ","], 2, "methods must hold at least one value"),
        (["--datasets", "emotions,emotions"], 2, "none twice"),
        (["--seeds", "one"], 2, "invalid literal"),
        (["--seeds", "-1"], 2, "seeds must be whole numbers from 0"),
        (["--jobs", "0"], 2, "--jobs"),
    ],
)
def test_mistakes_get_one_error(cli, tmp_path, arguments, status, message):
    result = cli(*arguments)
    assert result.exit_code == status
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


def test_the_command_narrows_the_comparison(cli, home, tmp_path):
    result = cli("--data-home", str(home), "--datasets", "two", "--methods", "mlknn,sdgs", "-o", "here")
    assert result.exit_code == 0, result.output
    assert "here/report.html" in result.output
    runs = {path.name.split("--")[1] for path in (tmp_path / "here" / "runs").iterdir()}
    assert runs == {"mlknn", "sdgs", "floor"}
    # The page is made again from the records, which need no data.
    (tmp_path / "here" / "report.html").unlink()
    assert cli("--datasets", "two", "--methods", "mlknn,sdgs", "-o", "here").exit_code == 0
    assert (tmp_path / "here" / "report.html").exists()
