"""Training: random projections against exact SVDs, a sweep against its three products, and how much memory it takes."""

import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._data import Options, planted
from benchmarks._measure import MIB, NO_MEMORY, isolated, seconds
from benchmarks._report import Report, ratio
from sdgs import decompose
from sdgs.datasets import make_label_subspaces

# n, p, k, r, labels a sample
SWEPT = {
    "n=20000 p=500 k=20": (20_000, 500, 20, 4, 2),
    "Mediamill's shape": (30_993, 120, 101, 4, 4),
    "Corel5k's shape": (4500, 499, 374, 4, 4),
}
_FEW, _MANY = 2, 7  # sweeps: the difference in time is that of the sweeps between
BYTES = 200_000_000  # of X whose memory is measured


def run(report: Report, options: Options) -> None:
    """All of it."""
    _solvers(report, options)
    _sweeps(report, options)
    if NO_MEMORY:
        report.skip("memory of training", NO_MEMORY)
    else:
        _memory(report, options)


def _solvers(report: Report, options: Options) -> None:
    """Time and error of both solvers."""
    made = {"n_components": 3, "spikes": 0.002, "random_state": options.seed}
    problems = [
        ("n=1500 p=200 k=20", make_label_subspaces(1500, 200, 20, **made), 5),
        ("the same, noisy", make_label_subspaces(1500, 200, 20, noise=0.3, **made), 5),
    ]
    if options.quick:
        report.skip("brp against svd, 5,000 rows a label", "--quick")
    else:
        problems.append(("5,000 rows a label, p=1000", make_label_subspaces(10_000, 1000, 4, noise=0.3, **made), 50))
    rows = []
    for name, data, least in problems:

        def solve(solver: str, data: Any = data, **more: Any) -> Any:
            return decompose(
                data.X, data.Y, solver=solver, n_components=3, residual_size=0.002, random_state=options.seed, **more
            )

        svd_time, svd = seconds(lambda solve=solve: solve("svd"), 1 if least > 5 or options.quick else 3)
        brp_time, brp = seconds(lambda solve=solve: solve("brp"))
        total = float(np.sum(data.X**2))
        # Within 1 % of the exact solver's error, or as good as none.
        enough = max(1.01 * svd.objective[-1], 1e-4 * total)
        first = int(np.argmax(brp.objective <= enough)) + 1
        near_time, _ = seconds(lambda solve=solve, first=first: _quietly(lambda: solve("brp", max_iter=first)))
        rows.append(
            {
                "problem": name,
                "svd": svd_time,
                "sweeps of svd": svd.n_iter,
                "brp": brp_time,
                "sweeps of brp": brp.n_iter,
                "faster": svd_time / brp_time,
                "faster to 1 %": svd_time / near_time,
                "error of svd": svd.objective[-1] / total,
                "error of brp": brp.objective[-1] / total,
            }
        )
        report.at_most(1.0, f"brp's error over 1.01 times svd's, or over 1e-4: {name}", brp.objective[-1] / enough)
        report.at_least(least, f"times faster than exact SVDs, the whole run: {name}", svd_time / brp_time)
    report.table(
        "Training: brp against svd, one thread, seconds",
        rows,
        {
            "problem": "",
            "svd": ".3f",
            "sweeps of svd": "",
            "brp": ".3f",
            "sweeps of brp": "",
            "faster": ratio,
            "faster to 1 %": ratio,
            "error of svd": ".2e",
            "error of brp": ".2e",
        },
    )


def _sweeps(report: Report, options: Options) -> None:
    """What a sweep costs beyond its arithmetic."""
    rows = []
    for name, (n, p, k, r, card) in SWEPT.items():
        for dtype in (np.float64, np.float32):
            X, Y, _ = planted(n, p, k, r, card, options.seed)
            X = X.astype(dtype)

            def sweeps(number: int, X: Any = X, Y: Any = Y, r: int = r) -> Any:
                options_ = {"n_components": r, "tol": 0.0, "max_iter": number, "random_state": options.seed}
                return _quietly(lambda: decompose(X, Y, **options_))

            floor = _three_products(X, Y, r, options.seed)
            # In turns, for a difference of two times is at the mercy of what else the machine does.
            sweep_times, floor_times = [], []
            for _ in range(3 if options.quick else 5):
                short, _ = seconds(lambda sweeps=sweeps: sweeps(_FEW), 1)
                long, _ = seconds(lambda sweeps=sweeps: sweeps(_MANY), 1)
                sweep_times.append((long - short) / (_MANY - _FEW))
                floor_times.append(seconds(floor, 1)[0])
            sweep, products = median(sweep_times), median(floor_times)
            kind = np.dtype(dtype).name
            rows.append(
                {
                    "problem": name,
                    "dtype": kind,
                    "products": products,
                    "sweep": sweep,
                    "of the products": sweep / products,
                }
            )
            report.at_most(2.5, f"times its three products, a sweep: {name}, {kind}", sweep / products)
    report.table(
        "Training: a sweep against its three products a label alone, one thread, milliseconds",
        rows,
        {"problem": "", "dtype": "", "products": _milli, "sweep": _milli, "of the products": ratio},
    )


def _three_products(X: np.ndarray, Y: np.ndarray, r: int, seed: int) -> Callable[[], None]:
    """N A, N^T (N A) and N Q of every label, with N as many rows as the label has: the arithmetic of one sweep."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((X.shape[1], r)).astype(X.dtype)
    sizes = Y.sum(axis=0)
    # Rows that lie together, for gathering them is not arithmetic; but others for each label, as in a sweep.
    blocks = [slice(start, start + size) for start, size in zip(rng.integers(len(X) - sizes + 1), sizes, strict=True)]

    def multiply() -> None:
        for block in blocks:
            N = X[block]
            N.T @ (N @ A)
            N @ A

    return multiply


def _memory(report: Report, options: Options) -> None:
    """Peak memory of training on a large dense matrix, X itself included."""
    rows = []
    for dtype in ("float64", "float32"):
        n = BYTES // (1000 * np.dtype(dtype).itemsize)
        measured = isolated(large_dense, n=n, p=1000, k=20, dtype=dtype, seed=options.seed)["train"]
        of_X = measured["peak_mib"] * MIB / BYTES
        rows.append({"problem": f"{n} x 1000", "dtype": dtype, "X": BYTES / MIB, "of X": of_X} | measured)
        report.at_most(2.5, f"times the size of X in memory, X included: 200 MB of {dtype}", of_X)
    report.table(
        "Training: peak memory, MiB over what the process had before X was made",
        rows,
        {"problem": "", "dtype": "", "X": ".0f", "peak_mib": ".0f", "of X": ratio, "seconds": ".1f"},
    )


def large_dense(n: int, p: int, k: int, dtype: str, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """The work of the fresh process: a few sweeps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.dtype(dtype))
    Y = np.zeros((n, k), dtype=np.int8)
    for _ in range(2):
        Y[np.arange(n), rng.integers(k, size=n)] = 1
    return [("train", lambda: decompose(X, Y, tol=0.0, max_iter=3, random_state=seed))]


def _quietly(run: Callable[[], Any]) -> Any:
    """Without the warning that a few sweeps are not enough: they are not meant to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run()


def _milli(value: float) -> str:
    return f"{1e3 * value:.2f}"
