"""`sdgs audit`: tables, a CSV file and a page of suspicious labels and differing duplicates."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs import SDGSClassifier
from sdgs.audit import find_differing_duplicates
from sdgs.datasets import read


@pytest.fixture
def doubtful(songs, tmp_path):
    """The training file with a mistake in sample 5, a copy of sample 3 with another label, and a gap in sample 2."""
    with open(songs / "train.csv", newline="") as file:
        lines = list(csv.reader(file))
    lines[5][-1] = str(1 - int(lines[5][-1]))
    lines.append([*lines[3][:-3], *(str(1 - int(cell)) for cell in lines[3][-3:-2]), *lines[3][-2:]])
    lines[2][-3:] = [""] * 3
    with open(tmp_path / "doubtful.csv", "w", newline="") as file:
        csv.writer(file).writerows(lines)
    return "doubtful.csv"


OPTIONS = ("--labels", "is_*", "--drop", "id,title", "--jobs", 1)


def test_json_has_what_the_model_finds(run, doubtful):
    result = run("audit", doubtful, *OPTIONS, "--json", "--seed", 3)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    data = read(doubtful, labels=["is_*"])
    complete = ~np.isnan(data.Y).any(axis=1)
    X, Y = data.X[complete], data.Y[complete].astype(int)
    numbers = np.flatnonzero(complete) + 1
    suspicious = SDGSClassifier(random_state=3).fit(X, csr_array(Y)).suspicious_labels()
    assert (content["samples"], content["checked"], content["given"]) == (100, 100, Y.sum())
    assert (content["estimated_wrong"], content["likely_missing"]) == (suspicious.n_wrong, suspicious.n_missing)
    assert [pair["sample"] for pair in content["suspicious"]] == list(numbers[suspicious.rows])
    assert [pair["label"] for pair in content["suspicious"]] == [data.label_names[j] for j in suspicious.labels]
    assert [pair["probability"] for pair in content["suspicious"]] == list(suspicious.probability)
    assert [pair["given"] for pair in content["suspicious"]] == list(suspicious.given)
    duplicates = find_differing_duplicates(X, Y)
    assert [pair["samples"] for pair in content["duplicates"]] == numbers[duplicates.rows].tolist()
    assert content["duplicates"][0]["samples"] == [3, 101]
    assert content["duplicates"][0]["distance"] == 0
    assert content["duplicates"][0]["only_first"] + content["duplicates"][0]["only_second"] == ["is_calm"]


def test_the_tables_and_the_csv_file(run, doubtful, tmp_path):
    result = run("audit", doubtful, *OPTIONS, "--pairs", 12, "--top", 4, "-o", "labels.csv")
    assert result.exit_code == 0, result.output
    assert "samples left out because of missing labels: 1." in result.stderr
    assert "1 pair of near-duplicates has different labels; in 1 pair both samples are identical." in result.stdout
    assert "3 and 101" in result.stdout
    assert "more. To print all: --top" in result.stdout
    assert "Wrote labels.csv" in result.stderr
    with open(tmp_path / "labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    suspicious, duplicates = rows[:12], rows[12:]
    assert {row["reason"] for row in suspicious} <= {"improbable", "probable"}
    assert all((row["given"] == "1") == (row["reason"] == "improbable") for row in suspicious)
    scores = [1 - float(row["probability"]) if row["given"] == "1" else float(row["probability"]) for row in suspicious]
    assert scores == sorted(scores, reverse=True)
    assert ("5", "is_[odd]") in [(row["sample"], row["label"]) for row in suspicious]
    (pair,) = duplicates
    assert [pair[name] for name in ("sample", "label", "reason", "other", "distance")] == [
        *("3", "is_calm", "duplicate", "101", "0")
    ]
    assert 0 <= float(pair["probability"]) <= 1
    with open(doubtful, newline="") as file:
        assert pair["given"] == list(csv.DictReader(file))[2]["is_calm"]


def test_the_page(run, doubtful, tmp_path):
    result = run("audit", doubtful, *OPTIONS, "-o", "labels.html", "--title", "Songs & more", "--top", 0)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "labels.html").read_text()
    assert "<h1>Songs &amp; more</h1>" in page
    assert "3 and 101" in page
    assert "<script" not in page
    assert "Given but improbable" not in result.stdout


@pytest.mark.parametrize("suffix", ["parquet", "arff", "svm"])
def test_all_formats(run, songs, suffix):
    labels = ["-l", "is_*"] if suffix == "parquet" else []
    result = run("audit", songs / f"train.{suffix}", *labels, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "labels of 100 samples were checked" in result.stdout
    assert "-o suspicious.html" in result.stderr


def test_standard_input(run, songs):
    with open(songs / "train.svm", "rb") as file:
        result = run("audit", "-", "--format", "svmlight", "--json", "--jobs", 1, input=file.read())
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["samples"] == 100


@pytest.mark.slow
def test_a_search_and_other_parameters(run, songs):
    options = ("--cv", "--set", "budget=2", "--set", "gammas=None", "--max-distance", 1)
    result = run("audit", songs / "train.csv", *OPTIONS, *options)
    assert result.exit_code == 0, result.output
    assert "(distance" not in result.stdout
    assert "pairs of near-duplicates have different labels" in result.stdout


@pytest.mark.slow
def test_of_many_samples_it_says_how_many_were_checked(run):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16_000, 3))
    np.savetxt("many.csv", np.hstack([X, X[:, :2] > 0]), "%.4g", ",", header="a,b,c,x,y", comments="")
    result = run("audit", "many.csv", "-l", "x,y", "--set", "gamma=None", "--set", "n_components=1", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "of 16,000 samples were checked: cross-validation" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "labels.txt"], "must be a file that ends in .csv or .html"),
        (["-o", "nowhere/labels.csv"], "the folder nowhere does not exist"),
        (["-o", "doubtful.csv"], "is a folder or one of the input files"),
        (["--set", "readout=norm", "--set", "gamma=None"], "the audit needs probabilities"),
        (["--set", "alpha=-1"], "alpha must be"),
        (["--max-distance", "2"], "--max-distance"),
    ],
)
def test_wrong_options_are_rejected_before_the_file_is_read(run, doubtful, tmp_path, options, message):
    before = (tmp_path / doubtful).read_bytes()
    result = run("audit", doubtful, *OPTIONS, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == [doubtful]
    assert (tmp_path / doubtful).read_bytes() == before


def test_a_file_without_labels_is_one_error(run, songs):
    result = run("audit", songs / "train.csv")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
