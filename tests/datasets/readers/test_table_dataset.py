"""Which columns of a table are features, labels, or neither."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdgs.datasets import DataFileError, read, read_blocks
from sdgs.datasets.readers._csv_parquet import open_table
from sdgs.datasets.readers._table_dataset import table_dataset

NAN = np.nan
LISTS = 'id,x,kinds\na1,1,"sad; calm"\na2,2,\na3,3,NA\na4,4,sad\n'


def test_cells_that_only_look_like_numbers(write_file):
    text = "month,word,none,,l\n2021_03,x,,1,1\n2021_04,y,?,2,0\n"
    data = read(write_file("keep," + text.replace("\n20", "\n1,20")), labels=["l"])
    assert data.feature_names == ("keep",)
    assert dict(data.dropped) == {
        "month": "'2021_03' in line 2 is not a number",
        "word": "'x' in line 2 is not a number",
        "none": "it is empty",
        "": "an index, because it has no name",
    }


def test_a_wrong_cell_in_a_later_block(write_file):
    text = "x,t,l\n" + "1,2,1\n" * 20

    def read_small_blocks(content):
        with open_table(write_file(content), "csv", None, block_bytes=9 * 16) as source:
            return table_dataset(source, ["l"], [])

    with pytest.raises(DataFileError, match="line 22, column 'x': 'oops' is not a number"):
        read_small_blocks(text + "oops,2,1\n")
    data = read_small_blocks(text + "1,a,1\n" * 10)  # too many for typing errors
    assert data.X.shape == (30, 1)
    assert data.dropped == (("t", "'a' in line 22 is not a number"),)


def test_columns_can_be_dropped(write_file):
    data = read(write_file("id,a,b,l\n1,2,3,1\n"), labels=["l"], drop=["id", "b*"])
    assert data.feature_names == ("a",)
    assert data.dropped == (("id", "dropped, as requested"), ("b", "dropped, as requested"))
    with pytest.raises(DataFileError, match="'l' cannot be both a label and dropped"):
        read(write_file("id,a,l\n1,2,1\n"), labels=["l"], drop=["l"])


def test_missing_labels(write_file):
    np.testing.assert_array_equal(read(write_file("x,l\n1,\n2,1\n"), labels=["l"]).Y, [[NAN], [1]])
    assert read(write_file("x,l\n1,\n2,?\n"), labels=["l"]).Y is None
    assert read(write_file("x,l\n1,1\n"), labels=[]).feature_names == ("x", "l")


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
        ({"label_column": "kinds", "format": "svmlight"}, "A column that lists labels needs CSV or Parquet"),
    ],
)
def test_mistakes_with_lists_of_labels(write_file, options, message):
    with pytest.raises(DataFileError, match=message):
        read(write_file(LISTS), **options)
    with pytest.raises(DataFileError, match="the column 'kinds' lists no labels"):
        read(write_file("x,kinds\n1,\n"), label_column="kinds")
    with pytest.raises(DataFileError, match="Keeping columns needs CSV or Parquet"):
        next(read_blocks(write_file("", "data.svm"), features=["1"], keep=["id"]))


@pytest.mark.parametrize("cells", [[1, 2], [["a"], ["b", None]], [{"a": 1}, None]], ids=str)
def test_a_parquet_column_that_lists_no_names(tmp_path, cells):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": [1, 2], "kinds": cells}), path)
    options = {"label_column": "kinds", "labels": ["a"], "features": ["x"], "with_labels": True}
    for use in (lambda: read(path, label_column="kinds"), lambda: list(read_blocks(path, **options))):
        with pytest.raises(DataFileError, match=r"column 'kinds': .* neither text nor a list of names"):
            use()


def test_lists_of_labels_in_parquet(tmp_path):
    lists = pa.array([["sad", "calm"], [], None, ["sad"]])
    pq.write_table(pa.table({"x": [1, 2, 3, 4], "n": [1, None, 3, 4], "kinds": lists}), tmp_path / "data.parquet")
    data = read(tmp_path / "data.parquet", label_column="kinds")
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [NAN, NAN], [0, 1]])
    (block,) = read_blocks(tmp_path / "data.parquet", features=["x"], label_column="kinds", keep=["n", "x"])
    assert block.kept == {"n": ["1", "", "3", "4"], "x": ["1", "2", "3", "4"]}
