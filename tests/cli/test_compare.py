"""`sdgs compare`: tables, JSON, the page, records and the best model."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import sdgs
from sdgs.datasets import read

OPTIONS = ("--labels", "is_*", "--drop", "id,title", "--jobs", 1, "--folds", 3)
FAST = ("--methods", "mlknn,logistic")


def test_json_has_what_compare_finds(run, songs):
    result = run("compare", songs / "train.csv", *OPTIONS, *FAST, "--seed", 3, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    data = read(songs / "train.csv", labels=["is_*"], drop=["id", "title"])
    expected = sdgs.compare(data.X, csr_array(data.Y.astype(int)), methods=["mlknn", "logistic"], cv=3, random_state=3)
    values = content["files"]["train.csv"]
    assert content["ranks"] is None
    assert [method["name"] for method in values["methods"]] == [method.name for method in expected.methods]
    for method, reference, row in zip(values["methods"], expected.methods, expected.summary(), strict=True):
        means = {name: float(array.mean()) for name, array in reference.measures.items()}
        assert method["measures"] == {name: None if np.isnan(mean) else mean for name, mean in means.items()}
        assert [split["f1"] for split in method["splits"]] == reference.measures["f1"].tolist()
        assert (method["low"], method["high"]) == (row.low, row.high)
    assert values["methods"][0]["p_value"] is None
    assert values["labels"] == list(data.label_names)
    assert values["conclusion"] == expected.conclusion()


def test_the_table(run, songs):
    result = run("compare", songs / "train.csv", *OPTIONS, *FAST)
    assert result.exit_code == 0, result.output
    assert "Stratified 3-fold cross-validation, seed 0" in result.stdout
    lines = [line for line in result.stdout.split("\n") if line.startswith((" MLkNN", " Logistic"))]
    assert len(lines) == 2
    assert " best " in lines[0]
    assert "has the best mean F1" in result.stdout


def test_it_fits_80_columns(run, songs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run("compare", songs / "train.csv", *OPTIONS, "--methods", "mlknn,binary-relevance")
    assert result.exit_code == 0, result.output
    assert "BinaryRelevance (SVMs)" in result.stdout
    table = [line for line in result.stdout.split("\n") if line.startswith(" ")]
    assert max(map(len, table)) <= 80
    assert not any("…" in line for line in table)


def test_several_files_have_ranks_a_page_and_records(run, songs, tmp_path):
    shutil.copy(songs / "train.csv", "a.csv")
    shutil.copy(songs / "test.csv", "b.csv")
    arguments = ("compare", "a.csv", "b.csv", *OPTIONS, *FAST, "-o", "out")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Ranks over 2 files" in result.stdout
    assert "With 2 data sets Wilcoxon's test cannot be significant" in result.stdout
    assert "Wrote out/comparison.html" in result.stderr
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert 'id="ranks"' in page
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "records").iterdir()}
    assert len(records) == 2 * 2 * 3
    again = run(*arguments)
    assert again.stdout == result.stdout
    assert {path: path.stat().st_mtime_ns for path in records} == records
    ranks = json.loads(run(*arguments, "--json").stdout)["ranks"]
    assert ranks["datasets"] == ["a.csv", "b.csv"]


def test_a_page_alone(run, songs, tmp_path):
    result = run("compare", songs / "train.csv", *OPTIONS, "--methods", "mlknn", "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert "MLkNN is the only method" in (tmp_path / "page.html").read_text()


def test_the_best_model_is_saved(run, songs, tmp_path):
    result = run("compare", songs / "train.csv", *OPTIONS, "--methods", "sdgs", "--fit-best", "best.sdgs")
    assert result.exit_code == 0, result.output
    assert "SDGSClassifier, fitted to all" in " ".join(result.stderr.split())
    evaluated = run("evaluate", "best.sdgs", songs / "test.csv", "--json", "--jobs", 1)
    assert evaluated.exit_code == 0, evaluated.output
    data = read(songs / "train.csv", labels=["is_*"], drop=["id", "title"])
    predicted = sdgs.load(tmp_path / "best.sdgs").predict(data.X)
    expected = sdgs.SDGSClassifier(random_state=0).fit(data.X, csr_array(data.Y.astype(int)))
    assert np.array_equal(predicted.toarray(), expected.predict(data.X).toarray())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "best"], "there is no method 'best'"),
        (["--methods", ","], "name at least one method"),
        (["--metric", "speed"], "there is no measure 'speed'"),
        (["--folds", 1], "--folds"),
        (["-o", "file.csv"], "file.csv is a file"),
        (["-o", "nowhere/page.html"], "the folder nowhere does not exist"),
        (["--fit-best", "model.txt"], "must be a file that ends in .sdgs"),
        (["--fit-best", "nowhere/model.sdgs"], "the folder nowhere does not exist"),
        (["file.csv", "--fit-best", "model.sdgs"], "fitted to one file"),
        (["file.csv", "file.csv"], "a file is given twice"),
        (["-"], "standard input cannot be one of several files"),
    ],
)
def test_wrong_options_are_rejected_before_the_file_is_read(run, songs, tmp_path, options, message):
    (tmp_path / "file.csv").write_text("a,b\n")
    result = run("compare", songs / "train.csv", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]


def test_a_file_with_too_few_samples_is_one_error(run, songs):
    result = run("compare", songs / "train.csv", *OPTIONS[:-1], 5000)
    assert result.exit_code == 1
    assert "folds need at least as many samples" in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_ctrl_c_leaves_complete_records_only(songs, tmp_path):
    """Interrupted after its first record, it says so, and continues."""
    command = [sys.executable, "-m", "sdgs", "compare", str(songs / "train.csv"), *map(str, OPTIONS)]
    command += ["--methods", "mlknn,logistic,label-powerset,rakel", "--jobs", "2", "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    records = tmp_path / "out" / "records"
    while not list(records.glob("*.json")):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted. No incomplete file was left." in errors
    assert "Traceback" not in errors
    before = [json.loads(path.read_text()) for path in records.iterdir()]
    assert 0 < len(before) < 12
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list(records.iterdir())) == 12
