"""Explanations of samples by a fitted model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from sdgs._utils._array_api import is_dispatched, to_host
from sdgs._utils._label_collections import as_label_matrix
from sdgs._utils._last_step import feature_names_of, label_names_of
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._validation import check_labels
from sdgs.explanation import Explanation, Terms, explain_samples
from sdgs.readout._scaling import column_units


class ExplainingMixin:
    """Mixin of a fitted SDGS model: ``contributions`` and ``explain``."""

    def contributions(self, X: Any, labels: Any = None) -> NDArray[Any]:
        """What each label contributes to each sample, in the units of ``X``.

        The least-squares decomposition of the sample over the subspaces of its labels alone. (The code that labels are
        read from is shrunk towards zero by ``alpha``; contributions are not.) ``X - contributions(X).sum(axis=1)`` is
        the residual. If columns were standardised (``scaler_`` has a ``mean_``) contributions are of the sample minus
        that mean, and with ``huber`` of the sample without its corrupted part. The result is dense, so pass few
        samples; :meth:`explain` has more to offer, and takes less memory.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            The labels of each sample to decompose it over; for a model of a 1-D target also one class per sample.
            Default: the predicted labels; for a 1-D target with ``readout="norm"`` every class with a positive score.

        Returns
        -------
        ndarray of shape (n, k, p)
        """
        return self._explain(X, labels, None, None, needs_scores=labels is None).contributions()

    def explain(self, X: Any, labels: Any = None, *, feature_names: Any = None, label_names: Any = None) -> Explanation:
        r"""Decompose samples into what each label contributes, its share, and the residual.

        ``baseline + contributions + residual`` is the sample, entry by entry. The baseline is the mean of standardised
        columns and zero otherwise. Contributions are those of :meth:`contributions`. The residual of a missing entry is
        0, so that the sum is what the labels predict for it. With ``huber`` the corrupted part is given separately.

        This decomposes the *sample* over its labels. It does not explain the probabilities, which a regression computes
        from sample and code together.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            The labels of each sample to decompose it over; for a model of a 1-D target also one class per sample.
            Default: the predicted labels; for a 1-D target with ``readout="norm"`` every class with a positive score.
        feature_names : array-like of shape (p,), optional
            Default: ``feature_names_`` of a loaded model, else ``feature_names_in_`` if there are any, else ``x0``,
            ``x1`` and so on.
        label_names : array-like of shape (k,), optional
            Default: ``label_names_`` of a loaded model, else ``classes_``.

        Returns
        -------
        Explanation
            A sequence with one explanation per sample.

        Notes
        -----
        Shares are of the energy of a sample, :math:`\|z\|^2`, where z is the sample as the model sees it: minus the
        baseline, columns weighted, without corrupted and missing entries. With contributions :math:`l_i` the share of
        label i is :math:`\langle l_i, z \rangle / \|z\|^2`; these shares and that of the residual,
        :math:`\|z - \sum_i l_i\|^2 / \|z\|^2`, sum to 1. Where subspaces overlap, the common part is split evenly
        between labels; a label whose contribution points away from the sample has a negative share. ``unique_shares``
        are what only that label explains.

        If several pipelines are averaged (:class:`sdgs.SDGSClassifierCV`) the best one decomposes the samples.
        """
        return self._explain(X, labels, feature_names, label_names, needs_scores=True)

    @blas_on_one_thread()
    def _explain(
        self: Any, X: Any, labels: Any, feature_names: Any, label_names: Any, *, needs_scores: bool
    ) -> Explanation:
        """``needs_scores``: for the predicted labels and their probabilities."""
        features = to_host(self._check_before_prediction(X))
        p, k = features.shape[1], len(self.components_)
        scores = self._scores(features) if needs_scores else None
        probabilities = None if scores is None or self.readout == "norm" else self._probabilities(scores)
        scaler, units = self.scaler_, np.ones(p) * column_units(self.scaler_)
        terms = Terms(
            label_names_of(self, label_names, k),
            feature_names_of(self, feature_names, p),
            self.components_,
            np.asarray(scaler.mean_, dtype=np.float64) if isinstance(scaler, StandardScaler) else None,
            units,
        )
        return explain_samples(
            features,
            self._labels_to_explain(features, labels, scores),
            terms,
            probabilities=probabilities,
            corruption=self._corruption(features, units),
            names=list(X.index) if hasattr(X, "iloc") else range(features.shape[0]),
        )

    def _labels_to_explain(self: Any, X: Any, labels: Any, scores: NDArray[Any] | None) -> NDArray[np.bool_]:
        if labels is None:
            assert scores is not None
            use_scores = self._is_multiclass and self.readout == "norm"
            return np.asarray(scores > 0 if use_scores else self._decide(scores))
        labels = as_label_matrix(labels, self.classes_, "labels")
        if self._is_multiclass and np.ndim(labels) == 1:
            labels = (to_host(labels) if is_dispatched(labels) else np.asarray(labels))[:, None] == self.classes_
        indicator = check_labels(labels, n_samples=X.shape[0], name="labels", some_positive=False)
        k = len(self.components_)
        if indicator.shape[1] != k:
            raise ValueError(f"labels must have one column for each of the {k} labels, got {indicator.shape[1]}.")
        return np.asarray(indicator.toarray())

    def _corruption(self: Any, X: Any, units: NDArray[np.float64]) -> csr_array | None:
        """The corrupted part of samples, in the units of the features; None without ``huber``."""
        scaling, features = self._pipelines[0].scaling, self._pipelines[0].features
        if features.parameters.huber is None:
            return None
        scaled, norms = scaling.transform(X)
        residual = features.encode(scaled, self.n_jobs).residual
        assert residual is not None
        return csr_array(residual * norms[:, None] * units).astype(X.dtype)
