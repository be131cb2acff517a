"""`sdgs info`: a description of a data set or model, and the next command."""

import json
import re
import shlex

import numpy as np

import sdgs
from sdgs.datasets import read


def test_info(run, songs):
    result = run("info", songs / "train.csv", "--labels", "is_*")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "train.csv: 100 samples, 8 columns, 3 labels" in text
    assert "id drop an identifier: every value is different" in text
    assert "is_[odd]" in text
    assert text.endswith("'--labels=is_*'")
    content = json.loads(run("info", songs / "train.arff", "--json").stdout)
    truth = read(songs / "train.csv", labels=["is_*"])
    assert content["label_counts"] == dict(zip(truth.label_names, truth.Y.sum(axis=0).tolist(), strict=True))
    assert (content["samples"], content["features"], content["missing_share"]) == (100, 6, 0)
    assert sum(content["samples_by_number_of_labels"].values()) == 100


def test_info_guesses_labels_and_finds_counters(run, tmp_path):
    rows = "".join(f"{i},{i / 3},{i % 2},{(i + 1) % 2}\n" for i in range(20))
    (tmp_path / "data.csv").write_text("number,x,is_a,is_b\n" + rows)
    result = run("info", "data.csv")
    assert result.exit_code == 0
    assert "2 columns hold only 0 and 1, so they may be labels: is_a, is_b" in result.stdout
    assert result.stdout.endswith("Next: sdgs info data.csv --drop=number '--labels=is_*'\n")
    assert result.stderr.strip() == "Note: number only numbers the samples. Drop it: --drop number"
    content = json.loads(run("info", "data.csv", "--json").stdout)
    assert content["may_be_labels"] == {"columns": ["is_a", "is_b"], "lists": []}
    result = run("fit", "data.csv")
    assert result.exit_code == 1
    assert "which columns are labels?" in result.stderr


def test_a_table_on_standard_input_needs_labels(run, songs):
    """It can be read only once, so labels cannot be guessed first."""
    table = (songs / "train.csv").read_bytes()
    result = run("info", "-", "--format", "csv", input=table)
    assert "standard input: which columns are labels?" in result.stderr
    assert "100 samples, 8 columns, 3 labels" in run("info", "-", "-f", "csv", "-l", "is_*", input=table).stdout


def test_the_command_that_info_prints_next_works(run, tmp_path):
    """Step by step, with the given options, and with names that contain special characters of shells and options."""
    rng = np.random.default_rng(0)
    names = ["a, b", "it's", "c*", "e", "f", "g", "h"]
    rows = [f"{i}\tq{i}\t{rng.random():.2f}\t" + "\t".join(map(str, rng.integers(2, size=7))) for i in range(40)]
    (tmp_path / "data").write_text("\n".join(["\t".join(["n", "id", "x", *names]), *rows]))
    output = run("info", "data", "--format", "tsv", "--drop", "id").stdout
    for command in ("info", "fit"):
        (next_command,) = re.findall("Next: sdgs (.*)", output)
        arguments = shlex.split(next_command)
        assert arguments[:2] == [command, "data"]
        assert "--drop=id,n" in arguments
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        output = result.stdout
    assert sdgs.load("data.sdgs").label_names_ == tuple(names)


def test_info_of_a_model(run, songs):
    assert "3 labels" in run("info", songs / "songs.sdgs").stdout
    content = json.loads(run("info", songs / "songs.sdgs", "--json").stdout)
    assert content["feature_names"] == [f"f{j}" for j in range(6)]
    assert content["labels"] == ["is_calm", "is_sad", "is_[odd]"]


def test_one_sample(run, tmp_path):
    (tmp_path / "one.csv").write_text("name,amount,kind\nsome words,3.5,a\n")
    result = run("info", "one.csv", "--label-column", "kind")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "one.csv: 1 sample, 2 columns" in text
    assert "name text some words amount number 3.5" in text
    content = json.loads(run("info", "one.csv", "--json").stdout)
    assert content["columns"]["amount"] == {"read_as": "number"}
    result = run("fit", "one.csv", "--label-column", "kind")
    assert result.exit_code == 1
    assert "the file has 1 sample with known labels; a model needs at least 2" in result.stderr


def test_what_is_no_table_or_no_pattern(run, songs, tmp_path):
    (tmp_path / "bytes.csv").write_bytes(bytes(range(1, 9)) * 4 + bytes(range(128, 256)))
    assert "bytes.csv: not a text file" in run("info", "bytes.csv").stderr
    assert "no column matches 'has_*'" in run("info", songs / "train.csv", "--labels", "has_*").stderr


def test_a_model_names_its_columns(run, songs):
    result = run("info", songs / "songs.sdgs")
    assert "Columns that a file must have: f0, f1, f2, f3, f4, f5" in result.stdout
