"""Trees of binary targets: each is learnt among the samples that have its parent, and predicted where that is.

The targets are labels of a given hierarchy (:class:`HierarchicalRelevance`), or labels below groups (:class:`HOMER`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.methods._base_learners import (
    LEARNER_FIELD,
    Array,
    FittedLearner,
    check_learner,
    fit_learner,
    in_threads,
    positive_probabilities,
    rows_of,
)
from sdgs.persistence.codecs._stored_fields import ArrayField, ListField, RecordField

Parents = NDArray[np.intp]  # the parent of each target, -1 for those at the top


@dataclass(frozen=True, eq=False)
class FittedTree:
    """Learners of the t targets, given their parents."""

    parents: Parents
    learners: Sequence[FittedLearner]

    def probabilities(self, X: Any, n_jobs: int | None) -> Array:
        """The product of the probabilities on the path from the top, (n, t): never larger than that of the parent."""
        P = positive_probabilities(list(self.learners), X, n_jobs)
        for target in top_down(self.parents):
            if self.parents[target] >= 0:
                P[:, target] *= P[:, self.parents[target]]
        return P

    def labels(self, X: Any, n_jobs: int | None) -> NDArray[np.bool_]:
        """Targets with a probability above one half, given their parents, all of which are predicted too, (n, t)."""
        labels = np.zeros((X.shape[0], len(self.learners)), dtype=bool)
        for parent in [-1, *top_down(self.parents)]:
            children = np.flatnonzero(self.parents == parent)
            rows = np.flatnonzero(labels[:, parent]) if parent >= 0 else np.arange(X.shape[0])
            if rows.size and children.size:
                P = positive_probabilities([self.learners[int(child)] for child in children], rows_of(X, rows), n_jobs)
                labels[np.ix_(rows, children)] = P > 0.5
        return labels


TREE_FIELD = RecordField(
    FittedTree, {"parents": ArrayField("i", ("targets",), low=-1), "learners": ListField(LEARNER_FIELD, "targets")}
)


def check_tree(tree: FittedTree, n_features: int, n_targets: int) -> None:
    """Raise an error if a tree from a file is not one of so many features and targets."""
    if tree.parents.size != n_targets or tree.parents.max(initial=-1) >= n_targets:
        raise ValueError(f"the tree of targets in it is not one of {n_targets} targets.")
    try:
        top_down(tree.parents)
    except ValueError:
        raise ValueError("the tree of targets in it has a cycle.") from None
    for learner in tree.learners:
        check_learner(learner, n_features)


def fit_tree(
    estimator: Any,
    X: Any,
    Y: NDArray[Any],
    parents: Parents,
    seeds: Sequence[int | None],
    n_jobs: int | None,
    sample_weight: Any = None,
) -> FittedTree:
    """Fit one learner per column of Y (n, t), where samples with a target have its parent too.

    Targets may be unobserved (NaN): one is learnt from the samples that are known to have its parent and in which it is
    observed itself.
    """

    def fit_target(target: int, seed: int | None) -> FittedLearner:
        parent = parents[target]
        rows = np.flatnonzero(Y[:, parent] == 1) if parent >= 0 else np.arange(len(Y))
        weight = None if sample_weight is None else sample_weight[rows]
        return fit_learner(estimator, rows_of(X, rows), Y[rows, target], seed=seed, sample_weight=weight)

    return FittedTree(parents, in_threads(n_jobs, fit_target, enumerate(seeds)))


def top_down(parents: Parents) -> list[int]:
    """All targets, each after its parent; raises a ValueError with a target on a cycle."""
    depth = np.full(parents.size, -1)
    for target in range(parents.size):
        path: list[int] = []
        node = target
        while node >= 0 and depth[node] < 0:
            if len(path) > parents.size:
                raise ValueError(target)
            path.append(node)
            node = int(parents[node])
        for above, each in enumerate(reversed(path), start=1 + (int(depth[node]) if node >= 0 else -1)):
            depth[each] = above
    return [int(target) for target in np.argsort(depth, kind="stable")]


def close_upward(Y: NDArray[Any], parents: Parents) -> NDArray[Any]:
    """A copy of the labels in which samples have the parents of their labels too; labels may be unobserved (NaN)."""
    Y = Y.copy()
    for target in reversed(top_down(parents)):
        if parents[target] >= 0:
            Y[Y[:, target] == 1, parents[target]] = True
    return Y
