"""Labels of a file that a model does not know."""

import pytest

from sdgs.datasets import DataFileError
from sdgs.datasets.readers._new_labels import new_label_names


@pytest.fixture
def files(tmp_path):
    (tmp_path / "lists.csv").write_text("a,tags\n1,red;sea blue\n2,\n3,?\n4,old;red\n")
    (tmp_path / "columns.csv").write_text("a,is_x,is_y,is_z\n1,0,1,0\n")
    header = "@relation r\n@attribute a numeric\n@attribute is_x {0,1}\n@attribute is_y {0,1}\n@data\n"
    (tmp_path / "columns.arff").write_text(f"{header}1,0,1\n")
    return tmp_path


def test_names_that_are_not_known(files):
    assert new_label_names(files / "lists.csv", ["old"], label_column="tags") == ("red", "sea blue")
    assert new_label_names(files / "lists.csv", ["old", "red", "sea blue"], label_column="tags") == ()
    for name in ("columns.csv", "columns.arff"):
        assert new_label_names(files / name, ["is_x"], patterns=["is_[xy]"]) == ("is_y",)
    assert new_label_names(files / "columns.csv", ["is_x"]) == ()
    assert new_label_names("-", ["is_x"], format="csv") == ()


def test_errors(files):
    with pytest.raises(DataFileError, match="cannot be found in standard input"):
        new_label_names("-", [], label_column="tags", format="csv")
    with pytest.raises(DataFileError, match="no column is named 'tag'"):
        new_label_names(files / "lists.csv", [], label_column="tag")
    with pytest.raises(DataFileError, match="no column matches 'has_"):
        new_label_names(files / "columns.arff", [], patterns=["has_*"])
    (files / "some.svm").write_text("1,3 1:0.5\n")
    with pytest.raises(DataFileError, match="A file with new labels"):
        new_label_names(files / "some.svm", [], patterns=["3"])
