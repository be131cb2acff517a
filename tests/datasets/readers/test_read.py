"""One reader for all formats: which file has the labels, standard input, and files that cannot be read."""

import contextlib
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgs.datasets import DataFileError, load, read

SONGS = """id,title,tempo,loud,is_calm,is_sad
a1,One,90,0.5,yes,0
a2,"Two, or
three",,-1e3,no,1
a3,Four,NA,true,no,0
"""

ARFF = """@relation {}
@attribute x numeric
@attribute c {{red,green,blue}}
@attribute l {{0,1}}
@data
1,red,1
2,blue,0
"""

XML = '<labels><label name="l"></label></labels>'


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SONGS.encode())))
    assert read("-", labels=["is_*"], format="csv").X.shape == (3, 2)
    assert not sys.stdin.buffer.closed
    for kind in ("arff", "parquet"):
        with pytest.raises(DataFileError, match=r"cannot be read from standard input\. Name a file"):
            read("-", labels=["x"], format=kind)
    with pytest.raises(DataFileError, match=r"standard input: the format is not known from the name.*--format"):
        read("-")


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
    assert (data.feature_names, data.dropped) == (("x",), (("c", "dropped, as requested"),))
    assert data.X.shape == (2, 1)


def test_a_relation_copied_from_another_file_is_not_used(tmp_path):
    path = tmp_path / "medical-train.arff"
    moved = "'MEDC: -C 1 -I 0-weka.filters.unsupervised.attribute.Remove-R1-45'"
    path.write_text(ARFF.format(moved))
    with pytest.raises(DataFileError, match="with no attributes moved since"):
        read(path)
    (tmp_path / "medical.xml").write_text(XML)
    assert read(path).label_names == ("l",)
    path.write_text(ARFF.format("'MEDC: -C 1'"))
    assert read(path).label_names == ("l",)


def test_the_papers_data_sets_are_read_as_by_the_registry(data_home):
    for name in ("emotions", "medical", "yahoo-arts"):
        path = data_home / name / f"{name}-train.arff"
        data, expected = read(path), load(name, data_home=data_home)
        assert data.label_names == expected.label_names
        np.testing.assert_array_equal(data.Y, expected.Y)


@settings(deadline=None, max_examples=100)
@given(
    content=st.binary(max_size=200),
    prefix=st.sampled_from(
        [b"", b"x,l\n1,1\n", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\xff\xfe"]
    ),
)
def test_any_bytes_give_data_or_one_error(tmp_path_factory, content, prefix):
    folder = tmp_path_factory.mktemp("any", numbered=True)
    for name in ("any.csv", "any.svm", "any.parquet"):
        path = folder / name
        path.write_bytes(prefix + content)
        with contextlib.suppress(DataFileError):
            data = read(path, labels=["l"] if name != "any.svm" else None)
            assert data.X.shape == (data.X.shape[0], len(data.feature_names))
