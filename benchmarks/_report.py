"""What a run has to say: tables, claims that hold or fail, what was left out and why; on the console and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

Format = str | Callable[[Any], str]


@dataclass(frozen=True)
class Claim:
    """One thing that the project says of its speed: a figure, and the most or the least that it may be."""

    subject: str
    what: str
    value: float
    bound: float
    rule: str  # "at most" or "at least"
    holds: bool


@dataclass
class Report:
    """Collects what the subjects measure, and shows it as it comes."""

    console: Console
    subject: str = ""
    tables: list[dict[str, Any]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)

    def table(self, title: str, rows: Sequence[Mapping[str, Any]], formats: Mapping[str, Format]) -> None:
        """Show ``rows`` with the columns of ``formats``, and keep them with all that they hold."""
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(formats):
            table.add_column(name, justify="right" if number else "left", no_wrap=number == 0)
        for row in rows:
            table.add_row(*(_cell(row.get(name), form) for name, form in formats.items()))
        self.console.print(table)
        self.tables.append({"subject": self.subject, "title": title, "rows": [dict(row) for row in rows]})

    def at_most(self, bound: float, what: str, value: float) -> None:
        """Claim that a figure is no larger; NaN fails."""
        self.claims.append(Claim(self.subject, what, float(value), bound, "at most", bool(value <= bound)))

    def at_least(self, bound: float, what: str, value: float) -> None:
        """Claim that a figure is no smaller; NaN fails."""
        self.claims.append(Claim(self.subject, what, float(value), bound, "at least", bool(value >= bound)))

    def skip(self, what: str, reason: str) -> None:
        """Say what is left out, and why."""
        self.console.print(f"[yellow]left out[/]  {what}: {reason}")
        self.skipped.append({"subject": self.subject, "what": what, "reason": reason})

    def show_claims(self) -> bool:
        """Print every claim with its figure; whether all hold."""
        for claim in self.claims:
            verdict = "[green]holds[/]" if claim.holds else "[red]FAILS[/]"
            figures = f"{claim.value:.4g}, {claim.rule} {claim.bound:g}"
            self.console.print(f"{verdict}  {claim.subject}: {claim.what} ({figures})", highlight=False)
        return all(claim.holds for claim in self.claims)

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {"claims": [asdict(claim) for claim in self.claims], "skipped": self.skipped, "tables": self.tables}


def _cell(value: Any, form: Format) -> str:
    if value is None:
        return "-"
    return form(value) if callable(form) else format(value, form)


def ratio(value: float) -> str:
    """A ratio with two digits that mean something: 1.3x, 25x, 1,200x."""
    return f"{value:,.1f}x" if value < 10 else f"{value:,.0f}x"
