"""Names from files as text to show."""

import re
from typing import Any

# Control characters, line and paragraph separators, bidirectional embeddings, overrides and isolates, and surrogates.
_NOT_PRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: Any, *, keep: str = "") -> str:
    r"""``str(value)``, in which characters that steer a terminal or a page are shown as escapes such as ``\x1b``.

    Those in ``keep`` are left alone, such as line breaks. Output for programs needs the names themselves.
    """

    def escaped(match: re.Match[str]) -> str:
        character = match[0]
        return character if character in keep else character.encode("unicode_escape").decode()

    return _NOT_PRINTABLE.sub(escaped, str(value))


def one_line(value: Any) -> str:
    """``str(value)`` in one printable line, for messages of other libraries inside an error."""
    return printable(re.sub(r"\s*\n\s*", " ", str(value)).strip())


def printable_json(text: str) -> str:
    r"""The same JSON, in which these characters inside strings are escapes such as ``\u009b``."""
    return _NOT_PRINTABLE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)
