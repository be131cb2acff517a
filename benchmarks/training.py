"""Training: random projections against exact SVDs, a sweep against its three products, and peak memory."""

import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._data import Options, make_dense_samples
from benchmarks._measure import MIB, WHY_NO_MEMORY, measure_in_subprocess, measure_time
from benchmarks._report import Report, format_ratio
from sdgs import decompose
from sdgs.datasets import make_label_subspaces

# n, p, k, r, labels per sample
SWEEP_SHAPES = {
    "n=20000 p=500 k=20": (20_000, 500, 20, 4, 2),
    "Mediamill's shape": (30_993, 120, 101, 4, 4),
    "Corel5k's shape": (4500, 499, 374, 4, 4),
}
_SHORT_RUN, _LONG_RUN = 2, 7  # sweeps: the time of a sweep comes from the difference
X_BYTES = 200_000_000  # of X in the measurement of memory


def run(report: Report, options: Options) -> None:
    """All measurements."""
    _compare_solvers(report, options)
    _measure_sweeps(report, options)
    if WHY_NO_MEMORY:
        report.skip("memory of training", WHY_NO_MEMORY)
    else:
        _measure_memory(report, options)


def _compare_solvers(report: Report, options: Options) -> None:
    """Time and error of both solvers."""
    parameters = {"n_components": 3, "spikes": 0.002, "random_state": options.seed}
    problems = [
        ("n=1500 p=200 k=20", make_label_subspaces(1500, 200, 20, **parameters), 5),
        ("the same with noise", make_label_subspaces(1500, 200, 20, noise=0.3, **parameters), 5),
    ]
    if options.quick:
        report.skip("brp against svd, 5,000 rows per label", "--quick")
    else:
        data = make_label_subspaces(10_000, 1000, 4, noise=0.3, **parameters)
        problems.append(("5,000 rows per label, p=1000", data, 50))
    rows = []
    for name, data, min_speed_up in problems:

        def solve(solver: str, data: Any = data, **more: Any) -> Any:
            return decompose(
                data.X, data.Y, solver=solver, n_components=3, residual_size=0.002, random_state=options.seed, **more
            )

        svd_time, svd = measure_time(lambda solve=solve: solve("svd"), 1 if min_speed_up > 5 or options.quick else 3)
        brp_time, brp = measure_time(lambda solve=solve: solve("brp"))
        total = float(np.sum(data.X**2))
        # Within 1 % of the error of exact SVDs, or negligible.
        max_error = max(1.01 * svd.objective[-1], 1e-4 * total)
        n_sweeps = int(np.argmax(brp.objective <= max_error)) + 1
        time_to_max_error, _ = measure_time(
            lambda solve=solve, n_sweeps=n_sweeps: _without_warning(lambda: solve("brp", max_iter=n_sweeps))
        )
        rows.append(
            {
                "problem": name,
                "svd": svd_time,
                "sweeps of svd": svd.n_iter,
                "brp": brp_time,
                "sweeps of brp": brp.n_iter,
                "speed-up of brp": svd_time / brp_time,
                "to within 1 %": svd_time / time_to_max_error,
                "error of svd": svd.objective[-1] / total,
                "error of brp": brp.objective[-1] / total,
            }
        )
        quantity = "error of random projections over the larger of 1.01 times that of exact SVDs and 1e-4"
        report.claim_at_most(1.0, quantity, brp.objective[-1] / max_error, name)
        report.claim_at_least(min_speed_up, "speed-up over exact SVDs, whole run", svd_time / brp_time, name)
    report.add_table(
        "Training: brp against svd, one thread, seconds",
        rows,
        {
            "problem": "",
            "svd": ".3f",
            "sweeps of svd": "",
            "brp": ".3f",
            "sweeps of brp": "",
            "speed-up of brp": format_ratio,
            "to within 1 %": format_ratio,
            "error of svd": ".2e",
            "error of brp": ".2e",
        },
    )


def _measure_sweeps(report: Report, options: Options) -> None:
    """Time of a sweep over that of its matrix products."""
    rows = []
    for name, (n, p, k, r, labels_per_sample) in SWEEP_SHAPES.items():
        for dtype in (np.float64, np.float32):
            X, Y, _ = make_dense_samples(n, p, k, r, labels_per_sample, options.seed)
            X = X.astype(dtype)

            def run_sweeps(n_sweeps: int, X: Any = X, Y: Any = Y, r: int = r) -> Any:
                parameters = {"n_components": r, "tol": 0.0, "max_iter": n_sweeps, "random_state": options.seed}
                return _without_warning(lambda: decompose(X, Y, **parameters))

            products = _three_products(X, Y, r, options.seed)
            # In turns, because a difference of two times is sensitive to other load on the machine.
            sweep_times, product_times = [], []
            for _ in range(3 if options.quick else 5):
                short, _ = measure_time(lambda run_sweeps=run_sweeps: run_sweeps(_SHORT_RUN), 1)
                long, _ = measure_time(lambda run_sweeps=run_sweeps: run_sweeps(_LONG_RUN), 1)
                sweep_times.append((long - short) / (_LONG_RUN - _SHORT_RUN))
                product_times.append(measure_time(products, 1)[0])
            row = {"problem": name, "dtype": np.dtype(dtype).name}
            row |= {"products": median(product_times), "sweep": median(sweep_times)}
            row["sweep / products"] = row["sweep"] / row["products"]
            rows.append(row)
            case = f"{name}, {row['dtype']}"
            report.claim_at_most(2.5, "time of a sweep over that of its three products", row["sweep / products"], case)
    report.add_table(
        "Training: a sweep against its three products per label, one thread, milliseconds",
        rows,
        {"problem": "", "dtype": "", "products": _as_ms, "sweep": _as_ms, "sweep / products": format_ratio},
    )


def _three_products(X: np.ndarray, Y: np.ndarray, r: int, seed: int) -> Callable[[], None]:
    """N A, N^T (N A) and N Q for every label, where N has as many rows as the label: the arithmetic of one sweep."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((X.shape[1], r)).astype(X.dtype)
    sizes = Y.sum(axis=0)
    # Contiguous rows, because gathering is not arithmetic; different rows for each label, as in a sweep.
    blocks = [slice(start, start + size) for start, size in zip(rng.integers(len(X) - sizes + 1), sizes, strict=True)]

    def multiply() -> None:
        for block in blocks:
            N = X[block]
            N.T @ (N @ A)
            N @ A

    return multiply


def _measure_memory(report: Report, options: Options) -> None:
    """Peak memory of training on a large dense matrix, including X."""
    rows = []
    for dtype in ("float64", "float32"):
        n = X_BYTES // (1000 * np.dtype(dtype).itemsize)
        measured = measure_in_subprocess(large_dense_job, n=n, p=1000, k=20, dtype=dtype, seed=options.seed)["train"]
        ratio = measured["peak_mib"] * MIB / X_BYTES
        rows.append({"problem": f"{n} x 1000", "dtype": dtype, "X": X_BYTES / MIB, "peak / X": ratio} | measured)
        report.claim_at_most(2.5, "peak memory including X, over the size of X", ratio, f"200 MB of {dtype}")
    report.add_table(
        "Training: peak memory in MiB above that of the process before X was made",
        rows,
        {"problem": "", "dtype": "", "X": ".0f", "peak_mib": ".0f", "peak / X": format_ratio, "seconds": ".1f"},
    )


def large_dense_job(n: int, p: int, k: int, dtype: str, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Three sweeps on a large dense matrix."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.dtype(dtype))
    Y = np.zeros((n, k), dtype=np.int8)
    for _ in range(2):
        Y[np.arange(n), rng.integers(k, size=n)] = 1
    return [("train", lambda: decompose(X, Y, tol=0.0, max_iter=3, random_state=seed))]


def _without_warning(run: Callable[[], Any]) -> Any:
    """The result of ``run``, without ConvergenceWarning: the number of sweeps is limited on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run()


def _as_ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}"
