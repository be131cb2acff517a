"""Reasons of the predictions of a fitted model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if

from sdgs._utils._array_api import is_dispatched, to_host
from sdgs._utils._label_collections import as_label_matrix
from sdgs._utils._last_step import feature_names_of, label_names_of
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._validation import check_int, check_labels
from sdgs.estimators._base import reads_by_ridge
from sdgs.explanation import (
    Counterfactual,
    LabelExplanation,
    PredictionExplanation,
    PredictionTerms,
    explain_labels,
    explain_predictions,
    find_removed_features,
)


class PredictionExplainingMixin:
    """Mixin of a fitted SDGS model: ``explain_prediction``, ``explain_labels`` and ``counterfactual``."""

    @available_if(reads_by_ridge("explain_prediction"))  # type: ignore[untyped-decorator]
    @blas_on_one_thread()
    def explain_prediction(
        self: Any, X: Any, labels: Any = None, *, feature_names: Any = None, label_names: Any = None
    ) -> PredictionExplanation:
        r"""Split the log-odds of labels into what each feature, component and similar training sample adds.

        The split is exact: the parts sum to the log-odds. A model reads labels from the sample, from its code over the
        subspaces of the labels, and with ``gamma`` from its similarity to some training samples, the landmarks. All of
        these enter linearly, so each has a part of its own. What is read from the code is split twice: by the labels
        whose components were found in the sample, and by features.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : "all", label or list of labels, or array-like or sparse of shape (n, k) with 0 and 1, optional
            The labels to explain: by name for all samples, or for each sample. For a model of a 1-D target a list with
            one entry per sample is one class per sample. Default: the predicted labels.
        feature_names : array-like of shape (p,), optional
            Default: ``feature_names_`` of a loaded model, else ``feature_names_in_`` if there are any, else ``x0``,
            ``x1`` and so on.
        label_names : array-like of shape (k,), optional
            Default: ``label_names_`` of a loaded model, else ``classes_``.

        Returns
        -------
        PredictionExplanation
            A sequence with one :class:`~sdgs.explanation.SampleReasons` per sample.

        Notes
        -----
        A part compares the sample with one in which the entry is 0, or the column's mean where columns are
        standardised. It is what the entry adds to a sum, at the norm that the sample has: if a model scales samples to
        unit norm, an entry that is deleted also changes the scale of the others.

        :meth:`explain` decomposes the *sample* instead.
        """
        features = to_host(self._check_before_prediction(X))
        log_odds = self._scores(features)
        probabilities = self._probabilities(log_odds)
        predicted = self._predicted_labels(log_odds, features.dtype)
        terms = self._prediction_terms(feature_names, label_names)
        return explain_predictions(
            features,
            predicted if labels is None else self._labels_of_interest(features, labels, terms.label_names),
            terms,
            log_odds,
            probabilities,
            predicted,
            names=list(X.index) if hasattr(X, "iloc") else range(features.shape[0]),
            n_jobs=self.n_jobs,
        )

    @available_if(reads_by_ridge("explain_labels"))  # type: ignore[untyped-decorator]
    @blas_on_one_thread()
    def explain_labels(self: Any, X: Any, *, feature_names: Any = None, label_names: Any = None) -> LabelExplanation:
        """What marks each label: features, components of other labels and training samples, averaged over samples.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
            Some hundred samples, such as training samples: every one is explained for all labels.
        feature_names, label_names : array-like, optional
            Default: as in :meth:`explain_prediction`.

        Returns
        -------
        LabelExplanation
        """
        names = {"feature_names": feature_names, "label_names": label_names}
        return explain_labels(self.explain_prediction(X, "all", **names))

    @available_if(reads_by_ridge("counterfactual"))  # type: ignore[untyped-decorator]
    @blas_on_one_thread()
    def counterfactual(
        self: Any,
        X: Any,
        label: Any,
        *,
        max_features: int = 20,
        feature_names: Any = None,
        label_names: Any = None,
    ) -> tuple[Counterfactual, ...]:
        """Few features whose removal changes whether a label is predicted.

        They are found greedily: the feature whose removal changes the log-odds most is removed, and so on until the
        decision changes; then those that are not needed are put back. Every step predicts again, so the result holds
        for the model itself, also with a kernel. It need not be the smallest set that there is, but each of its
        features is needed.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        label : object
            Name of the label.
        max_features : int, default=20
            If the removal of so many features does not suffice the search ends.
        feature_names, label_names : array-like, optional
            Default: as in :meth:`explain_prediction`.

        Returns
        -------
        tuple of n Counterfactual

        Notes
        -----
        A removed feature is 0, or the mean of its column where columns are standardised. Entries that are missing are
        not removed.
        """
        check_int(max_features, "max_features", minimum=1)
        samples = to_host(self._check_before_prediction(X))
        terms = self._prediction_terms(feature_names, label_names)
        index = find_label(label, terms.label_names)
        return tuple(
            self._counterfactual(samples[[row]], index, terms, max_features) for row in range(samples.shape[0])
        )

    def _counterfactual(self: Any, x: Any, label: int, terms: PredictionTerms, max_features: int) -> Counterfactual:
        def predict(X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
            log_odds = self._scores(X)
            return log_odds[:, label], self._predicted_labels(log_odds, X.dtype)[:, label]

        removed, flipped, rest = find_removed_features(x, terms.baseline, predict, max_features)
        before, after = (float(self._probabilities(self._scores(sample))[0, label]) for sample in (x, rest))
        return Counterfactual(
            terms.label_names[label],
            removed,
            terms.feature_names[removed],
            flipped,
            bool(predict(x)[1][0]),
            before,
            after,
            "zero" if terms.baseline is None else "mean",
            rest,
        )

    def _prediction_terms(self: Any, feature_names: Any, label_names: Any) -> PredictionTerms:
        scaler = self.scaler_
        return PredictionTerms(
            label_names_of(self, label_names, len(self.components_)),
            feature_names_of(self, feature_names, self.components_[0].shape[1]),
            tuple(self._pipelines),
            self._calibration,
            self._decision,
            self._is_multiclass,
            np.asarray(scaler.mean_, dtype=np.float64) if isinstance(scaler, StandardScaler) else None,
        )

    def _predicted_labels(self: Any, log_odds: NDArray[Any], dtype: Any) -> NDArray[np.bool_]:
        """The predicted labels, or for a 1-D target the predicted class, as a boolean matrix."""
        if not self._is_multiclass:
            return np.asarray(self._decide(log_odds))
        best = np.argmax(self._class_scores(log_odds).astype(dtype), axis=1)  # in the precision of predict
        return np.asarray(best[:, None] == np.arange(log_odds.shape[1]))

    def _labels_of_interest(self: Any, X: Any, labels: Any, label_names: NDArray[Any]) -> NDArray[np.bool_]:
        """Which labels to explain, (n, k)."""
        shape = X.shape[0], label_names.size
        if isinstance(labels, str) and labels == "all":
            return np.ones(shape, dtype=bool)
        labels = as_label_matrix(labels, self.classes_, "labels")
        if is_dispatched(labels):
            labels = to_host(labels)
        if not issparse(labels) and np.ndim(labels) == 1 and self._is_multiclass and len(labels) == shape[0]:
            chosen = np.asarray(np.asarray(labels)[:, None] == self.classes_)
            for row in np.flatnonzero(~chosen.any(axis=1)):  # not a class: a name of one, or an error
                chosen[row, find_label(np.asarray(labels, dtype=object)[row], label_names)] = True
            return chosen
        if not issparse(labels) and np.ndim(labels) <= 1:
            chosen = np.zeros(shape, dtype=bool)
            for label in np.atleast_1d(np.asarray(labels, dtype=object)):
                chosen[:, find_label(label, label_names)] = True
            return chosen
        indicator = check_labels(labels, n_samples=shape[0], name="labels", some_positive=False)
        if indicator.shape != shape:
            raise ValueError(
                f"labels must have one column for each of the {shape[1]} labels, got {indicator.shape[1]}."
            )
        return np.asarray(indicator.toarray())


def find_label(label: Any, label_names: NDArray[Any]) -> int:
    """The index of a label, given by its name."""
    positions = [i for i, name in enumerate(label_names) if name == label]
    if not positions:
        positions = [i for i, name in enumerate(label_names) if str(name) == str(label)]
    if len(positions) != 1:
        known = ", ".join(map(str, label_names[:5])) + (", ..." if label_names.size > 5 else "")
        raise ValueError(f"there is no label {label!r}. The labels are {known}.")
    return positions[0]
