"""The methods of a published study, measured here: the record behind the table that compares both.

``python -m sdgs.experiments._study_comparison docs/results/study_comparison.csv --data-home FOLDER`` measures it again,
and continues where it was interrupted. docs/results/published_study.csv has the published figures: Bogatinovski,
Todorovski, Dzeroski and Kocev, Comprehensive comparative study of multi-label classification methods, Expert Systems
with Applications, 2022.

The study has one random split of each data set. Here there are several, with test samples of the same number, so that
the spread between splits shows which differences between methods a split can decide. Two variants are measured:

- "default": logistic regression as base learner, and, for methods with scores, the threshold that gives as many labels
  as the training samples have, found on cross-fitted scores;
- "study": the settings of the study, as far as this library has them; see ``_study_settings.py``.

Some rows have fixed settings, to show what they decide.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs import metrics
from sdgs.datasets import REGISTRY, load, load_mulan
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.experiments._case_records import Row, complete_record
from sdgs.experiments._result_tables import title_of
from sdgs.experiments._study_settings import Settings, fit_predict
from sdgs.methods import HOMER, ClassifierChains, LabelPowerset, MLkNN, RAkEL, StackedRelevance

SOURCE = "study-comparison"
MEASURES = ("f1", "hamming_loss", "subset_accuracy")
COLUMNS = ("dataset", "variant", "split", "method", *MEASURES, "cpu_seconds", "source")
TEST_SIZES = {  # of the study, and all samples
    "emotions": (270, 593),
    "scene": (960, 2407),
    "yeast": (967, 2417),
    "medical": (420, 978),
    "genbase": (292, 662),
    "slashdot": (2272, 3782),
}
DATASETS = (*TEST_SIZES, "enron", "corel5k")
VARIANTS = ("default", "study")
SPLITS = ("0", "1", "2")  # seeds
FILES = (
    "files"  # the split of Mulan's files, for data sets that are too large for several splits and the study's settings
)
FIXED_SETTINGS: Mapping[tuple[str, str], tuple[tuple[str, ...], Settings]] = {  # not tuned, for some data sets
    **{("BR", f"C = 8; gamma = 2^{e}"): (("scene", "yeast"), {"C": 8.0, "gamma": 2.0**e}) for e in (-7, -5, -3, -1, 1)},
    **{("CC", f"C = 8; gamma = 2^{e}"): (("slashdot",), {"C": 8.0, "gamma": 2.0**e}) for e in (-7, -3)},
    **{
        ("HOMER", f"branching factor {c}"): (
            ("emotions", "medical"),
            {"C": 8.0, "gamma": 2.0**-7, "branching_factor": c},
        )
        for c in (2, 3, 4, 5)
    },
}
N_CHAINS = 10
Case = tuple[str, str, str, str]  # data set, variant, split and method

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
    """The measures of a method, fitted to the training samples of a split, on its test samples."""
    name, variant, split, method = case
    X, Y, X_test, Y_test = _samples(name, split, data_home)
    start = process_time()
    if variant == "default":
        predicted = np.asarray(make_method(method, issparse(X)).fit(X, Y).predict(X_test))
    else:
        _, settings = FIXED_SETTINGS.get((method, variant), ((), None))
        predicted = fit_predict(method, X, Y, X_test, int(split), settings)
    seconds = process_time() - start
    values = {
        "f1": f"{metrics.f1(Y_test, predicted):.4f}",
        "hamming_loss": f"{metrics.hamming_loss(Y_test, predicted):.4f}",
        "subset_accuracy": f"{np.mean((predicted == Y_test).all(axis=1)):.4f}",
        "cpu_seconds": f"{seconds:.2f}",
    }
    keys = {"dataset": title_of(name), "variant": variant, "split": split, "method": method}
    return [{**keys, **values, "source": SOURCE}]


def random_split(X: Any, Y: Any, test_size: tuple[int, int], seed: int) -> tuple[Any, Any, Any, Any]:
    """Training samples with labels, and test samples with labels: a share of all, as a pair of numbers."""
    rows = np.random.default_rng(seed).permutation(len(Y))
    n_test = len(Y) * test_size[0] // test_size[1]
    train, test = rows[n_test:], rows[:n_test]
    return X[train], Y[train], X[test], Y[test]


def _samples(name: str, split: str, data_home: Path) -> tuple[Any, Any, Any, Any]:
    if name in REGISTRY:
        train, test = (load(name, part, data_home=data_home) for part in ("train", "test"))
    else:
        folder = data_home / name
        files = (next(folder.glob(f"{name}-{part}.arff*")) for part in ("train", "test"))
        train, test = (load_mulan(file, folder / f"{name}.xml") for file in files)
    if train.Y is None or test.Y is None:
        raise ValueError(f"{name} has samples without labels.")
    Y, Y_test = train.Y.astype(np.int64), test.Y.astype(np.int64)
    if split == FILES:
        return train.X, Y, test.X, Y_test
    X = (vstack if issparse(train.X) else np.vstack)([train.X, test.X]).astype(np.float64)
    return random_split(X, np.vstack([Y, Y_test]), TEST_SIZES[name], int(split))


def cases(datasets: Sequence[str] = DATASETS, splits: Sequence[str] = (*SPLITS, FILES)) -> list[Case]:
    """All that is measured."""
    compared = [
        *product(TEST_SIZES, VARIANTS, SPLITS, METHODS),
        *product([name for name in DATASETS if name not in TEST_SIZES], VARIANTS[:1], [FILES], METHODS),
    ]
    fixed = [
        (name, variant, SPLITS[0], method) for (method, variant), (names, _) in FIXED_SETTINGS.items() for name in names
    ]
    return [case for case in [*compared, *fixed] if case[0] in datasets and case[2] in splits]


def case_of(row: Row) -> Case:
    """The case that a row of the record belongs to."""
    names = {title_of(name): name for name in DATASETS}
    return names[row["dataset"]], row["variant"], row["split"], row["method"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record, or complete one."""
    parser = argparse.ArgumentParser(prog="python -m sdgs.experiments._study_comparison", description=__doc__)
    parser.add_argument("output", type=Path, help="CSV file to write, or to complete")
    parser.add_argument("--data-home", type=Path, required=True, help="folder with NAME/NAME-train.arff and so on")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--splits", nargs="+", default=(*SPLITS, FILES), choices=(*SPLITS, FILES))
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args(arguments)
    measure_rows = partial(measure, data_home=options.data_home)
    selected = cases(options.datasets, options.splits)
    complete_record(options.output, COLUMNS, cases(), case_of, measure_rows, selected=selected, n_jobs=options.jobs)


if __name__ == "__main__":
    main()
