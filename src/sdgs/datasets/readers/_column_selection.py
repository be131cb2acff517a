"""Columns by name: which are labels, which are left out, and what was meant where a name is not there."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from sdgs.datasets._errors import DataFileError

_MANY = 6  # names in a message


def chosen(wanted: Sequence[str], names: Sequence[str], file: str, what: str = "label") -> list[str]:
    """The names that ``wanted`` stands for, in its order: each a name, or a pattern with ``*``, ``?`` and ``[abc]``."""
    there = set(names)
    found: dict[str, None] = {}
    for one in wanted:
        matches = [one] if one in there else [name for name in names if fnmatchcase(name, one)]
        if not matches:
            several = sum(name.startswith(one) for name in names) > 1
            hint = f"Several begin with it: {one + '*'!r} means them all." if several else near(one, names)
            raise DataFileError(f"{file}: no column is named {one!r}, which should be a {what}. {hint}")
        found.update(dict.fromkeys(matches))
    return list(found)


def near(name: str, names: Sequence[str]) -> str:
    """What may have been meant, in a sentence."""
    lower: dict[str, list[str]] = {}
    for other in names:
        lower.setdefault(other.lower().strip(), []).append(other)
    similar = get_close_matches(name.lower().strip(), list(lower), n=5, cutoff=0.6)
    close = [other for match in similar for other in lower[match]]
    return f"Near it: {listed(close)}." if close else f"The columns are {listed(names)}."


def listed(names: Sequence[str]) -> str:
    """Names with commas between, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:_MANY])
    return f"{shown} and {len(names) - _MANY} more" if len(names) > _MANY else shown
