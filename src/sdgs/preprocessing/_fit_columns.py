"""Fitting the encoder of one column, given its kind."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._marked_numbers import parse_marked
from sdgs._utils._number_parsing import abbreviate
from sdgs.preprocessing._category_columns import CategoryColumn, ListColumn
from sdgs.preprocessing._column_kinds import KindChoice, text_analyzers
from sdgs.preprocessing._input_table import InputColumn, as_numbers, as_strings
from sdgs.preprocessing._number_columns import DateColumn, NumberColumn, as_dates
from sdgs.preprocessing._text_advice import HOW_TO_CONVERT, most_frequent_date_format
from sdgs.preprocessing._text_columns import EmbeddedColumn, TextColumn
from sdgs.selection._defaults import MAX_TERMS, MIN_CATEGORY_COUNT, MIN_TERM_COUNT

ColumnEncoder = NumberColumn | DateColumn | CategoryColumn | ListColumn | TextColumn | EmbeddedColumn


Embedding = Callable[[list[str]], Any]


def fit_column(
    column: InputColumn, choice: KindChoice, text: tuple[str, ...] | Embedding | None, max_categories: int
) -> tuple[ColumnEncoder, Any] | str:
    """The encoder of a column and the encoded column, or the reason why there is none.

    ``text`` are the analyzers of a text, a function that returns vectors, or None.
    """
    if choice.kind == "drop":
        return choice.reason
    if column.missing.all():
        return "empty"
    if choice.kind == "number":
        return _fit_number(column)
    if choice.kind == "date":
        return _fit_date(column, choice.date_format)
    if choice.kind == "text":
        return _fit_text(column, text)
    if choice.kind == "list":
        encoder, block = ListColumn.fit(column, MIN_CATEGORY_COUNT, MAX_TERMS)
        if not encoder.values:
            encoder, block = ListColumn.fit(column, 1, MAX_TERMS)
        return (encoder, block) if encoder.values else "all lists are empty"
    return CategoryColumn.fit(column, MIN_CATEGORY_COUNT, max_categories)


def _fit_number(column: InputColumn) -> tuple[ColumnEncoder, Any] | str:
    if column.is_ordered and column.categories is not None:
        return NumberColumn.fit(column, column.categories)
    values = as_numbers(column)
    others = not_parsed(column, values)
    marked = next((text for text in others if parse_marked(text) is not None), None)
    if marked is not None:
        raise ValueError(
            f"column {column.name!r} has numbers such as {abbreviate(marked)}, which the encoder does not parse: "
            f"{HOW_TO_CONVERT}."
        )
    if np.isnan(values).all():
        raise ValueError(
            f"column {column.name!r} has no number: a cell is {abbreviate(others[0])}. Choose another kind for it, or "
            "drop it."
        )
    return NumberColumn.fit(column) if np.nanmin(values) < np.nanmax(values) else "constant"


def _fit_date(column: InputColumn, form: str | None) -> tuple[ColumnEncoder, Any] | str:
    if column.form == "strings" and form is None:
        counts = Counter(text for text in column.values if text is not None)
        form, _ = most_frequent_date_format(counts, max_others=counts.total())
        if form is None:
            raise ValueError(
                f"column {column.name!r} is not in a form of dates that is known, or day and month could be swapped: a "
                f"cell is {abbreviate(next(iter(counts)))}. Convert it first, for example by "
                'pandas.to_datetime(..., format="%d/%m/%Y").'
            )
    dates = as_dates(column, form)
    present = dates[~np.isnat(dates)]
    return DateColumn.fit(column, form) if present.min() < present.max() else "constant"


def _fit_text(column: InputColumn, text: tuple[str, ...] | Embedding | None) -> tuple[ColumnEncoder, Any] | str:
    if callable(text):
        return EmbeddedColumn.fit(column, text)
    texts = as_strings(column)
    analyzers: Sequence[str] = text_analyzers(texts) if text is None else text
    return TextColumn.fit(column, analyzers, MIN_TERM_COUNT, MAX_TERMS) or "it has no words"


def not_parsed(column: InputColumn, values: NDArray[Any]) -> list[str]:
    """Cells of a column of text that are not missing, but whose values are."""
    if column.form != "strings":
        return []
    is_missing = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    return [text for text in column.values[is_missing] if text is not None]


def _others_of(column: InputColumn, encoder: ColumnEncoder) -> tuple[str, list[str]]:
    """What the values of a column are, and the cells that are something else."""
    if isinstance(encoder, DateColumn):
        return "date", not_parsed(column, as_dates(column, encoder.form))
    is_number = isinstance(encoder, NumberColumn) and encoder.levels is None
    return "number", not_parsed(column, as_numbers(column)) if is_number else []


def note_on(column: InputColumn, encoder: ColumnEncoder) -> str:
    """What a user should know of how a column is encoded."""
    notes = []
    n_missing = int(column.missing.sum())
    if n_missing:
        notes.append(f"{n_missing} missing")
    kind, others = _others_of(column, encoder)
    if others:
        notes.append(f"{len(others)} missing, because {abbreviate(others[0])} is no {kind}")
    if isinstance(encoder, CategoryColumn) and encoder.has_rare:
        counts = Counter(text for text in as_strings(column) if text is not None)
        notes.append(f"{len(counts) - len(encoder.values)} rare values together")
    if isinstance(encoder, TextColumn):
        kinds = {"word": "words", "char_wb": "groups of characters"}
        notes.append(" and ".join(f"{len(part.terms)} {kinds[part.analyzer]}" for part in encoder.parts))
    if isinstance(encoder, DateColumn):
        notes.append(", ".join(encoder.parts))
    return "; ".join(notes)
