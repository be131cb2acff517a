"""Excel files: stored values of the first sheet, bounds, and clean errors."""

import datetime
import io
import zipfile

import numpy as np
import openpyxl
import pytest

from sdgs.datasets import DataFileError, read, read_blocks, read_table


def workbook(*rows, title="Sheet"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def with_part(content, name, change):
    """The archive with one part changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            data = old.read(part)
            new.writestr(part, change(data) if part == name else data)
    return file.getvalue()


def test_values(write_file):
    content = workbook(
        [], ["x", "text", "date", "yes", "formula", None], [1, "007", datetime.date(2025, 1, 2), True, "=1+1"], [],
        ["#N/A", "1.5", None, False, "=2"],
    )  # fmt: skip
    table = read_table(write_file(content, "table.xlsx"))
    np.testing.assert_array_equal(table.columns["x"], [1, np.nan])
    assert table.columns["text"].tolist() == ["007", "1.5"]
    assert table.columns["yes"].tolist() == ["true", "false"]
    assert str(table.columns["date"][0]) == "2025-01-02T00:00:00.000000"
    assert dict(table.left_out) == {"formula": "it is empty"}  # nothing has computed and stored its values
    assert "1 cells hold an error of Excel" in table.notes[0]


def test_numbers_as_a_data_set(write_file):
    path = write_file(workbook(["x", "y", "name"], [1, 0, "a"], ["2", True, "b"]), "table.xlsx")
    data = read(path, labels=["y"])
    np.testing.assert_array_equal(data.X, [[1], [2]])
    np.testing.assert_array_equal(data.Y, [[0], [1]])
    (block,) = read_blocks(path, features=["x"], labels=["y"], keep=["name"])
    assert block.kept == {"name": ["a", "b"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet 'Sheet' is empty"),
        ([["a", "b"]], "no rows below the names"),
        ([["a", "a"], [1, 2]], "two columns are named 'a'"),
        ([["a"], [1, 2]], "line 2: has a cell to the right of the last column with a name"),
    ],
)
def test_sheets_that_are_no_tables(write_file, rows, message):
    with pytest.raises(DataFileError, match=message):
        read_table(write_file(workbook(*rows), "table.xlsx"))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:0],
        lambda data: data.replace(b'r="A1"', b'r="A-1"'),
        lambda data: data.replace(b"<v>1</v>", b"<v>x</v>"),
        lambda data: data.replace(b"<worksheet", b'<!DOCTYPE a [<!ENTITY e "e">]><worksheet', 1),
    ],
)
def test_damaged_parts(write_file, change):
    content = with_part(workbook(["a", "b"], [1, 2]), "xl/worksheets/sheet1.xml", change)
    with pytest.raises(DataFileError, match=r"table\.xlsx: "):
        read_table(write_file(content, "table.xlsx"))


def test_files_that_are_no_archives(write_file):
    with pytest.raises(DataFileError, match="cannot be read as an Excel file"):
        read_table(write_file(b"a,b\n1,2\n", "table.xlsx"))


def test_archives_that_expand(write_file):
    content = with_part(workbook(["a"], [1]), "xl/worksheets/sheet1.xml", lambda data: data + b" " * 10_000_000)
    assert len(content) < 100_000
    with pytest.raises(DataFileError, match="larger than 1000000 bytes after decompression"):
        read_table(write_file(content, "table.xlsx"), max_bytes=1_000_000)


def test_rows_far_down_are_not_waited_for(write_file):
    def change(data):
        return data.replace(b'<row r="2"', b'<row r="2000000000"').replace(b'r="A2"', b'r="A2000000000"')

    content = with_part(workbook(["a"], [1]), "xl/worksheets/sheet1.xml", change)
    with pytest.raises(DataFileError, match=r"table\.xlsx: "):
        read_table(write_file(content, "table.xlsx"))


def test_what_to_install(write_file, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(DataFileError, match=r"Excel files need openpyxl. Run: pip install 'sdgs\[excel\]'"):
        read_table(write_file(b"", "table.xlsx"))
    with pytest.raises(DataFileError, match="Excel cannot be read from standard input"):
        read_table("-", format="xlsx")
