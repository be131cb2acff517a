"""Tables with text, dates and amounts: CSV, Excel, JSON lines and Parquet."""

import csv
import io
import json
from dataclasses import replace

import numpy as np

from fuzz.checks import VALID, check_error, notes_allowed, only_changes
from fuzz.data_files import DataFile, compress, parquet_file
from fuzz.draw import ODD_NAMES, chance, distinct_names, number, pick
from fuzz.mutate import damage, damage_bytes
from fuzz.zip_files import damage_zip
from sdgs.datasets import DataFileError, read, read_table, read_table_blocks
from sdgs.datasets.readers._column_format import KINDS

_NOTATIONS = ("{:.2f}", "{:,.2f}", "$ {:,.2f}", "{:.1f} %", "{:.0f} €", "{:e}")


def prepare():
    import openpyxl  # noqa: F401


def run_case(rng, folder):
    file = pick(rng, (csv_table, csv_table, json_table, excel_table, parquet_file))(rng)
    if chance(rng, 0.7):
        changes = {".xlsx": (damage_zip, damage_bytes), ".parquet": (damage_bytes,), ".pq": (damage_bytes,)}
        change = pick(rng, changes.get(file.suffix, (damage,)))
        file = replace(file, content=change(file.content, rng))
    if chance(rng, 0.1):
        file = compress(file, rng)
    return _check(file, rng, folder)


def check_content(content, folder):
    return _check(DataFile(content, ".csv", {}), np.random.default_rng(0), folder)


def _rows(rng):
    """Names, and rows of cells as text, numbers, booleans, lists or None."""
    names = distinct_names(rng, int(rng.integers(1, 6)), odd=0.3)
    writers = [pick(rng, (_text, _amount, _number, _flag, _date, _list, _anything)) for _ in names]
    return names, [[write(rng) if chance(rng, 0.9) else None for write in writers] for _ in range(rng.integers(1, 9))]


def _text(rng):
    return " ".join(pick(rng, ODD_NAMES) for _ in range(rng.integers(1, 5)))


def _amount(rng):
    text = pick(rng, _NOTATIONS).format(number(rng) % 1e7)
    return text.translate(str.maketrans(".,", ",.")) if chance(rng, 0.5) else text


def _number(rng):
    return number(rng)


def _flag(rng):
    return bool(rng.integers(2))


def _date(rng):
    return f"20{rng.integers(10, 40)}-{rng.integers(1, 14):02d}-{rng.integers(1, 32):02d}"


def _list(rng):
    return [pick(rng, ODD_NAMES) for _ in range(rng.integers(4))]


def _anything(rng):
    return pick(rng, (_text, _amount, _number, _flag, _date))(rng)


def csv_table(rng):
    names, rows = _rows(rng)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=pick(rng, ",;\t|"), quoting=pick(rng, (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    writer.writerows([names, *rows])
    encoding = pick(rng, ("utf-8", "utf-8", "utf-8-sig", "utf-16", "windows-1252"))
    return DataFile(text.getvalue().encode(encoding, errors="replace"), ".csv", {})


def json_table(rng):
    names, rows = _rows(rng)
    lines = []
    for row in rows:
        cells = {name: cell for name, cell in zip(names, row, strict=True) if cell is not None or chance(rng, 0.5)}
        cells = {"nested": cells} if chance(rng, 0.1) else cells
        lines.append(json.dumps(cells, ensure_ascii=chance(rng, 0.5)))
    return DataFile("\n".join(lines).encode(), pick(rng, (".jsonl", ".ndjson")), {})


def excel_table(rng):
    import openpyxl

    names, rows = _rows(rng)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in [names, *rows]:
        sheet.append([None if isinstance(cell, list) else cell for cell in row])
    file = io.BytesIO()
    book.save(file)
    return DataFile(file.getvalue(), ".xlsx", {})


def _check(file, rng, folder):
    path = folder / f"data{file.suffix}"
    path.write_bytes(file.content)
    with only_changes(folder), notes_allowed():
        try:
            table = read_table(path)
        except DataFileError as error:
            return check_error(error)
        check_table(table)
        blocks = [block.X for block in read_table_blocks(path, formats=table.formats, block_bytes=200)]
        for name in table.names:
            same_cells(np.concatenate([block.columns[name] for block in blocks]), table.columns[name])
        if chance(rng, 0.3):
            try:
                read(path, labels=[])
            except DataFileError as error:
                check_error(error)
    return VALID


def check_table(table):
    """Columns have one length and one type, and notes are lines."""
    assert set(table.names) == set(table.columns) == set(table.formats), "names, columns and formats differ"
    types = {"number": "f", "date": "M", "text": "O", "list": "O"}
    for name, column in table.columns.items():
        kind = table.formats[name].kind
        assert kind in KINDS, f"unknown kind {kind}"
        assert column.shape == (len(table),), "columns have different lengths"
        assert column.dtype.kind == types[kind], f"a column of kind {kind} has dtype {column.dtype}"
        assert kind != "number" or not np.isinf(column).any(), "a number is infinite"
        if kind == "text":
            assert all(cell is None or type(cell) is str for cell in column), "a text is not a string"
    assert all(type(note) is str and note.isprintable() for note in table.notes), f"a note is no line: {table.notes}"
    str(table)


def same_cells(actual, expected):
    if expected.dtype == object:
        assert actual.tolist() == expected.tolist(), f"blocks differ: {actual.tolist()} and {expected.tolist()}"
    else:
        assert np.array_equal(actual, expected, equal_nan=True), f"blocks differ: {actual} and {expected}"
