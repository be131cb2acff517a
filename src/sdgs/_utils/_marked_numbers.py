"""Numbers as people write them: decimal commas, thousands marks, currency and percent signs."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._number_parsing import MISSING_WORDS, BadCellError

# The signs of Unicode's class Sc that are in use, and the codes of the most traded currencies.
_CURRENCY = (
    r"(?:[$\u00a2-\u00a5\u20a0-\u20c0\uff04\uffe0\uffe1\uffe5]|"
    r"(?:US|CA|AU|NZ|HK|R|C|A)\$|kr\.?|zł|Kč|Ft|"
    r"(?:EUR|USD|GBP|JPY|CHF|CNY|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|HKD|SGD|INR|BRL|MXN|KRW|ZAR|TRY)(?![A-Za-z]))"
)
_SPACES = " \u00a0\u2009\u202f"  # which group digits: of three kinds that do not break lines
_GROUPED = r"[1-9][0-9]{0,2}(?:(?P<%s>[%s])[0-9]{3})(?:(?P=%s)[0-9]{3})*"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"


def _number_pattern(mark: str, groups: str) -> re.Pattern[str]:
    mark = re.escape(mark)
    plain = rf"(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+){_EXPONENT}"
    grouped = _GROUPED % ("group", groups + _SPACES + "'\u2019", "group") + rf"(?:{mark}[0-9]+)?"
    return re.compile(rf"{plain}|{grouped}")


_PATTERNS = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}
_PARTS = re.compile(
    rf"(?P<sign>[+\-\u2212]?)\s*(?P<before>{_CURRENCY}?)\s*(?P<inner_sign>[+\-\u2212]?)"
    rf"(?P<number>[0-9.,](?:[0-9.,'\u2019{_SPACES}]*[0-9.,])?{_EXPONENT})\s*(?P<after>(?:{_CURRENCY}|%)?)"
)
_PLAIN = re.compile(r"[0-9.eE+\-\0]*")  # the characters of plain numbers, and the mark between cells
_CODES = re.compile(r"(?:^|\0)[+-]?0[0-9]+(?:\0|$)")
_CODE = re.compile(r"[+-]?0[0-9]+")
_MAX_LENGTH = 64  # of a cell that may be a number in another notation


@dataclass(frozen=True)
class MarkedNumber:
    """The number in a cell by both readings of marks, which is None where the cell does not fit, and its unit."""

    with_point: float | None
    with_comma: float | None
    unit: str  # a currency, ``%`` or nothing
    grouped: bool  # whether digits are in groups, if there is one reading

    @property
    def ambiguous(self) -> bool:
        """Whether the readings differ, as in ``1,234``."""
        return self.with_point is not None and self.with_comma is not None and self.with_point != self.with_comma

    def value(self, decimal: str) -> float | None:
        """The number if this is its decimal mark."""
        return self.with_comma if decimal == "," else self.with_point


@lru_cache(maxsize=1 << 14)
def parse_marked(text: str) -> MarkedNumber | None:
    """A number in a notation of people, or None."""
    text = text.strip()
    match = _PARTS.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None or (match["sign"] and match["inner_sign"]) or (match["before"] and match["after"]):
        return None
    sign = -1.0 if (match["sign"] or match["inner_sign"]) in ("-", "\u2212") else 1.0
    with_point, with_comma = (_value(match["number"], decimal, sign) for decimal in (".", ","))
    if with_point is None and with_comma is None:
        return None
    grouped = re.search(r"[0-9][^0-9eE+-][0-9]{3}(?![0-9])", match["number"]) is not None
    return MarkedNumber(with_point, with_comma, (match["before"] or match["after"]).strip(), grouped)


def _value(text: str, decimal: str, sign: float) -> float | None:
    match = _PATTERNS[decimal].fullmatch(text)
    if match is None:
        return None
    digits = text.replace(match["group"], "") if match["group"] else text
    value = float(digits.replace(decimal, "."))
    return sign * value if math.isfinite(value) else None


def is_code(text: str) -> bool:
    """Whether a cell has leading zeros, as postal codes and article numbers have, and numbers do not."""
    return _CODE.fullmatch(text.strip()) is not None


def parse_marked_numbers(cells: Sequence[str], decimal: str, *, others_missing: bool = False) -> NDArray[np.float64]:
    """Numbers with this decimal mark; NaN for missing values, and for other cells if ``others_missing``."""
    if decimal == ".":
        joined = "".join(cells)
        if joined.isascii() and "_" not in joined:  # which float() accepts
            try:
                values = np.array([float(cell or "nan") for cell in cells])
            except ValueError:
                pass
            else:
                if not np.isinf(values).any():
                    return values
    return np.array([_parse_cell(cell, row, decimal, others_missing) for row, cell in enumerate(cells)])


def _parse_cell(cell: str, row: int, decimal: str, others_missing: bool) -> float:
    if is_missing(cell):
        return math.nan
    number = parse_marked(cell)
    value = None if number is None else number.value(decimal)
    if value is not None:
        return value
    if others_missing:
        return math.nan
    if number is None:
        raise BadCellError(row, cell, "not a number")
    mark = "point" if decimal == "." else "comma"
    raise BadCellError(row, cell, f"not a number with a decimal {mark}", f"In training the column had decimal {mark}s.")


def is_missing(cell: str) -> bool:
    """Whether the text of a cell stands for a missing value."""
    return not cell or (len(cell) <= _MAX_LENGTH and cell.strip().lower() in MISSING_WORDS) or cell.isspace()


class Notation:
    """How the numbers of a column are written, found part by part.

    Attributes
    ----------
    decimals : str
        The decimal marks that fit all numbers: ``"."``, ``","``, or both.
    units : list of str
        Currencies and percent signs.
    ambiguous : str
        A cell that both marks fit, with different numbers; empty if there is none.
    grouped : str
        Another cell with groups of digits; empty if there is none.
    n_numbers, n_others, n_with_unit : int
        Cells that are numbers, that are not, and that have a unit.
    other : str
        The first cell that is not a number.
    """

    def __init__(self) -> None:
        self.decimals, self.units = ".,", list[str]()
        self.ambiguous = self.grouped = self.other = ""
        self.n_numbers = self.n_others = self.n_with_unit = 0

    def add(self, cells: Sequence[str]) -> None:
        """Take cells into account, some of which may be missing."""
        if self._are_plain(cells):
            self.n_numbers += sum(map(bool, cells))
            return
        for cell, count in Counter(cells).items():
            if not is_missing(cell):
                self.add_cell(cell, count)

    def add_cell(self, cell: str, count: int) -> None:
        """Take a cell into account that occurs ``count`` times, and is not missing."""
        number = None if is_code(cell) else parse_marked(cell)
        if number is None:
            self.n_others, self.other = self.n_others + count, self.other or cell
            return
        self.n_numbers += count
        self.decimals = "".join(mark for mark in self.decimals if number.value(mark) is not None)
        if number.unit:
            self.n_with_unit += count
            self.units += [] if number.unit in self.units else [number.unit]
        if number.ambiguous:
            self.ambiguous = self.ambiguous or cell
        elif number.grouped:
            self.grouped = self.grouped or cell

    def _are_plain(self, cells: Sequence[str]) -> bool:
        """Whether all cells are numbers without a mark, or with the decimal point that the column is known to have.

        Such cells, which are most of all cells, need not be looked at one by one.
        """
        joined = "\0".join(cells)
        if not _PLAIN.fullmatch(joined) or _CODES.search(joined) or ("." in joined and self.decimals != "."):
            return False
        try:
            return not np.isinf([float(cell or "nan") for cell in cells]).any()
        except ValueError:
            return False
