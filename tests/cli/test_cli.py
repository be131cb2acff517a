import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import sdgs
from sdgs import SDGSClassifier
from sdgs.cli import _show
from sdgs.datasets import read
from sdgs.metrics import evaluate


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
        (["fit", "train.csv", "-l", "a", "--labels-from", __file__], "give one of --labels, --labels-from and"),
        (["fit", "train.csv", "-o", "/proc/m.sdgs"], "nothing can be written to the folder /proc"),
        (["predict", __file__, "test.csv", "-o", "/proc/x"], "nothing can be written to the folder /proc"),
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
    assert result.stdout.endswith("Next: sdgs info data.csv --drop=number '--labels=is_*'\n")
    assert result.stderr.strip() == "Note: number only counts the samples. Leave it out: --drop number"
    known = json.loads(run("info", "data.csv", "--json").stdout)
    assert known["may_be_labels"] == {"columns": ["is_a", "is_b"], "lists": []}
    result = run("fit", "data.csv")
    assert result.exit_code == 1
    assert "which columns are labels?" in result.stderr


def test_what_info_says_next_works(run, tmp_path):
    """Step by step, with all options that were given, and names that a shell or an option would take apart."""
    rng = np.random.default_rng(0)
    names = ["a, b", "it's", "c*", "e", "f", "g", "h"]
    rows = [f"{i}\tq{i}\t{rng.random():.2f}\t" + "\t".join(map(str, rng.integers(2, size=7))) for i in range(40)]
    (tmp_path / "data").write_text("\n".join(["\t".join(["n", "id", "x", *names]), *rows]))
    said = run("info", "data", "--format", "tsv", "--drop", "id").stdout
    for command in ("info", "fit"):
        (following,) = re.findall("Next: sdgs (.*)", said)
        arguments = shlex.split(following)
        assert arguments[:2] == [command, "data"]
        assert "--drop=id,n" in arguments
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        said = result.stdout
    assert sdgs.load("data.sdgs").label_names_ == tuple(names)


def test_one_column_that_lists_labels(run, songs):
    data = read(songs / "train.csv", labels=["is_*"])
    listed = ["; ".join(name for name, y in zip(data.label_names, row, strict=True) if y) for row in data.Y]
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(moods=listed)
    frame.to_csv("listed.csv", index=False)
    said = run("info", "listed.csv").stdout
    assert "This one may list the labels of each sample: moods" in said
    assert said.endswith("Next: sdgs info listed.csv --label-column=moods\n")
    assert run("info", "listed.csv", "--label-column=moods").stdout.endswith(
        "Next: sdgs fit listed.csv --label-column=moods\n"
    )
    result = run("fit", "listed.csv", "--label-column", "moods", "--test", "listed.csv")
    assert result.exit_code == 0, result.output
    known = json.loads(run("evaluate", "listed.sdgs", "listed.csv", "--label-column", "moods", "--json").stdout)
    assert known["labels"]["is_sad"]["samples"] == data.Y[:, 1].sum()
    assert run("report", "listed.sdgs", "listed.csv", "--label-column", "moods").exit_code == 0
    said = run("evaluate", "listed.sdgs", "listed.csv").stderr
    assert "If one column lists the labels, name it" in said


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
    assert known["chosen"] == {
        "scaling": model.scaling_,
        "huber": None,
        "penalty": model.penalty_,
        "read_from": list(model.read_from_),
    }
    assert json.loads(run("info", songs / "train.csv", "-l", "is_*", "--json").stdout)["scaling"] == model.scaling_


def test_fit_looks_at_the_test_file_before_it_trains(run, songs, tmp_path):
    (tmp_path / "other.csv").write_text("x,is_calm\n1,1\n")
    with mock.patch("sdgs.SDGSClassifier.fit", side_effect=AssertionError):
        result = run("fit", songs / "train.csv", "-l", "is_*", "--test", "other.csv")
    assert result.exit_code == 1
    assert "other.csv: 6 of the 6 features of the model are not there" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_compiling_is_not_part_of_the_training(run, songs, monkeypatch):
    """What it is, is said, and the time left does not know of it."""
    steps = []

    @contextmanager
    def working(what):
        steps.append(what)
        yield steps.append

    @contextmanager
    def progress(what, total):
        steps.append(what)
        yield lambda done, _: steps.append(done / total)

    monkeypatch.setattr("sdgs.cli._fit.working", working)
    monkeypatch.setattr("sdgs.cli._fit.progress", progress)
    result = run("fit", songs / "train.arff", "--json")
    assert json.loads(result.stdout)["seconds"].keys() == {"reading", "compiling", "training"}
    reading, compiling, training, *shares = steps
    assert reading.startswith("Reading")
    assert "compiles" in compiling
    assert training == "Training"
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_notes_do_not_run_into_a_bar(capsys):
    """On a terminal a note is a line of its own, above the bar."""
    with mock.patch.object(_show, "Console", lambda **options: Console(**options, force_terminal=True)):
        with _show.progress("Training", 1) as show:
            show(0.5, "")
            _show.note("something")
        _show.note("after")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"(^|[\r\n])Note: something\n", text)
    assert text.endswith("Note: after\n")


def test_fit_by_cross_validation(run, songs, tmp_path):
    result = run("fit", songs / "train.parquet", "-l", "is_*", "--cv", "--set", "budget=2", "-o", "cv.sdgs")
    assert result.exit_code == 0, result.output
    assert 'Found by cross-validation: scaling "' in result.stdout
    assert type(sdgs.load(tmp_path / "cv.sdgs")).__name__ == "SDGSClassifierCV"


def test_fit_leaves_out_samples_with_missing_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal()},{rng.normal()},{i % 2},0,1" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["x,y,a,b,c", *rows, "1,2,,0,1"]) + "\n")
    result = run("fit", "data.csv", "-l", "a,b,c")
    assert result.exit_code == 0, result.output
    assert "data.csv: 1 samples have missing labels and are left out" in result.stderr
    assert "no sample has b: such labels cannot be learnt" in result.stderr
    assert "every sample has c: such labels tell nothing" in result.stderr
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


def test_evaluate(run, songs, expected):
    test, labels, _ = expected
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


def test_explain(run, songs, expected, tmp_path):
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "3,1", "-o", "parts.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Sample 3") < result.stdout.index("Sample 1")
    assert "explains" in result.stdout
    assert "<svg" in (tmp_path / "parts.svg").read_text()
    (known,) = json.loads(run("explain", songs / "songs.sdgs", songs / "test.arff", "--json", "-n", "50").stdout)
    test, labels, P = expected
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
    assert [method["name"] for method in content["compared_methods"]] == ["Binary relevance", "ML-kNN"]
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


def test_a_terminal_that_knows_only_ascii(songs, tmp_path):
    command = [sys.executable, "-m", "sdgs", "evaluate", songs / "songs.sdgs", songs / "test.arff"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert "hamming loss" in result.stdout
