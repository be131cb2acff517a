"""Dates written as text: which of a few unambiguous forms a column has, and its values."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = "(?P<name>" + "|".join(["sept", *_MONTHS, *(name[:3] for name in _MONTHS)]) + ")"
_NUMBER_OF_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
_TIME = (
    r"(?:(?:[T ]|, )(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<half>[ap]m))?(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?)?"
)
_DAY, _NUMBER = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"
_PATTERNS = {
    "year-month-day": rf"{_YEAR}(?P<s>[-/.]){_NUMBER}(?P=s){_DAY}",
    "day.month.year": rf"{_DAY}\.{_NUMBER}\.{_YEAR}",
    "day/month/year": rf"{_DAY}(?P<s>[-/]){_NUMBER}(?P=s){_YEAR}",
    "month/day/year": rf"{_NUMBER}(?P<s>[-/]){_DAY}(?P=s){_YEAR}",
    "day name year": rf"{_DAY}[ -]{_MONTH}\.?[ -]{_YEAR}",
    "name day, year": rf"{_MONTH}\.? {_DAY},? {_YEAR}",
}
DATE_FORMATS = {name: re.compile(pattern + _TIME, re.IGNORECASE | re.ASCII) for name, pattern in _PATTERNS.items()}
_SLASHED = ("day/month/year", "month/day/year")
_MISSING = np.datetime64("NaT", "us")


def find_date_format(texts: Iterable[str]) -> str | None:
    """The name of the form in which all texts are dates; None if there is none, or if day and month may be swapped."""
    candidates = list(DATE_FORMATS)
    for text in texts:
        candidates = [name for name in candidates if not np.isnat(parse_date(text, name))]
        if not candidates:
            return None
    return None if len(candidates) != 1 else candidates[0]


def parse_dates(texts: Iterable[str | None], form: str) -> Array:
    """The texts as datetime64[us], in UTC where they name a zone; NaT for None and for what is no date of this form."""
    known: dict[str | None, np.datetime64] = {None: _MISSING}
    values = []
    for text in texts:
        if text not in known:
            known[text] = parse_date(str(text), form)
        values.append(known[text])
    return np.array(values, dtype="datetime64[us]")


def parse_date(text: str, form: str) -> np.datetime64:
    """One date, or NaT."""
    match = DATE_FORMATS[form].fullmatch(text.strip())
    if match is None:
        return _MISSING
    field = match.groupdict()
    month = int(field["month"]) if "month" in field else _NUMBER_OF_MONTH[field["name"][:3].lower()]
    hour = int(field["hour"] or 0)
    if field["half"] is not None:
        if not 1 <= hour <= 12:
            return _MISSING
        hour = hour % 12 + 12 * (field["half"].lower() == "pm")
    microsecond = int((field["fraction"] or "0")[:6].ljust(6, "0"))
    clock = hour, int(field["minute"] or 0), int(field["second"] or 0), microsecond
    try:
        moment = datetime(int(field["year"]), month, int(field["day"]), *clock, tzinfo=_zone(field["zone"]))
        return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")
    except (OverflowError, ValueError):  # there is no such day, or no such hour
        return _MISSING


def _zone(text: str | None) -> timezone:
    if text is None or text.upper() in ("Z", "UTC"):
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)
