"""The methods that the paper's introduction names, each with its own decision and with a tuned one.

Their settings are fixed in advance. A method whose estimated work on a data set is too large is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from sdgs import metrics
from sdgs.datasets import REGISTRY
from sdgs.estimators._decision_classifier import DecisionClassifier
from sdgs.methods import (
    HOMER,
    ClassifierChains,
    CompressedLabels,
    CurdsAndWheyCV,
    HierarchicalRelevance,
    LabelPowerset,
    RAkEL,
    ReducedRankRidgeCV,
    SharedSubspaceCV,
    SparseLowRank,
    StackedRelevance,
)

OWN, DECIDED = "own", "decided"  # decisions, in the records
MAX_WORK = 5e8  # samples x nonzero features per sample x labels or label sets x base fits of each
C = 10.0  # of logistic regression, because all samples have unit norm
N_CHAINS = 10


@dataclass(frozen=True)
class Sizes:
    """What the work of a method depends on: sizes of the training samples, and the labels' hierarchy."""

    n: int
    nonzero: float  # features per sample
    k: int
    label_sets: int
    parents: tuple[int, ...]

    @classmethod
    def of(cls, X: Any, Y: NDArray[Any], parents: Sequence[int]) -> "Sizes":
        """The sizes of samples and their labels."""
        n_label_sets = len(np.unique(np.packbits(Y.astype(bool), axis=1), axis=0))
        nonzero = X.nnz / max(X.shape[0], 1) if issparse(X) else X.shape[1]
        return cls(X.shape[0], float(nonzero), Y.shape[1], n_label_sets, tuple(parents))


@dataclass(frozen=True)
class IntroductionMethod:
    """A method, and the base fits that each label takes: 0 for regressions, which have no base learner."""

    title: str
    settings: str
    make: Callable[[Any, int, Sizes], Any]  # from the base learner, a seed and sizes
    base_fits: float = 0.0


INTRODUCTION_METHODS: Mapping[str, IntroductionMethod] = {
    "logistic": IntroductionMethod(
        "BR, logistic regression",
        "for comparison: one base learner per label",
        lambda base, seed, _: HierarchicalRelevance(base, random_state=seed),
        1,
    ),
    "lp": IntroductionMethod(
        "LP", "the most probable label set", lambda base, seed, _: LabelPowerset(base, random_state=seed)
    ),
    "rakel": IntroductionMethod(
        "RAkEL",
        "2k overlapping sets of 3 labels, averaged probabilities",
        lambda base, seed, _: RAkEL(base, average="marginals", random_state=seed),
        16,  # 2 sets of at most 8 classes
    ),
    "cc": IntroductionMethod(
        "CC",
        "one chain in the order of the columns, greedy",
        lambda base, seed, _: ClassifierChains(base, random_state=seed),
        1,
    ),
    "ecc": IntroductionMethod(
        "ensemble of CC",
        f"{N_CHAINS} chains in random orders, on bootstrap samples, averaged probabilities",
        lambda base, seed, _: ClassifierChains(base, n_chains=N_CHAINS, random_state=seed),
        N_CHAINS,
    ),
    "homer": IntroductionMethod(
        "HOMER",
        "balanced clusters, branching factor 3",
        lambda base, seed, _: HOMER(base, random_state=seed),
        2,
    ),
    "hbr": IntroductionMethod(
        "HBR",
        "along the hierarchy in the XML file",
        lambda base, seed, sizes: HierarchicalRelevance(base, hierarchy=list(sizes.parents), random_state=seed),
        1,
    ),
    "stacked": IntroductionMethod(
        "stacked BR",
        "10 folds, second stage from probabilities alone",
        lambda base, seed, _: StackedRelevance(base, random_state=seed),
        12,
    ),
    "curds": IntroductionMethod(
        "curds and whey",
        "ridge penalty by cross-validation",
        lambda _, seed, __: CurdsAndWheyCV(random_state=seed),
    ),
    "sparse-low-rank": IntroductionMethod(
        "sparse + low rank", "the defaults of SparseLowRank", lambda *_: SparseLowRank()
    ),
    "shared": IntroductionMethod(
        "shared subspace",
        "rank and penalties by cross-validation",
        lambda _, seed, __: SharedSubspaceCV(random_state=seed),
    ),
    "reduced-rank": IntroductionMethod(
        "reduced-rank ridge",
        "Ji and Ye's least-squares form; rank and penalty by cross-validation",
        lambda _, seed, __: ReducedRankRidgeCV(random_state=seed),
    ),
    "compressed": IntroductionMethod(
        "compressed sensing",
        "Hadamard matrix, orthogonal matching pursuit",
        lambda _, seed, __: CompressedLabels(random_state=seed),
    ),
}


def left_out(method: str, sizes: Sizes) -> str:
    """Why a method is not measured, as the end of a sentence; empty if it is."""
    if method == "hbr" and max(sizes.parents, default=-1) < 0:
        return "the labels have no hierarchy in the XML file"
    if method == "lp":
        work, reason = float(sizes.label_sets), f"{sizes.label_sets:,} label sets of {sizes.n:,} samples"
    else:
        work = sizes.k * INTRODUCTION_METHODS[method].base_fits
        reason = f"{sizes.k:,} labels of {sizes.n:,} samples with {sizes.nonzero:,.0f} nonzero features each"
    return reason if work * sizes.n * sizes.nonzero > MAX_WORK else ""


def measure_introduction_method(
    method: str, data: tuple[Any, NDArray[Any], Any, NDArray[Any]], parents: Sequence[int], seed: int, clock: Any
) -> dict[str, Any]:
    """Test scores of a method with its own and with the tuned decision, and times; or why it is left out."""
    X, Y, X_test, Y_test = data
    sizes = Sizes.of(X, Y, parents)
    reason = left_out(method, sizes)
    if reason:
        return {"left_out": reason}
    base = LogisticRegression(C=C, max_iter=1000)
    model = DecisionClassifier(INTRODUCTION_METHODS[method].make(base, seed, sizes), random_state=seed)
    with clock() as fit:
        model.fit(X, Y)
    # Classifiers of this package are fitted to all labels, so this is the method itself, fitted to all samples.
    predicted = {OWN: model.estimator_.predict(X_test), DECIDED: model.predict(X_test)}
    scores = {decision: metrics.evaluate(Y_test, labels) for decision, labels in predicted.items()}
    return {"left_out": "", "test_by_decision": scores, "seconds": {"fit": fit}}


def introduction_file(dataset: str, method: str, seed: int) -> str:
    """Path of the record, relative to the folder of records."""
    return f"introduction/{dataset}--{method}--seed{seed}.json"


def introduction_cost(dataset: str, method: str) -> float:
    """Rough estimate of the time from the registered sizes, in the unit of ``ExperimentTask.cost``."""
    entry = REGISTRY.get(dataset)
    n, p, k = (entry.n_train, entry.n_features, entry.n_labels) if entry else (1000, 100, 10)
    fits = {"lp": 20.0, "sparse-low-rank": 20.0}.get(method, 1 + INTRODUCTION_METHODS[method].base_fits)
    return 2 + 40 * fits * n * min(p, 150) * k / 1e8
