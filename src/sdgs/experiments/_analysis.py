"""Mean ranks with a significance test, and the paper's three claims checked against the results."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from sdgs.experiments._protocol import METHODS
from sdgs.experiments._result_tables import Row, title_of

_SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over data sets; rank 1 is the best.

    ``critical_difference`` is Nemenyi's: mean ranks that differ by less are not significantly different at 5 %.
    ``p_value`` is that of Friedman's test. Both are None with fewer than three methods or data sets.
    """

    methods: tuple[str, ...]
    ranks: NDArray[np.float64]
    n_datasets: int
    p_value: float | None
    critical_difference: float | None


def ranking(scores: NDArray[np.float64], methods: Sequence[str]) -> Ranking:
    """Rank the columns of ``scores`` (data sets, methods); larger is better."""
    n, k = scores.shape
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    p_value = difference = None
    if n >= 3 and k >= 3:
        if np.ptp(scores, axis=1).any():  # else all methods are tied everywhere, and the statistic is 0/0
            p_value = float(friedmanchisquare(*scores.T).pvalue)
        q = float(studentized_range.ppf(1 - _SIGNIFICANCE_LEVEL, k, np.inf)) / np.sqrt(2)
        difference = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(tuple(methods), ranks, n, p_value, difference)


def f1_ranking(rows: Sequence[Row], source: str) -> Ranking | None:
    """Rank the methods by F1 on the data sets that all of them have; ``source`` is a rule or "published"."""
    table = _table(rows, source)
    methods = [m for m in METHODS if m != "floor" and any(key[1] == m for key in table)]
    complete = [d for d in dict.fromkeys(key[0] for key in table) if all((d, m) in table for m in methods)]
    if len(methods) < 2 or not complete:
        return None
    scores = np.array([[table[d, m].values["f1"] for m in methods] for d in complete])
    return ranking(scores, methods)


def _table(rows: Sequence[Row], source: str) -> dict[tuple[str, str], Row]:
    sources = ("published",) if source == "published" else (source, "both")
    return {(row.dataset, row.method): row for row in rows if row.source in sources}


@dataclass(frozen=True)
class Claim:
    """One of the paper's claims: its text, how it is tested here, whether it holds, and the measured figures."""

    text: str
    test: str
    verdict: str  # "holds", "holds in part", "does not hold"
    findings: tuple[str, ...]


def claims(rows: Sequence[Row], source: str = "cv") -> list[Claim]:
    """The three claims of the paper's experiments, checked on the results of one rule."""
    table = _table(rows, source)
    others = [m for m in METHODS if m not in ("sdgs", "floor") and any(key[1] == m for key in table)]
    datasets = [d for d, m in table if m == "sdgs" and all((d, other) in table for other in others)]
    if not others or not datasets:
        return []
    gap = _gap_claim(rows, table, others, datasets)
    return [_prediction_claim(table, others, datasets), _speed_claim(table, others, datasets), gap]


def _prediction_claim(table: dict[tuple[str, str], Row], others: list[str], datasets: list[str]) -> Claim:
    f1 = {key: row.values["f1"] for key, row in table.items()}
    findings, n_beaten = [], 0
    for other in others:
        wins = sum(f1[d, "sdgs"] > f1[d, other] for d in datasets)
        n_beaten += wins > len(datasets) / 2
        averages = mean(f1[d, "sdgs"] for d in datasets), mean(f1[d, other] for d in datasets)
        findings.append(
            f"F1 above {METHODS[other].title}'s on {wins} of {len(datasets)} data sets; on average {averages[0]:.1f} "
            f"against {averages[1]:.1f}."
        )
    below = [d for d in datasets if table[d, "sdgs"].below_most_frequent]
    if below:
        names = ", ".join(map(title_of, below))
        findings.append(f"F1 below that of always predicting the most frequent labels on {names}.")
    return Claim(
        "\u201cSDGS is competitive on both prediction performance \u2026\u201d",
        "Holds against another method if F1 is higher on most data sets.",
        _verdict(n_beaten, len(others)),
        tuple(findings),
    )


def _speed_claim(table: dict[tuple[str, str], Row], others: list[str], datasets: list[str]) -> Claim:
    seconds = {key: row.values["seconds"] for key, row in table.items()}
    findings, n_beaten = [], 0
    for other in others:
        wins = sum(seconds[d, "sdgs"] < seconds[d, other] for d in datasets)
        n_beaten += wins > len(datasets) / 2
        total = sum(seconds[d, "sdgs"] for d in datasets), sum(seconds[d, other] for d in datasets)
        findings.append(
            f"Faster than {METHODS[other].title} on {wins} of {len(datasets)} data sets; {total[0]:.1f} against "
            f"{total[1]:.1f} CPU seconds on all data sets together."
        )
    return Claim(
        "\u201c\u2026 and speed\u201d",
        "Holds against another method if training and prediction take fewer CPU seconds on most data sets.",
        _verdict(n_beaten, len(others)),
        tuple(findings),
    )


def _gap_claim(rows: Sequence[Row], table: dict[tuple[str, str], Row], others: list[str], datasets: list[str]) -> Claim:
    def mean_gaps(rows_by_key: dict[tuple[str, str], Row]) -> dict[str, float]:
        by_method = {m: [rows_by_key[d, m] for d in datasets if (d, m) in rows_by_key] for m in (*others, "sdgs")}
        return {
            m: mean(abs(row.values["precision"] - row.values["recall"]) for row in method_rows)
            for m, method_rows in by_method.items()
            if method_rows
        }

    measured, printed = mean_gaps(table), mean_gaps(_table(rows, "published"))
    n_beaten = sum(measured["sdgs"] < measured[other] for other in others)
    texts = [
        f"{METHODS[m].title} {gap:.1f}" + (f" (published {printed[m]:.1f})" if m in printed else "")
        for m, gap in measured.items()
    ]
    findings = (f"Mean difference between precision and recall, in points: {', '.join(texts)}.",)
    return Claim(
        "\u201cSDGS has smaller gaps between precision and recall on different tasks than other methods\u201d",
        "Holds against another method if the gap is smaller on average.",
        _verdict(n_beaten, len(others)),
        findings,
    )


def _verdict(n_beaten: int, n_others: int) -> str:
    return "holds" if n_beaten == n_others else "holds in part" if n_beaten else "does not hold"
