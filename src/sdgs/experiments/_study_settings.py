"""The methods of a published study with the study's own settings, as far as this library has them.

They are those of the study's code, which runs MEKA, Mulan and scikit-multilearn. Its scores have peculiarities that
decide the order of methods, and are imitated here:

- probabilities of a support vector machine come from its scores of the samples that it was fitted to;
- chains, label powerset and ensembles give 0, 1 or votes; RAkEL's votes are not divided by the number of sets that
  contain a label;
- MBR's second stage learns from the features and from such probabilities of the first one;
- HOMER has label powersets in its nodes. A label has the share of votes x of the most frequent set if it is in it, 0
  if it is not, and 1 - x if it is below a group that is not;
- in ML-kNN a training sample is one of its own neighbours;
- among the thresholds 0.0015, 0.0515, ... the one is used with which predictions have about as many labels as
  samples. The study counts those of the samples to be predicted, and here those of training samples.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sdgs.methods import ClassifierChains, LabelPowerset, RAkEL
from sdgs.methods._homer import group_labels
from sdgs.methods._label_powerset import FittedPowerset, fit_powerset
from sdgs.methods._target_tree import top_down
from sdgs.selection._defaults import MAX_KMEANS_ITERATIONS

Array = NDArray[np.floating[Any]]
Settings = Mapping[str, Any]

# Part of the study's grids: it has all C = 2^-5, 2^-3, ..., 2^13 and gamma = 2^-15, 2^-13, ..., 2^1.
COSTS = (2.0**-1, 2.0**3, 2.0**7)
GAMMAS = (2.0**-11, 2.0**-7, 2.0**-3, 2.0**1)
NEIGHBOURS = tuple({"n_neighbors": K} for K in (6, 10, 14, 20))
TUNED_LIKE = {"CC": "BR", "MBR": "BR", "RAkEL": "LP", "HOMER": "LP"}  # which the study tunes separately
BRANCHING_FACTOR = 2  # of HOMER; with more, labels below groups that are not predicted have the highest scores
LABELSET_SIZE = 3
MAX_LABELSETS = 100  # of RAkEL, which has two for each label if that is less
MAX_TUNING_SAMPLES = 500
THRESHOLDS = np.arange(0.0015, 1.0, 0.05)
RIDGE = 1e-8  # of the logistic regression that calibrates


class CalibratedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector machine whose scores of its own training samples are calibrated by logistic regression."""

    def __init__(self, C: float = 1.0, gamma: float = 1.0, kernel: str = "rbf") -> None:
        self.C = C
        self.gamma = gamma
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Fit machine and calibration."""
        self.machine_ = SVC(C=self.C, gamma=self.gamma, kernel=self.kernel).fit(X, y)
        calibration = LogisticRegression(C=1 / (2 * RIDGE), solver="newton-cholesky", tol=1e-8, max_iter=100)
        self.calibration_ = calibration.fit(self.machine_.decision_function(X)[:, None], y)
        self.classes_ = self.machine_.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """The calibrated probability of both classes."""
        return np.asarray(self.calibration_.predict_proba(self.machine_.decision_function(X)[:, None]))


def fit_predict(
    method: str, X: Any, Y: NDArray[Any], X_test: Any, seed: int, settings: Settings | None = None
) -> NDArray[np.bool_]:
    """The labels of test samples, by a method that has its ``settings``, or is tuned on training samples."""
    scaler = MaxAbsScaler() if issparse(X) else MinMaxScaler()
    X, X_test = scaler.fit_transform(X), scaler.transform(X_test)
    if settings is None:
        settings = tune(TUNED_LIKE.get(method, method), X, Y, seed)
    return decide(method_scores(method, settings, X, Y, X_test, seed), Y)


def tune(method: str, X: Any, Y: NDArray[Any], seed: int) -> Settings:
    """The settings with the smallest Hamming loss in three folds of at most 500 training samples."""
    if method == "ECC":
        return {}
    machines = tuple({"C": C, "gamma": gamma} for C, gamma in product(COSTS, GAMMAS))
    candidates: tuple[Settings, ...] = NEIGHBOURS if method == "ML-kNN" else machines
    rows = np.random.default_rng(seed).permutation(Y.shape[0])[:MAX_TUNING_SAMPLES]
    X, Y = X[rows], Y[rows]
    losses = np.zeros(len(candidates))
    for train, test in KFold(3).split(Y):
        for c, settings in enumerate(candidates):
            scores = method_scores(method, settings, X[train], Y[train], X[test], seed)
            losses[c] += np.mean(decide(scores, Y[train]) != Y[test])
    return candidates[int(losses.argmin())]


def decide(scores: Array, Y: NDArray[Any]) -> NDArray[np.bool_]:
    """The labels above the threshold with which about as many are predicted as training samples have."""
    shares = np.array([np.mean(scores > threshold) for threshold in THRESHOLDS])
    return np.asarray(scores > THRESHOLDS[np.abs(shares - Y.mean()).argmin()])


def method_scores(method: str, settings: Settings, X: Any, Y: NDArray[Any], X_test: Any, seed: int) -> Array:
    """The scores of the labels of test samples, (n, k)."""
    if method == "ML-kNN":
        return own_neighbour_scores(X, Y, X_test, settings["n_neighbors"])
    if method == "ECC":
        X, X_test = (A.toarray() if issparse(A) else A for A in (X, X_test))
        tree = DecisionTreeClassifier(min_samples_leaf=2)
        return np.asarray(ClassifierChains(tree, n_chains=10, random_state=seed).fit(X, Y).predict_proba(X_test))
    C, gamma = settings["C"], settings["gamma"]
    if method == "CC":
        chain = ClassifierChains(CalibratedSVC(C, gamma), order="random", random_state=seed)
        return np.asarray(chain.fit(X, Y).predict(X_test), dtype=np.float64)
    kernel, kernel_test = rbf_kernel(X, gamma=gamma), rbf_kernel(X_test, X, gamma=gamma)  # once for all labels
    calibrated, machine = CalibratedSVC(C, kernel="precomputed"), SVC(C=C, kernel="precomputed")
    if method in ("BR", "MBR"):
        first = OneVsRestClassifier(calibrated).fit(kernel, Y)
        P_test = first.predict_proba(kernel_test)
        if method == "BR":
            return np.asarray(P_test)
        P = first.predict_proba(kernel)  # further features, which multiply the kernel
        second = OneVsRestClassifier(calibrated).fit(kernel * rbf_kernel(P, gamma=gamma), Y)
        return np.asarray(second.predict_proba(kernel_test * rbf_kernel(P_test, P, gamma=gamma)))
    if method == "LP":
        return np.asarray(LabelPowerset(machine).fit(kernel, Y).predict(kernel_test), dtype=np.float64)
    if method == "RAkEL":
        number = min(2 * Y.shape[1], MAX_LABELSETS)
        rakel = RAkEL(machine, labelset_size=LABELSET_SIZE, n_labelsets=number, random_state=seed).fit(kernel, Y)
        votes = rakel.decision_function(kernel_test) * np.bincount(np.concatenate(rakel.labelsets_))
        return np.asarray(votes / max(votes.max(), 1))
    branching_factor = settings.get("branching_factor", BRANCHING_FACTOR)
    return homer_scores(machine, branching_factor, kernel, Y, kernel_test, seed)


def own_neighbour_scores(X: Any, Y: NDArray[Any], X_test: Any, n_neighbors: int) -> Array:
    """ML-kNN's posterior probabilities, with training samples among their own neighbours."""
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
    count, count_test = ((search.kneighbors_graph(A) @ Y).astype(np.int64) for A in (X, X_test))
    prior = (1 + Y.sum(axis=0)) / (2 + len(Y))
    joint = []
    for value, share in ((0, 1 - prior), (1, prior)):
        frequency = np.array([((count == c) & (value == Y)).sum(axis=0) for c in range(n_neighbors + 1)])
        likelihood = (1 + frequency) / (n_neighbors + 1 + frequency.sum(axis=0))
        joint.append(share * np.take_along_axis(likelihood, count_test, axis=0))
    return np.asarray(joint[1] / (joint[0] + joint[1]))


def homer_scores(
    machine: SVC, branching_factor: int, kernel: Array, Y: NDArray[Any], kernel_test: Array, seed: int
) -> Array:
    """Scores of HOMER with label powersets in its nodes, as Mulan computes them."""
    k, rng = Y.shape[1], np.random.default_rng(seed)
    groups, parents = group_labels(Y.astype(bool), branching_factor, MAX_KMEANS_ITERATIONS, rng)
    targets = np.column_stack([Y.astype(bool), *(Y[:, group].any(axis=1) for group in groups)])
    scores, present = np.zeros((len(kernel_test), k)), np.zeros((len(kernel_test), targets.shape[1]), dtype=bool)
    for parent in [-1, *top_down(parents)]:
        children = np.flatnonzero(parents == parent)
        rows = np.flatnonzero(targets[:, parent]) if parent >= 0 else np.arange(len(Y))
        reached = np.flatnonzero(present[:, parent]) if parent >= 0 else np.arange(len(kernel_test))
        if not children.size or not reached.size:
            continue
        powerset = fit_powerset(machine, kernel[np.ix_(rows, rows)], targets[np.ix_(rows, children)], None)
        best, share = best_sets(powerset, kernel_test[np.ix_(reached, rows)])
        present[np.ix_(reached, children)] = best
        for child, predicted in zip(children, best.T, strict=True):
            if child < k:
                scores[reached, child] = predicted * share
            else:
                scores[np.ix_(reached[~predicted], groups[child - k])] = 1 - share[~predicted, None]
    return scores


def best_sets(powerset: FittedPowerset, X: Any) -> tuple[NDArray[np.bool_], Array]:
    """For each sample the set with most votes of pairs of sets, and its share of the votes."""
    m = len(powerset.sets)
    if m <= 2:
        return powerset.best_sets(X), np.ones(len(X))
    votes = powerset.learner.estimator.decision_function(X)  # with less than one half added, which decides ties
    return powerset.sets[votes.argmax(axis=1)], np.round(votes.max(axis=1)) / (m * (m - 1) / 2)
