"""Results as DataFrames and as tables for notebooks."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sdgs._utils._text import printable


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A DataFrame; the error without pandas says what to do."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas.") from None
    return pd.DataFrame(dict(columns))


def html_page_table(summary: str, head: Sequence[str], rows: Sequence[Sequence[Any]], n_rows: int) -> str:
    """A summary and a table of the first of ``n_rows`` rows, with everything escaped."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in row)}</tr>" for row in rows)
    more = f"<p>... and {n_rows - len(rows):,} more.</p>" if n_rows > len(rows) else ""
    return f"<p>{escape(summary)}</p><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"
