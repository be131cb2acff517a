"""Labels as people write them: one column that lists those of a sample, such as ``calm;sad``; and which columns may be.

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

from sdgs.datasets.readers._number_parsing import MISSING

SEPARATORS = ";|,"  # a comma last, for it may be part of a name
_NO_LABELS = {"", "none"}
_OFTEN = 3  # times that labels occur on average; other text says something new in every row
_PREFIX_ENDS = "_-.:"


def separator_in(cells: Iterable[Any]) -> str:
    """What stands between labels: the first of ``SEPARATORS`` that occurs at all; empty if none does."""
    found = {mark for cell in cells if isinstance(cell, str) for mark in SEPARATORS if mark in cell}
    return next((mark for mark in SEPARATORS if mark in found), "")


def separators_beside(labels: Sequence[str]) -> str:
    """Those that may stand between labels of these names."""
    return "".join(mark for mark in SEPARATORS if not any(mark in label for label in labels))


def labels_in(cell: Any, separators: str) -> list[str] | None:
    """The labels that a cell lists; None if they are not known. A cell of Parquet may be a list itself."""
    if cell is None:
        return None
    if not isinstance(cell, str):
        return [str(label).strip() for label in cell]
    text = cell.strip()
    if text.lower() in _NO_LABELS:
        return []
    if text.lower() in MISSING:
        return None
    mark = next((mark for mark in separators if mark in text), None)
    parts = [text] if mark is None else text.split(mark)
    return [part.strip() for part in parts if part.strip()]


def label_matrix(lists: Sequence[list[str] | None], labels: Sequence[str]) -> tuple[NDArray[np.float64], set[str]]:
    """0 and 1, a column a label, NaN where nothing is known of a sample; and what was listed beside those labels."""
    place = {label: j for j, label in enumerate(labels)}
    Y, others = np.zeros((len(lists), len(labels))), set[str]()
    for i, listed in enumerate(lists):
        if listed is None:
            Y[i] = math.nan
            continue
        others.update(label for label in listed if label not in place)
        Y[i, [place[label] for label in listed if label in place]] = 1
    return Y, others


@dataclass(frozen=True)
class LabelGuess:
    """Columns of a table that look like labels.

    Attributes
    ----------
    columns : tuple of str
        Each may be a label: it holds only 0 and 1, or yes and no.
    chosen_by : tuple of str
        Those columns in few words: a pattern if there is one that means no other column.
    lists : tuple of str
        Each may list all labels of a sample, as in ``calm;sad``.
    """

    columns: tuple[str, ...] = ()
    chosen_by: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


def guessed(names: Sequence[str], binary: Sequence[str], text: Mapping[str, Sequence[Any]]) -> LabelGuess:
    """From the names of all columns, those that are binary, and the cells of those that are text."""
    # Columns that begin alike are alike: a word that no sample has twice is still a count.
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(_prefix(name), set()).add(name)
    whole = [name for name in binary if not _prefix(name) or groups[_prefix(name)] <= set(binary)]
    columns = tuple(whole or binary)
    several, single = list[str](), list[str]()
    for name, cells in text.items():
        mark = separator_in(cells)
        counts = Counter(label for cell in cells for label in labels_in(cell, mark) or [])
        if len(counts) > 1 and counts.total() >= _OFTEN * len(counts):
            (several if mark or any(isinstance(cell, list) for cell in cells) else single).append(name)
    return LabelGuess(columns, _in_few_words(columns, names), tuple(several or ([] if columns else single)))


def _prefix(name: str) -> str:
    ends = [name.index(mark) for mark in _PREFIX_ENDS if mark in name]
    return name[: min(ends) + 1] if ends else ""


def _in_few_words(wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    prefixes = {_prefix(name) for name in wanted}
    pattern = f"{next(iter(prefixes), '')}*"
    means = [name for name in names if fnmatchcase(name, pattern)]
    return (pattern,) if len(means) > 1 and len(prefixes) == 1 and means == list(wanted) else tuple(wanted)
