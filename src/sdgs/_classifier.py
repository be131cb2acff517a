"""The estimator: checks its parameters, and calls the two stages."""

import numbers
import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import expit, log_expit, softmax
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sdgs._base import MultiLabelClassifier
from sdgs._readout import Ridge, best_choice, cross_fitted, expected_f1_labels, ridge_path
from sdgs._rows import unit_rows
from sdgs._validation import check_choice, check_int, check_labels, check_n_jobs, check_number, check_seed, has_missing
from sdgs.coding import GroupCodes, cleaned_samples, group_lasso, least_squares_parts
from sdgs.decomposition import Decomposition, decompose

# What "auto" chooses from; for samples of unit norm.
_PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_HUBERS = (None, 0.1, 0.05)


def _reads_by_ridge(model: "SDGSClassifier") -> bool:
    if model.readout != "ridge":
        raise AttributeError('predict_proba needs readout="ridge".')
    return True


class SDGSClassifier(OneToOneFeatureMixin, TransformerMixin, MultiLabelClassifier):
    r"""Multi-label classification by structured decomposition and group sparsity (SDGS).

    Training takes the data apart into one low-rank component a label and a sparse residual (:func:`sdgs.decompose`);
    the row space of a component is the label's subspace. A new sample is coded over all subspaces with as few of them
    as possible (:func:`sdgs.group_lasso`), and the labels are read from the code: by a calibrated ridge regression, or
    as in the paper, where a label is predicted if its part of the code has an l1 norm of at least ``threshold``.

    Samples may be dirty. NaN, in training and in prediction, is an entry that was not observed; nothing is imputed for
    it. With ``huber`` a sample has a sparse residual at prediction as well, so that corrupted entries do little harm.
    ``transform`` gives the samples cleaned of both.

    Parameters
    ----------
    n_components : int or sequence of ints, default=4
        Dimension of a label's subspace, for all labels or for each (r).
    residual_size : int or float, default=1e-4
        Non-zero entries of the residual in training: a number, or a share of all entries (K).
    alpha : float, default=0.1
        Weight of the group penalty in prediction (lambda). For rows of unit norm 0.05 to 0.45 is sensible: the larger,
        the fewer labels have a part in the code, and at 1 none has.
    huber : float, "auto" or None, default=None
        Weight of the residual at prediction (mu): entries that a sample's code misses by more than this count by their
        sign and no longer by their size. For rows of unit norm a good value is somewhat above the size of a usual
        entry's noise, and below ``alpha``. None is the paper's prediction, without a residual. ``"auto"`` takes None,
        0.1 or 0.05, whichever has the best F1 in cross-validation, for dense samples; for sparse ones None.
    readout : {"ridge", "norm"}, default="ridge"
        How labels are read from the code. ``"ridge"``: by a ridge regression for all labels at once, from the code with
        its signs and the sample beside it, calibrated on training samples that it was not learnt from; takes ``cv`` + 1
        decompositions, and gives ``predict_proba``. ``"norm"``: as in the paper, by the l1 norm of a label's part of
        the code. Predicts worse.
    threshold : float, default=0.1
        For ``readout="norm"``: least l1 norm of a label's part of the code for the label to be predicted (delta).
    penalty : float or "auto", default="auto"
        For ``readout="ridge"``: the ridge penalty. ``"auto"`` takes from 0.1, 0.3, ..., 30 that with the best F1 in
        cross-validation.
    decision : {"f1", "hamming"}, default="f1"
        For ``readout="ridge"``: what the predicted set of labels should be best for, as far as the probabilities say.
        ``"f1"``: the F1 of each sample, see Notes. ``"hamming"``: the Hamming loss, so every label with a probability
        of at least one half.
    cv : int, default=3
        For ``readout="ridge"``: folds of the cross-validation.
    scaling : {"auto", "rows", None}, default="auto"
        ``"rows"`` brings every sample to unit Euclidean norm, in training and prediction; ``alpha``, ``huber``,
        ``threshold`` and ``penalty`` are made for that. ``"auto"`` does the same, and before it standardises the
        columns of dense features that have negative entries, such as measurements in different units; features without,
        such as counts and images, keep their meaning of a sum. None takes the data as they are.
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
        Threads that code samples, those of training and new ones.

    Notes
    -----
    After ``fit`` only ``decision``, ``n_jobs`` and, with ``readout="norm"``, ``alpha`` and ``threshold`` can be changed
    without fitting again. Columns are standardised by all training samples, also in the cross-validation.

    ``score`` is scikit-learn's, the share of samples whose labels are all right. :mod:`sdgs.metrics` has the paper's
    measures; what it calls accuracy is the mean Jaccard index.

    With ``decision="f1"`` there is no one threshold: of the sets of the m most probable labels of a sample, that with
    the largest :math:`2 \sum_{i \in set} p_i / (m + \sum_i p_i)` is taken, close to the expected F1. Every sample gets
    at least one label if all training samples had one.

    With ``readout="norm"`` ``alpha``, ``threshold`` and ``n_components`` are worth tuning; 6 components, ``alpha=0.2``
    and ``threshold=0.1`` were best on average in cross-validation on the training parts of the paper's data sets.

    Attributes
    ----------
    decomposition_ : Decomposition
        The training data taken apart; in the scale that ``scaling`` gives them.
    scaler_ : StandardScaler or None
        How columns are standardised, if ``scaling`` did.
    components_ : tuple of ndarrays of shape (r_i, n_features_in_)
        The subspace of each label.
    classes_ : ndarray of shape (n_labels,)
        Column names of ``y`` if it was a DataFrame, else column numbers; the classes if the target was 1-D.
    n_iter_ : int
        Training sweeps.
    huber_ : float or None
        The weight of the residual that is used.
    penalty_ : float
        The ridge penalty that was used; only with ``readout="ridge"``.
    uses_norms_ : bool
        Whether the ridge regression also reads the norms of the labels' parts of the code; only with
        ``readout="ridge"``. Chosen in cross-validation, as the penalty.
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
        n_components: int | Sequence[int] = 4,
        *,
        residual_size: int | float = 1e-4,
        alpha: float = 0.1,
        huber: float | str | None = None,
        readout: str = "ridge",
        threshold: float = 0.1,
        penalty: float | str = "auto",
        decision: str = "f1",
        cv: int = 3,
        scaling: str | None = "auto",
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
        self.readout = readout
        self.threshold = threshold
        self.penalty = penalty
        self.decision = decision
        self.cv = cv
        self.scaling = scaling
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, labels: Any) -> None:
        # One seed for all decompositions; an int is that of `decompose` itself.
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else check_seed(self.random_state)
        self.scaler_ = None
        if self.scaling == "auto" and not issparse(X) and np.nanmin(X, initial=0.0) < 0:
            self.scaler_ = _standardiser(X)
        # What the read-out was learnt with is what it must be used with, whatever set_params says later.
        self._alpha, self._unit_rows = self.alpha, self.scaling is not None
        X, _ = self._scaled(X)
        self.decomposition_ = self._decompose(X, labels, int(seed))
        self.components_ = self.decomposition_.components
        self.n_iter_ = self.decomposition_.n_iter
        self.huber_: float | None = None if isinstance(self.huber, str) else self.huber
        self._ridge: Ridge | None = None
        if self.readout == "ridge":
            self._fit_readout(X, labels, int(seed))

    def _decompose(self, X: Any, labels: Any, seed: int) -> Decomposition:
        return decompose(
            X,
            labels,
            n_components=self.n_components,
            residual_size=self.residual_size,
            solver=self.solver,  # type: ignore[arg-type]  # checked by decompose
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=seed,
        )

    def _fit_readout(self, X: Any, labels: Any, seed: int) -> None:
        Y, rows = labels.toarray().astype(np.float64), labels.tocsr()
        penalties = _PENALTIES if self.penalty == "auto" else (float(self.penalty),)
        # Entries of sparse data are words and the like: few, and none of them wild.
        candidates = (None,) if issparse(X) else _HUBERS
        hubers: tuple[float | None, ...] = candidates if self.huber == "auto" else (self.huber_,)
        # With and without the norms of the code, which are the last columns of the features.
        choices = list(product(range(len(hubers)), (Y.shape[1], 0), penalties))

        def features(train: NDArray[np.intp], test: NDArray[np.intp]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
            with warnings.catch_warnings():  # the decomposition of all rows says it once
                warnings.simplefilter("ignore", ConvergenceWarning)
                components = self._decompose(X[train], rows[train], seed).components
            return [tuple(self._features(X[part], components, huber) for part in (train, test)) for huber in hubers]  # type: ignore[misc]

        self._allow_none = bool((Y.sum(axis=1) == 0).any())
        scores = cross_fitted(features, Y, choices, self.cv, seed)
        best, self._calibration = best_choice(scores, Y, allow_none=self._allow_none)
        variant, left_out, self.penalty_ = choices[best]
        self.huber_, self.uses_norms_ = hubers[variant], left_out == 0
        (self._ridge,) = ridge_path(self._read_from(X), Y, [self.penalty_])

    def _read_from(self, X: Any) -> NDArray[np.float64]:
        Z = self._features(X, self.components_, self.huber_)
        return Z if self.uses_norms_ else Z[:, : Z.shape[1] - len(self.components_)]

    def _features(self, X: Any, components: tuple[NDArray[Any], ...], huber: float | None) -> NDArray[np.float64]:
        """What labels are read from: the sample, cleaned if there is anything to clean, its code, and the code's norms.

        The signs of the code say much where a label always pushes a sample the same way, as words do, and its norms
        where a label has no such direction. Where they are not needed norms only harm, so they can be left out.
        """
        result = self._codes(X, components, huber)
        cleaned = cleaned_samples(X, result, components)
        dense = cleaned.toarray() if issparse(cleaned) else cleaned
        return np.hstack([dense, result.codes.toarray(), result.l1_norms()]).astype(np.float64)

    def _scores(self, X: Any) -> NDArray[Any]:
        """The l1 norm of each label's part of a sample's code, or the log-odds of each label."""
        X, _ = self._scaled(X)
        if self.readout == "norm":
            return self._codes(X, self.components_, self.huber_).l1_norms()
        if self._ridge is None:
            raise NotFittedError('This model was fitted with readout="norm". Fit it again to read labels out by ridge.')
        scores = self._ridge.scores(self._read_from(X))
        return self._calibration.log_odds(scores).astype(X.dtype)

    def _codes(self, X: Any, components: tuple[NDArray[Any], ...], huber: float | None) -> GroupCodes:
        tol = 1e-6 if X.dtype == np.float64 else 1e-5
        alpha = self.alpha if self.readout == "norm" else self._alpha
        return group_lasso(X, components, alpha, huber=huber, tol=tol, n_jobs=self.n_jobs)

    def _positive(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        if self.readout == "norm":
            return np.asarray(scores >= self.threshold)
        if self.decision == "hamming":
            return np.asarray(scores >= 0)
        return expected_f1_labels(expit(scores), allow_none=self._allow_none)

    @available_if(_reads_by_ridge)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probability of each label; only with ``readout="ridge"``.

        Returns
        -------
        ndarray of shape (n, k)
            For a label matrix one probability a label, each on its own. For a 1-D target they sum to 1 in each row.
        """
        check_is_fitted(self)
        self._check_parameters()
        log_odds = self._scores(self._check_X(X, reset=False))
        if self._one_class_a_sample:
            return np.asarray(softmax(log_expit(log_odds), axis=1))
        return np.asarray(expit(log_odds))

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
        X, norms = self._scaled(features)
        if self.huber_ is None and not has_missing(X):
            return features.copy()
        cleaned = cleaned_samples(X, self._codes(X, self.components_, self.huber_), self.components_)
        if issparse(cleaned):
            return csr_array(cleaned * norms[:, None]).astype(features.dtype)
        cleaned = cleaned * norms[:, None]
        if self.scaler_ is not None:
            cleaned = self.scaler_.inverse_transform(cleaned)
        return cleaned.astype(features.dtype)

    def contributions(self, X: Any, labels: Any = None) -> NDArray[Any]:
        """What each label contributes to each sample, in the units of ``X``.

        The sample is taken apart over the subspaces of its labels alone, by least squares: the code that the labels are
        read from is shrunk towards zero by ``alpha``, these parts are not. ``X - contributions(X).sum(axis=1)`` is the
        residual, what those labels do not explain. Where columns were standardised (``scaler_`` is not None) the parts
        are of the sample less ``scaler_.mean_``. Meant for a look at some samples: the result is dense.

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
            some = self._one_class_a_sample and self.readout == "norm"
            chosen = scores > 0 if some else self._positive(scores)
        else:
            if self._one_class_a_sample and np.ndim(labels) == 1:
                labels = np.asarray(labels)[:, None] == self.classes_
            chosen = check_labels(labels, n_samples=n, name="labels", some_positive=False).toarray()
            if chosen.shape[1] != k:
                raise ValueError(f"labels must have one column for each of the {k} labels, got {chosen.shape[1]}.")
        features = self._standardised(features)
        parts = np.zeros((n, k, features.shape[1]), dtype=features.dtype)
        for row in range(n):
            mine = np.flatnonzero(chosen[row])
            sample = features[[row]].toarray()[0] if issparse(features) else features[row]
            parts[row, mine] = least_squares_parts(sample, [self.components_[i] for i in mine])
        return parts if self.scaler_ is None else parts * self.scaler_.scale_

    def _check_parameters(self) -> None:
        """What ``decompose`` does not check; also before prediction, for ``set_params`` may have come in between."""
        check_choice(self.scaling, "scaling", ("auto", "rows", None))
        check_number(self.alpha, "alpha")
        if self.huber == "auto" and self.readout == "norm":
            raise ValueError('huber="auto" needs readout="ridge": the choice is made on what that predicts.')
        if self.huber is not None and self.huber != "auto":
            check_number(self.huber, "huber", positive=True)
        check_choice(self.readout, "readout", ("norm", "ridge"))
        check_number(self.threshold, "threshold", positive=True)
        if self.penalty != "auto":
            check_number(self.penalty, "penalty", positive=True)
        check_choice(self.decision, "decision", ("f1", "hamming"))
        check_int(self.cv, "cv", minimum=2)
        check_n_jobs(self.n_jobs)

    def _scaled(self, X: Any) -> tuple[Any, NDArray[Any]]:
        """The samples as the method sees them, and the norms that they had before."""
        X = self._standardised(X)
        return unit_rows(X) if self._unit_rows else (X, np.ones(X.shape[0], dtype=X.dtype))

    def _standardised(self, X: Any) -> Any:
        if self.scaler_ is None:
            return X
        return self.scaler_.transform(X.toarray() if issparse(X) else X)  # training was dense

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The labels are read out as in the paper, by a fixed threshold and without the signs of the code.
        tags.classifier_tags.poor_score = self.readout == "norm"
        return tags


def _standardiser(X: NDArray[Any]) -> StandardScaler:
    """Of what was observed of each column; a column of which nothing was is left alone."""
    with np.errstate(all="ignore"):
        scaler = StandardScaler().fit(X)
    unknown = np.isnan(X).all(axis=0)
    scaler.mean_[unknown], scaler.scale_[unknown] = 0.0, 1.0
    if not np.isfinite(scaler.scale_).all():
        raise ValueError("X has columns whose variance overflows. Scale them down.")
    return scaler
