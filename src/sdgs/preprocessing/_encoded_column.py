"""What the encoder did with each column, and pages about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class EncodedColumn:
    """What a :class:`TableEncoder` does with a column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "date", "text", "list", "drop"}
    reason : str
        Why it is of this kind.
    n_features : int
        Number of features that it becomes.
    note : str
        What else there is to know, such as entries that are missing; may be empty.
    """

    name: str
    kind: str
    reason: str
    n_features: int
    note: str = ""


_HEADINGS = ("column", "kind", "why", "features", "note")
_MAX_NOTE_WIDTH = 240  # the last column, which says what to do


def _cells(columns: Sequence[EncodedColumn]) -> list[tuple[str, ...]]:
    return [(column.name, column.kind, column.reason, str(column.n_features), column.note) for column in columns]


def columns_as_text(columns: Sequence[EncodedColumn], max_width: int = 60) -> str:
    """A table in plain text; longer cells are cut."""
    cells = [_HEADINGS, *_cells(columns)]
    widths = [max_width] * (len(_HEADINGS) - 1) + [_MAX_NOTE_WIDTH]
    lines = [
        [" ".join(_shortened(cell, width).split()) for cell, width in zip(row, widths, strict=True)] for row in cells
    ]
    widths = [max(len(row[j]) for row in lines) for j in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines
    )


def _shortened(text: str, max_width: int) -> str:
    return text if len(text) <= max_width else text[: max_width - 3] + "..."


def columns_as_html(title: str, columns: Sequence[EncodedColumn]) -> str:
    """A table in HTML, with all names escaped."""
    head = "".join(f"<th style='text-align:left'>{heading}</th>" for heading in _HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(columns)
    )
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
