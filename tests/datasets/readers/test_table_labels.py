"""Which columns of a table are labels, and columns that list them."""

import json

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdgs.datasets import DataFileError, read, read_blocks, read_table

NAN = np.nan
LISTS = 'id,x,kinds\na1,1,"sad; calm"\na2,2,\na3,3,NA\na4,4,sad\n'


@pytest.mark.parametrize("mark", [";", "|", ","])
def test_one_column_that_lists_labels(write_file, mark):
    path = write_file(LISTS.replace(";", mark))
    data = read(path, label_column="kinds")
    assert (data.feature_names, data.label_names) == (("x",), ("calm", "sad"))
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [NAN, NAN], [0, 1]])
    options = {"labels": ["sad", "calm"], "with_labels": True, "label_column": "kinds", "keep": ["i*"]}
    (block,) = read_blocks(path, features=["x"], **options)
    np.testing.assert_array_equal(block.Y, [[1, 1], [0, 0], [NAN, NAN], [1, 0]])
    assert block.kept == {"id": ["a1", "a2", "a3", "a4"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": "kind"}, "no column is named 'kind', which should be a column that lists labels. Similar"),
        ({"label_column": "*"}, "one column must list the labels, but '\\*' matches 'id', 'x', 'kinds'"),
        ({"label_column": "kinds", "labels": ["x"]}, "or the column that lists them, not both"),
        ({"label_column": "kinds", "drop": ["kinds"]}, "cannot be both a label and dropped"),
        ({"label_column": "kinds", "format": "svmlight"}, "A column that lists labels needs a table"),
    ],
)
def test_mistakes_with_lists_of_labels(write_file, options, message):
    with pytest.raises(DataFileError, match=message):
        read(write_file(LISTS), **options)
    with pytest.raises(DataFileError, match="the column 'kinds' lists no labels"):
        read(write_file("x,kinds\n1,\n"), label_column="kinds")
    with pytest.raises(DataFileError, match="Keeping columns needs a table"):
        next(read_blocks(write_file("", "data.svm"), features=["1"], keep=["id"]))


@pytest.mark.parametrize("cells", [[1, 2], [["a"], ["b", None]], [{"a": 1}, None]], ids=str)
def test_a_parquet_column_that_lists_no_names(tmp_path, cells):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": [1, 2], "kinds": cells}), path)
    options = {"label_column": "kinds", "labels": ["a"], "features": ["x"], "with_labels": True}
    for use in (lambda: read(path, label_column="kinds"), lambda: list(read_blocks(path, **options))):
        with pytest.raises(DataFileError, match=r"column 'kinds': .* neither text nor a list of names"):
            use()


def test_an_empty_cell_lists_no_labels_in_every_format(tmp_path):
    cells = ["sad;calm", None, "?", "sad"]
    rows = list(zip(range(4), cells, strict=True))
    book = openpyxl.Workbook()
    for row in [("x", "kinds"), *rows]:
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    pq.write_table(pa.table({"x": range(4), "kinds": cells}), tmp_path / "data.parquet")
    (tmp_path / "data.csv").write_text("x,kinds\n" + "".join(f"{x},{cell or ''}\n" for x, cell in rows))
    lines = [json.dumps({"x": x, "kinds": cell}) for x, cell in rows]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    options = {"labels": ["calm", "sad"], "with_labels": True, "label_column": "kinds", "features": ["x"]}
    for name in ("data.xlsx", "data.parquet", "data.csv", "data.jsonl"):
        (block,) = read_blocks(tmp_path / name, **options)
        for Y in (block.Y, read_table(tmp_path / name, label_column="kinds").Y):
            np.testing.assert_array_equal(Y, [[1, 1], [0, 0], [NAN, NAN], [0, 1]], err_msg=name)


def test_lists_of_labels_in_parquet(tmp_path):
    lists = pa.array([["sad", "calm"], [], None, ["sad"]])
    pq.write_table(pa.table({"x": [1, 2, 3, 4], "n": [1, None, 3, 4], "kinds": lists}), tmp_path / "data.parquet")
    data = read(tmp_path / "data.parquet", label_column="kinds")
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [0, 0], [0, 1]])
    (block,) = read_blocks(tmp_path / "data.parquet", features=["x"], label_column="kinds", keep=["n", "x"])
    assert block.kept == {"n": ["1", "", "3", "4"], "x": ["1", "2", "3", "4"]}
