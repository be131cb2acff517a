"""The estimator: checks its parameters, and calls the two stages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sdgs._base import MultiLabelClassifier
from sdgs._rows import unit_rows
from sdgs._validation import check_choice, check_labels, check_n_jobs, check_number
from sdgs.coding import GroupCodes, group_lasso, least_squares_parts
from sdgs.decomposition import decompose


class SDGSClassifier(OneToOneFeatureMixin, TransformerMixin, MultiLabelClassifier):
    r"""Multi-label classification by structured decomposition and group sparsity (SDGS).

    Training takes the data apart into one low-rank component a label and a sparse residual (:func:`sdgs.decompose`);
    the row space of a component is the label's subspace. A new sample is coded over all subspaces with as few of them
    as possible (:func:`sdgs.group_lasso`); the labels whose part of the code has an l1 norm of at least ``threshold``
    are predicted.

    Samples may be dirty. NaN, in training and in prediction, is an entry that was not observed; nothing is imputed for
    it. With ``huber`` a sample has a sparse residual at prediction as well, so that corrupted entries do little harm.
    ``transform`` gives the samples cleaned of both.

    Parameters
    ----------
    n_components : int or sequence of ints, default=6
        Dimension of a label's subspace, for all labels or for each (r).
    residual_size : int or float, default=1e-4
        Non-zero entries of the residual in training: a number, or a share of all entries (K).
    alpha : float, default=0.2
        Weight of the group penalty in prediction (lambda). For rows of unit norm 0.05 to 0.45 is sensible: the larger,
        the fewer labels, and at 1 there are none.
    huber : float or None, default=None
        Weight of the residual at prediction (mu): entries that a sample's code misses by more than this count by their
        sign and no longer by their size. For rows of unit norm a good value is somewhat above the size of a usual
        entry's noise, and below ``alpha``. None is the paper's prediction, without a residual.
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

    _missing_values = True

    def __init__(
        self,
        n_components: int | Sequence[int] = 6,
        *,
        residual_size: int | float = 1e-4,
        alpha: float = 0.2,
        huber: float | None = None,
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
        self.huber = huber
        self.threshold = threshold
        self.scaling = scaling
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, labels: Any) -> None:
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

    def _scores(self, X: Any) -> NDArray[Any]:
        """The l1 norm of each label's part of a sample's code."""
        return self._codes(self._scaled(X)).l1_norms()

    def _codes(self, X: Any) -> GroupCodes:
        tol = 1e-6 if X.dtype == np.float64 else 1e-5
        return group_lasso(X, self.components_, self.alpha, huber=self.huber, tol=tol, n_jobs=self.n_jobs)

    def _positive(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(scores >= self.threshold)

    def transform(self, X: Any) -> Any:
        """Samples cleaned: corrupted entries corrected by ``huber``'s residual, missing ones filled in by the code.

        With complete samples and without ``huber`` it changes nothing. For other estimators that take no dirty data.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)

        Returns
        -------
        ndarray or csr_array of shape (n, p)
            In the units of ``X``; sparse if ``X`` is.
        """
        check_is_fitted(self)
        self._check_parameters()
        features = self._check_X(X, reset=False)
        x, norms = unit_rows(features) if self.scaling == "rows" else (features, np.ones(features.shape[0]))
        missing = np.isnan(x.data if issparse(x) else x)
        if self.huber is None and not missing.any():
            return features.copy()
        result = self._codes(x)
        C = np.vstack(self.components_)
        if issparse(x):
            row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))[missing]
            codes = result.codes[row].toarray() if row.size else np.zeros((0, C.shape[0]))
            x.data[missing] = np.einsum("ij,ji->i", codes, C[:, x.indices[missing]])
        else:
            x = np.where(missing, result.codes @ C, x)
        if result.residual is not None:
            x = x - result.residual if issparse(x) else x - result.residual.toarray()
        cleaned = csr_array(x * norms[:, None]) if issparse(x) else x * norms[:, None]
        return cleaned.astype(features.dtype)

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
        self._check_parameters()
        features = self._check_X(X, reset=False)
        n, k = features.shape[0], len(self.components_)
        if labels is None:
            scores = self._scores(features)
            chosen = scores > 0 if self._one_class_a_sample else self._positive(scores)
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
        if self.huber is not None:
            check_number(self.huber, "huber", positive=True)
        check_number(self.threshold, "threshold", positive=True)
        check_n_jobs(self.n_jobs)

    def _scaled(self, X: Any) -> Any:
        return X if self.scaling is None else unit_rows(X)[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The labels are read out as in the paper, by a fixed threshold and without the signs of the code.
        tags.classifier_tags.poor_score = True
        return tags
