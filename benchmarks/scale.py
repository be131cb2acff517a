"""Scale: the shapes of RCV1 and Delicious, and the search on Mediamill. Minutes to hours: only with --large."""

from collections.abc import Callable
from typing import Any

from benchmarks._data import Options, why_absent, words
from benchmarks._measure import NO_MEMORY, exponent, isolated
from benchmarks._report import Report
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import load

GIB = 1024  # MiB
MOST = 8  # GiB
TEST_ROWS = 100_000
# As many entries and labels are drawn a row as leave 76 and 3.2, or 18 and 19, when those drawn twice count once.
RCV1 = {"n": 800_000, "p": 47_000, "k": 103, "entries": 82.5, "card": 3.36}
DELICIOUS = {"n": 12_920, "p": 500, "k": 983, "entries": 21.5, "card": 20.7}
WIDE = (983, 2200, 5000)  # labels
NEAR_LINEAR = 1.2


def run(report: Report, options: Options) -> None:
    """All of it, if asked for."""
    if not options.large:
        report.skip("the shapes of RCV1 and Delicious, and SDGSClassifierCV on Mediamill", "only with --large")
        return
    if NO_MEMORY:
        report.skip("memory at scale", NO_MEMORY)
    rows = _many_samples(report, options) + _many_labels(report, options) + _search(report, options)
    report.table(
        "Scale: two threads",
        rows,
        {"problem": "", "fit": ".1f", "fit, GiB": ".2f", "predict": ".1f", "predict, GiB": ".2f"},
    )


def _many_samples(report: Report, options: Options) -> list[dict[str, Any]]:
    """RCV1's shape."""
    rows = []
    for readout in ("norm", "ridge"):
        name = f"RCV1's shape, readout={readout!r}"
        row = _measured(name, text, report, shape=RCV1, test_rows=TEST_ROWS, readout=readout, seed=options.seed)
        if row:
            rows.append(row)
            report.at_most(600, f"seconds of fit: {name}", row["fit"])
            report.at_most(120, f"seconds of predict, {TEST_ROWS:,} rows: {name}", row["predict"])
            _claim_memory(report, name, row)
    return rows


def _many_labels(report: Report, options: Options) -> list[dict[str, Any]]:
    """Delicious' shape, and more labels still."""
    rows = []
    for readout in ("norm", "ridge"):
        found = []
        for k in WIDE:
            name = f"Delicious' shape, {k:,} labels, readout={readout!r}"
            shape = DELICIOUS | {"k": k}
            row = _measured(name, text, report, shape=shape, test_rows=3000, readout=readout, seed=options.seed)
            if row:
                found.append((k, row))
                _claim_memory(report, name, row)
        if len(found) == len(WIDE):
            slope = exponent(WIDE, [row["fit"] + row["predict"] for _, row in found])
            report.at_most(NEAR_LINEAR, f"exponent of the time in the number of labels, readout={readout!r}", slope)
        rows += [row for _, row in found]
    return rows


def _search(report: Report, options: Options) -> list[dict[str, Any]]:
    """SDGSClassifierCV with its defaults."""
    reason = why_absent(("mediamill",), options.data_home)
    if reason:
        report.skip("SDGSClassifierCV on Mediamill", reason)
        return []
    home = None if options.data_home is None else str(options.data_home)
    row = _measured("SDGSClassifierCV on Mediamill", mediamill, report, data_home=home, seed=options.seed)
    if not row:
        return []
    report.at_most(300, "seconds of fit: SDGSClassifierCV on Mediamill", row["fit"])
    return [row]


def _measured(name: str, job: Callable[..., Any], report: Report, **arguments: Any) -> dict[str, Any] | None:
    """The steps of a job on two threads as one row; a job that does not survive is a claim that fails."""
    try:
        steps = isolated(job, threads=2, **arguments)
    except RuntimeError as error:
        report.console.print(f"[red]{name}: {error}[/]")
        report.at_least(1, f"it runs to its end: {name}", 0)
        return None
    row: dict[str, Any] = {"problem": name}
    for step, found in steps.items():
        row[step] = found["seconds"]
        row[f"{step}, GiB"] = None if found["peak_mib"] is None else found["peak_mib"] / GIB
    # Each takes minutes: what is known is told at once.
    told = ", ".join(f"{what} {value:.3g}" for what, value in row.items() if isinstance(value, float))
    report.console.print(f"{name}: {told}", highlight=False)
    return row


def _claim_memory(report: Report, name: str, row: dict[str, Any]) -> None:
    if not NO_MEMORY:
        report.at_most(MOST, f"GiB at most: {name}", max(row["fit, GiB"], row["predict, GiB"]))


def text(shape: dict[str, Any], test_rows: int, readout: str, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Fit a classifier to samples like text, and predict others."""
    X, Y = words(seed=seed, **(shape | {"n": shape["n"] + test_rows}))
    X, X_test, Y = X[: shape["n"]], X[shape["n"] :], Y[: shape["n"]]
    model = SDGSClassifier(readout=readout, random_state=seed, n_jobs=2)
    return [("fit", lambda: model.fit(X, Y)), ("predict", lambda: model.predict(X_test))]


def mediamill(data_home: str | None, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """The search on Mediamill, which scales the samples itself."""
    train, test = (load("mediamill", split, data_home=data_home) for split in ("train", "test"))
    model = SDGSClassifierCV(random_state=seed, n_jobs=2)
    return [("fit", lambda: model.fit(train.X, train.Y)), ("predict", lambda: model.predict(test.X))]
