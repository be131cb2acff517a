"""One reader for all formats, whole and by blocks: what a file says comes out, by name, and mistakes say where."""

import bz2
import contextlib
import csv
import gzip
import io
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.datasets import dump_svmlight_file

from sdgs.datasets import DataFileError, LabelGuess, guess_labels, load, load_svmlight, read, read_blocks

SONGS = """id,title,tempo,loud,is_calm,is_sad
a1,One,90,0.5,yes,0
a2,"Two, or
three",,-1e3,no,1
a3,Four,NA,true,no,0
"""
NAN = np.nan


@pytest.fixture
def csv_file(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_columns_of_a_csv_file(csv_file):
    data = read(csv_file(SONGS), labels=["is_*"])
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
def test_ways_to_write_the_same(csv_file, delimiter, ends, encoding):
    text = ends.join(["Größe,straße,n,l", '1.5,"3",1,1', "", '" 2 ",4,,0']).replace(",", delimiter)
    data = read(csv_file(text.encode(encoding)), labels=["l"])
    assert data.feature_names == ("Größe", "straße", "n")
    np.testing.assert_array_equal(data.X, [[1.5, 3, 1], [2, 4, NAN]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_by_content_and_not_by_name(csv_file, compress):
    expected = read(csv_file(SONGS), labels=["is_*"]).X
    np.testing.assert_array_equal(read(csv_file(compress(SONGS.encode())), labels=["is_*"]).X, expected)
    np.testing.assert_array_equal(read(csv_file(SONGS, "data.csv.gz"), labels=["is_*"]).X, expected)


def test_no_such_file(tmp_path):
    with pytest.raises(DataFileError, match=r"data\.csv: there is no such file"):
        read(tmp_path / "data.csv")
    with pytest.raises(DataFileError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(DataFileError, match="cannot be read"):
        load_svmlight(tmp_path / "data.svm")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SONGS.encode())))
    assert read("-", labels=["is_*"], format="csv").X.shape == (3, 2)
    assert not sys.stdin.buffer.closed
    for kind in ("arff", "parquet"):
        with pytest.raises(DataFileError, match=r"cannot be read from standard input\. Name a file"):
            read("-", labels=["x"], format=kind)
    with pytest.raises(DataFileError, match=r"standard input: the name does not say the format.*--format"):
        read("-")


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        ("", ["l"], r"data\.csv: the file is empty"),
        ("\n\n \n", ["l"], "the file is empty"),
        ("x,l\n", ["l"], "no rows below the names"),
        ("x,l\n1,1\n2\n", ["l"], r"data\.csv, line 3: 1 cells, where the first line has 2 names"),
        ("x,l\n1,1\n\n\n2,1,\n", ["l"], "line 5: 3 cells"),
        ('\n\nx,l\n"a\nb",1\n2\n', ["l"], "line 6: 1 cells"),
        ("x,l,x\n1,1,2\n", ["l"], "two columns are named 'x'. Rename one"),
        ("x,l\n1,maybe\n", ["l"], r"line 2, column 'l': 'maybe' is neither 0 nor 1"),
        ("x,l\n1,1\n1,2\n", ["l"], r"line 3, column 'l': '2' is neither"),
        ("x,l\n1,1\n", ["k"], "no column is named 'k', which should be a label"),
        ("x,Calm\n1,1\n", ["calm"], "Near it: 'Calm'"),
        ("x,is_calm,is_kalm\n1,1,1\n", ["is_calmm"], "Near it: 'is_calm', 'is_kalm'"),
        ("x,l\n1,1\n", ["m_*"], r"no column is named 'm_\*'.*The columns are 'x', 'l'"),
        ("x,l\n1,1\n", None, r"which columns are labels\? .*--labels.*only 0 and 1, or yes and no: 'x', 'l'"),
        ("x,l\n1.5,3\n", None, "They are 'x', 'l'"),
        ("l\n1\n", ["l"], "no column is left as a feature"),
        ("x,l\n'0,5',1\n", ["l"], "line 2: 3 cells"),
        ("x;l\n0,5;1\n", ["l"], "column 'x': '0,5' is a number with a decimal comma, .* Save the file with decimal"),
        ("x y l\n1 2 1\n", [], "only one column, named 'x y l'. Columns must have a comma, a semicolon"),
        ("1,0.5,1\n2,0.7,0\n", ["1"], "the first line has numbers, where the names of the columns should be"),
        ("x,l\n1,1\ninf,1\n", ["l"], "line 3, column 'x': 'inf' is infinite, .* Mend it, or leave it empty .*--drop"),
        ("x,l\n" + "1,1\n" * 12 + "l0,1\n", ["l"], "line 14, column 'x': 'l0' is not a number, and other"),
        ("x,is_l,is_m\n1,1,1\n", ["is"], r"no column is named 'is', .* begin with it: 'is\*' means them all"),
        ('x,l\n"1"2,1\n', ["l"], "line 2: not as CSV should be"),
        ('x,l\n1,1\n"2,1\n3,1\n', ["l"], r"line 3: not as CSV should be \(unexpected end of data"),
        (b"\xff\xfex\x00,\x00l\x00\n\x00\x00\xd8\n\x00", ["l"], "not text"),
        (b"\x1f\x8b garbage", ["l"], "cannot be read"),
        (gzip.compress(SONGS.encode(), mtime=0)[:-30], ["is_sad"], "cannot be read"),
    ],
)
def test_a_broken_table_gives_one_error(csv_file, content, labels, message):
    with pytest.raises(DataFileError, match=message):
        read(csv_file(content), labels=labels)


def test_cells_that_only_look_like_numbers(csv_file):
    text = "month,word,none,,l\n2021_03,x,,1,1\n2021_04,y,?,2,0\n"
    data = read(csv_file("keep," + text.replace("\n20", "\n1,20")), labels=["l"])
    assert data.feature_names == ("keep",)
    assert dict(data.dropped) == {
        "month": "'2021_03' in line 2 is not a number",
        "word": "'x' in line 2 is not a number",
        "none": "it is empty",
        "": "it has no name, so an index",
    }


def test_names_that_are_numbers(csv_file):
    """Pixels and wavelengths go up, and no row of data does."""
    assert read(csv_file("0,1,2,l\n5,6,7,1\n"), labels=["l"]).feature_names == ("0", "1", "2")
    assert read(csv_file("400.5,401,l\n5,6,1\n"), labels=["l"]).feature_names == ("400.5", "401")


def test_a_cell_that_is_wrong_in_a_later_block(csv_file, monkeypatch):
    monkeypatch.setattr("sdgs.datasets.readers._csv_parquet._BLOCK_CELLS", 9)
    text = "x,t,l\n" + "1,2,1\n" * 20
    with pytest.raises(DataFileError, match="line 22, column 'x': 'oops' is not a number"):
        read(csv_file(text + "oops,2,1\n"), labels=["l"])
    data = read(csv_file(text + "1,a,1\n" * 10), labels=["l"])  # too many to be slips
    assert data.dropped == (("t", "'a' in line 22 is not a number"),)


LISTS = 'id,x,kinds\na1,1,"sad; calm"\na2,2,\na3,3,NA\na4,4,sad\n'


@pytest.mark.parametrize("mark", [";", "|", ","])
def test_one_column_that_lists_labels(csv_file, mark):
    path = csv_file(LISTS.replace(";", mark))
    data = read(path, label_column="kinds")
    assert (data.feature_names, data.label_names) == (("x",), ("calm", "sad"))
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [NAN, NAN], [0, 1]])
    options = {"labels": ["sad", "calm"], "with_labels": True, "label_column": "kinds", "keep": ["i*"]}
    (block,) = read_blocks(path, features=["x"], **options)
    np.testing.assert_array_equal(block.Y, [[1, 1], [0, 0], [NAN, NAN], [1, 0]])
    assert block.kept == {"id": ["a1", "a2", "a3", "a4"]}


def test_lists_of_labels_in_parquet(tmp_path):
    lists = pa.array([["sad", "calm"], [], None, ["sad"]])
    pq.write_table(pa.table({"x": [1, 2, 3, 4], "n": [1, None, 3, 4], "kinds": lists}), tmp_path / "data.parquet")
    data = read(tmp_path / "data.parquet", label_column="kinds")
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [NAN, NAN], [0, 1]])
    (block,) = read_blocks(tmp_path / "data.parquet", features=["x"], label_column="kinds", keep=["n", "x"])
    assert block.kept == {"n": ["1", "", "3", "4"], "x": ["1", "2", "3", "4"]}


def test_listed_labels_that_a_model_knows(csv_file):
    """A comma that is part of a name does not separate; others are left out with a warning."""
    path = csv_file('x,kinds\n1,"a, b;c"\n2,"a, b"\n3,d;c\n')
    assert read(path, label_column="kinds").label_names == ("a, b", "c", "d")
    with pytest.warns(UserWarning, match="labels left out, for the model does not know them: 'd'"):
        (block,) = read_blocks(path, features=["x"], labels=["a, b", "c"], with_labels=True, label_column="kinds")
    np.testing.assert_array_equal(block.Y, [[1, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": "kind"}, "no column is named 'kind', which should be a column that lists labels. Near it"),
        ({"label_column": "*"}, "one column lists the labels, but '\\*' means 'id', 'x', 'kinds'"),
        ({"label_column": "kinds", "labels": ["x"]}, "or the one that lists them, not both"),
        ({"label_column": "kinds", "drop": ["kinds"]}, "cannot be a label and be left out"),
        ({"label_column": "kinds", "format": "svmlight"}, "A column that lists labels needs CSV or Parquet"),
    ],
)
def test_mistakes_with_lists_of_labels(csv_file, options, message):
    with pytest.raises(DataFileError, match=message):
        read(csv_file(LISTS), **options)
    with pytest.raises(DataFileError, match="the column 'kinds' lists no labels"):
        read(csv_file("x,kinds\n1,\n"), label_column="kinds")
    with pytest.raises(DataFileError, match="To keep columns needs CSV or Parquet"):
        next(read_blocks(csv_file("", "data.svm"), features=["1"], keep=["id"]))


def test_what_may_be_labels(csv_file):
    rows = "".join(f"t{i},{i},{i % 2},{i % 3},{i % 2},yes,Song {i},a{';b' * (i % 2)}\n" for i in range(9))
    guess = guess_labels(csv_file("id,x,w_1,w_2,is_b,is_[c],title,kinds\n" + rows))
    assert guess.columns == ("is_b", "is_[c]")  # w_1 never is 2, but belongs to w_2
    assert guess.chosen_by == ("is_*",)
    assert guess.lists == ("kinds",)
    assert guess_labels(csv_file("x,a,is_b\n3,1,0\n")).chosen_by == ("a", "is_b")
    assert guess_labels(csv_file("x,a,b\n3,1,0\n")).chosen_by == ("a", "b")
    kinds = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9))
    assert guess_labels(csv_file("x,kind\n" + kinds)).lists == ("kind",)
    assert guess_labels(csv_file("1 1:2\n", "data.svm")) == LabelGuess()
    with pytest.raises(DataFileError, match="there is only one column, named 'x y'"):
        next(read_blocks(csv_file("x y\n1 2\n"), features=["x", "y"]))


def test_long_fields(csv_file):
    text = "x" * 1_000_000
    limit = csv.field_size_limit()
    assert read(csv_file(f"t,x,l\n{text},1,1\n"), labels=["l"]).dropped[0][1].startswith("'xxx")
    assert csv.field_size_limit() == limit
    with pytest.raises(DataFileError, match=r"line 2: not as CSV should be .*field larger than"):
        read(csv_file(f"t,x,l\n{text * 17},1,1\n"), labels=["l"])
    with pytest.raises(DataFileError, match="over 1000 characters; pass max_bytes=None"):
        read(csv_file("x,l\n" + "1,1\n" * 1000), labels=["l"], max_bytes=1000)


def test_columns_may_be_left_out(csv_file):
    data = read(csv_file("id,a,b,l\n1,2,3,1\n"), labels=["l"], drop=["id", "b*"])
    assert data.feature_names == ("a",)
    assert data.dropped == (("id", "left out, as asked for"), ("b", "left out, as asked for"))
    with pytest.raises(DataFileError, match="'l' cannot be a label and be left out"):
        read(csv_file("id,a,l\n1,2,1\n"), labels=["l"], drop=["l"])


def test_missing_labels(csv_file):
    np.testing.assert_array_equal(read(csv_file("x,l\n1,\n2,1\n"), labels=["l"]).Y, [[NAN], [1]])
    assert read(csv_file("x,l\n1,\n2,?\n"), labels=["l"]).Y is None
    assert read(csv_file("x,l\n1,1\n"), labels=[]).feature_names == ("x", "l")


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
    with pytest.warns(UserWarning, match="left out, for the model does not know them: 'small'"):
        (block,) = read_blocks(path, features=["coded", "float"], labels=["first"], with_labels=True)
    np.testing.assert_array_equal(block.X, [[1, 0.5], [2, NAN], [3, 2]])
    np.testing.assert_array_equal(block.Y, [[1], [0], [1]])
    with pytest.raises(DataFileError, match="line 3, column 'small': '3' is neither 0 nor 1"):
        read(path, labels=["small"])
    path.write_bytes(b"PAR1 this is not it")
    with pytest.raises(DataFileError, match="cannot be read as Parquet"):
        read(path, labels=["first"])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("sdgs.datasets.readers._csv_parquet.find_spec", lambda _: None)
    (tmp_path / "data.parquet").touch()
    with pytest.raises(DataFileError, match=r"pip install 'sdgs\[parquet\]'"):
        read(tmp_path / "data.parquet", labels=["l"])


ARFF = """@relation {}
@attribute x numeric
@attribute c {{red,green,blue}}
@attribute l {{0,1}}
@data
1,red,1
2,blue,0
"""
XML = '<labels><label name="l"></label></labels>'


@pytest.mark.parametrize(
    ("arff", "xml"), [("a.arff", "a.xml"), ("a-b-train.arff.gz", "a-b.xml"), ("a_test.arff", "a.xml")]
)
def test_the_labels_of_an_arff_file_are_found(tmp_path, arff, xml):
    path = tmp_path / arff
    path.write_text(ARFF.format("plain"))
    with pytest.raises(DataFileError, match=r"which attributes are labels\?.*no .*\.xml beside it.*--labels"):
        read(path)
    assert read(path, labels=["l"]).label_names == ("l",)
    path.write_text(ARFF.format("'meka: -C -1'"))
    assert read(path).label_names == ("l",)
    path.write_text(ARFF.format("plain"))
    (tmp_path / xml).write_text(XML)
    assert read(path).label_names == ("l",)
    (tmp_path / "elsewhere").write_text(XML)
    data = read(path, xml=tmp_path / "elsewhere", drop=["c"])
    assert (data.feature_names, data.dropped) == (("x",), (("c", "left out, as asked for"),))
    assert data.X.shape == (2, 1)


def test_a_relation_that_speaks_of_another_file(tmp_path):
    path = tmp_path / "medical-train.arff"
    moved = "'MEDC: -C 1 -I 0-weka.filters.unsupervised.attribute.Remove-R1-45'"
    path.write_text(ARFF.format(moved))
    with pytest.raises(DataFileError, match="with attributes as they were then"):
        read(path)
    (tmp_path / "medical.xml").write_text(XML)
    assert read(path).label_names == ("l",)
    path.write_text(ARFF.format("'MEDC: -C 1'"))
    assert read(path).label_names == ("l",)


def test_the_papers_data_are_read_as_their_own_reader_does(data_home):
    for name in ("emotions", "medical", "yahoo-arts"):
        path = data_home / name / f"{name}-train.arff"
        data, known = read(path), load(name, data_home=data_home)
        assert data.label_names == known.label_names
        np.testing.assert_array_equal(data.Y, known.Y)


def test_blocks_match_columns_by_name_in_any_order(csv_file):
    path = csv_file("note,b,l2,a,l1\nx,1,0,2,1\ny,,1,4,1\n")
    with pytest.warns(UserWarning, match="left out, for the model does not know them: 'note'"):
        (block,) = read_blocks(path, features=["a", "b"], labels=["l1", "l2"], with_labels=True)
    np.testing.assert_array_equal(block.X, [[2, 1], [4, NAN]])
    np.testing.assert_array_equal(block.Y, [[1, 0], [1, 1]])
    assert block.position == path.stat().st_size
    (block,) = read_blocks(path, features=["a", "b"], labels=["l1", "l2", "note"])
    assert block.Y is None
    for options, message in [
        ({"features": ["a", "B", "c"]}, r"2 of the 3 features of the model are not there: 'B', 'c'. Near it: 'b'"),
        ({"features": ["a"], "labels": ["l3"], "with_labels": True}, "no column is named 'l3', which is a label"),
        ({"features": ["note"], "labels": ["a", "b", "l1", "l2"]}, "line 2, column 'note': 'x' is not a number"),
    ]:
        with pytest.raises(DataFileError, match=message):
            next(read_blocks(path, **options))


def test_blocks_of_arff(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(ARFF.format("plain"))
    (block,) = read_blocks(path, features=["c=blue", "x", "c=red", "c=green"], labels=["l"])
    np.testing.assert_array_equal(block.X, [[0, 1, 1, 0], [1, 2, 0, 0]])
    (block,) = read_blocks(path, features=["c=blue", "x", "c=red", "c=green"], labels=["l"], with_labels=True)
    np.testing.assert_array_equal(block.Y, [[1], [0]])
    path.write_text("@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n{0 1}\n{1 2}\n")
    (block,) = read_blocks(path, features=["y", "x"], labels=["l"])
    assert issparse(block.X)
    np.testing.assert_array_equal(block.X.toarray(), [[0, 1], [2, 0]])


@settings(deadline=None, max_examples=25)
@given(size=st.integers(16, 400), seed=st.integers(0, 1000), base=st.integers(0, 1), last=st.booleans())
def test_svmlight_by_blocks_is_svmlight_as_a_whole(tmp_path_factory, size, seed, base, last):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 7)).round(3) * (rng.uniform(size=(30, 7)) < 0.4)
    Y = rng.integers(0, 2, size=(30, 3))
    X[:, 0], Y[:, 0] = 1, 1
    buffer = io.BytesIO()
    dump_svmlight_file(X, Y, buffer, multilabel=True, zero_based=not base)
    path = tmp_path_factory.mktemp("svm", numbered=True) / "data.svm"
    path.write_bytes(buffer.getvalue() if last else buffer.getvalue().rstrip())
    names = [str(i) for i in range(base, base + 7)]
    data = read(path)
    assert data.feature_names == tuple(names[: data.X.shape[1]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdgs.datasets.readers._svmlight.BLOCK_BYTES", size)
        blocks = list(read_blocks(path, features=names, labels=["0", "1", "2"], with_labels=True))
        if size < 100:
            assert len(blocks) > 3
        np.testing.assert_array_equal(read(path).X.toarray(), data.X.toarray())
    np.testing.assert_array_equal(sparse_vstack([block.X for block in blocks]).toarray(), X)
    np.testing.assert_array_equal(sparse_vstack([block.Y for block in blocks]).toarray(), Y)
    np.testing.assert_array_equal(data.X.toarray(), X[:, : data.X.shape[1]])


def test_svmlight_numbers_are_names(csv_file):
    path = csv_file("0,0,5 1:1 9:2\n\n# note\n1:3 3:1 # more\n", "data.svm")
    with pytest.warns(UserWarning, match="left out") as notes:
        (block,) = read_blocks(path, features=["1", "2", "3"], labels=["0", "1"], with_labels=True)
    np.testing.assert_array_equal(block.X.toarray(), [[1, 0, 0], [3, 0, 1]])
    np.testing.assert_array_equal(block.Y.toarray(), [[1, 0], [0, 0]])
    assert [str(note.message).split(": ")[1] for note in notes] == [
        "feature 9 is not one of the model's. Such features are left out.",
        "label 5 is not one of the model's. Such labels are left out.",
    ]
    with pytest.raises(DataFileError, match="have numbers, but those of the model have names, such as 'tempo'"):
        next(read_blocks(path, features=["tempo"]))
    assert read(csv_file("1:3 3:1\n", "data.svm")).Y is None
    np.testing.assert_array_equal(read(csv_file("2,2 0:1\n", "data.svm")).Y, [[0, 0, 1]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1:1\n0 2:1 1:1\n", r"data\.svm, line 2: .*sorted"),
        ("0 1:1\n\n# x\n0 1:a\n", "line 4: "),
        ("0 99999999999:1\n", "line 1: "),
        ("0 1:inf\n", "infinite"),
        ("x 1:1\n", "line 1: "),
        ("-1 1:1\n", "whole numbers"),
        ("nan 1:1\n", "whole numbers"),
        ("99999999 1:1\n", "whole numbers"),
        ("", "no samples"),
        ("# only\n\n", "no samples"),
    ],
)
def test_broken_svmlight(csv_file, content, message):
    with pytest.raises(DataFileError, match=message):
        read(csv_file(content, "data.svm"))


def test_blocks_take_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("sdgs.datasets.readers._svmlight.BLOCK_BYTES", 1 << 15)
    monkeypatch.setattr("sdgs.datasets.readers._csv_parquet._BLOCK_CELLS", 1 << 12)
    lines, names = tmp_path / "data.svm", list(map(str, range(100)))
    lines.write_text(("0 " + " ".join(f"{name}:0.125" for name in names) + "\n") * 3000)
    table = tmp_path / "data.csv"
    table.write_text(",".join(names) + "\n" + (",".join(["0.125"] * 100) + "\n") * 3000)
    for path in (lines, table):
        tracemalloc.start()
        assert sum(block.X.shape[0] for block in read_blocks(path, features=names)) == 3000
        assert tracemalloc.get_traced_memory()[1] < 1_200_000  # as a dense array the samples have 2,400,000 bytes
        tracemalloc.stop()


@settings(deadline=None, max_examples=100)
@given(content=st.binary(max_size=200), prefix=st.sampled_from([b"", b"x,l\n1,1\n", b"\x1f\x8b", b"BZh9", b"\xff\xfe"]))
def test_any_bytes_give_data_or_one_error(tmp_path_factory, content, prefix):
    folder = tmp_path_factory.mktemp("any", numbered=True)
    for name in ("any.csv", "any.svm", "any.parquet"):
        path = folder / name
        path.write_bytes(prefix + content)
        with contextlib.suppress(DataFileError):
            data = read(path, labels=["l"] if name != "any.svm" else None)
            assert data.X.shape == (data.X.shape[0], len(data.feature_names))
