"""What unobserved labels and labels that are not given cost: the record behind tables of the documentation.

``python -m sdgs.experiments._incomplete_labels docs/results/incomplete_labels.csv --data-home FOLDER`` measures it
again, and continues where it was interrupted. Training labels are hidden at random. Models are fitted to the training
samples and tested on the test samples; with ``--split-training`` both are parts of the training samples, as while
methods are developed.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs import metrics
from sdgs.datasets import REGISTRY, load
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.experiments._case_records import Row, complete_record
from sdgs.experiments._result_tables import title_of
from sdgs.methods import BinaryRelevance

SOURCE = "incomplete-labels"
COLUMNS = (
    "dataset",
    "labels",
    "method",
    "seed",
    "f1",
    "micro_f1",
    "macro_f1",
    "propensity",
    "fit_cpu_seconds",
    "source",
)
DATASETS = tuple(REGISTRY)
UNOBSERVED_SHARE, GIVEN_SHARE = 0.3, 0.5
TEST_SHARE = 0.3  # of the training samples with --split-training
Case = tuple[str, str, str, int]  # data set, labels, method and seed


def hide(Y: NDArray[np.int64], labels: str, seed: int) -> NDArray[np.float64]:
    """Training labels of which some are unobserved (NaN), taken for negative, or not given; or all of them."""
    values, random = Y.astype(np.float64), np.random.default_rng(seed).random(Y.shape)
    if labels == "complete":
        return values
    if labels == "given by half":
        return np.where(random < GIVEN_SHARE, values, 0.0)
    return np.where(random < UNOBSERVED_SHARE, np.nan if labels == "unobserved" else 0.0, values)


def _sdgs(**parameters: Any) -> Callable[[bool], Any]:
    return lambda sparse: SDGSClassifier(random_state=0, **parameters)  # noqa: ARG005


def _binary_relevance(sparse: bool) -> Any:
    """With tuned decisions, label by label on the observed samples."""
    scaler = Normalizer() if sparse else StandardScaler()
    return DecisionClassifier(make_pipeline(scaler, BinaryRelevance(random_state=0)), random_state=0)


METHODS: Mapping[tuple[str, str], Callable[[bool], Any]] = {
    ("complete", "SDGS"): _sdgs(),
    ("unobserved", "SDGS"): _sdgs(),
    ("taken for negative", "SDGS"): _sdgs(),
    ("complete", "binary relevance"): _binary_relevance,
    ("unobserved", "binary relevance"): _binary_relevance,
    ("given by half", "SDGS"): _sdgs(),
    ("given by half", "SDGS, at least one label"): _sdgs(at_least_one=True),
    ("given by half", "SDGS, corrected"): _sdgs(assume="missing"),
    ("given by half", "SDGS, corrected by 0.5"): _sdgs(assume="missing", propensity=GIVEN_SHARE),
}


def measure(case: Case, data_home: Path, *, split_training: bool) -> list[Row]:
    """The measures of a method, fitted to incomplete training labels, on complete test labels."""
    name, labels, method, seed = case
    X, Y, X_test, Y_test = _samples(name, data_home, seed if split_training else None)
    model = METHODS[labels, method](issparse(X))
    start = process_time()
    model.fit(X, hide(Y, labels, seed))
    seconds = process_time() - start
    predicted = np.asarray(model.predict(X_test)).astype(np.int64)
    values = {
        metric.__name__: f"{metric(Y_test, predicted):.4f}"
        for metric in (metrics.f1, metrics.micro_f1, metrics.macro_f1)
    }
    propensity = getattr(model, "propensity_", None)
    values["propensity"] = "" if propensity is None else f"{propensity[0]:g}"
    described = {"dataset": title_of(name), "labels": labels, "method": method, "seed": str(seed)}
    return [{**described, **values, "fit_cpu_seconds": f"{seconds:.2f}", "source": SOURCE}]


def _samples(
    name: str, data_home: Path, split_seed: int | None
) -> tuple[Any, NDArray[np.int64], Any, NDArray[np.int64]]:
    """Training and test samples; with a seed, both from the training samples."""
    train = load(name, "train", data_home=data_home)
    Y = np.asarray(train.Y, dtype=np.int64)
    if split_seed is None:
        test = load(name, "test", data_home=data_home)
        return train.X, Y, test.X, np.asarray(test.Y, dtype=np.int64)
    order = np.random.default_rng((1, split_seed)).permutation(len(Y))
    cut = round(TEST_SHARE * len(Y))
    test_rows, train_rows = np.sort(order[:cut]), np.sort(order[cut:])
    return train.X[train_rows], Y[train_rows], train.X[test_rows], Y[test_rows]


def cases(datasets: Sequence[str] = (), seeds: Sequence[int] = (0,)) -> list[Case]:
    """All that is measured."""
    names = [name for name in DATASETS if not datasets or name in datasets]
    return [(name, labels, method, seed) for name in names for seed in seeds for labels, method in METHODS]


def case_of(row: Row) -> Case:
    """The case that a row of the record belongs to."""
    names = {title_of(name): name for name in DATASETS}
    return names[row["dataset"]], row["labels"], row["method"], int(row["seed"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._incomplete_labels", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=(), choices=DATASETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=(0,))
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--split-training", action="store_true", help="leave the test samples alone")
    options = parser.parse_args(arguments)
    measure_rows = partial(measure, data_home=options.data_home, split_training=options.split_training)
    selected = cases(options.datasets, options.seeds)
    complete_record(options.output, COLUMNS, selected, case_of, measure_rows, selected=selected, n_jobs=options.jobs)


if __name__ == "__main__":
    main()
