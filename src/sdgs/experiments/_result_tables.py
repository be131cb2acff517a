"""Read records, and turn them into the rows of the result tables."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from sdgs.experiments._extended_comparison import DIGITS
from sdgs.experiments._protocol import METHODS, PLANTED, RULES
from sdgs.experiments._published import PAPER_METRICS, SETS, published, violated_bounds
from sdgs.experiments._runner import run_file
from sdgs.metrics import METRICS

Record = dict[str, Any]


@dataclass(frozen=True)
class Records:
    """The finished records of the protocol that was last run in a folder."""

    protocol: dict[str, Any]
    runs: tuple[Record, ...]
    studies: tuple[Record, ...]
    beyond: tuple[Record, ...] = ()
    introduction: tuple[Record, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """Read all records of the protocol; records of earlier protocols in the same folder are ignored."""
        try:
            protocol = json.loads((folder / "protocol.json").read_text())
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} holds no records of runs. Create them with: sdgs reproduce") from None
        keys = product(protocol["datasets"], protocol["methods"], protocol["seeds"], RULES)
        runs = [folder / "runs" / run_file(*key) for key in keys]
        datasets = {*protocol["datasets"], PLANTED}
        studies = [json.loads(path.read_text()) for path in sorted((folder / "studies").glob("*.json"))]
        beyond = [json.loads(path.read_text()) for path in sorted((folder / "beyond").glob("*.json"))]
        introduction = [json.loads(path.read_text()) for path in sorted((folder / "introduction").glob("*.json"))]
        return cls(
            protocol,
            tuple(json.loads(path.read_text()) for path in runs if path.is_file()),
            tuple(study for study in studies if study["dataset"] in datasets),
            tuple(
                record
                for record in beyond
                if protocol["beyond"]
                and record["dataset"] in {*protocol["datasets"], DIGITS}
                and record["seed"] in protocol["beyond_seeds"]
                and record["method"] in protocol["beyond_methods"]
            ),
            tuple(
                record
                for record in introduction
                if protocol["all_methods"]
                and record["dataset"] in protocol["datasets"]
                and record["seed"] in protocol["seeds"]
            ),
        )

    @property
    def datasets(self) -> list[str]:
        """The paper's data sets in its order, then the others."""
        names = {run["dataset"] for run in self.runs}
        return [name for name in SETS if name in names] + sorted(names - set(SETS))

    @property
    def methods(self) -> list[str]:
        """In the paper's order."""
        return [name for name in METHODS if any(run["method"] == name for run in self.runs)]

    def study(self, kind: str, dataset: str) -> Record | None:
        """The record of a study, or None."""
        return next((s for s in self.studies if s["kind"] == kind and s["dataset"] == dataset), None)


@dataclass(frozen=True)
class Row:
    """One row of a table of results: a method on a data set, measured by one rule or published."""

    dataset: str
    method: str
    source: str  # "paper" or "cv" (measured with that rule), "both" (measured, no parameters to choose), "published"
    values: dict[str, float]  # metrics in percent, and CPU "seconds"
    text: dict[str, str]  # the values as shown
    spread: dict[str, float]  # standard deviation over seeds, if there are several
    seeds: int = 0
    parameters: str = ""
    impossible: tuple[str, ...] = ()
    below_most_frequent: bool = False
    speedup: float | None = None

    @property
    def title(self) -> str:
        """Name of the method."""
        return METHODS[self.method].title

    @property
    def measured(self) -> bool:
        """Whether the row was measured here."""
        return self.source != "published"


def title_of(dataset: str) -> str:
    """The name of a data set in tables and figures: that of the paper, if it has one."""
    if dataset == DIGITS:
        return "composite digits"
    return SETS[dataset].title if dataset in SETS else dataset


def result_rows(records: Records) -> list[Row]:
    """All rows by data set and method, measured before published."""
    rows = []
    for dataset in records.datasets:
        most_frequent = _measured_row(records, dataset, "floor", "cv")
        for method in records.methods:
            printed = published(dataset, method)
            measured = {rule: _measured_row(records, dataset, method, rule) for rule in RULES}
            if len(records.protocol["groups"][method]) == 1:
                measured = {"both": measured["paper"]}  # type: ignore[dict-item]
            for source, row in measured.items():
                if row is not None:
                    seconds = row.values["seconds"]  # 0 if the resolution of the clock is too coarse
                    speedup = float(printed["seconds"]) / seconds if printed and seconds > 0 else None
                    below = most_frequent is not None and row.values["f1"] < most_frequent.values["f1"]
                    rows.append(replace(row, source=source, below_most_frequent=below, speedup=speedup))
            if printed:
                values = {name: float(value) for name, value in printed.items()}
                violations = tuple(violated_bounds(printed))
                rows.append(Row(dataset, method, "published", values, dict(printed), {}, impossible=violations))
    return rows


def _measured_row(records: Records, dataset: str, method: str, rule: str) -> Row | None:
    """Means and standard deviations over the seeds, or None if there is no run."""
    runs = [r for r in records.runs if (r["dataset"], r["method"], r["rule"]) == (dataset, method, rule)]
    if not runs:
        return None
    columns = {name: [100 * run["test"][name] for run in runs] for name in PAPER_METRICS}
    columns["seconds"] = [run["seconds"]["fit"]["cpu"] + run["seconds"]["predict"]["cpu"] for run in runs]
    means = {name: mean(values) for name, values in columns.items()}
    texts = {name: _format(name, value) for name, value in means.items()}
    spread = {name: stdev(values) for name, values in columns.items()} if len(runs) > 1 else {}
    parameters = " or ".join(sorted({_format_parameters(run) for run in runs}))
    return Row(dataset, method, rule, means, texts, spread, len(runs), parameters)


def _format_parameters(run: Record) -> str:
    if run["method"] == "floor":
        return f"m={len(run['labels'])}"
    names = {"n_components": "r", "alpha": "\N{GREEK SMALL LETTER LAMDA}", "C": "C", "n_neighbors": "k"}
    if run["method"] == "mddm":
        names = {"n_neighbors": "k"}
    return ", ".join(
        f"{short}={run['parameters'][name]:g}" for name, short in names.items() if name in run["parameters"]
    )


def _format(name: str, value: float) -> str:
    if name == "seconds":
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    return f"{value:.1f}"


def to_csv(rows: Iterable[Row]) -> str:
    """The rows as CSV, with all figures in full precision."""
    out = io.StringIO()
    columns = [*PAPER_METRICS, "seconds"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["dataset", "method", "source", *columns, *(f"{c}_sd" for c in columns), "seeds", "parameters", "impossible"]
    )
    for row in rows:
        values = [row.text[c] if not row.measured else repr(round(row.values[c], 6)) for c in columns]
        spread = [repr(round(row.spread[c], 6)) if c in row.spread else "" for c in columns]
        key = [row.dataset, row.method, row.source]
        writer.writerow([*key, *values, *spread, row.seeds or "", row.parameters, "; ".join(row.impossible)])
    return out.getvalue()


SOURCES = {
    "paper": "best in training",
    "cv": "cross-validated",
    "both": "measured",
    "published": "published",
}


def to_markdown(rows: Iterable[Row], statistics: Iterable[list[str]]) -> str:
    """The tables of data sets and of results as Markdown."""
    lines = ["| Data set | n | p | k | Card |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells)} |" for cells in statistics]
    titles = [*(METRICS[name].title for name in PAPER_METRICS), "CPU s"]
    lines += ["", f"| Data set | Method | | {' | '.join(titles)} | |", f"|---|---|---|{'---:|' * len(titles)}---|"]
    for row in rows:
        remarks = [f"impossible: {bound}" for bound in row.impossible]
        remarks += ["F1 below that of the most frequent labels"] * row.below_most_frequent
        values = " | ".join(row.text[name] for name in (*PAPER_METRICS, "seconds"))
        source = SOURCES[row.source]
        lines.append(f"| {title_of(row.dataset)} | {row.title} | {source} | {values} | {'; '.join(remarks)} |")
    return "\n".join(lines) + "\n"
