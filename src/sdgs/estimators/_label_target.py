"""Targets in many forms as label matrices; scikit-learn's tags of targets."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import TargetTags, assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from sdgs._utils._array_api import detach, is_dispatched, to_host
from sdgs._utils._label_collections import (
    LabelListForm,
    binarize_label_lists,
    has_label_lists,
    label_list_form,
    warn_of_similar_names,
)
from sdgs._utils._unobserved_labels import check_observed_labels
from sdgs._utils._validation import (
    canonical_csr,
    check_labels,
    float_dtypes,
    is_data_frame,
    is_plain_array,
    reject_huge_integers,
    reject_masked,
    reject_missing_labels,
    unwrap_labels,
)
from sdgs.estimators._saving import SavingMixin
from sdgs.estimators._text_in_samples import name_text_columns

_TAKE_UNOBSERVED_LABELS = (
    " Or take an estimator that learns each label from the samples in which it is known: SDGSClassifier, "
    "SDGSClassifierCV, BinaryRelevance, HierarchicalRelevance, SparseLowRank, SparseLowRankCV, StackedRelevance, or "
    "DecisionClassifier around one of them or around a classifier of a single label."
)


@dataclass(slots=True)
class LabelTags(TargetTags):
    """scikit-learn's tags of targets, and ``allow_nan``: whether NaN in a label matrix is an unobserved label."""

    allow_nan: bool = False


class LabelTarget(SavingMixin):
    """Mixin: validates X, and turns a target of any form into a label matrix."""

    _accepts_missing = False  # whether NaN in X means a missing entry
    _accepts_unobserved_labels = False  # whether NaN in y means an unobserved label
    _accepts_distributed = False  # whether X may be a Dask array
    _accepts_devices = False  # whether arrays of other libraries are computed with on their device
    _is_multiclass = False  # whether the target has one class per sample
    n_features_in_: int
    _label_columns: Any
    _label_lists: LabelListForm | None = None  # the form of the target if it has a list of labels per sample

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if not reset and self._is_valid_array(X):
            return np.ascontiguousarray(X)
        if is_dispatched(X):
            X = detach(X) if self._accepts_devices else to_host(X)
        reject_masked(X, "X")
        with reject_huge_integers("X"), name_text_columns(X):
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=float_dtypes(X),
                order="C",
                ensure_all_finite="allow-nan" if self._accepts_missing else True,
            )
        return canonical_csr(X)

    def _is_valid_array(self, X: Any) -> bool:
        """Whether validation would neither change X, but for its order, nor warn about it."""
        is_valid = is_plain_array(X, missing=self._accepts_missing)
        return is_valid and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")

    def _check_y(self, X: Any, y: Any) -> Any:
        """The target as a label matrix; its form is stored for ``predict``."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        self._label_lists = label_list_form(y) if has_label_lists(y) else None
        if self._label_lists is not None:
            return self._check_label_lists(y)
        is_frame = is_data_frame(y)
        self._label_columns = y.dtypes if is_frame else None  # a Series: names and dtypes
        self._sparse_labels = issparse(y)
        y = unwrap_labels(y, "y")
        is_matrix = is_frame or self._sparse_labels or not (y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1))
        self._is_multiclass = not is_matrix
        if self._is_multiclass:
            return self._check_classes(y)
        labels = self._check_label_matrix(y, _num_samples(X))
        self._label_dtype = np.dtype(np.int64) if y.dtype == object else y.dtype
        self.classes_ = np.arange(labels.shape[1])
        if self._label_columns is not None:
            self.classes_ = np.empty(labels.shape[1], dtype=object)
            self.classes_[:] = list(self._label_columns.index)
        return labels

    def _check_label_matrix(self, y: Any, n_samples: int) -> Any:
        if not self._accepts_unobserved_labels:
            return check_labels(y, n_samples=n_samples, name="y", if_missing=_TAKE_UNOBSERVED_LABELS)
        labels = check_observed_labels(y, n_samples=n_samples, name="y")
        if labels.dtype != bool and labels.nnz == labels.shape[0] * labels.shape[1]:
            warnings.warn(
                "y has positive and unobserved labels alone, and no 0: no sample is known not to have a label, so that "
                "all samples will get all labels. If only true labels were recorded, put 0 in place of NaN and fit "
                'SDGSClassifier(assume="missing").',
                UserWarning,
                stacklevel=5,
            )
        return labels

    def _check_label_lists(self, y: Any) -> Any:
        """A list of labels per sample as a label matrix with one column per name."""
        self._is_multiclass, self._sparse_labels, self._label_columns = False, True, None
        labels, self.classes_ = binarize_label_lists(y, "y")
        self._label_dtype = np.dtype(np.int64)
        warn_of_similar_names(self.classes_, "y")
        return check_labels(labels, name="y")

    def _check_classes(self, y: Any) -> Any:
        """One class per sample as a label matrix with one column per class."""
        y = column_or_1d(y, warn=True)
        reject_missing_labels(y, "y")
        assert_all_finite(y, input_name="y")
        try:
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
        except TypeError:
            raise ValueError(
                "y has classes of different types, which cannot be sorted. Make them all strings."
            ) from None
        return check_labels(csr_array((np.ones(codes.size), (np.arange(codes.size), codes))), name="y")
