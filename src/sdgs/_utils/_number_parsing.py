"""Parsing the text of cells: numbers, binary labels, missing values."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MISSING_WORDS = {"", "?", "na", "n/a", "nan", "null", "none"}
TRUE_WORDS, FALSE_WORDS = {"1", "yes", "true", "y", "t", "+"}, {"0", "no", "false", "n", "f", "-"}
_FEATURE_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}  # shorter words may be categories
MAX_TYPO_SHARE = 0.1  # of a column of numbers; a column with more text is not one
_NOT_A_NUMBER = "not a number"
_NOT_BINARY_ADVICE = (
    "If the column holds names of labels, as in 'calm;sad', name it as the column that lists them (label_column=..., "
    "on the command line --label-column). Else correct the cell, or leave it empty if the label is not known."
)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


class BadCellError(ValueError):
    """A cell that cannot be parsed: its row in the block, its text, what is wrong, and what to do."""

    def __init__(
        self, row: int, text: str, problem: str, advice: str = "Correct it, or leave it empty if it is not known."
    ) -> None:
        super().__init__(text)
        self.row, self.text, self.problem, self.advice = row, text, problem, advice


def parse_numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    """Feature values: numbers, or yes/no and true/false as 1/0; NaN for missing values."""
    # float() also accepts 2021_03, which is not meant as a number.
    if "_" not in "".join(cells):
        try:
            values = np.array(list(map(float, cells)))
        except ValueError:
            pass
        else:
            if not np.isinf(values).any():
                return values
    return np.array([_parse_number(cell, row) for row, cell in enumerate(cells)])


def _parse_number(cell: str, row: int) -> float:
    text = cell.strip().lower()
    if text in MISSING_WORDS:
        return math.nan
    if text in _FEATURE_WORDS:
        return _FEATURE_WORDS[text]
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        if _DECIMAL_COMMA.fullmatch(text):
            raise BadCellError(row, cell, "a number with a decimal comma", "Save the file with decimal points.")
        raise BadCellError(row, cell, "infinite" if math.isinf(value) else _NOT_A_NUMBER)
    return value


def count_text_cells(cells: Sequence[str]) -> int:
    """Cells that are text, and not a number with a typing error."""
    return sum(_is_text(cell) for cell in cells)


def _is_text(cell: str) -> bool:
    try:
        _parse_number(cell, 0)
    except BadCellError as error:
        return error.problem == _NOT_A_NUMBER
    return False


def parse_binary(cells: Sequence[str]) -> NDArray[np.float64]:
    """Label values: 1 or 0; NaN for missing values."""
    value_of = {cell: _parse_binary_cell(cell) for cell in set(cells)}
    for row, cell in enumerate(cells):
        if value_of[cell] is None:
            raise BadCellError(row, cell, "neither 0 nor 1, nor yes or no, nor true or false", _NOT_BINARY_ADVICE)
    return np.array([value_of[cell] for cell in cells], dtype=np.float64)


def _parse_binary_cell(cell: str) -> float | None:
    text = cell.strip().lower()
    if text in MISSING_WORDS:
        return math.nan
    if text in TRUE_WORDS | FALSE_WORDS:
        return float(text in TRUE_WORDS)
    try:
        return {0.0: 0.0, 1.0: 1.0}.get(float(text))
    except ValueError:
        return None


def abbreviate(text: str) -> str:
    """The text of a cell in messages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
