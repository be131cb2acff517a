"""CSV and Parquet tables: cells, columns, delimiters, encodings, and errors with their line."""

import csv
import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdgs.datasets import DataFileError, read, read_blocks, read_table

SONGS = """id,title,tempo,loud,is_calm,is_sad
a1,One,90,0.5,yes,0
a2,"Two, or
three",,-1e3,no,1
a3,Four,NA,true,no,0
"""

NAN = np.nan


def test_columns_of_a_csv_file(write_file):
    data = read(write_file(SONGS), labels=["is_*"])
    assert (data.feature_names, data.label_names) == (("tempo", "loud"), ("is_calm", "is_sad"))
    np.testing.assert_array_equal(data.X, [[90, 0.5], [NAN, -1000], [NAN, 1]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0]])
    assert data.Y.dtype == np.int8
    assert dict(data.dropped) == {
        "id": "'a1' in line 2 is not a number",
        "title": "'One' in line 2 is not a number",
    }
    assert data.name == "data.csv"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_delimiters_line_ends_and_encodings(write_file, delimiter, ends, encoding):
    text = ends.join(["Größe,straße,n,l", '1.5,"3",1,1', "", '" 2 ",4,,0']).replace(",", delimiter)
    data = read(write_file(text.encode(encoding)), labels=["l"])
    assert data.feature_names == ("Größe", "straße", "n")
    np.testing.assert_array_equal(data.X, [[1.5, 3, 1], [2, 4, NAN]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        ("", ["l"], r"data\.csv: the file is empty"),
        ("\n\n \n", ["l"], "the file is empty"),
        ("x,l\n", ["l"], "no rows below the names"),
        ("x,l\n1,1\n2\n", ["l"], r"data\.csv, line 3: 1 cells, but the first line has 2 names"),
        ("x,l\n1,1\n\n\n2,1,\n", ["l"], "line 5: 3 cells"),
        ('\n\nx,l\n"a\nb",1\n2\n', ["l"], "line 6: 1 cells"),
        ("x,l,x\n1,1,2\n", ["l"], "two columns are named 'x'. Rename one"),
        ("x,l\n1,maybe\n", ["l"], r"line 2, column 'l': 'maybe' is neither 0 nor 1"),
        ("x,l\n1,1\n1,2\n", ["l"], r"line 3, column 'l': '2' is neither"),
        ("x,l\n1,1\n", ["k"], "no column is named 'k', which should be a label"),
        ("x,Calm\n1,1\n", ["calm"], "Similar: 'Calm'"),
        ("x,is_calm,is_kalm\n1,1,1\n", ["is_calmm"], "Similar: 'is_calm', 'is_kalm'"),
        ("x,l\n1,1\n", ["m_*"], r"no column matches 'm_\*'.*The columns are 'x', 'l'"),
        ("x,l\n1,1\n", None, r"which columns are labels\? .*--labels.*only 0 and 1, or yes and no: 'x', 'l'"),
        ("x,l\n1.5,3\n", None, "The columns are 'x', 'l'"),
        ("l\n1\n", ["l"], "no column is left as a feature"),
        ("x,l\n'0,5',1\n", ["l"], "line 2: 3 cells"),
        ("x;l\n0,5;1\n", ["l"], "column 'x': '0,5' is a number with a decimal comma, .* Save the file with decimal"),
        ("x y l\n1 a 1\n", [], "only one column, named 'x y l'. Separate columns by a comma, a semicolon"),
        ("x y l\n1 2  1\n", ["l"], r"columns are separated by spaces. .* tr -s ' ' ','"),
        ("1 0.5\n2 0.7\n", ["l"], "columns are separated by spaces"),
        ("3,2,low,high\n5.1,3.5,1.4,0.2,0\n", ["low"], "line 2: 5 cells, .* one cell per name"),
        ("1,0.5,1\n2,0.7,0\n", ["1"], "the first line has numbers instead of the names of the columns"),
        (
            "x,l\n1,1\ninf,1\n",
            ["l"],
            "line 3, column 'x': 'inf' is infinite, .* Correct it, or leave it empty .*--drop",
        ),
        ("x,l\n" + "1,1\n" * 12 + "l0,1\n", ["l"], "line 14, column 'x': 'l0' is not a number, but the other"),
        ("x,is_l,is_m\n1,1,1\n", ["is"], r"no column is named 'is', .* start with it: 'is\*' matches them"),
        ('x,l\n"1"2,1\n', ["l"], "line 2: not valid CSV"),
        ('x,l\n1,1\n"2,1\n3,1\n', ["l"], r"line 3: not valid CSV \(unexpected end of data"),
        (b"\xff\xfex\x00,\x00l\x00\n\x00\x00\xd8\n\x00", ["l"], "not text"),
        (b"\x1f\x8b garbage", ["l"], "cannot be read"),
        (gzip.compress(SONGS.encode(), mtime=0)[:-30], ["is_sad"], "cannot be read"),
    ],
)
def test_a_broken_table_gives_one_error(write_file, content, labels, message):
    with pytest.raises(DataFileError, match=message):
        read(write_file(content), labels=labels)


def test_increasing_numbers_are_names_and_not_data(write_file):
    """Such as pixels and wavelengths."""
    assert read(write_file("0,1,2,l\n5,6,7,1\n"), labels=["l"]).feature_names == ("0", "1", "2")
    assert read(write_file("400.5,401,l\n5,6,1\n"), labels=["l"]).feature_names == ("400.5", "401")


@pytest.mark.parametrize(
    ("first", "noted"),
    [("150,4,setosa,virginica,x", True), ("1,2,a,b,c", False), ("country,a,b,2020,2019", True), ("5,a,b,c,d", False)],
)
def test_a_first_line_that_may_be_no_header_is_noted(first, noted, write_file):
    notes = read_table(write_file(f"{first}\n5.1,3.5,1.4,0.2,0\n"), labels=[]).notes
    assert any("is taken for the names of the columns: " in note for note in notes) is noted


def test_long_fields(write_file):
    text = "x" * 1_000_000
    limit = csv.field_size_limit()
    assert read(write_file(f"t,x,l\n{text},1,1\n"), labels=["l"]).dropped[0][1].startswith("'xxx")
    assert csv.field_size_limit() == limit
    with pytest.raises(DataFileError, match=r"line 2: not valid CSV .*field larger than"):
        read(write_file(f"t,x,l\n{text * 17},1,1\n"), labels=["l"])
    with pytest.raises(DataFileError, match=r"larger than 1000 bytes .* pass max_bytes=None"):
        read(write_file("x,l\n" + "1,1\n" * 1000), labels=["l"], max_bytes=1000)


def test_parquet(tmp_path):
    path = tmp_path / "data.parquet"
    table = pa.table(
        {
            "small": pa.array([1, None, 3], pa.int8()),
            "float": pa.array([0.5, NAN, 2], pa.float32()),
            "flag": [True, False, None],
            "word": ["a", "b", None],
            "coded": pa.array(["1", "2", "3"]).dictionary_encode(),
            "when": pa.array([1, 2, 3], pa.timestamp("s")),
            "nothing": pa.nulls(3),
            "first": [True, False, True],
            "second": ["yes", "no", "no"],
        }
    )
    pq.write_table(table, path)
    data = read(path, labels=["second", "first"])
    assert data.feature_names == ("small", "float", "flag", "coded")
    np.testing.assert_array_equal(data.X, [[1, 0.5, 1, 1], [NAN, NAN, 0, 2], [3, 2, NAN, 3]])
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [0, 1]])
    assert [name for name, _ in data.dropped] == ["word", "when", "nothing"]
    with pytest.warns(UserWarning, match="columns that the model does not know are ignored: 'small'"):
        (block,) = read_blocks(path, features=["coded", "float"], labels=["first"], with_labels=True)
    np.testing.assert_array_equal(block.X, [[1, 0.5], [2, NAN], [3, 2]])
    np.testing.assert_array_equal(block.Y, [[1], [0], [1]])
    with pytest.raises(DataFileError, match="line 3, column 'small': '3' is neither 0 nor 1"):
        read(path, labels=["small"])
    path.write_bytes(b"PAR1 this is not it")
    with pytest.raises(DataFileError, match="cannot be read as Parquet"):
        read(path, labels=["first"])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # so that importing it fails
    (tmp_path / "data.parquet").touch()
    with pytest.raises(DataFileError, match=r"pip install 'sdgs\[parquet\]'"):
        read(tmp_path / "data.parquet", labels=["l"])
