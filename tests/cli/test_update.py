"""`sdgs update`: from files, by name, into the same or another model file."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import make_tickets, read


@pytest.fixture
def tickets(tmp_path):
    """Two halves of the tickets; in the second the tag billing is named invoicing."""
    header, *lines = make_tickets(300, random_state=0).to_csv().splitlines()
    (tmp_path / "first.csv").write_text("\n".join([header, *lines[:150]]) + "\n")
    (tmp_path / "second.csv").write_text("\n".join([header, *lines[150:]]) + "\n")
    renamed = [line[::-1].replace("gnillib", "gniciovni", 1)[::-1] for line in lines[150:]]
    (tmp_path / "renamed.csv").write_text("\n".join([header, *renamed]) + "\n")
    return tmp_path


FIT = ("fit", "first.csv", "--label-column", "tags", "-o", "tickets.sdgs", "--set", "cv=2")


@pytest.mark.parametrize("keep_samples", [1000, 0])
def test_tickets_with_a_new_tag(run, tickets, keep_samples):
    assert run(*FIT, "--set", f"keep_samples={keep_samples}").exit_code == 0
    before = (tickets / "tickets.sdgs").read_bytes()
    assert "can continue from the 150 samples" in run("info", "tickets.sdgs").stdout
    arguments = ("update", "tickets.sdgs", "renamed.csv", "--label-column", "tags", "-o", "later.sdgs")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Learnt 150 samples; 300 in all." in result.stdout
    assert "New labels: invoicing" in result.stdout
    assert ("new labels (1)" in result.stderr) == (keep_samples == 0)
    assert (tickets / "tickets.sdgs").read_bytes() == before
    info = json.loads(run("info", "later.sdgs", "--json").stdout)
    assert info["labels"][-1] == "invoicing"
    assert info["samples_seen"] == 300
    labels = run("predict", "later.sdgs", "renamed.csv").stdout
    assert "invoicing" in labels
    assert "exists" in run(*arguments).stderr
    content = json.loads(run("update", "later.sdgs", "second.csv", "--label-column", "tags", "--json").stdout)
    assert content == {"model": "later.sdgs", "samples": 150, "samples_in_all": 450, "new_labels": []}


def test_an_update_by_a_file_is_that_of_python(run, songs, tmp_path):
    options = ("--labels", "is_*", "--drop", "id,title", "-o", "songs.sdgs", "--set", "keep_samples=1000")
    assert run("fit", songs / "train.csv", *options).exit_code == 0
    assert run("update", "songs.sdgs", songs / "test.arff").exit_code == 0
    train, test = (read(songs / f"{part}.csv", labels=["is_*"], drop=["id", "title"]) for part in ("train", "test"))
    once = SDGSClassifier(random_state=0).fit(np.vstack([train.X, test.X]), np.vstack([train.Y, test.Y]))
    updated = sdgs.load(tmp_path / "songs.sdgs")
    np.testing.assert_array_equal(updated.predict_proba(test.X), once.predict_proba(test.X))
    assert updated.label_names_ == ("is_calm", "is_sad", "is_[odd]")


def test_new_columns_are_labels_if_they_are_named(run, songs, tmp_path):
    options = ("--labels", "is_calm,is_sad", "--drop", "id,title,is_?odd?", "-o", "songs.sdgs")
    assert run("fit", songs / "train.csv", *options, "--set", "keep_samples=1000").exit_code == 0
    for file in ("test.csv", "test.arff", "test.parquet"):
        result = run("update", "songs.sdgs", songs / file, "--labels", "is_*", "-o", f"{file}.sdgs")
        assert result.exit_code == 0, result.output
        assert "New labels: is_[odd]" in result.stdout
        assert sdgs.load(tmp_path / f"{file}.sdgs").label_names_ == ("is_calm", "is_sad", "is_[odd]")
    assert "no column is named 'is_new'" in run("update", "songs.sdgs", songs / "test.csv", "-l", "is_new").stderr
    assert "standard input" in run("update", "songs.sdgs", "-", "-f", "csv", "-l", "is_*", input="a,b\n").stderr


def test_unobserved_labels_of_a_file_are_not_positives(run, songs, tmp_path):
    header, *rows = csv.reader((songs / "test.csv").read_text().splitlines())
    for row in rows[::3]:
        row[header.index("is_calm")] = ""
    with (tmp_path / "partly.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    options = ("--labels", "is_*", "--drop", "id,title", "-o", "songs.sdgs", "--force")
    assert run("fit", songs / "train.csv", *options, "--set", "keep_samples=1000").exit_code == 0
    result = run("update", "songs.sdgs", "partly.csv", "-o", "later.sdgs")
    assert result.exit_code == 0, result.output
    train, test = (
        read(path, labels=["is_*"], drop=["id", "title"]) for path in (songs / "train.csv", tmp_path / "partly.csv")
    )
    assert np.isnan(test.Y).any()
    once = SDGSClassifier(random_state=0).fit(np.vstack([train.X, test.X]), np.vstack([train.Y, test.Y]))
    updated = sdgs.load(tmp_path / "later.sdgs")
    np.testing.assert_array_equal(updated.predict_proba(test.X), once.predict_proba(test.X))
    assert run("fit", songs / "train.csv", *options, "--set", "keep_samples=0").exit_code == 0
    assert "unobserved labels" in run("update", "songs.sdgs", "partly.csv").stderr


def test_models_that_cannot_be_updated(run, songs, tmp_path):
    before = (songs / "songs.sdgs").read_bytes()
    result = run("update", songs / "songs.sdgs", songs / "test.csv", "-o", "new.sdgs")
    assert result.exit_code == 1
    assert "--set keep_samples=10000" in result.stderr
    data = read(songs / "train.csv", labels=["is_*"], drop=["id", "title"])
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(1, keep_samples=1000)).fit(data.X, data.Y)
    sdgs.save(pipeline, tmp_path / "pipeline.sdgs")
    assert "holds a Pipeline" in run("update", "pipeline.sdgs", songs / "test.csv").stderr
    assert (songs / "songs.sdgs").read_bytes() == before


def test_an_update_that_fails_leaves_the_file(run, tickets):
    assert run(*FIT, "--set", "keep_samples=1000").exit_code == 0
    before = (tickets / "tickets.sdgs").read_bytes()
    (tickets / "bad.csv").write_text("message,tags\nhello,bug\n")
    result = run("update", "tickets.sdgs", "bad.csv", "--label-column", "tags")
    assert result.exit_code == 1
    assert "missing" in result.stderr
    assert (tickets / "tickets.sdgs").read_bytes() == before


def test_weights_of_the_samples(run, songs, tmp_path):
    options = ("--labels", "is_*", "--drop", "id,title", "-o", "songs.sdgs", "--set", "keep_samples=1000")
    assert run("fit", songs / "train.csv", *options).exit_code == 0
    model = sdgs.load(tmp_path / "songs.sdgs")
    header, *lines = (songs / "test.csv").read_text().splitlines()
    weight = np.arange(len(lines)) % 3
    weighted = [f"{line},{w}" for line, w in zip(lines, weight, strict=True)]
    (tmp_path / "weighted.csv").write_text("\n".join([f"{header},weight", *weighted]) + "\n")
    result = run("update", "songs.sdgs", "weighted.csv", "--weight-column", "weight")
    assert result.exit_code == 0, result.output
    test = read(songs / "test.csv", labels=["is_*"], drop=["id", "title"])
    model._update_by_matrix(test.X, csr_array(test.Y), (), weight.astype(float))
    updated = sdgs.load(tmp_path / "songs.sdgs")
    np.testing.assert_array_equal(updated.predict_proba(test.X), model.predict_proba(test.X))
    assert (
        "should be a column of weights"
        in run("update", "songs.sdgs", "weighted.csv", "--weight-column", "other").stderr
    )
