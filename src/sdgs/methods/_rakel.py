"""RAkEL: label powersets of small random label sets."""

from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from sdgs._utils._validation import check_choice, check_int
from sdgs.methods._base_learners import Array, ProblemTransformation, in_threads
from sdgs.methods._label_powerset import POWERSET_FIELD, FittedPowerset, check_powerset, fit_powerset
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, ListField

AVERAGES = ("votes", "marginals")
_MAX_ENUMERATED = 1 << 16  # labelsets among which some are drawn by listing all


def disjoint_labelsets(k: int, size: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """A random partition of the labels into sets of ``size``; the last may be smaller."""
    order = rng.permutation(k)
    return [np.sort(order[start : start + size]) for start in range(0, k, size)]


def overlapping_labelsets(k: int, size: int, number: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """``number`` different random sets of ``size`` labels that cover all k labels; at least ceil(k / size) are needed.

    The first form a random partition, the last of them filled up with other labels. The others are drawn uniformly.
    """
    partition = disjoint_labelsets(k, size, rng)
    missing = size - partition[-1].size
    if missing:
        others = rng.permutation(np.setdiff1d(np.arange(k), partition[-1]))[:missing]
        partition[-1] = np.sort(np.concatenate([partition[-1], others]))
    drawn = {tuple(labels.tolist()) for labels in partition}
    labelsets = list(partition)
    if comb(k, size) <= max(_MAX_ENUMERATED, 2 * number):
        remaining = [labels for labels in combinations(range(k), size) if labels not in drawn]
        chosen = rng.permutation(len(remaining))[: number - len(labelsets)]
        return labelsets + [np.array(remaining[i]) for i in chosen]
    while len(labelsets) < number:
        labels = np.sort(rng.choice(k, size, replace=False))
        if tuple(labels.tolist()) not in drawn:
            drawn.add(tuple(labels.tolist()))
            labelsets.append(labels)
    return labelsets


def _averages_marginals(model: Any) -> bool:
    if model.average != "marginals":
        raise AttributeError('predict_proba needs average="marginals".')
    return True


class RAkEL(ProblemTransformation):
    r"""Random k-labelsets: label powersets of small random sets of labels (Tsoumakas, Katakis and Vlahavas, 2011).

    Each of M label powersets predicts labels :math:`h_i(x)` among those of one small set :math:`R_i`. Label j is
    predicted if more than half of the powersets of sets that contain it predict it:

    .. math:: f_j(x) = \frac{|\{i : j \in R_i,\ j \in h_i(x)\}|}{|\{i : j \in R_i\}|} > \frac{1}{2}

    Use it where labels depend on each other, but too many label sets occur for :class:`LabelPowerset`. With all labels
    in one set it is label powerset, with one label per set binary relevance.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The multi-class base learner; None for :class:`~sklearn.linear_model.LogisticRegression` with ``max_iter=1000``.
        Without ``predict_proba`` the softmax of its ``decision_function`` is taken for probabilities, or the logistic
        function for two classes.
    labelset_size : int, default=3
        Labels in each set, at most k; the k of the method's name.
    n_labelsets : int or "auto", default="auto"
        Overlapping sets, all different. "auto" is 2k, or all sets of that size if there are fewer. Every label is in
        at least one of them, for which k / ``labelset_size`` are needed, rounded up.
    disjoint : bool, default=False
        Whether the sets are a random partition of the labels (RAkELd), so that ``n_labelsets`` has no effect.
    average : {"votes", "marginals"}, default="votes"
        What is averaged: predictions of the most probable set, or the probabilities of labels, which rank labels much
        better because they have no ties. Shares of votes are no probabilities, so that ``predict_proba`` is there with
        "marginals" only.
    random_state : int, RandomState instance or None, default=None
        For the sets. Sets the ``random_state`` of the base learners too, unless it is None.
    n_jobs : int or None, default=None
        Label powersets that are fitted, and predict, at the same time.

    Attributes
    ----------
    labelsets_ : list of ndarray
        The labels of each set, as indices of columns.
    estimators_ : list of classifiers
        Fitted to the label sets of each; None where there was one only.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    M base fits with up to :math:`2^l` classes for sets of l labels, and at most one per sample.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import RAkEL
    >>> digits = make_composite_digits(300, max_labels=2, random_state=0)
    >>> model = RAkEL(average="marginals", random_state=0).fit(digits.X / 16, digits.Y)
    >>> len(model.labelsets_)
    20
    """

    _stored_attributes: ClassVar[Fields] = {
        "labelsets_": ListField(ArrayField("i", (None,), below="k", ascending=True), "m"),
        "_powersets": ListField(POWERSET_FIELD, "m"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int = 3,
        n_labelsets: int | str = "auto",
        disjoint: bool = False,
        average: str = "votes",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.labelset_size = labelset_size
        self.n_labelsets = n_labelsets
        self.disjoint = disjoint
        self.average = average
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int(self.labelset_size, "labelset_size", minimum=1)
        if isinstance(self.n_labelsets, str):
            check_choice(self.n_labelsets, "n_labelsets", ("auto",))
        else:
            check_int(self.n_labelsets, "n_labelsets", minimum=1)
        check_choice(self.disjoint, "disjoint", (True, False))
        check_choice(self.average, "average", AVERAGES)

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        Y = labels.toarray()
        self.labelsets_ = self._draw_labelsets(Y.shape[1], rng)
        seeds = self._draw_seeds(rng, len(self.labelsets_))
        arguments = (
            (self.estimator, X, Y[:, labelset], seed, sample_weight)
            for labelset, seed in zip(self.labelsets_, seeds, strict=True)
        )
        self._powersets: list[FittedPowerset] = in_threads(self.n_jobs, fit_powerset, arguments)
        self.estimators_ = [powerset.learner.estimator for powerset in self._powersets]

    def _finish_loading(self) -> None:
        if np.unique(np.concatenate(self.labelsets_)).size != len(self.classes_):
            raise ValueError("the label sets of a RAkEL in it do not cover all labels.")
        for labelset, powerset in zip(self.labelsets_, self._powersets, strict=True):
            check_powerset(powerset, self.n_features_in_, labelset.size)
        self.estimators_ = [powerset.learner.estimator for powerset in self._powersets]

    def _draw_labelsets(self, k: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
        size = min(self.labelset_size, k)
        if self.disjoint:
            return disjoint_labelsets(k, size, rng)
        number = 2 * k if isinstance(self.n_labelsets, str) else self.n_labelsets
        needed = -(-k // size)
        if number < needed:
            raise ValueError(
                f"n_labelsets={number} sets of {size} labels cannot cover {k} labels. Take at least {needed}, or "
                "larger sets."
            )
        return overlapping_labelsets(k, size, min(number, comb(k, size)), rng)

    @available_if(_averages_marginals)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The probability of each label; only with ``average="marginals"``.

        Returns
        -------
        ndarray or DataFrame of shape (n, k)
            As for the other methods: see :meth:`LabelPowerset.predict_proba`.
        """
        return super().predict_proba(X)

    def _marginals(self, X: Any) -> Array:
        predict = FittedPowerset.best_sets if self.average == "votes" else FittedPowerset.marginals
        outputs = in_threads(self.n_jobs, predict, ((powerset, X) for powerset in self._powersets))
        k = len(self.classes_)
        total, count = np.zeros((X.shape[0], k)), np.zeros(k)
        for labelset, output in zip(self.labelsets_, outputs, strict=True):
            total[:, labelset] += output
            count[labelset] += 1
        return total / count
