"""What the rows say: ranks with their test, and the paper's three claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from sdgs.experiments._protocol import METHODS
from sdgs.experiments._result_tables import Row, title_of

_LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over data sets, 1 the best.

    ``critical_difference`` is Nemenyi's: mean ranks that differ by less are not told apart at 5 %.
    ``p_value`` is Friedman's. Both are None with fewer than three methods or data sets.
    """

    methods: tuple[str, ...]
    ranks: NDArray[np.float64]
    n_datasets: int
    p_value: float | None
    critical_difference: float | None


def ranking(scores: NDArray[np.float64], methods: Sequence[str]) -> Ranking:
    """Rank the columns of ``scores`` (data sets, methods), the larger the better."""
    n, k = scores.shape
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    p_value = difference = None
    if n >= 3 and k >= 3:
        if np.ptp(scores, axis=1).any():  # else all methods are alike everywhere, and the statistic is 0/0
            p_value = float(friedmanchisquare(*scores.T).pvalue)
        q = float(studentized_range.ppf(1 - _LEVEL, k, np.inf)) / np.sqrt(2)
        difference = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(tuple(methods), ranks, n, p_value, difference)


def f1_ranking(rows: Sequence[Row], source: str) -> Ranking | None:
    """Rank the methods by F1 on the data sets that all of them have; ``source`` a rule, or "published"."""
    table = _table(rows, source)
    methods = [m for m in METHODS if m != "floor" and any(key[1] == m for key in table)]
    complete = [d for d in dict.fromkeys(key[0] for key in table) if all((d, m) in table for m in methods)]
    if len(methods) < 2 or not complete:
        return None
    scores = np.array([[table[d, m].values["f1"] for m in methods] for d in complete])
    return ranking(scores, methods)


def _table(rows: Sequence[Row], source: str) -> dict[tuple[str, str], Row]:
    wanted = ("published",) if source == "published" else (source, "both")
    return {(row.dataset, row.method): row for row in rows if row.source in wanted}


@dataclass(frozen=True)
class Claim:
    """One of the paper's claims in its words, how it is tested here, whether it holds, and what was measured."""

    text: str
    test: str
    verdict: str  # "holds", "holds in part", "does not hold"
    findings: tuple[str, ...]


def claims(rows: Sequence[Row], source: str = "cv") -> list[Claim]:
    """The three claims of the paper's experiments, checked on the rows of one rule."""
    table = _table(rows, source)
    rivals = [m for m in METHODS if m not in ("sdgs", "floor") and any(key[1] == m for key in table)]
    sets = [d for d, m in table if m == "sdgs" and all((d, rival) in table for rival in rivals)]
    if not rivals or not sets:
        return []
    return [_prediction(table, rivals, sets), _speed(table, rivals, sets), _gap(rows, table, rivals, sets)]


def _prediction(table: dict[tuple[str, str], Row], rivals: list[str], sets: list[str]) -> Claim:
    f1 = {key: row.values["f1"] for key, row in table.items()}
    findings, beaten = [], 0
    for rival in rivals:
        wins = sum(f1[d, "sdgs"] > f1[d, rival] for d in sets)
        beaten += wins > len(sets) / 2
        averages = mean(f1[d, "sdgs"] for d in sets), mean(f1[d, rival] for d in sets)
        findings.append(
            f"F1 above {METHODS[rival].title}'s on {wins} of {len(sets)} data sets; on average {averages[0]:.1f} "
            f"against {averages[1]:.1f}."
        )
    below = [d for d in sets if table[d, "sdgs"].below_floor]
    if below:
        findings.append(f"Below the floor of always the most frequent labels on {', '.join(map(title_of, below))}.")
    return Claim(
        "\u201cSDGS is competitive on both prediction performance \u2026\u201d",
        "Holds against a rival if F1 is higher on most data sets.",
        _verdict(beaten, len(rivals)),
        tuple(findings),
    )


def _speed(table: dict[tuple[str, str], Row], rivals: list[str], sets: list[str]) -> Claim:
    seconds = {key: row.values["seconds"] for key, row in table.items()}
    findings, beaten = [], 0
    for rival in rivals:
        wins = sum(seconds[d, "sdgs"] < seconds[d, rival] for d in sets)
        beaten += wins > len(sets) / 2
        total = sum(seconds[d, "sdgs"] for d in sets), sum(seconds[d, rival] for d in sets)
        findings.append(
            f"Faster than {METHODS[rival].title} on {wins} of {len(sets)} data sets; {total[0]:.1f} against "
            f"{total[1]:.1f} CPU seconds on all of them together."
        )
    return Claim(
        "\u201c\u2026 and speed\u201d",
        "Holds against a rival if training and prediction take fewer CPU seconds on most data sets.",
        _verdict(beaten, len(rivals)),
        tuple(findings),
    )


def _gap(rows: Sequence[Row], table: dict[tuple[str, str], Row], rivals: list[str], sets: list[str]) -> Claim:
    def gaps(which: dict[tuple[str, str], Row]) -> dict[str, float]:
        of = {m: [which[d, m] for d in sets if (d, m) in which] for m in (*rivals, "sdgs")}
        return {
            m: mean(abs(r.values["precision"] - r.values["recall"]) for r in lines) for m, lines in of.items() if lines
        }

    measured, printed = gaps(table), gaps(_table(rows, "published"))
    beaten = sum(measured["sdgs"] < measured[rival] for rival in rivals)
    words = [
        f"{METHODS[m].title} {gap:.1f}" + (f" (published {printed[m]:.1f})" if m in printed else "")
        for m, gap in measured.items()
    ]
    findings = (f"Mean distance between precision and recall, in points: {', '.join(words)}.",)
    return Claim(
        "\u201cSDGS has smaller gaps between precision and recall on different tasks than other methods\u201d",
        "Holds against a rival if the gap is smaller on average.",
        _verdict(beaten, len(rivals)),
        findings,
    )


def _verdict(beaten: int, rivals: int) -> str:
    return "holds" if beaten == rivals else "holds in part" if beaten else "does not hold"
