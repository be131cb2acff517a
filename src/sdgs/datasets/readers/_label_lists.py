"""Labels as a list in one column, such as ``calm;sad``, and guessing which columns are labels.

Plain functions on the cells of columns.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._marked_numbers import is_missing, parse_marked
from sdgs._utils._number_parsing import MAX_TYPO_SHARE, MISSING_WORDS

_SEPARATORS = ";|,"  # the comma last, because it may be part of a name
_NO_LABELS = {"", "none"}
_MIN_MEAN_COUNT = 3  # a column of labels repeats each label about this often; free text does not
_MAX_MEAN_WORDS = 4  # of a label; free text between commas has more
_PREFIX_ENDS = "_-.:"
# 2025-03-14, 14.3.25, 3/14/2025, 14 March 2025, March 14, 2025; each with a time or without.
_DATE = re.compile(
    r"(?:\d{1,4}(?P<mark>[-/.]) ?\d{1,2}(?P=mark) ?\d{1,4}|\d{1,2}\.?[- ][^\W\d_]{3,}\.?,?[- ]\d{2,4}"
    r"|[^\W\d_]{3,}\.? \d{1,2},? \d{4})(?:(?:T|,? )\d{1,2}:\d\d.*)?"
)


def find_separator(cells: Iterable[Any]) -> str:
    """The separator of lists: the first of ``;``, ``|`` and ``,`` that occurs in a cell; empty if none does."""
    used = {mark for cell in cells if isinstance(cell, str) for mark in _SEPARATORS if mark in cell}
    return next((mark for mark in _SEPARATORS if mark in used), "")


def usable_separators(labels: Sequence[str]) -> str:
    """Separators that are not part of a label's name."""
    return "".join(mark for mark in _SEPARATORS if not any(mark in label for label in labels))


def split_labels(cell: Any, separators: str) -> list[str] | None:
    """The labels that a cell lists; None if it says that they are not known, as NA and ? do.

    An empty cell lists no labels. Formats differ in whether it is an empty text or None: Excel has only None. In
    Parquet and JSON lines a cell may be a list itself.
    """
    if cell is None:
        return []
    if not isinstance(cell, str):
        return [str(label).strip() for label in cell]
    text = cell.strip()
    if text.lower() in _NO_LABELS:
        return []
    if text.lower() in MISSING_WORDS:
        return None
    separator = next((mark for mark in separators if mark in text), None)
    parts = [text] if separator is None else text.split(separator)
    return [part.strip() for part in parts if part.strip()]


def binarize_lists(lists: Sequence[list[str] | None], labels: Sequence[str]) -> tuple[NDArray[np.float64], set[str]]:
    """The label matrix, with NaN rows for missing lists; and the listed names that are not in ``labels``."""
    column_of = {label: j for j, label in enumerate(labels)}
    Y, unknown = np.zeros((len(lists), len(labels))), set[str]()
    for i, sample_labels in enumerate(lists):
        if sample_labels is None:
            Y[i] = math.nan
            continue
        unknown.update(label for label in sample_labels if label not in column_of)
        Y[i, [column_of[label] for label in sample_labels if label in column_of]] = 1
    return Y, unknown


@dataclass(frozen=True)
class LabelGuess:
    """Columns of a table that look like labels.

    Attributes
    ----------
    columns : tuple of str
        Columns that may be labels: they hold only 0 and 1, or yes and no.
    patterns : tuple of str
        The same columns for the ``labels`` argument of :func:`read`: one pattern if it matches no other column, else
        their names.
    lists : tuple of str
        Columns that may list all labels of a sample, as in ``calm;sad``, those with the fewest labels first. Columns of
        numbers, dates and free text are not among them.
    """

    columns: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


def guess_label_columns(names: Sequence[str], binary: Sequence[str], text: Mapping[str, Sequence[Any]]) -> LabelGuess:
    """Guess from the names of all columns, the names of binary columns, and the cells of text columns."""
    # Columns with the same prefix are of the same kind: in word_1, word_2, ... a count may happen to be binary.
    binary_names = set(binary)
    mixed_prefixes = {_prefix(name) for name in names if name not in binary_names} - {""}
    in_binary_groups = [name for name in binary if _prefix(name) not in mixed_prefixes]
    columns = tuple(in_binary_groups or binary)
    lists, single_labels = dict[str, int](), dict[str, int]()
    for name, cells in text.items():
        separator = find_separator(cells)
        counts = Counter(label for cell in cells for label in split_labels(cell, separator) or [])
        repeats = len(counts) > 1 and counts.total() >= _MIN_MEAN_COUNT * len(counts)
        if repeats and not _are_long(counts) and not _are_numbers_or_dates(cells):
            has_lists = separator or any(isinstance(cell, list) for cell in cells)
            (lists if has_lists else single_labels)[name] = len(counts)
    found = lists or ({} if columns else single_labels)
    return LabelGuess(columns, _as_patterns(columns, names), tuple(sorted(found, key=lambda name: found[name])))


def _are_long(counts: Counter[str]) -> bool:
    """Whether the items are phrases, as free text between commas is."""
    return sum(len(label.split()) * n for label, n in counts.items()) > _MAX_MEAN_WORDS * counts.total()


def _are_numbers_or_dates(cells: Sequence[Any]) -> bool:
    """Whether nearly all texts are numbers, or nearly all are dates, also as people write them."""
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    n_numbers = sum(parse_marked(text) is not None for text in texts)
    n_dates = sum(_DATE.fullmatch(text) is not None for text in texts)
    return bool(texts) and max(n_numbers, n_dates) >= (1 - MAX_TYPO_SHARE) * len(texts)


def _prefix(name: str) -> str:
    ends = [name.index(mark) for mark in _PREFIX_ENDS if mark in name]
    return name[: min(ends) + 1] if ends else ""


def _as_patterns(columns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    prefixes = {_prefix(name) for name in columns}
    pattern = f"{next(iter(prefixes), '')}*"
    matches = [name for name in names if fnmatchcase(name, pattern)]
    unique = len(matches) > 1 and len(prefixes) == 1 and matches == list(columns)
    return (pattern,) if unique else tuple(columns)
