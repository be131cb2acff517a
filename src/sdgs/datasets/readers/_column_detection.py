"""Decide how each column of a table is read, with a note for everything that is not evident."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sdgs._utils._marked_numbers import Notation, parse_marked
from sdgs._utils._number_parsing import MAX_TYPO_SHARE, abbreviate
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._column_format import ANY_MARK, ColumnFormat, JoinedTexts, cell_text
from sdgs.datasets.readers._column_selection import join_names
from sdgs.datasets.readers._table_source import python_values

_MARK_NAMES = {".": "point", ",": "comma"}


@dataclass
class Detected:
    """How the columns of a table are read.

    Attributes
    ----------
    formats : dict from names to ColumnFormat
    left_out : dict from names to str
        Columns that cannot be used, and why.
    notes : list of str
    """

    formats: dict[str, ColumnFormat] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def detect_formats(
    file: str, columns: dict[str, list[Any]], separator: str, as_numbers: Sequence[str], as_texts: Sequence[str]
) -> Detected:
    """Formats by the cells of each column, which are given in parts.

    ``separator`` is that of a CSV file. Columns of ``as_numbers`` are numbers, whatever else they hold, and those of
    ``as_texts`` are texts.
    """
    detected, notations = Detected(), dict[str, Notation]()
    for name, parts in columns.items():
        kind, reason = _kind(parts)
        if kind == "unusable":
            detected.left_out[name] = reason
        elif kind in ("date", "list") and name in as_numbers:
            raise DataFileError(f"{file}: the column {name!r} holds {kind}s, which cannot be read as numbers.")
        elif kind != "text":
            kind = "text" if name in as_texts else kind
            detected.formats[name] = ColumnFormat(kind, ANY_MARK if kind == "number" else ".")
            if reason:
                detected.notes.append(f"Column {name!r}: {reason}")
        elif name in as_texts:
            detected.formats[name] = ColumnFormat("text")
        else:
            notations[name] = _notation(parts)
    marks = {notation.decimals for notation in notations.values() if is_evidence(notation)}
    with_comma = list[str]()
    file_mark = marks.pop() if len(marks) == 1 else ""
    for name, notation in notations.items():
        if not notation.n_numbers and not notation.n_others:
            detected.left_out[name] = "it is empty"
        elif name in as_numbers or (notation.n_numbers and not notation.n_others and notation.decimals):
            mark = decimal_mark(notation, separator, file_mark)
            detected.formats[name] = ColumnFormat("number", mark, name in as_numbers)
            detected.notes += _number_notes(name, notation, mark)
            with_comma += [name] if mark == "," and notation.decimals == "," else []
        else:
            detected.formats[name] = ColumnFormat("text")
            detected.notes += _text_notes(name, notation)
    if with_comma:
        which = "Column" if len(with_comma) == 1 else "Columns"
        detected.notes.append(f"{which} {join_names(with_comma)}: numbers have a decimal comma.")
    detected.formats = {name: detected.formats[name] for name in columns if name in detected.formats}
    return detected


def _kind(parts: list[Any]) -> tuple[str, str]:
    """The kind of a column by the types of its cells, with a reason or a note."""
    if isinstance(parts[0], JoinedTexts):
        return "text", ""
    if not isinstance(parts[0], list):
        return _arrow_kind(parts[0].type)
    types = {type(cell) for part in parts for cell in part} - {type(None)}
    if not types:
        return "unusable", "it is empty"
    if list in types:
        return "list", "" if types == {list} else "single values are read as lists of one."
    if types <= {int, float}:
        return "number", ""
    return "date" if all(issubclass(type_, date) for type_ in types) else "text", ""


def _arrow_kind(type_: Any) -> tuple[str, str]:
    import pyarrow.types as pt

    if pt.is_dictionary(type_):
        type_ = type_.value_type
    if pt.is_null(type_):
        return "unusable", "it is empty"
    if pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_):
        return "number", ""
    if pt.is_date(type_) or pt.is_timestamp(type_):
        return "date", "times are converted to UTC." if getattr(type_, "tz", None) else ""
    if pt.is_list(type_) or pt.is_large_list(type_) or pt.is_fixed_size_list(type_):
        inner = type_.value_type
        nested = pt.is_nested(inner) or pt.is_binary(inner) or pt.is_large_binary(inner)
        return ("unusable", f"it is of type {type_}") if nested else ("list", "")
    is_text = pt.is_boolean(type_) or pt.is_string(type_) or pt.is_large_string(type_) or str(type_) == "string_view"
    if is_text or pt.is_time(type_) or pt.is_duration(type_):
        return "text", ""
    return "unusable", f"it is of type {type_}"


def _notation(parts: list[Any]) -> Notation:
    notation = Notation()
    n_cells = sum(map(_n_cells, parts))
    for part in parts:
        cells = part.cells() if isinstance(part, JoinedTexts) else python_values(part)
        notation.add([cell if isinstance(cell, str) else cell_text(cell) or "" for cell in cells])
        if notation.n_others > MAX_TYPO_SHARE * n_cells:  # it is text, whatever follows
            break
    return notation


def _n_cells(part: Any) -> int:
    return part.text.count("\0") + 1 if isinstance(part, JoinedTexts) else len(part)


def is_evidence(notation: Notation) -> bool:
    """Whether all cells are numbers that fit one decimal mark only."""
    return len(notation.decimals) == 1 and notation.n_numbers > 0 and not notation.n_others


def decimal_mark(notation: Notation, separator: str, file_mark: str) -> str:
    """The decimal mark of numbers that may fit both, by that of other columns and the separator of a CSV file."""
    if len(notation.decimals) == 1:
        return notation.decimals
    if file_mark:
        return file_mark
    return "," if separator == ";" and "," in notation.ambiguous else "."


def _number_notes(name: str, notation: Notation, mark: str) -> Iterator[str]:
    column = f"Column {name!r}"
    other = "," if mark == "." else "."
    if notation.n_others:
        yield f"{column}: cells that are not numbers, such as {abbreviate(notation.other)}, are missing values."
    if notation.ambiguous and len(notation.decimals) > 1:
        role = f"a decimal {_MARK_NAMES[mark]}" if mark in notation.ambiguous else "a mark between thousands"
        yield (
            f"{column}: {abbreviate(notation.ambiguous)} can be read in two ways; it is read with {role}, as "
            f"{_shown(notation.ambiguous, mark)}. If that is wrong, write the numbers without marks between thousands, "
            f"and with a decimal point."
        )
    else:
        cell = notation.grouped or (notation.ambiguous if other in notation.ambiguous else "")
        if cell:
            yield f"{column}: marks between thousands are removed: {abbreviate(cell)} is {_shown(cell, mark)}."
    if notation.units:
        units = " and ".join(notation.units)
        differ = len(notation.units) > 1 or notation.n_with_unit < notation.n_numbers
        warning = ". Not all cells have the same sign, but the numbers are compared as they are" if differ else ""
        yield f"{column}: numbers are read without the sign {units}{warning}."


def _shown(cell: str, mark: str) -> str:
    number = parse_marked(cell)
    value = None if number is None else number.value(mark)
    return "not a number" if value is None else f"{value:.15g}"


def _text_notes(name: str, notation: Notation) -> Iterator[str]:
    total = notation.n_numbers + notation.n_others
    if notation.n_others and notation.n_others <= MAX_TYPO_SHARE * total:
        yield (
            f"Column {name!r} is read as text: of {total:,} cells all are numbers except {notation.n_others:,}, "
            f"such as {abbreviate(notation.other)}. Correct them; or name it in numbers=[...] (--number), and they are "
            "missing values."
        )
    elif not notation.n_others:
        yield f"Column {name!r} is read as text: some numbers have a decimal point, and others a decimal comma."
