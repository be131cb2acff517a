"""Scale: the shapes of RCV1 and Delicious, and the search on Mediamill. Minutes to hours, so only with --large."""

from collections.abc import Callable
from typing import Any

from benchmarks._data import Options, make_text_samples, missing_data_message
from benchmarks._measure import WHY_NO_MEMORY, growth_exponent, measure_in_subprocess
from benchmarks._report import Report
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import load

MIB_PER_GIB = 1024
MAX_GIB = 8
N_TEST_RCV1, N_TEST_DELICIOUS = 100_000, 3000
# After duplicates are removed, 76 words and 3.2 labels per sample are left, or 18 and 19.
RCV1 = {"n": 800_000, "p": 47_000, "k": 103, "words_per_sample": 82.5, "labels_per_sample": 3.36}
DELICIOUS = {"n": 12_920, "p": 500, "k": 983, "words_per_sample": 21.5, "labels_per_sample": 20.7}
LABEL_COUNTS = (983, 2200, 5000)
MAX_LABEL_EXPONENT = 1.2


def run(report: Report, options: Options) -> None:
    """All measurements, with --large only."""
    if not options.large:
        report.skip("the shapes of RCV1 and Delicious, and SDGSClassifierCV on Mediamill", "only with --large")
        return
    if WHY_NO_MEMORY:
        report.skip("memory at scale", WHY_NO_MEMORY)
    measures = (_measure_many_samples, _measure_many_labels, _measure_search)
    rows = [row for measure in measures for row in measure(report, options)]
    report.add_table(
        "Scale: seconds and peak memory, two threads",
        rows,
        {"problem": "", "fit": ".1f", "fit, GiB": ".2f", "predict": ".1f", "predict, GiB": ".2f"},
    )


def _measure_many_samples(report: Report, options: Options) -> list[dict[str, Any]]:
    """RCV1's shape."""
    rows = []
    for readout in ("norm", "ridge"):
        name = f"RCV1's shape, readout={readout!r}"
        row = _measure(name, text_job, report, shape=RCV1, n_test=N_TEST_RCV1, readout=readout, seed=options.seed)
        if row:
            rows.append(row)
            report.claim_at_most(600, "fit", row["fit"], name, "s")
            report.claim_at_most(120, f"predict {N_TEST_RCV1:,} samples", row["predict"], name, "s")
            _claim_memory(report, name, row)
    return rows


def _measure_many_labels(report: Report, options: Options) -> list[dict[str, Any]]:
    """Delicious' shape, also with more labels."""
    rows = []
    for readout in ("norm", "ridge"):
        arguments = {"n_test": N_TEST_DELICIOUS, "readout": readout, "seed": options.seed}
        readout_rows = []
        for k in LABEL_COUNTS:
            name = f"Delicious' shape, {k:,} labels, readout={readout!r}"
            row = _measure(name, text_job, report, shape=DELICIOUS | {"k": k}, **arguments)
            if row:
                readout_rows.append(row)
                _claim_memory(report, name, row)
        if len(readout_rows) == len(LABEL_COUNTS):
            slope = growth_exponent(LABEL_COUNTS, [row["fit"] + row["predict"] for row in readout_rows])
            quantity, case = "exponent of the time in the number of labels", f"readout={readout!r}"
            report.claim_at_most(MAX_LABEL_EXPONENT, quantity, slope, case, "")
        rows += readout_rows
    return rows


def _measure_search(report: Report, options: Options) -> list[dict[str, Any]]:
    """SDGSClassifierCV with its defaults."""
    reason = missing_data_message(("mediamill",), options.data_home)
    if reason:
        report.skip("SDGSClassifierCV on Mediamill", reason)
        return []
    home = None if options.data_home is None else str(options.data_home)
    row = _measure("SDGSClassifierCV on Mediamill", mediamill_job, report, data_home=home, seed=options.seed)
    if not row:
        return []
    report.claim_at_most(300, "fit", row["fit"], "SDGSClassifierCV on Mediamill", "s")
    return [row]


def _measure(name: str, job: Callable[..., Any], report: Report, **arguments: Any) -> dict[str, Any] | None:
    """The steps of a job on two threads as one row; None and a failed claim if the process fails."""
    try:
        steps = measure_in_subprocess(job, threads=2, **arguments)
    except RuntimeError as error:
        report.console.print(f"[red]{name}: {error}[/]")
        report.claim_at_least(1, "runs to completion", 0, name, "")
        return None
    row: dict[str, Any] = {"problem": name}
    for step, measured in steps.items():
        row[step] = measured["seconds"]
        row[f"{step}, GiB"] = None if measured["peak_mib"] is None else measured["peak_mib"] / MIB_PER_GIB
    # A job takes minutes, so its results are printed before the table is complete.
    results = ", ".join(f"{column} {value:.3g}" for column, value in row.items() if isinstance(value, float))
    report.console.print(f"{name}: {results}", highlight=False)
    return row


def _claim_memory(report: Report, name: str, row: dict[str, Any]) -> None:
    if not WHY_NO_MEMORY:
        report.claim_at_most(MAX_GIB, "peak memory", max(row["fit, GiB"], row["predict, GiB"]), name, "GiB")


def text_job(shape: dict[str, Any], n_test: int, readout: str, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """Fit a classifier to samples that resemble text, and predict further samples."""
    n_train = shape["n"]
    X, Y = make_text_samples(seed=seed, **(shape | {"n": n_train + n_test}))
    X, X_test, Y = X[:n_train], X[n_train:], Y[:n_train]
    model = SDGSClassifier(readout=readout, random_state=seed, n_jobs=2)
    return [("fit", lambda: model.fit(X, Y)), ("predict", lambda: model.predict(X_test))]


def mediamill_job(data_home: str | None, seed: int) -> list[tuple[str, Callable[[], Any]]]:
    """The search on Mediamill; it selects the scaling itself."""
    train, test = (load("mediamill", split, data_home=data_home) for split in ("train", "test"))
    model = SDGSClassifierCV(random_state=seed, n_jobs=2)
    return [("fit", lambda: model.fit(train.X, train.Y)), ("predict", lambda: model.predict(test.X))]
