"""The protocol, the runner and what is made of its records, on small data sets written here."""

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path

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
from sdgs.experiments._most_frequent_labels import MostFrequentLabels
from sdgs.experiments._published import MEASURES, RESULTS, SETS, broken_bounds, published
from sdgs.experiments._result_tables import Records, Row, result_rows
from sdgs.experiments._runner import choose

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


def children(pid):
    """Process ids of a process' children."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def start_and_wait_for_workers(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(children(process.pid)) < 3:  # two workers, and Python's own resource tracker
        assert process.poll() is None
        time.sleep(0.02)
    return process


SLEEPER = """
import sys, time
from pathlib import Path
from sdgs.experiments import Protocol, _runner

def run_task(task, protocol, home):  # workers import this file again, so they have it too
    (Path(sys.argv[2]) / "started").touch()
    time.sleep(120)

_runner.run_task = run_task
if __name__ == "__main__":
    _runner.run(Protocol(datasets=("one",), methods=("mlknn",)), sys.argv[2], data_home=sys.argv[1], n_jobs=1)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_runner_that_is_killed_leaves_nobody_behind(home, tmp_path):
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    process = subprocess.Popen([sys.executable, str(tmp_path / "sleeper.py"), str(home), str(tmp_path)])
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.05)
    workers = children(process.pid)
    assert workers
    process.kill()
    process.wait()
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            return
        time.sleep(0.1)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    pytest.fail("a worker goes on without its runner")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_worker_that_is_killed_is_reported_and_the_rest_is_done(home, tmp_path):
    command = [sys.executable, "-m", "sdgs", "reproduce", "--data-home", str(home), "--datasets", "one,two"]
    process = start_and_wait_for_workers([*command, "--methods", "br,mlknn", "-o", str(tmp_path)])
    arguments = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid)}
    os.kill(next(pid for pid, line in arguments.items() if "spawn_main" in line), signal.SIGKILL)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "exit status -9" in errors
    assert "BR: its process ended" in errors.replace("\n", " ")
    assert "Traceback" not in errors
    assert "report.html" in out
    page = (tmp_path / "report.html").read_text()
    assert "Not finished, and so not on this page:" in page
    assert len(list((tmp_path / "runs").glob("*mlknn*"))) == 4


@pytest.mark.skipif(find_spec("fcntl") is None, reason="no locks on this system")
def test_two_runners_do_not_share_a_folder(home, tmp_path):
    import fcntl

    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ExperimentError, match="Another run is at work"):
            run(Protocol(datasets=("one",), methods=("mlknn",)), tmp_path, data_home=home)


def test_the_choice_sees_no_test_sample(home, records, tmp_path):
    """Other labels on the test samples change the test scores, and nothing in what is chosen or why."""
    shutil.copytree(home / "one", tmp_path / "one")
    path = tmp_path / "one" / "one-test.arff"
    head, data = path.read_text().split("@data\n")
    turned = [",".join([*line.split(",")[:-4], *("10"[int(v)] for v in line.split(",")[-4:])]) for line in data.split()]
    path.write_text(head + "@data\n" + "\n".join(turned) + "\n")
    run(Protocol(datasets=("one",), seeds=(0,)), tmp_path / "out", data_home=tmp_path)
    for path in (tmp_path / "out" / "trials").iterdir():
        here, there = json.loads(path.read_text()), json.loads((records / "trials" / path.name).read_text())
        assert here["selection"] == there["selection"]
        assert here["method"] == "floor" or here["test"] != there["test"]
    for path in (tmp_path / "out" / "runs").iterdir():
        here, there = json.loads(path.read_text()), json.loads((records / "runs" / path.name).read_text())
        assert here["parameters"] == there["parameters"]


def test_other_data_of_the_same_name_are_measured_anew(tmp_path, write_mulan):
    protocol = Protocol(datasets=("mine",), methods=("mlknn",))
    write_mulan(tmp_path, "mine", seed=0)
    run(protocol, tmp_path / "out", data_home=tmp_path)
    before = content(tmp_path / "out")
    shutil.rmtree(tmp_path / "mine")
    run(protocol, tmp_path / "out", data_home=tmp_path)  # what is done needs no data
    write_mulan(tmp_path, "mine", seed=1)
    run(protocol, tmp_path / "out", data_home=tmp_path)
    after = content(tmp_path / "out")
    assert before.keys() == after.keys()
    assert before["runs/mine--mlknn--seed0--cv.json"]["test"] != after["runs/mine--mlknn--seed0--cv.json"]["test"]


def test_the_report_is_of_the_last_protocol_alone(home, tmp_path):
    run(Protocol(datasets=("one", "two"), methods=("mlknn",)), tmp_path, data_home=home)
    run(Protocol(datasets=("two",), methods=("mddm",)), tmp_path, data_home=home)
    assert {run["dataset"] for run in Records.read(tmp_path).runs} == {"two"}
    assert {run["method"] for run in Records.read(tmp_path).runs} == {"mddm", "floor"}


def test_choose():
    assert choose([0.1, 0.5, 0.5, 0.2]) == 1
    assert choose([None]) == 0


def test_a_task_that_fails_says_which_and_why_and_the_rest_is_done(home, tmp_path, write_mulan):
    shutil.copytree(home / "one", tmp_path / "one")
    write_mulan(tmp_path, "bad")
    path = tmp_path / "bad" / "bad-test.arff"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ExperimentError, match=r"bad, ML-kNN: DataFileError: .*bad-test.arff"):
        run(Protocol(datasets=("bad", "one"), methods=("mlknn",)), tmp_path / "out", data_home=tmp_path)
    assert len(list((tmp_path / "out" / "runs").glob("one--*"))) == 4


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
    assert not re.search(r"(src|href)=.?https?:|url\(https?:|<script", page)


def test_a_method_below_the_floor_says_so(records):
    rows = result_rows(Records.read(records))
    floor = {row.dataset: row.values["f1"] for row in rows if row.method == "floor"}
    measured = [row for row in rows if row.method != "floor"]
    below = {(row.dataset, row.method) for row in measured if row.values["f1"] < floor[row.dataset]}
    assert {(row.dataset, row.method) for row in measured if row.below_floor} == below
    assert below


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
    assert ranking(np.ones((5, 3)), ["a", "b", "c"]).p_value is None


def test_methods_that_are_not_told_apart():
    assert _alike([1.0, 1.5, 2.6, 4.0], 1.2) == [(1.0, 1.5), (1.5, 2.6)]
    assert _alike([1.0, 2.0, 3.0], 0.5) == []
    assert _alike([1.0, 2.0, 3.0], 5.0) == [(1.0, 3.0)]


def made_rows(**figures):
    """Rows of made figures: for each method (F1, seconds, precision, recall) on each data set."""
    rows = []
    for method, sets in figures.items():
        for number, (f1, seconds, precision, recall) in enumerate(sets):
            values = {"f1": f1, "seconds": seconds, "precision": precision, "recall": recall}
            rows.append(Row(f"set{number}", method, "cv", values, {}, {}))
    return rows


def test_claims_follow_the_figures():
    sdgs = [(50, 1, 40, 60), (60, 1, 50, 50), (10, 9, 20, 20)]
    worse = [(40, 2, 20, 90), (50, 2, 20, 90), (90, 1, 90, 90)]
    better = [(70, 0.5, 50, 50), (70, 0.5, 50, 50), (70, 10, 50, 50)]
    prediction, speed, gap = claims(made_rows(sdgs=sdgs, br=worse))
    assert prediction.verdict == speed.verdict == gap.verdict == "holds"
    assert prediction.findings == ("F1 above BR's on 2 of 3 data sets; on average 40.0 against 60.0.",)
    assert "2 of 3 data sets; 11.0 against 5.0 CPU seconds" in speed.findings[0]
    assert "SDGS 6.7" in gap.findings[0]
    assert [claim.verdict for claim in claims(made_rows(sdgs=sdgs, br=worse, mlknn=better))] == ["holds in part"] * 3
    assert [claim.verdict for claim in claims(made_rows(sdgs=sdgs, mlknn=better))] == ["does not hold"] * 3
    assert claims(made_rows(sdgs=sdgs)) == []
    assert f1_ranking(made_rows(sdgs=sdgs, br=worse, mlknn=better), "cv").n_datasets == 3
    assert f1_ranking(made_rows(sdgs=sdgs, br=worse), "published") is None


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
    assert metrics.f1(Y, model.predict(Y)) == pytest.approx(max(scores))


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
        (["--seeds", str(2**32)], 2, "seeds must be whole numbers from 0"),
        (["--datasets", "planted"], 2, "Rename your data set"),
        (["--jobs", "0"], 2, "--jobs"),
    ],
)
def test_mistakes_get_one_error(cli, tmp_path, arguments, status, message):
    result = cli(*arguments)
    assert result.exit_code == status
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file/out", "out"])
def test_a_place_that_cannot_be_written_gets_one_error(cli, home, tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trials").write_text("")
    result = cli("--data-home", str(home), "--datasets", "two", "--methods", "mlknn", "-o", place)
    assert result.exit_code == 1
    assert place in result.output
    assert "Traceback" not in result.output


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
