"""The singular value decomposition of centred samples, which serves all settings of a linear method.

With Xc = A diag(s) V^T, coefficients of penalised regressions are V M, where M (q, k) depends only on s and A^T Y. If
samples have weights, rows of Xc and Y are scaled by their square roots: see :mod:`sdgs.methods._centring`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from scipy.sparse import issparse

from sdgs.methods._centring import Weights, centre, column_means, scale_rows, total_weight

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CentredSVD:
    """Xc = A diag(s) V^T for samples minus their mean, with q singular values that are not negligible.

    Attributes
    ----------
    mean : ndarray of shape (p,)
    n_samples : int or float
        The sum of the weights, if samples have some.
    singular_values : ndarray of shape (q,)
    left_product : callable
        From centred and scaled Y (n, k) to A^T Y.
    right_product : callable
        From M (q, k) to V M.
    project : callable
        From samples (m, p), which are not centred, to their coordinates (m, q): (X - mean) V.
    """

    mean: Array
    n_samples: int | float
    singular_values: Array
    left_product: Callable[[Array], Array]
    right_product: Callable[[Array], Array]
    project: Callable[[Any], Array]


def centred_svd(X: Any, sample_weight: Weights = None) -> CentredSVD:
    """Of a dense X by LAPACK; of a sparse X from the smaller of its two Gram matrices."""
    mean, n_samples = column_means(X, sample_weight), total_weight(X.shape[0], sample_weight)
    if issparse(X):
        Z, rest = centre(X, mean)
        of_gram = _from_feature_gram if X.shape[1] <= X.shape[0] else _from_sample_gram
        return of_gram(scale_rows(Z, sample_weight), rest, mean, n_samples, sample_weight)
    A, s, Vt = svd(scale_rows(X - mean, sample_weight), full_matrices=False, check_finite=False)
    # The mean is rounded, so that singular values which are zero are about as large as eps ||X||.
    norm = s.max(initial=0.0) + float(np.linalg.norm(mean)) * n_samples**0.5
    kept = s > norm * max(X.shape) * np.finfo(np.float64).eps
    A, s, V = A[:, kept], s[kept], Vt[kept].T
    return CentredSVD(
        mean,
        n_samples,
        s,
        left_product=lambda Y: np.asarray(A.T @ Y),
        right_product=lambda M: np.asarray(V @ M),
        project=lambda samples: np.asarray((samples - mean) @ V),
    )


def _from_feature_gram(Z: Any, rest: Array, mean: Array, n_samples: int | float, _: Weights) -> CentredSVD:
    """From scaled samples Z (n, p) of which ``rest`` is still to be subtracted."""
    gram = (Z.T @ Z).toarray() - n_samples * np.outer(rest, rest)
    s, V = _roots(gram, Z.shape)
    offset = mean @ V
    return CentredSVD(
        mean,
        n_samples,
        s,
        left_product=lambda Y: np.asarray(V.T @ (Z.T @ Y)) / s[:, None],
        right_product=lambda M: np.asarray(V @ M),
        project=lambda samples: np.asarray(samples @ V - offset),
    )


def _from_sample_gram(Z: Any, rest: Array, mean: Array, n_samples: int | float, sample_weight: Weights) -> CentredSVD:
    root = np.ones(Z.shape[0]) if sample_weight is None else np.sqrt(sample_weight)
    products = Z @ rest
    gram = (Z @ Z.T).toarray()
    gram -= products[:, None] * root
    gram -= root[:, None] * products
    gram += (rest @ rest) * np.outer(root, root)
    s, A = _roots(gram, Z.shape)

    def right_product(M: Array) -> Array:
        # The columns of A are orthogonal to the roots of the weights, so that Z need not be centred.
        return np.asarray(Z.T @ (A @ (M / s[:, None])))

    offset = (Z @ mean) @ (A / s)

    def project(samples: Any) -> Array:
        products = samples @ Z.T
        return np.asarray((products.toarray() if issparse(products) else products) @ (A / s) - offset)

    return CentredSVD(mean, n_samples, s, lambda Y: np.asarray(A.T @ Y), right_product, project)


def _roots(gram: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Singular values and vectors from a Gram matrix, the largest first. Rounding hides those below 1e-8 and so."""
    values, vectors = eigh(gram, check_finite=False)
    kept = values > values[-1] * max(shape) * np.finfo(np.float64).eps
    return np.sqrt(values[kept])[::-1], np.ascontiguousarray(vectors[:, kept][:, ::-1])


def ridge_coordinates(s: Array, targets: Array, alpha: float) -> Array:
    """M of the ridge coefficients V M, for targets A^T Y and a penalty, which is not divided by n."""
    return np.asarray((s / (s**2 + alpha))[:, None] * targets)
