"""Ridge regression with coefficients of limited rank: dimension reduction learnt jointly with the regression."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_number
from sdgs.methods._centred_svd import centred_svd, ridge_coordinates
from sdgs.methods._centring import centred_labels
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._path_search import PathSearch, check_grid, check_n_components, check_ranks_to_try
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields

Array = NDArray[np.float64]


def reduced_rank_ridges(s: Array, targets: Array, alpha: float, ranks: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """For each rank the ridge solution of at most that rank, in the coordinates of the right singular vectors V of X.

    ``s`` are the singular values of the centred samples, ``targets`` the coordinates A^T Y of the targets in their left
    singular vectors. Returns M (q, r) and R (k, r), of which the coefficients are V M R^T: those of ridge regression,
    projected on the leading right singular vectors R of diag(s / sqrt(s^2 + alpha)) A^T Y.
    """
    fitted = (s / np.sqrt(s**2 + alpha))[:, None] * targets
    R = np.linalg.svd(fitted, full_matrices=False)[2].T
    M = ridge_coordinates(s, targets, alpha) @ R
    for rank in ranks:
        yield M[:, :rank], R[:, :rank]


class _ReducedRankMethod(LinearMethod):
    """What fits with given and with chosen parameters share."""

    _stored_attributes: ClassVar[Fields] = {"components_": ArrayField("f", ("r", "p"))}

    def _solve(self, X: Any, labels: Any, sample_weight: Any, rank: int, alpha: float) -> None:
        decomposition = centred_svd(X, sample_weight)
        Y, Y_mean = centred_labels(labels, sample_weight)
        s, targets = decomposition.singular_values, decomposition.left_product(Y)
        M, R = next(reduced_rank_ridges(s, targets, alpha, [rank]))
        W = decomposition.right_product(M)
        self._set_linear(W @ R.T, decomposition.mean, Y_mean)
        self.components_ = np.linalg.qr(W)[0].T


class ReducedRankRidge(_ReducedRankMethod):
    r"""Linear dimensionality reduction learnt jointly with the labels' regressions (Ji and Ye, 2009).

    Least squares on 0 and 1 from a projection of the features that all labels share. With X and Y centred,

    .. math:: \min_{Q, W} \; \|X Q W - Y\|_F^2 + \alpha \|W\|_F^2 \quad \text{s.t.} \quad Q^T Q = I

    with Q (p, r) and W (r, k). It is the ridge regression of Y on X whose coefficients QW have rank r at most, and in
    closed form. In the literature on label embedding it is known as CPLST (see :class:`PLST`). A label is
    predicted if its score is above ``threshold``. Scale the samples first.

    Parameters
    ----------
    n_components : int or float, default=0.75
        The rank r: a number, or a share of the labels. With as many as labels it is ridge regression.
    alpha : float, default=1.0
        Ridge penalty, positive.
    threshold : float, default=0.5

    Attributes
    ----------
    coef_ : ndarray of shape (k, p)
        Scores are ``X @ coef_.T + intercept_``.
    intercept_ : ndarray of shape (k,)
    components_ : ndarray of shape (r, p)
        Q, transposed: orthonormal rows.
    classes_ : ndarray of shape (k,)

    See Also
    --------
    ReducedRankRidgeCV : Chooses rank and penalty by cross-validation.

    Notes
    -----
    The cost is that of a singular value decomposition of X; for sparse X of an eigendecomposition of :math:`X X^T`
    or :math:`X^T X`, whichever is smaller.

    References
    ----------
    S. Ji and J. Ye: Linear dimensionality reduction for multi-label classification. IJCAI 2009.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import ReducedRankRidge
    >>> train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    >>> ReducedRankRidge(6).fit(train.X / 16, train.Y).components_.shape
    (6, 64)
    """

    def __init__(self, n_components: int | float = 0.75, *, alpha: float = 1.0, threshold: float = 0.5) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_components(self.n_components, 1)
        check_number(self.alpha, "alpha", positive=True)

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        self._solve(X, labels, sample_weight, check_n_components(self.n_components, labels.shape[1]), self.alpha)


class ReducedRankRidgeCV(_ReducedRankMethod, PathSearch):
    """:class:`ReducedRankRidge` with rank and penalty found by cross-validation.

    One decomposition of the samples of each fold serves all settings.

    Parameters
    ----------
    n_components : int, float or sequence of such, default=(0.1, 0.25, 0.5, 0.75, 1.0)
        Ranks to choose from: numbers, or shares of the labels.
    alphas : float or sequence of floats, default=(0.01, 0.1, 1.0, 10.0, 100.0)
    metric : str, default="f1"
        What the search maximises: ``"f1"``, ``"accuracy"``, ``"micro_f1"``, ``"macro_f1"`` or ``"subset_accuracy"`` of
        the predicted labels (:mod:`sdgs.metrics`); or minimises: ``"hamming_loss"``, or ``"squared_error"``, the mean
        squared error of the scores.
    cv : int, splitter or list of splits, default=5
        The folds: a number, a splitter of scikit-learn or of :mod:`sdgs.model_selection`, or pairs of arrays with
        training and test rows, which predict each sample at most once.
    threshold : float, default=0.5
    random_state : int, RandomState instance or None, default=None
        For the folds.
    n_jobs : int or None, default=None
        Folds that are computed at the same time.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters, as :class:`ReducedRankRidge` takes them.
    best_score_ : float
        The mean of the metric over the folds; negative for ``"hamming_loss"`` and ``"squared_error"``.
    cv_results_ : dict
        ``params`` and ``score`` of all settings.
    coef_, intercept_, components_, classes_
        As for :class:`ReducedRankRidge`.
    """

    def __init__(
        self,
        *,
        n_components: int | float | Sequence[int | float] = (0.1, 0.25, 0.5, 0.75, 1.0),
        alphas: float | Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
        metric: str = "f1",
        cv: Any = 5,
        threshold: float = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranks_to_try(self.n_components, 1)
        check_grid(self.alphas, "alphas")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        ranks, alphas = check_ranks_to_try(self.n_components, labels.shape[1]), check_grid(self.alphas, "alphas")
        settings = [{"n_components": rank, "alpha": alpha} for alpha in alphas for rank in ranks]

        def path(X_train: Any, train_labels: Any, weight: Any, X_test: Any) -> Iterator[Array]:
            decomposition = centred_svd(X_train, weight)
            Y, Y_mean = centred_labels(train_labels, weight)
            s, targets = decomposition.singular_values, decomposition.left_product(Y)
            coordinates = decomposition.project(X_test)
            for alpha in alphas:
                for M, R in reduced_rank_ridges(s, targets, alpha, ranks):
                    yield coordinates @ M @ R.T + Y_mean

        best = self._choose(X, labels, sample_weight, settings, path)
        self._solve(X, labels, sample_weight, best["n_components"], best["alpha"])
