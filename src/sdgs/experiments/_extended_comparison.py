"""Beyond the paper: SDGS with this library's defaults and other tuned methods, on clean and on damaged data."""

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
from sdgs.experiments._compared_methods import make_compared_method, prepare_samples
from sdgs.experiments._rival_models import is_installed
from sdgs.readout._column_statistics import column_statistics
from sdgs.readout._decision import Decision
from sdgs.readout._parameters import DecompositionOptions
from sdgs.readout._pipeline import ReadoutContext
from sdgs.readout._samples import ArraySamples
from sdgs.readout._scaling import suitable_scalings
from sdgs.selection._candidate_evaluator import CandidateEvaluator
from sdgs.selection._defaults import PENALTIES

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
    "lp": "LP",
    "rakel": "RAkEL",
    "low_rank": "sparse + low rank",
    "trees": "extremely randomised trees",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "boomer": "BOOMER",
}
_METHODS: Mapping[str, tuple[str, ...]] = {
    "clean": (
        *("sdgs-cv", "sdgs", "br", "ecc", "mlknn", "forest", "boosting"),
        *("lp", "rakel", "low_rank", "trees", "lightgbm", "catboost", "boomer"),
    ),
    "spikes": ("sdgs-cv", "br", "ecc", "mlknn", "forest", "boosting"),
    "missing": ("sdgs-cv", "br-mean", "br-knn", "forest", "boosting"),
}
# A share of 0 spikes is the clean end of the curves of both kinds, on the same samples.
_SHARES: Mapping[str, tuple[float, ...]] = {"spikes": (0.0, 0.01, 0.02, 0.05, 0.1), "missing": (0.1, 0.2, 0.4)}
_DAMAGED_SETS = {"emotions", "mediamill", DIGITS}
_SPIKED_SETS = {"yahoo-arts", "yahoo-education", "yahoo-recreation", "yahoo-science"}
MAX_DAMAGED_SAMPLES = 2000  # training and test samples each, of a data set that is damaged
_MAX_BOOSTING_SIZE = 1e8  # samples x features x labels; larger data sets are not boosted
_SIZE_LIMITED = (
    "lp",
    "rakel",
    "lightgbm",
    "catboost",
    "boomer",
)  # by the same size, with features as in ``beyond_cost``
_TYPICAL_NONZERO = 200  # features that a sample of text has at most, roughly
SPIKE_SIZES = (3, 6)  # smallest and largest change of an entry, in standard deviations


@dataclass(frozen=True)
class Damage:
    """Damage to a share of the entries of training and test samples; ``kind`` is "clean", "spikes" or "missing"."""

    kind: str = "clean"
    share: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "clean" else f"{self.kind}{100 * self.share:g}"

    def apply(self, X: Any, unit: NDArray[np.float64], rng: np.random.Generator) -> Any:
        """A copy with missing entries, or with entries changed by 3 to 6 ``unit`` in either direction."""
        damaged = rng.random(X.shape) < self.share
        if self.kind == "missing":
            return np.where(damaged, np.nan, X)
        signs, sizes = rng.choice([-1.0, 1.0], X.shape), rng.uniform(*SPIKE_SIZES, X.shape)
        spikes = np.where(damaged, signs * sizes * unit, 0.0)
        return csr_array(X + csr_array(spikes)) if issparse(X) else X + spikes


CLEAN = Damage()


def beyond_cases(datasets: tuple[str, ...]) -> list[tuple[str, Damage, str]]:
    """(data set, damage, method) of all comparisons. Composite digits are added to the paper's data sets.

    Data sets that are not the paper's are not damaged.
    """
    if any(dataset in REGISTRY for dataset in datasets):
        datasets = (*datasets, DIGITS)
    cases = [(dataset, CLEAN, method) for dataset in datasets for method in _METHODS["clean"]]
    for dataset in datasets:
        for kind, shares in _SHARES.items():
            if dataset in _DAMAGED_SETS or (kind == "spikes" and dataset in _SPIKED_SETS):
                cases += [(dataset, Damage(kind, share), method) for share in shares for method in _METHODS[kind]]
    return [case for case in cases if _is_affordable(*case)]


def installed_methods() -> tuple[str, ...]:
    """The names of all methods but those whose optional packages are not installed."""
    return tuple(method for method in TITLES if is_installed(method))


def _is_affordable(dataset: str, damage: Damage, method: str) -> bool:
    if method == "boosting":
        return _can_boost(dataset, damage)
    entry = REGISTRY.get(dataset)
    if entry is None or method not in _SIZE_LIMITED:
        return True
    return entry.n_train * min(entry.n_features, _TYPICAL_NONZERO) * entry.n_labels <= _MAX_BOOSTING_SIZE


def _can_boost(dataset: str, damage: Damage) -> bool:
    """Whether the data set is dense and small enough for boosting, which fits one model per label."""
    entry = REGISTRY.get(dataset)
    if entry is None:
        return dataset == DIGITS
    n_train = entry.n_train if damage.kind == "clean" else min(entry.n_train, MAX_DAMAGED_SAMPLES)
    return dataset in _DAMAGED_SETS | {"genbase"} and n_train * entry.n_features * entry.n_labels <= _MAX_BOOSTING_SIZE


def load_digits(seed: int, damage: Damage) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Composite digits: training and test samples are sums of different images. The generator adds the spikes."""
    spikes = damage.share if damage.kind == "spikes" else 0.0
    train = make_composite_digits(2000, max_labels=2, spikes=spikes, subset="train", random_state=seed)
    test = make_composite_digits(1000, max_labels=2, spikes=spikes, subset="test", random_state=seed + 1)
    return train.X, train.Y, test.X, test.Y


def damage_data(
    data: tuple[Any, NDArray[Any], Any, NDArray[Any]], damage: Damage, seed: int
) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Draw at most ``MAX_DAMAGED_SAMPLES`` training and test samples each, and damage them."""
    X, Y, X_test, Y_test = data
    rng = np.random.default_rng(seed)
    X, Y, X_test, Y_test = (*_subsample(X, Y, rng), *_subsample(X_test, Y_test, rng))
    unit = _spike_unit(X)
    return damage.apply(X, unit, rng), Y, damage.apply(X_test, unit, rng), Y_test


def compare(data: tuple[Any, NDArray[Any], Any, NDArray[Any]], method: str, seed: int, clock: Any) -> dict[str, Any]:
    """Evaluate one method on one data set: test scores, times, and the chosen parameters."""
    X, Y, X_test, Y_test = data
    # Compile and load outside the measured time, because both happen only once per process.
    with warnings.catch_warnings(action="ignore"):
        _fit_predict(method, X[:40], with_positive_samples(Y[:40]), X[:2], seed, nullcontext)
    with clock() as seconds:
        predicted, chosen, fit = _fit_predict(method, X, Y, X_test, seed, clock)
    by_decision = predicted if isinstance(predicted, dict) else {"expected": predicted}
    return {
        "test": metrics.evaluate(Y_test, by_decision[chosen.get("decision", "expected")]),
        "test_by_decision": {rule: metrics.evaluate(Y_test, labels) for rule, labels in by_decision.items()},
        "seconds": {"fit": fit, "fit and predict": seconds},
        "chosen": chosen,
        "n_train": len(Y),
        "n_test": len(Y_test),
    }


def with_positive_samples(Y: NDArray[Any]) -> NDArray[Any]:
    """A copy in which every second sample has the first label, so that all methods can learn it in every fold."""
    Y = Y.copy()
    Y[::2, 0] = 1
    return Y


def _fit_predict(
    method: str, X: Any, Y: NDArray[Any], X_test: Any, seed: int, clock: Any
) -> tuple[Any, dict[str, Any], Any]:
    """Predicted labels of the test samples, the chosen parameters, and the times of fitting."""
    model: Any
    with clock() as fit:
        if method in ("sdgs-cv", "sdgs"):
            model = SDGSClassifierCV(random_state=seed) if method == "sdgs-cv" else SDGSClassifier(random_state=seed)
        else:
            model = make_compared_method(method, seed)
            X, X_test = prepare_samples(method, X, X_test, lambda imputed: _choose_scaling(imputed, Y, seed))
        model.fit(X, Y)
    return model.predict(X_test), _chosen_parameters(model), fit


def _subsample(X: Any, Y: NDArray[Any], rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
    if len(Y) <= MAX_DAMAGED_SAMPLES:
        return X, Y
    rows = np.sort(rng.choice(len(Y), MAX_DAMAGED_SAMPLES, replace=False))
    return X[rows], Y[rows]


def _spike_unit(X: Any) -> NDArray[np.float64]:
    """The unit of spikes: the standard deviation of each column, or their mean if all columns share a unit.

    Columns share a unit if none is often negative, as in images, counts and shares.
    """
    deviation = np.sqrt(mean_variance_axis(narrow_indices(X), axis=0)[1]) if issparse(X) else X.std(axis=0)
    shared_unit = "rows" in suitable_scalings(column_statistics(X))
    return np.where((deviation > 0) & (not shared_unit), deviation, float(deviation.mean()))


def _choose_scaling(X: Any, Y: NDArray[Any], seed: int) -> str:
    """The applicable scaling with which a ridge regression is best in cross-validation."""
    samples = ArraySamples(X)
    options = DecompositionOptions(0, "brp", 1, 1.0, 1, seed, None)
    decision = Decision("f1", bool(Y.any(axis=1).all()))
    context = ReadoutContext(options, samples.column_statistics.mostly_zero, decision, splits=3)
    evaluator = CandidateEvaluator(samples, csr_array(Y), context, PENALTIES)
    return evaluator.best_scaling(suitable_scalings(samples.column_statistics), for_subspaces=False)


def _chosen_parameters(model: Any) -> dict[str, Any]:
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
    """Path of the record, relative to the folder of records."""
    return f"beyond/{dataset}--{damage}--{method}--seed{seed}.json"


def beyond_cost(dataset: str, damage: Damage, method: str) -> float:
    """Rough estimate of the time, in the unit of :attr:`Task.cost`."""
    entry = REGISTRY.get(dataset)
    n, p, k = (entry.n_train, entry.n_features, entry.n_labels) if entry else (2000, 64, 10)
    if damage.kind != "clean":
        n = min(n, MAX_DAMAGED_SAMPLES)
    size = n * min(p, _TYPICAL_NONZERO) * k / 1e8
    weight = {"sdgs-cv": 80, "sdgs": 8, "ecc": 80, "mlknn": 4, "forest": 50, "boosting": 80, "low_rank": 20}
    return 2 + weight.get(method, 40) * size
