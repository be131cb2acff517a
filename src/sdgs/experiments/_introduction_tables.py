"""The tables and findings of the methods of the paper's introduction, from their records."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from sdgs.experiments._introduction_methods import DECIDED, INTRODUCTION_METHODS, MAX_WORK, OWN
from sdgs.experiments._published import PAPER_METRICS, SETS
from sdgs.experiments._result_tables import Row, title_of
from sdgs.metrics import METRICS

DECISIONS = {OWN: "own decision", DECIDED: "tuned decision"}


@dataclass(frozen=True)
class IntroductionResult:
    """A method on a data set with one of its decisions: means over the seeds, in percent."""

    dataset: str
    method: str
    decision: str
    values: dict[str, float]
    spread: float  # standard deviation of F1 over the seeds
    seeds: int
    fit_seconds: float


@dataclass(frozen=True)
class IntroductionComparison:
    """F1 by decision, data set and title of the method; means; what was left out; findings."""

    methods: list[str]  # titles
    decided_methods: list[str]  # those without the paper's four
    datasets: list[str]
    results: list[IntroductionResult]
    f1: dict[str, dict[str, dict[str, float]]]  # f1[decision][dataset][title]
    means: dict[str, dict[str, float]]  # of methods that were measured on all data sets
    left_out: list[tuple[str, str, str]]  # titles of data set and method, reason
    findings: list[str]


def introduction_comparison(records: Sequence[dict[str, Any]], rows: Sequence[Row]) -> IntroductionComparison | None:
    """The methods of the introduction, and the paper's four with their own decisions beside them."""
    if not records:
        return None
    results = _mean_results([record for record in records if not record["left_out"]])
    names = {record["dataset"] for record in records}
    datasets = [name for name in SETS if name in names] + sorted(names - set(SETS))
    f1: dict[str, dict[str, dict[str, float]]] = {
        decision: {dataset: {} for dataset in datasets} for decision in DECISIONS
    }
    for row in rows:
        if row.source in ("cv", "both") and row.method != "floor" and row.dataset in names:
            f1[OWN][row.dataset][row.title] = row.values["f1"]
    for result in results:
        f1[result.decision][result.dataset][INTRODUCTION_METHODS[result.method].title] = result.values["f1"]
    four = list(dict.fromkeys(row.title for row in rows if any(row.title in line for line in f1[OWN].values())))
    measured = {result.method for result in results}
    decided = [method.title for name, method in INTRODUCTION_METHODS.items() if name in measured]
    methods = four + decided
    means = {
        decision: {m: mean(line[m] for line in table.values()) for m in methods if all(m in t for t in table.values())}
        for decision, table in f1.items()
    }
    left_out = {(r["dataset"], r["method"]): r["left_out"] for r in records if r["left_out"]}
    reasons = [
        (title_of(dataset), INTRODUCTION_METHODS[method].title, left_out[dataset, method])
        for dataset in datasets
        for method in INTRODUCTION_METHODS
        if (dataset, method) in left_out
    ]
    return IntroductionComparison(methods, decided, datasets, results, f1, means, reasons, _findings(results))


def _mean_results(records: Sequence[dict[str, Any]]) -> list[IntroductionResult]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["dataset"], record["method"]), []).append(record)
    results = []
    for (dataset, method), group in sorted(groups.items()):
        seconds = mean(record["seconds"]["fit"]["cpu"] for record in group)
        for decision in DECISIONS:
            scores = [record["test_by_decision"][decision] for record in group]
            values = {name: 100 * mean(score[name] for score in scores) for name in PAPER_METRICS}
            spread = stdev(100 * score["f1"] for score in scores) if len(group) > 1 else 0.0
            results.append(IntroductionResult(dataset, method, decision, values, spread, len(group), seconds))
    return results


def _findings(results: Sequence[IntroductionResult]) -> list[str]:
    """What tuned decisions change, one sentence per method."""
    f1 = {(r.method, r.dataset, r.decision): r.values["f1"] for r in results}
    findings = []
    for name, method in INTRODUCTION_METHODS.items():
        datasets = [r.dataset for r in results if r.method == name and r.decision == OWN]
        if datasets:
            gains = [f1[name, d, DECIDED] - f1[name, d, OWN] for d in datasets]
            findings.append(
                f"{method.title}: tuned decisions change F1 by {mean(gains):+.1f} points on average, and raise it on "
                f"{sum(gain > 0 for gain in gains)} of {len(gains)} data sets."
            )
    return findings


def introduction_csv(results: Sequence[IntroductionResult]) -> str:
    """All results, in full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["dataset", "method", "decision", *PAPER_METRICS, "f1_sd", "seeds", "fit_cpu_seconds"])
    for r in results:
        values = [repr(round(r.values[name], 6)) for name in PAPER_METRICS]
        spread = repr(round(r.spread, 6)) if r.seeds > 1 else ""
        writer.writerow([r.dataset, r.method, r.decision, *values, spread, r.seeds, round(r.fit_seconds, 3)])
    return out.getvalue()


def introduction_markdown(comparison: IntroductionComparison) -> str:
    """F1 by data set and method, for both decisions, and what was left out."""
    lines = [f"- {sentence}" for sentence in comparison.findings]
    for decision, title in DECISIONS.items():
        table = comparison.f1[decision]
        methods = [m for m in comparison.methods if any(m in line for line in table.values())]
        lines += ["", f"{METRICS['f1'].title} in percent, {title}:", ""]
        lines += [f"| Data set | {' | '.join(methods)} |", f"|---|{'---:|' * len(methods)}"]
        for dataset, line in table.items():
            cells = (f"{line[m]:.1f}" if m in line else "\N{EN DASH}" for m in methods)
            lines.append(f"| {title_of(dataset)} | {' | '.join(cells)} |")
    lines += ["", *left_out_lines(comparison)]
    return "\n".join(lines) + "\n"


def left_out_lines(comparison: IntroductionComparison) -> list[str]:
    """One line per method and reason, as a list of Markdown."""
    return [f"- {method} on {dataset} is left out: {reason}." for dataset, method, reason in comparison.left_out]


def cost_rule() -> str:
    """When a method is left out, as a sentence."""
    return (
        "A method is left out if samples \N{MULTIPLICATION SIGN} nonzero features per sample \N{MULTIPLICATION SIGN} "
        "labels (for LP label sets) \N{MULTIPLICATION SIGN} base fits per label exceed "
        f"{MAX_WORK:.0e}".replace("e+0", "e")
        + "; HBR if the labels have no hierarchy."
    )
