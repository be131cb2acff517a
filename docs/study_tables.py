"""Tables that compare methods with a published study."""

from collections.abc import Sequence
from statistics import fmean, variance

from record_tables import markdown_table, read_records, sources_table, unique

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
