"""Selecting columns by name or pattern, with suggestions where a name does not exist."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from sdgs.datasets._errors import DataFileError

_MAX_NAMES_SHOWN = 6
_MAX_NAMES_COMPARED = 10_000  # in search of similar ones, because each takes about 10 us


def match_columns(patterns: Sequence[str], names: Sequence[str], file: str, role: str = "label") -> list[str]:
    """Columns that match, in the order of the patterns: names, or patterns with ``*``, ``?`` and ``[abc]``."""
    existing = set(names)
    matched: dict[str, None] = {}
    for pattern in patterns:
        matches = [pattern] if pattern in existing else [name for name in names if fnmatchcase(name, pattern)]
        if not matches:
            is_prefix = sum(name.startswith(pattern) for name in names) > 1
            hint = f"Several names start with it: {pattern + '*'!r} matches them." if is_prefix else ""
            is_pattern = any(mark in pattern for mark in "*?[")
            verb = "matches" if is_pattern else "is named"
            raise DataFileError(
                f"{file}: no column {verb} {pattern!r}, which should be a {role}. "
                f"{hint or suggest_similar(pattern.strip('*?'), names)}"
            )
        matched.update(dict.fromkeys(matches))
    return list(matched)


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time; None if all are different."""
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def suggest_similar(name: str, names: Sequence[str]) -> str:
    """A sentence with the names that are similar, or with all names if none is."""
    by_lower_case: dict[str, list[str]] = {}
    for existing in names[:_MAX_NAMES_COMPARED]:
        by_lower_case.setdefault(existing.lower().strip(), []).append(existing)
    matches = get_close_matches(name.lower().strip(), list(by_lower_case), n=5, cutoff=0.6)
    similar = [existing for match in matches for existing in by_lower_case[match]]
    return f"Similar: {join_names(similar)}." if similar else f"The columns are {join_names(names)}."


def join_names(names: Sequence[str]) -> str:
    """Quoted names, shortened to the first few."""
    shown = ", ".join(repr(name) for name in names[:_MAX_NAMES_SHOWN])
    return f"{shown} and {len(names) - _MAX_NAMES_SHOWN} more" if len(names) > _MAX_NAMES_SHOWN else shown
