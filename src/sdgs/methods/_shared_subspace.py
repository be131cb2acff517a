"""Shared-subspace learning in least-squares form, and its parameters by cross-validation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from sdgs._utils._validation import check_number
from sdgs.methods._centred_svd import centred_svd
from sdgs.methods._centring import centred_labels
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._path_search import PathSearch, check_grid, check_n_components, check_ranks_to_try
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SharedSubspaceCoordinates:
    """The solution in the coordinates of the right singular vectors V of X.

    Attributes
    ----------
    coef : ndarray of shape (q, k)
        The coefficients are U = V coef.
    basis : ndarray of shape (q, r)
        The shared subspace is spanned by the orthonormal columns of V basis.
    """

    coef: Array
    basis: Array


def shared_subspaces(
    s: Array, targets: Array, n: int | float, alpha: float, beta: float, ranks: Sequence[int]
) -> Iterator[SharedSubspaceCoordinates]:
    r"""For each rank the global minimum of the problem of :class:`SharedSubspace`.

    ``s`` are the singular values of n centred samples, or of samples whose weights sum to n, ``targets`` the
    coordinates A^T Y of the targets in their left singular vectors. With e = s^2 / n the optimal subspace is that of
    the leading left singular vectors of diag(s / sqrt((e + beta)(e + alpha + beta))) A^T Y, times
    diag(sqrt((e + alpha + beta) / (e + beta))).
    """
    e = s**2 / n
    shrunk, full = e + beta, e + alpha + beta
    directions = np.linalg.svd((s / np.sqrt(shrunk * full))[:, None] * targets, full_matrices=False)[0]
    # The leading columns of an orthonormal basis are a basis of the leading columns: one for all ranks.
    basis = np.linalg.qr(np.sqrt(full / shrunk)[:, None] * directions)[0]
    own = (s / (n * full))[:, None] * targets  # the solution without a subspace
    for rank in ranks:
        T = basis[:, :rank]
        # Woodbury for (diag(full) - alpha T T^T)^-1, with I - alpha T^T diag(1 / full) T free of cancellation.
        inner = T.T @ ((shrunk / full)[:, None] * T)
        correction = T @ solve(inner, T.T @ own, assume_a="pos") if T.shape[1] else 0.0
        yield SharedSubspaceCoordinates(own + (alpha / full)[:, None] * correction, T)


class _SharedSubspaceMethod(LinearMethod):
    """What fits with given and with chosen parameters share."""

    _stored_attributes: ClassVar[Fields] = {"components_": ArrayField("f", ("r", "p"))}

    def _solve(self, X: Any, labels: Any, sample_weight: Any, rank: int, alpha: float, beta: float) -> None:
        decomposition = centred_svd(X, sample_weight)
        Y, Y_mean = centred_labels(labels, sample_weight)
        s, targets = decomposition.singular_values, decomposition.left_product(Y)
        solution = next(shared_subspaces(s, targets, decomposition.n_samples, alpha, beta, [rank]))
        self._set_linear(decomposition.right_product(solution.coef), decomposition.mean, Y_mean)
        self.components_ = decomposition.right_product(solution.basis).T


class SharedSubspace(_SharedSubspaceMethod):
    r"""Shared-subspace learning (Ji, Tang, Yu and Ye, 2010), for the squared loss.

    The coefficients of each label are a vector in a subspace of the features that all labels share, plus one of its
    own. With X and Y centred,

    .. math:: \min_{U, V, \Theta} \; \tfrac1n \|X U - Y\|_F^2 + \alpha \|U - \Theta^T V\|_F^2 + \beta \|U\|_F^2
              \quad \text{s.t.} \quad \Theta \Theta^T = I

    has a closed-form solution. A label is predicted if its score is above ``threshold``. Scale the samples first.

    Parameters
    ----------
    n_components : int or float, default=0.75
        Dimensions r of the subspace: a number, or a share of the labels. With as many as labels ``alpha`` has no
        effect, and the method is ridge regression.
    alpha : float, default=1.0
        Penalty of the part outside the subspace. 0 is ridge regression with penalty n beta; for large values the method
        approaches :class:`ReducedRankRidge`.
    beta : float, default=1e-4
        Penalty of the whole, positive.
    threshold : float, default=0.5

    Attributes
    ----------
    coef_ : ndarray of shape (k, p)
        Scores are ``X @ coef_.T + intercept_``.
    intercept_ : ndarray of shape (k,)
    components_ : ndarray of shape (r, p)
        Theta: orthonormal rows, those that matter most first.
    classes_ : ndarray of shape (k,)

    See Also
    --------
    SharedSubspaceCV : Chooses all parameters by cross-validation.

    Notes
    -----
    The cost is that of a singular value decomposition of X; for sparse X of an eigendecomposition of :math:`X X^T`
    or :math:`X^T X`, whichever is smaller.

    References
    ----------
    S. Ji, L. Tang, S. Yu and J. Ye: A shared-subspace learning framework for multi-label classification. ACM
    Transactions on Knowledge Discovery from Data 4(2), 2010.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import SharedSubspace
    >>> train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    >>> SharedSubspace(6).fit(train.X / 16, train.Y).components_.shape
    (6, 64)
    """

    def __init__(
        self,
        n_components: int | float = 0.75,
        *,
        alpha: float = 1.0,
        beta: float = 1e-4,
        threshold: float = 0.5,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_components(self.n_components, 1)
        check_number(self.alpha, "alpha")
        check_number(self.beta, "beta", positive=True)

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        rank = check_n_components(self.n_components, labels.shape[1])
        self._solve(X, labels, sample_weight, rank, self.alpha, self.beta)


class SharedSubspaceCV(_SharedSubspaceMethod, PathSearch):
    """:class:`SharedSubspace` with its parameters found by cross-validation.

    One decomposition of the samples of each fold serves all settings.

    Parameters
    ----------
    n_components : int, float or sequence of such, default=(0.25, 0.5, 0.75, 1.0)
        Dimensions of the subspace to choose from: numbers, or shares of the labels.
    alphas : float or sequence of floats, default=(0.1, 1.0, 10.0)
    betas : float or sequence of floats, default=(1e-5, 1e-4, 1e-3, 1e-2, 0.1)
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
        The chosen parameters, as :class:`SharedSubspace` takes them.
    best_score_ : float
        The mean of the metric over the folds; negative for ``"hamming_loss"`` and ``"squared_error"``.
    cv_results_ : dict
        ``params`` and ``score`` of all settings.
    coef_, intercept_, components_, classes_
        As for :class:`SharedSubspace`.
    """

    def __init__(
        self,
        *,
        n_components: int | float | Sequence[int | float] = (0.25, 0.5, 0.75, 1.0),
        alphas: float | Sequence[float] = (0.1, 1.0, 10.0),
        betas: float | Sequence[float] = (1e-5, 1e-4, 1e-3, 1e-2, 0.1),
        metric: str = "f1",
        cv: Any = 5,
        threshold: float = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alphas = alphas
        self.betas = betas
        self.metric = metric
        self.cv = cv
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranks_to_try(self.n_components, 1)
        check_grid(self.alphas, "alphas", positive=False)
        check_grid(self.betas, "betas")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        ranks = check_ranks_to_try(self.n_components, labels.shape[1])
        penalties = list(product(check_grid(self.alphas, "alphas", positive=False), check_grid(self.betas, "betas")))
        settings = [{"n_components": rank, "alpha": a, "beta": b} for a, b in penalties for rank in ranks]

        def path(X_train: Any, train_labels: Any, weight: Any, X_test: Any) -> Iterator[Array]:
            decomposition = centred_svd(X_train, weight)
            Y, Y_mean = centred_labels(train_labels, weight)
            s, targets, coordinates = (
                decomposition.singular_values,
                decomposition.left_product(Y),
                decomposition.project(X_test),
            )
            for alpha, beta in penalties:
                for solution in shared_subspaces(s, targets, decomposition.n_samples, alpha, beta, ranks):
                    yield coordinates @ solution.coef + Y_mean

        best = self._choose(X, labels, sample_weight, settings, path)
        self._solve(X, labels, sample_weight, best["n_components"], best["alpha"], best["beta"])
