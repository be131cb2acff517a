"""The page of the reproduction, made from records only, and its tables as CSV and Markdown."""

from dataclasses import asdict
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from sdgs._utils._templates import template
from sdgs.experiments import _extended_tables, _figures
from sdgs.experiments._analysis import Ranking, claims, f1_ranking
from sdgs.experiments._extended_comparison import MAX_DAMAGED_SAMPLES, SPIKE_SIZES, TITLES
from sdgs.experiments._introduction_methods import INTRODUCTION_METHODS, C
from sdgs.experiments._introduction_tables import (
    DECISIONS,
    cost_rule,
    introduction_comparison,
    introduction_csv,
    introduction_markdown,
)
from sdgs.experiments._protocol import FREQUENCY_PARAMETERS, METHODS, RULES
from sdgs.experiments._published import PAPER_METRICS, SETS, published
from sdgs.experiments._result_tables import SOURCES, Records, Row, result_rows, title_of, to_csv, to_markdown
from sdgs.experiments._rival_models import OPTIONAL_PACKAGES
from sdgs.metrics import METRICS
from sdgs.persistence._atomic_write import write_atomically


def write_report(folder: str | Path) -> Path:
    """Write ``report.html``, ``tables.csv`` and ``tables.md`` into a folder of records, without fitting anything.

    If there are records of the methods of the paper's introduction, ``introduction.csv`` and ``introduction.md`` are
    also written; if there are records beyond the paper, ``beyond.csv``, ``beyond.md`` and ``beyond-*.svg``.

    Needs the extra ``report``: Jinja2 and matplotlib.

    Parameters
    ----------
    folder : str or Path
        The folder that :func:`sdgs.experiments.run` wrote.

    Returns
    -------
    Path
        The page, a single file that works offline.
    """
    folder = Path(folder)
    records = Records.read(folder)
    if not records.runs:
        raise FileNotFoundError(f"{folder} holds no record of a finished run. Create records with: sdgs reproduce")
    rows = result_rows(records)
    statistics = statistics_rows(records)
    beyond = _beyond_context(records)
    introduction = introduction_comparison(records.introduction, rows)
    context = _context(records, rows, statistics) | {"beyond": beyond, "introduction": introduction}
    page = template("sdgs.experiments", "report.html").render(context)
    if introduction is not None:
        write_atomically(folder / "introduction.csv", introduction_csv(introduction.results))
        write_atomically(folder / "introduction.md", introduction_markdown(introduction))
    if beyond is not None:
        write_atomically(folder / "beyond.csv", beyond["csv"])
        write_atomically(folder / "beyond.md", beyond["markdown"])
        for study in beyond["studies"]:
            write_atomically(folder / f"beyond-{study['kind']}.svg", study["figure"])
    write_atomically(folder / "tables.csv", to_csv(rows))
    write_atomically(folder / "tables.md", to_markdown(rows, [line["cells"] for line in statistics]))
    write_atomically(folder / "report.html", page)
    return folder / "report.html"


def statistics_rows(records: Records) -> list[dict[str, Any]]:
    """The rows of the table of data sets: measured and published cells, with a note if they differ."""
    lines = []
    for dataset in records.datasets:
        study = records.study("statistics", dataset)
        if study is None:
            continue
        printed, note = None, ""
        cells = _statistics_cells(title_of(dataset), f"{study['cardinality']:.3f}", study)
        if dataset in SETS:
            printed = _statistics_cells(SETS[dataset].title, SETS[dataset].cardinality, asdict(SETS[dataset]))
            note = SETS[dataset].note if printed != cells else ""
        more = [
            f"{100 * study['density']:.1f} %",
            str(study["distinct_label_sets"]),
            f"{study['median_imbalance']:.0f}",
            f"{100 * study['nonzero_share']:.1f} %",
        ]
        lines.append({"cells": cells, "published": printed, "note": note, "more": more, "dropped": study["dropped"]})
    return lines


def _statistics_cells(title: str, cardinality: str, values: dict[str, Any]) -> list[str]:
    samples = f"{values['n_train']}+{values['n_test']}"
    return [title, samples, str(values["n_features"]), str(values["n_labels"]), cardinality]


def _context(records: Records, rows: list[Row], statistics: list[dict[str, Any]]) -> dict[str, Any]:
    curves = [study for study in records.studies if study["kind"] == "convergence"]
    frequency = [study for study in records.studies if study["kind"] == "frequency"]
    printed = [row for row in rows if row.source == "published"]
    return {
        "metrics": [(name, METRICS[name].title) for name in PAPER_METRICS],
        "sources": SOURCES,
        "rules": RULES,
        "statistics": statistics,
        "tables": _result_blocks(records, rows),
        "rankings": _rankings(rows),
        "claims": claims(rows),
        "summary": _summary(rows),
        "impossible": [row for row in printed if row.impossible],
        "n_published": len(printed),
        "speed": _speedups(rows),
        "convergence": _figures.convergence(curves) if curves else None,
        "mediamill": _mediamill(records, rows),
        "frequency_parameters": FREQUENCY_PARAMETERS,
        "frequency": _figures.most_frequent(frequency, "mediamill") if frequency else None,
        "introduction_methods": INTRODUCTION_METHODS.values(),
        "introduction_base": f"logistic regression with C = {C:g}",
        "decisions": DECISIONS,
        "cost_rule": cost_rule(),
        "groups": [(METHODS[name].title, records.protocol["groups"][name]) for name in records.methods],
        "protocol": records.protocol,
        "missing": _missing_runs(records),
        "title_of": title_of,
        "environments": _environments(records),
        "seeds": sorted({run["seed"] for run in records.runs}),
        "n_runs": len(records.runs),
        "warnings": _warnings(records),
    }


def _result_blocks(records: Records, rows: list[Row]) -> list[dict[str, Any]]:
    """The tables of results, as blocks of rows per data set."""
    tables = []
    for name, heading in (("yahoo", "Yahoo"), ("seven", "Seven data sets"), ("", "Other data sets")):
        blocks = []
        for dataset in records.datasets:
            if (SETS[dataset].table if dataset in SETS else "") == name:
                dataset_rows = [row for row in rows if row.dataset == dataset]
                best = max((row.values["f1"] for row in dataset_rows if row.measured), default=0.0)
                blocks.append({"title": title_of(dataset), "rows": dataset_rows, "best": best})
        if blocks:
            tables.append({"name": name, "heading": heading, "blocks": blocks})
    return tables


def _rankings(rows: list[Row]) -> list[tuple[str, Ranking, str]]:
    """(heading, ranking, figure) of each source with enough results."""
    headings = {"cv": "Measured, cross-validated", "paper": "Measured, best in training", "published": "Published"}
    rankings = [(heading, f1_ranking(rows, source)) for source, heading in headings.items()]
    return [(heading, ranks, _figures.critical_difference(ranks)) for heading, ranks in rankings if ranks is not None]


def _beyond_context(records: Records) -> dict[str, Any] | None:
    """The section on the comparison beyond the paper, or None without records of it."""
    results = _extended_tables.mean_results(records.beyond)
    clean = _extended_tables.clean_comparison(results)
    if clean is None:
        return None
    studies = [
        {
            "kind": kind,
            "heading": f"{participle.capitalize()} entries",
            "introduction": f"F1 of SDGS with {100 * share:g} % of the entries {participle}:",
            "figure": _figures.damage_curves(results, kind),
            "findings": _extended_tables.damage_findings(results, kind, share),
        }
        for kind, participle, share in (("spikes", "corrupted", 0.05), ("missing", "missing", 0.2))
        if any(result.kind == kind for result in results)
    ]
    return {
        "clean": clean,
        "studies": studies,
        "csv": _extended_tables.beyond_csv(results),
        "markdown": _extended_tables.beyond_markdown(results),
        "titles": TITLES,
        "not_installed": [TITLES[m] for m in OPTIONAL_PACKAGES if m not in records.protocol["beyond_methods"]],
        "max_samples": MAX_DAMAGED_SAMPLES,
        "spike_sizes": SPIKE_SIZES,
        "seeds": sorted({record["seed"] for record in records.beyond}),
    }


def _summary(rows: list[Row]) -> list[str]:
    """The main results in one sentence per rule."""
    sentences = []
    for source in ("paper", "cv"):
        pairs = _measured_and_published(rows, source)
        if pairs:
            f1 = [(title_of(m.dataset), m.values["f1"], printed.values["f1"]) for m, printed in pairs]
            n_reached = sum(measured >= printed for _, measured, printed in f1)
            below = [title for title, measured, printed in f1 if measured < printed - 1]
            how = {"paper": "on the training samples, as in the paper", "cv": "by cross-validation"}[source]
            result = f"SDGS reaches its published F1 on {n_reached} of {len(pairs)} data sets"
            exceptions = f"more than one point below it: {', '.join(below) or 'none'}"
            sentences.append(f"With parameters chosen {how}, {result}; {exceptions}.")
    return sentences


def _measured_and_published(rows: list[Row], source: str) -> list[tuple[Row, Row]]:
    """The measured and the published row of SDGS, for each data set with both."""
    measured = {row.dataset: row for row in rows if row.method == "sdgs" and row.source == source}
    printed = {row.dataset: row for row in rows if row.method == "sdgs" and not row.measured}
    return [(row, printed[dataset]) for dataset, row in measured.items() if dataset in printed]


def _speedups(rows: list[Row]) -> list[dict[str, Any]]:
    """Published divided by measured seconds, per method."""
    lines = []
    for name, method in METHODS.items():
        ratios = [row.speedup for row in rows if row.method == name and row.source in ("cv", "both") and row.speedup]
        if ratios:
            extremes = {"min": min(ratios), "max": max(ratios), "n": len(ratios)}
            lines.append({"title": method.title, "mean": geometric_mean(ratios), **extremes})
    return lines


def _mediamill(records: Records, rows: list[Row]) -> dict[str, Any] | None:
    """The figures of the section on Mediamill, or None if the records do not support its statements."""
    study = records.study("frequency", "mediamill")
    run = next((r for r in records.runs if (r["dataset"], r["method"], r["rule"]) == ("mediamill", "sdgs", "cv")), None)
    constant = next((row for row in rows if (row.dataset, row.method) == ("mediamill", "floor")), None)
    sdgs = next((row for row in rows if (row.dataset, row.method, row.source) == ("mediamill", "sdgs", "cv")), None)
    printed = published("mediamill", "sdgs")
    if study is None or run is None or constant is None or sdgs is None or printed is None:
        return None
    best = max(range(len(study["f1"])), key=lambda i: study["f1"][i])
    if not (sdgs.below_most_frequent and study["f1"][best] > study["f1"][-1]):
        return None
    return {
        "published_f1": printed["f1"],
        "f1": sdgs.values["f1"],
        "constant_f1": constant.values["f1"],
        "constant_labels": constant.parameters.removeprefix("m="),
        "top": [100 * value for value in study["largest_frequencies"]],
        "directions": study["directions"],
        "median": study["median_label_samples"],
        "n_train": study["n_train"],
        "features": study["n_features"],
        "predicted": 100 * run["frequency_of_predicted_labels"],
        "true": 100 * run["frequency_of_true_labels"],
        "best_m": study["most_frequent"][best],
        "best_f1": 100 * study["f1"][best],
        "all_f1": 100 * study["f1"][-1],
    }


def _missing_runs(records: Records) -> list[str]:
    """Methods and data sets of the protocol that have no finished run."""
    finished = {(run["dataset"], run["method"]) for run in records.runs}
    pairs = product(records.protocol["datasets"], records.protocol["methods"])
    return [f"{title_of(d)}, {METHODS[m].title}" for d, m in pairs if (d, m) not in finished]


def _environments(records: Records) -> list[dict[str, str]]:
    """The distinct environments of the records."""
    environments = {tuple(run["environment"].items()) for run in records.runs}
    return [dict(environment) for environment in sorted(environments)]


def _warnings(records: Records) -> list[tuple[str, str]]:
    """(data set and method, message) of the warnings in the runs of the tables."""
    warnings = {
        (f"{title_of(run['dataset'])}, {METHODS[run['method']].title}", warning)
        for run in records.runs
        for warning in run["warnings"]
    }
    return sorted(warnings)
