"""The results of a run on the console and as JSON: tables, claims, and what was skipped and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

Format = str | Callable[[Any], str]


@dataclass(frozen=True)
class Claim:
    """One claim about speed or memory: a measured value and its upper or lower bound."""

    subject: str
    quantity: str
    case: str
    value: float
    unit: str
    bound: float
    rule: str  # "at most" or "at least"
    holds: bool


@dataclass
class Report:
    """Collects the results of the subjects and prints each as soon as it is known."""

    console: Console
    subject: str = ""
    tables: list[dict[str, Any]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)

    def add_table(self, title: str, rows: Sequence[Mapping[str, Any]], formats: Mapping[str, Format]) -> None:
        """Print the columns of ``rows`` that ``formats`` names, and record all of their columns."""
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(formats):
            table.add_column(name, justify="right" if number else "left", no_wrap=number == 0)
        for row in rows:
            table.add_row(*(_format_cell(row.get(name), cell_format) for name, cell_format in formats.items()))
        self.console.print(table)
        self.tables.append({"subject": self.subject, "title": title, "rows": [dict(row) for row in rows]})

    def claim_at_most(self, bound: float, quantity: str, value: float, case: str = "", unit: str = "x") -> None:
        """Claim that ``value`` is at most ``bound``; NaN fails. The unit "x" is for ratios."""
        self._add_claim(quantity, case, value, unit, bound, "at most", value <= bound)

    def claim_at_least(self, bound: float, quantity: str, value: float, case: str = "", unit: str = "x") -> None:
        """Claim that ``value`` is at least ``bound``; NaN fails. The unit "x" is for ratios."""
        self._add_claim(quantity, case, value, unit, bound, "at least", value >= bound)

    def _add_claim(
        self, quantity: str, case: str, value: float, unit: str, bound: float, rule: str, holds: bool
    ) -> None:
        self.claims.append(Claim(self.subject, quantity, case, float(value), unit, bound, rule, bool(holds)))

    def skip(self, measurement: str, reason: str) -> None:
        """Print and record what is skipped, and why."""
        self.console.print(f"[yellow]skipped[/]  {measurement}: {reason}")
        self.skipped.append({"subject": self.subject, "measurement": measurement, "reason": reason})

    def show_claims(self) -> bool:
        """Print every claim with its value; returns whether all hold."""
        for claim in self.claims:
            verdict = "[green]holds[/]" if claim.holds else "[red]FAILS[/]"
            comparison = f"{claim.value:.4g}, {claim.rule} {claim.bound:g}"
            name = ": ".join(filter(None, (claim.subject, claim.quantity, claim.case)))
            self.console.print(f"{verdict}  {name} ({comparison})", highlight=False)
        return all(claim.holds for claim in self.claims)

    def record(self) -> dict[str, Any]:
        """All results, ready for JSON."""
        return {"claims": [asdict(claim) for claim in self.claims], "skipped": self.skipped, "tables": self.tables}


def _format_cell(value: Any, cell_format: Format) -> str:
    if value is None:
        return "-"
    return cell_format(value) if callable(cell_format) else format(value, cell_format)


def format_ratio(value: float) -> str:
    """One decimal below 10, none above: 1.3x, 25x, 1,200x."""
    return f"{value:,.1f}x" if value < 10 else f"{value:,.0f}x"
