"""Dialects of ARFF that Weka, Mulan, MEKA and liac-arff document: each is read, or refused by name with the line."""

import io

import arff
import numpy as np
import pytest
from scipy.sparse import issparse

from sdgs.datasets import DataFileError, load_arff, load_mulan, read
from sdgs.datasets.readers._arff import read_arff
from sdgs.datasets.readers._arff_syntax import unquote

NAN = np.nan


def header(*attributes, relation="r"):
    return f"@relation {relation}\n" + "".join(f"@attribute {attribute}\n" for attribute in attributes) + "@data\n"


AB = header("a numeric", "b {0,1}")

# text, names of the attributes, values (categories by their index)
DIALECTS = {
    "keywords in any case": ("@RELATION r\n@Attribute a REAL\n@ATTRIBUTE b {0,1}\n@DaTa\n1,1\n", "ab", [[1, 1]]),
    "tabs after keywords": ("@relation\tr\n@attribute\ta\tnumeric\n@attribute\tb\t{0,1}\n@data\n1,1\n", "ab", [[1, 1]]),
    "spaces before keywords": ("  @relation r\n \t@attribute a real\n  @data  \n  1  \n", "a", [[1]]),
    "CRLF": (AB.replace("\n", "\r\n") + "1,1\r\n2,0\r\n", "ab", [[1, 1], [2, 0]]),
    "CR": (AB.replace("\n", "\r") + "1,1\r2,0", "ab", [[1, 1], [2, 0]]),
    "no line end at the end": (AB + "1,1", "ab", [[1, 1]]),
    "byte order mark": ("\ufeff" + AB + "1,1\n", "ab", [[1, 1]]),
    "UTF-16": ((AB + "1,1\n").encode("utf-16"), "ab", [[1, 1]]),
    "UTF-8": (header("é numeric", "日本 numeric") + "1,2\n", ["é", "日本"], [[1, 2]]),
    "Latin-1": (header("é numeric", "ß numeric").encode("latin-1") + b"1,2\n", ["é", "ß"], [[1, 2]]),
    "empty lines": ("\n\n@relation r\n\n@attribute a numeric\n \t\n@data\n\n1\n\n2\n\n", "a", [[1], [2]]),
    "comments": (
        "% one\n@relation r % 'two\n%three\n@attribute a numeric % four\n@attribute b {0, 1} % {2}\n@data % five\n"
        "% six\n1,1 % seven\n  % eight\n2,0\t% nine, ten\n",
        "ab",
        [[1, 1], [2, 0]],
    ),
    "a comment right after a type": (header("a numeric % c", "'b' integer\t%c") + "1,2\n", "ab", [[1, 2]]),
    "percent signs that are no comments": (
        header("'a % b' numeric", '"%" numeric', "c {50%,'5 % 0'}") + "1,2,50%\n3,4,'5 % 0' % c\n",
        ["a % b", "%", "c"],
        [[1, 2, 0], [3, 4, 1]],
    ),
    "a description after a comment": ("% it's\n" + AB + "1,1\n", "ab", [[1, 1]]),
    "all numeric types": (
        header("a numeric", "b real", "c integer", "d INTEGER") + "1,1.5,2,-3\n",
        "abcd",
        [[1, 1.5, 2, -3]],
    ),
    "fractions of an integer attribute are kept": (header("a integer") + "1.5\n", "a", [[1.5]]),
    "forms of numbers": (header("a real") + "1e3\n.5\n-1.\n+2\n1E-2\n", "a", [[1e3], [0.5], [-1], [2], [0.01]]),
    "nominal with spaces": (header("a { 0 , 1 , 'x y' }") + "1\n 'x y' \n0\n", "a", [[1], [2], [0]]),
    "nominal without a space before it": (header("a{0,1}") + "1\n", "a", [[1]]),
    "nominal in another order": (header("a {1,0}") + "1\n0\n", "a", [[0], [1]]),
    "nominal with quotes": (
        header("""a {'it\\'s',"q\\"q",b}""") + "'it\\'s'\n\"q\\\"q\"\nb\n'b'\n",
        "a",
        [[0], [1], [2], [2]],
    ),
    "nominal with escapes": (
        header("a {'\\t','\\\\','\\~','\\u00e9','\\101'}") + "é\n'~'\n'A'\n'\\\\'\n",
        "a",
        [[3], [2], [4], [1]],
    ),
    "nominal with backslashes without quotes": (header("a {x\\y,x}") + "x\\y\nx\n", "a", [[0], [1]]),
    "nominal with a comma at the end": (header("a {x,y,}") + "y\n", "a", [[1]]),
    "missing values": (
        header("a real", "b {x,y}", "c string") + "?,?,?\n1, ? ,x\n ?,y,'?'\n",
        "abc",
        [[NAN] * 3, [1, NAN, NAN], [NAN, 1, NAN]],
    ),
    "empty values are missing": (AB + "1,\n,1\n", "ab", [[1, NAN], [NAN, 1]]),
    "a quoted question mark is a value": (header("a {x,'?'}") + "'?'\n?\n", "a", [[1], [NAN]]),
    "strings": (
        header("a string", "b real") + "'x, y',1\n\"it's\",2\n'C:\\Windows \\' ',3\nplain,4\n",
        "ab",
        [[NAN, i] for i in (1, 2, 3, 4)],
    ),
    "spaces around values": (AB + " 1 ,\t1 \n 2, 0\n", "ab", [[1, 1], [2, 0]]),
    "tabs between values": (AB + "1\t1\n2\t0\n", "ab", [[1, 1], [2, 0]]),
    "a relation without quotes": (header("a real", relation="my data: -C 1") + "1\n", "a", [[1]]),
    "a relation with quotes": (header("a real", relation="'it\\'s % 1'") + "1\n", "a", [[1]]),
    "quoted names": (
        header("'a b' real", '"c,d" real', "'it\\'s' real", '"q\\"q" real', "'{x}' real", "'?' real", "'a\\\\b' real"),
        ["a b", "c,d", "it's", 'q"q', "{x}", "?", "a\\b"],
        [],
    ),
    "names without quotes": (
        header("TAG_dise\\~no {0,1}", "a\\tb real", "it's real", "? real", "a=b real", "'tis real", "a-b.c:d/e real"),
        ["TAG_dise\\~no", "a\\tb", "it's", "?", "a=b", "'tis", "a-b.c:d/e"],
        [],
    ),
    "names that differ in quotes and case": (header("a real", "A real", "'\\'a\\'' real"), ["a", "A", "'a'"], []),
    "no rows": (AB, "ab", []),
    "sparse": (AB + "{0 1, 1 1}\n{}\n{ 1 1 }\n{0\t2}\n", "ab", [[1, 1], [0, 0], [0, 1], [2, 0]]),
    "sparse with unsorted indices": (AB + "{1 1,0 3}\n", "ab", [[3, 1]]),
    "sparse with quotes and comments": (header("a {x,'y, z'}", "b real") + "{0 'y, z',1 2} % c\n", "ab", [[1, 2]]),
    "sparse with missing values": (AB + "{0 ?,1 ?}\n", "ab", [[NAN, NAN]]),
}

# text, part of the error
REFUSED = {
    "dates": (header("d date"), "line 2: dates are not supported"),
    "dates with a format": (header("d DATE 'yyyy-MM-dd HH:mm:ss'"), "line 2: dates are not supported"),
    "relational attributes": (
        "@relation r\n@attribute bag relational\n@attribute a real\n@end bag\n@data\n'1\\n2'\n",
        "line 2: relational attributes are not supported",
    ),
    "@end alone": (
        "@relation r\n@end bag\n",
        "line 2: expected @relation, @attribute, @data or a comment, got '@end bag'",
    ),
    "an unknown keyword": ("@relation r\n@inputs a\n", "line 2: expected @relation, @attribute, @data"),
    "a misspelt keyword": ("@relation r\n@attribut a real\n@data\n", "line 2: expected @relation, @attribute, @data"),
    "text in the header": ("@relation r\nhello\n", "line 2: expected @relation, @attribute, @data"),
    "an unknown type": (header("a continuous"), "line 2: attributes of type 'continuous' are not supported"),
    "a range": (header("a real [0,1]"), "line 2: attributes of type 'real [0,1]' are not supported"),
    "no type": (header("a"), "line 2: not an attribute"),
    "spaces in a name": (header("a b real"), "line 2: attributes of type 'b real' are not supported"),
    "a comma in a name": (header("a,b real"), "line 2: not an attribute: expected @attribute NAME TYPE, with quotes"),
    "a percent sign in a name": (
        header("a%b real"),
        "line 2: not an attribute: expected @attribute NAME TYPE, with quotes",
    ),
    "a nominal list without end": (header("a {x,y"), "line 2: the values of a nominal attribute must be {a,b,c}"),
    "an empty nominal list": (header("a {}"), "line 2: the values of a nominal attribute must be {a,b,c}"),
    "spaces in a nominal list": (header("a {x y}"), "line 2: the values of a nominal attribute must be {a,b,c}"),
    "a nominal value twice": (header("a {x,y,'x'}"), "line 2: the nominal attribute has the value 'x' twice"),
    "an attribute twice": (header("a real", "'a' real"), "line 3: a second attribute named 'a'"),
    "no relation": ("@attribute a real\n@data\n1\n", "line 1: expected @relation NAME before @attribute"),
    "an empty relation": ("@relation\n", "line 1: expected one line @relation NAME"),
    "two relations": ("@relation r\n@relation s\n", "line 2: expected one line @relation NAME"),
    "no attributes": ("@relation r\n@data\n", "line 2: there are no attributes before @data"),
    "no data": ("@relation r\n@attribute a real\n", "line 2: the file ends before @data"),
    "weights of attributes": (header("a real {0.5}"), "line 2: weights of attributes are not supported"),
    "weights of nominal attributes": (header("a {x,y} {0.5}"), "line 2: weights of attributes are not supported"),
    "weights of samples": (AB + "1,1\n1,1,{5}\n", "line 6: weights of samples are not supported"),
    "weights of sparse samples": (AB + "{0 1}, {5}\n", "line 5: weights of samples are not supported"),
    "too few values": (AB + "1,1\n1\n", "line 6: 1 values, but there are 2 attributes"),
    "too many values": (AB + "1,1,1\n", "line 5: 3 values, but there are 2 attributes"),
    "a comma at the end": (AB + "1,1,\n", "line 5: 3 values, but there are 2 attributes"),
    "spaces between values": (AB + "1 1\n", "line 5: 1 values, but there are 2 attributes"),
    "a number that is none": (AB + "1;5,1\n", "line 5: attribute 'a': '1;5' is not a number"),
    "a number with an underscore": (AB + "1_0,1\n", "line 5: attribute 'a': '1_0' is not a number"),
    "a value that is not listed": (AB + "1,2\n", "line 5: attribute 'b': '2' is not one of its values"),
    "a value in another case": (header("a {x}") + "X\n", "line 4: attribute 'a': 'X' is not one of its values"),
    "infinity": (AB + "1,1\n\n% c\n-inf,1\n", "line 8: there is an infinite value. Write ? if it is not known"),
    "an integer beyond float64": (AB + f"1,1\n{10**400},1\n", "line 6: there is an infinite value"),
    "a sparse infinity": (AB + "{}\n{1 1}\n{0 1e400}\n", "line 7: there is an infinite value"),
    "quotes without end": (AB + "1,'1\n", "line 5: expected values with commas between them"),
    "a quote within a value": (header("a string") + "it's\n", "line 4: expected values with commas between them"),
    "sparse after dense": (AB + "1,1\n\n{0 1}\n", "line 7: a sparse row, {INDEX VALUE, ...}, after dense rows"),
    "dense after sparse": (AB + "{0 1}\n1,1\n", "line 6: a dense row after sparse rows"),
    "a sparse row without end": (AB + "{0 1\n", "line 5: expected {INDEX VALUE, INDEX VALUE, ...}"),
    "a sparse row with a comma at the end": (AB + "{0 1,}\n", "line 5: expected {INDEX VALUE"),
    "a sparse row with text": (AB + "{x 1}\n", "line 5: expected {INDEX VALUE"),
    "a negative index": (AB + "{-1 1}\n", "line 5: expected {INDEX VALUE"),
    "a sparse index without value": (AB + "{0}\n", "line 5: expected {INDEX VALUE"),
    "an index twice": (AB + "{0 1,0 2}\n", "line 5: the row has two values of the same attribute"),
    "an index out of range": (AB + "{0 1,2 1}\n", "line 5: there is no attribute 2; the last, counted from 0, is 1"),
    "a huge index": (AB + "{" + "9" * 5000 + " 1}\n", "line 5: expected {INDEX VALUE"),
    "UTF-16 without a mark": (AB.encode("utf-16-le"), "line 1: expected @relation"),
}


@pytest.mark.parametrize(("text", "names", "values"), DIALECTS.values(), ids=DIALECTS)
def test_a_dialect_is_read(write_file, text, names, values):
    table = read_arff(write_file(text, "data.arff"), None)
    assert table.names == tuple(names)
    rows = table.values.toarray() if issparse(table.values) else table.values
    np.testing.assert_array_equal(rows, np.reshape(values, (len(values), len(names))))


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_dialect_is_refused_by_name(write_file, text, message):
    with pytest.raises(DataFileError) as error:
        read_arff(write_file(text, "data.arff"), None)
    assert f"data.arff, {message}" in str(error.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a\\~b", "a\\~b"),
        ("'a\\~b'", "a~b"),
        ("'", "'"),
        ("''", ""),
        ("'a\"", "'a\""),
        (r"'\ud800\n\'\x'", "ud800\n'x"),
    ],
)
def test_only_quoted_names_are_unescaped(text, name):
    assert unquote(text) == name


NAMES_OF_LABELS = {  # in the ARFF file, in the XML file, and as read
    "as in Mulan's delicious": ("TAG_dise\\~no", "TAG_dise\\~no", "TAG_dise\\~no"),
    "escaped in the ARFF file alone": ("'it\\'s'", "it's", "it's"),
    "escaped in both": ("'it\\'s'", "it\\'s", "it's"),
    "quoted in both": ("'a b'", "'a b'", "a b"),
    "escaped in neither": ("it's", "it's", "it's"),
    "an entity": ("'a &amp; b'", "a &amp;amp; b", "a &amp; b"),
    "a backslash that is lost in the XML file": ("TAG_dise\\~no", "TAG_dise~no", "TAG_dise\\~no"),
}


@pytest.mark.parametrize(("arff_name", "xml_name", "name"), NAMES_OF_LABELS.values(), ids=NAMES_OF_LABELS)
def test_labels_of_the_xml_file_are_found(write_file, arff_name, xml_name, name):
    file = write_file(header("x real", f"{arff_name} {{0,1}}", "other {0,1}") + "1,1,0\n2,0,1\n", "data.arff")
    xml = write_file(f'<labels><label name="other"><label name="{xml_name}"/></label></labels>', "data.xml")
    for data in (load_mulan(file, xml), read(file)):
        assert data.label_names == ("other", name)
        np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])


def test_a_label_that_could_be_two_attributes_is_not_guessed(write_file):
    file = write_file(header("x real", "a\\b {0,1}", "'\\'ab\\'' {0,1}") + "1,1,0\n", "data.arff")
    with pytest.raises(DataFileError, match="no attribute is named 'ab'"):
        load_mulan(file, write_file('<labels><label name="ab"/></labels>', "data.xml"))


def test_an_independent_reader_agrees(write_file):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, 4)).round(3)
    values[rng.uniform(size=values.shape) < 0.3] = np.nan
    colours = ["light blue", "it's", "50%", "a,b"]
    rows = [
        [*(None if np.isnan(x) else x for x in row), colours[i % 4], str(i % 2)]
        for i, row in enumerate(values.tolist())
    ]
    attributes = [*((f"x {j}", "REAL") for j in range(4)), ("colour", colours), ("label", ["0", "1"])]
    text = arff.dumps({"relation": "a b", "attributes": attributes, "data": rows, "description": "with\nlines"})
    assert arff.load(io.StringIO(text))["data"] == rows
    data = load_arff(write_file(text, "data.arff"), labels=["label"])
    assert data.feature_names == (*(f"x {j}" for j in range(4)), *(f"colour={colour}" for colour in colours))
    np.testing.assert_array_equal(data.X[:, :4], values)
    np.testing.assert_array_equal(data.X[:, 4:], np.eye(4)[np.arange(50) % 4])
    np.testing.assert_array_equal(data.Y[:, 0], np.arange(50) % 2)
