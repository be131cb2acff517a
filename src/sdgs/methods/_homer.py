"""HOMER: a hierarchy of groups of labels that occur together."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int
from sdgs.methods._base_learners import Array, ProblemTransformation
from sdgs.methods._target_tree import TREE_FIELD, Parents, check_tree, fit_tree
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, ListField
from sdgs.selection._defaults import MAX_KMEANS_ITERATIONS

CLUSTERINGS = ("balanced", "random")


class HOMER(ProblemTransformation):
    r"""Hierarchy of multi-label classifiers (Tsoumakas, Katakis and Vlahavas, 2008).

    The labels are split into ``branching_factor`` groups of about the same size, these again, and so on, down to groups
    of at most ``branching_factor`` labels. A sample has a group if it has any of its labels. Each group or label is
    learnt among the samples that have the group above it, and predicted only where that is. Its probability is the
    product along the path from the top:

    .. math:: P(y_j = 1 \mid x) = \prod_{g \ni j} P(g \mid \mathrm{parent}(g), x)

    Use it for many labels, of which samples have few: a sample is only seen by the learners of the groups that it has.
    With at most ``branching_factor`` labels it is binary relevance.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The binary base learner; None for :class:`~sklearn.linear_model.LogisticRegression` with ``max_iter=1000``.
        Without ``predict_proba`` the logistic function of its ``decision_function`` is taken for a probability.
    branching_factor : int, default=3
        Groups that a group is split into; the literature has 2 to 8.
    clustering : {"balanced", "random"}, default="balanced"
        Balanced k-means, which puts labels that the same samples have into one group, or random groups.
    random_state : int, RandomState instance or None, default=None
        For the groups. Sets the ``random_state`` of the base learners too, unless it is None.
    n_jobs : int or None, default=None
        Groups and labels that are fitted, and predicted, at the same time.

    Attributes
    ----------
    groups_ : list of ndarray
        The labels of each group, as indices of columns; g groups.
    parents_ : ndarray of shape (k + g,)
        For each label and then each group the group above it, as k + its index in ``groups_``; -1 at the top.
    estimators_ : list of classifiers
        The classifiers of the labels, then those of the groups; None where there is nothing to learn.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    k + g base fits with g < k, of which those below the top have the samples of one group. ``predict`` evaluates the
    learners below a group only for the samples that it is predicted for.

    Examples
    --------
    >>> from sdgs.datasets import make_label_subspaces
    >>> from sdgs.methods import HOMER
    >>> data = make_label_subspaces(200, 10, 8, random_state=0)
    >>> [len(group) for group in HOMER(random_state=0).fit(data.X, data.Y).groups_]
    [3, 3, 2]
    """

    _stored_attributes: ClassVar[Fields] = {
        "groups_": ListField(ArrayField("i", (None,), below="k")),
        "_tree": TREE_FIELD,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        branching_factor: int = 3,
        clustering: str = "balanced",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.branching_factor = branching_factor
        self.clustering = clustering
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int(self.branching_factor, "branching_factor", minimum=2)
        check_choice(self.clustering, "clustering", CLUSTERINGS)

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        Y = labels.toarray()
        max_iter = MAX_KMEANS_ITERATIONS if self.clustering == "balanced" else 0
        self.groups_, self.parents_ = group_labels(Y, self.branching_factor, max_iter, rng, sample_weight)
        targets = np.column_stack([Y, *(Y[:, group].any(axis=1) for group in self.groups_)])
        seeds = self._draw_seeds(rng, targets.shape[1])
        self._tree = fit_tree(self.estimator, X, targets, self.parents_, seeds, self.n_jobs, sample_weight)
        self.estimators_ = [learner.estimator for learner in self._tree.learners]

    def _finish_loading(self) -> None:
        check_tree(self._tree, self.n_features_in_, len(self.classes_) + len(self.groups_))
        self.parents_ = self._tree.parents
        self.estimators_ = [learner.estimator for learner in self._tree.learners]

    def _marginals(self, X: Any) -> Array:
        return self._tree.probabilities(X, self.n_jobs)[:, : len(self.classes_)]

    def _best_sets(self, X: Any) -> NDArray[np.bool_]:
        return self._tree.labels(X, self.n_jobs)[:, : len(self.classes_)]


def group_labels(
    Y: NDArray[np.bool_], n_clusters: int, max_iter: int, rng: np.random.Generator, sample_weight: Any = None
) -> tuple[list[NDArray[np.intp]], Parents]:
    """The groups of labels, and the group above each label and then each group: see ``groups_`` and ``parents_``."""
    k = Y.shape[1]
    groups: list[NDArray[np.intp]] = []
    above = np.full(k, -1)  # of each label
    above_group: list[int] = []
    open_groups = [(np.arange(k), -1)]
    while open_groups:
        labels, group = open_groups.pop(0)
        if labels.size <= n_clusters:
            above[labels] = group
            continue
        rows = Y[:, labels].any(axis=1)
        weight = None if sample_weight is None else sample_weight[rows]
        for cluster in balanced_clusters(Y[rows][:, labels].T, n_clusters, max_iter, rng, weight):
            if cluster.size == 1:
                above[labels[cluster]] = group
                continue
            open_groups.append((labels[cluster], k + len(groups)))
            groups.append(labels[cluster])
            above_group.append(group)
    return groups, np.concatenate([above, np.array(above_group, dtype=np.intp)])


def balanced_clusters(
    V: NDArray[np.bool_], n_clusters: int, max_iter: int, rng: np.random.Generator, weight: Any = None
) -> list[NDArray[np.intp]]:
    """Cluster the rows of V by k-means with at most ceil(rows / n_clusters) in each; at random without iterations.

    Columns may have weights in the squared distances.
    """
    order = rng.permutation(len(V))
    capacity = -(-len(V) // n_clusters)
    assigned = np.empty(len(V), dtype=np.intp)
    assigned[order] = np.arange(len(V)) % n_clusters
    if max_iter and V.any():
        V = V.astype(np.float64)
        distinct = np.sort(np.unique(V[order], axis=0, return_index=True)[1])
        starts = [*distinct, *np.setdiff1d(np.arange(len(V)), distinct)][:n_clusters]
        centres, previous = V[order[starts]], assigned
        for _ in range(max_iter):
            assigned = assign_with_capacity(_squared_distances(V, centres, weight), capacity)
            if (assigned == previous).all():
                break
            previous = assigned
            for cluster in np.unique(assigned):
                centres[cluster] = V[assigned == cluster].mean(axis=0)
    clusters = (np.flatnonzero(assigned == cluster) for cluster in range(n_clusters))
    return [cluster for cluster in clusters if cluster.size]


def _squared_distances(V: NDArray[Any], centres: NDArray[Any], weight: Any) -> NDArray[np.float64]:
    if weight is None:
        return np.asarray((V**2).sum(axis=1)[:, None] - 2 * V @ centres.T + (centres**2).sum(axis=1))
    return np.asarray((V**2 @ weight)[:, None] - 2 * (V * weight) @ centres.T + centres**2 @ weight)


def assign_with_capacity(distances: NDArray[np.float64], capacity: int) -> NDArray[np.intp]:
    """Assign rows to columns at small distances, at most ``capacity`` to each.

    Every row asks for its nearest column. A column with too many gives up the farthest, which asks for its next
    nearest. The result does not depend on the order in which rows ask.
    """
    preferences = np.argsort(distances, axis=1, kind="stable")
    n_asked = np.zeros(len(distances), dtype=np.intp)
    members: list[list[int]] = [[] for _ in range(distances.shape[1])]
    for row in range(len(distances)):
        asking = row
        while True:
            column = int(preferences[asking, n_asked[asking]])
            n_asked[asking] += 1
            members[column].append(asking)
            if len(members[column]) <= capacity:
                break
            asking = max((distances[member, column], member) for member in members[column])[1]
            members[column].remove(asking)
    assigned = np.empty(len(distances), dtype=np.intp)
    for column, rows in enumerate(members):
        assigned[rows] = column
    return assigned
