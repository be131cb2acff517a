"""Hierarchical binary relevance: binary relevance along a given tree of labels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs.methods._base_learners import Array, ProblemTransformation
from sdgs.methods._target_tree import TREE_FIELD, Parents, check_tree, close_upward, fit_tree, top_down
from sdgs.persistence.codecs._stored_fields import Fields


class HierarchicalRelevance(ProblemTransformation):
    r"""Binary relevance along a given hierarchy of labels (Cesa-Bianchi, Gentile and Zaniboni, 2006).

    A label is learnt among the samples that have its parent, and predicted only where its parent is. So predictions
    are closed upward: with a label all labels above it are predicted. The probability of label j is the product along
    its path,

    .. math:: P(y_j = 1 \mid x) = P(y_j = 1 \mid y_{pa(j)} = 1, x) \, P(y_{pa(j)} = 1 \mid x)

    Use it if the labels form a tree or a forest, as topics and functions of genes do. Without a hierarchy it is binary
    relevance.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The binary base learner; None for :class:`~sklearn.linear_model.LogisticRegression` with ``max_iter=1000``.
        Without ``predict_proba`` the logistic function of its ``decision_function`` is taken for a probability.
    hierarchy : sequence of k int, dict or None, default=None
        The parent of each label, in one of these forms:

        - a sequence with the index of each label's parent, -1 for labels at the top, as
          :func:`sdgs.datasets.read_label_hierarchy` returns for Mulan's files;
        - a dict from labels to their parents; labels that it does not have are at the top;
        - a nested dict, ``{"animal": {"cat": {}, "dog": {}}, "plant": {}}``.

        Labels of a dict are the names of the target's columns, or the indices of columns without names.
    random_state : int, RandomState instance or None, default=None
        Sets the ``random_state`` of the base learners; with None that stays as it is.
    n_jobs : int or None, default=None
        Labels that are fitted, and predicted, at the same time.

    Attributes
    ----------
    parents_ : ndarray of shape (k,)
        The index of each label's parent; -1 for labels at the top.
    estimators_ : list of classifiers
        One per label; None for a label that is constant among the samples with its parent.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    k base fits, which below the top have the samples of one label only. Training samples are closed upward first: a
    sample with a label gets all labels above it.

    Labels may be unobserved (NaN in ``y``). A label is learnt from the samples that are known to have its parent and in
    which it is observed. A parent is known where a label below it is: then it is not unobserved, and not absent.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sdgs.methods import HierarchicalRelevance
    >>> X = np.array([[3.0, 2], [3, -2], [-3, 2], [-3, -2], [2, 2], [2, -2]])
    >>> Y = pd.DataFrame({"animal": X[:, 0] > 0, "cat": X.min(axis=1) > 0, "dog": X[:, 0] > X[:, 1] + 2}).astype(int)
    >>> model = HierarchicalRelevance(hierarchy={"animal": {"cat": {}, "dog": {}}}).fit(X, Y)
    >>> model.predict([[3, 3], [-3, -3]]).to_numpy()
    array([[1, 1, 0],
           [0, 0, 0]])
    """

    _accepts_unobserved_labels = True
    _stored_attributes: ClassVar[Fields] = {"_tree": TREE_FIELD}

    def __init__(
        self, estimator: Any = None, *, hierarchy: Any = None, random_state: Any = None, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.hierarchy = hierarchy
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        self.parents_ = parents_of(self.hierarchy, list(self.classes_))
        Y = close_upward(labels.toarray(), self.parents_)
        seeds = self._draw_seeds(rng, Y.shape[1])
        self._tree = fit_tree(self.estimator, X, Y, self.parents_, seeds, self.n_jobs, sample_weight)
        self.estimators_ = [learner.estimator for learner in self._tree.learners]

    def _finish_loading(self) -> None:
        check_tree(self._tree, self.n_features_in_, len(self.classes_))
        self.parents_ = self._tree.parents
        self.estimators_ = [learner.estimator for learner in self._tree.learners]

    def _marginals(self, X: Any) -> Array:
        return self._tree.probabilities(X, self.n_jobs)

    def _best_sets(self, X: Any) -> NDArray[np.bool_]:
        return self._tree.labels(X, self.n_jobs)


def parents_of(hierarchy: Any, names: list[Any]) -> Parents:
    """The parents of the labels with these names, from any of the forms of a hierarchy."""
    k = len(names)
    if hierarchy is None:
        return np.full(k, -1)
    if isinstance(hierarchy, Mapping):
        parents = _parents_by_name(hierarchy, {name: index for index, name in enumerate(names)})
    elif isinstance(hierarchy, Sequence | np.ndarray) and not isinstance(hierarchy, str):
        parents = _parents_by_index(list(hierarchy), k)
    else:
        raise ValueError(f"hierarchy must be None, a dict or the parents of the labels, got {hierarchy!r}.")
    try:
        top_down(parents)
    except ValueError as error:
        raise ValueError(f"hierarchy has a cycle: label {names[error.args[0]]!r} is below itself.") from None
    return parents


def _parents_by_index(indices: list[Any], k: int) -> Parents:
    if len(indices) != k:
        raise ValueError(f"hierarchy must have one parent for each of the {k} labels, got {len(indices)}.")
    for label, parent in enumerate(indices):
        if not isinstance(parent, int | np.integer) or isinstance(parent, bool) or not -1 <= parent < k:
            raise ValueError(
                f"hierarchy must have the index of each label's parent, or -1 for none; got {parent!r} for label "
                f"{label}."
            )
    return np.array(indices, dtype=np.intp)


def _parents_by_name(hierarchy: Mapping[Any, Any], index_of: Mapping[Any, int]) -> Parents:
    parents = np.full(len(index_of), -1)
    seen = set()
    is_nested = any(isinstance(value, Mapping) for value in hierarchy.values())
    for label, parent in _nested_pairs(hierarchy, None) if is_nested else hierarchy.items():
        for name in (label, parent):
            if name is not None and name not in index_of:
                raise ValueError(f"hierarchy has {name!r}, which is not a label. Labels are {_some(index_of)}.")
        if label in seen:
            raise ValueError(f"hierarchy has label {label!r} more than once.")
        seen.add(label)
        parents[index_of[label]] = -1 if parent is None else index_of[parent]
    return parents


def _nested_pairs(hierarchy: Mapping[Any, Any], parent: Any) -> Iterator[tuple[Any, Any]]:
    for label, children in hierarchy.items():
        if children is not None and not isinstance(children, Mapping):
            raise ValueError(
                f"hierarchy is a nested dict, but {label!r} has {children!r} below it. Give a dict, empty for none."
            )
        yield label, parent
        yield from _nested_pairs(children or {}, label)


def _some(names: Mapping[Any, int]) -> str:
    return ", ".join(map(repr, list(names)[:6])) + (", ..." if len(names) > 6 else "")
