"""The tables and findings of the comparison beyond the paper, from its records."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from sdgs.experiments._extended_comparison import DIGITS, TITLES
from sdgs.experiments._published import PAPER_METRICS, SETS
from sdgs.experiments._result_tables import title_of
from sdgs.metrics import METRICS

TUNED_SDGS, DEFAULT_SDGS = "sdgs-cv", "sdgs"
_TIE_MARGIN = 0.2  # points of F1 within which a method counts as first


@dataclass(frozen=True)
class MeanResult:
    """A method on a clean or damaged data set: means over the seeds, in percent."""

    dataset: str
    kind: str
    share: float
    method: str
    values: dict[str, float]
    spread: float  # standard deviation of F1 over the seeds
    seeds: int
    fit_seconds: float
    one_threshold: float  # F1 with one tuned threshold instead of the better decision


def mean_results(records: Sequence[dict[str, Any]]) -> list[MeanResult]:
    """One result per data set, damage and method, averaged over the seeds."""
    groups: dict[tuple[str, str, float, str], list[dict[str, Any]]] = {}
    for record in records:
        damage = record["damage"]
        groups.setdefault((record["dataset"], damage["kind"], damage["share"], record["method"]), []).append(record)
    results = []
    for (dataset, kind, share, method), group in sorted(groups.items()):
        values = {name: mean(100 * record["test"][name] for record in group) for name in PAPER_METRICS}
        spread = stdev(100 * record["test"]["f1"] for record in group) if len(group) > 1 else 0.0
        seconds = mean(record["seconds"]["fit"]["cpu"] for record in group)
        single = mean(100 * r["test_by_decision"].get("threshold", r["test"])["f1"] for r in group)
        results.append(MeanResult(dataset, kind, share, method, values, spread, len(group), seconds, single))
    return results


@dataclass(frozen=True)
class CleanComparison:
    """The comparison on clean data: ``results[dataset][method]``, and ``means[method]`` over the ``averaged`` sets."""

    datasets: list[str]
    methods: list[str]
    results: dict[str, dict[str, MeanResult]]
    averaged: list[str]
    means: dict[str, dict[str, float]]
    findings: list[str]


def clean_comparison(results: Sequence[MeanResult]) -> CleanComparison | None:
    """The results on clean data, with means over all data sets but digits for methods with results on all of them."""
    table: dict[str, dict[str, MeanResult]] = {}
    for result in results:
        if result.kind == "clean":
            table.setdefault(result.dataset, {})[result.method] = result
    if not table:
        return None
    datasets = [name for name in SETS if name in table]
    datasets += sorted(name for name in table if name not in SETS and name != DIGITS)
    methods = [m for m in TITLES if any(m in row for row in table.values())]
    complete = [m for m in methods if all(m in table[d] for d in datasets)]
    means = {
        m: {name: mean(table[d][m].values[name] for d in datasets) for name in PAPER_METRICS}
        for m in (complete if datasets else ())
    }
    shown = [*datasets, DIGITS] if DIGITS in table else datasets
    return CleanComparison(shown, methods, table, datasets, means, _clean_findings(table, datasets, means))


def _clean_findings(
    table: dict[str, dict[str, MeanResult]], datasets: list[str], means: dict[str, dict[str, float]]
) -> list[str]:
    others = [m for m in means if m not in (TUNED_SDGS, DEFAULT_SDGS)]
    if TUNED_SDGS not in means or not others:
        return []
    f1 = {m: values["f1"] for m, values in means.items()}
    best = max(others, key=lambda m: f1[m])
    first = [d for d in datasets if table[d][TUNED_SDGS].values["f1"] >= _best_other_f1(table[d]) - _TIE_MARGIN]
    sdgs, default = TITLES[TUNED_SDGS], TITLES[DEFAULT_SDGS]
    findings = [
        f"{sdgs}: mean F1 {f1[TUNED_SDGS]:.1f}, {f1[TUNED_SDGS] - f1[best]:+.1f} points compared with the best other "
        f"method by the mean, {TITLES[best]} ({f1[best]:.1f}); best, or within {_TIE_MARGIN} points of the best other "
        f"method, on {len(first)} of {len(datasets)} data sets."
    ]
    one_threshold = {m: mean(table[d][m].one_threshold for d in datasets) for m in others}
    best = max(others, key=lambda m: one_threshold[m])
    findings.append(
        f"If the other methods always use one tuned threshold, the usual choice: "
        f"{f1[TUNED_SDGS] - one_threshold[best]:+.1f} points compared with {TITLES[best]} ({one_threshold[best]:.1f})."
    )
    if DEFAULT_SDGS in means and "br" in means:
        findings.append(
            f"{default}, without tuning: mean F1 {f1[DEFAULT_SDGS]:.1f}, {f1[DEFAULT_SDGS] - f1['br']:+.1f} points "
            f"compared with tuned {TITLES['br']}."
        )
        ratios = [table[d][TUNED_SDGS].fit_seconds / table[d][DEFAULT_SDGS].fit_seconds for d in datasets]
        findings.append(
            f"{sdgs} took {min(ratios):.1f} to {max(ratios):.1f} times the CPU seconds of {default} to fit, "
            f"{mean(ratios):.1f} times on average."
        )
    return findings


def _best_other_f1(row: dict[str, MeanResult]) -> float:
    return max(result.values["f1"] for m, result in row.items() if m not in (TUNED_SDGS, DEFAULT_SDGS))


def damage_findings(results: Sequence[MeanResult], kind: str, share: float) -> list[str]:
    """One sentence per data set: F1 of SDGS, its change due to the damage, and its lead over the best other method."""
    clean = {r.dataset: r for r in results if (r.kind, r.share, r.method) == ("spikes", 0.0, TUNED_SDGS)}
    findings = []
    for dataset in dict.fromkeys(r.dataset for r in results if r.kind == kind):
        row = {r.method: r for r in results if (r.dataset, r.kind, r.share) == (dataset, kind, share)}
        others = [m for m in row if m not in (TUNED_SDGS, DEFAULT_SDGS)]
        if TUNED_SDGS not in row or not others:
            continue
        best = max(others, key=lambda m: row[m].values["f1"])
        f1, other_f1 = row[TUNED_SDGS].values["f1"], row[best].values["f1"]
        change = f", {f1 - clean[dataset].values['f1']:+.1f} compared with clean data" if dataset in clean else ""
        findings.append(
            f"{title_of(dataset)}: {f1:.1f}{change}; {f1 - other_f1:+.1f} compared with the best other method, "
            f"{TITLES[best]} ({other_f1:.1f})."
        )
    return findings


def beyond_csv(results: Sequence[MeanResult]) -> str:
    """One row per result, with all figures in full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [*PAPER_METRICS, "f1_sd", "f1_one_threshold", "seeds", "fit_cpu_seconds"]
    writer.writerow(["dataset", "damage", "share", "method", *columns])
    for r in results:
        values = (*(r.values[name] for name in PAPER_METRICS), r.spread, r.one_threshold)
        key = [r.dataset, r.kind, r.share, r.method]
        writer.writerow([*key, *(repr(round(value, 6)) for value in values), r.seeds, round(r.fit_seconds, 3)])
    return out.getvalue()


def beyond_markdown(results: Sequence[MeanResult]) -> str:
    """All tables as Markdown."""
    clean = clean_comparison(results)
    assert clean is not None
    lines = [*(f"- {sentence}" for sentence in clean.findings), "", "F1 on clean data, in percent:", ""]
    lines += _markdown_header("Data set", *(TITLES[m] for m in clean.methods))
    for dataset in clean.datasets:
        row = clean.results[dataset]
        best = max(result.values["f1"] for result in row.values())
        lines.append(_markdown_row(title_of(dataset), *(_format_f1(row.get(m), best) for m in clean.methods)))
    if clean.means:
        lines += ["", f"All metrics in percent, means over {len(clean.averaged)} data sets:", ""]
        lines += _markdown_header("Method", *(METRICS[name].title for name in PAPER_METRICS))
        for m, values in clean.means.items():
            lines.append(_markdown_row(TITLES[m], *(f"{values[name]:.1f}" for name in PAPER_METRICS)))
    for kind, participle in (("spikes", "corrupted"), ("missing", "missing")):
        lines += _damage_lines([result for result in results if result.kind == kind], participle)
    return "\n".join(lines) + "\n"


def _damage_lines(results: Sequence[MeanResult], participle: str) -> list[str]:
    """The table of one kind of damage as lines of Markdown, none if there are no results."""
    shares = sorted({result.share for result in results})
    if not shares:
        return []
    lines = ["", f"F1 with this share of entries {participle}:", ""]
    lines += _markdown_header("Data set", "Method", *(f"{100 * share:g} %" for share in shares), n_text_columns=2)
    table = {(r.dataset, r.method, r.share): r for r in results}
    for dataset, method in dict.fromkeys(key[:2] for key in table):
        best = {s: max(r.values["f1"] for key, r in table.items() if key[::2] == (dataset, s)) for s in shares}
        texts = (_format_f1(table.get((dataset, method, s)), best[s]) for s in shares)
        lines.append(_markdown_row(title_of(dataset), TITLES[method], *texts))
    return lines


def _markdown_header(*titles: str, n_text_columns: int = 1) -> list[str]:
    rule = "---|" * n_text_columns + "---:|" * (len(titles) - n_text_columns)
    return [_markdown_row(*titles), f"|{rule}"]


def _markdown_row(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"


def _format_f1(result: MeanResult | None, best: float) -> str:
    if result is None:
        return "\N{EN DASH}"
    text = f"{result.values['f1']:.1f}"
    text = f"**{text}**" if result.values["f1"] == best else text
    return f"{text} \N{PLUS-MINUS SIGN} {result.spread:.1f}" if result.seeds > 1 else text
