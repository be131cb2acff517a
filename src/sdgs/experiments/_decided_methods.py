"""What tuned decisions and averages gain: the record behind the tables of the page about decisions.

``python -m sdgs.experiments._decided_methods docs/results/decisions.csv --data-home FOLDER`` measures it again, and
continues where it was interrupted. No test samples of the paper's data sets are used. Scene, Yeast and Birds, which the
paper does not have, are split at random, with all of their samples.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sdgs import metrics
from sdgs.datasets import REGISTRY, load, load_mulan
from sdgs.estimators._averaging_classifier import AveragingClassifier
from sdgs.estimators._classifier_cv import SDGSClassifierCV
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.experiments._case_records import Row, complete_record
from sdgs.experiments._result_tables import title_of
from sdgs.methods import (
    BinaryRelevance,
    CurdsAndWheyCV,
    LabelPowerset,
    ReducedRankRidgeCV,
    SharedSubspaceCV,
    SparseLowRank,
)

SOURCE = "decisions"
COLUMNS = ("study", "dataset", "method", "split", "f1", "source")
AVERAGED_SETS = ("emotions", "birds", "scene", "yeast")
N_FOLDS, N_SPLITS, N_TREES = 3, 6, 300
LARGE_SETS = ("corel5k", "mediamill")  # of which one fold is held out
MAX_SAMPLES = 6000
DECIDED = ", decided"
POWERSET = "label powerset"
LINEAR: Mapping[str, Callable[[], Any]] = {
    "logistic regression": lambda: OneVsRestClassifier(LogisticRegression(solver="liblinear")),
    "linear SVM": lambda: BinaryRelevance(random_state=0),
    POWERSET: lambda: LabelPowerset(LogisticRegression(max_iter=1000)),
    "sparse + low rank": SparseLowRank,
    "reduced-rank ridge": lambda: ReducedRankRidgeCV(random_state=0),
    "shared subspace": lambda: SharedSubspaceCV(random_state=0),
    "curds and whey": lambda: CurdsAndWheyCV(random_state=0),
}
Split = tuple[Any, NDArray[Any], Any, NDArray[Any]]
Case = tuple[str, str, str, int]  # study, data set, method (empty: all of the study) and split


def cases(datasets: Sequence[str] = ()) -> list[Case]:
    """All that is measured."""
    folds = {name: range(1 if name in LARGE_SETS else N_FOLDS) for name in REGISTRY}
    linear = [("linear", name, method, fold) for name in REGISTRY for method in LINEAR for fold in folds[name]]
    averages = [("average", name, "", seed) for name in AVERAGED_SETS for seed in range(N_SPLITS)]
    return [case for case in linear + averages if not datasets or case[1] in datasets]


def case_of(row: Row) -> Case:
    """The case that a row of the record belongs to."""
    method = row["method"].removesuffix(DECIDED).partition(" (")[0] if row["study"] == "linear" else ""
    names = {title_of(name): name for name in (*REGISTRY, *AVERAGED_SETS)}
    return row["study"], names[row["dataset"]], method, int(row["split"])


def measure(case: Case, data_home: Path) -> dict[str, float]:
    """F1 in percent of the methods of a case."""
    study, name, method, number = case
    if study == "linear":
        X, Y, X_test, Y_test = split_fold(name, number, data_home)
        predicted = _predictions(method, X, Y, X_test)
    else:
        X, Y, X_test, Y_test = _split(name, number, data_home)
        predicted = {title: model.fit(X, Y).predict(X_test) for title, model in _averaged(number).items()}
    return {title: 100 * metrics.f1(Y_test, labels) for title, labels in predicted.items()}


def _predictions(method: str, X: Any, Y: NDArray[Any], X_test: Any) -> dict[str, Any]:
    """Labels by a linear method with its own decision, and with a tuned one."""
    model = make_pipeline(MaxAbsScaler() if issparse(X) else StandardScaler(), LINEAR[method]())
    decided = DecisionClassifier(model, random_state=0).fit(X, Y)
    if method in ("logistic regression", "linear SVM"):
        return {method: clone(model).fit(X, Y).predict(X_test), method + DECIDED: decided.predict(X_test)}
    # Classifiers of this package are fitted to all labels, also behind tuned decisions.
    predicted = {method: decided.estimator_.predict(X_test), method + DECIDED: decided.predict(X_test)}
    if method == POWERSET:  # decides on the most probable set by default
        at_one_half = decided.estimator_.set_params(labelpowerset__decision="marginals")
        predicted = {method: at_one_half.predict(X_test), f"{method} (most probable set)": predicted[method]} | {
            method + DECIDED: predicted[method + DECIDED]
        }
    return predicted


def _averaged(seed: int) -> dict[str, Any]:
    sdgs, trees = SDGSClassifierCV(random_state=seed, n_jobs=1), ExtraTreesClassifier(N_TREES, random_state=seed)
    return {
        "SDGSClassifierCV": sdgs,
        "ExtraTreesClassifier": trees,
        "ExtraTreesClassifier, decided": DecisionClassifier(trees, random_state=seed),
        "average of both": AveragingClassifier([sdgs, trees], random_state=seed),
    }


def split_fold(name: str, number: int, data_home: Path) -> Split:
    """One fold of the training samples held out; of many samples only some are used."""
    X, Y = _samples(name, data_home)
    if len(Y) > MAX_SAMPLES:
        rows = np.sort(np.random.default_rng(0).choice(len(Y), MAX_SAMPLES, replace=False))
        X, Y = X[rows], Y[rows]
    train, test = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(Y))[number]
    return X[train], Y[train], X[test], Y[test]


def _split(name: str, seed: int, data_home: Path) -> Split:
    """Two thirds for training, at random."""
    X, Y = _samples(name, data_home)
    order = np.random.default_rng(seed).permutation(len(Y))
    train, test = np.split(order, [2 * len(Y) // 3])
    return X[train], Y[train], X[test], Y[test]


@lru_cache(maxsize=1)
def _samples(name: str, data_home: Path) -> tuple[Any, NDArray[Any]]:
    """Training samples of the paper's data sets; of others all."""
    if name in REGISTRY:
        parts = [load(name, data_home=data_home)]
    else:
        folder = data_home / name
        files = [next(folder.glob(f"{name}-{split}.arff*")) for split in ("train", "test")]
        parts = [load_mulan(file, folder / f"{name}.xml") for file in files]
    X = parts[0].X if len(parts) == 1 else np.concatenate([_as_array(part.X) for part in parts])
    return X, np.concatenate([_as_array(part.Y) for part in parts]).astype(np.int64)


def _as_array(matrix: Any) -> NDArray[Any]:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix)


def rows_of(case: Case, data_home: Path) -> list[Row]:
    """Rows of the record for one case."""
    study, name, _, number = case
    rows = []
    for method, f1 in measure(case, data_home).items():
        values = (study, title_of(name), method, str(number), f"{f1:.2f}", SOURCE)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._decided_methods", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=())
    parser.add_argument("--methods", nargs="+", default=(), choices=list(LINEAR), help="of the linear ones")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    selected = [case for case in cases(options.datasets) if not options.methods or case[2] in options.methods]
    measure_rows = partial(rows_of, data_home=options.data_home)
    complete_record(options.output, COLUMNS, cases(), case_of, measure_rows, selected=selected, n_jobs=options.jobs)


if __name__ == "__main__":
    main()
