"""What every multi-label classifier here has in common: targets in many forms, taken in and given back."""

from collections.abc import Callable, Iterator
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sdgs._utils._array_api import detached, dispatched, namespace, on_host, to_device_of, to_host
from sdgs._utils._validation import canonical, check_labels, float_dtypes, is_dask_array

_BLOCK_BYTES = 1 << 28  # of scores


Method = TypeVar("Method", bound=Callable[..., Any])


def by_blocks(method: Method) -> Method:
    """Of a Dask array: what a method gives for each block of rows, when it is asked for."""

    @wraps(method)
    def of_any(self: Any, X: Any) -> Any:
        if self._takes_blocks and is_dask_array(X):
            from sdgs.distributed import map_method

            return map_method(self, method.__name__, X)
        return method(self, X)

    return cast(Method, of_any)


class LabelTarget:
    """Mixin: a target in any of the forms that users have, as a label matrix."""

    _missing_values = False  # whether NaN in X means that an entry was not observed
    _takes_blocks = False  # whether X may be a Dask array, larger than memory
    _any_array = False  # whether arrays of other libraries are computed with where they are

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if dispatched(X):
            X = detached(X) if self._any_array else to_host(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=float_dtypes(X),
            order="C",
            ensure_all_finite="allow-nan" if self._missing_values else True,
        )
        return canonical(X)

    def _check_y(self, X: Any, y: Any) -> Any:
        """The target as a label matrix; remembers its form for ``predict``."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        is_frame = hasattr(y, "columns") and hasattr(y, "iloc")
        self._label_columns = y.dtypes if is_frame else None  # a Series: the names, and a dtype for each
        self._sparse_labels = issparse(y)
        if is_frame and not y.columns.is_unique:
            raise ValueError("y has columns of the same name. Rename them: each is a label.")
        if not self._sparse_labels:
            y = y.to_numpy() if is_frame else to_host(y) if dispatched(y) else np.asarray(y)
        self._one_class_a_sample = not (is_frame or issparse(y)) and (y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1))
        if self._one_class_a_sample:
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            try:
                check_classification_targets(y)
                self.classes_, codes = np.unique(y, return_inverse=True)
            except TypeError:
                raise ValueError(
                    "y has classes of different types, which have no order. Make them all strings."
                ) from None
            return check_labels(csr_array((np.ones(codes.size), (np.arange(codes.size), codes))), name="y")
        labels = check_labels(y, n_samples=X.shape[0], name="y")
        self._label_dtype = np.dtype(np.int64) if y.dtype == object else y.dtype
        self.classes_ = np.arange(labels.shape[1])
        if self._label_columns is not None:
            self.classes_ = np.empty(labels.shape[1], dtype=object)
            self.classes_[:] = list(self._label_columns.index)
        return labels


@cache
def documentation() -> str:
    """Where the documentation of the installed package is; empty if it does not say."""
    try:
        addresses = metadata("sdgs").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from its source
        return ""
    named = dict(str(address).split(", ", 1) for address in addresses)
    return named.get("Documentation", "").rstrip("/")


class MultiLabelClassifier(LabelTarget, ClassifierMixin, BaseEstimator):
    """Validates and gives labels back the way they came. A subclass learns, scores and decides.

    It has ``_check_parameters()``, ``_fit(X, labels)`` with a boolean CSC label matrix, ``_scores(X)`` of shape (n, k),
    and ``_positive(scores)``.
    """

    _doc_link_module = "sdgs"
    _public_module = "sdgs.methods"  # that the documentation names

    @property
    def _doc_link_template(self) -> str:
        """For the link in scikit-learn's HTML view; there is none without an address."""
        address = documentation()
        return f"{address}/api/{self._public_module}.{{estimator_name}}.html" if address else ""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from samples and their labels.

        Parameters
        ----------
        X : array-like, sparse, DataFrame or, for SDGS, Dask array of shape (n, p)
        y : array-like, sparse, DataFrame or Dask array of shape (n, k) with 0 and 1, or array-like of shape (n,)
            Label matrix, or one class a sample. A dense matrix with one column is taken for the latter, as everywhere
            in scikit-learn; a DataFrame or a sparse matrix with one column is a label matrix.

        Returns
        -------
        self
        """
        self._check_parameters()
        for name in ("feature_names_", "label_names_"):  # those of a loaded model are not of these data
            self.__dict__.pop(name, None)
        if self._takes_blocks and is_dask_array(X):
            from sdgs.distributed import checked_samples

            X, labels = checked_samples(self, X, y)
        else:
            X = self._check_X(X, reset=True)
            labels = self._check_y(X, y)
        self._fit(X, labels)
        return self

    @by_blocks
    def decision_function(self, X: Any) -> Any:
        """Evidence for each label.

        Returns
        -------
        ndarray of shape (n, k)
            For a 1-D target with two classes shape (n,): the evidence for the second less that for the first.
        """
        check_is_fitted(self)
        self._check_parameters()
        X = self._check_X(X, reset=False)
        scores = namespace(X).astype(self._scores(X), X.dtype)
        return scores[:, 1] - scores[:, 0] if self._one_class_a_sample and scores.shape[1] == 2 else scores

    @by_blocks
    def predict(self, X: Any) -> Any:
        """Labels of each sample, in the form in which ``fit`` got them.

        Returns
        -------
        ndarray, csr_array or DataFrame of shape (n, k), or ndarray of shape (n,)
            0/1 with the dtype of ``y``; CSR if ``y`` was sparse; a DataFrame with the columns and dtypes of ``y`` (and
            the index of ``X`` if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target the class with the most
            evidence.
        """
        check_is_fitted(self)
        self._check_parameters()
        features = self._check_X(X, reset=False)
        if self._one_class_a_sample:
            # From what decision_function shows, so that the two agree where scores are equal in the precision of X.
            xp, dtype = namespace(features), features.dtype
            best = [xp.argmax(xp.astype(self._scores(block), dtype), axis=1) for block in self._blocks(features)]
            if self.classes_.dtype.kind in "biuf":
                # One number a sample: not every library can index all that NumPy's integers may be.
                return to_device_of(self.classes_[to_host(xp.concat(best))], features)
            return self.classes_[to_host(xp.concat(best))]
        positive = self._decided(features)  # not from that: thresholds are exact
        if self._label_columns is not None:
            import pandas as pd

            index = X.index if isinstance(X, pd.DataFrame) else None
            frame = pd.DataFrame(to_host(positive), index=index, columns=self._label_columns.index)
            return frame.astype(self._label_columns)
        return positive

    def _decided(self, X: Any) -> Any:
        """0/1 as ``y`` was, by blocks of rows: their scores may take far more memory than what comes of them."""
        parts = []
        for block in self._blocks(X):
            part = self._positive(self._scores(block))
            parts.append(csr_array(to_host(part)) if self._sparse_labels else part)
        if self._sparse_labels:
            return csr_array(vstack(parts, format="csr")).astype(self._label_dtype)
        xp = namespace(X)
        dtype = self._label_dtype if on_host(X) else getattr(xp, self._label_dtype.name)
        return xp.concat([xp.astype(part, dtype) for part in parts])

    def _blocks(self, X: Any) -> Iterator[Any]:
        step = max(_BLOCK_BYTES // (8 * len(self.classes_)), 1024)
        for start in range(0, X.shape[0], step):
            yield X[start : min(start + step, X.shape[0]), :]

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _fit(self, X: Any, labels: Any) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError

    def _positive(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._missing_values
        tags.array_api_support = self._any_array
        tags.classifier_tags.multi_label = True
        return tags
