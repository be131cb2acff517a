"""Import the records of `sdgs reproduce` with `--all-methods`, `--beyond` or `--only STUDY` into docs/results.

``python docs/import_results.py FOLDER SOURCE`` averages records over seeds. Those of ``FOLDER/beyond`` replace rows of
accuracy.csv with the same data set, condition and method, and the curves of damaged data are drawn again from all rows.
Those of ``FOLDER/introduction`` replace rows of introduction.csv with the same data set and method. Those of studies of
explanations in ``FOLDER/studies`` replace the rows of the same study in explanations.csv.
``SOURCE`` is a row of docs/results/sources.csv. Then run `make results`.
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
from sdgs.experiments._introduction_methods import DECIDED, INTRODUCTION_METHODS, OWN
from sdgs.experiments._result_tables import title_of

COLUMNS = ("dataset", "condition", "percent", "method", "metric", "mean", "sd", "seeds", "source")
STUDY_COLUMNS = ("study", "dataset", "quantity", "mean", "sd", "seeds", "source")
INTRODUCTION_COLUMNS = ("dataset", "method", "own", "decided", "left_out", "seeds", "source")
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


def study_rows(folder, source):
    """One row per data set and quantity of the studies of explanations."""
    groups = defaultdict(list)
    for path in sorted((folder / "studies").glob("*.json")):
        record = json.loads(path.read_text())
        if record["kind"] == "explanations":
            groups[record["method"], record["dataset"]].append(record["measured"])
    order = list(REGISTRY)
    for (study, dataset), measured in sorted(groups.items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        for quantity in measured[0]:
            values = [figures[quantity] for figures in measured]
            spread = f"{stdev(values):.3f}" if len(values) > 1 else ""
            yield study, title_of(dataset), quantity, f"{fmean(values):.3f}", spread, str(len(values)), source


def import_accuracy(folder, source):
    """Replace rows of accuracy.csv, keep the order of the others, and draw the curves again."""
    rows = {tuple(row[name] for name in COLUMNS[:5]): tuple(row.values()) for row in read_records("accuracy")}
    rows |= {row[:5]: row for row in rows_from_records(folder, source)}
    write_rows("accuracy", [COLUMNS, *rows.values()])
    draw_curves(Path(__file__).parent / "images")


def import_studies(folder, source):
    """Replace the studies of explanations.csv that the folder has records of."""
    new = list(study_rows(folder, source))
    kept = [tuple(row.values()) for row in read_records("explanations") if row["study"] not in {row[0] for row in new}]
    write_rows("explanations", [STUDY_COLUMNS, *kept, *new])


def introduction_rows(folder, source):
    """One row per data set and method of the paper's introduction: F1 with its own and with the tuned decision."""
    groups = defaultdict(list)
    for path in sorted((folder / "introduction").glob("*.json")):
        record = json.loads(path.read_text())
        groups[record["dataset"], record["method"]].append(record)
    for (dataset, method), records in groups.items():
        title, reason = INTRODUCTION_METHODS[method].title, records[0]["left_out"]
        f1 = ["", ""]
        if not reason:
            scores = [record["test_by_decision"] for record in records]
            f1 = [f"{100 * fmean(score[decision]['f1'] for score in scores):.1f}" for decision in (OWN, DECIDED)]
        yield title_of(dataset), title, *f1, reason, str(len(records)), source


def import_introduction(folder, source):
    """Replace rows of introduction.csv, in the order of the paper's data sets and of the methods."""
    path = Path(__file__).parent / "results" / "introduction.csv"
    old = read_records("introduction") if path.exists() else []
    rows = {(row["dataset"], row["method"]): tuple(row.values()) for row in old}
    rows |= {row[:2]: row for row in introduction_rows(folder, source)}
    datasets = [title_of(name) for name in REGISTRY]
    methods = [method.title for method in INTRODUCTION_METHODS.values()]
    order = sorted(rows, key=lambda key: (datasets.index(key[0]), methods.index(key[1])))
    write_rows("introduction", [INTRODUCTION_COLUMNS, *(rows[key] for key in order)])


def write_rows(name, rows):
    """Write docs/results/NAME.csv."""
    with (Path(__file__).parent / "results" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main(folder, source):
    """Import what the folder has records of."""
    assert (TITLES["sdgs-cv"], TITLES["sdgs"]) == (OURS, DEFAULTS)
    assert source in {row["source"] for row in read_records("sources")}, f"describe {source} in sources.csv first"
    if list((folder / "beyond").glob("*.json")):
        import_accuracy(folder, source)
    if list((folder / "introduction").glob("*.json")):
        import_introduction(folder, source)
    import_studies(folder, source)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
