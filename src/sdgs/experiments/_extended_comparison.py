"""Beyond the paper: SDGS as this library does it against other methods at their best, on clean and on dirty data."""

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from sdgs import metrics
from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets import REGISTRY, make_composite_digits
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.estimators._classifier_cv import SDGSClassifierCV
from sdgs.estimators._sdgs_model import PENALTIES, scalings_of
from sdgs.experiments._compared_methods import make_rival, prepared
from sdgs.readout._decision import Decision
from sdgs.readout._features import DecompositionOptions
from sdgs.readout._scaling import possible_scalings
from sdgs.selection._cross_fit import CandidateEvaluator

DIGITS = "composite-digits"
TITLES: Mapping[str, str] = {
    "sdgs-cv": "SDGSClassifierCV",
    "sdgs": "SDGSClassifier()",
    "br": "BR",
    "br-mean": "BR, gaps filled by means",
    "br-knn": "BR, gaps filled by neighbours",
    "ecc": "ensemble of chains",
    "mlknn": "ML-kNN",
    "forest": "random forest",
    "boosting": "histogram boosting",
}
_METHODS: Mapping[str, tuple[str, ...]] = {
    "clean": ("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest", "boosting"),
    "spikes": ("sdgs-cv", "br", "ecc", "mlknn", "forest", "boosting"),
    "missing": ("sdgs-cv", "br-mean", "br-knn", "forest", "boosting"),
}
# No spikes at all is the clean end of both curves, on the same samples.
_SHARES: Mapping[str, tuple[float, ...]] = {"spikes": (0.0, 0.01, 0.02, 0.05, 0.1), "missing": (0.1, 0.2, 0.4)}
_DIRTY_SETS = {"emotions", "mediamill", DIGITS}
_SPIKED_SETS = {"yahoo-arts", "yahoo-education", "yahoo-recreation", "yahoo-science"}
_MOST_DIRTY_ROWS = 2000  # of a data set that is made dirty, training and test samples each
_AFFORDABLE = 1e8  # samples x features x labels that are boosted


@dataclass(frozen=True)
class Damage:
    """What is done to training and test samples alike before anything else: ``kind`` "clean", "spikes" or "missing"."""

    kind: str = "clean"
    share: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "clean" else f"{self.kind}{100 * self.share:g}"

    def done_to(self, X: Any, unit: NDArray[np.float64], rng: np.random.Generator) -> Any:
        """A damaged copy: this share of all entries missing, or 3 to 6 ``unit`` off, up or down."""
        hit = rng.random(X.shape) < self.share
        if self.kind == "missing":
            return np.where(hit, np.nan, X)
        wrong = np.where(hit, rng.choice([-1.0, 1.0], X.shape) * rng.uniform(3, 6, X.shape) * unit, 0.0)
        return csr_array(X + csr_array(wrong)) if issparse(X) else X + wrong


CLEAN = Damage()


def beyond_cases(datasets: tuple[str, ...]) -> list[tuple[str, Damage, str]]:
    """(data set, damage, method) of all comparisons; with the paper's data sets go digits, which are made.

    Other data sets are compared as they are: they may be dirty enough.
    """
    if any(dataset in REGISTRY for dataset in datasets):
        datasets = (*datasets, DIGITS)
    cases = [(dataset, CLEAN, method) for dataset in datasets for method in _METHODS["clean"]]
    for dataset in datasets:
        for kind, shares in _SHARES.items():
            if dataset in _DIRTY_SETS or (kind == "spikes" and dataset in _SPIKED_SETS):
                cases += [(dataset, Damage(kind, share), method) for share in shares for method in _METHODS[kind]]
    return [case for case in cases if case[2] != "boosting" or _boosted(case[0], case[1])]


def _boosted(dataset: str, damage: Damage) -> bool:
    """Whether boosting a model a label is affordable; it takes no sparse samples."""
    entry = REGISTRY.get(dataset)
    if entry is None:
        return dataset == DIGITS
    rows = entry.n_train if damage.kind == "clean" else min(entry.n_train, _MOST_DIRTY_ROWS)
    return dataset in _DIRTY_SETS | {"genbase"} and rows * entry.n_features * entry.n_labels <= _AFFORDABLE


def digits(seed: int, damage: Damage) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Composite digits: training and test samples are sums of different images. They come with spikes of their own."""
    spikes = damage.share if damage.kind == "spikes" else 0.0
    train = make_composite_digits(2000, max_labels=2, spikes=spikes, subset="train", random_state=seed)
    test = make_composite_digits(1000, max_labels=2, spikes=spikes, subset="test", random_state=seed + 1)
    return train.X, train.Y, test.X, test.Y


def damaged(
    data: tuple[Any, NDArray[Any], Any, NDArray[Any]], damage: Damage, seed: int
) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Some of the samples, and this done to them."""
    X, Y, X_test, Y_test = data
    rng = np.random.default_rng(seed)
    X, Y, X_test, Y_test = (*_some(X, Y, rng), *_some(X_test, Y_test, rng))
    unit = _deviation(X)
    return damage.done_to(X, unit, rng), Y, damage.done_to(X_test, unit, rng), Y_test


def compare(data: tuple[Any, NDArray[Any], Any, NDArray[Any]], method: str, seed: int, clock: Any) -> dict[str, Any]:
    """One method on one data set: what it predicts, how well, how long it takes, and what was chosen."""
    X, Y, X_test, Y_test = data
    # Compile and load outside the clock: it is paid once a process, whatever the data.
    with warnings.catch_warnings(action="ignore"):
        _predicted(method, X[:40], with_a_label(Y[:40]), X[:2], seed, nullcontext)
    with clock() as seconds:
        predicted, chosen, fit = _predicted(method, X, Y, X_test, seed, clock)
    rules = predicted if isinstance(predicted, dict) else {"expected": predicted}
    return {
        "test": metrics.evaluate(Y_test, rules[chosen.get("decision", "expected")]),
        "test_by_decision": {rule: metrics.evaluate(Y_test, labels) for rule, labels in rules.items()},
        "seconds": {"fit": fit, "fit and predict": seconds},
        "chosen": chosen,
        "n_train": len(Y),
        "n_test": len(Y_test),
    }


def with_a_label(Y: NDArray[Any]) -> NDArray[Any]:
    """The same with a label on every other sample: no method learns from none, and some learn from folds."""
    Y = Y.copy()
    Y[::2, 0] = 1
    return Y


def _predicted(
    method: str, X: Any, Y: NDArray[Any], X_test: Any, seed: int, clock: Any
) -> tuple[Any, dict[str, Any], Any]:
    """Labels of the test samples, what was chosen, and how long it took to learn."""
    model: Any
    with clock() as fit:
        if method in ("sdgs-cv", "sdgs"):
            model = SDGSClassifierCV(random_state=seed) if method == "sdgs-cv" else SDGSClassifier(random_state=seed)
        else:
            model = make_rival(method, seed)
            X, X_test = prepared(method, X, X_test, lambda filled: _scaling(filled, Y, seed))
        model.fit(X, Y)
    return model.predict(X_test), _chosen(model), fit


def _some(X: Any, Y: NDArray[Any], rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
    if len(Y) <= _MOST_DIRTY_ROWS:
        return X, Y
    rows = np.sort(rng.choice(len(Y), _MOST_DIRTY_ROWS, replace=False))
    return X[rows], Y[rows]


def _deviation(X: Any) -> NDArray[np.float64]:
    """What a spike's size is measured in: the standard deviation of a column, or their mean where columns share a unit.

    They do where none is often negative: in images, counts and shares.
    """
    deviation = np.sqrt(mean_variance_axis(narrow_indices(X), axis=0)[1]) if issparse(X) else X.std(axis=0)
    one_unit = "rows" in possible_scalings(X)
    return np.where((deviation > 0) & (not one_unit), deviation, float(deviation.mean()))


def _scaling(X: Any, Y: NDArray[Any], seed: int) -> str:
    """Of what may suit the samples, that with which a ridge regression does best in cross-validation."""
    training = DecompositionOptions(0, "brp", 1, 1.0, 1, seed, None)
    cross_fit = CandidateEvaluator(
        X,
        csr_array(Y),
        scalings_of(X),
        training,
        penalties=PENALTIES,
        n_folds=3,
        decision=Decision("f1", bool(Y.any(axis=1).all())),
    )
    return cross_fit.best_scaling(possible_scalings(X), for_subspaces=False)


def _chosen(model: Any) -> dict[str, Any]:
    if isinstance(model, SDGSClassifierCV):
        names = ("scaling", "huber", "gamma", "n_components", "alpha", "penalty")
        counts: dict[str, Any] = {
            "tried": len(model.cv_results_["score"]),
            "averaged": sum(model.cv_results_["averaged"]),
        }
        return {name: getattr(model, f"{name}_") for name in names} | counts
    if isinstance(model, SDGSClassifier):
        return {"scaling": model.scaling_, "penalty": model.penalty_}
    return {**model.parameters, "decision": model.best_rule}


def beyond_file(dataset: str, damage: Damage, method: str, seed: int) -> str:
    """Path of the record within the folder of results."""
    return f"beyond/{dataset}--{damage}--{method}--seed{seed}.json"


def beyond_cost(dataset: str, damage: Damage, method: str) -> float:
    """Rough share of the time of all tasks."""
    entry = REGISTRY.get(dataset)
    n, p, k = (entry.n_train, entry.n_features, entry.n_labels) if entry else (2000, 64, 10)
    if damage.kind != "clean":
        n = min(n, _MOST_DIRTY_ROWS)
    size = n * min(p, 200) * k / 1e8
    weight = {"sdgs-cv": 80, "sdgs": 8, "ecc": 80, "mlknn": 4, "forest": 50, "boosting": 80}
    return 2 + weight.get(method, 40) * size
