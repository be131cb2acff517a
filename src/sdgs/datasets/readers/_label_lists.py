"""Labels as a list in one column, such as ``calm;sad``, and guessing which columns are labels.

Plain functions on the cells of columns.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import MISSING_WORDS

_SEPARATORS = ";|,"  # the comma last, because it may be part of a name
_NO_LABELS = {"", "none"}
_MIN_MEAN_COUNT = 3  # a column of labels repeats each label about this often; free text does not
_PREFIX_ENDS = "_-.:"


def find_separator(cells: Iterable[Any]) -> str:
    """The separator of lists: the first of ``;``, ``|`` and ``,`` that occurs in a cell; empty if none does."""
    used = {mark for cell in cells if isinstance(cell, str) for mark in _SEPARATORS if mark in cell}
    return next((mark for mark in _SEPARATORS if mark in used), "")


def usable_separators(labels: Sequence[str]) -> str:
    """Separators that are not part of a label's name."""
    return "".join(mark for mark in _SEPARATORS if not any(mark in label for label in labels))


def split_labels(cell: Any, separators: str) -> list[str] | None:
    """The labels that a cell lists; None if the cell is missing. In Parquet a cell may be a list itself."""
    if cell is None:
        return None
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
        Columns that may list all labels of a sample, as in ``calm;sad``.
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
    lists, single_labels = list[str](), list[str]()
    for name, cells in text.items():
        separator = find_separator(cells)
        counts = Counter(label for cell in cells for label in split_labels(cell, separator) or [])
        if len(counts) > 1 and counts.total() >= _MIN_MEAN_COUNT * len(counts):
            has_lists = separator or any(isinstance(cell, list) for cell in cells)
            (lists if has_lists else single_labels).append(name)
    return LabelGuess(columns, _as_patterns(columns, names), tuple(lists or ([] if columns else single_labels)))


def _prefix(name: str) -> str:
    ends = [name.index(mark) for mark in _PREFIX_ENDS if mark in name]
    return name[: min(ends) + 1] if ends else ""


def _as_patterns(columns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    prefixes = {_prefix(name) for name in columns}
    pattern = f"{next(iter(prefixes), '')}*"
    matches = [name for name in names if fnmatchcase(name, pattern)]
    unique = len(matches) > 1 and len(prefixes) == 1 and matches == list(columns)
    return (pattern,) if unique else tuple(columns)
