"""One page from the records alone, and the same tables as CSV and Markdown."""

from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from sdgs._utils._templates import template
from sdgs.experiments import _figures
from sdgs.experiments._analysis import Ranking, claims, f1_ranking
from sdgs.experiments._extended_comparison import TITLES
from sdgs.experiments._extended_tables import beyond_csv, beyond_markdown, cells, clean_table, dirty_findings, title
from sdgs.experiments._protocol import METHODS, RULES
from sdgs.experiments._published import MEASURE_TITLES, MEASURES, SETS
from sdgs.experiments._result_tables import SOURCES, Records, Row, result_rows, title_of, to_csv, to_markdown
from sdgs.persistence._atomic_write import write_atomically


def write_report(folder: str | Path) -> Path:
    """Write ``report.html``, ``tables.csv`` and ``tables.md`` into a folder of records. Nothing is fitted again.

    Where there are records beyond the paper, ``beyond.csv``, ``beyond.md`` and ``beyond-spikes.svg`` and so on as well.

    Needs the extra ``report``: Jinja2 and matplotlib.

    Parameters
    ----------
    folder : str or Path
        Where :func:`sdgs.experiments.run` left its records.

    Returns
    -------
    Path
        The page: one file, with all it shows in it.
    """
    folder = Path(folder)
    records = Records.read(folder)
    if not records.runs:
        raise FileNotFoundError(f"{folder} holds no record of a finished run.")
    rows = result_rows(records)
    statistics = statistics_rows(records)
    beyond = _beyond(records)
    page = template("sdgs.experiments", "report.html").render(_context(records, rows, statistics) | {"beyond": beyond})
    if beyond is not None:
        write_atomically(folder / "beyond.csv", beyond["csv"])
        write_atomically(folder / "beyond.md", beyond["markdown"])
        for study in beyond["studies"]:
            write_atomically(folder / f"beyond-{study['kind']}.svg", study["picture"])
    write_atomically(folder / "tables.csv", to_csv(rows))
    write_atomically(folder / "tables.md", to_markdown(rows, [line["cells"] for line in statistics]))
    write_atomically(folder / "report.html", page)
    return folder / "report.html"


def statistics_rows(records: Records) -> list[dict[str, Any]]:
    """The table of data sets: measured cells, published cells, and a note where they differ."""
    lines = []
    for dataset in records.datasets:
        study = records.study("statistics", dataset)
        if study is None:
            continue
        cells = [
            title_of(dataset),
            f"{study['n_train']}+{study['n_test']}",
            str(study["n_features"]),
            str(study["n_labels"]),
            f"{study['cardinality']:.3f}",
        ]
        printed, note = None, ""
        if dataset in SETS:
            of = SETS[dataset]
            printed = [
                of.title,
                f"{of.n_train}+{of.n_test}",
                str(of.n_features),
                str(of.n_labels),
                of.cardinality,
            ]
            note = of.note if printed != cells else ""
        more = [
            f"{100 * study['density']:.1f} %",
            str(study["distinct_label_sets"]),
            f"{study['median_imbalance']:.0f}",
            f"{100 * study['nonzero_share']:.1f} %",
        ]
        lines.append({"cells": cells, "published": printed, "note": note, "more": more, "dropped": study["dropped"]})
    return lines


def _context(records: Records, rows: list[Row], statistics: list[dict[str, Any]]) -> dict[str, Any]:
    tables = []
    for name, heading in (("yahoo", "Yahoo"), ("seven", "Seven data sets"), ("", "Other data sets")):
        blocks = []
        for dataset in records.datasets:
            if (SETS[dataset].table if dataset in SETS else "") == name:
                mine = [row for row in rows if row.dataset == dataset]
                best = max((row.values["f1"] for row in mine if row.measured), default=0.0)
                blocks.append({"title": title_of(dataset), "rows": mine, "best": best})
        if blocks:
            tables.append({"name": name, "heading": heading, "blocks": blocks})
    rankings: list[tuple[str, Ranking, str]] = []
    for source, words in (
        ("cv", "Measured, cross-validated"),
        ("paper", "Measured, best in training"),
        ("published", "Published"),
    ):
        ranks = f1_ranking(rows, source)
        if ranks is not None:
            rankings.append((words, ranks, _figures.critical_difference(ranks)))
    curves = [study for study in records.studies if study["kind"] == "convergence"]
    frequency = [study for study in records.studies if study["kind"] == "frequency"]
    printed = [row for row in rows if row.source == "published"]
    return {
        "measures": [(name, MEASURE_TITLES[name]) for name in MEASURES],
        "sources": SOURCES,
        "rules": RULES,
        "statistics": statistics,
        "tables": tables,
        "rankings": rankings,
        "claims": claims(rows),
        "summary": _summary(rows),
        "impossible": [row for row in printed if row.impossible],
        "n_published": len(printed),
        "speed": _speed(rows),
        "convergence": _figures.convergence(curves) if curves else None,
        "mediamill": _mediamill(records, rows),
        "frequency": _figures.most_frequent(frequency, "mediamill") if frequency else None,
        "groups": [(METHODS[name].title, records.protocol["groups"][name]) for name in records.methods],
        "protocol": records.protocol,
        "missing": _missing(records),
        "title_of": title_of,
        "environments": _environments(records),
        "seeds": sorted({run["seed"] for run in records.runs}),
        "n_runs": len(records.runs),
        "warnings": _warnings(records),
    }


def _beyond(records: Records) -> dict[str, Any] | None:
    """The section on what goes beyond the paper, if there are records of it."""
    found = cells(records.beyond)
    clean = clean_table(found)
    if clean is None:
        return None
    studies = []
    for kind, heading, share, words in (
        ("spikes", "Corrupted entries", 0.05, "With 5 % of the entries corrupted, in training and test samples:"),
        ("missing", "Missing entries", 0.2, "With 20 % of the entries missing, in training and test samples:"),
    ):
        if any(cell.kind == kind for cell in found):
            studies.append(
                {
                    "kind": kind,
                    "heading": heading,
                    "words": words,
                    "picture": _figures.damage(found, kind),
                    "findings": dirty_findings(found, kind, share),
                }
            )
    return {
        "clean": clean,
        "studies": studies,
        "csv": beyond_csv(found),
        "markdown": beyond_markdown(found),
        "titles": TITLES,
        "title": title,
        "seeds": sorted({record["seed"] for record in records.beyond}),
    }


def _summary(rows: list[Row]) -> list[str]:
    """What a reader should take along."""
    sentences = []
    for source in ("paper", "cv"):
        pairs = _pairs(rows, source)
        if pairs:
            reached = sum(ours.values["f1"] >= theirs.values["f1"] for ours, theirs in pairs)
            short = [title_of(ours.dataset) for ours, theirs in pairs if ours.values["f1"] < theirs.values["f1"] - 1]
            end = f"; more than a point short on {', '.join(short)}" if short else ", and is nowhere a point short"
            how = {"paper": "on the training samples themselves, as in the paper", "cv": "by cross-validation"}[source]
            start = f"With parameters chosen {how}, SDGS reaches its published F1"
            sentences.append(f"{start} on {reached} of {len(pairs)} data sets{end}.")
    return sentences


def _pairs(rows: list[Row], source: str) -> list[tuple[Row, Row]]:
    """SDGS measured and published, on each data set that has both."""
    mine = {row.dataset: row for row in rows if row.method == "sdgs" and row.source == source}
    printed = {row.dataset: row for row in rows if row.method == "sdgs" and not row.measured}
    return [(row, printed[dataset]) for dataset, row in mine.items() if dataset in printed]


def _speed(rows: list[Row]) -> list[dict[str, Any]]:
    """Published seconds over measured ones, for each method."""
    lines = []
    for name, method in METHODS.items():
        ratios = [row.speedup for row in rows if row.method == name and row.source in ("cv", "both") and row.speedup]
        if ratios:
            ends = (min(ratios), max(ratios))
            lines.append({"title": method.title, "mean": geometric_mean(ratios), "ends": ends, "n": len(ratios)})
    return lines


def _mediamill(records: Records, rows: list[Row]) -> dict[str, Any] | None:
    """The figures that explain Mediamill."""
    study = records.study("frequency", "mediamill")
    run = next((r for r in records.runs if (r["dataset"], r["method"], r["rule"]) == ("mediamill", "sdgs", "cv")), None)
    floor = next((row for row in rows if (row.dataset, row.method) == ("mediamill", "floor")), None)
    ours = next((row for row in rows if (row.dataset, row.method, row.source) == ("mediamill", "sdgs", "cv")), None)
    if study is None or run is None or floor is None or ours is None:
        return None
    best = max(range(len(study["f1"])), key=lambda i: study["f1"][i])
    if not (ours.below_floor and study["f1"][best] > study["f1"][-1]):
        return None  # then what the page says of it is not so
    return {
        "f1": ours.values["f1"],
        "floor": floor.values["f1"],
        "floor_labels": floor.parameters.removeprefix("m="),
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


def _missing(records: Records) -> list[str]:
    """Methods and data sets of the protocol that have no finished run."""
    done = {(run["dataset"], run["method"]) for run in records.runs}
    wanted = product(records.protocol["datasets"], records.protocol["methods"])
    return [f"{title_of(d)}, {METHODS[m].title}" for d, m in wanted if (d, m) not in done]


def _environments(records: Records) -> list[dict[str, str]]:
    """The environments of the records; more than one if they were made in several."""
    different = {tuple(run["environment"].items()) for run in records.runs}
    return [dict(environment) for environment in sorted(different)]


def _warnings(records: Records) -> list[tuple[str, str]]:
    """(where, what) of the warnings in the runs that the tables show."""
    found = {
        (f"{title_of(run['dataset'])}, {METHODS[run['method']].title}", warning)
        for run in records.runs
        for warning in run["warnings"]
    }
    return sorted(found)
