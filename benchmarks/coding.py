"""Coding: the group lasso against the bare product, other solvers, block descent, and itself with Huber's loss."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import issparse

from benchmarks import _other_solvers
from benchmarks._data import Options, planted, real, unit, why_absent
from benchmarks._measure import alternately, seconds
from benchmarks._report import Report, ratio
from sdgs import decompose, group_lasso

# n, p, k, labels a sample, and how many times the bare product the whole may take
SHAPES = {
    "Corel5k's shape": (5000, 499, 374, 4, 2.0),
    "Mediamill's shape": (43907, 120, 101, 4, 9.0),
    "Medical's shape": (978, 1449, 45, 1, 1.5),
}
REAL = ("corel5k", "mediamill", "medical", "yahoo-arts")
RIVALS: dict[str, Callable[[_other_solvers.Problem], _other_solvers.Timing]] = {
    "skglm": _other_solvers.skglm,
    "celer": _other_solvers.celer,
    "FISTA": _other_solvers.fista,
}
LEAST = 30  # times faster than the fastest rival
_FASTER: dict[str, Any] = {"faster": ratio, "without the product": ratio, "possible": ratio, "rows of rivals": ""}


def run(report: Report, options: Options) -> None:
    """All of it; what needs data where they are."""
    rivals = {}
    for name, rival in RIVALS.items():
        if name == "FISTA" or find_spec(name):
            rivals[name] = rival
        else:
            report.skip(name, f"not installed: pip install {name}")
    _random(report, options, rivals)
    _overlapping(report, options)
    if options.quick:
        report.skip("coding on real data", "--quick")
        return
    reason = why_absent((*REAL, "emotions"), options.data_home)
    if reason:
        report.skip("coding on real data", reason)
        return
    _real(report, options, rivals)
    _huber(report, options)


def _random(report: Report, options: Options, rivals: dict[str, Any]) -> None:
    """Random dictionaries of the shapes of three data sets."""
    alpha, tol = 0.1, 1e-6
    rows = []
    for name, (n, p, k, card, most) in SHAPES.items():
        X, _, components = planted(n, p, k, 3, card, options.seed)
        C = np.vstack(components)
        group_lasso(X[:2], components, alpha)  # compile
        times = alternately(
            {
                "product": lambda X=X, C=C: X @ C.T,
                "sdgs": lambda X=X, components=components: group_lasso(X, components, alpha, tol=tol),
            },
            repeat=5,
        )
        product, ours = times["product"] / n, times["sdgs"] / n
        row = {
            "problem": name,
            "n": n,
            "p": p,
            "k": k,
            "product": product,
            "sdgs": ours,
            "of the product": ours / product,
        }
        row |= _against(rivals, X, components, alpha, tol, row, options)
        rows.append(row)
        report.at_most(most, f"times the bare product, {name}", ours / product)
        report.at_least(LEAST, f"times faster than the fastest of {', '.join(rivals)}, {name}", row["faster"])
    micro = _micro
    report.table(
        f"Coding, random dictionaries: r = 3, alpha = {alpha}, gap {tol:g}, float64, one thread; microseconds a row",
        rows,
        {"problem": "", "product": micro, "sdgs": micro, "of the product": ratio}
        | dict.fromkeys(rivals, micro)
        | _FASTER,
    )


def _overlapping(report: Report, options: Options) -> None:
    """Subspaces that share directions, as those of real labels do: what needs Newton's method."""
    alpha, tol = 0.2, 1e-6
    rng = np.random.default_rng(options.seed)
    shared = np.linalg.qr(rng.standard_normal((120, 6)))[0].T
    components = []
    for _ in range(100):
        own = 0.5 * rng.standard_normal((3, 120)) / np.sqrt(120)
        components.append(np.linalg.qr((rng.standard_normal((3, 6)) @ shared / np.sqrt(6) + own).T)[0].T)
    X = unit(rng.standard_normal((400, 6)) @ shared + 0.3 * rng.standard_normal((400, 120)))
    time, result = seconds(lambda: group_lasso(X, components, alpha, tol=tol))
    row = {"problem": "100 subspaces of 3 in 120 dimensions, sharing 6", "sdgs": time / len(X)}
    row |= _against_descent(X, components, alpha, tol, time / len(X), 20 if options.quick else 100, options.seed)
    report.at_least(1.0, "share of rows that converge, made subspaces that overlap", result.converged.mean())
    _descent_table(report, f"Coding, made subspaces that overlap: alpha = {alpha}, gap {tol:g}", [row])


def _real(report: Report, options: Options, rivals: dict[str, Any]) -> None:
    """The dictionaries that training finds."""
    tol = 1e-4
    rows, descent = [], []
    for name in REAL:
        data = real(name, options.data_home, standardise=False)
        for r in (3, 6):
            components = decompose(data.X, data.Y, n_components=r, random_state=options.seed).components
            C = np.vstack(components)
            for alpha in (0.05, 0.2):
                problem = f"{name}, r = {r}, alpha = {alpha}"
                time, result = seconds(
                    lambda X=data.X_test, c=components, alpha=alpha: group_lasso(X, c, alpha, tol=tol)
                )
                product, _ = seconds(lambda X=data.X_test, C=C: X @ C.T)
                n = data.X_test.shape[0]
                row = {"problem": problem, "n": n, "product": product / n, "sdgs": time / n}
                row["of the product"] = time / product
                row |= _against(rivals, data.X_test, components, alpha, tol, row, options)
                rows.append(row)
                report.at_least(1.0, f"share of rows that converge, {problem}", result.converged.mean())
                report.at_least(
                    LEAST, f"times faster than the fastest of {', '.join(rivals)}, {problem}", row["faster"]
                )
                found = _against_descent(data.X_test, components, alpha, tol, time / n, 50, options.seed)
                descent.append({"problem": problem, "sdgs": time / n} | found)
                if name == "mediamill":
                    report.at_most(1.0, f"milliseconds a row, {problem}", 1e3 * time / n)
                    plain = found["over all groups: times faster"]
                    report.at_least(100, f"times faster than plain block descent, {problem}", plain)
    title = f"real dictionaries: gap {tol:g} on every row, float64, one thread"
    report.table(
        f"Coding, {title}; microseconds a row",
        rows,
        {"problem": "", "product": _micro, "sdgs": _micro, "of the product": ratio}
        | dict.fromkeys(rivals, _micro)
        | _FASTER,
    )
    _descent_table(report, f"Coding by block descent alone, {title}", descent)


def _huber(report: Report, options: Options) -> None:
    """What a sparse residual at prediction costs."""
    r, alpha, tol = 4, 0.1, 1e-4
    rows = []
    for name in ("emotions", "mediamill"):
        data = real(name, options.data_home, standardise=True)
        components = decompose(data.X, data.Y, n_components=r, tol=1e-2, random_state=options.seed).components
        X = data.X_test[:2000]
        group_lasso(X[:2], components, alpha, huber=1.0)  # compile
        runs = {
            "plain": lambda X=X, c=components: group_lasso(X, c, alpha, tol=tol),
            **{
                f"huber = {mu}": lambda X=X, c=components, mu=mu: group_lasso(X, c, alpha, huber=mu, tol=tol)
                for mu in (0.1, 0.05)
            },
        }
        times = alternately(runs, repeat=3)
        for kind, time in times.items():
            result = runs[kind]()
            row = {
                "problem": f"{name}, {kind}",
                "rows": len(X),
                "sdgs": time / len(X),
                "of the plain": time / times["plain"],
            }
            row["converged"] = float(result.converged.mean())
            rows.append(row)
            if kind != "plain":
                report.at_most(4.0, f"times the plain code, {name} standardised, {kind}", row["of the plain"])
                report.at_least(1.0, f"share of rows that converge, {name} standardised, {kind}", row["converged"])
    report.table(
        f"Coding with Huber's loss: r = {r}, alpha = {alpha}, gap {tol:g}, one thread; microseconds a row",
        rows,
        {"problem": "", "rows": "", "sdgs": _micro, "of the plain": ratio, "converged": ".1%"},
    )


def _against(
    rivals: dict[str, Any],
    X: Any,
    components: Sequence[Any],
    alpha: float,
    tol: float,
    ours: dict[str, Any],
    options: Options,
) -> dict[str, Any]:
    """Seconds a row of each rival on a sample of the rows, and how many times faster than the fastest this is."""
    many, few = (50, 10) if options.quick else (200, 30)
    row: dict[str, Any] = {}
    counts = []
    for name, rival in rivals.items():
        sample = _sample(X, many if name == "FISTA" else few, options.seed)
        timing = rival(_other_solvers.Problem(sample, components, alpha, tol))
        row[name], row[f"{name} reached the gap"] = timing.per_row, timing.reached
        counts.append(timing.rows)
    row["fastest"] = min(row[name] for name in rivals)
    row["faster"] = row["fastest"] / ours["sdgs"]
    row["without the product"] = (row["fastest"] - ours["product"]) / max(ours["sdgs"] - ours["product"], 1e-9)
    # No solver can beat a rival by more than this, for it has to take the product as well.
    row["possible"] = row["fastest"] / ours["product"]
    row["rows of rivals"] = ", ".join(map(str, counts))
    return row


def _against_descent(
    X: Any, components: Sequence[Any], alpha: float, tol: float, ours: float, few: int, seed: int
) -> dict[str, Any]:
    """The same for block descent."""
    problem = _other_solvers.Problem(_sample(X, few, seed), components, alpha, tol)
    row: dict[str, Any] = {"rows": few}
    for kind in ("over_all_groups", "on_working_sets"):
        timing = _other_solvers.block_descent(problem, kind)
        name = kind.replace("_", " ")
        row[name], row[f"{name} reached the gap"] = timing.per_row, timing.reached
        row[f"{name}: times faster"] = timing.per_row / ours
    return row


def _descent_table(report: Report, title: str, rows: list[dict[str, Any]]) -> None:
    kinds = ("over all groups", "on working sets")
    report.table(
        f"{title}; microseconds a row, without the product",
        rows,
        {"problem": "", "sdgs": _micro}
        | {key: form for kind in kinds for key, form in ((kind, _micro), (f"{kind}: times faster", ratio))},
    )


def _sample(X: Any, size: int, seed: int) -> np.ndarray:
    """Random rows of X that are not zero, dense."""
    length = np.sqrt(np.asarray((X.multiply(X) if issparse(X) else X * X).sum(axis=1)).ravel())
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(length > 0))[:size]
    sample = X[np.sort(rows)]
    return sample.toarray() if issparse(sample) else sample


def _micro(value: float) -> str:
    return f"{1e6 * value:,.1f}"
