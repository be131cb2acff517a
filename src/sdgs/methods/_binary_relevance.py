"""Binary relevance: one linear support vector machine per label."""

from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.svm import LinearSVC

from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._sample_weight import drop_zero_weights
from sdgs._utils._unobserved_labels import observed_samples
from sdgs._utils._validation import check_int, check_n_jobs, check_number, sum_of_squares
from sdgs.estimators._base import WeightedClassifier
from sdgs.persistence.codecs._stored_fields import INTEGER, ArrayField, Fields

# LIBLINEAR squares C * ||X||^2, and never ends once that overflows.
_MAX_WEIGHTED_NORM = 1e100


class BinaryRelevance(WeightedClassifier):
    """One independent linear SVM per label.

    scikit-learn's ``OneVsRestClassifier(LinearSVC())``, except that predictions have the form and the names of the
    target. A label that no training sample has is never predicted, and one that all have is always predicted. Labels
    may be unobserved (NaN in ``y``): each is learnt from the samples in which it is observed.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the regularisation. The paper chooses it from 1e-3, 1e-2, ..., 1e3.
    tol : float, default=1e-4
    max_iter : int, default=1000
        For the SVM solver.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Labels that are fitted at the same time.

    Attributes
    ----------
    coef_ : ndarray of shape (k, p)
    intercept_ : ndarray of shape (k,)
        A label is predicted if its entry of ``X @ coef_.T + intercept_`` is positive.
    n_iter_ : int
        The largest number of iterations of all labels.
    classes_ : ndarray of shape (k,)
    """

    _accepts_unobserved_labels = True
    _stored_attributes: ClassVar[Fields] = {
        "coef_": ArrayField("f", ("k", "p")),
        "intercept_": ArrayField("f", ("k",)),
        "n_iter_": INTEGER,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_number(self.C, "C", positive=True)
        check_number(self.tol, "tol", positive=True)
        check_int(self.max_iter, "max_iter", minimum=1)
        check_n_jobs(self.n_jobs)

    def _fit(self, X: Any, labels: Any, sample_weight: Any = None) -> None:
        X, labels, sample_weight = drop_zero_weights(X, labels, sample_weight)
        squares = sum_of_squares(X)
        largest = self.C if sample_weight is None else self.C * sample_weight.max()
        if not squares * largest <= _MAX_WEIGHTED_NORM:
            raise ValueError(
                f"X has entries that are too large for the SVM solver: the sum of their squares times C is "
                f"{squares * largest:.1g}. Scale X first, for example by sklearn.preprocessing.MaxAbsScaler."
            )
        columns = labels.toarray().T
        X = narrow_indices(X) if issparse(X) else X
        fits = Parallel(n_jobs=self.n_jobs)(delayed(self._fit_label)(X, column, sample_weight) for column in columns)
        self.coef_ = np.stack([coef for coef, _, _ in fits])
        self.intercept_ = np.asarray([intercept for _, intercept, _ in fits])
        self.n_iter_ = max(n_iter for _, _, n_iter in fits)

    def _fit_label(self, X: Any, column: NDArray[Any], sample_weight: Any) -> tuple[NDArray[Any], float, int]:
        X, column, sample_weight = observed_samples(X, column, sample_weight)
        if column.all() or not column.any():
            return np.zeros(X.shape[1]), 1.0 if column.any() else -1.0, 1
        svm = LinearSVC(C=self.C, tol=self.tol, max_iter=self.max_iter, random_state=self.random_state)
        svm.fit(X, column, sample_weight)
        return svm.coef_[0], float(svm.intercept_[0]), int(svm.n_iter_)

    def _scores(self, X: Any) -> NDArray[Any]:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(scores > 0)
