import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import sdgs
from sdgs import SDGSClassifier
from sdgs.cli import app
from sdgs.datasets import make_label_subspaces, read
from sdgs.metrics import evaluate


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *arguments, **options: CliRunner().invoke(app, list(map(str, arguments)), **options)


@pytest.fixture(scope="module")
def songs(tmp_path_factory):
    """A folder with the same songs as CSV, Parquet, ARFF and svmlight, and models of them."""
    folder = tmp_path_factory.mktemp("songs")
    data = make_label_subspaces(150, 6, 3, n_components=2, noise=0.1, random_state=0)
    features, labels = [f"f{j}" for j in range(6)], ["is_calm", "is_sad", "is_[odd]"]
    for part, rows in (("train", slice(100)), ("test", slice(100, 150))):
        X, Y = data.X[rows], data.Y[rows]
        lines = [["id", "title", *features, *labels]]
        lines += [[f"a{i}", f"Song, {i}", *map(repr, map(float, X[i])), *Y[i]] for i in range(len(X))]
        with open(folder / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows(lines)
        columns = {name: X[:, j] for j, name in enumerate(features)}
        columns |= {name: Y[:, j].astype(bool) for j, name in enumerate(labels)}
        pq.write_table(pa.table(dict(reversed(columns.items()))), folder / f"{part}.parquet")
        head = "".join(f"@attribute {name} numeric\n" for name in features)
        head += "".join(f"@attribute '{name}' {{0,1}}\n" for name in labels)
        body = "".join(",".join(line[2:8] + list(map(str, line[8:]))) + "\n" for line in lines[1:])
        (folder / f"{part}.arff").write_text(f"@relation 'songs: -C -3'\n{head}@data\n{body}")
        dump_svmlight_file(X, Y, str(folder / f"{part}.svm"), multilabel=True, zero_based=False)
    for source, name in (("train.csv", "songs.sdgs"), ("train.svm", "svm.sdgs")):
        options = ["--labels", "is_*"] if source.endswith("csv") else []
        result = CliRunner().invoke(app, ["fit", str(folder / source), "-o", str(folder / name), *options])
        assert result.exit_code == 0, result.output
    return folder


def test_demo_shows_both_methods_and_writes_one_picture(run, tmp_path):
    result = run("demo", "--output", "picture.png")
    assert result.exit_code == 0, result.output
    for word in ("SDGS", "binary relevance", "hamming loss", "precision", "recall", "f1", "accuracy", "training"):
        assert word in result.output
    assert result.stderr == ""  # nothing moves where nobody looks
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "picture.png").stat().st_size > 20_000


def test_demo_as_vector_graphics(run, tmp_path):
    assert run("demo", "-o", "picture.svg", "--seed", "1").exit_code == 0
    assert "<svg" in (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--output", "picture.txt"], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--output", "."], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--seed", str(2**32 - 1)], "--seed"),
        (["demo", "--output", "nowhere/picture.png"], "the folder nowhere does not exist"),
        (["demo", "--seed", "-1"], "--seed"),
        (["dmeo"], "No such command 'dmeo'"),
        (["fit", "train.csv", "-o", "train.csv"], "must be a file that ends in .sdgs"),
        (["fit", "train.csv", "-o", "nowhere/m.sdgs"], "the folder nowhere does not exist"),
        (["fit", "train.csv", "--set", "alhpa=1"], "Near it: alpha"),
        (["fit", "train.csv", "--set", "alpha"], "is not NAME=VALUE"),
        (["fit", "train.csv", "--set", "alpha=-1"], "alpha must be a finite number >= 0, got -1"),
        (["fit", "train.csv", "--set", "metric=f2"], "metric must be one of"),
        (["fit", "train.csv", "--test", "absent.csv"], "absent.csv' does not exist"),
        (["fit", "train.csv", "-l", "a", "--labels-from", __file__], "give --labels or --labels-from, not both"),
        (["predict", "absent.sdgs", "test.csv"], "absent.sdgs' does not exist"),
        (["predict", __file__, "test.csv", "--scores", "--top", "3"], "give --scores or --top, not both"),
        (["predict", __file__, "test.csv", "-o", "nowhere/x"], "the folder nowhere does not exist"),
        (["predict", __file__, "test.csv", "-o", __file__], "is a folder, or what is read"),
        (["explain", __file__, "test.csv", "-n", "0"], "must be numbers from 1"),
        (["explain", __file__, "test.csv", "--shape", "8"], "must be HEIGHTxWIDTH"),
        (["explain", __file__, "test.csv", "-o", "x.txt"], "must be a file that ends in .png"),
        (["data", "get", "emotions"], "name a server that has them"),
        (["data", "check", "nothing"], "there is no data set 'nothing'"),
    ],
)
def test_mistakes_get_one_error(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


def test_demo_without_matplotlib_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("sdgs.cli._show.find_spec", lambda _: None)
    result = run("demo")
    assert result.exit_code == 1
    assert "pip install 'sdgs[plot]'" in result.output


def test_a_picture_that_fails_leaves_nothing_behind(run, monkeypatch, tmp_path):
    fail = mock.Mock(side_effect=OSError("no space left"))
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    result = run("demo")
    assert result.exit_code == 1
    assert result.stderr.strip() == "no space left"
    assert not list(tmp_path.iterdir())


def test_version_and_help(run):
    assert run("--version").output.strip() == f"sdgs {sdgs.__version__}"
    for command in ("info", "fit", "predict", "evaluate", "explain", "reproduce"):
        assert command in run("--help").output
        text = run(command, "--help").output
        assert f"\n   sdgs {command} " in text  # an example, on a line of its own
    installed = subprocess.run([sys.executable, "-m", "sdgs", "--version"], capture_output=True, text=True, check=True)
    assert installed.stdout.strip() == f"sdgs {sdgs.__version__}"


def test_help_is_light():
    code = (
        "import sys; sys.argv = ['sdgs', '--help']\ntry:\n import sdgs.cli; sdgs.cli.main()\nexcept SystemExit: pass\n"
    )
    code += "print([m for m in ('sklearn', 'scipy', 'numba', 'pandas', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_info(run, songs):
    result = run("info", songs / "train.csv", "--labels", "is_*")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "train.csv: 100 samples, 6 features, 3 labels" in text
    assert "Not a feature: title: 'Song, 0' in line 2 is not a number." in text
    assert "is_[odd]" in text
    assert text.endswith("'--labels=is_*'")
    known = json.loads(run("info", songs / "train.arff", "--json").stdout)
    truth = read(songs / "train.csv", labels=["is_*"])
    assert known["label_counts"] == dict(zip(truth.label_names, truth.Y.sum(axis=0).tolist(), strict=True))
    assert (known["samples"], known["features"], known["missing_share"]) == (100, 6, 0)
    assert sum(known["samples_by_number_of_labels"].values()) == 100


def test_info_finds_what_may_be_labels_and_counters(run, tmp_path):
    rows = "".join(f"{i},{i / 3},{i % 2},{(i + 1) % 2}\n" for i in range(20))
    (tmp_path / "data.csv").write_text("number,x,is_a,is_b\n" + rows)
    result = run("info", "data.csv")
    assert result.exit_code == 0
    assert "may be labels: is_a, is_b" in result.stdout
    assert "Next: sdgs info data.csv --labels 'is_*'" in result.stdout
    assert result.stderr.strip() == "Note: number only counts the samples. Leave it out: --drop number"
    result = run("fit", "data.csv")
    assert result.exit_code == 1
    assert "which columns are labels?" in result.stderr


def test_info_of_a_model(run, songs):
    assert "3 labels" in run("info", songs / "songs.sdgs").stdout
    known = json.loads(run("info", songs / "songs.sdgs", "--json").stdout)
    assert known["feature_names"] == [f"f{j}" for j in range(6)]
    assert known["labels"] == ["is_calm", "is_sad", "is_[odd]"]


def test_fit_is_the_estimators(run, songs, tmp_path):
    result = run(
        *("fit", songs / "train.csv", "--labels", "is_calm,is_sad", "-l", "is_[[]odd]", "--test", songs / "test.csv"),
        *("--set", "alpha=0.2", "--set", "n_components=2", "--set", "huber=None", "--seed", "3", "--json"),
    )
    assert result.exit_code == 0, result.output
    known = json.loads(result.stdout)
    assert known["dropped"]["id"] == "'a0' in line 2 is not a number"
    assert [path.name for path in tmp_path.iterdir()] == ["train.sdgs"]
    train, test = (read(songs / f"{part}.csv", labels=["is_*"]) for part in ("train", "test"))
    model = SDGSClassifier(2, alpha=0.2, random_state=3).fit(train.X, train.Y)
    assert known["test"]["measures"] == evaluate(test.Y, model.predict(test.X))
    loaded = sdgs.load(tmp_path / "train.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(test.X), model.predict_proba(test.X))
    assert loaded.label_names_ == test.label_names


def test_fit_by_cross_validation(run, songs, tmp_path):
    result = run("fit", songs / "train.parquet", "-l", "is_*", "--cv", "--set", "budget=2", "-o", "cv.sdgs")
    assert result.exit_code == 0, result.output
    assert "Found by cross-validation: scaling=" in result.stdout
    assert type(sdgs.load(tmp_path / "cv.sdgs")).__name__ == "SDGSClassifierCV"


def test_fit_leaves_out_samples_with_missing_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal()},{rng.normal()},{i % 2},0" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["x,y,a,b", *rows, "1,2,,0"]) + "\n")
    result = run("fit", "data.csv", "-l", "a,b")
    assert result.exit_code == 0, result.output
    assert "data.csv: 1 samples have missing labels and are left out" in result.stderr
    assert "no sample has b: such labels cannot be learnt" in result.stderr
    assert "60 samples" in result.stdout
    result = run("fit", "data.csv", "-l", "b")
    assert result.exit_code == 1
    assert "no positive entry" in result.stderr
    (tmp_path / "data.csv").write_text("x,a\n1,\n2,\n")
    assert "nothing to learn from" in run("fit", "data.csv", "-l", "a").stderr


def test_labels_from_a_file(run, songs, tmp_path):
    (tmp_path / "names.txt").write_text("is_sad\n\nis_calm\n")
    assert run("fit", songs / "train.csv", "--labels-from", "names.txt", "-o", "a.sdgs").exit_code == 0
    assert sdgs.load("a.sdgs").label_names_ == ("is_sad", "is_calm")
    (tmp_path / "names.xml").write_text('<labels><label name="is_sad"/></labels>')
    for source in ("train.arff", "train.csv"):
        assert run("fit", songs / source, "--labels-from", "names.xml", "-o", "b.sdgs").exit_code == 0
        assert sdgs.load("b.sdgs").label_names_ == ("is_sad",)


def expected(songs):
    test = read(songs / "test.csv", labels=["is_*"])
    model = sdgs.load(songs / "songs.sdgs")
    return test, model.predict(test.X).toarray(), model.predict_proba(test.X)


@pytest.mark.parametrize("name", ["test.csv", "test.parquet", "test.arff"])
def test_predict_is_the_same_in_every_format(run, songs, name):
    test, labels, P = expected(songs)
    result = run("predict", songs / "songs.sdgs", songs / name)
    assert result.exit_code == 0, result.output
    lines = list(csv.reader(result.stdout.splitlines()))
    assert lines[0] == ["sample", "labels"]
    names = np.array(test.label_names)
    assert lines[1:] == [[str(i + 1), ";".join(names[row == 1])] for i, row in enumerate(labels)]
    lines = list(csv.reader(run("predict", songs / "songs.sdgs", songs / name, "--scores").stdout.splitlines()))
    assert lines[0] == ["sample", *names]
    np.testing.assert_allclose(np.array(lines[1:], dtype=float)[:, 1:], P, rtol=1e-5)
    lines = [
        json.loads(line) for line in run("predict", songs / "songs.sdgs", songs / name, "--json").stdout.splitlines()
    ]
    assert lines == [{"sample": i + 1, "labels": list(names[row == 1])} for i, row in enumerate(labels)]


def test_predict_the_most_probable(run, songs):
    _, _, P = expected(songs)
    model = sdgs.load(songs / "songs.sdgs")
    arguments = ("predict", songs / "songs.sdgs", songs / "test.arff", "--top", "2")
    first = json.loads(run(*arguments, "--json").stdout.splitlines()[0])
    best = np.argsort(-P[0])[:2]
    assert [entry["label"] for entry in first["top"]] == [model.label_names_[i] for i in best]
    np.testing.assert_allclose([entry["score"] for entry in first["top"]], P[0, best])
    line = run(*arguments, "--separator", " | ").stdout.splitlines()[1]
    assert line == "1,{} | {},{:.6g} | {:.6g}".format(*(model.label_names_[i] for i in best), *P[0, best])


def test_predict_writes_a_file_whole_or_not_at_all(run, songs, tmp_path):
    result = run("predict", songs / "songs.sdgs", songs / "test.csv", "-o", "labels.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 51
    text = (songs / "test.csv").read_text().splitlines()
    (tmp_path / "broken.csv").write_text("\n".join([*text[:40], text[40] + ",1"]))
    with mock.patch("sdgs.datasets._tables._BLOCK_CELLS", 80):
        result = run("predict", songs / "songs.sdgs", "broken.csv", "-o", "labels2.csv")
        assert result.exit_code == 1
        assert "broken.csv, line 41: 12 cells, where the first line has 11 names" in result.stderr
        assert len(run("predict", songs / "songs.sdgs", "broken.csv").stdout.splitlines()) > 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.csv", "labels.csv"]


def test_predict_from_a_pipe(run, songs):
    content = (songs / "test.csv").read_bytes()
    piped = run("predict", songs / "songs.sdgs", "-", "--format", "csv", input=content)
    assert piped.stdout == run("predict", songs / "songs.sdgs", songs / "test.csv").stdout
    result = run("predict", songs / "songs.sdgs", "-", input=content)
    assert result.exit_code == 1
    assert "standard input: the name does not say the format" in result.stderr


def test_predict_refuses_what_it_cannot_match(run, songs, tmp_path):
    text = (songs / "test.csv").read_text()
    (tmp_path / "other.csv").write_text(text.replace("f3", "F3", 1))
    result = run("predict", songs / "songs.sdgs", "other.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "1 of the 6 features of the model are not there: 'f3'. Near it: 'F3'" in result.stderr
    result = run("predict", songs / "songs.sdgs", songs / "test.svm")
    assert "in svmlight files features have numbers, but those of the model have names" in result.stderr
    result = run("predict", songs / "test.csv", songs / "songs.sdgs")
    assert result.exit_code == 1
    assert "The model comes first, then the data." in result.stderr
    assert run("predict", songs / "songs.sdgs", "absent.csv").stderr.startswith("absent.csv: there is no such file")


def test_evaluate(run, songs):
    test, labels, _ = expected(songs)
    known = json.loads(run("evaluate", songs / "songs.sdgs", songs / "test.arff", "--json").stdout)
    assert known["measures"] == evaluate(test.Y, labels)
    assert known["samples"] == 50
    of = known["labels"]["is_sad"]
    both = (test.Y[:, 1] * labels[:, 1]).sum()
    assert of["recall"] == pytest.approx(both / test.Y[:, 1].sum())
    assert (of["samples"], of["predicted"]) == (test.Y[:, 1].sum(), labels[:, 1].sum())
    text = run("evaluate", songs / "songs.sdgs", songs / "test.csv", "--worst", "2").stdout
    for word in ("hamming loss ↓", "accuracy ↑", "precision", "... and 1 more labels"):
        assert word in text
    shown = [name for name in known["labels"] if name in text]
    ranked = sorted(known["labels"], key=lambda name: known["labels"][name]["f1"])
    assert sorted(shown) == sorted(ranked[:2])


def test_svmlight_from_fit_to_evaluate(run, songs):
    known = json.loads(run("evaluate", songs / "svm.sdgs", songs / "test.svm", "--json").stdout)
    data = read(songs / "test.svm")
    assert data.feature_names[0] == "1"
    model = sdgs.load(songs / "svm.sdgs")
    assert known["measures"] == evaluate(data.Y, model.predict(data.X))
    assert len(run("predict", songs / "svm.sdgs", songs / "test.svm").stdout.splitlines()) == 51


def test_evaluate_without_labels(run, songs, tmp_path):
    lines = (songs / "test.csv").read_text().splitlines()
    (tmp_path / "none.csv").write_text("\n".join(",".join(line.rsplit(",", 3)[:1]) for line in lines))
    result = run("evaluate", songs / "songs.sdgs", "none.csv")
    assert "no column is named 'is_calm', which is a label of the model" in result.stderr
    missing = [lines[0], *(",".join([line.rsplit(",", 3)[0], "", "", ""]) for line in lines[1:])]
    (tmp_path / "none.csv").write_text("\n".join(missing))
    result = run("evaluate", songs / "songs.sdgs", "none.csv")
    assert result.exit_code == 1
    assert "no samples with labels to compare with" in result.stderr


def test_models_made_in_python(run, songs):
    data = read(songs / "train.csv", labels=["is_*"])
    X, Y = pd.DataFrame(data.X, columns=data.feature_names), pd.DataFrame(data.Y, columns=data.label_names)
    SDGSClassifier(2, random_state=0).fit(X, Y).save("frames.sdgs")
    assert "is_sad" in run("predict", "frames.sdgs", songs / "test.csv").stdout
    kinds = np.where(data.Y[:, 0] == 1, "calm", "other")
    SDGSClassifier(2, random_state=0).fit(data.X, kinds).save("classes.sdgs", feature_names=data.feature_names)
    lines = run("predict", "classes.sdgs", songs / "test.parquet").stdout.splitlines()
    assert {line.split(",")[1] for line in lines[1:]} == {"calm", "other"}
    paper = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, kinds)
    paper.save("paper.sdgs", feature_names=data.feature_names)
    assert run("predict", "paper.sdgs", songs / "test.parquet", "--scores").stdout.startswith("sample,calm,other\n")
    SDGSClassifier(2, random_state=0).fit(data.X, data.Y).save("arrays.sdgs")
    assert (
        "6 of the 6 features of the model are not there: '0'"
        in run("predict", "arrays.sdgs", songs / "test.csv").stderr
    )


def test_explain(run, songs, tmp_path):
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "3,1", "-o", "parts.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Sample 3") < result.stdout.index("Sample 1")
    assert "explains" in result.stdout
    assert "<svg" in (tmp_path / "parts.svg").read_text()
    (known,) = json.loads(run("explain", songs / "songs.sdgs", songs / "test.arff", "--json", "-n", "50").stdout)
    test, labels, P = expected(songs)
    assert known["sample"] == 50
    assert {of["label"] for of in known["labels"]} == set(np.array(test.label_names)[labels[49] == 1])
    of = known["labels"][0]
    assert of["probability"] == pytest.approx(P[49, test.label_names.index(of["label"])])
    assert of["because_of"][0]["feature"] in test.feature_names
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "51")
    assert "there is no sample 51; there are 50" in result.stderr
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "--shape", "2x2")
    assert result.exit_code == 2


def test_report(run, songs, tmp_path):
    result = run("report", songs / "songs.sdgs", songs / "test.csv", "-o", "page.html", "--rivals", songs / "train.csv")
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    (text,) = re.findall(r'id="content">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    content = json.loads(text)
    data, model = read(songs / "test.csv", labels=["is_*"], drop=["id", "title"]), sdgs.load(songs / "songs.sdgs")
    assert content["values"] == list(evaluate(data.Y, model.predict(data.X)).values())
    assert content["labels"] == ["is_calm", "is_sad", "is_[odd]"]
    assert content["names"][:2] == ["1", "2"]
    assert content["title"] == "test.csv"
    assert [rival["name"] for rival in content["rivals"]] == ["Binary relevance", "ML-kNN"]
    assert set(content["features"]) <= set(data.feature_names)
    result = run("report", songs / "svm.sdgs", songs / "test.svm", "--shape", "2x3", "--explained", 7)
    assert result.exit_code == 0, result.output
    assert '"shape":[2,3]' in (tmp_path / "report.html").read_text()


def test_report_leaves_out_samples_with_missing_labels(run, songs, tmp_path):
    lines = (songs / "test.csv").read_text().splitlines()
    lines[2] = lines[2].rsplit(",", 1)[0] + ","
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    result = run("report", songs / "songs.sdgs", "gap.csv")
    assert "1 samples have missing labels and are left out" in result.output
    page = (tmp_path / "report.html").read_text()
    assert '"names":["1","3",' in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "nowhere/page.html"], "the folder nowhere does not exist"),
        (["-o", "."], "is a folder, or what is read"),
        (["--shape", "8x8"], "samples have 6 features, not 8x8"),
        (["--shape", "8"], "must be HEIGHTxWIDTH"),
    ],
)
def test_report_refuses_what_it_cannot_do(run, songs, tmp_path, options, message):
    result = run("report", songs / "songs.sdgs", songs / "test.csv", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())


def test_data(run, tmp_path, data_home):
    listed = json.loads(run("data", "list", "--json", "--data-home", data_home).stdout)
    assert {entry["name"]: entry["folder"] for entry in listed}["emotions"] == str(data_home / "emotions")
    assert "emotions" in run("data", "list").stdout
    assert run("data", "check", "emotions", "--data-home", data_home).exit_code == 0
    folder = tmp_path / "emotions"
    folder.mkdir()
    (folder / "emotions.xml").write_bytes((data_home / "emotions" / "emotions.xml").read_bytes())
    (folder / "emotions-test.arff").write_text("something else")
    result = run("data", "check", "emotions", "--data-home", tmp_path)
    assert result.exit_code == 1
    assert "emotions-train.arff is missing" in result.stdout
    assert "emotions-test.arff is different" in result.stdout
    assert "emotions.xml" not in result.stdout
    result = run("data", "get", "emotions", "--mirror", "ftp://example.org", "--data-home", tmp_path)
    assert result.exit_code == 1
    assert "not an address that starts with http" in result.stderr


def test_a_bug_is_not_hidden(run, monkeypatch, songs):
    monkeypatch.setattr("sdgs.SDGSClassifier.predict", mock.Mock(side_effect=ValueError("a bug")))
    assert isinstance(run("predict", songs / "songs.sdgs", songs / "test.csv").exception, ValueError)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_halfway_nothing_is_left(songs, tmp_path, sent, status):
    lines = (songs / "test.csv").read_bytes()
    command = [sys.executable, "-m", "sdgs", "predict", songs / "songs.sdgs", "-", "-f", "csv", "-o", "labels.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(lines)
        process.stdin.flush()
        until = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert [path.name[:12] for path in tmp_path.iterdir()] == [".labels.csv-"]
        process.send_signal(sent)
        said = process.stderr.read().decode()
        process.stdin.close()
        assert process.wait(timeout=60) == status
    assert "Traceback" not in said
    if sent == signal.SIGINT:
        assert said.splitlines()[-1] == "Stopped. Nothing is left half-written."
    assert not list(tmp_path.iterdir())


def test_a_terminal_that_knows_only_ascii(songs, tmp_path):
    command = [sys.executable, "-m", "sdgs", "evaluate", songs / "songs.sdgs", songs / "test.arff"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert "hamming loss" in result.stdout


def test_a_reader_that_goes_away(songs, tmp_path):
    rows = (songs / "test.csv").read_text().splitlines()
    (tmp_path / "many.csv").write_text("\n".join([rows[0], *(rows[1:] * 400)]))
    command = f"{sys.executable} -m sdgs predict {songs / 'songs.sdgs'} many.csv --scores | head -n 2"
    result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert len(result.stdout.splitlines()) == 2
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr
