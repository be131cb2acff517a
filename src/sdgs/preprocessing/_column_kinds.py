"""Which kind a column is of, and why."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sdgs.preprocessing._date_parsing import find_date_format
from sdgs.preprocessing._input_table import InputColumn
from sdgs.preprocessing._text_advice import NO_ADVICE, TextAdvice, advise_on_text
from sdgs.selection._defaults import MIN_CATEGORY_REPEATS

KINDS = ("number", "boolean", "category", "date", "text", "list", "drop")
# A number as programs write it. Leading zeros are those of a code, such as a postcode.
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
# Scripts without spaces between words: Thai to Lao, Myanmar, Khmer, kana, and Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class KindChoice:
    """The kind of a column and the reason for it; for dates that are text also their form, and for text a note."""

    kind: str
    reason: str
    date_format: str | None = None
    advice: TextAdvice = NO_ADVICE


def choose_kind(column: InputColumn, max_categories: int) -> KindChoice:
    """The kind that suits a column best."""
    if column.missing.all():
        return KindChoice("drop", "empty")
    if column.form == "lists":
        is_empty = not any(column.values)
        return KindChoice("drop", "all lists are empty") if is_empty else KindChoice("list", "lists of strings")
    if column.form != "strings":
        return _kind_of_values(column)
    if column.categories is not None:
        return _kind_of_categories(column)
    return _kind_of_strings(Counter(text for text in column.values if text is not None), column, max_categories)


def _kind_of_values(column: InputColumn) -> KindChoice:
    present = column.values[~column.missing]
    if present.min() == present.max() and not (column.form == "booleans" and present.size < column.values.size):
        return KindChoice("drop", "constant")
    kinds = {"numbers": ("number", "numbers"), "booleans": ("boolean", "true or false"), "dates": ("date", "dates")}
    return KindChoice(*kinds[column.form])


def _kind_of_categories(column: InputColumn) -> KindChoice:
    present = {text for text in column.values if text is not None}
    if len(present) == 1 and not column.missing.any():
        return KindChoice("drop", "constant")
    if column.is_ordered:
        return KindChoice("number", "ordered categories")
    return KindChoice("category", "a categorical column")


def _kind_of_strings(counts: Counter[str], column: InputColumn, max_categories: int) -> KindChoice:
    n = counts.total()
    if len(counts) == 1:
        if n == column.values.size:
            return KindChoice("drop", "constant")
        return KindChoice("category", "one value, or missing")
    if all(map(is_number, counts)):
        return KindChoice("number", "text that is numbers")
    date_format = find_date_format(counts)
    if date_format is not None:
        return KindChoice("date", f"dates as {date_format}", date_format)
    return replace(_kind_of_text(counts, max_categories), advice=advise_on_text(column.name, counts, is_number))


def _kind_of_text(counts: Counter[str], max_categories: int) -> KindChoice:
    n = counts.total()
    repeats = n >= MIN_CATEGORY_REPEATS * len(counts)
    if repeats and len(counts) <= max_categories:
        return KindChoice("category", f"{len(counts)} different values")
    has_words = any(re.search(r"\S\s+\S", text) or _UNSPACED.search(text) for text in counts)
    if has_words:
        return KindChoice("text", f"{len(counts)} different texts")
    if len(counts) == n:
        return KindChoice("drop", "an identifier: every value is different, without spaces")
    if repeats:
        return KindChoice("category", f"{len(counts)} different values without spaces")
    return KindChoice("text", f"{len(counts)} different values, few of them repeated")


def is_number(text: str) -> bool:
    """Whether it is a number as programs write it, without leading zeros."""
    text = text.strip()
    return _NUMBER.fullmatch(text) is not None and np.isfinite(float(text))


def text_analyzers(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Words; and groups of characters too where words are not separated by spaces, or a text is a single word."""
    present = [text for text in texts if text]
    needs_characters = sum(" " not in text.strip() or _UNSPACED.search(text) is not None for text in present)
    return ("word", "char_wb") if 2 * needs_characters > len(present) else ("word",)
