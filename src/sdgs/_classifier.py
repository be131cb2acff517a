"""The estimator: validates, calls the two stages, and gives the labels back the way they came."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sdgs._rows import unit_rows
from sdgs._validation import check_choice, check_labels, check_n_jobs, check_number
from sdgs.coding import GroupCodes, group_lasso, least_squares_parts
from sdgs.decomposition import decompose


class SDGSClassifier(ClassifierMixin, BaseEstimator):
    r"""Multi-label classification by structured decomposition and group sparsity (SDGS).

    Training takes the data apart into one low-rank component a label and a sparse residual (:func:`sdgs.decompose`);
    the row space of a component is the label's subspace. A new sample is coded over all subspaces with as few of them
    as possible (:func:`sdgs.group_lasso`); the labels whose part of the code has an l1 norm of at least ``threshold``
    are predicted.

    Parameters
    ----------
    n_components : int or sequence of ints, default=6
        Dimension of a label's subspace, for all labels or for each (r).
    residual_size : int or float, default=1e-4
        Non-zero entries of the residual in training: a number, or a share of all entries (K).
    alpha : float, default=0.2
        Weight of the group penalty in prediction (lambda). For rows of unit norm 0.05 to 0.45 is sensible: the larger,
        the fewer labels, and at 1 there are none.
    threshold : float, default=0.1
        Least l1 norm of a label's part of the code for the label to be predicted (delta).
    scaling : {"rows", None}, default="rows"
        ``"rows"`` brings every sample to unit Euclidean norm, in training and prediction; ``alpha`` and ``threshold``
        are made for that. None takes the data as they are.
    solver : {"brp", "svd", "brp-fresh"}, default="brp"
        See :func:`sdgs.decompose`.
    max_iter : int, default=100
        Most training sweeps.
    tol : float, default=1e-2
        Training stops when the error is at most this share of the data, or when a sweep lowers it by at most this
        share. Early is better: subspaces that are fitted to the last digit predict worse.
    random_state : int, RandomState instance or None, default=None
        For the random projections.
    n_jobs : int or None, default=None
        Threads in prediction.

    Notes
    -----
    ``score`` is scikit-learn's, the share of samples whose labels are all right. :mod:`sdgs.metrics` has the paper's
    measures; what it calls accuracy is the mean Jaccard index.

    The defaults are a compromise, found by cross-validation on the training parts of the paper's eleven data sets and
    on composite digits. ``alpha``, ``threshold`` and ``n_components`` are worth tuning.

    Attributes
    ----------
    decomposition_ : Decomposition
        The training data taken apart; in the scale that ``scaling`` gives them.
    components_ : tuple of ndarrays of shape (r_i, n_features_in_)
        The subspace of each label.
    classes_ : ndarray of shape (n_labels,)
        Column names of ``y`` if it was a DataFrame, else column numbers; the classes if the target was 1-D.
    n_iter_ : int
        Training sweeps.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if ``X`` was a DataFrame with string column names.

    Examples
    --------
    >>> from sdgs import SDGSClassifier
    >>> from sdgs.datasets import make_composite_digits
    >>> train = make_composite_digits(2000, max_labels=2, subset="train", random_state=0)
    >>> test = make_composite_digits(500, max_labels=2, subset="test", random_state=1)
    >>> model = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    >>> model.predict(test.X).shape
    (500, 10)
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = 6,
        *,
        residual_size: int | float = 1e-4,
        alpha: float = 0.2,
        threshold: float = 0.1,
        scaling: str | None = "rows",
        solver: str = "brp",
        max_iter: int = 100,
        tol: float = 1e-2,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.residual_size = residual_size
        self.alpha = alpha
        self.threshold = threshold
        self.scaling = scaling
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the subspace of every label.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,)
            Label matrix, or one class a sample. A dense matrix with one column is taken for the latter, as everywhere
            in scikit-learn; a DataFrame or a sparse matrix with one column is a label matrix.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._check_X(X, reset=True)
        labels = self._check_y(X, y)
        self.decomposition_ = decompose(
            self._scaled(X),
            labels,
            n_components=self.n_components,
            residual_size=self.residual_size,
            solver=self.solver,  # type: ignore[arg-type]  # checked by decompose
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
        self.components_ = self.decomposition_.components
        self.n_iter_ = self.decomposition_.n_iter
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Evidence for each label: the l1 norm of its part of a sample's code.

        Returns
        -------
        ndarray of shape (n, k)
            For a 1-D target with two classes shape (n,): the evidence for the second less that for the first.
        """
        scores = self._encode(X).l1_norms()
        if self._one_class_a_sample and scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    def predict(self, X: Any) -> Any:
        """Labels of each sample, in the form in which ``fit`` got them.

        Returns
        -------
        ndarray, csr_array or DataFrame of shape (n, k), or ndarray of shape (n,)
            0/1 with the dtype of ``y``; CSR if ``y`` was sparse; a DataFrame with the columns and dtypes of ``y`` (and
            the index of ``X`` if it is a DataFrame) if ``y`` was a DataFrame. For a 1-D target the class with the most
            evidence.
        """
        scores = self.decision_function(X)
        if self._one_class_a_sample:
            best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
            return self.classes_[best]
        positive = (scores >= self.threshold).astype(self._label_dtype)
        if self._label_columns is not None:
            import pandas as pd

            index = X.index if isinstance(X, pd.DataFrame) else None
            return pd.DataFrame(positive, index=index, columns=self._label_columns.index).astype(self._label_columns)
        return csr_array(positive) if self._sparse_labels else positive

    def contributions(self, X: Any, labels: Any = None) -> NDArray[Any]:
        """What each label contributes to each sample, in the units of ``X``.

        The sample is taken apart over the subspaces of its labels alone, by least squares: the code that the labels are
        read from is shrunk towards zero by ``alpha``, these parts are not. ``X - contributions(X).sum(axis=1)`` is the
        residual, what those labels do not explain. Meant for a look at some samples: the result is dense.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        labels : array-like or sparse of shape (n, k) with 0 and 1, or array-like of shape (n,), optional
            The labels to take each sample apart into; for a model of a 1-D target also one class a sample. Default:
            the predicted labels, and for a 1-D target every class with any evidence.

        Returns
        -------
        ndarray of shape (n, k, p)
        """
        check_is_fitted(self)
        features = self._check_X(X, reset=False)
        n, k = features.shape[0], len(self.components_)
        if labels is None:
            least = np.finfo(np.float32).tiny if self._one_class_a_sample else self.threshold
            chosen = self._encode(X).l1_norms() >= least
        else:
            if self._one_class_a_sample and np.ndim(labels) == 1:
                labels = np.asarray(labels)[:, None] == self.classes_
            chosen = check_labels(labels, n_samples=n, name="labels", some_positive=False).toarray()
            if chosen.shape[1] != k:
                raise ValueError(f"labels must have one column for each of the {k} labels, got {chosen.shape[1]}.")
        parts = np.zeros((n, k, features.shape[1]), dtype=features.dtype)
        for row in range(n):
            mine = np.flatnonzero(chosen[row])
            sample = features[[row]].toarray()[0] if issparse(features) else features[row]
            parts[row, mine] = least_squares_parts(sample, [self.components_[i] for i in mine])
        return parts

    def _check_parameters(self) -> None:
        """What ``decompose`` does not check; also before prediction, for ``set_params`` may have come in between."""
        check_choice(self.scaling, "scaling", ("rows", None))
        check_number(self.alpha, "alpha")
        check_number(self.threshold, "threshold", positive=True)
        check_n_jobs(self.n_jobs)

    def _encode(self, X: Any) -> GroupCodes:
        check_is_fitted(self)
        self._check_parameters()
        X = self._scaled(self._check_X(X, reset=False))
        tol = 1e-6 if X.dtype == np.float64 else 1e-5
        return group_lasso(X, self.components_, self.alpha, tol=tol, n_jobs=self.n_jobs)

    def _scaled(self, X: Any) -> Any:
        return X if self.scaling is None else unit_rows(X)[0]

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")

    def _check_y(self, X: Any, y: Any) -> Any:
        """The target as a label matrix; remembers its form for ``predict``."""
        if y is None:
            raise ValueError("SDGSClassifier requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        is_frame = hasattr(y, "columns") and hasattr(y, "iloc")
        self._label_columns = y.dtypes if is_frame else None  # a Series: the names, and a dtype for each
        self._sparse_labels = issparse(y)
        if is_frame and not y.columns.is_unique:
            raise ValueError("y has columns of the same name. Rename them: each is a label.")
        if not self._sparse_labels:
            y = y.to_numpy() if is_frame else np.asarray(y)
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
            return csr_array((np.ones(codes.size), (np.arange(codes.size), codes)))
        labels = check_labels(y, n_samples=X.shape[0], name="y")
        self._label_dtype = np.dtype(np.int64) if y.dtype == object else y.dtype
        self.classes_ = np.arange(labels.shape[1])
        if self._label_columns is not None:
            self.classes_ = np.empty(labels.shape[1], dtype=object)
            self.classes_[:] = list(self._label_columns.index)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        # The labels are read out as in the paper, by a fixed threshold and without the signs of the code.
        tags.classifier_tags.poor_score = True
        return tags
