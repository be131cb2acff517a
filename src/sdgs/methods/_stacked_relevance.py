"""Stacked binary relevance: a second stage that learns from the first stage's probabilities of all labels."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from sklearn.model_selection import KFold

from sdgs._utils._sample_weight import rows_with_weight
from sdgs._utils._unobserved_labels import has_unobserved
from sdgs._utils._validation import check_choice, check_number
from sdgs.methods._base_learners import (
    LEARNER_FIELD,
    Array,
    FittedLearner,
    ProblemTransformation,
    check_learner,
    fit_learner,
    in_threads,
    positive_probabilities,
)
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields, ListField
from sdgs.selection._folds import Split, check_cv


class StackedRelevance(ProblemTransformation):
    r"""Stacked binary relevance (2BR; Godbole and Sarawagi, 2004).

    Binary relevance gives the probabilities :math:`z_1, ..., z_k` of all labels, from which a second classifier per
    label learns. It learns from out-of-fold probabilities, because a model is too certain of its own training samples:

    .. math:: P(y_j = 1 \mid x) = g_j(z_1(x), ..., z_k(x))

    Use it where labels depend on each other and ranking or calibration matters: unlike a chain it has no order, and
    the second stage corrects the first one's probabilities.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The binary base learner of the first stage; None for :class:`~sklearn.linear_model.LogisticRegression` with
        ``max_iter=1000``. Without ``predict_proba`` the logistic function of its ``decision_function`` is taken for a
        probability.
    final_estimator : classifier or None, default=None
        The binary base learner of the second stage; None for ``estimator``.
    passthrough : bool, default=False
        Whether the second stage has the features too, as in Mulan and MEKA.
    max_labels : float, default=1.0
        The share of the labels that the second stage of a label learns from: the label itself and those with the
        largest absolute phi coefficient with it (Tsoumakas et al., 2009).
    cv : int, splitter or list of splits, default=10
        Folds of the out-of-fold probabilities: a number, at most that of the samples; a splitter of scikit-learn or of
        :mod:`sdgs.model_selection`; or pairs of arrays with training and test rows. The second stage learns from the
        samples that are in a test part.
    random_state : int, RandomState instance or None, default=None
        For the folds. Sets the ``random_state`` of the base learners too, unless it is None.
    n_jobs : int or None, default=None
        Labels and folds that are fitted, and labels that are predicted, at the same time.

    Attributes
    ----------
    estimators_ : list of classifiers
        The first stage, fitted to all samples; None for a label that is constant in training.
    final_estimators_ : list of classifiers
    inputs_ : list of ndarray
        The labels that the second stage of each label learns from, as indices of columns.
    out_of_fold_probabilities_ : ndarray of shape (n, k)
        What the second stage was fitted to; NaN for samples that it was not fitted to.
    classes_ : ndarray of shape (k,)

    Notes
    -----
    (``cv`` + 1) k base fits for the first stage, and k for the second.

    Labels may be unobserved (NaN in ``y``): both stages of a label learn from the samples in which it is observed.

    Examples
    --------
    >>> from sdgs.datasets import make_label_subspaces
    >>> from sdgs.methods import StackedRelevance
    >>> data = make_label_subspaces(200, 10, 4, random_state=0)
    >>> StackedRelevance(cv=5, random_state=0).fit(data.X, data.Y).predict_proba(data.X).shape
    (200, 4)
    """

    _accepts_unobserved_labels = True
    _splits: int | tuple[Split, ...]  # during a fit
    _stored_attributes: ClassVar[Fields] = {
        "inputs_": ListField(ArrayField("i", (None,), below="k"), "k"),
        "out_of_fold_probabilities_": ArrayField("f", ("n", "k"), low=0, high=1, nan=True),
        "_first": ListField(LEARNER_FIELD, "k"),
        "_final": ListField(LEARNER_FIELD, "k"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        passthrough: bool = False,
        max_labels: float = 1.0,
        cv: Any = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.passthrough = passthrough
        self.max_labels = max_labels
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _base_learners(self) -> dict[str, Any]:
        return {"estimator": self.estimator, "final_estimator": self.final_estimator}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.passthrough, "passthrough", (True, False))
        if check_number(self.max_labels, "max_labels", positive=True) > 1:
            raise ValueError(f"max_labels must be a share in (0, 1], got {self.max_labels!r}.")
        check_cv(self.cv)

    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        self.out_of_fold_probabilities_: Array
        self._splits = self._splits_of(self.cv, labels, sample_weight)
        try:
            super()._fit(X, labels, sample_weight)
        finally:
            del self._splits
        rows = rows_with_weight(sample_weight)
        if rows is not None:
            Z = np.full(labels.shape, np.nan)
            Z[rows] = self.out_of_fold_probabilities_
            self.out_of_fold_probabilities_ = Z

    def _fit_learners(self, X: Any, labels: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        Y = labels.toarray()
        n, k = Y.shape
        if n < 2:
            raise ValueError(f"StackedRelevance needs at least 2 samples for out-of-fold scores; got n_samples = {n}.")
        self.inputs_ = most_correlated_labels(Y, max(round(self.max_labels * k), 1), sample_weight)
        folds = self._folds(n, int(rng.integers(1 << 31)))
        Z = self._out_of_fold(X, Y, sample_weight, folds, rng)
        self.out_of_fold_probabilities_ = Z
        seeds = self._draw_seeds(rng, k)
        first = ((self.estimator, X, Y[:, j], 2, seed, sample_weight) for j, seed in enumerate(seeds))
        self._first: list[FittedLearner] = in_threads(self.n_jobs, fit_learner, first)
        final_estimator = self.estimator if self.final_estimator is None else self.final_estimator
        rows = np.sort(np.concatenate([test for _, test in folds]))
        if rows.size < n:
            X, Y, Z = X[rows], Y[rows], Z[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]

        def fit_final(j: int, seed: int | None) -> FittedLearner:
            inputs = self._final_features(X, Z, j)
            return fit_learner(final_estimator, inputs, Y[:, j], seed=seed, sample_weight=sample_weight)

        self._final: list[FittedLearner] = in_threads(self.n_jobs, fit_final, enumerate(self._draw_seeds(rng, k)))
        self._set_attributes()

    def _set_attributes(self) -> None:
        self.estimators_ = [learner.estimator for learner in self._first]
        self.final_estimators_ = [learner.estimator for learner in self._final]

    def _finish_loading(self) -> None:
        p = self.n_features_in_
        for first, final, inputs in zip(self._first, self._final, self.inputs_, strict=True):
            check_learner(first, p)
            check_learner(final, inputs.size + (p if self.passthrough else 0))
        self._set_attributes()

    def _folds(self, n: int, seed: int) -> Sequence[Split]:
        if isinstance(self._splits, int):
            return list(KFold(min(self._splits, n), shuffle=True, random_state=seed).split(np.empty((n, 0))))
        return self._splits

    def _out_of_fold(
        self, X: Any, Y: NDArray[Any], sample_weight: Any, folds: Sequence[Split], rng: np.random.Generator
    ) -> Array:
        """Probabilities of each label for samples that its learner was not fitted to, (n, k); NaN for the others."""
        Z = np.full(Y.shape, np.nan)
        for train, test in folds:
            X_train, X_test = X[train], X[test]
            weight = None if sample_weight is None else sample_weight[train]

            def fit_predict(
                j: int, seed: int | None, train: Any = train, data: Any = (X_train, X_test), weight: Any = weight
            ) -> Array:
                learner = fit_learner(self.estimator, data[0], Y[train, j], seed=seed, sample_weight=weight)
                return learner.positive(data[1])

            Z[test] = np.column_stack(
                in_threads(self.n_jobs, fit_predict, enumerate(self._draw_seeds(rng, Y.shape[1])))
            )
        return Z

    def _final_features(self, X: Any, Z: Array, label: int) -> Any:
        inputs = Z[:, self.inputs_[label]].astype(X.dtype)
        if not self.passthrough:
            return inputs
        return hstack([X, csr_array(inputs)], format="csr") if issparse(X) else np.hstack([X, inputs])

    def _marginals(self, X: Any) -> Array:
        Z = positive_probabilities(self._first, X, self.n_jobs)

        def predict_final(j: int, learner: FittedLearner) -> Array:
            return learner.positive(self._final_features(X, Z, j))

        return np.column_stack(in_threads(self.n_jobs, predict_final, enumerate(self._final)))


def most_correlated_labels(Y: NDArray[Any], number: int, sample_weight: Any = None) -> list[NDArray[np.intp]]:
    """For each label the ``number`` labels with the largest absolute phi coefficient with it, itself included."""
    if sample_weight is None and not has_unobserved(Y):
        centred = Y - Y.mean(axis=0)
        norms = np.sqrt((centred**2).sum(axis=0))
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        phi = np.abs(centred.T @ centred * scale[:, None] * scale)
    else:
        phi = np.abs(_observed_phi(Y, np.ones(len(Y)) if sample_weight is None else sample_weight))
    np.fill_diagonal(phi, 2.0)
    order = np.argsort(-phi, axis=1, kind="stable")
    return [np.sort(row[:number]) for row in order]


def _observed_phi(Y: NDArray[Any], weight: Array) -> Array:
    """Phi coefficients (k, k), each over the samples in which both labels are observed; 0 where one does not vary."""
    observed = (~np.isnan(Y)).astype(np.float64)
    positive = np.where(observed > 0, Y, 0.0)
    total = (weight[:, None] * observed).T @ observed
    both = (weight[:, None] * positive).T @ positive
    first = (weight[:, None] * positive).T @ observed  # of the label of the row, where that of the column is observed
    covariance = total * both - first * first.T
    variance = np.maximum(first * (total - first), 0.0)
    norm = np.sqrt(variance * variance.T)
    return np.asarray(np.divide(covariance, norm, out=np.zeros_like(norm), where=norm > 0))
