"""`sdgs split`: files whose lines and cells are those of the original."""

import csv
import gzip
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook
from scipy.sparse import csr_array

from sdgs.datasets import read, tickets_path
from sdgs.model_selection import MultilabelStratifiedKFold, MultilabelStratifiedShuffleSplit


def expected_rows(Y, share=0.2, seed=0, groups=None):
    splitter = MultilabelStratifiedShuffleSplit(1, test_size=round(share * len(Y)), random_state=seed)
    train, test = next(splitter.split(Y, csr_array(Y), groups))
    return np.sort(train), np.sort(test)


def test_a_table_is_split_line_by_line(run, tmp_path):
    result = run("split", tickets_path(), "--label-column", "tags", "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "Wrote tickets-train.csv: 320 samples." in result.stdout
    with open(tickets_path(), newline="") as file:
        header, *records = list(csv.reader(file))
    Y = read(tickets_path(), label_column="tags", drop=["ticket"]).Y
    for name, rows in zip(("train", "test"), expected_rows(Y, seed=3), strict=True):
        with open(tmp_path / f"tickets-{name}.csv", newline="") as file:
            assert list(csv.reader(file)) == [header, *(records[row] for row in rows)]
    again = run("split", tickets_path(), "--label-column", "tags")
    assert again.exit_code == 2
    assert "tickets-train.csv exists" in again.output
    assert run("split", tickets_path(), "--label-column", "tags", "--force").exit_code == 0


def test_folds_groups_and_json(run, tmp_path):
    (tmp_path / "out").mkdir()
    arguments = ("--label-column", "tags", "--folds", 3, "--group-column", "plan", "-o", "out/t", "--json")
    result = run("split", tickets_path(), *arguments)
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert [file["file"] for file in files] == [
        f"out/t-fold{i}-{part}.csv" for i in (1, 2, 3) for part in ("train", "test")
    ]
    with open(tickets_path(), newline="") as file:
        plans = [record["plan"] for record in csv.DictReader(file)]
    Y = csr_array(read(tickets_path(), label_column="tags", drop=["ticket"]).Y)
    for i, (train, test) in enumerate(MultilabelStratifiedKFold(3, random_state=0).split(Y, Y, plans), 1):
        for part, rows in (("train", train), ("test", test)):
            with open(tmp_path / "out" / f"t-fold{i}-{part}.csv", newline="") as file:
                assert [record["plan"] for record in csv.DictReader(file)] == [plans[row] for row in rows]
    assert sum(file["samples"] for file in files[1::2]) == 400


@pytest.mark.parametrize("name", ["test.arff", "test.svm", "test.parquet", "test.csv"])
def test_parts_have_the_samples_of_the_file(run, songs, tmp_path, name):
    options = {} if name == "test.svm" else {"labels": ["is_*"]}
    label_options = ["--labels", "is_*"] if options else []
    result = run("split", songs / name, *label_options, "--test", 0.3)
    assert result.exit_code == 0, result.output
    whole = read(songs / name, **options)
    for part, rows in zip(("train", "test"), expected_rows(whole.Y, 0.3), strict=True):
        data = read(tmp_path / name.replace("test.", f"test-{part}."), **options)
        X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        X_whole = whole.X.toarray() if hasattr(whole.X, "toarray") else whole.X
        np.testing.assert_array_equal(X, X_whole[rows][:, : X.shape[1]])
        np.testing.assert_array_equal(data.Y, whole.Y[rows][:, : data.Y.shape[1]])
    if name == "test.parquet":
        assert pq.read_schema(tmp_path / "test-train.parquet").equals(pq.read_schema(songs / name))


def test_lines_stay_as_they_are(run, tmp_path):
    rows = [f'{i};"a; {i}";1,50 €; {"x|y" if i % 2 else "?" if i % 4 else ""}' for i in range(20)]
    text = "\n".join(["", " id ;text;;tags ", *rows[:7], "", *rows[7:]])
    (tmp_path / "odd.csv.gz").write_bytes(gzip.compress(text.encode("windows-1252")))
    result = run("split", "odd.csv.gz", "--label-column", "tags", "--test", 0.25)
    assert result.exit_code == 0, result.output
    lines = [(tmp_path / f"odd-{part}.csv").read_text().splitlines() for part in ("train", "test")]
    assert [len(part) for part in lines] == [16, 6]
    assert lines[0][0] == lines[1][0] == " id ;text;;tags "
    assert sorted(lines[0][1:] + lines[1][1:]) == sorted(rows)
    objects = [json.dumps({"id": i, "tags": ["x"] * (i % 2), "more": {"a": [1, i]}}) for i in range(10)]
    (tmp_path / "data.jsonl").write_text("\n\n".join(objects))
    assert run("split", "data.jsonl", "--label-column", "tags", "--test", 0.4).exit_code == 0
    lines = [(tmp_path / f"data-{part}.jsonl").read_text().splitlines() for part in ("train", "test")]
    assert [len(part) for part in lines] == [6, 4]
    assert [line for line in objects if line in lines[1]] == lines[1]
    assert sorted(lines[0] + lines[1]) == sorted(objects)


def test_comments_are_no_samples(run, tmp_path):
    lines = [f"{i % 2} 1:{i + 1} # sample {i}" for i in range(10)]
    (tmp_path / "data.svm").write_text("# a comment\n\n" + "\n# another\n".join(lines))
    assert run("split", "data.svm", "--test", 0.4).exit_code == 0
    assert len((tmp_path / "data-test.svm").read_text().splitlines()) == 4
    parts = [read(tmp_path / f"data-{part}.svm") for part in ("train", "test")]
    for part in parts:
        np.testing.assert_array_equal(part.Y[:, 1], (part.X.toarray().ravel() + 1) % 2)
    header = "@relation 'r: -C 1' % why\n@attribute a {0,1}\n@attribute x numeric\n% more\n@DATA % rows\n"
    rows = [f"{i % 2},{i}" for i in range(10)]
    (tmp_path / "data.arff").write_text(header + "\n  % between\n".join(rows))
    assert run("split", "data.arff", "--test", 0.4).exit_code == 0
    texts = [(tmp_path / f"data-{part}.arff").read_text() for part in ("train", "test")]
    assert all(text.startswith(header) for text in texts)
    assert sorted(texts[0][len(header) :].split() + texts[1][len(header) :].split()) == sorted(rows)


def test_excel_is_written_as_csv(run, tmp_path):
    workbook = Workbook()
    for row in [["n", "a"], *([i / 2, i % 2] for i in range(10))]:
        workbook.active.append(row)
    workbook.save(tmp_path / "sheet.xlsx")
    result = run("split", "sheet.xlsx", "--labels", "a")
    assert "Excel files are written as CSV" in result.output
    parts = [read(tmp_path / f"sheet-{part}.csv", labels=["a"]) for part in ("train", "test")]
    assert sorted(np.concatenate([part.X.ravel() for part in parts])) == [i / 2 for i in range(10)]
    assert [part.Y.mean() for part in parts] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tickets.csv", "--label-column", "tags", "--test", "20"], "For 20 % give 0.2."),
        (["tickets.csv", "--label-column", "tags", "--test", "0.2", "--folds", "2"], "not both"),
        (["tickets.csv", "--label-column", "tags", "--folds", "900"], "fewer than the 900 parts"),
        (["tickets.csv", "--label-column", "tags", "--group-column", "one"], "1 groups, which is fewer"),
        (["tickets.csv", "--label-column", "tags", "--group-column", "none"], "no column is named 'none'"),
        (["tickets.csv", "--label-column", "tags", "-o", "nowhere/x"], "the folder nowhere does not exist"),
        (["tickets.csv"], "which columns are labels?"),
        (["-", "--format", "csv"], "needs a file"),
        (["empty.csv", "--labels", "a"], "nothing to stratify by"),
        (["test.svm", "--group-column", "x"], "A column of groups needs a table"),
    ],
)
def test_errors(run, tmp_path, arguments, message):
    lines = tickets_path().read_text().splitlines()[:40]
    (tmp_path / "tickets.csv").write_text("\n".join([f"{lines[0]},one", *(f"{line},1" for line in lines[1:])]))
    (tmp_path / "empty.csv").write_text("x,a\n1,\n2,\n")
    (tmp_path / "test.svm").write_text("0 1:1\n1 1:2\n")
    result = run("split", *arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())
    assert not list(tmp_path.glob("*-t*"))
