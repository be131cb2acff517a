"""`sdgs explain`: text, JSON and a picture."""

import json

import numpy as np
import pytest

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits


def test_explain(run, songs, expected, tmp_path):
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "3,1", "-o", "parts.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Sample 3") < result.stdout.index("Sample 1")
    assert "explains" in result.stdout
    assert "<svg" in (tmp_path / "parts.svg").read_text()
    (content,) = json.loads(run("explain", songs / "songs.sdgs", songs / "test.arff", "--json", "-n", "50").stdout)
    test, labels, P = expected
    assert content["sample"] == 50
    assert {label["label"] for label in content["labels"]} == set(np.array(test.label_names)[labels[49] == 1])
    label = content["labels"][0]
    assert label["probability"] == pytest.approx(P[49, test.label_names.index(label["label"])])
    assert label["features"][0]["feature"] in test.feature_names
    assert label["share"] > 0
    assert sum(content["reasons"][0]["sums"].values()) + content["reasons"][0]["base"] == pytest.approx(
        content["reasons"][0]["log_odds"]
    )
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "51")
    assert "there is no sample 51; the file has 50" in result.stderr
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "--shape", "2x2")
    assert result.exit_code == 2


def test_explain_says_why_first_and_then_what_the_sample_is_made_of(run, songs, expected):
    test, labels, _ = expected
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "2", "--counterfactual")
    why, change, made = (
        result.stdout.index(title) for title in ("Why these", "What would change", "What is the sample")
    )
    assert why < change < made
    for name in np.array(test.label_names)[labels[1] == 1]:
        assert f"{name} is predicted (p = " in result.stdout[why:change]
        assert name in result.stdout[change:made]
    assert "because of" not in result.stdout[made:]


def test_explain_of_labels_by_name(run, songs, expected):
    test, labels, P = expected
    first = test.label_names[0]
    options = ("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "2", "--json", "--label")
    (content,) = json.loads(run(*options, first, "--counterfactual").stdout)
    assert [reason["label"] for reason in content["reasons"]] == [first]
    assert content["reasons"][0]["predicted"] == bool(labels[1, 0])
    assert content["reasons"][0]["probability"] == pytest.approx(P[1, 0])
    (change,) = content["counterfactuals"]
    assert change["probability"] == pytest.approx(P[1, 0])
    nearer = change["probability_without"] - change["probability"]
    assert change["flipped"] or (nearer < 0) == change["predicted"]
    (content,) = json.loads(run(*options, "all").stdout)
    assert [reason["label"] for reason in content["reasons"]] == list(test.label_names)
    result = run(*options, "no such label")
    assert result.exit_code == 2
    assert "there is no label 'no such label' in the model" in " ".join(result.stderr.split())


def test_explain_with_a_kernel_numbers_training_samples_from_one(run, songs, tmp_path):
    fitted = run("fit", songs / "train.arff", "-o", "kernel.sdgs", "--set", "gamma=1")
    assert fitted.exit_code == 0, fitted.output
    model = sdgs.load(tmp_path / "kernel.sdgs")
    (content,) = json.loads(run("explain", "kernel.sdgs", songs / "test.csv", "--json", "--label", "all").stdout)
    for reason in content["reasons"]:
        for neighbour in reason["neighbours"]:
            rows = model.decomposition_.rows
            labels = [
                str(name)
                for name, of_label in zip(model.classes_, rows, strict=True)
                if neighbour["training_sample"] - 1 in of_label
            ]
            assert len(neighbour["labels"]) == len(labels)
            assert 0 < neighbour["similarity"] <= 1


def test_all_classes_of_as_many_samples_are_explained(run, tmp_path):
    data = make_composite_digits(60, max_labels=1, random_state=0)
    model = SDGSClassifier(1, gamma=None, random_state=0).fit(data.X, data.Y.argmax(axis=1) % 2)
    sdgs.save(model, tmp_path / "digits.sdgs")
    header = ",".join(map(str, range(64)))
    np.savetxt(tmp_path / "digits.csv", data.X[:2], "%g", ",", header=header, comments="")
    result = run("explain", "digits.sdgs", "digits.csv", "-n", "1,2", "--label", "all", "--json")
    assert result.exit_code == 0, result.output
    assert [[reason["label"] for reason in sample["reasons"]] for sample in json.loads(result.stdout)] == [
        ["0", "1"]
    ] * 2


@pytest.mark.parametrize("picture", ["reasons", "parts"])
def test_explain_draws_reasons_or_parts(run, songs, tmp_path, picture):
    result = run(
        "explain", songs / "songs.sdgs", songs / "test.csv", "--label", "all", "-o", "a.svg", "--picture", picture
    )
    assert result.exit_code == 0, result.output
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_explain_of_a_model_that_reads_norms(run, songs):
    fitted = run("fit", songs / "train.arff", "-o", "norm.sdgs", "--set", "readout=norm", "--set", "threshold=0.01")
    assert fitted.exit_code == 0, fitted.output
    result = run("explain", "norm.sdgs", songs / "test.csv")
    assert "Why" not in result.stdout
    assert "What is the sample made of?" in result.stdout
    result = run("explain", "norm.sdgs", songs / "test.csv", "--counterfactual")
    assert result.exit_code == 1
    assert "--label and --counterfactual need a model with readout" in result.stderr
    result = run("explain", "norm.sdgs", songs / "test.csv", "-o", "a.svg")
    assert "Use --picture parts" in result.stderr
