"""What tuned decisions and averages gain: the record behind the tables of the page about decisions.

``python -m sdgs.experiments._decided_methods docs/results/decisions.csv --data-home FOLDER`` measures it again, and
continues where it was interrupted. No test samples of the paper's data sets are used. Scene, Yeast and Birds, which the
paper does not have, are split at random, with all of their samples.
"""

import argparse
import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
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
from sdgs.experiments._result_tables import title_of
from sdgs.methods import BinaryRelevance
from sdgs.persistence._atomic_write import write_atomically

SOURCE = "decisions"
COLUMNS = ("study", "dataset", "method", "split", "f1", "source")
AVERAGED_SETS = ("emotions", "birds", "scene", "yeast")
N_FOLDS, N_SPLITS, N_TREES = 3, 6, 300
LARGE_SETS = ("corel5k", "mediamill")  # of which one fold is held out
MAX_SAMPLES = 6000
Split = tuple[Any, NDArray[Any], Any, NDArray[Any]]
Case = tuple[str, str, int]  # study, data set and split


def cases(datasets: Sequence[str]) -> list[Case]:
    """All that is measured."""
    linear = [("linear", name, fold) for name in REGISTRY for fold in range(1 if name in LARGE_SETS else N_FOLDS)]
    averages = [("average", name, seed) for name in AVERAGED_SETS for seed in range(N_SPLITS)]
    return [case for case in linear + averages if not datasets or case[1] in datasets]


def measure(case: Case, data_home: Path) -> dict[str, float]:
    """F1 in percent of the methods of a study on one split."""
    study, name, number = case
    X, Y, X_test, Y_test = _fold(name, number, data_home) if study == "linear" else _split(name, number, data_home)
    predicted: dict[str, Any] = {}
    for method, model in _linear(X).items() if study == "linear" else _averaged(number).items():
        predicted[method] = model.fit(X, Y).predict(X_test)
    return {method: 100 * metrics.f1(Y_test, labels) for method, labels in predicted.items()}


def _linear(X: Any) -> dict[str, Any]:
    scaler = MaxAbsScaler() if issparse(X) else StandardScaler()
    logistic = make_pipeline(scaler, OneVsRestClassifier(LogisticRegression(solver="liblinear")))
    svm = make_pipeline(scaler, BinaryRelevance(random_state=0))
    return {
        "logistic regression": logistic,
        "logistic regression, decided": DecisionClassifier(logistic, random_state=0),
        "linear SVM": svm,
        "linear SVM, decided": DecisionClassifier(svm, random_state=0),
    }


def _averaged(seed: int) -> dict[str, Any]:
    sdgs, trees = SDGSClassifierCV(random_state=seed, n_jobs=1), ExtraTreesClassifier(N_TREES, random_state=seed)
    return {
        "SDGSClassifierCV": sdgs,
        "ExtraTreesClassifier": trees,
        "ExtraTreesClassifier, decided": DecisionClassifier(trees, random_state=seed),
        "average of both": AveragingClassifier([sdgs, trees], random_state=seed),
    }


def _fold(name: str, number: int, data_home: Path) -> Split:
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


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of(case: Case, data_home: Path) -> Iterator[dict[str, str]]:
    """Rows of the record for one case."""
    study, name, number = case
    with warnings.catch_warnings(action="ignore"):  # of labels with few samples
        measured = measure(case, data_home)
    for method, f1 in measured.items():
        values = (study, title_of(name), method, str(number), f"{f1:.2f}", SOURCE)
        yield dict(zip(COLUMNS, values, strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._decided_methods", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=())
    options = parser.parse_args(arguments)
    records = _read(options.output)
    measured = {(record["study"], record["dataset"], record["split"]) for record in records}
    for case in cases(options.datasets):
        if (case[0], title_of(case[1]), str(case[2])) in measured:
            continue
        records += rows_of(case, options.data_home)
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        write_atomically(options.output, text.getvalue().encode())


if __name__ == "__main__":
    main()
