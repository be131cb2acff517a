"""From the text of a cell to a number."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdgs.datasets.readers._arff import FALSE, TRUE

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


class BadCellError(ValueError):
    """A cell that is not what its column should hold: its place in the block, its text, and what to do."""

    def __init__(
        self, place: int, text: str, what: str, advice: str = "Mend it, or leave it empty if it is not known."
    ) -> None:
        super().__init__(text)
        self.place, self.text, self.what, self.advice = place, text, what, advice


def numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    """Features: numbers, yes and no; NaN where a cell is empty or says that the value is missing."""
    # float() reads 2021_03 as a number, which it is not meant to be.
    if "_" not in "".join(cells):
        try:
            values = np.array(list(map(float, cells)))
        except ValueError:
            pass
        else:
            if not np.isinf(values).any():
                return values
    return np.array([_number(cell, i) for i, cell in enumerate(cells)])


def _number(cell: str, place: int) -> float:
    text = cell.strip().lower()
    if text in MISSING:
        return math.nan
    if text in _WORDS:
        return _WORDS[text]
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        if _DECIMAL_COMMA.fullmatch(text):
            raise BadCellError(place, cell, "a number with a decimal comma", "Save the file with decimal points.")
        raise BadCellError(place, cell, "infinite" if math.isinf(value) else "not a number")
    return value


def count_text(cells: Sequence[str]) -> int:
    """Cells that are not meant to be numbers."""
    return sum(_is_text(cell.strip().lower()) for cell in cells)


def _is_text(text: str) -> bool:
    if text in MISSING or text in _WORDS or _DECIMAL_COMMA.fullmatch(text):
        return False
    try:
        return math.isnan(float(text)) or "_" in text
    except ValueError:
        return True


def yes_or_no(cells: Sequence[str]) -> NDArray[np.float64]:
    """Labels: 1 and 0, NaN where it is missing."""
    known = {cell: _yes_or_no(cell) for cell in set(cells)}
    for i, cell in enumerate(cells):
        if known[cell] is None:
            raise BadCellError(i, cell, "neither 0 nor 1, nor yes or no, nor true or false")
    return np.array([known[cell] for cell in cells], dtype=np.float64)


def _yes_or_no(cell: str) -> float | None:
    text = cell.strip().lower()
    if text in MISSING:
        return math.nan
    if text in TRUE | FALSE:
        return float(text in TRUE)
    try:
        return {0.0: 0.0, 1.0: 1.0}.get(float(text))
    except ValueError:
        return None
