"""The whole task, fit and predict with given parameters: SDGS as published, compared with common methods."""

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

from benchmarks._data import Options, Split, load_split, make_dense_samples, missing_data_message, normalize_rows
from benchmarks._measure import measure_time_adaptively
from benchmarks._report import Report, format_ratio
from sdgs import SDGSClassifier
from sdgs.datasets import REGISTRY, make_composite_digits
from sdgs.methods import MDDM, MLkNN
from sdgs.metrics import f1

LARGER_DATA_SETS = tuple(name for name, entry in REGISTRY.items() if entry.n_train >= 2000)
# scikit-multilearn's ML-kNN loops over samples and labels in Python; larger products of both take minutes.
_MAX_SKMULTILEARN_CELLS = 250_000
SDGS, SVM, FOREST, KNN, MDDM_KNN = "SDGS", "OneVsRest(LinearSVC)", "forest of 10", "ML-kNN", "MDDM + ML-kNN"
SKMULTILEARN_KNN = "ML-kNN, scikit-multilearn"
RATIO_TITLE = f"The whole task: time over that of {SDGS}"
Factories = dict[str, Callable[[], Any]]


def method_factories(seed: int) -> Factories:
    """Constructors of the methods, with usual parameters or those of the paper; one thread."""
    factories: Factories = {
        SDGS: lambda: SDGSClassifier(6, alpha=0.2, readout="norm", scaling="rows", random_state=seed),
        SVM: lambda: OneVsRestClassifier(LinearSVC(random_state=seed)),
        FOREST: lambda: RandomForestClassifier(10, random_state=seed),
        KNN: lambda: MLkNN(30),
        MDDM_KNN: lambda: make_pipeline(MDDM(), MLkNN(30)),
    }
    if find_spec("skmultilearn"):
        from skmultilearn.adapt import MLkNN as SkmultilearnMLkNN

        factories[SKMULTILEARN_KNN] = lambda: SkmultilearnMLkNN(k=30)
    return factories


def run(report: Report, options: Options) -> None:
    """All eleven data sets if they are available, otherwise sums of digits."""
    warnings.filterwarnings("ignore", "Label not", UserWarning)  # some labels have no training sample
    factories = method_factories(options.seed)
    if SKMULTILEARN_KNN not in factories:
        report.skip(SKMULTILEARN_KNN, "not installed: pip install scikit-multilearn-ng")
    X, Y, _ = make_dense_samples(60, 10, 3, 2, 1, options.seed)
    for method, build in factories.items():  # compile and import
        X_input, Y_input = _method_input(method, X), _method_input(method, Y)
        build().fit(X_input, Y_input).predict(X_input)
    reason = "--quick" if options.quick else missing_data_message(tuple(REGISTRY), options.data_home)
    if reason:
        report.skip("the paper's eleven data sets", reason)
        _add_tables(report, [_measure_methods("sums of digits", _make_digits(options), factories, report)], factories)
        return
    rows = [_measure_methods(name, load_split(name, options.data_home), factories, report) for name in REGISTRY]
    total = {method: sum(row[method] for row in rows) for method in factories if method != SKMULTILEARN_KNN}
    rows.append({"data": "in total", **total})
    _add_tables(report, rows, factories)
    report.claim_at_most(1.0, f"time over that of {SVM}", total[SDGS] / total[SVM], "all eleven data sets")
    for row in rows:
        for method in (KNN, SKMULTILEARN_KNN, MDDM_KNN):
            if row["data"] in LARGER_DATA_SETS and row.get(method) is not None:
                report.claim_at_most(1.0, f"time over that of {method}", row[SDGS] / row[method], row["data"])


def _make_digits(options: Options) -> Split:
    train = make_composite_digits(3000, max_labels=2, subset="train", random_state=options.seed)
    test = make_composite_digits(1000, max_labels=2, subset="test", random_state=options.seed + 1)
    return Split(normalize_rows(train.X), train.Y, normalize_rows(test.X), test.Y)


def _measure_methods(name: str, data: Split, factories: Factories, report: Report) -> dict[str, Any]:
    """Seconds of fit and predict of each method, and its F1."""
    row: dict[str, Any] = {"data": name}
    n_cells = (len(data.Y) + len(data.Y_test)) * data.Y.shape[1]
    for method, build in factories.items():
        if method == SKMULTILEARN_KNN and n_cells > _MAX_SKMULTILEARN_CELLS:
            reason = f"{n_cells:,} samples times labels would take minutes; at most {_MAX_SKMULTILEARN_CELLS:,} are run"
            report.skip(f"{method} on {name}", reason)
            continue
        X, Y, X_test = (_method_input(method, A) for A in (data.X, data.Y, data.X_test))
        fit_time, model = measure_time_adaptively(lambda build=build, X=X, Y=Y: build().fit(X, Y))
        predict_time, predicted = measure_time_adaptively(lambda model=model, X=X_test: model.predict(X))
        row[method] = fit_time + predict_time
        row[f"{method}: fit"], row[f"{method}: predict"] = fit_time, predict_time
        dense_labels = np.asarray(predicted.toarray() if hasattr(predicted, "toarray") else predicted)
        row[f"{method}: F1"] = float(f1(data.Y_test, dense_labels))
    return row


def _method_input(method: str, A: Any) -> Any:
    """scikit-multilearn accepts sparse matrices but no sparse arrays."""
    return csr_matrix(A) if method == SKMULTILEARN_KNN else A


def _add_tables(report: Report, rows: list[dict[str, Any]], factories: Factories) -> None:
    report.add_table(
        "The whole task: fit and predict, one thread, seconds", rows, {"data": ""} | dict.fromkeys(factories, ".2f")
    )
    compared = [method for method in factories if method != SDGS]
    ratios = [
        {"data": row["data"]} | {method: row[method] / row[SDGS] for method in compared if row.get(method)}
        for row in rows
    ]
    report.add_table(RATIO_TITLE, ratios, {"data": ""} | dict.fromkeys(compared, format_ratio))
    scores = [
        {"data": row["data"]} | {method: row.get(f"{method}: F1") for method in factories}
        for row in rows[: len(REGISTRY)]
    ]
    report.add_table("The whole task: example-based F1", scores, {"data": ""} | dict.fromkeys(factories, ".3f"))
