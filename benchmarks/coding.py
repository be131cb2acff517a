"""Coding: the group lasso compared with the bare product, with other solvers, and with Huber's loss."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import issparse

from benchmarks import _block_descent, _other_solvers
from benchmarks._data import Options, load_split, make_dense_samples, missing_data_message, normalize_rows
from benchmarks._measure import measure_time, measure_times_alternately
from benchmarks._other_solvers import Problem, Timing
from benchmarks._report import Report, format_ratio
from sdgs import decompose, group_lasso

# n, p, k, labels per sample, and the largest ratio of the time to that of the bare product
SHAPES = {
    "Corel5k's shape": (5000, 499, 374, 4, 2.0),
    "Mediamill's shape": (43907, 120, 101, 4, 9.0),
    "Medical's shape": (978, 1449, 45, 1, 1.5),
}
DATA_SETS = ("corel5k", "mediamill", "medical", "yahoo-arts")
Solvers = dict[str, Callable[[Problem], Timing]]
OTHER_SOLVERS: Solvers = {
    "skglm": _other_solvers.time_skglm,
    "celer": _other_solvers.time_celer,
    "FISTA": _other_solvers.time_fista,
}
BLOCK_DESCENTS = {
    "over all groups": _block_descent.solve_over_all_groups,
    "on working sets": _block_descent.solve_on_working_sets,
}
MIN_SPEED_UP = 30  # over the fastest other solver


def run(report: Report, options: Options) -> None:
    """Synthetic dictionaries, then learnt ones if the data sets are available."""
    solvers = {}
    for name, solver in OTHER_SOLVERS.items():
        if name == "FISTA" or find_spec(name):
            solvers[name] = solver
        else:
            report.skip(name, f"not installed: pip install {name}")
    _measure_random_dictionaries(report, options, solvers)
    _measure_overlapping_subspaces(report, options)
    reason = "--quick" if options.quick else missing_data_message((*DATA_SETS, "emotions"), options.data_home)
    if reason:
        report.skip("coding on real data", reason)
        return
    _measure_learnt_dictionaries(report, options, solvers)
    _measure_huber_loss(report, options)


def _measure_random_dictionaries(report: Report, options: Options, solvers: Solvers) -> None:
    """Random dictionaries of the shapes of three data sets."""
    alpha, tol = 0.1, 1e-6
    rows = []
    for name, (n, p, k, labels_per_sample, max_ratio) in SHAPES.items():
        X, _, components = make_dense_samples(n, p, k, 3, labels_per_sample, options.seed)
        C = np.vstack(components)
        group_lasso(X[:2], components, alpha)  # compile
        times = measure_times_alternately(
            {
                "product": lambda X=X, C=C: X @ C.T,
                "sdgs": lambda X=X, components=components: group_lasso(X, components, alpha, tol=tol),
            }
        )
        row = {"problem": name, "n": n, "p": p, "k": k} | {step: time / n for step, time in times.items()}
        row["sdgs / product"] = row["sdgs"] / row["product"]
        row |= _compare_with_solvers(solvers, X, components, alpha, tol, row, options)
        rows.append(row)
        report.claim_at_most(max_ratio, "time over that of the bare product", row["sdgs / product"], name)
        _claim_speed_up(report, solvers, name, row)
    title = f"random dictionaries: r = 3, alpha = {alpha}, gap {tol:g}, float64, one thread"
    _add_solver_table(report, title, rows, solvers)


def _measure_overlapping_subspaces(report: Report, options: Options) -> None:
    """Subspaces that share directions, as those of real labels do, so that Newton's method is needed."""
    alpha, tol = 0.2, 1e-6
    rng = np.random.default_rng(options.seed)
    shared = np.linalg.qr(rng.standard_normal((120, 6)))[0].T
    components = []
    for _ in range(100):
        own = 0.5 * rng.standard_normal((3, 120)) / np.sqrt(120)
        components.append(np.linalg.qr((rng.standard_normal((3, 6)) @ shared / np.sqrt(6) + own).T)[0].T)
    X = normalize_rows(rng.standard_normal((400, 6)) @ shared + 0.3 * rng.standard_normal((400, 120)))
    time, result = measure_time(lambda: group_lasso(X, components, alpha, tol=tol))
    seconds_per_row, n_rows = time / len(X), 20 if options.quick else 100
    row = {"problem": "100 subspaces of 3 in 120 dimensions, sharing 6", "sdgs": seconds_per_row}
    row |= _compare_with_descent(X, components, alpha, tol, seconds_per_row, n_rows, options.seed)
    report.claim_at_least(100, "rows that converge", 100 * result.converged.mean(), "overlapping subspaces", "%")
    _add_descent_table(report, f"Coding, overlapping subspaces: alpha = {alpha}, gap {tol:g}", [row])


def _measure_learnt_dictionaries(report: Report, options: Options, solvers: Solvers) -> None:
    """Dictionaries learnt from the paper's data sets."""
    tol = 1e-4
    rows, descent_rows = [], []
    for name in DATA_SETS:
        data = load_split(name, options.data_home, standardise=False)
        X, n = data.X_test, data.X_test.shape[0]
        for r in (3, 6):
            components = decompose(data.X, data.Y, n_components=r, random_state=options.seed).components
            C = np.vstack(components)
            for alpha in (0.05, 0.2):
                problem = f"{name}, r = {r}, alpha = {alpha}"
                time, result = measure_time(lambda X=X, c=components, alpha=alpha: group_lasso(X, c, alpha, tol=tol))
                product, _ = measure_time(lambda X=X, C=C: X @ C.T)
                row = {"problem": problem, "n": n, "product": product / n, "sdgs": time / n}
                row["sdgs / product"] = time / product
                row |= _compare_with_solvers(solvers, X, components, alpha, tol, row, options)
                rows.append(row)
                report.claim_at_least(100, "rows that converge", 100 * result.converged.mean(), problem, "%")
                _claim_speed_up(report, solvers, problem, row)
                descent = _compare_with_descent(X, components, alpha, tol, time / n, 50, options.seed)
                descent_rows.append({"problem": problem, "sdgs": time / n} | descent)
                if name == "mediamill":
                    report.claim_at_most(1.0, "time per row", 1e3 * time / n, problem, "ms")
                    speed_up = descent["over all groups: speed-up"]
                    report.claim_at_least(100, "speed-up over block descent over all groups", speed_up, problem)
    title = f"learnt dictionaries: gap {tol:g} on every row, float64, one thread"
    _add_solver_table(report, title, rows, solvers)
    _add_descent_table(report, f"Coding by block descent, {title}", descent_rows)


def _measure_huber_loss(report: Report, options: Options) -> None:
    """Time with Huber's loss over that with the squared loss."""
    r, alpha, tol = 4, 0.1, 1e-4
    rows = []
    for name in ("emotions", "mediamill"):
        data = load_split(name, options.data_home, standardise=True)
        components = decompose(data.X, data.Y, n_components=r, tol=1e-2, random_state=options.seed).components
        X = data.X_test[:2000]
        group_lasso(X[:2], components, alpha, huber=1.0)  # compile
        runs = {
            "squared loss": lambda X=X, c=components: group_lasso(X, c, alpha, tol=tol),
            **{
                f"huber = {mu}": lambda X=X, c=components, mu=mu: group_lasso(X, c, alpha, huber=mu, tol=tol)
                for mu in (0.1, 0.05)
            },
        }
        times = measure_times_alternately(runs, repeat=3)
        for loss, time in times.items():
            ratio, converged = time / times["squared loss"], float(runs[loss]().converged.mean())
            row = {"problem": f"{name}, {loss}", "rows": len(X), "sdgs": time / len(X)}
            rows.append(row | {"time / squared loss": ratio, "converged": converged})
            if loss != "squared loss":
                problem = f"{name} standardised, {loss}"
                report.claim_at_most(4.0, "time with Huber's loss over that with the squared loss", ratio, problem)
                report.claim_at_least(100, "rows that converge", 100 * converged, problem, "%")
    report.add_table(
        f"Coding with Huber's loss: r = {r}, alpha = {alpha}, gap {tol:g}, one thread; microseconds per row",
        rows,
        {"problem": "", "rows": "", "sdgs": _as_microseconds, "time / squared loss": format_ratio, "converged": ".1%"},
    )


def _compare_with_solvers(
    solvers: Solvers,
    X: Any,
    components: Sequence[Any],
    alpha: float,
    tol: float,
    measured: dict[str, Any],
    options: Options,
) -> dict[str, Any]:
    """Seconds per row of each solver on a sample of the rows, and the speed-up over the fastest of them."""
    n_rows, n_rows_fista = (10, 50) if options.quick else (30, 200)
    row: dict[str, Any] = {}
    row_counts = []
    for name, solver in solvers.items():
        sample = _sample_rows(X, n_rows_fista if name == "FISTA" else n_rows, options.seed)
        timing = solver(Problem(sample, components, alpha, tol))
        row[name], row[f"{name} reached the gap"] = timing.seconds_per_row, timing.converged
        row_counts.append(timing.n_rows)
    fastest, product, ours = min(row[name] for name in solvers), measured["product"], measured["sdgs"]
    return row | {
        "fastest": fastest,
        "speed-up": fastest / ours,
        "without the product": (fastest - product) / max(ours - product, 1e-9),
        # The largest possible speed-up, because every solver has to compute the product.
        "possible": fastest / product,
        "rows of other solvers": ", ".join(map(str, row_counts)),
    }


def _claim_speed_up(report: Report, solvers: Solvers, problem: str, row: dict[str, Any]) -> None:
    report.claim_at_least(MIN_SPEED_UP, f"speed-up over the fastest of {', '.join(solvers)}", row["speed-up"], problem)


def _compare_with_descent(
    X: Any, components: Sequence[Any], alpha: float, tol: float, seconds_per_row: float, n_rows: int, seed: int
) -> dict[str, Any]:
    """Seconds per row of both kinds of block descent on a sample of the rows, and the speed-up over each."""
    problem = Problem(_sample_rows(X, n_rows, seed), components, alpha, tol)
    row: dict[str, Any] = {"rows": n_rows}
    for name, solve in BLOCK_DESCENTS.items():
        timing = _other_solvers.time_block_descent(problem, solve)
        row[name], row[f"{name} reached the gap"] = timing.seconds_per_row, timing.converged
        row[f"{name}: speed-up"] = timing.seconds_per_row / seconds_per_row
    return row


def _add_solver_table(report: Report, title: str, rows: list[dict[str, Any]], solvers: Solvers) -> None:
    report.add_table(
        f"Coding, {title}; microseconds per row",
        rows,
        {"problem": "", "product": _as_microseconds, "sdgs": _as_microseconds, "sdgs / product": format_ratio}
        | dict.fromkeys(solvers, _as_microseconds)
        | dict.fromkeys(("speed-up", "without the product", "possible"), format_ratio)
        | {"rows of other solvers": ""},
    )


def _add_descent_table(report: Report, title: str, rows: list[dict[str, Any]]) -> None:
    formats = {"problem": "", "sdgs": _as_microseconds}
    for name in BLOCK_DESCENTS:
        formats |= {name: _as_microseconds, f"{name}: speed-up": format_ratio}
    report.add_table(f"{title}; microseconds per row, block descent without the product", rows, formats)


def _sample_rows(X: Any, size: int, seed: int) -> np.ndarray:
    """Random rows of X that are not zero, dense."""
    norms = np.sqrt(np.asarray((X.multiply(X) if issparse(X) else X * X).sum(axis=1)).ravel())
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(norms > 0))[:size]
    sample = X[np.sort(rows)]
    return sample.toarray() if issparse(sample) else sample


def _as_microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f}"
