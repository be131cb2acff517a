"""The singular value decomposition of centred samples, which serves all settings of a linear method.

With Xc = A diag(s) V^T, coefficients of penalised regressions are V M, where M (q, k) depends only on s and A^T Y.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from scipy.sparse import issparse

from sdgs.methods._centring import centre, column_means

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CentredSVD:
    """Xc = A diag(s) V^T for samples minus their mean, with q singular values that are not negligible.

    Attributes
    ----------
    mean : ndarray of shape (p,)
    n_samples : int
    singular_values : ndarray of shape (q,)
    left_product : callable
        From centred Y (n, k) to A^T Y.
    right_product : callable
        From M (q, k) to V M.
    project : callable
        From samples (m, p), which are not centred, to their coordinates (m, q): (X - mean) V.
    """

    mean: Array
    n_samples: int
    singular_values: Array
    left_product: Callable[[Array], Array]
    right_product: Callable[[Array], Array]
    project: Callable[[Any], Array]


def centred_svd(X: Any) -> CentredSVD:
    """Of a dense X by LAPACK; of a sparse X from the smaller of its two Gram matrices."""
    mean = column_means(X)
    if issparse(X):
        return _from_feature_gram(X, mean) if X.shape[1] <= X.shape[0] else _from_sample_gram(X, mean)
    A, s, Vt = svd(X - mean, full_matrices=False, check_finite=False)
    # The mean is rounded, so that singular values which are zero are about as large as eps ||X||.
    norm = s.max(initial=0.0) + float(np.linalg.norm(mean)) * X.shape[0] ** 0.5
    kept = s > norm * max(X.shape) * np.finfo(np.float64).eps
    A, s, V = A[:, kept], s[kept], Vt[kept].T
    return CentredSVD(
        mean,
        X.shape[0],
        s,
        left_product=lambda Y: np.asarray(A.T @ Y),
        right_product=lambda M: np.asarray(V @ M),
        project=lambda samples: np.asarray((samples - mean) @ V),
    )


def _from_feature_gram(X: Any, mean: Array) -> CentredSVD:
    Z, rest = centre(X, mean)
    gram = (Z.T @ Z).toarray() - X.shape[0] * np.outer(rest, rest)
    s, V = _roots(gram, X.shape)
    offset = mean @ V
    return CentredSVD(
        mean,
        X.shape[0],
        s,
        left_product=lambda Y: np.asarray(V.T @ (Z.T @ Y)) / s[:, None],
        right_product=lambda M: np.asarray(V @ M),
        project=lambda samples: np.asarray(samples @ V - offset),
    )


def _from_sample_gram(X: Any, mean: Array) -> CentredSVD:
    Z, rest = centre(X, mean)
    products = Z @ rest
    gram = (Z @ Z.T).toarray() - products[:, None] - products[None, :] + rest @ rest
    s, A = _roots(gram, X.shape)

    def right_product(M: Array) -> Array:
        return np.asarray(Z.T @ (A @ (M / s[:, None])))  # the columns of A sum up to 0, so that Z need not be centred

    offset = (Z @ mean) @ (A / s)

    def project(samples: Any) -> Array:
        products = samples @ Z.T
        return np.asarray((products.toarray() if issparse(products) else products) @ (A / s) - offset)

    return CentredSVD(mean, X.shape[0], s, lambda Y: np.asarray(A.T @ Y), right_product, project)


def _roots(gram: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Singular values and vectors from a Gram matrix, the largest first. Rounding hides those below 1e-8 and so."""
    values, vectors = eigh(gram, check_finite=False)
    kept = values > values[-1] * max(shape) * np.finfo(np.float64).eps
    return np.sqrt(values[kept])[::-1], np.ascontiguousarray(vectors[:, kept][:, ::-1])


def ridge_coordinates(s: Array, targets: Array, alpha: float) -> Array:
    """M of the ridge coefficients V M, for targets A^T Y and a penalty, which is not divided by n."""
    return np.asarray((s / (s**2 + alpha))[:, None] * targets)
