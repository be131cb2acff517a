"""ARFF and Mulan's XML: values, labels and names are kept; broken or hostile files give one error with the line."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from sdgs.datasets import DataFileError, load_arff, load_mulan

XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'


def xml(*names):
    escape = str.maketrans({"&": "&amp;", "<": "&lt;", '"': "&quot;"})
    return XML.format("".join(f'<label name="{name.translate(escape)}"></label>' for name in names))


@pytest.fixture
def mulan(tmp_path):
    """A function that writes an ARFF file and an XML file of labels, and reads them."""

    def dataset(arff, labels, encoding="utf-8", **options):
        (tmp_path / "data.arff").write_bytes(arff.encode(encoding) if isinstance(arff, str) else arff)
        (tmp_path / "data.xml").write_text(labels if isinstance(labels, str) else xml(*labels), encoding="utf-8")
        return load_mulan(tmp_path / "data.arff", tmp_path / "data.xml", **options)

    return dataset


SMALL = """% a comment
@relation small
@attribute colour {red,green,blue}
@attribute rain {YES,NO}
@attribute first {0,1}
@attribute size numeric
@attribute note string
@attribute second {0,1}
@data
red,YES,1,2.5,'some, text',0
% another
blue,NO,0,-1e3,?,1
?,NO,1,?,x,1
"""


def test_attributes_and_labels_keep_their_meaning(mulan):
    data = mulan(SMALL, ["second", "first"])
    assert data.name == "small"
    assert data.label_names == ("second", "first")
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [1, 1]])
    assert data.Y.dtype == np.int8
    assert data.feature_names == ("colour=red", "colour=green", "colour=blue", "rain", "size")
    nan = np.nan
    np.testing.assert_array_equal(data.X, [[1, 0, 0, 1, 2.5], [0, 0, 1, 0, -1000], [nan, nan, nan, 0, nan]])
    assert data.dropped == (("note", "text"),)


def test_sparse_files_stay_sparse_and_leave_out_the_first_value(mulan):
    text = """@relation s
@attribute rain {YES,NO}
@attribute dry {no,yes}
@attribute a numeric
@attribute l {0,1}
@attribute colour {red,green,blue}
@data
{}
{0 NO,2 1.5,3 1}
{1 yes, 2 -2, 4 blue}
"""
    data = mulan(text, ["l"])
    assert issparse(data.X)
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32  # which all of scikit-learn accepts
    assert data.feature_names == ("rain", "dry", "a", "colour=red", "colour=green", "colour=blue")
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0, 1, 0, 0], [0, 0, 1.5, 1, 0, 0], [1, 1, -2, 0, 0, 1]])
    np.testing.assert_array_equal(data.Y, [[0], [1], [0]])


@pytest.mark.parametrize("values", ["{YES,NO}", "{NO,YES}", "{yes, no}", "{0,1}", "{1,0}", "{true,false}", "numeric"])
def test_labels_are_never_inverted(mulan, values):
    yes, no = {"{YES": ("YES", "NO"), "{NO,": ("YES", "NO"), "{yes": ("yes", "no"), "{tru": ("true", "false")}.get(
        values[:4], ("1", "0")
    )
    data = mulan(f"@relation r\n@attribute a numeric\n@attribute l {values}\n@data\n1,{yes}\n2,{no}\n", ["l"])
    np.testing.assert_array_equal(data.Y.ravel(), [1, 0])
    sparse = mulan(
        f"@relation r\n@attribute a numeric\n@attribute l {values}\n@data\n{{0 1,1 {yes}}}\n{{1 {no}}}\n", ["l"]
    )
    np.testing.assert_array_equal(sparse.Y.ravel(), [1, 0])


# Printable names with everything that needs quoting: commas, quotes, braces, percent signs, backslashes, spaces.
names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8).map(str.strip),
    min_size=2,
    max_size=5,
    unique=True,
).filter(lambda attributes: all(attributes))


def quoted(name):
    return "'" + re.sub(r"(['\\])", r"\\\1", name) + "'"


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    attributes=names,
    sparse=st.booleans(),
    compressed=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
    data=st.data(),
)
def test_files_of_any_content_are_read_back(tmp_path_factory, attributes, sparse, compressed, line_end, data):
    folder = tmp_path_factory.mktemp("arff", numbered=True)
    k = data.draw(st.integers(1, len(attributes) - 1))
    order = data.draw(st.permutations(range(len(attributes))))
    labels = set(attributes[:k])
    numbers = st.floats(-1e6, 1e6, allow_nan=False)
    rows = data.draw(
        st.lists(st.tuples(*[st.integers(0, 1) if n in labels else numbers for n in attributes]), max_size=4)
    )
    lines = ["@RELATION test"]
    lines += [f"@attribute {quoted(attributes[i])} {'{0,1}' if attributes[i] in labels else 'numeric'}" for i in order]
    lines.append("@data")
    for row in rows:
        values = [row[i] for i in order]
        if sparse:
            lines.append("{" + ",".join(f"{j} {value!r}" for j, value in enumerate(values) if value) + "}")
        else:
            lines.append(",".join(map(repr, values)))
    content = line_end.join(lines).encode()
    path = folder / "data.arff"
    path.write_bytes(gzip.compress(content) if compressed else content)
    dataset = load_arff(path, labels=attributes[:k])
    assert dataset.label_names == tuple(attributes[:k])
    assert dataset.feature_names == tuple(attributes[i] for i in order if i >= k)
    X = dataset.X.toarray() if issparse(dataset.X) else dataset.X
    np.testing.assert_array_equal(X, np.array([[row[i] for i in order if i >= k] for row in rows]).reshape(X.shape))
    if rows:
        np.testing.assert_array_equal(dataset.Y, np.array(rows)[:, :k])


def test_latin_1_and_utf_8_names(mulan):
    text = "@relation r\n@attribute 'Müller' numeric\n@attribute straße {0,1}\n@data\n1,1\n"
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        data = mulan(text, ["straße"], encoding=encoding)
        assert data.feature_names == ("Müller",)
        assert data.label_names == ("straße",)


HEAD = "@relation r\n@attribute x numeric\n@attribute l {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("arff", "labels", "message"),
    [
        (HEAD + "1,1\n2\n", ["l"], r"data\.arff, line 6: "),
        (HEAD + "1,1,1\n", ["l"], r"data\.arff, line 5: "),
        (HEAD + "1,1\n1,2\n", ["l"], r"line 6: attribute 'l': '2' is not one of its values"),
        (HEAD + "one,1\n", ["l"], r"line 5: attribute 'x': 'one' is not a number"),
        (HEAD + "{0 1,7 1}\n", ["l"], r"line 5: "),
        (HEAD + "{0 1}\n1,1\n", ["l"], r"line 6: "),
        (HEAD + "{0 1\n", ["l"], r"line 5: "),
        (HEAD + "1,'1\n", ["l"], r"line 5: "),
        (HEAD.replace("@data", ""), ["l"], r"data\.arff, line \d: the file ends before @data"),
        ("", ["l"], r"data\.arff, line 0: the file ends before @data"),
        ("\x00\x01\x02", ["l"], r"data\.arff, line 1: "),
        ("@data\n1\n", ["l"], r"line 1: expected @relation NAME before @data"),
        (HEAD.replace("@attribute l", "@attribute x"), ["x"], r"line 3: a second attribute named 'x'"),
        (HEAD.replace("x numeric", "x date"), ["l"], r"line 2: dates are not supported"),
        (HEAD.replace("x numeric", "x"), ["l"], r"line 2: not an attribute"),
        (HEAD.replace("{0,1}", "{0,1"), ["l"], r"line 3: the values of a nominal attribute must be"),
        (HEAD.replace("{0,1}", "{a,b}") + "1,a\n", ["l"], r"label 'l' must be 0 or 1"),
        (HEAD + "1,1\n", ["l", "other"], r"no attribute is named 'other', which should be a label"),
        (HEAD + "1,1\n", ["l", "l"], "two labels have the same name"),
        (HEAD + "1,1\n", "<labels></labels>", r"data\.xml: there are no labels in it"),
        (HEAD + "1,1\n", "<labels><label/></labels>", r"data\.xml: a label has no name"),
        (HEAD + "1,1\n", "<labels><label name='l'>", r"data\.xml: not an XML file"),
        (HEAD + "1,1\n", "not xml", r"data\.xml: not an XML file"),
        (HEAD + "1,1\n", "<?xml version='1.0' encoding='utf-88'?><labels/>", r"data\.xml: not an XML file"),
        (
            HEAD + "1,1\n",
            '<!DOCTYPE z [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>',
            r"data\.xml: not an XML file",
        ),
        (
            HEAD + "1,1\n",
            '<!DOCTYPE z [<!ENTITY f SYSTEM "file:///etc/passwd">]><labels><label name="l"/>&f;</labels>',
            r"data\.xml: not an XML file",
        ),
    ],
)
def test_a_broken_file_gives_one_error(mulan, arff, labels, message):
    with pytest.raises(DataFileError, match=message):
        mulan(arff, labels)


@pytest.mark.slow
def test_hostile_files(mulan, tmp_path):
    # Expressions that take exponential time, very long lines, and bombs.
    items = ",".join("a" * 50)
    for bad in (f"{{{items}, b c}}", f"{{{items}", "{" + "'" * 2001, "{" + ",a" * 200_000):
        with pytest.raises(DataFileError, match="line 3: the values of a nominal"):
            mulan(HEAD.replace("{0,1}", bad), ["l"])
    with pytest.raises(DataFileError, match="line 2: not an attribute"):
        mulan(HEAD.replace("x numeric", "'" + "a\\" * 200_000), ["l"])
    wide = 250_000
    header = "@relation r\n@attribute l {0,1}\n@attribute x string\n@data\n"
    assert mulan(header + "1,'" + "y" * 1_000_000 + "'\n", ["l"]).Y.shape == (1, 1)
    with pytest.raises(DataFileError, match="line 5: "):
        mulan(HEAD + "1," * wide, ["l"])
    bomb = gzip.compress(HEAD.encode() + b"1,1\n" * 500_000)
    assert len(bomb) < 10_000
    with pytest.raises(DataFileError, match=r"larger than 100000 bytes .* pass max_bytes=None"):
        mulan(bomb, ["l"], max_bytes=100_000)
    with pytest.raises(DataFileError, match="cannot be read"):
        mulan(bomb[: len(bomb) // 2], ["l"])
    with pytest.raises(DataFileError, match="cannot be read"):
        load_mulan(tmp_path / "absent.arff", tmp_path / "data.xml")
    with pytest.raises(DataFileError, match="cannot be read"):
        load_mulan(tmp_path / "data.arff", tmp_path / "absent.xml")


@settings(deadline=None, max_examples=400)
@given(start=st.integers(0, len(SMALL)), length=st.integers(0, 12), junk=st.text("{}'\",\\?@% \n\tab01", max_size=10))
def test_damage_anywhere_gives_data_or_one_error(tmp_path_factory, start, length, junk):
    path = tmp_path_factory.mktemp("damage", numbered=True) / "data.arff"
    path.write_text(SMALL[:start] + junk + SMALL[start + length :])
    data = None
    try:
        data = load_arff(path, labels=["first", "second"])
    except DataFileError as error:
        message = str(error)
    if data is None:
        assert "data.arff" in message
    else:
        assert data.X.shape[1] == len(data.feature_names)
        assert data.Y is None or set(np.unique(data.Y[~np.isnan(data.Y)])) <= {0, 1}
