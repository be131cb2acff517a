"""What is compared, on what, with which parameters: fixed before anything runs."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sklearn.pipeline import make_pipeline

from sdgs._utils._validation import check_choice
from sdgs._utils._version import __version__
from sdgs.datasets import REGISTRY
from sdgs.estimators._classifier import SDGSClassifier
from sdgs.experiments._extended_comparison import CLEAN, DIGITS, Damage, beyond_cases, beyond_cost, beyond_file
from sdgs.experiments._most_frequent_labels import MostFrequentLabels
from sdgs.methods import MDDM, BinaryRelevance, MLkNN

Rule = Literal["paper", "cv"]
RULES: Mapping[Rule, str] = {
    "paper": "the best F1 on the training samples themselves, after training on all of them",
    "cv": "the best F1 in cross-validation on the training samples",
}
_SCHEMA = 3  # of the records; a new number makes old ones be made again
_MOST_SEED = 2**32 - 1  # scikit-learn takes no larger one
PLANTED = "planted"  # the name of the made problem whose convergence is studied


@dataclass(frozen=True)
class Method:
    """A method, and the parameter groups that a rule chooses from."""

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
        # Four groups within the ranges that the paper gives; it does not print its own.
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
    """The estimator of a method."""
    if method == "sdgs":
        return SDGSClassifier(**parameters, readout="norm", scaling="rows", random_state=seed)
    if method == "br":
        return BinaryRelevance(**parameters, random_state=seed)
    if method == "mlknn":
        return MLkNN(**parameters)
    if method == "mddm":
        rest = {name: value for name, value in parameters.items() if name != "n_neighbors"}
        return make_pipeline(MDDM(**rest), MLkNN(parameters["n_neighbors"]))
    return MostFrequentLabels()


@dataclass(frozen=True)
class Task:
    """The smallest piece of work that is recorded: one file under ``folder``.

    ``kind`` is "trial" (one method with one parameter group on one data set), "statistics" (of a data set),
    "frequency" (SDGS with the subspaces of the most frequent labels alone), "convergence" (of the training solvers) or
    "beyond" (a method at its best on clean or damaged data).
    """

    kind: Literal["trial", "statistics", "frequency", "convergence", "beyond"]
    dataset: str
    method: str = ""
    group: int = 0
    seed: int = 0
    damage: Damage = CLEAN

    @property
    def file(self) -> str:
        """Path of the record within the folder of results."""
        if self.kind == "trial":
            return f"trials/{self.dataset}--{self.method}--group{self.group}--seed{self.seed}.json"
        if self.kind == "beyond":
            return beyond_file(self.dataset, self.damage, self.method, self.seed)
        return f"studies/{self.kind}--{self.dataset}.json"

    @property
    def cost(self) -> float:
        """Rough share of the time of all tasks, from the registered sizes: to order them and to estimate the end."""
        if self.kind == "beyond":
            return beyond_cost(self.dataset, self.damage, self.method)
        entry = REGISTRY.get(self.dataset)
        n, p, k = (entry.n_train, entry.n_features, entry.n_labels) if entry else (1000, 100, 10)
        size = n * min(p, 150) * k / 1e8  # text has few words a sample
        if self.kind == "trial" and self.method == "br":
            return 1 + 2 * size * 1.8**self.group
        return 1 + 2 * size * (self.method == "sdgs" or self.kind != "trial")


@dataclass(frozen=True)
class Protocol:
    """Data sets, methods, seeds, and how parameters are chosen.

    The first rule is the paper's: among the parameter groups take the one that does best on the training samples. The
    second is stricter: ``folds``-fold cross-validation on the training samples, or, where there are more than
    ``most_rows`` of them, one of these folds on a random ``most_rows``.

    With ``beyond`` SDGS as this library does it is compared with other methods at their best as well, on clean and on
    dirty data, with the seeds ``beyond_seeds``.
    """

    datasets: tuple[str, ...] = tuple(REGISTRY)
    methods: tuple[str, ...] = ("br", "mlknn", "mddm", "sdgs")
    seeds: tuple[int, ...] = (0,)
    folds: int = 3
    most_rows: int = 10_000
    beyond: bool = False
    beyond_seeds: tuple[int, ...] = (0, 1, 2)
    groups: Mapping[str, tuple[dict[str, Any], ...]] = field(
        default_factory=lambda: {name: method.groups for name, method in METHODS.items()}
    )

    def __post_init__(self) -> None:
        for name, values in (("datasets", self.datasets), ("methods", self.methods), ("seeds", self.seeds)):
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name} must hold at least one value, and none twice; got {values!r}.")
        if any(not 0 <= seed <= _MOST_SEED for seed in self.seeds):
            raise ValueError(f"seeds must be whole numbers from 0 to {_MOST_SEED}, got {self.seeds!r}.")
        for made in (PLANTED, DIGITS):
            if made in self.datasets:
                raise ValueError(f"{made!r} is the name of a made problem. Rename your data set.")
        for method in self.methods:
            check_choice(method, "method", tuple(METHODS))
        object.__setattr__(self, "methods", tuple(m for m in METHODS if m in self.methods or m == "floor"))

    def tasks(self) -> list[Task]:
        """All of them, the longest first."""
        trials = [
            Task("trial", dataset, method, group, seed)
            for dataset in self.datasets
            for method in self.methods
            for group in range(len(self.groups[method]))
            for seed in self.seeds
        ]
        studies = [Task("statistics", dataset) for dataset in self.datasets]
        if "sdgs" in self.methods:
            studies += [Task("frequency", dataset) for dataset in self.datasets]
            studies += [Task("convergence", name) for name in (PLANTED, *self._smallest())]
        cases = beyond_cases(self.datasets) if self.beyond else []
        beyond = [
            Task("beyond", dataset, method, seed=seed, damage=damage)
            for dataset, damage, method in cases
            for seed in self.beyond_seeds
        ]
        return sorted(trials + studies + beyond, key=lambda task: -task.cost)

    def _smallest(self) -> list[str]:
        """The one of the paper's data sets here on which exact SVDs are the quickest."""
        registered = [REGISTRY[name] for name in self.datasets if name in REGISTRY]
        return [entry.name for entry in sorted(registered, key=lambda entry: entry.n_train * entry.n_features)[:1]]

    def parameters(self, task: Task) -> dict[str, Any]:
        """What the task's method is given."""
        return self.groups[task.method][task.group] if task.kind == "trial" else {}

    def fingerprint(self, task: Task) -> str:
        """Of all that the result depends on but the data: a record with another one is not reused."""
        what = {"task": asdict(replace(task, group=0)), "parameters": self.parameters(task), "folds": self.folds}
        more = {"most_rows": self.most_rows, "version": __version__, "schema": _SCHEMA}
        return hashlib.sha256(json.dumps(what | more, sort_keys=True).encode()).hexdigest()[:16]
