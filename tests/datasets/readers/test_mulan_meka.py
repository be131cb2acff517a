"""ARFF files in the conventions of Mulan and MEKA."""

import numpy as np
import pytest

from sdgs.datasets import DataFileError, load_meka, load_mulan, read_label_hierarchy

HEAD = "@relation r\n@attribute x numeric\n@attribute l {0,1}\n@data\n"


def test_the_relation_has_the_number_of_labels_and_their_side(tmp_path):
    body = (
        "@attribute a {0,1}\n@attribute b {0,1}\n@attribute x numeric\n@attribute y numeric\n@data\n1,0,5,6\n0,1,7,8\n"
    )
    path = tmp_path / "meka.arff"
    path.write_text(f"@relation 'Some music: -C 2 -split-percentage 66'\n{body}")
    first = load_meka(path)
    assert (first.label_names, first.feature_names, first.name) == (("a", "b"), ("x", "y"), "Some music")
    np.testing.assert_array_equal(first.Y, [[1, 0], [0, 1]])
    path.write_text(
        "@relation 'r: -C -1'\n" + body.replace("y numeric", "y {0,1}").replace("6\n", "1\n").replace("8", "0")
    )
    last = load_meka(path)
    assert last.label_names == ("y",)
    np.testing.assert_array_equal(last.Y.ravel(), [1, 0])
    path.write_text(f"@relation 'r: -C 2'\n{body}".replace("1,0,5", "?,?,5").replace("0,1,7", "?,?,7"))
    missing = load_meka(path)
    assert missing.Y is None
    assert missing.X.shape == (2, 2)
    with pytest.raises(ValueError, match="has no labels"):
        missing.statistics()
    path.write_text(f"@relation 'r: -C 2'\n{body}".replace("1,0,5", "?,0,5"))
    np.testing.assert_array_equal(load_meka(path).Y, [[np.nan, 0], [0, 1]])


@pytest.mark.parametrize("text", ["-C 0", "-C 9", "no option", "-C 99999999999"])
def test_a_relation_with_a_wrong_number_of_labels(tmp_path, text):
    path = tmp_path / "meka.arff"
    path.write_text(HEAD.replace("@relation r", f"@relation 'r: {text}'") + "1,1\n")
    with pytest.raises(DataFileError, match=r"meka\.arff: the relation"):
        load_meka(path)


def test_nested_labels_are_a_hierarchy(tmp_path):
    (tmp_path / "data.arff").write_text(
        "@relation r\n@attribute x numeric\n"
        + "".join(f"@attribute {name} {{0,1}}\n" for name in ("owl", "cat", "pet", "tabby"))
        + "@data\n1,0,1,1,0\n2,1,0,0,0\n"
    )
    xml = tmp_path / "data.xml"
    xml.write_text(
        '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="pet"><label name="cat">'
        '<label name="tabby"></label></label></label><label name="owl"/></labels>'
    )
    data = load_mulan(tmp_path / "data.arff", xml)
    assert data.label_names == ("pet", "cat", "tabby", "owl")
    assert read_label_hierarchy(xml) == (-1, 0, 1, -1)
    np.testing.assert_array_equal(data.Y, [[1, 1, 0, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("text", "message"),
    [("<labels><label>", "not an XML file"), ("<labels/>", "no labels"), ("<labels><label/></labels>", "has no name")],
)
def test_bad_files_of_labels(tmp_path, text, message):
    (tmp_path / "data.xml").write_text(text)
    with pytest.raises(DataFileError, match=message):
        read_label_hierarchy(tmp_path / "data.xml")
