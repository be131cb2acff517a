"""`sdgs evaluate`: measures for a file, and per label."""

import json

import pytest

import sdgs
from sdgs.datasets import read
from sdgs.metrics import evaluate


def test_evaluate(run, songs, expected):
    test, labels, _ = expected
    content = json.loads(run("evaluate", songs / "songs.sdgs", songs / "test.arff", "--json").stdout)
    assert content["measures"] == evaluate(test.Y, labels)
    assert content["samples"] == 50
    values = content["labels"]["is_sad"]
    both = (test.Y[:, 1] * labels[:, 1]).sum()
    assert values["recall"] == pytest.approx(both / test.Y[:, 1].sum())
    assert (values["samples"], values["predicted"]) == (test.Y[:, 1].sum(), labels[:, 1].sum())
    text = run("evaluate", songs / "songs.sdgs", songs / "test.csv", "--worst", "2").stdout
    for word in ("hamming loss ↓", "accuracy ↑", "precision", "... and 1 more."):
        assert word in text
    shown = [name for name in content["labels"] if name in text]
    ranked = sorted(content["labels"], key=lambda name: content["labels"][name]["f1"])
    assert sorted(shown) == sorted(ranked[:2])


def test_svmlight_from_fit_to_evaluate(run, songs):
    content = json.loads(run("evaluate", songs / "svm.sdgs", songs / "test.svm", "--json").stdout)
    data = read(songs / "test.svm")
    assert data.feature_names[0] == "1"
    model = sdgs.load(songs / "svm.sdgs")
    assert content["measures"] == evaluate(data.Y, model.predict(data.X))
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
    assert "no sample has labels to compare with" in result.stderr


def test_further_measures(run, songs, expected):
    test, labels, _ = expected
    P = sdgs.load(songs / "songs.sdgs").predict_proba(test.X)
    arguments = ("evaluate", songs / "songs.sdgs", songs / "test.arff")
    content = json.loads(run(*arguments, "--all-measures", "--json").stdout)
    assert content["measures"] == pytest.approx(evaluate(test.Y, labels, P, measures="all"))
    content = json.loads(run(*arguments, "--measures", "macro_f1, precision@2", "--json").stdout)
    assert content["measures"] == pytest.approx(evaluate(test.Y, labels, P, measures=["macro_f1", "precision@2"]))
    text = run(*arguments, "--measures", "coverage,subset_accuracy").stdout
    assert "Further measures, not in percent" in text
    assert f"{evaluate(test.Y, labels, P, measures=['coverage'])['coverage']:.4f}" in text
    assert "coverage ↓" in text
    assert "subset accuracy ↑" in text
    assert "k must be at most the number of labels, 3, got 4" in run(*arguments, "--measures", "ndcg@4").stderr
