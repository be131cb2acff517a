"""What all multi-label classifiers share: targets in many forms, and predictions in the same form."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs._utils._array_backends import backend_of
from sdgs._utils._label_collections import (
    align_label_lists,
    has_label_lists,
)
from sdgs._utils._sample_weight import check_sample_weight, rows_with_weight
from sdgs._utils._unobserved_labels import known_positives, split_unobserved
from sdgs.estimators._label_target import LabelTags, LabelTarget
from sdgs.metrics._set_metrics import subset_accuracy
from sdgs.selection._folds import Split, restrict_splits, splits_of

_BLOCK_BYTES = 1 << 28  # of scores that are held at a time
_MIN_BLOCK_ROWS = 1024

Method = TypeVar("Method", bound=Callable[..., Any])


def lazy_for_distributed(method: Method) -> Method:
    """Decorator of methods of a fitted model: a distributed array is handed to its backend, block by block."""

    @wraps(method)
    def wrapper(self: Any, X: Any) -> Any:
        backend = backend_of(X) if self._accepts_distributed else None
        return method(self, X) if backend is None else backend.map_method(self, method.__name__, X)

    return cast(Method, wrapper)


def atomic_fit(fit: Method) -> Method:
    """Decorator of ``fit``: a fit that fails or is interrupted leaves the estimator as it was.

    The method runs on a copy of the estimator without fitted attributes, whose state then replaces that of the
    estimator in one step.
    """

    @wraps(fit)
    def wrapper(self: Any, X: Any, y: Any, *args: Any, **params: Any) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__.update({name: value for name, value in vars(self).items() if not _is_fitted_attribute(name)})
        fit(copy, X, y, *args, **params)
        self.__dict__ = copy.__dict__
        return self

    return cast(Method, wrapper)


def _is_fitted_attribute(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def reads_by_ridge(method: str) -> Callable[[Any], bool]:
    """For ``available_if``: whether the model has a ridge read-out, which this method needs."""

    def check(model: Any) -> bool:
        if model.readout != "ridge":
            raise AttributeError(f'{method} needs readout="ridge".')
        return True

    return check


@cache
def documentation_url() -> str:
    """Where the documentation of the installed package is; empty if its metadata has no address."""
    try:
        urls = metadata("sdgs").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from its source
        return ""
    return dict(str(url).split(", ", 1) for url in urls).get("Documentation", "").rstrip("/")


class MultiLabelClassifier(LabelTarget, ClassifierMixin, BaseEstimator):
    """Validates, and returns labels in the form of the target.

    A subclass has ``_check_parameters()``, ``_fit(X, labels)`` with a boolean CSC label matrix, ``_scores(X)`` of shape
    (n, k), and ``_decide(scores)``, boolean (n, k). If it accepts unobserved labels, ``labels`` may be a matrix of
    :mod:`sdgs._utils._unobserved_labels`.
    """

    _doc_link_module = "sdgs"
    _public_module = "sdgs.methods"  # that the documentation names

    @property
    def _doc_link_template(self) -> str:
        """For the link in scikit-learn's HTML view; empty without an address."""
        url = documentation_url()
        return f"{url}/api/{self._public_module}.{{estimator_name}}.html" if url else ""

    @atomic_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to samples and their labels.

        Parameters
        ----------
        X : array-like, sparse, DataFrame or, for SDGS, Dask array of shape (n, p)
        y : array-like, sparse, DataFrame or Dask array of shape (n, k) with 0 and 1, or array-like of shape (n,)
            A label matrix, or one class per sample. A dense matrix with one column is taken for the latter, as
            everywhere in scikit-learn; a DataFrame or a sparse matrix with one column is a label matrix. Or a list of
            labels per sample, in a list, an array of objects, a Series or a DataFrame with one column.

        Returns
        -------
        self
            If the fit fails or is interrupted, the estimator stays as it was.
        """
        self._validate_and_fit(X, y)
        return self

    def _validate_and_fit(self, X: Any, y: Any, *sample_weight: Any) -> None:
        """Fit; ``sample_weight`` is given by :class:`WeightedClassifier` alone."""
        self._check_parameters()
        backend = backend_of(X) if self._accepts_distributed else None
        if backend is None:
            X = self._check_X(X, reset=True)
            labels = self._check_y(X, y)
        else:
            X, labels = backend.check_samples(self, X, y)
        self._fit(X, labels, *(check_sample_weight(weight, labels.shape[0]) for weight in sample_weight))

    @lazy_for_distributed
    def decision_function(self, X: Any) -> Any:
        """The score of each label; the larger, the more likely.

        Returns
        -------
        ndarray of shape (n, k)
            For a 1-D target with two classes shape (n,): the score of the second minus that of the first.
        """
        X = self._check_before_prediction(X)
        scores = namespace(X).astype(self._scores(X), X.dtype)
        return scores[:, 1] - scores[:, 0] if self._is_multiclass and scores.shape[1] == 2 else scores

    @lazy_for_distributed
    def predict(self, X: Any) -> Any:
        """The labels of each sample, in the form of the target of ``fit``.

        Returns
        -------
        ndarray, csr_array or DataFrame of shape (n, k), or ndarray of shape (n,)
            0/1 with the dtype of ``y``; CSR if ``y`` was sparse; a DataFrame with the columns and dtypes of ``y`` (and
            the index of ``X`` if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target the class with the
            highest score. For lists of labels the same container of lists, a Series with the index of ``X``.
        """
        features = self._check_before_prediction(X)
        if self._is_multiclass:
            # In the precision of decision_function, so that the two agree on ties.
            xp, dtype = namespace(features), features.dtype
            blocks = (self._class_scores(self._scores(block)) for block in self._row_blocks(features))
            best = [xp.argmax(xp.astype(scores, dtype), axis=1) for scores in blocks]
            classes = self.classes_[to_host(xp.concat(best))]
            # Only numbers can go back to a device.
            return to_device_of(classes, features) if self.classes_.dtype.kind in "biuf" else classes
        labels = self._predict_matrix(features)  # in full precision, because thresholds are exact
        if self._label_lists is not None:
            return self._label_lists.restore(labels, self.classes_, X.index if hasattr(X, "iloc") else None)
        return labels if self._label_columns is None else self._with_names(labels, X).astype(self._label_columns)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose labels are all right, or of right classes.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        y : as for ``fit``
            Lists of labels may have labels that ``fit`` did not have. NaN in a label matrix is an unobserved label,
            which counts neither as right nor as wrong.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        if self._label_lists is None and not has_label_lists(y):
            if not self._is_multiclass and split_unobserved(y, "y")[1] is not None:
                return subset_accuracy(y, self.predict(X), sample_weight=sample_weight)
            return float(super().score(X, y, sample_weight))
        Y_true, Y_pred = align_label_lists(y, self.predict(X), self.classes_)
        return subset_accuracy(Y_true, Y_pred, sample_weight=sample_weight)

    def _with_names(self, values: Any, X: Any) -> Any:
        """One value per sample and label as a DataFrame with the columns of ``y`` and the index of ``X``."""
        import pandas as pd

        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(to_host(values), index=index, columns=self._label_columns.index)

    def _with_names_of_target(self, values: Any, X: Any) -> Any:
        """The same values, as a DataFrame if the target was one."""
        return values if self._label_columns is None else self._with_names(values, X)

    def _check_before_prediction(self, X: Any) -> Any:
        """Validated samples for a model that is fitted, and whose parameters are still valid."""
        if not hasattr(self, "classes_"):  # scikit-learn's check takes longer
            check_is_fitted(self)
        self._check_parameters()
        return self._check_X(X, reset=False)

    def _predict_matrix(self, X: Any) -> Any:
        """0/1 in the form of ``y``; by blocks of rows, because scores take more memory than labels."""
        blocks = []
        for block in self._row_blocks(X):
            labels = self._label_sets(block)
            blocks.append(csr_array(to_host(labels)) if self._sparse_labels else labels)
        if self._sparse_labels:
            return csr_array(vstack(blocks, format="csr")).astype(self._label_dtype)
        if on_host(X):
            blocks = [labels.astype(self._label_dtype, copy=False) for labels in blocks]
            return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        xp = namespace(X)
        return xp.concat([xp.astype(labels, getattr(xp, self._label_dtype.name)) for labels in blocks])

    def _label_sets(self, X: Any) -> Any:
        """The label sets of validated samples, boolean (n, k); overridden where scores do not suffice to decide."""
        return self._decide(self._scores(X))

    def _class_scores(self, scores: Any) -> Any:
        """What is largest for the predicted class of a 1-D target; overridden where classes have weights."""
        return scores

    def _row_blocks(self, X: Any, max_bytes: int = _BLOCK_BYTES) -> Iterator[Any]:
        step = max(max_bytes // (8 * len(self.classes_)), _MIN_BLOCK_ROWS)
        if X.shape[0] <= step:
            yield X
            return
        for start in range(0, X.shape[0], step):
            yield X[start : min(start + step, X.shape[0]), :]

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _fit(self, X: Any, labels: Any, *sample_weight: Any) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._accepts_missing
        tags.array_api_support = self._accepts_devices
        tags.classifier_tags.multi_label = True
        tags.target_tags = LabelTags(**asdict(tags.target_tags), allow_nan=self._accepts_unobserved_labels)
        return tags


class WeightedClassifier(MultiLabelClassifier):
    """A classifier whose ``fit`` takes weights of samples.

    A subclass has ``_fit(X, labels, sample_weight)`` with an array (n,) or None. A sample of weight 2 counts as two
    equal ones, and one of weight 0 is left out.
    """

    @atomic_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples and their labels.

        Parameters
        ----------
        X : array-like, sparse, DataFrame or, for SDGS, Dask array of shape (n, p)
        y : array-like, sparse, DataFrame or Dask array of shape (n, k) with 0 and 1, or array-like of shape (n,)
            A label matrix, or one class per sample. A dense matrix with one column is taken for the latter, as
            everywhere in scikit-learn; a DataFrame or a sparse matrix with one column is a label matrix. Or a list of
            labels per sample, in a list, an array of objects, a Series or a DataFrame with one column. Where the
            estimator takes them (the tag ``target_tags.allow_nan``), NaN in a label matrix is an unobserved label; in a
            sparse matrix such a NaN is stored.
        sample_weight : array-like of shape (n,), optional
            Not negative; a sample of weight 2 counts as two equal ones, and one of weight 0 is left out. Default: 1.

        Returns
        -------
        self
            If the fit fails or is interrupted, the estimator stays as it was.
        """
        self._validate_and_fit(X, y, sample_weight)
        return self

    def _splits_of(self, cv: Any, labels: Any, sample_weight: Any) -> int | tuple[Split, ...]:
        """What :func:`splits_of` returns for ``cv``, with rows counted without the samples of weight 0."""
        y = labels.tocsr().indices if self._is_multiclass else known_positives(labels)
        splits, rows = splits_of(cv, np.empty((labels.shape[0], 0)), y), rows_with_weight(sample_weight)
        return splits if rows is None or isinstance(splits, int) else restrict_splits(splits, rows)


class ProbabilisticClassifier(MultiLabelClassifier):
    """A method whose scores are probabilities: a subclass has ``_marginals(X)`` in place of ``_scores(X)``."""

    def predict_proba(self, X: Any) -> Any:
        """The probability of each label.

        Returns
        -------
        ndarray or DataFrame of shape (n, k)
            For a label matrix one probability per label: a DataFrame with the columns of ``y`` (and the index of ``X``
            if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target they sum to 1 in each row.
        """
        features = self._check_before_prediction(X)
        return self._with_names_of_target(self._scores(features).astype(features.dtype), X)

    def _scores(self, X: Any) -> NDArray[Any]:
        P = self._marginals(X)
        if not self._is_multiclass:
            return P
        total = P.sum(axis=1, keepdims=True)
        uniform = np.full_like(P, 1 / P.shape[1])
        return np.asarray(np.divide(P, total, out=uniform, where=total > 0))

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(scores > 0.5)

    def _marginals(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError
