"""The methods of a published study, measured here: the record behind the table that compares both.

``python -m sdgs.experiments._study_comparison docs/results/study_comparison.csv --data-home FOLDER`` measures it again,
and continues where it was interrupted. docs/results/published_study.csv has the published figures: Bogatinovski,
Todorovski, Dzeroski and Kocev, Comprehensive comparative study of multi-label classification methods, Expert Systems
with Applications, 2022.

The study used support vector machines with an RBF kernel (decision trees in ensembles of chains) and other training and
test samples. It predicted as many labels as training samples have on average; this changes nothing for label powerset,
chains and HOMER, whose scores were 0 and 1 there. Here the base learner is logistic regression, and methods with scores
use the threshold that gives as many labels as the training samples have, found on cross-fitted scores.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs import metrics
from sdgs.datasets import REGISTRY, load, load_mulan
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.experiments._case_records import Row, complete_record
from sdgs.experiments._result_tables import title_of
from sdgs.methods import HOMER, ClassifierChains, LabelPowerset, MLkNN, RAkEL, StackedRelevance

SOURCE = "study-comparison"
COLUMNS = ("dataset", "method", "f1", "hamming_loss", "subset_accuracy", "fit_cpu_seconds", "source")
DATASETS = ("emotions", "scene", "yeast", "enron", "medical", "genbase", "corel5k", "slashdot")
N_CHAINS = 10
Case = tuple[str, str]  # data set and method

_SCORED: Mapping[str, Callable[[Any], Any]] = {  # decided by a threshold on their scores
    "BR": OneVsRestClassifier,
    "ECC": lambda base: ClassifierChains(base, n_chains=N_CHAINS, random_state=0),
    "RAkEL": lambda base: RAkEL(base, average="marginals", random_state=0),  # votes have ties
    "MBR": lambda base: StackedRelevance(base, random_state=0),
    "ML-kNN": lambda base: MLkNN(),  # noqa: ARG005
}
_OWN_DECISION: Mapping[str, Callable[[Any], Any]] = {
    "LP": lambda base: LabelPowerset(base, random_state=0),
    "CC": lambda base: ClassifierChains(base, random_state=0),
    "HOMER": lambda base: HOMER(base, random_state=0),
}
METHODS = ("BR", "LP", "CC", "ECC", "RAkEL", "HOMER", "MBR", "ML-kNN")


def make_method(name: str, sparse: bool) -> Any:
    """A method with its scaling: text has unit rows and a weaker penalty, measurements are standardised."""
    base = LogisticRegression(C=10.0 if sparse else 1.0, max_iter=2000)
    scaler = Normalizer() if sparse else StandardScaler()
    if name in _OWN_DECISION:
        return make_pipeline(scaler, _OWN_DECISION[name](base))
    return DecisionClassifier(make_pipeline(scaler, _SCORED[name](base)), decision="share", random_state=0)


def measure(case: Case, data_home: Path) -> list[Row]:
    """The measures of a method, fitted to the training samples, on the test samples."""
    name, method = case
    (X, Y), (X_test, Y_test) = _samples(name, "train", data_home), _samples(name, "test", data_home)
    model = make_method(method, issparse(X))
    start = process_time()
    model.fit(X, Y)
    seconds = process_time() - start
    predicted = np.asarray(model.predict(X_test))
    values = {
        "f1": f"{metrics.f1(Y_test, predicted):.4f}",
        "hamming_loss": f"{metrics.hamming_loss(Y_test, predicted):.4f}",
        "subset_accuracy": f"{np.mean((predicted == Y_test).all(axis=1)):.4f}",
        "fit_cpu_seconds": f"{seconds:.2f}",
    }
    return [{"dataset": title_of(name), "method": method, **values, "source": SOURCE}]


def _samples(name: str, split: Literal["train", "test"], data_home: Path) -> tuple[Any, Any]:
    if name in REGISTRY:
        data = load(name, split, data_home=data_home)
    else:
        folder = data_home / name
        data = load_mulan(next(folder.glob(f"{name}-{split}.arff*")), folder / f"{name}.xml")
    if data.Y is None:
        raise ValueError(f"{name} has samples without labels.")
    return data.X, data.Y.astype(np.int64)


def cases(datasets: Sequence[str] = ()) -> list[Case]:
    """All that is measured."""
    return [(name, method) for name in DATASETS for method in METHODS if not datasets or name in datasets]


def case_of(row: Row) -> Case:
    """The case that a row of the record belongs to."""
    names = {title_of(name): name for name in DATASETS}
    return names[row["dataset"]], row["method"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._study_comparison", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=(), choices=DATASETS)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    measure_rows = partial(measure, data_home=options.data_home)
    selected = cases(options.datasets)
    complete_record(options.output, COLUMNS, cases(), case_of, measure_rows, selected=selected, n_jobs=options.jobs)


if __name__ == "__main__":
    main()
