"""Scores of labels from any classifier, in whatever form it takes targets and returns probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples, has_fit_parameter

from sdgs._utils._array_api import to_host
from sdgs._utils._last_step import last_step
from sdgs._utils._unobserved_labels import column_sums, has_unobserved, known_positives, observed_totals
from sdgs.estimators._base import MultiLabelClassifier
from sdgs.readout._calibration import shrunk_log_odds
from sdgs.selection._folds import Folds

Scores = NDArray[np.float64]
Rows = NDArray[np.intp]
_TINY = 1e-12  # share of 1/2 in a probability that must not change, but have finite log-odds


@dataclass(frozen=True, eq=False)
class Target:
    """What is learnt: ``labels`` (n, k), CSR; ``classes`` (k,) if each sample has exactly one of them.

    Labels are boolean; or 0, 1 and, where they are unobserved, stored NaN. ``sample_weight`` is (n,) or None.
    """

    labels: Any
    classes: NDArray[Any] | None = None
    sample_weight: NDArray[np.float64] | None = None

    def take(self, rows: Rows) -> "Target":
        """The target of some samples."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Target(self.labels[rows], self.classes, weight)


@dataclass(frozen=True, eq=False)
class Learner:
    """A classifier to be fitted; ``params`` are for its ``fit``, those with one entry per sample by rows.

    With ``shrink`` its probabilities are shrunk towards 1/2 as by two more samples, one with and one without the label:
    trees return 0 and 1, but n samples cannot tell a probability of 0 from 1/n.
    """

    estimator: Any
    params: dict[str, Any]
    shrink: bool = True


@dataclass(frozen=True, eq=False)
class LabelScorer:
    """A fitted classifier, and the positions of the labels that it was fitted to.

    ``estimator`` is None if every label is constant in the training samples. ``counts`` (k,) are the samples with each
    label, of ``n`` training samples; weights of samples, if they have some. Where labels are unobserved ``n`` is an
    array (k,): of the samples in which each label is observed.
    """

    estimator: Any
    learnt: Rows
    counts: NDArray[Any]
    n: Any  # int, float or ndarray
    shrink: bool

    def scores(self, X: Any) -> Scores:
        """Scores (n, k): log-odds if the classifier has ``predict_proba``, else those of its ``decision_function``.

        A label that was not learnt has the log-odds of its frequency, or beside a ``decision_function`` -1 or 1.
        """
        constant = np.log((self.counts + 1) / (self.n - self.counts + 1))
        if self.estimator is None:
            return np.asarray(np.tile(constant, (_num_samples(X), 1)))
        name = type(self.estimator).__name__
        method = next((m for m in ("predict_proba", "decision_function") if hasattr(self.estimator, m)), None)
        if method is None:
            raise ValueError(f"{name} has neither predict_proba nor decision_function. Use a classifier that has one.")
        values = as_columns(getattr(self.estimator, method)(X), self.learnt.size)
        if not np.isfinite(values).all():
            raise ValueError(f"{method} of {name} returned NaN or infinity.")
        if method == "predict_proba":
            n = self.n[self.learnt] if isinstance(self.n, np.ndarray) else self.n
            values = shrunk_log_odds(values, 2 / (n + 2) if self.shrink else _TINY)
        else:
            constant = np.sign(constant)
        scores: Scores = np.tile(constant, (len(values), 1))
        scores[:, self.learnt] = values
        return scores


def as_columns(values: Any, n_labels: int) -> Scores:
    """Probabilities or scores in any of scikit-learn's forms as an array with one column per label.

    The forms are one array (n, 2) per label, as forests return them; one array (n, n_labels); and for two classes (n,)
    or, for a single label, (n, 2).
    """
    if isinstance(values, list):
        return np.column_stack([np.asarray(of_label, dtype=np.float64)[:, 1] for of_label in values])
    columns: Scores = np.asarray(values.toarray() if issparse(values) else to_host(values), dtype=np.float64)
    if columns.ndim == 1:
        return columns[:, None] if n_labels == 1 else np.column_stack([-columns, columns])
    if n_labels == 1 and columns.shape[1] == 2:
        return columns[:, 1:]
    if columns.shape[1] != n_labels:
        raise ValueError(f"the classifier returned {columns.shape[1]} columns of scores for {n_labels} labels.")
    return columns


def fit_scorer(learner: Learner, X: Any, target: Target) -> LabelScorer:
    """Fit a clone of a classifier to the labels that some samples have and others do not.

    A classifier that takes no label matrix is fitted to one label at a time, by scikit-learn's ``OneVsRestClassifier``;
    and so is one that takes none with unobserved labels.
    Classifiers of this package are fitted to all labels, constant ones too, because parameters such as the order of a
    chain may refer to labels by their positions.
    """
    counts, n, learnt = _counts(target)
    if learnt.size == 0:
        return LabelScorer(None, learnt, counts, n, learner.shrink)
    fitted, innermost = clone(learner.estimator), _innermost(learner.estimator)
    if target.classes is not None:
        y = target.classes[target.labels.indices]  # a row has one entry
        return LabelScorer(_fit(fitted, X, y, learner.params), learnt, counts, n, learner.shrink)
    if isinstance(innermost, MultiLabelClassifier) and counts.size > 1:
        learnt = np.arange(counts.size)
    y = target.labels[:, learnt].toarray()
    is_complete, tags = not has_unobserved(y), get_tags(innermost)
    if is_complete:
        y = y.astype(np.int64)
        takes_matrix = tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label)
    else:
        takes_matrix = isinstance(innermost, MultiLabelClassifier) and tags.target_tags.allow_nan
    if learnt.size == 1 and (tags.target_tags.single_output or not takes_matrix):
        y = y[:, 0]
    elif not takes_matrix and not isinstance(fitted, OneVsRestClassifier):
        fitted = OneVsRestClassifier(fitted)
    return LabelScorer(_fit(fitted, X, y, learner.params), learnt, counts, n, learner.shrink)


def _counts(target: Target) -> tuple[NDArray[Any], Any, Rows]:
    """``counts`` and ``n`` of a :class:`LabelScorer`, and which labels vary."""
    labels, sample_weight = target.labels, target.sample_weight
    positive = np.asarray(known_positives(labels).sum(axis=0), dtype=np.int64).ravel()
    learnt = np.flatnonzero((positive > 0) & (positive < observed_totals(labels)))
    if sample_weight is None and not has_unobserved(labels):
        return positive, labels.shape[0], learnt
    return column_sums(known_positives(labels), sample_weight), observed_totals(labels, sample_weight), learnt


def _fit(estimator: Any, X: Any, y: NDArray[Any], params: dict[str, Any]) -> Any:
    """``estimator`` fitted; to a single label on the samples in which it is observed."""
    if y.ndim == 1 and y.dtype.kind == "f" and has_unobserved(y):
        rows = np.flatnonzero(~np.isnan(y))
        X, y, params = _safe_indexing(X, rows), y[rows].astype(np.int64), _check_method_params(X, params, indices=rows)
    if isinstance(estimator, OneVsRestClassifier) and (params or has_unobserved(y)):
        return _fit_one_vs_rest(estimator, X, y, params)
    return estimator.fit(X, y, **params)


def _fit_one_vs_rest(estimator: OneVsRestClassifier, X: Any, y: NDArray[Any], params: dict[str, Any]) -> Any:
    """The same as its ``fit``, which needs complete labels, and metadata routing for weights."""
    is_complete = not has_unobserved(y)
    estimator.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(y if is_complete else np.nan_to_num(y) > 0)
    estimator.classes_ = estimator.label_binarizer_.classes_
    columns = estimator.label_binarizer_.transform(y).toarray().T if is_complete else y.T
    estimator.estimators_ = [_fit(clone(estimator.estimator), X, column, params) for column in columns]
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator.estimators_[0], name):
            setattr(estimator, name, getattr(estimator.estimators_[0], name))
    return estimator


def takes_unobserved_labels(estimator: Any) -> bool:
    """Whether :func:`fit_scorer` can fit it where labels are unobserved: to all labels, or to each of them."""
    innermost = _innermost(estimator)
    tags = get_tags(innermost).target_tags
    return bool(tags.allow_nan if isinstance(innermost, MultiLabelClassifier) else tags.single_output)


def takes_weights(estimator: Any) -> bool:
    """Whether :func:`fit_scorer` can pass ``sample_weight`` to it without scikit-learn's metadata routing."""
    inner = estimator.estimator if isinstance(estimator, OneVsRestClassifier) else estimator
    return bool(has_fit_parameter(inner, "sample_weight"))


def cross_fit(
    learners: Sequence[Learner], X: Any, target: Target, folds: Folds, n_jobs: int | None
) -> tuple[list[LabelScorer], list[Scores]]:
    """Each classifier fitted to all samples; and the scores of the folds' test rows, each without its own fold."""
    tasks = [(i, pair) for i in range(len(learners)) for pair in (*folds.pairs, None)]
    results = Parallel(n_jobs=n_jobs)(delayed(_fit_and_score)(learners[i], X, target, pair) for i, pair in tasks)
    scores = [np.zeros((folds.test_rows.size, target.labels.shape[1])) for _ in learners]
    scorers = []
    for (i, pair), result in zip(tasks, results, strict=True):
        if pair is None:
            scorers.append(result)
        else:
            scores[i][np.searchsorted(folds.test_rows, pair[1])] = result
    return scorers, scores


def _fit_and_score(learner: Learner, X: Any, target: Target, pair: tuple[Rows, Rows] | None) -> LabelScorer | Scores:
    train, test = (None, None) if pair is None else pair
    learner = replace(learner, params=_check_method_params(X, learner.params, indices=train))
    if train is None:
        return fit_scorer(learner, X, target)
    scorer = fit_scorer(learner, _safe_indexing(X, train), target.take(train))
    return scorer.scores(_safe_indexing(X, test))


def _innermost(estimator: Any) -> Any:
    """The classifier at the end of pipelines and inside searches, whose tags say which targets it takes."""
    while True:
        inner = last_step(estimator)
        if isinstance(inner, GridSearchCV | RandomizedSearchCV):
            inner = inner.estimator
        if inner is estimator:
            return inner
        estimator = inner
