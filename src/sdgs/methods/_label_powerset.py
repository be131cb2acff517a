"""Label powerset: one class per label set."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_choice, check_int
from sdgs.methods._base_learners import (
    LEARNER_FIELD,
    Array,
    FittedLearner,
    ProblemTransformation,
    check_learner,
    fit_learner,
)
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, RecordField
from sdgs.readout._joint_f1 import best_expected_f1_of_sets

DECISIONS = ("set", "marginals", "f1")
SUBSETS = ("best", "large")
_BLOCK_ENTRIES = 1 << 24  # probabilities of sets that are held at a time


@dataclass(frozen=True, eq=False)
class FittedPowerset:
    """A classifier of label sets: class c is the set ``sets[c]``."""

    learner: FittedLearner
    sets: NDArray[np.bool_]  # (m, k)

    def set_probabilities(self, X: Any) -> Iterator[Array]:
        """The probability of each set, (rows, m), for blocks of successive rows, because there may be many sets."""
        step = max(_BLOCK_ENTRIES // len(self.sets), 1)
        for start in range(0, X.shape[0], step):
            yield self.learner.probabilities(X if step >= X.shape[0] else X[start : start + step])

    def best_sets(self, X: Any) -> NDArray[np.bool_]:
        """The most probable set of each sample, (n, k)."""
        best = np.concatenate([P.argmax(axis=1) for P in self.set_probabilities(X)])
        return np.asarray(self.sets[best])

    def marginals(self, X: Any) -> Array:
        """The probability of each label, (n, k)."""
        marginals = np.concatenate([P @ self.sets for P in self.set_probabilities(X)])
        return np.asarray(np.clip(marginals, 0.0, 1.0))

    def best_expected_f1(self, X: Any) -> NDArray[np.bool_]:
        """The set with the largest expected F1 of each sample, (n, k)."""
        return np.concatenate([best_expected_f1_of_sets(self.sets, P) for P in self.set_probabilities(X)])


POWERSET_FIELD = RecordField(
    FittedPowerset, {"learner": LEARNER_FIELD, "sets": ArrayField("b", ("sets", "labels of sets"))}
)


def check_powerset(powerset: FittedPowerset, n_features: int, n_labels: int) -> None:
    """Raise an error if a powerset from a file is not one of so many features and labels."""
    if powerset.sets.shape[0] == 0 or powerset.sets.shape[1] != n_labels:
        raise ValueError(f"its label sets are not sets of {n_labels} labels.")
    check_learner(powerset.learner, n_features, len(powerset.sets))


def fit_powerset(
    estimator: Any, X: Any, Y: NDArray[np.bool_], seed: int | None, sample_weight: Any = None
) -> FittedPowerset:
    """Fit to the sets that occur among the rows of Y (n, k)."""
    sets, codes = distinct_sets(Y)
    return FittedPowerset(fit_learner(estimator, X, codes, len(sets), seed, sample_weight), sets)


def distinct_sets(Y: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """The distinct rows of Y (n, k), sorted, and the index of each row among them."""
    packed = np.packbits(Y, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return Y[first], codes.ravel()


def prune_sets(
    Y: NDArray[np.bool_], max_count: int, n_subsets: int, subsets: str, sample_weight: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Rows and their label sets without the sets that occur at most ``max_count`` times.

    A row with a rare set comes back once for each of the frequent sets that are part of its own: with ``"best"`` for
    the ``n_subsets`` best ones, larger ones first, then more frequent ones; with ``"large"`` for all that have more
    than ``n_subsets`` labels. The empty set does not come back. Samples with weights count by these.
    """
    sets, codes = distinct_sets(Y)
    counts = np.bincount(codes, sample_weight)
    is_frequent = counts > max_count
    if not is_frequent.any():
        raise ValueError(
            f"prune={max_count} drops all label sets: the most frequent one occurs {counts.max():g} times. Lower prune."
        )
    sizes = sets.sum(axis=1)
    candidates = np.flatnonzero(is_frequent & (sizes > (n_subsets if subsets == "large" else 0)))
    candidates = candidates[np.lexsort((-counts[candidates], -sizes[candidates]))]
    rows, targets = [np.flatnonzero(is_frequent[codes])], [codes[is_frequent[codes]]]
    for rare in np.flatnonzero(~is_frequent):
        parts = candidates[~(sets[candidates] & ~sets[rare]).any(axis=1)]
        parts = parts[:n_subsets] if subsets == "best" else parts
        members = np.flatnonzero(codes == rare)
        rows.append(np.repeat(members, parts.size))
        targets.append(np.tile(parts, members.size))
    return np.concatenate(rows), sets[np.concatenate(targets)]


class LabelPowerset(ProblemTransformation):
    r"""Label powerset: one multi-class problem whose classes are the label sets (Boutell et al., 2004).

    The classes are the m distinct label sets :math:`s_1, ..., s_m` of the training samples, the empty one included.
    A multi-class classifier gives their probabilities :math:`P(s_c \mid x)`, from which labels have the probabilities

    .. math:: P(y_j = 1 \mid x) = \sum_{c:\, j \in s_c} P(s_c \mid x)

    Use it if few label sets occur and each has several samples: dependences between labels are then learnt without
    further assumptions. It never gives probability to a set that does not occur in training.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The multi-class base learner; None for :class:`~sklearn.linear_model.LogisticRegression` with ``max_iter=1000``.
        Without ``predict_proba`` the softmax of its ``decision_function`` is taken for probabilities, or the logistic
        function for two sets.
    decision : {"set", "marginals", "f1"}, default="set"
        The most probable set, which is best for the share of samples whose labels are all right; all labels with a
        probability above one half, best for the Hamming loss; or the set with the largest expected F1 (Dembczynski et
        al., 2011), which need not occur in training.
    prune : int, default=0
        Sets that occur at most this often in training are dropped (pruned sets; Read, Pfahringer and Holmes, 2008); the
        literature has 1 to 3.
    n_subsets : int, default=2
        With ``prune`` each sample with a dropped set is used again for frequent sets that are part of it; see
        ``subsets``. 0 with "best": such samples are not used.
    subsets : {"best", "large"}, default="best"
        Which these are: at most ``n_subsets``, larger ones first, then more frequent ones; or all with more than
        ``n_subsets`` labels.
    random_state : int, RandomState instance or None, default=None
        Sets the ``random_state`` of the base learner; with None that stays as it is.

    Attributes
    ----------
    label_sets_ : ndarray of shape (m, k)
        The distinct label sets.
    estimator_ : classifier or None
        Fitted to their indices; None if there is one set only.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    One base fit with m classes, where m is at most the number of samples. ``decision="f1"`` takes time
    :math:`O(k^2)` per sample and size of sets.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import LabelPowerset
    >>> digits = make_composite_digits(300, max_labels=2, random_state=0)
    >>> model = LabelPowerset(decision="f1").fit(digits.X / 16, digits.Y)
    >>> model.label_sets_.shape
    (55, 10)
    """

    _stored_attributes: ClassVar[Fields] = {"_powerset": POWERSET_FIELD}

    def __init__(
        self,
        estimator: Any = None,
        *,
        decision: str = "set",
        prune: int = 0,
        n_subsets: int = 2,
        subsets: str = "best",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.prune = prune
        self.n_subsets = n_subsets
        self.subsets = subsets
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.decision, "decision", DECISIONS)
        check_int(self.prune, "prune", minimum=0)
        check_int(self.n_subsets, "n_subsets", minimum=0)
        check_choice(self.subsets, "subsets", SUBSETS)

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        Y = labels.toarray()
        if self.prune:
            rows, Y = prune_sets(Y, self.prune, self.n_subsets, self.subsets, sample_weight)
            X, sample_weight = X[rows], None if sample_weight is None else sample_weight[rows]
        self._powerset = fit_powerset(self.estimator, X, Y, self._draw_seeds(rng, 1)[0], sample_weight)
        self._set_attributes()

    def _set_attributes(self) -> None:
        self.label_sets_ = self._powerset.sets.astype(np.int8)
        self.estimator_ = self._powerset.learner.estimator

    def _finish_loading(self) -> None:
        check_powerset(self._powerset, self.n_features_in_, len(self.classes_))
        self._set_attributes()

    def _marginals(self, X: Any) -> Array:
        return self._powerset.marginals(X)

    def _best_sets(self, X: Any) -> NDArray[np.bool_]:
        if self.decision == "set":
            return self._powerset.best_sets(X)
        if self.decision == "f1":
            return self._powerset.best_expected_f1(X)
        return self._decide(self._marginals(X))
