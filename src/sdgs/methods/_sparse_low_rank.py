"""Multi-task learning with a sparse and a low-rank part, and its parameters by cross-validation."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._unobserved_labels import expected_labels, has_unobserved
from sdgs._utils._validation import check_int, check_number
from sdgs.methods._centred_svd import centred_svd, ridge_coordinates
from sdgs.methods._centring import Weights, centred_labels, column_means
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._path_search import PathSearch, check_grid
from sdgs.methods._sparse_low_rank_solver import (
    LeastSquares,
    SparseLowRankCoefficients,
    least_squares,
    observed_least_squares,
    sparse_low_rank,
)
from sdgs.persistence.codecs._stored_fields import INTEGER, NUMBER, ArrayField, Fields

Array = NDArray[np.float64]

# Gap at which solutions on folds stop: on four training sets this chose the same setting as 1e-4, or one as good.
_SEARCH_TOL = 1e-2

# Share of the largest useful gamma. In cross-validation on ten training sets it was the best of 0.003, 0.01 and 0.03 on
# three; on average 0.003 was better by 1.5 points of F1, but takes several times as many iterations.
_AUTO_GAMMA = 0.01


class _SparseLowRankMethod(LinearMethod):
    """What fits with given and with chosen parameters share."""

    _stored_attributes: ClassVar[Fields] = {
        "gamma_": NUMBER,
        "sparse_coef_": ArrayField("f", ("k", "p")),
        "low_rank_coef_": ArrayField("f", ("k", "p")),
        "objective_": NUMBER,
        "dual_gap_": NUMBER,
        "n_iter_": INTEGER,
    }

    _accepts_unobserved_labels = True
    tol: float
    max_iter: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.tol, "tol", positive=True)
        check_int(self.max_iter, "max_iter", minimum=1)

    def _solve(self, X: Any, labels: Any, sample_weight: Any, gamma: float | None, tau: float) -> None:
        problem, intercepts = _regression(X, labels, sample_weight)
        self.gamma_ = _AUTO_GAMMA * problem.largest_gamma if gamma is None else float(gamma)
        solution = sparse_low_rank(problem, self.gamma_, tau, tol=self.tol, max_iter=self.max_iter)
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not reach a duality gap of tol={self.tol} times the squared norm of the "
                f"centred labels within max_iter={self.max_iter} (gap: {solution.gap:.1e}, objective: "
                f"{solution.objective:.4g}). Raise max_iter or tol, or scale X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        W = solution.sparse + solution.low_rank
        self.coef_, self.intercept_ = np.ascontiguousarray(W.T), intercepts(W)
        self.sparse_coef_, self.low_rank_coef_ = solution.sparse.T, solution.low_rank.T
        self.objective_, self.dual_gap_, self.n_iter_ = solution.objective, solution.gap, solution.n_iter


class SparseLowRank(_SparseLowRankMethod):
    r"""Low-rank + sparse multi-task learning (Chen, Liu and Ye, 2010).

    Least squares on 0 and 1 with coefficients W = P + Q. The sparse part P has the features that are particular to a
    label, the low-rank part Q what labels share. With X and Y centred,

    .. math:: \min_{P, Q} \; \|X (P + Q) - Y\|_F^2 + \gamma \|P\|_1 \quad \text{s.t.} \quad \|Q\|_* \le \tau

    A label is predicted if its score is above ``threshold``. Often the best linear method for text and other data with
    many features. Scale the samples first, as for any penalised regression.

    Parameters
    ----------
    gamma : float or "auto", default="auto"
        Weight of the sparse part's penalty, positive. P is zero from ``2 max |X.T @ Y|`` on, for centred X and Y;
        ``"auto"`` is 1 % of this. It grows with the number of samples.
    tau : float, default=1.0
        Bound of the trace norm (the sum of the singular values) of the low-rank part. With 0 the method is the lasso.
    threshold : float, default=0.5
    tol : float, default=1e-4
        Duality gap at which the solver stops, relative to the squared norm of the centred labels.
    max_iter : int, default=5000

    Attributes
    ----------
    gamma_ : float
    coef_ : ndarray of shape (k, p)
        The sum of both parts. Scores are ``X @ coef_.T + intercept_``.
    sparse_coef_, low_rank_coef_ : ndarray of shape (k, p)
    intercept_ : ndarray of shape (k,)
    objective_ : float
    dual_gap_ : float
        The objective is at most this far from its minimum. A ``ConvergenceWarning`` says if it exceeds ``tol``.
    n_iter_ : int
    classes_ : ndarray of shape (k,)

    See Also
    --------
    SparseLowRankCV : Chooses both parameters by cross-validation.

    Notes
    -----
    An accelerated proximal gradient method. An iteration takes two products of X with a (p, k) matrix, or one of
    ``X.T @ X`` if there are more samples than features, and an eigendecomposition of a (k, k) matrix.

    Labels may be unobserved (NaN in ``y``): the squared errors are those of the observed labels, for which X and Y are
    centred label by label, and an iteration takes two products of X. ``dual_gap_`` is as exact as with complete labels.

    References
    ----------
    J. Chen, J. Liu and J. Ye: Learning incoherent sparse and low-rank patterns from multiple tasks. ACM Transactions on
    Knowledge Discovery from Data 5(4), 2012.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import SparseLowRank
    >>> train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    >>> model = SparseLowRank(gamma=3, tau=1).fit(train.X / 16, train.Y)
    >>> float(round(model.objective_, 1)), model.dual_gap_ < 0.1
    (187.5, True)
    """

    def __init__(
        self,
        gamma: float | str = "auto",
        tau: float = 1.0,
        *,
        threshold: float = 0.5,
        tol: float = 1e-4,
        max_iter: int = 5000,
    ) -> None:
        self.gamma = gamma
        self.tau = tau
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.gamma != "auto":
            check_number(self.gamma, "gamma", positive=True)
        check_number(self.tau, "tau")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        self._solve(X, labels, sample_weight, None if isinstance(self.gamma, str) else self.gamma, self.tau)


class SparseLowRankCV(_SparseLowRankMethod, PathSearch):
    """:class:`SparseLowRank` with both parameters found by cross-validation.

    Both are given as shares of natural scales, so that one grid serves all data. On each fold the products of X are
    prepared once, and each solution is the start for the next.

    Parameters
    ----------
    gammas : float or sequence of floats, default=(0.1, 0.03, 0.01, 0.003)
        Shares of the smallest ``gamma`` for which the sparse part alone is zero.
    taus : float or sequence of floats, default=(0.1, 0.25, 0.5, 1)
        Shares of the trace norm of the ridge coefficients whose penalty is the mean squared norm of centred samples.
    metric : str, default="f1"
        What the search maximises: ``"f1"``, ``"accuracy"``, ``"micro_f1"``, ``"macro_f1"`` or ``"subset_accuracy"`` of
        the predicted labels (:mod:`sdgs.metrics`); or minimises: ``"hamming_loss"``, or ``"squared_error"``, the mean
        squared error of the scores.
    cv : int, splitter or list of splits, default=5
        The folds: a number, a splitter of scikit-learn or of :mod:`sdgs.model_selection`, or pairs of arrays with
        training and test rows, which predict each sample at most once.
    threshold, tol, max_iter
        As for :class:`SparseLowRank`.
    random_state : int, RandomState instance or None, default=None
        For the folds.
    n_jobs : int or None, default=None
        Folds that are computed at the same time.

    Attributes
    ----------
    gamma_, tau_ : float
        The chosen parameters, as :class:`SparseLowRank` takes them.
    best_params_ : dict
        The same as shares.
    best_score_ : float
        The mean of the metric over the folds; negative for ``"hamming_loss"`` and ``"squared_error"``.
    cv_results_ : dict
        ``params`` and ``score`` of all settings.
    coef_, sparse_coef_, low_rank_coef_, intercept_, objective_, dual_gap_, n_iter_, classes_
        As for :class:`SparseLowRank`.
    """

    _stored_attributes: ClassVar[Fields] = {"tau_": NUMBER}

    def __init__(
        self,
        *,
        gammas: float | Sequence[float] = (0.1, 0.03, 0.01, 0.003),
        taus: float | Sequence[float] = (0.1, 0.25, 0.5, 1.0),
        metric: str = "f1",
        cv: Any = 5,
        threshold: float = 0.5,
        tol: float = 1e-4,
        max_iter: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.gammas = gammas
        self.taus = taus
        self.metric = metric
        self.cv = cv
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_grid(self.gammas, "gammas")
        check_grid(self.taus, "taus", positive=False)

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        # From simple to complex, so that each solution is a good start for the next.
        gammas = sorted(check_grid(self.gammas, "gammas"), reverse=True)
        taus = sorted(check_grid(self.taus, "taus", positive=False))
        settings = [{"gamma": gamma, "tau": tau} for tau, gamma in product(taus, gammas)]
        problem, _ = _regression(X, labels, sample_weight)
        scale = ridge_trace_norm(X, labels, sample_weight)

        def path(X_train: Any, train_labels: Any, weight: Any, X_test: Any) -> Iterator[NDArray[np.float64]]:
            fold, intercepts = _regression(X_train, train_labels, weight)
            solution = None
            for setting in settings:
                solution = self._solve_setting(fold, setting, scale, solution)
                W = solution.sparse + solution.low_rank
                yield np.asarray(X_test @ W + intercepts(W))

        best = self._choose(X, labels, sample_weight, settings, path)
        gamma, self.tau_ = _absolute(problem, best, scale)
        self._solve(X, labels, sample_weight, gamma, self.tau_)

    def _solve_setting(
        self, problem: LeastSquares, setting: Any, scale: float, start: SparseLowRankCoefficients | None
    ) -> SparseLowRankCoefficients:
        gamma, tau = _absolute(problem, setting, scale)
        tol = max(self.tol, _SEARCH_TOL)
        return sparse_low_rank(problem, gamma, tau, start=start, tol=tol, max_iter=self.max_iter)


def _regression(X: Any, labels: Any, sample_weight: Weights) -> tuple[LeastSquares, Callable[[Array], Array]]:
    """The sum of the squared errors of the observed labels; and from coefficients to the best intercepts."""
    if has_unobserved(labels):
        return observed_least_squares(X, labels.toarray(), sample_weight)
    X_mean = column_means(X, sample_weight)
    Y, Y_mean = centred_labels(labels, sample_weight)
    return least_squares(X, X_mean, Y, sample_weight), lambda W: Y_mean - X_mean @ W


def ridge_trace_norm(X: Any, labels: Any, sample_weight: Weights) -> float:
    """The trace norm of the ridge coefficients whose penalty is the mean squared norm of centred samples."""
    decomposition = centred_svd(X, sample_weight)
    s = decomposition.singular_values
    if s.size == 0:
        return 0.0
    penalty = float(s @ s) / decomposition.n_samples
    # Without its unobserved entries a label is at its mean there, which makes the coefficients somewhat smaller.
    Y, _ = centred_labels(expected_labels(labels, sample_weight), sample_weight)
    return float(np.linalg.norm(ridge_coordinates(s, decomposition.left_product(Y), penalty), ord="nuc"))


def _absolute(problem: LeastSquares, setting: Any, scale: float) -> tuple[float, float]:
    """Both parameters for a problem, from shares of gamma's largest useful value and of ``scale``."""
    return setting["gamma"] * problem.largest_gamma, setting["tau"] * scale
