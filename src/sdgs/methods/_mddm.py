"""MDDM: a linear projection of the features that depends most on the labels."""

import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from sdgs._utils._sample_weight import check_sample_weight, drop_zero_weights
from sdgs._utils._validation import check_choice, check_distances, check_int, check_number
from sdgs.estimators._base import atomic_fit
from sdgs.estimators._label_target import LabelTarget
from sdgs.methods._centring import Weights, centre, column_means, scale_rows, total_weight
from sdgs.persistence.codecs._stored_fields import ArrayField, Fields

PROJECTIONS = ("uncorrelated", "orthonormal")
LABEL_KERNELS = ("linear", "cosine", "rbf")


class MDDM(LabelTarget, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Multi-label dimensionality reduction via dependence maximisation (Zhang and Zhou, 2010).

    Finds the projection that depends most on the labels, by the Hilbert-Schmidt independence criterion. With X centred,
    the centring matrix H and a kernel matrix L between the label sets of the samples, by default :math:`Y Y^T`,

    .. math:: \max_P \; \mathrm{tr}(P^T X^T H L H X P) \quad \text{s.t.} \quad
              P^T \left((1 - \mu) X^T X + \mu I\right) P = I

    keeps the projected features uncorrelated; the other variant keeps the directions orthonormal, :math:`P^T P = I`.
    The paper uses the former before :class:`MLkNN`, in a pipeline.

    Parameters
    ----------
    n_components : int or float, default=0.2
        Directions to keep: a number, or a share of the features. There are never more than the rank of the label
        kernel, with ``"linear"`` and ``"cosine"`` at most k, because further directions would be arbitrary.
    regularization : float, default=0.12
        mu, in (0, 1].
    projection : {"uncorrelated", "orthonormal"}, default="uncorrelated"
        With ``"orthonormal"`` ``regularization`` has no effect.
    label_kernel : {"linear", "cosine", "rbf"} or callable, default="linear"
        Similarity of label sets: the number of labels in common, that number divided by the geometric mean of the
        numbers of both, or ``exp(-d / k)`` for d labels that differ. A callable takes two arrays of label sets (m, k)
        with 0 and 1, and returns a positive semi-definite (m, m) matrix. All but ``"linear"`` take time cubic in the
        number of different label sets.

    Attributes
    ----------
    components_ : ndarray of shape (d, p)
        The directions, most dependent first.
    dependence_ : ndarray of shape (d,)
        The criterion of each.
    mean_ : ndarray of shape (p,)
    """

    _stored_attributes: ClassVar[Fields] = {
        "components_": ArrayField("f", ("d", "p")),
        "dependence_": ArrayField("f", ("d",)),
        "mean_": ArrayField("f", ("p",)),
    }

    def __init__(
        self,
        n_components: int | float = 0.2,
        *,
        regularization: float = 0.12,
        projection: str = "uncorrelated",
        label_kernel: str | Callable[[Any, Any], Any] = "linear",
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.projection = projection
        self.label_kernel = label_kernel

    def _check_parameters(self) -> None:
        if check_number(self.regularization, "regularization", positive=True) > 1:
            raise ValueError(f"regularization must be in (0, 1], got {self.regularization!r}.")
        check_choice(self.projection, "projection", PROJECTIONS)
        if not callable(self.label_kernel):
            check_choice(self.label_kernel, "label_kernel", LABEL_KERNELS)
        _check_n_directions(self.n_components, 1)

    @atomic_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the projection.

        Parameters
        ----------
        X : array-like, sparse or DataFrame of shape (n, p)
        y : array-like, sparse or DataFrame of shape (n, k) with 0 and 1, or array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Not negative; a sample of weight 2 counts as two equal ones, and one of weight 0 is left out. Default: 1.

        Returns
        -------
        self
        """
        self._check_parameters()
        mu = 1.0 if self.projection == "orthonormal" else float(self.regularization)
        X = self._check_X(X, reset=True)
        labels = self._check_y(X, y)
        weight = check_sample_weight(sample_weight, labels.shape[0])
        X, labels, weight = drop_zero_weights(X, labels, weight)
        n, p = X.shape
        if n < 2:
            raise ValueError(f"MDDM needs at least 2 samples to measure a dependence; got n_samples = {n}.")
        d = _check_n_directions(self.n_components, p)
        check_distances(X, "MDDM's covariance")

        self.mean_ = column_means(X, weight)
        Y = label_features(labels.toarray().astype(np.float64), self.label_kernel)
        Y -= Y.mean(axis=0) if weight is None else column_means(Y, weight)
        Y = scale_rows(Y, weight)
        centred, remaining_mean = centre(X, self.mean_)
        centred = scale_rows(centred, weight)
        M = np.asarray(centred.T @ Y)  # Y is centred, so X need not be
        # M M^T has a low rank: with (lambda, u) of the small M^T B^-1 M, v = B^-1 M u / sqrt(lambda) is a solution.
        solved = _solve_regularised_gram(centred, remaining_mean, mu, M, weight)
        values, vectors = eigh(M.T @ solved)
        order = np.argsort(values)[::-1][: min(d, p)]
        order = order[values[order] > max(values.max(initial=0), 0) * 1e-10]
        if order.size == 0:
            raise ValueError(
                "No direction of X depends on the labels: all samples have the same labels, or the same features."
            )
        self.components_ = ((solved @ vectors[:, order]) / np.sqrt(values[order])).T.astype(X.dtype)
        self.dependence_ = values[order]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Project samples.

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        # In float64, because the means may be much larger than the differences between samples.
        centred, remaining_mean = centre(X, self.mean_)
        projection = self.components_.T.astype(np.float64)
        return np.asarray(centred @ projection - remaining_mean @ projection).astype(X.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def label_features(Y: NDArray[np.float64], kernel: str | Callable[[Any, Any], Any]) -> NDArray[np.float64]:
    """Features F of the label sets of all samples, so that F F^T is the kernel matrix between them."""
    if isinstance(kernel, str) and kernel == "linear":
        return Y
    sets, index = np.unique(Y, axis=0, return_inverse=True)
    if callable(kernel):
        K = np.asarray(kernel(sets, sets), dtype=np.float64)
        if K.shape != (len(sets), len(sets)) or not np.isfinite(K).all():
            raise ValueError(
                f"label_kernel must return a finite matrix with one row and column per label set, here {len(sets)}; "
                f"got shape {K.shape}."
            )
    else:
        K = pairwise_kernels(sets, metric=kernel)
    values, vectors = eigh((K + K.T) / 2)
    kept = values > max(values[-1], 0.0) * len(sets) * np.finfo(np.float64).eps
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept]))[index.reshape(-1)])


def _check_n_directions(n_components: Any, p: int) -> int:
    if isinstance(n_components, numbers.Integral):
        return check_int(n_components, "n_components", minimum=1)
    share = check_number(n_components, "n_components", positive=True)
    if share > 1:
        raise ValueError(f"n_components must be an integer or a share in (0, 1], got {n_components!r}.")
    return max(1, round(share * p))


def _solve_regularised_gram(
    X: Any, mean: NDArray[np.float64], mu: float, M: NDArray[np.float64], sample_weight: Weights
) -> NDArray[np.float64]:
    """B^-1 M for B = (1 - mu) Xc^T Xc + mu I, by the smaller of the two Gram matrices.

    Xc is X minus ``mean``, which with weights is scaled as the rows of X are.
    """
    if mu == 1:
        return M
    n, p = X.shape
    if p <= n:
        B = X.T @ X
        B = (B.toarray() if issparse(B) else B) - total_weight(n, sample_weight) * np.outer(mean, mean)
        B *= 1 - mu
        B[np.diag_indices(p)] += mu
        return np.asarray(cho_solve(cho_factor(B), M))
    # Woodbury: mu B^-1 = I - Xc^T (mu / (1 - mu) I + Xc Xc^T)^-1 Xc
    centred = (X.toarray() if issparse(X) else X) - scale_rows(np.broadcast_to(mean, (n, p)), sample_weight)
    inner = centred @ centred.T
    inner[np.diag_indices(n)] += mu / (1 - mu)
    return np.asarray((M - centred.T @ cho_solve(cho_factor(inner), centred @ M)) / mu)
