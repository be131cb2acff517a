"""Fits from end to end: stage by stage against the arithmetic they need, against others, and on a busy machine."""

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

from benchmarks._data import Options, load_split, missing_data_message
from benchmarks._measure import measure_in_subprocess, measure_time, measure_time_adaptively, measure_times_alternately
from benchmarks._report import Report, format_ratio
from benchmarks._stages import FLOOR, STAGES, stage_times
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import load, make_composite_digits

SHAPES = ("emotions", "yahoo-arts", "medical", "mediamill")
BUSY_SHAPES = ("emotions", "medical")
TUNED_SHAPES = ("yahoo-arts", "yahoo-education", "yahoo-recreation", "yahoo-science")
PREDICT_SHAPE = "emotions"
N_PREDICTED = 1000
_BUSY_LOOP = "while True: pass"


def run(report: Report, options: Options) -> None:
    """The paper's data sets if they are available, otherwise sums of digits."""
    reason = "--quick" if options.quick else missing_data_message(SHAPES + TUNED_SHAPES, options.data_home)
    if reason:
        report.skip("the paper's data sets", reason)
        digits = make_composite_digits(1000, max_labels=2, subset="train", random_state=options.seed)
        _add_stages(report, {"sums of digits": (digits.X, digits.Y)}, options.seed, searched=())
        return
    data = {name: _training_samples(name, options.data_home) for name in SHAPES}
    _add_stages(report, data, options.seed, searched=SHAPES)
    _compare_with_tuned_regressions(report, options)
    _compare_predictions(report, data[PREDICT_SHAPE], options.seed)
    _measure_on_a_busy_machine(report, options)


def _training_samples(name: str, data_home: Path | None) -> tuple[Any, Any]:
    train = load(name, "train", data_home=data_home)
    return train.X, train.Y


def _add_stages(report: Report, data: dict[str, tuple[Any, Any]], seed: int, searched: Sequence[str]) -> None:
    rows = []
    for name, (X, Y) in data.items():
        factories: dict[str, Callable[[], Any]] = {
            "gamma=None": lambda: SDGSClassifier(gamma=None, random_state=seed, n_jobs=1),
            "default": lambda: SDGSClassifier(random_state=seed, n_jobs=1),
        }
        if name in searched:
            factories["search"] = lambda: SDGSClassifierCV(random_state=seed, n_jobs=1)
        factories["gamma=None"]().fit(X, Y)  # compiles
        times = {
            what: _measure_stages(lambda build=build, X=X, Y=Y: build().fit(X, Y)) for what, build in factories.items()
        }
        rows += [{"data": f"{name}, {what}"} | row for what, row in times.items()]
        plain, default = times["gamma=None"], times["default"]
        report.claim_at_most(2.0, "time over that of its arithmetic, gamma=None", plain["over floor"], name)
        report.claim_at_most(5, "share of calibration in a default fit", 100 * default["calibrate"], name, "%")
        if not issparse(X):
            report.claim_at_most(3.0, "time over that with gamma=None", default["seconds"] / plain["seconds"], name)
    shares = dict.fromkeys((*STAGES, "rest"), ".1%")
    formats = {"data": "", "seconds": ".3f", **shares, "over floor": format_ratio}
    report.add_table(
        "Fits, one thread: seconds, shares of the stages, and time over that of the arithmetic", rows, formats
    )


def _measure_stages(fit: Callable[[], Any], repeat: int = 3) -> dict[str, float]:
    """The fastest of some fits."""
    rows = []
    while len(rows) < (1 if rows and rows[0]["seconds"] > 10 else repeat):
        with stage_times() as seconds:
            total, _ = measure_time(fit, 1)
        row = {"seconds": total} | {stage: seconds[stage] / total for stage in STAGES}
        row["rest"] = 1 - sum(row[stage] for stage in STAGES)
        row["over floor"] = 1 / sum(row[stage] for stage in FLOOR)
        rows.append(row)
    return min(rows, key=lambda row: row["seconds"])


def _compare_with_tuned_regressions(report: Report, options: Options) -> None:
    """Searches compared with a grid search per label over the penalty of a logistic regression."""
    rows = []
    warnings.simplefilter("ignore")  # labels without samples in a fold
    for name in TUNED_SHAPES:
        X, Y = _training_samples(name, options.data_home)
        unit = load_split(name, options.data_home).X
        grid = GridSearchCV(LogisticRegression(solver="liblinear"), {"C": [0.1, 1, 10, 100, 1000]}, cv=3, scoring="f1")
        regression, _ = measure_time(lambda unit=unit, Y=Y, grid=grid: OneVsRestClassifier(grid).fit(unit, Y), 1)
        search, _ = measure_time(lambda X=X, Y=Y: SDGSClassifierCV(random_state=options.seed, n_jobs=1).fit(X, Y), 1)
        rows.append({"data": name, "search": search, "regressions": regression, "ratio": search / regression})
        report.claim_at_most(3.0, "search: time over that of tuned logistic regressions", search / regression, name)
    title = (
        "SDGSClassifierCV and one logistic regression per label, tuned over 5 values in 3 folds: seconds, one thread"
    )
    report.add_table(title, rows, {"data": "", "search": ".2f", "regressions": ".2f", "ratio": format_ratio})


def _compare_predictions(report: Report, data: tuple[Any, Any], seed: int) -> None:
    X, Y = data
    many = np.tile(X, (-(-N_PREDICTED // len(X)), 1))[:N_PREDICTED]
    models = {
        "default": SDGSClassifier(random_state=seed).fit(X, Y),
        "gamma=None": SDGSClassifier(gamma=None, random_state=seed).fit(X, Y),
        "logistic regressions": OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X, Y),
    }
    rows = []
    for n in (1, N_PREDICTED):
        runs = {name: lambda model=model, n=n: model.predict(many[:n]) for name, model in models.items()}
        times = measure_times_alternately(runs, repeat=50)
        rows.append({"samples": f"{n:,}"} | {name: 1000 * time for name, time in times.items()})
    title = f"Prediction of samples of {PREDICT_SHAPE}: milliseconds"
    report.add_table(title, rows, {"samples": ""} | dict.fromkeys(models, ".3f"))
    one, thousand = rows
    report.claim_at_most(0.5, "prediction of one sample", one["default"], PREDICT_SHAPE, "ms")
    ratio = thousand["default"] / thousand["logistic regressions"]
    report.claim_at_most(6.0, f"prediction of {N_PREDICTED:,} samples over logistic regressions", ratio, PREDICT_SHAPE)


def fit_job(name: str, data_home: str | None, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The job of a new process: two fits, of which the first compiles."""
    X, Y = _training_samples(name, None if data_home is None else Path(data_home))
    for step in ("first", "fit"):
        yield step, lambda: measure_time_adaptively(lambda: SDGSClassifier(random_state=seed).fit(X, Y))


@contextmanager
def _busy_processes(number: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", _BUSY_LOOP]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _measure_on_a_busy_machine(report: Report, options: Options, n_busy: int = 2) -> None:
    """With default threads: alone, and beside processes that keep two cores busy."""
    rows = []
    for name in BUSY_SHAPES:
        home = None if options.data_home is None else str(options.data_home)
        arguments = {"threads": 2, "name": name, "data_home": home, "seed": options.seed}
        alone = measure_in_subprocess(fit_job, **arguments)["fit"]["seconds"]
        with _busy_processes(n_busy):
            busy = measure_in_subprocess(fit_job, **arguments)["fit"]["seconds"]
        rows.append({"data": name, "alone": alone, "busy": busy, "ratio": busy / alone})
        report.claim_at_most(3.0, "time beside two busy processes over that alone", busy / alone, name)
    title = "Default fits with two threads beside two busy processes: seconds of four fits"
    report.add_table(title, rows, {"data": "", "alone": ".2f", "busy": ".2f", "ratio": format_ratio})
