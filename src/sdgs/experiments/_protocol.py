"""Data sets, methods, parameters and seeds of the experiments, fixed before anything runs."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Literal

from sklearn.pipeline import make_pipeline

from sdgs._utils._validation import check_choice
from sdgs._utils._version import __version__
from sdgs.datasets import REGISTRY
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.experiments._explanation_studies import EXPLANATION_STUDIES
from sdgs.experiments._extended_comparison import (
    CLEAN,
    DIGITS,
    TITLES,
    Damage,
    beyond_cases,
    beyond_cost,
    beyond_file,
    installed_methods,
)
from sdgs.experiments._introduction_methods import INTRODUCTION_METHODS, introduction_cost, introduction_file
from sdgs.experiments._most_frequent_labels import MostFrequentLabels
from sdgs.experiments._rival_models import is_installed
from sdgs.methods import MDDM, BinaryRelevance, MLkNN

Rule = Literal["paper", "cv"]
RULES: Mapping[Rule, str] = {
    "paper": "the best F1 on the training samples, after training on all of them",
    "cv": "the best F1 in cross-validation on the training samples",
}
_SCHEMA = 3  # version of the records' format; records of another version are computed again
_MAX_SEED = 2**32 - 1  # the largest that scikit-learn accepts
PLANTED = "planted"  # name of the synthetic data set in the study of convergence
# SDGS in the study of prediction with the most frequent labels only.
FREQUENCY_PARAMETERS = {"n_components": 6, "alpha": 0.2, "threshold": 1e-2}


@dataclass(frozen=True)
class Method:
    """A method and the parameter groups from which a rule chooses."""

    name: str
    title: str
    groups: tuple[dict[str, Any], ...]


_SDGS = {"residual_size": 1e-4, "threshold": 1e-2}
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("br", "BR", tuple({"C": C} for C in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0))),
        Method("mlknn", "ML-kNN", ({"n_neighbors": 30},)),
        Method("mddm", "MDDM", ({"regularization": 0.12, "n_components": 0.2, "n_neighbors": 30},)),
        # Four groups within the ranges that the paper gives. It does not state the groups that it used.
        Method(
            "sdgs",
            "SDGS",
            (
                {"n_components": 2, "alpha": 0.3, **_SDGS},
                {"n_components": 4, "alpha": 0.25, **_SDGS},
                {"n_components": 6, "alpha": 0.2, **_SDGS},
                {"n_components": 6, "alpha": 0.3, **_SDGS},
            ),
        ),
        Method("floor", "most frequent labels", ({},)),
    )
}


def build(method: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Create the estimator of a method."""
    if method == "sdgs":
        return SDGSClassifier(**parameters, readout="norm", scaling="rows", random_state=seed)
    if method == "br":
        return BinaryRelevance(**parameters, random_state=seed)
    if method == "mlknn":
        return MLkNN(**parameters)
    if method == "mddm":
        mddm = {name: value for name, value in parameters.items() if name != "n_neighbors"}
        return make_pipeline(MDDM(**mddm), MLkNN(parameters["n_neighbors"]))
    return MostFrequentLabels()


@dataclass(frozen=True)
class ExperimentTask:
    """The smallest unit of work with a record of its own.

    ``kind`` is "trial" (one method with one parameter group on one data set), "statistics" (of a data set),
    "frequency" (SDGS with the subspaces of only the most frequent labels), "convergence" (of the training solvers),
    "introduction" (a method that the paper's introduction names), "beyond" (a tuned method on clean or damaged data) or
    "explanations" (the study of explanations that ``method`` names).
    """

    kind: Literal["trial", "statistics", "frequency", "convergence", "introduction", "beyond", "explanations"]
    dataset: str
    method: str = ""
    group: int = 0
    seed: int = 0
    damage: Damage = CLEAN

    @property
    def file(self) -> str:
        """Path of the record, relative to the folder of records."""
        if self.kind == "trial":
            return f"trials/{self.dataset}--{self.method}--group{self.group}--seed{self.seed}.json"
        if self.kind == "introduction":
            return introduction_file(self.dataset, self.method, self.seed)
        if self.kind == "beyond":
            return beyond_file(self.dataset, self.damage, self.method, self.seed)
        if self.kind == "explanations":
            return f"studies/{self.method}--{self.dataset}--seed{self.seed}.json"
        return f"studies/{self.kind}--{self.dataset}.json"

    @property
    def cost(self) -> float:
        """Rough estimate of the time from the registered sizes, to order tasks and to estimate the time left."""
        if self.kind == "introduction":
            return introduction_cost(self.dataset, self.method)
        if self.kind == "beyond":
            return beyond_cost(self.dataset, self.damage, self.method)
        entry = REGISTRY.get(self.dataset)
        n, p, k = (entry.n_train, entry.n_features, entry.n_labels) if entry else (1000, 100, 10)
        size = n * min(p, 150) * k / 1e8  # samples of text have few words
        if self.kind == "trial" and self.method == "br":
            return 1 + 2 * size * 1.8**self.group
        return 1 + 2 * size * (self.method == "sdgs" or self.kind != "trial")


@dataclass(frozen=True)
class Protocol:
    """Data sets, methods, seeds, and rules to choose parameters.

    The rule "paper" is the paper's: the parameter group with the best F1 on the training samples. The rule "cv" uses
    ``folds``-fold cross-validation on the training samples. If there are more than ``max_rows`` of them, it uses only
    the first fold of ``max_rows`` random samples.

    With ``all_methods``, the methods that the paper's introduction names are also measured, with their own and with
    tuned decisions.

    With ``beyond``, SDGS with this library's defaults is also compared with other tuned methods, on clean and on
    damaged data, with the seeds ``beyond_seeds``; ``beyond_methods`` are some of them, by
    default all that are installed.

    With ``only``, the name of a measurement of explanations such as "faithfulness", nothing else is done. It uses
    training samples only.
    """

    datasets: tuple[str, ...] = tuple(REGISTRY)
    methods: tuple[str, ...] = ("br", "mlknn", "mddm", "sdgs")
    seeds: tuple[int, ...] = (0,)
    folds: int = 3
    max_rows: int = 10_000
    all_methods: bool = False
    beyond: bool = False
    beyond_seeds: tuple[int, ...] = (0, 1, 2)
    beyond_methods: tuple[str, ...] = field(default_factory=installed_methods)
    only: str | None = None
    groups: Mapping[str, tuple[dict[str, Any], ...]] = field(
        default_factory=lambda: {name: method.groups for name, method in METHODS.items()}
    )

    def __post_init__(self) -> None:
        for name, values in (("datasets", self.datasets), ("methods", self.methods), ("seeds", self.seeds)):
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name} must hold at least one value and no duplicates, got {values!r}.")
        if any(not 0 <= seed <= _MAX_SEED for seed in self.seeds):
            raise ValueError(f"seeds must be integers from 0 to {_MAX_SEED}, got {self.seeds!r}.")
        for synthetic in (PLANTED, DIGITS):
            if synthetic in self.datasets:
                raise ValueError(f"{synthetic!r} is the name of a synthetic data set. Rename your data set.")
        if self.only is not None:
            check_choice(self.only, "only", tuple(EXPLANATION_STUDIES))
        for method in self.methods:
            check_choice(method, "method", tuple(METHODS))
        for method in self.beyond_methods:
            check_choice(method, "method", tuple(TITLES))
            if not is_installed(method):
                raise ValueError(f"{TITLES[method]} is not installed. Install it with: pip install 'sdgs[rivals]'")
        object.__setattr__(self, "methods", tuple(m for m in METHODS if m in self.methods or m == "floor"))

    def tasks(self) -> list[ExperimentTask]:
        """All tasks, most expensive first."""
        if self.only is not None:
            pairs = product(self.datasets, self.seeds)
            return [ExperimentTask("explanations", dataset, self.only, seed=seed) for dataset, seed in pairs]
        trials = [
            ExperimentTask("trial", dataset, method, group, seed)
            for dataset in self.datasets
            for method in self.methods
            for group in range(len(self.groups[method]))
            for seed in self.seeds
        ]
        studies = [ExperimentTask("statistics", dataset) for dataset in self.datasets]
        if "sdgs" in self.methods:
            studies += [ExperimentTask("frequency", dataset) for dataset in self.datasets]
            studies += [ExperimentTask("convergence", name) for name in (PLANTED, *self._smallest())]
        introduction = [
            ExperimentTask("introduction", dataset, method, seed=seed)
            for dataset in self.datasets
            for method in (INTRODUCTION_METHODS if self.all_methods else ())
            for seed in self.seeds
        ]
        cases = [case for case in beyond_cases(self.datasets) if self.beyond and case[2] in self.beyond_methods]
        comparisons = [
            ExperimentTask("beyond", dataset, method, seed=seed, damage=damage)
            for dataset, damage, method in cases
            for seed in self.beyond_seeds
        ]
        return sorted(trials + studies + introduction + comparisons, key=lambda task: -task.cost)

    def _smallest(self) -> list[str]:
        """The smallest of the paper's data sets in this protocol, because exact SVDs are slow on large ones."""
        registered = [REGISTRY[name] for name in self.datasets if name in REGISTRY]
        return [entry.name for entry in sorted(registered, key=lambda entry: entry.n_train * entry.n_features)[:1]]

    def parameters(self, task: ExperimentTask) -> dict[str, Any]:
        """The parameters of the task's method."""
        return self.groups[task.method][task.group] if task.kind == "trial" else {}

    def fingerprint(self, task: ExperimentTask) -> str:
        """A hash of everything but the data that the result depends on; a record with another hash is not reused."""
        settings = {"task": asdict(replace(task, group=0)), "parameters": self.parameters(task), "folds": self.folds}
        version = {"most_rows": self.max_rows, "version": __version__, "schema": _SCHEMA}
        return hashlib.sha256(json.dumps(settings | version, sort_keys=True).encode()).hexdigest()[:16]
