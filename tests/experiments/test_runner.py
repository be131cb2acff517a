"""The runner: every task is executed once, even if runs are killed, and records say what was done."""

import json
import os
import random
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

from sdgs.experiments import METHODS, ExperimentError, Protocol, run
from sdgs.experiments._published import PAPER_METRICS
from sdgs.experiments._runner import choose

PROTOCOL = Protocol(datasets=("one", "two", "three"), seeds=(0, 1))  # of the fixture ``records``


def content(folder):
    """All records without what differs between two runs: times, memory and environment."""
    records = {}
    for path in chain(*((folder / part).iterdir() for part in ("trials", "runs", "studies"))):
        record = json.loads(path.read_text())
        for key in ("seconds", "seconds_of_all_candidates", "peak_memory_mib", "environment"):
            record.pop(key, None)
        for curve in record.get("curves", {}).values():
            del curve["seconds"]
        records[f"{path.parent.name}/{path.name}"] = record
    return records


@pytest.mark.slow
def test_the_record_of_a_run_has_scores_parameters_times_and_environment(records):
    record = json.loads((records / "runs" / "one--sdgs--seed1--cv.json").read_text())
    assert record["test"].keys() == set(PAPER_METRICS)
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


@pytest.mark.slow
def test_there_is_one_record_per_task_and_run(records):
    files = set(content(records))
    assert files >= {task.file for task in PROTOCOL.tasks()}
    runs = {
        f"runs/{d}--{m}--seed{s}--{r}.json"
        for d, m, s, r in product(PROTOCOL.datasets, METHODS, PROTOCOL.seeds, ("paper", "cv"))
    }
    assert {file for file in files if file.startswith("runs/")} == runs


@pytest.mark.slow
def test_finished_tasks_are_not_executed_again(home, records, tmp_path):
    folder = shutil.copytree(records, tmp_path / "records")  # other processes may use the original
    before = {path: path.stat().st_mtime_ns for path in (folder / "trials").iterdir()}
    calls = []
    run(PROTOCOL, folder, data_home=home, progress=lambda *arguments: calls.append(arguments))
    assert {path: path.stat().st_mtime_ns for path in (folder / "trials").iterdir()} == before
    ((finished, total, _),) = calls
    assert finished == total


@pytest.mark.slow
def test_invalid_records_and_records_of_other_settings_are_replaced(home, tmp_path):
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


@pytest.mark.slow
def test_a_run_that_was_killed_ten_times_ends_with_the_same_records(home, records, tmp_path):
    command = [sys.executable, "-m", "sdgs", "reproduce", "--data-home", str(home), "--datasets", "one,two,three"]
    command += ["--seeds", "0,1", "-o", str(tmp_path / "out")]
    rng, n_killed = random.Random(0), 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 3.5))
        n_killed += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert n_killed >= 5
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "report.html" in done.stdout
    assert content(tmp_path / "out") == content(records)
    names = [path.name for path in (tmp_path / "out").rglob("*")]
    assert not [name for name in names if name.startswith(".")]


def children(pid):
    """Process ids of the children of a process."""
    ids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                ids.append(int(stat.parent.name))
    return ids


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

def run_task(task, protocol, home):  # workers import this file, so they use it too
    (Path(sys.argv[2]) / "started").touch()
    time.sleep(120)

_runner.run_task = run_task
if __name__ == "__main__":
    _runner.run(Protocol(datasets=("one",), methods=("mlknn",)), sys.argv[2], data_home=sys.argv[1], n_jobs=1)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_exit_if_the_runner_is_killed(home, tmp_path):
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
    pytest.fail("a worker continues without its runner")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_worker_is_reported_and_other_tasks_are_finished(home, tmp_path):
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
    assert "Not finished and therefore not on this page:" in page
    assert len(list((tmp_path / "runs").glob("*mlknn*"))) == 4


@pytest.mark.skipif(find_spec("fcntl") is None, reason="no locks on this system")
def test_a_folder_is_locked_during_a_run(home, tmp_path):
    import fcntl

    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ExperimentError, match="Another run is active"):
            run(Protocol(datasets=("one",), methods=("mlknn",)), tmp_path, data_home=home)


@pytest.mark.slow
def test_parameters_are_chosen_without_test_samples(home, records, tmp_path):
    """Other labels of the test samples change the test scores, but not the selection."""
    shutil.copytree(home / "one", tmp_path / "one")
    path = tmp_path / "one" / "one-test.arff"
    head, data = path.read_text().split("@data\n")
    flipped = [
        ",".join([*line.split(",")[:-4], *("10"[int(v)] for v in line.split(",")[-4:])]) for line in data.split()
    ]
    path.write_text(head + "@data\n" + "\n".join(flipped) + "\n")
    run(Protocol(datasets=("one",), seeds=(0,)), tmp_path / "out", data_home=tmp_path)
    for path in (tmp_path / "out" / "trials").iterdir():
        here, there = json.loads(path.read_text()), json.loads((records / "trials" / path.name).read_text())
        assert here["selection"] == there["selection"]
        assert here["method"] == "floor" or here["test"] != there["test"]
    for path in (tmp_path / "out" / "runs").iterdir():
        here, there = json.loads(path.read_text()), json.loads((records / "runs" / path.name).read_text())
        assert here["parameters"] == there["parameters"]


@pytest.mark.slow
def test_records_of_other_data_with_the_same_name_are_replaced(tmp_path, write_mulan):
    protocol = Protocol(datasets=("mine",), methods=("mlknn",))
    write_mulan(tmp_path, "mine", seed=0)
    run(protocol, tmp_path / "out", data_home=tmp_path)
    before = content(tmp_path / "out")
    shutil.rmtree(tmp_path / "mine")
    run(protocol, tmp_path / "out", data_home=tmp_path)  # finished records do not need their data
    write_mulan(tmp_path, "mine", seed=1)
    run(protocol, tmp_path / "out", data_home=tmp_path)
    after = content(tmp_path / "out")
    assert before.keys() == after.keys()
    assert before["runs/mine--mlknn--seed0--cv.json"]["test"] != after["runs/mine--mlknn--seed0--cv.json"]["test"]


def test_choose_takes_the_first_of_the_best_scores():
    assert choose([0.1, 0.5, 0.5, 0.2]) == 1
    assert choose([None]) == 0


@pytest.mark.slow
def test_a_failed_task_is_reported_and_other_tasks_are_finished(home, tmp_path, write_mulan):
    shutil.copytree(home / "one", tmp_path / "one")
    write_mulan(tmp_path, "bad")
    path = tmp_path / "bad" / "bad-test.arff"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ExperimentError, match=r"bad, ML-kNN: DataFileError: .*bad-test.arff"):
        run(Protocol(datasets=("bad", "one"), methods=("mlknn",)), tmp_path / "out", data_home=tmp_path)
    assert len(list((tmp_path / "out" / "runs").glob("one--*"))) == 4
