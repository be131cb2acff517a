"""Growth: time and peak memory of training and coding over n, p, k, r and stored entries, with fitted exponents."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._data import Options, make_dense_samples, make_text_samples
from benchmarks._measure import WHY_NO_MEMORY, growth_exponent, measure_in_subprocess
from benchmarks._report import Report
from sdgs import decompose, group_lasso

MAX_LINEAR_EXPONENT = 1.1
DENSE = {"n": 2000, "p": 200, "k": 20, "r": 3}
SPARSE = {"n": 10_000, "p": 10_000, "k": 20, "r": 3, "words_per_sample": 50}
# The growing size; kind of data, first and last value, and sizes that differ from DENSE or SPARSE
CURVES: dict[str, tuple[str, float, float, dict[str, int]]] = {
    "n": ("dense", 1e3, 1e5, {"p": 100}),
    "p": ("dense", 30, 3e3, {}),
    "k": ("dense", 10, 1e3, {"n": 5000}),
    "r": ("dense", 1, 1e2, {"p": 400, "k": 10}),
    "n, sparse": ("sparse", 1e3, 1e5, {}),
    "stored entries": ("sparse", 5, 5e2, {}),
}


def run(report: Report, options: Options) -> None:
    """Measure every point in a new process, so that peak memory is that of the point alone."""
    points = []
    if options.quick:
        report.skip("growth in n of sparse samples, and the second decade of the other sizes", "--quick")
    for name, (kind, first, last, changes) in CURVES.items():
        if options.quick and name == "n, sparse":
            continue
        parameter = "words_per_sample" if name == "stored entries" else name.split(",")[0]
        values = np.geomspace(first, 10 * first, 3) if options.quick else np.geomspace(first, last, 5)
        for value in values.round().astype(int):
            problem = (DENSE if kind == "dense" else SPARSE) | changes | {parameter: int(value)}
            job = dense_job if kind == "dense" else sparse_job
            steps = measure_in_subprocess(job, seed=options.seed, **problem)
            size = int(value * problem["n"] if name == "stored entries" else value)
            points += [{"grows": name, "size": size, "stage": stage} | measured for stage, measured in steps.items()]
    if WHY_NO_MEMORY:
        report.skip("growth of memory", WHY_NO_MEMORY)
    rows = fit_exponents(points)
    report.add_table(
        "Growth of training (three sweeps) and coding, one thread: exponents fitted to all points and the larger half",
        rows,
        {
            "grows": "",
            "from": ",",
            "to": ",",
            "stage": "",
            "seconds at the end": ".3f",
            "exponent of seconds": ".2f",
            "larger half": ".2f",
            "MiB at the end": ".0f",
            "exponent of MiB": ".2f",
        },
    )
    report.tables[-1]["points"] = points
    for row in rows:
        if row["grows"] in ("n", "n, sparse", "stored entries"):
            case = f"{row['stage']} in {row['grows']}"
            # Fixed costs flatten the curve at small sizes, so the larger half must be linear as well.
            exponent = max(row["exponent of seconds"], row["larger half"])
            report.claim_at_most(MAX_LINEAR_EXPONENT, "exponent of the time", exponent, case, "")


def fit_exponents(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per curve and stage."""
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
            "exponent of seconds": growth_exponent(sizes, times),
            "larger half": growth_exponent(sizes[half:], times[half:]),
        }
        if curve[0]["peak_mib"] is not None:
            memory = [max(point["peak_mib"], 0.1) for point in curve]
            row |= {"MiB at the end": memory[-1], "exponent of MiB": growth_exponent(sizes, memory)}
        rows.append(row)
    return rows


def dense_job(n: int, p: int, k: int, r: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Training and coding of dense samples."""
    X, Y, _ = make_dense_samples(n, p, k, r, 2, seed)
    return _steps(X, Y, r, seed)


def sparse_job(n: int, p: int, k: int, r: int, words_per_sample: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Training and coding of samples that resemble text."""
    X, Y = make_text_samples(n, p, k, words_per_sample, 2, seed)
    return _steps(X, Y, r, seed)


def _steps(X: Any, Y: Any, r: int, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Three sweeps of training, then coding of the same samples."""
    results: list[Any] = []
    return [
        ("training", lambda: results.append(decompose(X, Y, n_components=r, tol=0.0, max_iter=3, random_state=seed))),
        ("coding", lambda: group_lasso(X, results[0].components, 0.2, tol=1e-4)),
    ]
