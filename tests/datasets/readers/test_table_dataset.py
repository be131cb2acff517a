"""Which columns of a table are features, labels, or neither."""

import numpy as np
import pytest

from sdgs.datasets import DataFileError, read
from sdgs.datasets.readers._open_table import open_table
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
