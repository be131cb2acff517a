"""From the records beyond the paper to tables: plain values, no layout."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from sdgs.experiments._extended_comparison import DIGITS, TITLES
from sdgs.experiments._published import MEASURE_TITLES, MEASURES, SETS

OURS, DEFAULTS = "sdgs-cv", "sdgs"
_LEVEL = 0.2  # points of F1 that are as good as none


@dataclass(frozen=True)
class Cell:
    """A method on a data set, clean or damaged: means over the seeds, in percent, and the spread of F1."""

    dataset: str
    kind: str
    share: float
    method: str
    values: dict[str, float]
    spread: float
    seeds: int
    fit_seconds: float
    one_threshold: float  # F1 with one tuned threshold instead of the better decision


def cells(records: Sequence[dict[str, Any]]) -> list[Cell]:
    """One for every comparison, over all its seeds."""
    together: dict[tuple[str, str, float, str], list[dict[str, Any]]] = {}
    for record in records:
        damage = record["damage"]
        together.setdefault((record["dataset"], damage["kind"], damage["share"], record["method"]), []).append(record)
    found = []
    for (dataset, kind, share, method), same in sorted(together.items()):
        values = {name: mean(100 * record["test"][name] for record in same) for name in MEASURES}
        spread = stdev(100 * record["test"]["f1"] for record in same) if len(same) > 1 else 0.0
        seconds = mean(record["seconds"]["fit"]["cpu"] for record in same)
        single = mean(100 * r["test_by_decision"].get("threshold", r["test"])["f1"] for r in same)
        found.append(Cell(dataset, kind, share, method, values, spread, len(same), seconds, single))
    return found


@dataclass(frozen=True)
class Clean:
    """The comparison on clean data. ``f1[dataset][method]``; ``means[method]`` the mean measures over ``compared``."""

    datasets: list[str]
    methods: list[str]
    f1: dict[str, dict[str, Cell]]
    compared: list[str]
    means: dict[str, dict[str, float]]
    findings: list[str]


def clean_table(found: Sequence[Cell]) -> Clean | None:
    """Of the paper's data sets and others; means over those that all methods did but those too dear for some."""
    table: dict[str, dict[str, Cell]] = {}
    for cell in found:
        if cell.kind == "clean":
            table.setdefault(cell.dataset, {})[cell.method] = cell
    if not table:
        return None
    datasets = [name for name in SETS if name in table]
    datasets += sorted(name for name in table if name not in SETS and name != DIGITS)
    methods = [m for m in TITLES if any(m in row for row in table.values())]
    everywhere = [m for m in methods if all(m in table[d] for d in datasets)]
    means = {
        m: {name: mean(table[d][m].values[name] for d in datasets) for name in MEASURES}
        for m in (everywhere if datasets else ())
    }
    shown = [*datasets, DIGITS] if DIGITS in table else datasets
    return Clean(shown, methods, table, datasets, means, _findings(table, datasets, means))


def _findings(table: dict[str, dict[str, Cell]], datasets: list[str], means: dict[str, dict[str, float]]) -> list[str]:
    rivals = [m for m in means if m not in (OURS, DEFAULTS)]
    if OURS not in means or not rivals:
        return []
    f1 = {m: values["f1"] for m, values in means.items()}
    best = max(rivals, key=lambda m: f1[m])
    first = [d for d in datasets if table[d][OURS].values["f1"] >= _best_rival(table[d]) - _LEVEL]
    words = [
        f"{TITLES[OURS]}: mean F1 {f1[OURS]:.1f}, {f1[OURS] - f1[best]:+.1f} points against the best rival by the "
        f"mean, {TITLES[best]} ({f1[best]:.1f}); first, or within {_LEVEL} points of it, on {len(first)} of "
        f"{len(datasets)} data sets."
    ]
    single = {m: mean(table[d][m].one_threshold for d in datasets) for m in rivals}
    most = max(rivals, key=lambda m: single[m])
    words.append(
        f"Rivals with one tuned threshold each, as is usual, instead of the better of that and the set with the best "
        f"expected F1: {f1[OURS] - single[most]:+.1f} points against {TITLES[most]} ({single[most]:.1f})."
    )
    if DEFAULTS in means and "br" in means:
        words.append(
            f"{TITLES[DEFAULTS]}, without tuning: mean F1 {f1[DEFAULTS]:.1f}, {f1[DEFAULTS] - f1['br']:+.1f} points "
            f"against tuned {TITLES['br']}."
        )
        ratios = [table[d][OURS].fit_seconds / table[d][DEFAULTS].fit_seconds for d in datasets]
        words.append(
            f"{TITLES[OURS]} took {min(ratios):.1f} to {max(ratios):.1f} times the CPU seconds of "
            f"{TITLES[DEFAULTS]} to fit, {mean(ratios):.1f} times on average."
        )
    return words


def _best_rival(row: dict[str, Cell]) -> float:
    return max(cell.values["f1"] for m, cell in row.items() if m not in (OURS, DEFAULTS))


def dirty_findings(found: Sequence[Cell], kind: str, share: float) -> list[str]:
    """What the damage costs SDGS, and how far the best rival is behind; a sentence a data set."""
    clean = {c.dataset: c for c in found if (c.kind, c.share, c.method) == ("spikes", 0.0, OURS)}
    words = []
    for dataset in dict.fromkeys(c.dataset for c in found if c.kind == kind):
        row = {c.method: c for c in found if (c.dataset, c.kind, c.share) == (dataset, kind, share)}
        rivals = [m for m in row if m not in (OURS, DEFAULTS)]
        if OURS not in row or not rivals:
            continue
        best = max(rivals, key=lambda m: row[m].values["f1"])
        f1 = row[OURS].values["f1"]
        loss = f", {f1 - clean[dataset].values['f1']:+.1f} against without" if dataset in clean else ""
        words.append(
            f"{title(dataset)}: {f1:.1f}{loss}; {f1 - row[best].values['f1']:+.1f} against the best rival, "
            f"{TITLES[best]} ({row[best].values['f1']:.1f})."
        )
    return words


def title(dataset: str) -> str:
    """For people."""
    return SETS[dataset].title if dataset in SETS else dataset.replace("-", " ")


def beyond_csv(found: Sequence[Cell]) -> str:
    """One line a comparison, every figure in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["dataset", "damage", "share", "method", *MEASURES, "f1_sd", "f1_one_threshold", "seeds", "fit_cpu_seconds"]
    )
    for c in found:
        figures = [
            repr(round(value, 6)) for value in (*(c.values[name] for name in MEASURES), c.spread, c.one_threshold)
        ]
        writer.writerow([c.dataset, c.kind, c.share, c.method, *figures, c.seeds, round(c.fit_seconds, 3)])
    return out.getvalue()


def beyond_markdown(found: Sequence[Cell]) -> str:
    """The tables for a README or a notebook."""
    clean = clean_table(found)
    assert clean is not None
    lines = [*(f"- {sentence}" for sentence in clean.findings), "", "F1 on clean data, in percent:", ""]
    lines += [f"| Data set | {' | '.join(TITLES[m] for m in clean.methods)} |", f"|---|{'---:|' * len(clean.methods)}"]
    for dataset in clean.datasets:
        row = clean.f1[dataset]
        top = max(cell.values["f1"] for cell in row.values())
        texts = [_shown(row[m], top) if m in row else "\N{EN DASH}" for m in clean.methods]
        lines.append(f"| {title(dataset)} | {' | '.join(texts)} |")
    if clean.means:
        lines += ["", f"All five measures, means over {len(clean.compared)} data sets:", ""]
        lines += [f"| Method | {' | '.join(MEASURE_TITLES[name] for name in MEASURES)} |", f"|---|{'---:|' * 5}"]
        for m, values in clean.means.items():
            lines.append(f"| {TITLES[m]} | {' | '.join(f'{values[name]:.1f}' for name in MEASURES)} |")
    for kind in ("spikes", "missing"):
        shares = sorted({cell.share for cell in found if cell.kind == kind})
        if not shares:
            continue
        what = {"spikes": "corrupted", "missing": "missing"}[kind]
        lines += ["", f"F1 with this share of entries {what}:", ""]
        lines += [f"| Data set | Method | {' | '.join(f'{100 * share:g} %' for share in shares)} |"]
        lines += [f"|---|---|{'---:|' * len(shares)}"]
        table = {(c.dataset, c.method, c.share): c for c in found if c.kind == kind}
        for dataset, method in dict.fromkeys(key[:2] for key in table):
            tops = {s: max(c.values["f1"] for key, c in table.items() if key[::2] == (dataset, s)) for s in shares}
            row_cells = [table.get((dataset, method, s)) for s in shares]
            texts = ["\N{EN DASH}" if c is None else _shown(c, tops[s]) for s, c in zip(shares, row_cells, strict=True)]
            lines.append(f"| {title(dataset)} | {TITLES[method]} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def _shown(cell: Cell, top: float) -> str:
    text = f"{cell.values['f1']:.1f}"
    text = f"**{text}**" if cell.values["f1"] == top else text
    return f"{text} \N{PLUS-MINUS SIGN} {cell.spread:.1f}" if cell.seeds > 1 else text
