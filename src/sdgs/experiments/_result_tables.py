"""From records to the rows of the tables: plain values, no layout."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from sdgs.experiments._extended_comparison import DIGITS
from sdgs.experiments._protocol import METHODS, PLANTED, RULES
from sdgs.experiments._published import MEASURES, SETS, broken_bounds, published
from sdgs.experiments._runner import run_file

Record = dict[str, Any]


@dataclass(frozen=True)
class Records:
    """What the last protocol that was run in a folder has of finished records there."""

    protocol: dict[str, Any]
    runs: tuple[Record, ...]
    studies: tuple[Record, ...]
    beyond: tuple[Record, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """All records of the protocol; those of earlier ones in the same folder are left alone."""
        try:
            protocol = json.loads((folder / "protocol.json").read_text())
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} holds no records of runs. Make them with: sdgs reproduce") from None
        names = product(protocol["datasets"], protocol["methods"], protocol["seeds"], RULES)
        runs = [folder / "runs" / run_file(*name) for name in names]
        wanted = {*protocol["datasets"], PLANTED}
        studies = [json.loads(path.read_text()) for path in sorted((folder / "studies").glob("*.json"))]
        beyond = [json.loads(path.read_text()) for path in sorted((folder / "beyond").glob("*.json"))]
        return cls(
            protocol,
            tuple(json.loads(path.read_text()) for path in runs if path.is_file()),
            tuple(study for study in studies if study["dataset"] in wanted),
            tuple(
                record
                for record in beyond
                if protocol.get("beyond")  # a folder of before there was this
                and record["dataset"] in {*protocol["datasets"], DIGITS}
                and record["seed"] in protocol["beyond_seeds"]
            ),
        )

    @property
    def datasets(self) -> list[str]:
        """In the paper's order; others behind."""
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
    """One line of a table of results: a method on a data set, measured by one rule or published."""

    dataset: str
    method: str
    source: str  # "paper" or "cv" (measured, by that rule), "both" (measured, nothing to choose), "published"
    values: dict[str, float]  # measures in percent, and CPU "seconds"
    text: dict[str, str]  # the same as shown
    spread: dict[str, float]  # standard deviation over seeds, where there are several
    seeds: int = 0
    parameters: str = ""
    impossible: tuple[str, ...] = ()
    below_floor: bool = False
    speedup: float | None = None

    @property
    def title(self) -> str:
        """Name of the method."""
        return METHODS[self.method].title

    @property
    def measured(self) -> bool:
        """Whether it was measured here."""
        return self.source != "published"


def title_of(dataset: str) -> str:
    """As the paper writes it."""
    return SETS[dataset].title if dataset in SETS else dataset


def result_rows(records: Records) -> list[Row]:
    """All rows, data set by data set, measured above published."""
    rows = []
    for dataset in records.datasets:
        floor = _measured(records, dataset, "floor", "cv")
        for method in records.methods:
            printed = published(dataset, method)
            lines = {rule: _measured(records, dataset, method, rule) for rule in RULES}
            if len(records.protocol["groups"][method]) == 1:
                lines = {"both": lines["paper"]}  # type: ignore[dict-item]
            for source, values in lines.items():
                if values is None:
                    continue
                seconds = values["mean"]["seconds"]  # 0 where the clock is too coarse
                speedup = float(printed["seconds"]) / seconds if printed and seconds > 0 else None
                rows.append(
                    Row(
                        dataset,
                        method,
                        source,
                        values["mean"],
                        {name: _shown(name, value) for name, value in values["mean"].items()},
                        values["spread"],
                        values["seeds"],
                        values["parameters"],
                        below_floor=bool(floor and method != "floor" and values["mean"]["f1"] < floor["mean"]["f1"]),
                        speedup=speedup,
                    )
                )
            if printed:
                numbers = {name: float(value) for name, value in printed.items()}
                broken = tuple(broken_bounds(printed))
                rows.append(Row(dataset, method, "published", numbers, dict(printed), {}, impossible=broken))
    return rows


def _measured(records: Records, dataset: str, method: str, rule: str) -> dict[str, Any] | None:
    """Mean and spread over the seeds."""
    runs = [r for r in records.runs if (r["dataset"], r["method"], r["rule"]) == (dataset, method, rule)]
    if not runs:
        return None
    columns = {name: [100 * run["test"][name] for run in runs] for name in MEASURES}
    columns["seconds"] = [run["seconds"]["fit"]["cpu"] + run["seconds"]["predict"]["cpu"] for run in runs]
    chosen = sorted({_parameters(run) for run in runs})
    return {
        "mean": {name: mean(values) for name, values in columns.items()},
        "spread": {name: stdev(values) for name, values in columns.items()} if len(runs) > 1 else {},
        "seeds": len(runs),
        "parameters": " or ".join(chosen),
    }


def _parameters(run: Record) -> str:
    if run["method"] == "floor":
        return f"m={len(run['labels'])}"
    names = {"n_components": "r", "alpha": "\N{GREEK SMALL LETTER LAMDA}", "C": "C", "n_neighbors": "k"}
    if run["method"] == "mddm":
        names = {"n_neighbors": "k"}
    return ", ".join(
        f"{short}={run['parameters'][name]:g}" for name, short in names.items() if name in run["parameters"]
    )


def _shown(name: str, value: float) -> str:
    if name == "seconds":
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"
    return f"{value:.1f}"


def to_csv(rows: Iterable[Row]) -> str:
    """One line a row of the tables, every figure in full."""
    out = io.StringIO()
    columns = [*MEASURES, "seconds"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["dataset", "method", "source", *columns, *(f"{c}_sd" for c in columns), "seeds", "parameters", "impossible"]
    )
    for row in rows:
        figures = [row.text[c] if not row.measured else repr(round(row.values[c], 6)) for c in columns]
        spread = [repr(round(row.spread[c], 6)) if c in row.spread else "" for c in columns]
        fixed = [row.dataset, row.method, row.source]
        writer.writerow([*fixed, *figures, *spread, row.seeds or "", row.parameters, "; ".join(row.impossible)])
    return out.getvalue()


SOURCES = {
    "paper": "best in training",
    "cv": "cross-validated",
    "both": "measured",
    "published": "published",
}


def to_markdown(rows: Iterable[Row], statistics: Iterable[list[str]]) -> str:
    """The same tables for a README or a notebook."""
    lines = ["| Data set | n | p | k | Card |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells)} |" for cells in statistics]
    lines += ["", "| Data set | Method | | Hamming loss | Precision | Recall | F1 | Accuracy | CPU s | |"]
    lines += ["|---|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for row in rows:
        remarks = [*(f"impossible: {bound}" for bound in row.impossible), *(["below the floor"] * row.below_floor)]
        figures = " | ".join(row.text[name] for name in (*MEASURES, "seconds"))
        source = SOURCES[row.source]
        lines.append(f"| {title_of(row.dataset)} | {row.title} | {source} | {figures} | {'; '.join(remarks)} |")
    return "\n".join(lines) + "\n"
