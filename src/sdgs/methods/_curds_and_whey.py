"""Curds and whey: regressions of all labels, shrunk together in canonical coordinates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sdgs._utils._validation import check_choice, check_number
from sdgs.methods._centred_svd import CentredSVD, centred_svd
from sdgs.methods._centring import centred_labels
from sdgs.methods._linear_method import LinearMethod
from sdgs.methods._path_search import PathSearch, check_grid
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields

Array = NDArray[np.float64]

SHRINKAGES = ("gcv", "population")


@dataclass(frozen=True, eq=False)
class CurdsAndWheyCoordinates:
    """The solution in the coordinates of the right singular vectors V of X.

    Attributes
    ----------
    coef : ndarray of shape (q, k)
        The coefficients are V coef.
    correlations : ndarray of shape (m,)
        c, the canonical correlations, the largest first.
    shrinkage : ndarray of shape (m,)
        d, the factor of each canonical coordinate.
    """

    coef: Array
    correlations: Array
    shrinkage: Array


def curds_and_whey(
    s: Array, targets: Array, Y: Array, n: int | float, alpha: float, shrinkage: str
) -> CurdsAndWheyCoordinates:
    """The method of :class:`CurdsAndWhey`, from a decomposition A diag(s) V^T of centred samples.

    ``targets`` is A^T Y for centred targets Y of n samples, or of samples whose weights sum to n. Only their range is
    used, in which their covariance is regular.
    """
    t, F = _range_of(Y.T @ Y, Y.shape[0])
    N = targets @ (F / t)  # A^T E for Y = E diag(t) F^T
    hat = s**2 / (s**2 + alpha)  # eigenvalues of the hat matrix
    r = float(hat.sum()) / n
    _, c, Wt = np.linalg.svd(np.sqrt(hat)[:, None] * N, full_matrices=False)
    c = np.minimum(c, 1.0)
    squares = ((hat[:, None] * (N @ Wt.T)) ** 2).sum(axis=0)  # of the fitted canonical coordinates
    d = _population_shrinkage(c**2, r) if shrinkage == "population" else _gcv_shrinkage(c**2, squares, r)
    coef = (s / (s**2 + alpha))[:, None] * (N @ (Wt.T * d) @ Wt @ (F * t).T)
    return CurdsAndWheyCoordinates(coef, c, d)


def _range_of(gram: Array, n: int) -> tuple[Array, Array]:
    """The singular values of Y that are not negligible, and the right singular vectors, from Y^T Y."""
    values, vectors = eigh(gram)
    kept = values > values[-1] * max(n, len(gram)) * np.finfo(np.float64).eps
    return np.sqrt(values[kept]), vectors[:, kept]


def _population_shrinkage(c2: Array, r: float) -> Array:
    return np.asarray(c2 / np.maximum(c2 + r * (1 - c2), np.finfo(np.float64).tiny))


def _gcv_shrinkage(c2: Array, squares: Array, r: float) -> Array:
    """The regression of y on (H y - r y) / (1 - r), the prediction for samples that are left out, for unit y.

    c2 is y^T H y, and ``squares`` is ||H y||^2, which for least squares is the same.
    """
    denominator = squares - 2 * r * c2 + r**2
    return np.maximum((1 - r) * (c2 - r), 0) / np.maximum(denominator, np.finfo(np.float64).tiny)


class _CurdsAndWheyMethod(LinearMethod):
    """What fits with given and with chosen parameters share."""

    _stored_attributes: ClassVar[Fields] = {
        "canonical_correlations_": ArrayField("f", ("m",)),
        "shrinkage_": ArrayField("f", ("m",)),
    }

    shrinkage: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.shrinkage, "shrinkage", SHRINKAGES)

    def _solve(self, X: Any, labels: Any, sample_weight: Any, alpha: float) -> None:
        decomposition = centred_svd(X, sample_weight)
        Y, Y_mean = centred_labels(labels, sample_weight)
        if alpha == 0 and Y.any():
            _check_that_samples_suffice(decomposition)
        s, targets = decomposition.singular_values, decomposition.left_product(Y)
        solution = curds_and_whey(s, targets, Y, decomposition.n_samples, alpha, self.shrinkage)
        self._set_linear(decomposition.right_product(solution.coef), decomposition.mean, Y_mean)
        self.canonical_correlations_, self.shrinkage_ = solution.correlations, solution.shrinkage


def _check_that_samples_suffice(decomposition: CentredSVD) -> None:
    n, q = decomposition.n_samples, decomposition.singular_values.size
    if q >= n - 1 > 0:
        raise ValueError(
            f"CurdsAndWhey without a ridge penalty needs more samples than features: {n:g} samples have {q} "
            "independent features, which fit any labels. Set alpha to a positive number."
        )


class CurdsAndWhey(_CurdsAndWheyMethod):
    r"""Curds and whey (Breiman and Friedman, 1997): regressions whose fits are shrunk by canonical correlations.

    Least squares of each label, as 0 and 1, gives scores h(x). In canonical coordinates T y of the labels, which are
    uncorrelated, each coordinate is shrunk by a factor d that depends on how well it is predicted. With the means m of
    the labels, the corrected scores are

    .. math:: f(x) = m + T^{-1} \operatorname{diag}(d) \, T (h(x) - m)

    With canonical correlation c, and r the share of features per sample,

    .. math:: d = \frac{c^2}{c^2 + r (1 - c^2)} \quad \text{or} \quad
              d = \max\left(0, \frac{(1 - r) (c^2 - r)}{(1 - r)^2 c^2 + r^2 (1 - c^2)}\right)

    for ``"population"`` and ``"gcv"``. A label is predicted if its score is above ``threshold``. Use it if there are
    many more samples than features; with few, regularise it by ``alpha``.

    Parameters
    ----------
    shrinkage : {"gcv", "population"}, default="gcv"
        The factors by generalised cross-validation, which the authors recommend, or those of an infinite population.
    alpha : float, default=0.0
        Penalty of ridge regressions in place of least squares, necessary if there are not more samples than features.
        Then r is the trace of the hat matrix H divided by n, and :math:`c^2` is :math:`y^T H y` for a canonical
        coordinate of norm 1. d by ``"gcv"`` may exceed 1 then, because ridge regressions are shrunk already.
    threshold : float, default=0.5

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (m,)
        The largest first.
    shrinkage_ : ndarray of shape (m,)
        d of each.
    coef_ : ndarray of shape (k, p)
        Scores are ``X @ coef_.T + intercept_``.
    intercept_ : ndarray of shape (k,)
    classes_ : ndarray of shape (k,)

    See Also
    --------
    CurdsAndWheyCV : Chooses the penalty by cross-validation.

    Notes
    -----
    The cost is that of a singular value decomposition of X; for sparse X of an eigendecomposition of :math:`X X^T`
    or :math:`X^T X`, whichever is smaller. The features' scale matters only with ``alpha``.

    References
    ----------
    L. Breiman and J. H. Friedman: Predicting multivariate responses in multiple linear regression. Journal of the Royal
    Statistical Society B 59(1), 1997.

    Examples
    --------
    >>> from sdgs.datasets import make_composite_digits
    >>> from sdgs.methods import CurdsAndWhey
    >>> train = make_composite_digits(500, max_labels=2, subset="train", random_state=0)
    >>> CurdsAndWhey().fit(train.X, train.Y).shrinkage_.round(2)[[0, -1]]
    array([0.99, 0.76])
    """

    def __init__(self, shrinkage: str = "gcv", *, alpha: float = 0.0, threshold: float = 0.5) -> None:
        self.shrinkage = shrinkage
        self.alpha = alpha
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.alpha, "alpha")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        self._solve(X, labels, sample_weight, self.alpha)


class CurdsAndWheyCV(_CurdsAndWheyMethod, PathSearch):
    """:class:`CurdsAndWhey` with the ridge penalty found by cross-validation.

    One decomposition of the samples of each fold serves all penalties.

    Parameters
    ----------
    shrinkage : {"gcv", "population"}, default="gcv"
    alphas : float or sequence of floats, default=(0.01, 0.1, 1.0, 10.0, 100.0)
        Positive.
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
        The chosen penalty, as :class:`CurdsAndWhey` takes it.
    best_score_ : float
        The mean of the metric over the folds; negative for ``"hamming_loss"`` and ``"squared_error"``.
    cv_results_ : dict
        ``params`` and ``score`` of all settings.
    canonical_correlations_, shrinkage_, coef_, intercept_, classes_
        As for :class:`CurdsAndWhey`.
    """

    def __init__(
        self,
        shrinkage: str = "gcv",
        *,
        alphas: float | Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
        metric: str = "f1",
        cv: Any = 5,
        threshold: float = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_grid(self.alphas, "alphas")

    def _fit_linear(self, X: Any, labels: Any, sample_weight: Any) -> None:
        settings = [{"alpha": alpha} for alpha in check_grid(self.alphas, "alphas")]

        def path(X_train: Any, train_labels: Any, weight: Any, X_test: Any) -> Iterator[Array]:
            decomposition = centred_svd(X_train, weight)
            Y, Y_mean = centred_labels(train_labels, weight)
            s, targets = decomposition.singular_values, decomposition.left_product(Y)
            coordinates, n = decomposition.project(X_test), decomposition.n_samples
            for setting in settings:
                yield coordinates @ curds_and_whey(s, targets, Y, n, setting["alpha"], self.shrinkage).coef + Y_mean

        best = self._choose(X, labels, sample_weight, settings, path)
        self._solve(X, labels, sample_weight, best["alpha"])
