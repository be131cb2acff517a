"""Render the records in docs/results into the tables of the pages: `make results`.

A table stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``. Every measured figure of the documentation
comes from a record, so that no two pages contradict each other. ``--check`` changes nothing and fails if a page is
outdated.
"""

import re
import sys
from collections.abc import Sequence

from decision_tables import (
    decision_blocks,
    decision_metric_blocks,
    incomplete_label_blocks,
    introduction_blocks,
    update_blocks,
)
from record_tables import DOCS, SPACE, Record, markdown_table, read_records, sources_table, unique
from study_tables import study_blocks

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
OURS, DEFAULTS = "SDGSClassifierCV", "SDGSClassifier()"
MAX_LISTED_CASES = 5  # of one quantity; of more the range is shown
MISSED = " (missed)"
SERVING = "export"  # the subject of speed.csv that has tables of its own
FORMS = ("library", "Python file", "ONNX")
GROWTH_OF_FITS = "exponent of the fit time in "
LEVEL = 0.2  # points of F1 within which two methods count as level
FAITHFULNESS = {
    "reasons": "five top reasons",
    "occlusion": "five found by occlusion",
    "random": "five random features",
    "shares": "five top features of the share",
}


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
