"""What pages are rendered from records with: reading them, and Markdown tables."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).parent
SPACE = "\N{NO-BREAK SPACE}"
Record = dict[str, str]


def read_records(name: str) -> list[Record]:
    """Rows of docs/results/NAME.csv."""
    with (DOCS / "results" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], n_text_columns: int = 1) -> str:
    """A Markdown table; columns after the first ``n_text_columns`` are aligned to the right."""
    rule = ["---"] * n_text_columns + ["---:"] * (len(header) - n_text_columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def unique(values: Iterable[str]) -> list[str]:
    """Distinct values in their order of appearance."""
    return list(dict.fromkeys(values))


def sources_table(*names: str) -> str:
    """Where the records come from."""
    used = {r["source"] for name in names for r in read_records(name)}
    rows = [
        [
            r["note"],
            f"`{r['command']}`" if r["command"] else "\N{EN DASH}",
            r["published"],
            "; ".join(filter(None, (r["machine"], r["software"]))) or "\N{EN DASH}",
        ]
        for r in read_records("sources")
        if r["source"] in used
    ]
    return markdown_table(["Records", "Command", "Published", "Machine and software"], rows, n_text_columns=4)
