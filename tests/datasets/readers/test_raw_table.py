"""Tables with numbers, text, dates and lists: what was read is what was written, in every format."""

import csv
import datetime
import io
import json
import math

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdgs._utils._number_parsing import MISSING_WORDS
from sdgs.datasets import ColumnFormat, DataFileError, read_blocks, read_table, read_table_blocks

MESSY = """order;Nachricht;Betrag;Menge;PLZ;Anteil;tags
7;"Größe ""L"",
fehlt";1.234,50 €;1.200;01234;5 %;a;
8;NA;;2;10115;7,5 %;a,b
"""


def test_a_table_as_people_have_it(write_file):
    text = MESSY.replace("5 %;a;", "5 %;a")
    table = read_table(write_file(text.encode("cp1252")), label_column="tags")
    assert table.names == ("order", "Nachricht", "Betrag", "Menge", "PLZ", "Anteil")
    assert table.columns["Nachricht"].tolist() == ['Größe "L",\nfehlt', None]
    np.testing.assert_array_equal(table.columns["Betrag"], [1234.5, math.nan])
    np.testing.assert_array_equal(table.columns["Menge"], [1200, 2])
    np.testing.assert_array_equal(table.columns["Anteil"], [5, 7.5])
    assert table.columns["PLZ"].tolist() == ["01234", "10115"]
    assert table.label_names == ("a", "b")
    np.testing.assert_array_equal(table.Y, [[1, 0], [1, 1]])
    notes = " ".join(table.notes)
    assert "separated by semicolons; the encoding is Windows-1252" in notes
    assert "'1.200' can be read in two ways; it is read with a mark between thousands, as 1200" in notes
    assert "Column 'Betrag': numbers are read without the sign €." in notes
    assert notes.endswith("Columns 'Betrag', 'Anteil': numbers have a decimal comma.")  # one note, without integers
    with pytest.raises(DataFileError, match="line 2: 8 cells, but the first line has 7"):
        read_table(write_file(MESSY))
    assert table.to_pandas()["Betrag"].tolist()[0] == 1234.5
    assert str(table).splitlines()[0] == "data.csv: 2 rows, 6 columns"


@pytest.mark.parametrize(
    ("separator", "cells", "value", "note"),
    [
        (";", ["1,234", "2"], 1.234, "read with a decimal comma, as 1.234"),
        (",", ["1,234", "2"], 1234, "read with a mark between thousands, as 1234"),
        (";", ["1.234", "2"], 1.234, "read with a decimal point, as 1.234"),
        (";", ["1.234", "2,5"], 1234, "marks between thousands are removed: '1.234' is 1234"),
        (",", ["1,234", "2.5"], 1234, "marks between thousands are removed: '1,234' is 1234"),
        (",", ["1,234", "2,5"], 1.234, "numbers have a decimal comma"),
        (",", ["1 234", "2"], 1234, "marks between thousands are removed"),
        (",", ["$5", "€7"], 5, "without the sign $ and €. Not all cells have the same sign"),
        (",", ["5%", "7"], 5, "without the sign %. Not all cells have the same sign"),
    ],
)
def test_notations(write_file, separator, cells, value, note):
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows([["x", "other"], *([cell, "text"] for cell in cells)])
    table = read_table(write_file(text.getvalue()))
    assert table.columns["x"][0] == value
    assert note in " ".join(table.notes)


def test_other_columns_decide_about_ambiguous_ones(write_file):
    table = read_table(write_file('x,y\n"1,234","1,5"\n"2,345","2,25"\n'))
    assert table.columns["x"].tolist() == [1.234, 2.345]
    assert any("'1,234' can be read in two ways" in note for note in table.notes)


def test_columns_that_are_nearly_numbers(write_file):
    text = "x,y,z\n" + "1,a,1.5\n" * 20 + "unknown,b,2\n"
    table = read_table(write_file(text))
    assert table.columns["x"].tolist() == ["1"] * 20 + ["unknown"]
    assert "of 21 cells all are numbers except 1, such as 'unknown'" in table.notes[1]
    table = read_table(write_file(text), numbers=["x"], texts=["z"])
    assert table.columns["x"].tolist()[:20] == [1] * 20
    assert math.isnan(table.columns["x"][20])
    assert table.columns["z"][0] == "1.5"
    assert "cells that are not numbers, such as 'unknown', are missing" in table.notes[1]
    block = next(read_table_blocks(write_file(text), formats=table.formats))
    np.testing.assert_array_equal(block.X.columns["x"], table.columns["x"])
    with pytest.raises(DataFileError, match="'x' cannot be both numbers and text"):
        read_table(write_file(text), numbers=["x"], texts=["x"])


def test_one_column_is_noted(write_file):
    table = read_table(write_file("a b c\n1 2 x\n4 5 y\n"))
    assert table.names == ("a b c",)
    assert "there is only one column, named 'a b c'. Separate columns by a comma" in table.notes[1]


def test_mixed_marks_are_text(write_file):
    table = read_table(write_file('x,y\n"1,5",a\n1.5,b\n'))
    assert table.columns["x"].tolist() == ["1,5", "1.5"]
    assert "some numbers have a decimal point, and others a decimal comma" in table.notes[1]


def test_columns_that_are_left_out(write_file):
    table = read_table(write_file("id,none,,x\n1,,a,2\n3,NA,b,4\n"), drop=["id"])
    assert table.names == ("x",)
    assert table.left_out == (
        ("id", "dropped, as requested"),
        ("none", "it is empty"),
        ("", "an index, because it has no name"),
    )
    with pytest.raises(DataFileError, match="no column is left"):
        read_table(write_file("a,b\n,\n"))
    with pytest.raises(DataFileError, match="no rows below the names"):
        read_table(write_file("a,b\n"))
    with pytest.raises(DataFileError, match="which columns are labels"):
        read_table(write_file("a,b\n1,0\n"), labels=None)
    with pytest.raises(DataFileError, match=r"line 3: has a NUL character"):
        read_table(write_file("a,b\n1,0\n\0,0\n"))
    with pytest.raises(DataFileError, match="needs a table"):
        read_table(write_file("1 1:1\n", "data.svm"))


ROWS = [
    {"n": 1, "half": 0.5, "text": "Größe, L\n", "yes": True, "day": datetime.datetime(2025, 1, 31), "words": ["a"]},
    {"n": None, "half": 2.0, "text": None, "yes": False, "day": None, "words": []},
    {"n": 3, "half": None, "text": "NA", "yes": None, "day": datetime.datetime(2024, 2, 29, 12), "words": None},
]  # fmt: skip


def write_rows(path, rows):
    names = list(rows[0])
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps({key: row[key] for key in names if key != "day"}) for row in rows) + "\n")
    else:
        book = openpyxl.Workbook()
        for row in [names, *([row[name] for name in names] for row in rows)]:
            book.active.append([None if isinstance(cell, list) else cell for cell in row])
        book.create_sheet("Notes").append(["not read"])
        book.save(path)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".xlsx"])
def test_formats_with_types(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, ROWS)
    table = read_table(path)
    np.testing.assert_array_equal(table.columns["n"], [1, math.nan, 3])
    np.testing.assert_array_equal(table.columns["half"], [0.5, 2, math.nan])
    assert table.columns["text"].tolist() == ["Größe, L\n", None, None]
    assert table.columns["yes"].tolist() == ["true", "false", None]
    if suffix != ".jsonl":
        days = np.array(["2025-01-31", "NaT", "2024-02-29T12"], "datetime64[us]")
        np.testing.assert_array_equal(table.columns["day"], days)
    if suffix == ".xlsx":
        assert dict(table.left_out) == {"words": "it is empty"}
        assert table.notes == ("The sheet 'Sheet' was read, which is the first; not read: 'Notes'.",)
    else:
        assert table.columns["words"].tolist() == [["a"], [], None]
    known = [] if suffix != ".xlsx" else ["words"]
    (block,) = read_table_blocks(path, formats=table.formats, labels=known)
    pd.testing.assert_frame_equal(block.X.to_pandas(), table.to_pandas())


@pytest.mark.filterwarnings("ignore:.*that the model does not know")
def test_a_model_of_one_format_reads_another(tmp_path, write_file):
    path = tmp_path / "rows.parquet"
    write_rows(path, ROWS)
    formats = {name: format_ for name, format_ in read_table(path).formats.items() if name != "words"}
    text = 'yes,day,n,text,half\nno,2025-03-01,"7",x,\n'
    (block,) = read_table_blocks(write_file(text), formats=formats)
    assert {name: column.tolist() for name, column in block.X.columns.items() if name not in ("half", "day")} == {
        "n": [7.0],
        "text": ["x"],
        "yes": ["no"],
    }
    assert block.X.columns["day"][0] == np.datetime64("2025-03-01")
    with pytest.raises(DataFileError, match="line 2, column 'day': 'soon' is not a date"):
        list(read_table_blocks(write_file(text.replace("2025-03-01", "soon")), formats=formats))
    with pytest.raises(DataFileError, match="1 of the 5 columns of the model is missing: 'text'"):
        list(read_table_blocks(write_file(text.replace("text", "words")), formats=formats))


def test_numbers_and_dates_of_training_are_found_in_texts(tmp_path, write_file):
    days = [datetime.date(2025, 3, 14), datetime.date(2025, 4, 2)]
    pq.write_table(pa.table({"price": [41.63, 1234.5], "stars": [2.5, 4], "day": days}), tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet")
    text = "price;stars;day\n41,63 €;2,5;14.03.2025\n1.234,50 €;4;2.4.2025\n"
    (block,) = read_table_blocks(write_file(text), formats=table.formats)
    pd.testing.assert_frame_equal(block.X.to_pandas(), table.to_pandas(), check_dtype=False)
    first, *others = read_table_blocks(write_file(text), formats=table.formats, block_bytes=40)
    assert (len(others), first.X.columns["price"][0], others[0].X.columns["price"][0]) == (1, 41.63, 1234.5)


@pytest.mark.parametrize(
    ("name", "cell", "problem"), [("n", "unknown", "is not a number"), ("day", "soon", "is not a date")]
)
def test_invalid_cells_may_be_missing(write_file, name, cell, problem):
    formats = {"n": ColumnFormat("number", "."), "day": ColumnFormat("date")}
    cells = {"n": "1.5", "day": "2025-03-14"} | {name: cell}
    path = write_file(f"n,day\n{cells['n']},{cells['day']}\n2.5,2025-03-15\n")
    with pytest.raises(DataFileError, match=f"line 2, column '{name}': '{cell}' {problem}.*--invalid missing"):
        list(read_table_blocks(path, formats=formats))
    (block,) = read_table_blocks(path, formats=formats, invalid="missing")
    assert pd.isna(block.X.columns[name]).tolist() == [True, False]
    if name == "n":
        with pytest.raises(DataFileError, match="--invalid missing"):
            list(read_blocks(path, features=["n"], labels=["day"]))
        (block,) = read_blocks(path, features=["n"], labels=["day"], invalid="missing")
        np.testing.assert_array_equal(block.X, [[np.nan], [2.5]])


# ---- round trips of generated tables

plain_texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12
)  # line breaks and quotes among them; csv.writer does not quote a carriage return
# No two of these characters in Windows-1252 are one in UTF-8, as those of "ß€" are.
latin_texts = st.text(st.sampled_from("abc äöüßé;,|\t\"'\n12.,-%"), max_size=12)


def number_texts(decimal, group):
    def write(value, digits):
        text = f"{value:,.{digits}f}"
        return text.replace(",", "\0").replace(".", decimal).replace("\0", group)

    return st.builds(write, st.integers(-(10**7), 10**7).map(lambda i: i / 100), st.integers(1, 2))


@st.composite
def tables(draw):
    """Names, columns of texts, what each number column means, and how the file is written."""
    delimiter = draw(st.sampled_from(",;\t|"))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "windows-1252"]))
    texts = latin_texts if encoding == "windows-1252" else plain_texts
    n = draw(st.integers(1, 12))
    decimal, group = draw(st.sampled_from([".,", ",.", ". ", ", ", ".'"]))
    columns = {"anchor": ["word"] * n}  # so that no row is empty, and no name is repeated
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["text", "number", "category", "date", "mixed", "huge"]))
        cells = {
            "text": texts,
            "number": number_texts(decimal, group),
            "category": st.sampled_from(["free", "pro", "business plan"]),
            "date": st.dates().map(str),
            "mixed": st.one_of(texts, st.integers().map(str), number_texts(".", ",")),
            "huge": st.just("x" * 5000),
        }[kind]
        missing = st.sampled_from(["", "NA", "?", "null"])
        columns[f"c{i} {kind}"] = draw(st.lists(st.one_of(cells, cells, missing), min_size=n, max_size=n))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    return columns, delimiter, encoding, quoting, ends, decimal, group


@pytest.mark.filterwarnings("ignore:.*that the model does not know")
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables())
def test_what_was_read_is_what_was_written(tmp_path, case):
    columns, delimiter, encoding, quoting, ends, decimal, group = case
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ends)
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    path = tmp_path / "table.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    table = read_table(path)
    missing = [name for name in columns if name not in table.columns]
    for name, cells in columns.items():
        written = [None if cell.strip().lower() in MISSING_WORDS else cell for cell in cells]
        if name in missing:
            assert dict(table.left_out)[name] == "it is empty"
            assert set(written) == {None}
        elif table.formats[name].kind == "text":
            assert "number" not in name
            assert table.columns[name].tolist() == written
        elif "number" in name:
            expected = [cell and float(cell.replace(group, "").replace(decimal, ".")) for cell in written]
            ambiguous = any("can be read in two ways" in note and repr(name) in note for note in table.notes)
            if not ambiguous:
                np.testing.assert_array_equal(table.columns[name], np.array(expected, float))
    parts = [block.X.to_pandas() for block in read_table_blocks(path, formats=table.formats, block_bytes=200)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), table.to_pandas(), check_dtype=False)
