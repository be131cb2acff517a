"""The whole task, fit and predict with given parameters: SDGS as published against what people use."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks._data import Options, Split, planted, real, unit, why_absent
from benchmarks._measure import steady
from benchmarks._report import Report, ratio
from sdgs import SDGSClassifier
from sdgs.methods import MDDM, MLkNN
from sdgs.datasets import REGISTRY, make_composite_digits
from sdgs.metrics import f1

LARGER = tuple(name for name, entry in REGISTRY.items() if entry.n_train >= 2000)
# The public ML-kNN goes over samples and labels in Python: beyond so many of both it would be all that a run does.
_MOST_CELLS = 250_000
PUBLIC = "ML-kNN, scikit-multilearn"
OURS, SVM, FOREST, KNN, REDUCED = "SDGS", "OneVsRest(LinearSVC)", "forest of 10", "ML-kNN", "MDDM + ML-kNN"


def methods(seed: int) -> dict[str, Callable[[], Any]]:
    """Each as its users would set it, or as the paper does; one thread."""
    known: dict[str, Callable[[], Any]] = {
        OURS: lambda: SDGSClassifier(6, alpha=0.2, readout="norm", scaling="rows", random_state=seed),
        SVM: lambda: OneVsRestClassifier(LinearSVC(random_state=seed)),
        FOREST: lambda: RandomForestClassifier(10, random_state=seed),
        KNN: lambda: MLkNN(30),
        REDUCED: lambda: make_pipeline(MDDM(), MLkNN(30)),
    }
    if find_spec("skmultilearn"):
        from skmultilearn.adapt import MLkNN as PublicMLkNN

        known[PUBLIC] = lambda: PublicMLkNN(k=30)
    return known


def run(report: Report, options: Options) -> None:
    """On all eleven data sets where they are, else on sums of digits."""
    warnings.filterwarnings("ignore", "Label not", UserWarning)  # some labels have no training sample
    built = methods(options.seed)
    if PUBLIC not in built:
        report.skip(PUBLIC, "not installed: pip install scikit-multilearn-ng")
    X, Y, _ = planted(60, 10, 3, 2, 1, options.seed)
    for method, build in built.items():  # compile and load
        build().fit(_as_taken(method, X), _as_taken(method, Y)).predict(_as_taken(method, X))
    reason = "--quick" if options.quick else why_absent(tuple(REGISTRY), options.data_home)
    if reason:
        report.skip("the paper's eleven data sets", reason)
        _table(report, [_row("sums of digits", _digits(options), built, report)], built)
        return
    rows = [_row(name, real(name, options.data_home), built, report) for name in REGISTRY]
    total = {method: sum(row[method] for row in rows) for method in built if method != PUBLIC}
    rows.append({"data": "in total", **total})
    _table(report, rows, built)
    report.at_most(1.0, f"times {SVM}, fit and predict of all eleven data sets", total[OURS] / total[SVM])
    for row in rows:
        for rival in (KNN, PUBLIC, REDUCED):
            if row["data"] in LARGER and row.get(rival) is not None:
                report.at_most(1.0, f"times {rival}, fit and predict: {row['data']}", row[OURS] / row[rival])


def _digits(options: Options) -> Split:
    train = make_composite_digits(3000, max_labels=2, subset="train", random_state=options.seed)
    test = make_composite_digits(1000, max_labels=2, subset="test", random_state=options.seed + 1)
    return Split(unit(train.X), train.Y, unit(test.X), test.Y)


def _row(name: str, data: Split, built: dict[str, Callable[[], Any]], report: Report) -> dict[str, Any]:
    """Seconds of fit and predict of each method, and its F1."""
    row: dict[str, Any] = {"data": name}
    cells = (len(data.Y) + len(data.Y_test)) * data.Y.shape[1]
    for method, build in built.items():
        if method == PUBLIC and cells > _MOST_CELLS:
            report.skip(f"{PUBLIC} on {name}", f"{cells:,} samples times labels take it minutes; most: {_MOST_CELLS:,}")
            continue
        X, Y, X_test = (_as_taken(method, A) for A in (data.X, data.Y, data.X_test))
        fit, model = steady(lambda build=build, X=X, Y=Y: build().fit(X, Y))
        predict, found = steady(lambda model=model, X=X_test: model.predict(X))
        row[method] = fit + predict
        row[f"{method}: fit"], row[f"{method}: predict"] = fit, predict
        row[f"{method}: F1"] = float(
            f1(data.Y_test, np.asarray(found.toarray() if hasattr(found, "toarray") else found))
        )
    return row


def _as_taken(method: str, A: Any) -> Any:
    """The public ML-kNN takes sparse matrices, and no other sparse arrays."""
    return csr_matrix(A) if method == PUBLIC else A


def _table(report: Report, rows: list[dict[str, Any]], built: dict[str, Any]) -> None:
    report.table(
        "The whole task: fit and predict, one thread, seconds", rows, {"data": ""} | dict.fromkeys(built, ".2f")
    )
    ratios = [
        {"data": row["data"]}
        | {method: row[method] / row[OURS] for method in built if row.get(method) and method != OURS}
        for row in rows
    ]
    others = [method for method in built if method != OURS]
    report.table(f"The same, times {OURS}", ratios, {"data": ""} | dict.fromkeys(others, ratio))
    scores = [
        {"data": row["data"]} | {method: row.get(f"{method}: F1") for method in built} for row in rows[: len(REGISTRY)]
    ]
    report.table("What they predict, example-based F1", scores, {"data": ""} | dict.fromkeys(built, ".3f"))
