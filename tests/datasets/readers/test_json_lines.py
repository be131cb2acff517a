"""JSON lines: objects as rows, nested objects, lists, and clean errors."""

import gzip

import numpy as np
import pytest

from sdgs.datasets import DataFileError, read, read_blocks, read_table, read_table_blocks

LINES = """{"x": 1, "text": "one", "customer": {"plan": "pro", "age": 3}, "tags": ["a"]}

{"x": 2.5, "late": true, "tags": ["a", "b"]}
{"customer": {"plan": null}, "x": null, "tags": []}
"""


def test_rows_and_columns(write_file):
    table = read_table(write_file(LINES, "rows.jsonl"), label_column="tags")
    assert table.names == ("x", "text", "customer.plan", "customer.age", "late")
    np.testing.assert_array_equal(table.columns["x"], [1, 2.5, np.nan])
    assert table.columns["customer.plan"].tolist() == ["pro", None, None]
    assert table.columns["late"].tolist() == [None, "true", None]
    np.testing.assert_array_equal(table.Y, [[1, 0], [1, 1], [0, 0]])


def test_numbers_and_labels_as_a_data_set(write_file):
    path = write_file('{"x": 1, "yes": true}\n{"x": "2", "yes": 0}\n{"yes": null}\n', "rows.ndjson")
    data = read(path, labels=["yes"])
    np.testing.assert_array_equal(data.X, [[1], [2], [np.nan]])
    np.testing.assert_array_equal(data.Y, [[1], [0], [np.nan]])
    (block,) = read_blocks(path, features=["x"], labels=["yes"], with_labels=True)
    np.testing.assert_array_equal(block.X, data.X)


def test_blocks_ignore_keys_that_come_late(write_file):
    lines = "".join(f'{{"x": {i}, "text": "t{i}"}}\n' for i in range(50)) + '{"x": 7, "new": 1}\n'
    path = write_file(gzip.compress(lines.encode()), "rows.jsonl.gz")
    formats = read_table(path, drop=["new"]).formats
    blocks = list(read_table_blocks(path, formats=formats, block_bytes=100))
    assert len(blocks) > 5
    texts = np.concatenate([block.X.columns["text"] for block in blocks])
    assert texts.tolist() == [*(f"t{i}" for i in range(50)), None]


def test_a_column_that_no_object_has(write_file):
    formats = read_table(write_file(LINES, "rows.jsonl")).formats
    path = write_file('{"x": 4}\n', "new.jsonl")
    with pytest.warns(UserWarning, match="that the file does not have are missing values: 'customer.age'"):
        (block,) = read_table_blocks(path, formats=formats)
    assert block.X.columns["x"].tolist() == [4]
    assert block.X.columns["text"].tolist() == [None]
    with pytest.raises(DataFileError, match="6 of the 6 columns of the model are missing"):
        list(read_table_blocks(write_file('{"y": 4}\n', "new.jsonl"), formats=formats))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the file is empty"),
        ("{", r"line 1: not valid JSON"),
        ('"text"', r"line 1: not an object, as in \{"),
        ('[{"a": 1}]', r"a JSON array, where one object per line is read. .* jq -c"),
        ('[\n {"a": 1}\n]', "a JSON array"),
        ("3", "line 1: not an object"),
        ('{"a": {"b": {"c": 1}}}', r"'a\.b' has objects in an object in an object"),
        ('{"a": [{"b": 1}]}', "'a' is a list of lists or of objects"),
        ('{"a": [[1]]}', "'a' is a list of lists"),
        ('{"a": 1, "a": 2}', "two values are named 'a'"),
        ('{"a": {"b": 1}, "a.b": 2}', r"two values are named 'a\.b'"),
        ('{"a": Infinity}', "'a' is an infinite number"),
        ('{"a": 1e999}', "'a' is an infinite number"),
        ('{"a": "\\ud800"}', "line 1: not valid JSON"),
        ('{"\\udc00": 1}', "line 1: not valid JSON"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": ' + "9" * 400 + "}", "column 'a': .* is too large"),
        ("{}", "no first line with the names"),
    ],
)
def test_damaged_lines(write_file, line, message):
    with pytest.raises(DataFileError, match=message):
        read_table(write_file(line + "\n", "rows.jsonl"))
