"""`sdgs fit`: the same model as in Python, checked before the training and written to a file."""

import json
import re
from unittest import mock

import numpy as np
import pandas as pd

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import read
from sdgs.metrics import evaluate


def test_fit_gives_the_same_model_as_the_estimator(run, songs, tmp_path):
    result = run(
        *("fit", songs / "train.csv", "--labels", "is_calm,is_sad", "-l", "is_[[]odd]", "--test", songs / "test.csv"),
        *("--drop", "id,title"),
        *("--set", "alpha=0.2", "--set", "n_components=2", "--set", "huber=None", "--seed", "3", "--json"),
    )
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["dropped"] == {"id": "dropped, as requested", "title": "dropped, as requested"}
    assert [path.name for path in tmp_path.iterdir()] == ["train.sdgs"]
    train, test = (read(songs / f"{part}.csv", labels=["is_*"]) for part in ("train", "test"))
    model = SDGSClassifier(2, alpha=0.2, random_state=3).fit(train.X, train.Y)
    assert content["test"]["measures"] == evaluate(test.Y, model.predict(test.X))
    loaded = sdgs.load(tmp_path / "train.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(test.X), model.predict_proba(test.X))
    assert loaded.label_names_ == test.label_names
    assert content["chosen"] == {
        "scaling": model.scaling_,
        "huber": None,
        "gamma": model.gamma_,
        "penalty": model.penalty_,
        "read_from": list(model.read_from_),
    }
    assert (
        json.loads(run("info", songs / "train.csv", "-l", "is_*", "--drop", "id,title", "--json").stdout)["scaling"]
        == model.scaling_
    )


def test_one_column_that_lists_labels(run, songs):
    data = read(songs / "train.csv", labels=["is_*"])
    listed = ["; ".join(name for name, y in zip(data.label_names, row, strict=True) if y) for row in data.Y]
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(moods=listed)
    frame.to_csv("listed.csv", index=False)
    output = run("info", "listed.csv").stdout
    assert "This column may list the labels of each sample: moods" in output
    assert output.endswith("Next: sdgs info listed.csv --label-column=moods\n")
    assert run("info", "listed.csv", "--label-column=moods").stdout.endswith(
        "Next: sdgs fit listed.csv --label-column=moods\n"
    )
    result = run("fit", "listed.csv", "--label-column", "moods", "--test", "listed.csv")
    assert result.exit_code == 0, result.output
    content = json.loads(run("evaluate", "listed.sdgs", "listed.csv", "--label-column", "moods", "--json").stdout)
    assert content["labels"]["is_sad"]["samples"] == data.Y[:, 1].sum()
    assert run("report", "listed.sdgs", "listed.csv", "--label-column", "moods").exit_code == 0
    output = run("evaluate", "listed.sdgs", "listed.csv").stderr
    assert "If one column lists the labels, name it" in output


def test_the_test_file_is_checked_before_the_training(run, songs, tmp_path):
    (tmp_path / "other.csv").write_text("x,is_calm\n1,1\n")
    with mock.patch.object(SDGSClassifier, "fit", side_effect=AssertionError):
        result = run("fit", songs / "train.csv", "-l", "is_*", "--drop", "id,title", "--test", "other.csv")
    assert result.exit_code == 1
    assert "other.csv: 6 of the 6 columns of the model are missing" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_compiling_is_not_part_of_the_training(run, songs, monkeypatch):
    """It is a step of its own on the terminal and in the times."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    result = run("fit", songs / "train.arff", "--json")
    assert json.loads(result.stdout)["seconds"].keys() == {"reading", "compiling", "training"}
    steps = [result.stderr.index(step) for step in ("Reading", "Compiling", "Training")]
    assert steps == sorted(steps)
    assert re.search(r"Training .*left\S* \S*0:00:00", result.stderr)  # the bar is complete


def test_fit_by_cross_validation(run, songs, tmp_path):
    result = run("fit", songs / "train.parquet", "-l", "is_*", "--cv", "--set", "budget=2", "-o", "cv.sdgs")
    assert result.exit_code == 0, result.output
    assert 'Selected by cross-validation: scaling "' in result.stdout
    assert type(sdgs.load(tmp_path / "cv.sdgs")).__name__ == "SDGSClassifierCV"


def test_fit_leaves_out_samples_with_missing_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal()},{rng.normal()},{i % 2},0,1" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["x,y,a,b,c", *rows, "1,2,,0,1"]) + "\n")
    result = run("fit", "data.csv", "-l", "a,b,c")
    assert result.exit_code == 0, result.output
    assert "data.csv: samples left out because of missing labels: 1." in result.stderr
    assert "no sample has these labels, which cannot be learnt: b." in result.stderr
    assert "all samples have these labels, which carry no information: c." in result.stderr
    assert "60 samples" in result.stdout
    result = run("fit", "data.csv", "-l", "b", "--force")
    assert result.exit_code == 1
    assert "no positive entry" in result.stderr
    (tmp_path / "data.csv").write_text("x,a\n1,\n2,\n")
    assert "nothing to learn from" in run("fit", "data.csv", "-l", "a", "--force").stderr


def test_labels_from_a_file(run, songs, tmp_path):
    (tmp_path / "names.txt").write_text("is_sad\n\nis_calm\n")
    assert run("fit", songs / "train.csv", "--labels-from", "names.txt", "-o", "a.sdgs").exit_code == 0
    assert sdgs.load("a.sdgs").label_names_ == ("is_sad", "is_calm")
    (tmp_path / "names.xml").write_text('<labels><label name="is_sad"/></labels>')
    for source in ("train.arff", "train.csv"):
        assert run("fit", songs / source, "--labels-from", "names.xml", "-o", "b.sdgs", "--force").exit_code == 0
        assert sdgs.load("b.sdgs").label_names_ == ("is_sad",)


def test_an_existing_model_is_replaced_only_by_force(run, songs, tmp_path):
    (tmp_path / "a.sdgs").write_text("mine")
    arguments = ("fit", songs / "train.arff", "-o", "a.sdgs", "--set", "n_components=2")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "a.sdgs exists. Name another file, or replace it with --force" in " ".join(result.output.split())
    assert (tmp_path / "a.sdgs").read_text() == "mine"
    content = json.loads(run(*arguments, "--force", "--json").stdout)
    assert content["parameters"] | {"n_jobs": -1} == content["parameters"]
    assert content["parameters"]["n_components"] == 2
    assert content["parameters"]["huber"] is None
    assert content["parameters"]["scaling"] == "auto"
    assert run("evaluate", "a.sdgs", songs / "test.arff").exit_code == 0
    assert json.loads(run("info", "a.sdgs", "--json").stdout)["parameters"] == {"n_components": 2, "random_state": 0}


def test_the_metric_and_weights_of_labels(run, songs):
    arguments = ("fit", songs / "train.arff", "-o", "b.sdgs", "--set", "n_components=2", "--json")
    options = ("--metric", "macro_f1", "--label-weight", "balanced")
    result = run(*arguments, *options)
    assert result.exit_code == 0, result.stderr
    parameters = json.loads(result.stdout)["parameters"]
    assert (parameters["metric"], parameters["label_weight"]) == ("macro_f1", "balanced")
    model = sdgs.load("b.sdgs")
    assert model._decision.thresholds.size == model._decision.label_weight.size == len(model.classes_)
    for option, value in (("--metric", "f2"), ("--label-weight", "even"), ("--label-weight", "(1, 0, 1)")):
        result = run(*arguments, "--force", option, value)
        assert result.exit_code == 2
        assert f"Invalid value for {option}" in result.stderr
    result = run(*arguments, "--force", "--label-weight", "(1, 2)")
    assert result.exit_code == 1
    assert "label_weight must have one number for each of the" in result.stderr


def test_help_describes_every_parameter(run):
    """With its default, for both classifiers."""
    text = run("fit", "--help").stdout.partition("Parameters for --set")[2]
    described = dict(re.findall(r"^\s+(\w+)=(\S+) ", text, re.MULTILINE))
    single, search = SDGSClassifier().get_params(), sdgs.SDGSClassifierCV().get_params()
    options = {"random_state", "n_jobs"}  # --seed and --jobs
    listed = set(re.findall(r"\((\w+)\)", text)) | described.keys()
    assert (single.keys() | search.keys()) - options <= listed
    for name, default in described.items():
        assert default == str((single if name in single else search)[name]), name


def test_few_samples_and_rare_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal()},{rng.normal()},{i % 2},{int(i < 2)}" for i in range(25)]
    (tmp_path / "data.csv").write_text("\n".join(["x,y,a,b", *rows]) + "\n")
    for command in ("info", "fit"):
        notes = run(command, "data.csv", "-l", "a,b").stderr
        assert "25 samples are few. A measure on 25 samples is uncertain by up to 20 points." in notes
        assert "fewer than 3 samples have these labels, so that some folds of cross-validation lack them: b." in notes


def test_labels_of_a_column_of_categories(run, tmp_path):
    (tmp_path / "data.csv").write_text("x,kind\n1,calm\n2,sad\n")
    result = run("fit", "data.csv", "-l", "kind")
    assert result.exit_code == 1
    assert "'calm' is neither 0 nor 1" in result.stderr
    assert (
        "name it as the column that lists them (label_column=..., on the command line --label-column)" in result.stderr
    )
