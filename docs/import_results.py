"""Import the records of `sdgs reproduce --beyond` into docs/results/accuracy.csv.

``python docs/import_results.py FOLDER SOURCE`` averages the records of ``FOLDER/beyond`` over seeds, and replaces rows
of the same data set, condition and method, and draws the curves of damaged data again from all rows. ``SOURCE`` is a
row of docs/results/sources.csv. Then run `make results`.
"""

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev

from render_results import DEFAULTS, MEAN, MEASURES, OURS, read_records

from sdgs.datasets import REGISTRY
from sdgs.experiments._extended_comparison import DIGITS, TITLES
from sdgs.experiments._extended_tables import MeanResult
from sdgs.experiments._figures import damage_curves
from sdgs.experiments._result_tables import title_of

COLUMNS = ("dataset", "condition", "percent", "method", "metric", "mean", "sd", "seeds", "source")
CONDITIONS = {"clean": "clean", "spikes": "corrupted", "missing": "missing"}


def rows_from_records(folder, source):
    """One row per data set, condition and method (F1), and the means over the paper's data sets if all are there."""
    groups = defaultdict(list)
    for path in sorted((folder / "beyond").glob("*.json")):
        record = json.loads(path.read_text())
        damage = record["damage"]
        condition, percent = CONDITIONS[damage["kind"]], f"{100 * damage['share']:g}"
        groups[record["dataset"], condition, percent, record["method"]].append(record)
    for (dataset, *case, method), records in groups.items():
        f1 = [100 * record["test"]["f1"] for record in records]
        spread = f"{stdev(f1):.1f}" if len(f1) > 1 else ""
        yield title_of(dataset), *case, TITLES[method], "f1", f"{fmean(f1):.1f}", spread, str(len(f1)), source
    for method in {method for *_, method in groups}:
        cases = [groups.get((dataset, "clean", "0", method)) for dataset in REGISTRY]
        if all(cases):
            for metric in MEASURES:
                mean = fmean(fmean(100 * record["test"][metric] for record in records) for records in cases)
                yield MEAN, "clean", "0", TITLES[method], metric, f"{mean:.2f}", "", "", source
    yield from fit_cost_rows(groups, source)


def fit_cost_rows(groups, source):
    """CPU time of the search divided by that of a fit with defaults, over the paper's data sets."""
    ratios = []
    for dataset in REGISTRY:
        pair = [groups.get((dataset, "clean", "0", method)) for method in ("sdgs-cv", "sdgs")]
        if not all(pair):
            return
        search, default = (fmean(record["seconds"]["fit"]["cpu"] for record in records) for records in pair)
        ratios.append(search / default)
    for name, value in (("min", min(ratios)), ("max", max(ratios)), ("mean", fmean(ratios))):
        yield MEAN, "clean", "0", TITLES["sdgs-cv"], f"fit_cpu_ratio_{name}", f"{value:.1f}", "", "", source


def draw_curves(folder):
    """F1 against the share of damaged entries, as two pictures."""
    names = {title_of(dataset): dataset for dataset in (*REGISTRY, DIGITS)}
    methods, kinds = ({title: key for key, title in table.items()} for table in (TITLES, CONDITIONS))
    results = [
        MeanResult(
            names[row["dataset"]],
            kinds[row["condition"]],
            float(row["percent"]) / 100,
            methods[row["method"]],
            {"f1": float(row["mean"])},
            *(0.0, 1, 0.0, 0.0),  # not drawn
        )
        for row in read_records("accuracy")
        if row["condition"] != "clean" and row["metric"] == "f1"
    ]
    for kind, condition in CONDITIONS.items():
        if kind != "clean":
            (folder / f"{condition}-entries.svg").write_text(damage_curves(results, kind))


def main(folder, source):
    """Replace rows, and keep the order of the others."""
    assert (TITLES["sdgs-cv"], TITLES["sdgs"]) == (OURS, DEFAULTS)
    assert source in {row["source"] for row in read_records("sources")}, f"describe {source} in sources.csv first"
    rows = {tuple(row[name] for name in COLUMNS[:5]): tuple(row.values()) for row in read_records("accuracy")}
    rows |= {row[:5]: row for row in rows_from_records(folder, source)}
    with (Path(__file__).parent / "results" / "accuracy.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows.values()])
    draw_curves(Path(__file__).parent / "images")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
