"""Tables about decisions, methods of the introduction, incomplete labels and updates."""

from collections.abc import Sequence
from statistics import fmean

from record_tables import SPACE, Record, markdown_table, read_records, sources_table, unique

DECIDED = ", decided"
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
