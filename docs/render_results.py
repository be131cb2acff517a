"""Render the records in docs/results into the tables of the pages: `make results`.

A table stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``. Every measured figure of the documentation
comes from a record, so that no two pages contradict each other. ``--check`` changes nothing and fails if a page is
outdated.
"""

import csv
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, variance

DOCS = Path(__file__).parent
PAGES = (DOCS.parent / "README.md", DOCS.parent / "paper" / "paper.md", *sorted(DOCS.glob("*.md")))
BLOCK = re.compile(r"(<!-- begin: (\S+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)
MEAN = "mean of 11"
MEASURES = {
    "hamming_loss": "Hamming loss",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "accuracy": "Accuracy",
}
SPACE = "\N{NO-BREAK SPACE}"
OURS, DEFAULTS = "SDGSClassifierCV", "SDGSClassifier()"
MAX_LISTED_CASES = 5  # of one quantity; of more the range is shown
MISSED = " (missed)"
DECIDED = ", decided"
SERVING = "export"  # the subject of speed.csv that has tables of its own
FORMS = ("library", "Python file", "ONNX")
DECISION_MEASURES = {
    "f1": "F1",
    "accuracy": "Accuracy",
    "micro_f1": "Micro F1",
    "macro_f1": "Macro F1",
    "subset_accuracy": "Subset accuracy",
    "hamming_loss": "Hamming loss",
}
DECISION_TITLES = {metric: f'`metric="{metric}"`' for metric in DECISION_MEASURES} | {
    "f1": '`metric="f1"` (default)',
    "balanced labels": '`label_weight="balanced"`',
    "macro_f1, tuned thresholds": '`metric="macro_f1"`, `decision="thresholds"`',
    "p >= 0.5": "`decision=0.5`",
}
DECISION_AIMS = {"balanced labels": "macro_f1", "macro_f1, tuned thresholds": "macro_f1"}
GROWTH_OF_FITS = "exponent of the fit time in "
LEVEL = 0.2  # points of F1 within which two methods count as level

Record = dict[str, str]


def read_records(name: str) -> list[Record]:
    """Rows of docs/results/NAME.csv."""
    with (DOCS / "results" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], n_text_columns: int = 1) -> str:
    """A Markdown table; columns after the first ``n_text_columns`` are aligned to the right."""
    rule = ["---"] * n_text_columns + ["---:"] * (len(header) - n_text_columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def unique(values: Iterable[str]) -> list[str]:
    """Distinct values in their order of appearance."""
    return list(dict.fromkeys(values))


class Accuracy:
    """The records of accuracy.csv, by data set, condition, percent and method."""

    def __init__(self) -> None:
        self.records = read_records("accuracy")
        self.f1 = {
            (r["dataset"], r["condition"], r["percent"], r["method"]): r for r in self.records if r["metric"] == "f1"
        }

    def mean(self, method: str, metric: str = "f1", dataset: str = MEAN) -> float:
        """A mean on clean data."""
        key = (dataset, "clean", method, metric)
        (value,) = [r["mean"] for r in self.records if (r["dataset"], r["condition"], r["method"], r["metric"]) == key]
        return float(value)

    def value(self, dataset: str, condition: str, percent: str, method: str) -> float:
        """F1 of a method."""
        return float(self.f1[dataset, condition, percent, method]["mean"])

    def best_other(self, dataset: str, condition: str, percent: str) -> tuple[float, str]:
        """F1 and name of the best method that is not SDGS."""
        return max(
            (float(r["mean"]), method)
            for (d, c, p, method), r in self.f1.items()
            if (d, c, p) == (dataset, condition, percent) and not method.startswith("SDGS")
        )

    def cell(self, dataset: str, condition: str, percent: str, method: str) -> str:
        """F1 with its standard deviation, bold if it is the largest."""
        record = self.f1.get((dataset, condition, percent, method))
        if record is None:
            return "\N{EN DASH}"
        largest = max(float(r["mean"]) for key, r in self.f1.items() if key[:3] == (dataset, condition, percent))
        text = f"**{record['mean']}**" if float(record["mean"]) == largest else record["mean"]
        return f"{text}{SPACE}\N{PLUS-MINUS SIGN}{SPACE}{record['sd']}" if record["sd"] else text

    def clean_datasets(self, source: str = "extended-sdgs") -> list[str]:
        """Data sets of a source, without the mean."""
        records = [r for r in self.records if r["source"] == source and r["condition"] == "clean"]
        return [dataset for dataset in unique(r["dataset"] for r in records) if dataset != MEAN]

    def clean_table(self, source: str = "extended-sdgs") -> str:
        """F1 of all methods on clean data."""
        datasets = self.clean_datasets(source)
        methods = unique(m for d, c, _, m in self.f1 if c == "clean" and d in datasets)
        rows = [[d, *(self.cell(d, "clean", "0", m) for m in methods)] for d in datasets]
        return markdown_table(["Data set", *methods], rows)

    def means_table(self) -> str:
        """All measures, means over the paper's data sets."""
        methods = unique(r["method"] for r in self.records if r["dataset"] == MEAN)
        rows = [[m, *(f"{self.mean(m, measure):.1f}" for measure in MEASURES)] for m in methods]
        return markdown_table(["Method", *MEASURES.values()], rows)

    def damaged_table(self, condition: str) -> str:
        """F1 of all methods by share of damaged entries."""
        percents = unique(p for _, c, p, _ in self.f1 if c == condition)
        pairs = dict.fromkeys((d, m) for d, c, _, m in self.f1 if c == condition)
        rows = [[d, m, *(self.cell(d, condition, p, m) for p in percents)] for d, m in pairs]
        return markdown_table(["Data set", "Method", *(f"{p} %" for p in percents)], rows, n_text_columns=2)

    def exceptions(self, condition: str) -> str:
        """Where another method is ahead of SDGS."""
        cases = unique(f"{d}\t{p}" for d, c, p, _ in self.f1 if c == condition)
        behind = []
        for dataset, percent in (case.split("\t") for case in cases):
            other, method = self.best_other(dataset, condition, percent)
            lead = self.value(dataset, condition, percent, OURS) - other
            if lead < 0:
                behind.append(f"{dataset} at {percent} % ({method}, by {-lead:.1f} points)")
        ahead = f"{OURS} has the highest F1 in {len(cases) - len(behind)} of {len(cases)} cases (data set and share)."
        return ahead if not behind else f"{ahead} Another method is ahead on {', '.join(behind)}."

    def losses_table(self, percent: str = "5") -> str:
        """F1 lost when entries are corrupted."""
        datasets = unique(d for d, c, _, _ in self.f1 if c == "corrupted")
        damaged = {m for _, c, _, m in self.f1 if c == "corrupted"}
        methods = [m for m in unique(m for *_, m in self.f1) if m in damaged]  # in the order of the clean table
        rows = []
        for d in datasets:
            known = [(d, "corrupted", percent, m) in self.f1 for m in methods]
            losses = [
                f"{self.value(d, 'corrupted', '0', m) - self.value(d, 'corrupted', percent, m):.1f}"
                if k
                else "\N{EN DASH}"
                for m, k in zip(methods, known, strict=True)
            ]
            rows.append([d, *losses])
        return markdown_table(["Data set", *methods], rows)

    def damaged_summary(self) -> str:
        """SDGS and the best other method, side by side."""
        cases = {
            "clean": ("corrupted", "0"),
            "5 % corrupted": ("corrupted", "5"),
            "10 % corrupted": ("corrupted", "10"),
            "20 % missing": ("missing", "20"),
            "40 % missing": ("missing", "40"),
        }
        rows = []
        for d in unique(d for d, c, _, _ in self.f1 if c == "missing"):
            pairs = [(self.value(d, c, p, OURS), self.best_other(d, c, p)[0]) for c, p in cases.values()]
            rows.append([d, *(f"{ours:.1f} / {other:.1f}" for ours, other in pairs)])
        return markdown_table(["Data set", *cases], rows)

    def headline(self) -> str:
        """The result in two sentences, for the README."""
        (version,) = {r["version"] for r in read_records("sources") if r["source"] == "extended-sdgs"}
        best = self.best_other_by_mean()
        name = {"BR": "binary relevance with tuned linear SVMs"}.get(best, best)
        return (
            f"On the paper's eleven data sets `{OURS}` (version {version}) reached a mean F1 of "
            f"{self.mean(OURS):.2f} %. That is\n{self.mean(OURS) - self.mean(best):.2f} points above the best other "
            f"method, {name} ({self.mean(best):.2f} %)."
        )

    def best_other_by_mean(self) -> str:
        """The method with the best mean F1 over the paper's data sets that is not SDGS."""
        others = unique(r["method"] for r in self.records if r["dataset"] == MEAN and r["method"][:4] != "SDGS")
        return max(others, key=self.mean)

    def summary(self) -> str:
        """What clean data show."""
        best = self.best_other_by_mean()
        datasets = [d for d in self.clean_datasets() if d != "composite digits"]
        leads = [self.value(d, "clean", "0", OURS) - self.best_other(d, "clean", "0")[0] for d in datasets]
        n_first = sum(lead >= -LEVEL - 1e-9 for lead in leads)
        ratios = [self.mean(OURS, f"fit_cpu_ratio_{name}") for name in ("min", "max", "mean")]
        digits = self.mean(OURS, "fit_cpu_ratio_mean", "composite digits")
        rows = [
            ["Mean F1 of `SDGSClassifierCV`", f"{self.mean(OURS):.2f} %"],
            [f"Lead over the best other method by mean F1, {best} ({self.mean(best):.2f} %)", self.lead(OURS, best, 2)],
            [f"Data sets on which it is first or within {LEVEL} points of the first", f"{n_first} of {len(datasets)}"],
            [
                f"Lead over BR if the others use one tuned threshold ({self.mean('BR', 'f1_one_threshold')} %)",
                f"about {self.mean(OURS) - self.mean('BR', 'f1_one_threshold'):.0f} points",
            ],
            ["Mean F1 of `SDGSClassifier()`, without tuning", f"{self.mean(DEFAULTS):.1f} %"],
            ["Its lead over tuned BR", self.lead(DEFAULTS, "BR", 1)],
            ["Gain of `SDGSClassifierCV` over `SDGSClassifier()`", self.lead(OURS, DEFAULTS, 1)],
            ["CPU time to fit: `SDGSClassifierCV` over `SDGSClassifier()`, mean", f"{ratios[2]:.1f} times"],
            ["The same, range over the eleven data sets", f"{ratios[0]:.1f} to {ratios[1]:.1f} times"],
            ["The same, composite digits", f"{digits:.1f} times"],
        ]
        return markdown_table(["Quantity", "Measured"], rows)

    def lead(self, method: str, other: str, digits: int) -> str:
        """Difference of two means."""
        return f"{self.mean(method) - self.mean(other):+.{digits}f} points"


def reproduction_blocks() -> dict[str, str]:
    """SDGS as published and binary relevance, beside the printed figures."""
    records = read_records("reproduction")
    columns = {
        "SDGS, selected on training samples": ("SDGS as published", "training samples"),
        "SDGS, cross-validated": ("SDGS as published", "cross-validation"),
        "SDGS, printed": ("SDGS as published", "printed in the paper"),
        "binary relevance, cross-validated": ("binary relevance", "cross-validation"),
        "binary relevance, printed": ("binary relevance", "printed in the paper"),
    }
    datasets = unique(r["dataset"] for r in records)
    cells = {
        (r["dataset"], r["method"], r["selection"]): r["value"] + (" (impossible)" if r["possible"] == "no" else "")
        for r in records
    }
    values = {(r["dataset"], r["method"], r["selection"]): float(r["value"]) for r in records}
    rows = [[d, *(cells.get((d, *column), "\N{EN DASH}") for column in columns.values())] for d in datasets]
    sdgs, svm = columns["SDGS, cross-validated"], columns["binary relevance, cross-validated"]
    reached = [d for d in datasets if values[(d, *sdgs)] >= values[(d, *columns["SDGS, printed"])]]
    compared = [d for d in datasets if (d, *svm) in values]
    ahead = [d for d in compared if values[(d, *svm)] > values[(d, *sdgs)]]
    missed = ", ".join(d for d in datasets if d not in reached)
    summary = (
        f"- SDGS as published reaches its printed F1 on {len(reached)} of {len(datasets)} data sets; not on {missed}.\n"
        f"- Binary relevance with a cross-validated linear SVM per label is ahead of it on {len(ahead)} of the\n"
        f"  {len(compared)} data sets on which both were measured."
    )
    return {"reproduction": markdown_table(["Data set", *columns], rows), "reproduction-summary": summary}


def speed_blocks() -> dict[str, str]:
    """A table for each subject of speed.csv: cases of one quantity share a row."""
    records = read_records("speed")
    blocks = {}
    for subject in unique(r["subject"] for r in records):
        rows = []
        if subject == SERVING:
            continue
        of_subject = [r for r in records if r["subject"] == subject and not r["quantity"].startswith(GROWTH_OF_FITS)]
        for quantity in unique(r["quantity"] for r in of_subject):
            cases = [r for r in of_subject if r["quantity"] == quantity]
            figures = _range(cases) if len(cases) > MAX_LISTED_CASES else "; ".join(map(_case_figure, cases))
            goals = unique(_goal(r) for r in cases if r["goal"])
            rows.append([quantity, figures, "; ".join(goals)])
        header = ["Quantity", "Measured", "Goal"]
        if not any(row[2] for row in rows):
            rows, header = [row[:2] for row in rows], header[:2]
        blocks[subject.replace("_", "-")] = markdown_table(header, rows, n_text_columns=len(header))
    return blocks


def growth_of_methods_block() -> str:
    """The exponents of the fit time of each method, by the size that grows; in brackets what theory allows."""
    records = [r for r in read_records("speed") if r["quantity"].startswith(GROWTH_OF_FITS)]
    sizes = unique(r["quantity"].removeprefix(GROWTH_OF_FITS) for r in records)
    figures = {(r["case"], r["quantity"].removeprefix(GROWTH_OF_FITS)): f"{_figure(r)} ({_goal(r)})" for r in records}
    rows = [[method, *(figures[method, size] for size in sizes)] for method in unique(r["case"] for r in records)]
    return markdown_table(["Method", *sizes], rows)


def serving_blocks() -> dict[str, str]:
    """Models in several forms: time per call by the number of samples, and start, memory and file size."""
    records = [r for r in read_records("speed") if r["subject"] == SERVING]
    figures = {(r["case"], r["quantity"]): r["value"] for r in records}
    cases, quantities = unique(r["case"] for r in records), unique(r["quantity"] for r in records)
    models = unique(case.partition("; ")[0] for case in cases)
    cases = [case for model in models for form in FORMS if (case := f"{model}; {form}") in cases]

    def table(columns: dict[str, str]) -> str:
        rows = [
            [*case.split("; "), *(figures.get((case, quantity), "\N{EN DASH}") for quantity in columns.values())]
            for case in cases
        ]
        return markdown_table(["Model", "Form", *columns], rows, n_text_columns=2)

    calls = [quantity for quantity in quantities if quantity.startswith("ms per call of ")]
    return {
        "serving-latency": table({quantity.removeprefix("ms per call of "): quantity for quantity in calls}),
        "serving-start": table(
            {
                "File, MB": "file",
                "Start, s": "start",
                "Start that compiles, s": "start, compiled",
                "Memory, MB": "memory",
                "Largest difference": "largest difference of probabilities",
            }
        ),
    }


def _case_figure(record: Record) -> str:
    return f"{record['case']}: {_figure(record)}" if record["case"] else _figure(record)


def _range(cases: Sequence[Record]) -> str:
    """The smallest and the largest of many cases, and those that miss their goals."""
    low, high = (choose(cases, key=lambda r: float(r["value"])) for choose in (min, max))
    missed = [_case_figure(r).removesuffix(MISSED) for r in cases if _figure(r).endswith(MISSED)]
    values = high["value"] if low["value"] == high["value"] else f"{low['value']} to {high['value']}"
    text = f"{values}{_unit(high)} in {len(cases)} cases"
    return f"{text}; missed: {'; '.join(missed)}" if missed else text


def _unit(record: Record) -> str:
    return {"x": "x", "": ""}.get(record["unit"], f"{SPACE}{record['unit']}")


def _figure(record: Record) -> str:
    unit = _unit(record)
    text = record["value"] + unit
    if record["value_max"]:
        text = f"{record['value']} to {record['value_max']}{unit}"
    if not record["goal"]:
        return text
    rule, bound = record["goal"].split()
    low, high = float(record["value"]), float(record["value_max"] or record["value"])
    met = high <= float(bound) if rule == "<=" else low >= float(bound)
    return text if met else text + MISSED


def _goal(record: Record) -> str:
    rule, bound = record["goal"].split()
    return f"{'≤' if rule == '<=' else '≥'}{SPACE}{bound}{_unit(record)}"


FAITHFULNESS = {
    "reasons": "five top reasons",
    "occlusion": "five found by occlusion",
    "random": "five random features",
    "shares": "five top features of the share",
}


def faithfulness_block() -> str:
    """How far log-odds fall when features are deleted, per data set."""
    records = [r for r in read_records("explanations") if r["study"] == "faithfulness"]
    mean = {(r["dataset"], r["quantity"]): float(r["mean"]) for r in records}
    spread = {(r["dataset"], r["quantity"]): float(r["sd"]) for r in records}
    pm = f"{SPACE}\N{PLUS-MINUS SIGN}{SPACE}"
    datasets = unique(r["dataset"] for r in records)
    rows = [[d, *(f"{mean[d, q]:.2f}{pm}{spread[d, q]:.2f}" for q in FAITHFULNESS)] for d in datasets]
    to_occlusion = [100 * mean[d, "reasons"] / mean[d, "occlusion"] for d in datasets]
    to_random = min(mean[d, "reasons"] / mean[d, "random"] for d in datasets)
    (source,) = [r for r in read_records("sources") if r["source"] == records[0]["source"]]
    summary = (
        f"The top reasons reach {min(to_occlusion):.0f} to {max(to_occlusion):.0f} % of occlusion, and at least "
        f"{to_random:.1f} times random features.\nMeasured by `{source['command']}`."
    )
    return f"{markdown_table(['Data set', *FAITHFULNESS.values()], rows)}\n\n{summary}"


def device_blocks() -> dict[str, str]:
    """Times on the host and on the device."""
    records = read_records("devices")
    steps = [r for r in records if "," in r["quantity"]]
    header = ["Step", "Two cores", "H200", "Ratio"]
    rows = [[r["quantity"], f"{r['host_seconds']} s", f"{r['device_seconds']} s", f"{r['ratio']}x"] for r in steps]
    cells = {
        (
            r["labels"],
            r["features"],
            r["samples"],
            r["quantity"],
        ): f"{r['host_seconds']} / {r['device_seconds']}: {r['ratio']}x"
        for r in records
        if r not in steps
    }
    shapes = dict.fromkeys(key[:3] for key in cells)
    whole = [
        [
            labels,
            features,
            f"{int(samples):,}",
            *(cells[labels, features, samples, q] for q in ("decompose", "fit", "predict")),
        ]
        for labels, features, samples in shapes
    ]
    columns = ["Labels", "Features", "Samples", "`decompose`", "`fit`", "`predict`"]
    return {"device-steps": markdown_table(header, rows), "device-whole": markdown_table(columns, whole)}


def label_error_blocks() -> dict[str, str]:
    """What is found of planted mistakes, and what is listed without them."""
    records = read_records("label_errors")
    cells = {(r["dataset"], r["percent"], r["method"], r["quantity"]): r for r in records}
    planted, clean = [], []
    for dataset, percent, method in dict.fromkeys((r["dataset"], r["percent"], r["method"]) for r in records):
        if not method:
            continue
        listed = cells[dataset, percent, method, "listed"]["mean"]
        if percent == "0":
            clean.append([dataset, method, listed])
            continue
        quantities = ("average precision", "precision", "recall")
        values = [cells[dataset, percent, method, quantity] for quantity in quantities]
        texts = [f"{r['mean']}{SPACE}\N{PLUS-MINUS SIGN}{SPACE}{r['sd']}" for r in values]
        n_planted = cells[dataset, percent, "", "planted"]["mean"]
        planted.append([dataset, method, n_planted, texts[0], listed, *texts[1:]])
    header = ["Data set", "Method", "Planted", "Average precision", "Listed", "Precision", "Recall"]
    return {
        "label-errors": markdown_table(header, planted, n_text_columns=2),
        "label-errors-clean": markdown_table(["Data set", "Method", "Listed"], clean, n_text_columns=2),
        "label-errors-source": sources_table("label_errors"),
    }


def incomplete_label_blocks() -> dict[str, str]:
    """What unobserved labels, and labels that are given by half, cost."""
    runs: dict[tuple[str, str, str], list[Record]] = {}
    for r in read_records("incomplete_labels"):
        runs.setdefault((r["dataset"], r["labels"], r["method"]), []).append(r)
    datasets = unique(dataset for dataset, _, _ in runs)

    def value(dataset: str, labels: str, method: str, measure: str = "f1") -> float:
        return fmean(100 * float(r[measure]) for r in runs[dataset, labels, method])

    def mean_value(labels: str, method: str, measure: str = "f1") -> float:
        return fmean(value(dataset, labels, method, measure) for dataset in datasets)

    columns = [
        ("complete", "SDGS"),
        ("unobserved", "SDGS"),
        ("taken for negative", "SDGS"),
        ("complete", "binary relevance"),
        ("unobserved", "binary relevance"),
    ]
    rows = [[dataset, *(f"{value(dataset, *column):.1f}" for column in columns)] for dataset in datasets]
    rows.append(["**mean**", *(f"{mean_value(*column):.1f}" for column in columns)])
    header = ["Data set", *(f"{method}, {labels}" for labels, method in columns)]
    measures = {"f1": "F1", "micro_f1": "Micro F1", "macro_f1": "Macro F1"}
    methods = unique(method for _, labels, method in runs if labels == "given by half")
    given = [
        [method, *(f"{mean_value('given by half', method, measure):.1f}" for measure in measures)] for method in methods
    ]
    given.append(
        ["SDGS, all labels given", *(f"{mean_value('complete', 'SDGS', measure):.1f}" for measure in measures)]
    )
    return {
        "incomplete-unobserved": markdown_table(header, rows),
        "incomplete-given": markdown_table(["Method", *measures.values()], given),
        "incomplete-source": sources_table("incomplete_labels"),
    }


def decision_blocks() -> dict[str, str]:
    """What tuned decisions and averages gain, in F1."""
    f1: dict[tuple[str, str, str], list[float]] = {}
    for r in read_records("decisions"):
        f1.setdefault((r["study"], r["dataset"], r["method"]), []).append(float(r["f1"]))
    means = {key: fmean(values) for key, values in f1.items()}
    datasets = unique(dataset for study, dataset, _ in means if study == "average")
    methods = unique(method for study, _, method in means if study == "average")
    rows = [[d, *(f"{means['average', d, m]:.1f}" for m in methods)] for d in datasets]
    rows.append(["**mean**", *(f"**{fmean(means['average', d, m] for d in datasets):.1f}**" for m in methods)])
    linear = {(d, m): value for (study, d, m), value in means.items() if study == "linear"}
    return {
        "decisions-average": markdown_table(["Data set", *methods], rows),
        "decisions-linear": linear_table(linear),
        "decisions-summary": linear_summary(linear),
        "decisions-source": sources_table("decisions", "decision_metrics"),
    }


def decision_metric_blocks() -> dict[str, str]:
    """All measures of decisions for each of them, and what a decision gains in the measure that it aims at."""
    values: dict[tuple[str, str, str], list[float]] = {}
    records = read_records("decision_metrics")
    measures = {m: title for m, title in DECISION_MEASURES.items() if m in records[0]}
    for r in records:
        for measure in measures:
            values.setdefault((r["dataset"], r["decision"], measure), []).append(float(r[measure]))
    means = {key: fmean(of_folds) for key, of_folds in values.items()}
    datasets, decisions = (unique(r[name] for r in records) for name in ("dataset", "decision"))
    average = {(d, m): fmean(means[s, d, m] for s in datasets) for d in decisions for m in measures}

    def cell(decision: str, measure: str) -> str:
        best = (min if measure == "hamming_loss" else max)(average[d, measure] for d in decisions)
        text = f"{average[decision, measure]:.1f}"
        return f"**{text}**" if text == f"{best:.1f}" else text

    rows = [[DECISION_TITLES[d], *(cell(d, m) for m in measures)] for d in decisions]
    gains = []
    for decision, measure in ((d, d if d in measures else DECISION_AIMS.get(d)) for d in decisions[1:]):
        if measure is None:
            continue
        changes = [means[s, decision, measure] - means[s, decisions[0], measure] for s in datasets]
        if measure == "hamming_loss":
            changes = [-change for change in changes]
        f1 = average[decision, "f1"] - average[decisions[0], "f1"]
        better = f"{sum(change > 0 for change in changes)} of {len(changes)}"
        texts = f"{fmean(changes):z.1f}", better, f"{min(changes):z.1f}", f"{f1:z.1f}"
        gains.append([DECISION_TITLES[decision], measures[measure], *texts])
    header = ["Decision", "Aims at", "Mean gain", "Data sets with a gain", "Smallest gain", "Change of F1"]
    return {
        "decisions-metrics": markdown_table(["Decision", *measures.values()], rows),
        "decisions-metrics-summary": markdown_table(header, gains, n_text_columns=2),
    }


def linear_table(f1: dict[tuple[str, str], float]) -> str:
    """F1 of linear methods with their own and with tuned decisions, and the means over all data sets."""
    datasets, methods = (unique(key[i] for key in f1) for i in (0, 1))
    columns = [m for m in methods if not m.endswith(DECIDED)]

    def cell(own: float | None, decided: float | None) -> str:
        if own is None:
            return "\N{EN DASH}"
        return f"{own:.1f}" if decided is None else f"{own:.1f} / {decided:.1f}"

    rows = [[d, *(cell(f1.get((d, m)), f1.get((d, m + DECIDED))) for m in columns)] for d in datasets]
    average = {m: fmean(f1[d, m] for d in datasets) if all((d, m) in f1 for d in datasets) else None for m in methods}
    rows.append(["**mean**", *(f"**{cell(average[m], average.get(m + DECIDED))}**" for m in columns)])
    return markdown_table(["Data set", *columns], rows)


def linear_summary(f1: dict[tuple[str, str], float]) -> str:
    """Gains by tuned decisions, per method, and where they lose."""
    gains: dict[str, dict[str, float]] = {}
    for (dataset, method), value in f1.items():
        decided = method.partition(" (")[0] + DECIDED  # in brackets is another decision of the same method
        if (dataset, decided) in f1 and method != decided:
            gains.setdefault(method, {})[dataset] = f1[dataset, decided] - value
    rows = []
    for method, of_method in gains.items():
        losses = [f"{d} ({gain:.2f})" for d, gain in of_method.items() if gain < 0]
        texts = f"{fmean(of_method.values()):+.1f}", f"{len(of_method) - len(losses)} of {len(of_method)}"
        rows.append([method, *texts, ", ".join(losses) or "\N{EN DASH}"])
    header = ["Method", "Mean change of F1", "Data sets on which F1 is at least as high", "Lower on"]
    return markdown_table(header, rows)


def introduction_blocks() -> dict[str, str]:
    """The methods of the paper's introduction, with their own and with tuned decisions."""
    records = read_records("introduction")
    datasets, methods = unique(r["dataset"] for r in records), unique(r["method"] for r in records)
    cells = {(r["dataset"], r["method"]): r for r in records}
    rows = []
    for method in methods:
        found = [cells.get((d, method)) for d in datasets]
        texts = [f"{r['own']} / {r['decided']}" if r and r["own"] else "\N{EN DASH}" for r in found]
        if any(r and r["own"] for r in found):
            rows.append([method, *texts])
    reasons: dict[tuple[str, str], list[str]] = {}
    for r in records:
        if r["left_out"]:
            reasons.setdefault((r["method"], r["left_out"]), []).append(r["dataset"])
    left_out = [
        f"- {method} on {'all data sets' if len(of) == len(datasets) else ', '.join(of)}: {reason}."
        for (method, reason), of in reasons.items()
    ]
    return {
        "introduction": markdown_table(["Method", *datasets], rows),
        "introduction-left-out": "\n".join(left_out) or "Nothing was left out.",
        "introduction-source": sources_table("introduction"),
    }


STUDY_MEASURES = {"f1": "F1", "hamming_loss": "Hamming loss", "subset_accuracy": "Subset accuracy"}
STUDY_VARIANTS = {"study": "settings of the study", "default": "defaults"}
STUDY_RECORD = "study_comparison"
NOISE = 2.0  # standard deviations between splits that a difference must exceed
Values = dict[str, list[float]]  # a measure by method: one value per split


class StudyComparison:
    """A published study's figures, and ours for several random splits."""

    def __init__(self) -> None:
        records = read_records("published_study")
        self.published = {(r["dataset"], r["method"]): r for r in records}
        self.measured = {(r["dataset"], r["variant"], r["split"], r["method"]): r for r in read_records(STUDY_RECORD)}
        self.datasets, self.methods = (unique(r[key] for r in records) for key in ("dataset", "method"))

    def values(self, dataset: str, variant: str, measure: str) -> Values:
        """Our values for the splits in which all methods were measured."""
        splits = unique(key[2] for key in self.measured if key[:2] == (dataset, variant))
        complete = [s for s in splits if all((dataset, variant, s, m) in self.measured for m in self.methods)]
        rows = {m: [self.measured[dataset, variant, s, m] for s in complete] for m in self.methods}
        return {m: [float(r[measure]) for r in rows[m]] for m in self.methods if rows[m]}

    def reference(self, dataset: str, measure: str) -> dict[str, float]:
        """The published values of the cells that are not failures."""
        cells = ((m, self.published[dataset, m]) for m in self.methods)
        return {m: float(r[measure]) for m, r in cells if r["failed"] == "no"}

    def compared(self, measure: str) -> list[str]:
        """The data sets that all variants have."""
        return [d for d in self.datasets if all(self.values(d, variant, measure) for variant in STUDY_VARIANTS)]

    def table(self, measure: str) -> str:
        """Published and measured values with Kendall's tau."""
        rows = []
        for d in self.datasets:
            reference, line, taus = self.reference(d, measure), [], []
            ours = [means(self.values(d, variant, measure)) for variant in STUDY_VARIANTS]
            for m in self.methods:
                cells = [f"{100 * reference[m]:.1f}" if m in reference else "failed"]
                cells += [f"{100 * mean[m]:.1f}" if m in mean else "\N{EN DASH}" for mean in ours]
                line.append(" / ".join(cells))
            for mean in ours:
                taus.append(f"{tau_of_orders(reference, mean):.2f}" if mean else "\N{EN DASH}")
            rows.append([d, *line, " / ".join(taus)])
        return markdown_table(["Data set", *self.methods, "Kendall's tau"], rows)

    def decided_pairs(self, measure: str, variant: str) -> list[tuple[str, str, bool]]:
        """Pairs of methods that the study tells apart beyond the noise of splits, and whether we order them alike."""
        pairs = []
        for d in self.compared(measure):
            pairs += pairs_beyond_noise(
                self.reference(d, measure), self.values(d, variant, measure), self.values(d, "study", measure)
            )
        return pairs

    def agreement(self) -> str:
        """How far the orders agree, by measure."""
        rows = []
        for measure, title in STUDY_MEASURES.items():
            for variant, name in STUDY_VARIANTS.items():
                orders = [
                    (self.reference(d, measure), means(self.values(d, variant, measure)))
                    for d in self.compared(measure)
                ]
                pairs = self.decided_pairs(measure, variant)
                rows.append([title, f"the study and our {name}", *agreement_cells(orders, pairs)])
            orders, pairs = [], []
            for d in self.compared(measure):
                values = self.values(d, "study", measure)
                for split, others in leave_one_out(values):
                    orders.append((split, means(others)))
                    pairs += pairs_beyond_noise(split, others, values)
            rows.append([title, "one split of ours and the mean of the others", *agreement_cells(orders, pairs)])
        header = ["Measure", "Orders compared", "Mean tau", "tau above 0", "Pairs beyond noise", "Ordered alike"]
        return markdown_table(header, rows, n_text_columns=2)

    def by_method(self) -> str:
        """Pairs beyond noise ordered alike, by method."""
        rows = []
        for m in self.methods:
            line = []
            for measure in STUDY_MEASURES:
                alike = [same for a, b, same in self.decided_pairs(measure, "study") if m in (a, b)]
                line.append(f"{sum(alike)} of {len(alike)}")
            rows.append([m, *line])
        return markdown_table(["Method", *STUDY_MEASURES.values()], rows)

    def fixed_settings(self) -> str:
        """What settings of a method decide, beside its published figures."""
        rows = []
        fixed = [key for key in self.measured if key[1] not in STUDY_VARIANTS]
        for d, m in dict.fromkeys((d, m) for d, _, _, m in fixed):
            measured = {key[1].replace(";", ","): self.measured[key] for key in fixed if key[::3] == (d, m)}
            for name, record in {**measured, "published": self.published[d, m]}.items():
                rows.append([d, m, name, *(f"{100 * float(record[key]):.1f}" for key in STUDY_MEASURES)])
        return markdown_table(["Data set", "Method", "Settings", *STUDY_MEASURES.values()], rows, n_text_columns=3)


def study_blocks() -> dict[str, str]:
    """A published study's figures beside ours, and how far the orders of methods agree."""
    study = StudyComparison()
    tables = {
        f"study-{measure.replace('_', '-')}": f"{title} in percent:\n\n{study.table(measure)}"
        for measure, title in STUDY_MEASURES.items()
    }
    return tables | {
        "study-agreement": study.agreement(),
        "study-methods": study.by_method(),
        "study-fixed-settings": study.fixed_settings(),
        "study-source": sources_table("published_study", STUDY_RECORD),
    }


def means(values: Values) -> dict[str, float]:
    """The mean over splits of each method."""
    return {m: fmean(of_splits) for m, of_splits in values.items()}


def leave_one_out(values: Values) -> list[tuple[dict[str, float], Values]]:
    """The values of each split, and those of the others, if there are several."""
    n = min(map(len, values.values()))
    return [
        ({m: v[s] for m, v in values.items()}, {m: v[:s] + v[s + 1 :] for m, v in values.items()})
        for s in range(n if n > 1 else 0)
    ]


def tau_of_orders(reference: dict[str, float], ours: dict[str, float]) -> float:
    """Kendall's tau of the methods that both have."""
    return kendall_tau([(value, ours[m]) for m, value in reference.items() if m in ours])


def pairs_beyond_noise(reference: dict[str, float], ours: Values, splits: Values) -> list[tuple[str, str, bool]]:
    """Pairs of methods whose ``reference`` values differ by more than splits do, and whether ``ours`` are alike.

    The noise of a difference between one split and a mean of n is sqrt(1 + 1 / n) standard deviations of differences
    between two methods in one split, pooled over all pairs.
    """
    common = [m for m in reference if m in ours]
    pairs = [(a, b) for i, a in enumerate(common) for b in common[:i]]
    differences = [[x - y for x, y in zip(splits[a], splits[b], strict=True)] for a, b in pairs]
    if not pairs or len(differences[0]) < 2:
        return []
    noise = (fmean(map(variance, differences)) * (1 + 1 / len(ours[common[0]]))) ** 0.5
    mean = means(ours)
    return [
        (a, b, (reference[a] - reference[b]) * (mean[a] - mean[b]) > 0)
        for a, b in pairs
        if abs(reference[a] - reference[b]) > NOISE * noise
    ]


def agreement_cells(
    orders: Sequence[tuple[dict[str, float], dict[str, float]]], pairs: Sequence[tuple[str, str, bool]]
) -> list[str]:
    """Kendall's tau of pairs of orders, and the share of decided pairs of methods ordered alike."""
    taus = [tau_of_orders(*pair) for pair in orders]
    n_alike = sum(alike for _, _, alike in pairs)
    share = f"{100 * n_alike / len(pairs):.0f} %" if pairs else "\N{EN DASH}"
    mean = f"{fmean(taus):.2f}" if taus else "\N{EN DASH}"
    return [mean, f"{sum(tau > 0 for tau in taus)} of {len(taus)}", str(len(pairs)), share]


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's tau-b of pairs of values; 0 if all values of one side are equal."""

    def sign(a: float, b: float) -> int:
        return (a > b) - (a < b)

    compared = [(sign(a[0], b[0]), sign(a[1], b[1])) for i, a in enumerate(pairs) for b in pairs[:i]]
    untied = [sum(abs(signs[side]) for signs in compared) for side in (0, 1)]
    concordance = sum(first * second for first, second in compared)
    return concordance / (untied[0] * untied[1]) ** 0.5 if all(untied) else 0.0


def sources_table(*names: str) -> str:
    """Where the records come from."""
    used = {r["source"] for name in names for r in read_records(name)}
    rows = [
        [
            r["note"],
            f"`{r['command']}`" if r["command"] else "\N{EN DASH}",
            r["published"],
            "; ".join(filter(None, (r["machine"], r["software"]))) or "\N{EN DASH}",
        ]
        for r in read_records("sources")
        if r["source"] in used
    ]
    return markdown_table(["Records", "Command", "Published", "Machine and software"], rows, n_text_columns=4)


def update_blocks() -> dict[str, str]:
    """How updates compare with one fit, with their alternatives, and what memory they need."""
    records = [r for r in read_records("updates") if r["dataset"] != "synthetic"]
    once = {(r["dataset"], r["order"], r["seed"]): r for r in records if r["design"] == "fit"}
    titles = {"scene": "Scene", "enron": "Enron", "yahoo-arts": "Yahoo-Arts", "mediamill": "Mediamill"}

    def differences(dataset: str, order: str, design: str, keep: str, column: str = "f1") -> list[float]:
        return [
            float(r[column]) - float(once[dataset, order, r["seed"]][column])
            for r in records
            if (r["dataset"], r["order"], r["design"], r["keep_samples"]) == (dataset, order, design, keep)
        ]

    def cell(values: Sequence[float]) -> str:
        return f"{fmean(values):+.2f}".replace("-", "\N{MINUS SIGN}") if values else ""

    rows, designs = [], []
    for dataset in unique(r["dataset"] for r in records):
        of_dataset = [r for r in records if r["dataset"] == dataset]
        kept = unique(r["keep_samples"] for r in of_dataset if r["design"] == "update" and r["keep_samples"] != "0")
        size = f"{int(of_dataset[0]['samples']):,}"
        f1 = fmean(float(r["f1"]) for r in of_dataset if (r["design"], r["order"]) == ("fit", "random"))
        for keep in kept:
            new = cell(differences(dataset, "new label", "update", keep))
            label = cell(differences(dataset, "new label", "update", keep, "label_f1"))
            random, file = (cell(differences(dataset, order, "update", keep)) for order in ("random", "file"))
            with_label = f"{new} ({label})" if new else ""
            changes = [
                float(r["probability_change"])
                for r in of_dataset
                if (r["order"], r["design"], r["keep_samples"]) == ("random", "update", keep)
            ]
            row = [
                titles[dataset],
                size,
                f"{f1:.2f}",
                f"{int(keep):,}",
                random,
                file,
                with_label,
                f"{fmean(changes):.4f}",
            ]
            rows.append(row)
        alternatives = (("update", kept[-1]), ("sample", kept[-1]), ("update", "0"))
        cells = (cell(differences(dataset, "random", design, keep)) for design, keep in alternatives)
        designs.append([titles[dataset], f"{int(kept[-1]):,}", *cells])
    header = ["Data", "samples learnt", "F1 of one fit", "`keep_samples`", "at random", "in order", "new label"]
    header.append("probabilities")
    columns = ["Data", "`keep_samples`", "updates", "fit to a random sample", "`keep_samples=0`"]
    return {
        "updates-f1": markdown_table(header, rows),
        "updates-designs": markdown_table(columns, designs),
        "updates-memory": update_memory(),
    }


def update_memory() -> str:
    """The peak memory and the time of updates, as a sentence."""
    records = [r for r in read_records("updates") if r["dataset"] == "synthetic"]
    keep = int(records[0]["keep_samples"])
    fits = [r for r in records if int(r["samples"]) <= 2 * keep and r is not records[-1]][:2]
    sums = [r for r in records if r not in fits]
    memory, seconds = ([float(r[column]) for r in sums] for column in ("mib", "last_seconds"))
    peak, last = max(float(r["mib"]) for r in fits), int(sums[-1]["samples"])
    return (
        f"Memory: batches of {int(records[0]['samples']):,} synthetic samples with `keep_samples={keep:_}`. The first "
        f"{len(fits)} are fitted to, with a peak of {peak:.0f}{SPACE}MiB above the memory of the process without data. "
        f"Of the others, up to {last:,} samples, each takes at most {max(memory):.0f}{SPACE}MiB, and "
        f"{min(seconds):.1f} to {max(seconds):.1f}{SPACE}s."
    )


def render_blocks() -> dict[str, str]:
    """The text of every block, by name."""
    accuracy = Accuracy()
    return {
        "headline": accuracy.headline(),
        "clean-summary": accuracy.summary(),
        "clean": accuracy.clean_table(),
        "clean-means": accuracy.means_table(),
        "scene-yeast": accuracy.clean_table("scene-yeast"),
        "corrupted": accuracy.damaged_table("corrupted"),
        "corrupted-losses": accuracy.losses_table(),
        "corrupted-exceptions": accuracy.exceptions("corrupted"),
        "missing": accuracy.damaged_table("missing"),
        "missing-exceptions": accuracy.exceptions("missing"),
        "damaged-summary": accuracy.damaged_summary(),
        "accuracy-sources": sources_table("accuracy", "reproduction"),
        "speed-sources": sources_table("speed", "devices"),
        **reproduction_blocks(),
        **speed_blocks(),
        **serving_blocks(),
        "growth-of-methods": growth_of_methods_block(),
        **device_blocks(),
        **label_error_blocks(),
        "faithfulness": faithfulness_block(),
        **incomplete_label_blocks(),
        **decision_blocks(),
        **decision_metric_blocks(),
        **introduction_blocks(),
        **study_blocks(),
        **update_blocks(),
    }


def render_page(text: str, blocks: dict[str, str]) -> str:
    """A page with its blocks filled in; an unknown name raises KeyError."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{blocks[block[2]]}\n\n{block[3]}", text)


def main() -> int:
    """Render all pages, or with ``--check`` name those that are out of date."""
    blocks, check, outdated = render_blocks(), "--check" in sys.argv[1:], []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        rendered = render_page(text, blocks)
        if rendered != text:
            outdated.append(page.name)
            if not check:
                page.write_text(rendered, encoding="utf-8")
    if check and outdated:
        sys.stderr.write(f"Out of date: {', '.join(outdated)}. Run `make results`.\n")
    return int(check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
