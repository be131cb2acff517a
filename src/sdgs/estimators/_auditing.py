"""Labels that are probably wrong or missing, by a fitted model."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sdgs._utils._array_api import is_dispatched, to_host
from sdgs._utils._label_collections import as_label_matrix
from sdgs._utils._last_step import label_names_of
from sdgs._utils._unobserved_labels import check_observed_labels
from sdgs._utils._validation import is_data_frame
from sdgs.audit._rank_labels import rank_suspicious_labels
from sdgs.audit._suspicious_labels import SuspiciousLabels
from sdgs.estimators._base import reads_by_ridge
from sdgs.readout._out_of_fold import OutOfFold


class AuditingMixin:
    """Mixin of a fitted SDGS model: out-of-fold probabilities and ``suspicious_labels``.

    The probabilities are properties, because scikit-learn's checks want fitted arrays on the device of X, and these are
    on the host.
    """

    _out_of_fold: OutOfFold | None = None  # without a ridge regression

    @property
    def out_of_fold_probabilities_(self) -> NDArray[np.float32]:
        """The calibrated probabilities of training samples, from pipelines that were not fitted to them, (m, k)."""
        return self._known_out_of_fold().probabilities

    @property
    def out_of_fold_rows_(self) -> NDArray[np.intp]:
        """Which training samples have out-of-fold probabilities, (m,)."""
        return self._known_out_of_fold().rows

    def _known_out_of_fold(self) -> OutOfFold:
        if self._out_of_fold is None:
            raise AttributeError('Out-of-fold probabilities need a fit with readout="ridge".')
        return self._out_of_fold

    @available_if(reads_by_ridge("suspicious_labels"))  # type: ignore[untyped-decorator]
    def suspicious_labels(
        self: Any, X: Any = None, y: Any = None, *, n_pairs: int | str | None = "auto", label_names: Any = None
    ) -> SuspiciousLabels:
        """Find labels that are probably wrong or missing; only with ``readout="ridge"``.

        Without arguments the labels of the training samples are checked, against probabilities from models that were
        not fitted to them (``out_of_fold_probabilities_``). With more than 10,000 samples or 150 labels these may be
        some of the samples only: those in ``out_of_fold_rows_``.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p), optional
            Samples that the model was *not* fitted to, which would confirm the labels that it has learnt.
        y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            Their labels, in any form that ``fit`` accepts. Unobserved labels (NaN) are not checked.
        n_pairs : int, "auto" or None, default="auto"
            How many pairs of a sample and a label to return, the most suspicious first. ``"auto"``: as many given
            labels as are probably wrong, and the labels that are not given and have a probability of at least 0.8;
            None: all. See :func:`sdgs.audit.rank_suspicious_labels`.
        label_names : array-like of shape (k,), optional
            Default: ``label_names_`` of a loaded model, else ``classes_``.

        Returns
        -------
        SuspiciousLabels
        """
        if (X is None) != (y is None):
            raise ValueError("pass both X and y, or neither to check the labels of the training samples.")
        check_is_fitted(self)
        if X is None:
            given, probabilities, rows = self._training_labels()
            names: Any = rows
        else:
            P = self.predict_proba(X)
            probabilities = to_host(P) if is_dispatched(P) else np.asarray(P)
            given, rows = self._given_labels(y, len(probabilities)), np.arange(len(probabilities))
            names = X.index if hasattr(X, "iloc") else None
        suspicious = rank_suspicious_labels(
            given,
            probabilities,
            n_pairs=n_pairs,
            one_label=self._is_multiclass,
            label_names=label_names_of(self, label_names, given.shape[1]),
            sample_names=names,
        )
        return replace(suspicious, rows=rows[suspicious.rows])

    def _training_labels(self: Any) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.intp]]:
        """The given labels and the probabilities of training samples, and which samples these are."""
        if self._out_of_fold is None:
            raise NotFittedError('This model was fitted with readout="norm". Fit it again to use readout="ridge".')
        rows = self._out_of_fold.rows
        given = self._out_of_fold.hide_unobserved(self.decomposition_.labels_of(rows))
        return given, self._out_of_fold.probabilities, rows

    def _given_labels(self: Any, y: Any, n_samples: int) -> NDArray[Any]:
        """A target in the form of that of ``fit`` as a label matrix, with NaN if labels are unobserved."""
        k, y = len(self.components_), as_label_matrix(y, self.classes_)
        if self._is_multiclass and np.ndim(y) == 1 and not issparse(y):
            classes = to_host(y) if is_dispatched(y) else np.asarray(y)
            y = classes[:, None] == self.classes_
            if not y.any(axis=1).all():
                unknown = classes[~y.any(axis=1)].tolist()[0]
                raise ValueError(f"y has the class {unknown!r}, which was not in the y that the model was fitted to.")
        if is_data_frame(y) and self._label_columns is not None and list(y.columns) != list(self.classes_):
            raise ValueError("y must have the columns of the y that the model was fitted to, in the same order.")
        labels = check_observed_labels(y, n_samples=n_samples, name="y", some_positive=False)
        given: NDArray[Any] = labels.toarray()
        if given.shape[1] != k:
            raise ValueError(f"y must have one column for each of the {k} labels, got {given.shape[1]}.")
        return given
