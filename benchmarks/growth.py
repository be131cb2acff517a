"""Growth: time and peak memory of training and coding against n, p, k, r and the stored entries, with exponents."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._data import Options, planted, words
from benchmarks._measure import NO_MEMORY, exponent, isolated
from benchmarks._report import Report
from sdgs import decompose, group_lasso

LINEAR = 1.1  # an exponent that still counts as linear
DENSE = {"n": 2000, "p": 200, "k": 20, "r": 3}
SPARSE = {"n": 10_000, "p": 10_000, "k": 20, "r": 3, "entries": 50}
# What grows, in which kind of data, from where to where, and what is not as in DENSE or SPARSE
CURVES: dict[str, tuple[str, float, float, dict[str, int]]] = {
    "n": ("dense", 1e3, 1e5, {"p": 100}),
    "p": ("dense", 30, 3e3, {}),
    "k": ("dense", 10, 1e3, {"n": 5000}),
    "r": ("dense", 1, 1e2, {"p": 400, "k": 10}),
    "n, sparse": ("sparse", 1e3, 1e5, {}),
    "stored entries": ("sparse", 5, 5e2, {}),
}


def run(report: Report, options: Options) -> None:
    """Every point in a fresh process, so that its peak memory is its own."""
    points = []
    if options.quick:
        report.skip("growth in n of sparse samples, and the second decade of the rest", "--quick")
    for name, (kind, least, most, more) in CURVES.items():
        if options.quick and name == "n, sparse":
            continue
        what = "entries" if name == "stored entries" else name.split(",")[0]
        sizes = np.geomspace(least, 10 * least, 3) if options.quick else np.geomspace(least, most, 5)
        for size in sizes.round().astype(int):
            problem = (DENSE if kind == "dense" else SPARSE) | more | {what: int(size)}
            steps = isolated(dense if kind == "dense" else sparse, seed=options.seed, **problem)
            grown = size * problem["n"] if what == "entries" else size
            points += [{"grows": name, "size": int(grown), "stage": stage} | found for stage, found in steps.items()]
    if NO_MEMORY:
        report.skip("growth of memory", NO_MEMORY)
    rows = fitted(points)
    report.table(
        "Growth of training (three sweeps) and coding, one thread: exponents fitted to all points, or the larger half",
        rows,
        {
            "grows": "",
            "from": ",",
            "to": ",",
            "stage": "",
            "seconds at the end": ".3f",
            "exponent of seconds": ".2f",
            "of the larger half": ".2f",
            "MiB at the end": ".0f",
            "exponent of MiB": ".2f",
        },
    )
    report.tables[-1]["points"] = points
    for row in rows:
        if row["grows"] in ("n", "n, sparse", "stored entries"):
            what = f"exponent of the time of {row['stage']} in {row['grows']}"
            # What a run costs at any size makes the whole curve flatter: its larger half must be linear, too.
            report.at_most(LINEAR, what, max(row["exponent of seconds"], row["of the larger half"]))


def fitted(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each curve and stage."""
    rows = []
    for name, stage in dict.fromkeys((point["grows"], point["stage"]) for point in points):
        curve = [point for point in points if (point["grows"], point["stage"]) == (name, stage)]
        sizes, times = ([point[key] for point in curve] for key in ("size", "seconds"))
        half = len(curve) // 2
        row = {
            "grows": name,
            "stage": stage,
            "from": sizes[0],
            "to": sizes[-1],
            "seconds at the end": times[-1],
            "exponent of seconds": exponent(sizes, times),
            "of the larger half": exponent(sizes[half:], times[half:]),
        }
        if curve[0]["peak_mib"] is not None:
            memory = [max(point["peak_mib"], 0.1) for point in curve]
            row |= {"MiB at the end": memory[-1], "exponent of MiB": exponent(sizes, memory)}
        rows.append(row)
    return rows


def dense(n: int, p: int, k: int, r: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Dense samples."""
    X, Y, _ = planted(n, p, k, r, 2, seed)
    return _steps(X, Y, r, seed)


def sparse(n: int, p: int, k: int, r: int, entries: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Samples like text."""
    X, Y = words(n, p, k, entries, 2, seed)
    return _steps(X, Y, r, seed)


def _steps(X: Any, Y: Any, r: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """A few sweeps of training, then the codes of the same samples."""
    learnt: list[Any] = []
    return [
        ("training", lambda: learnt.append(decompose(X, Y, n_components=r, tol=0.0, max_iter=3, random_state=seed))),
        ("coding", lambda: group_lasso(X, learnt[0].components, 0.2, tol=1e-4)),
    ]
