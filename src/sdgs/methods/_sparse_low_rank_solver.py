r"""Regression of many targets whose coefficients are the sum of a sparse and a low-rank matrix.

The problem, for centred X (n, p) and Y (n, k):

.. math:: \min_{P, Q} \; \|X (P + Q) - Y\|_F^2 + \gamma \|P\|_1 \quad \text{s.t.} \quad \|Q\|_* \le \tau

Any :math:`\Theta` with :math:`\|X^T \Theta\|_\infty \le \gamma` gives a lower bound of the minimum, the dual value

.. math:: D(\Theta) = -\langle \Theta, Y \rangle - \tfrac14 \|\Theta\|_F^2 - \tau \|X^T \Theta\|_2

and the bound is attained for :math:`\Theta = 2 (X (P + Q) - Y)` at the solution.

The solver is the accelerated proximal gradient method, restarted where the momentum points uphill. X enters through
:math:`X^T X W` alone, once per iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from sdgs.methods._centring import Weights, centre, column_means, scale_rows, total_weight

Array = NDArray[np.float64]

_CHECK_EVERY = 10  # iterations between two duality gaps, each of which costs about as much as an iteration
_EIGENVALUE_TOL = 1e-3  # the step is this much shorter than it could be, so that Lanczos' lower bound is enough


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The quadratic function ||X W - Y||_F^2 of W, for centred X and Y.

    Where some labels are unobserved, X W stands for another linear function of W: see :func:`observed_least_squares`.

    Attributes
    ----------
    gram_product : callable
        From W to X^T X W.
    cross : ndarray of shape (p, k)
        X^T Y.
    target_norm2 : float
        ||Y||_F^2.
    largest_eigenvalue : float
        An upper bound of the largest eigenvalue of X^T X.
    """

    gram_product: Callable[[Array], Array]
    cross: Array
    target_norm2: float
    largest_eigenvalue: float

    @property
    def largest_gamma(self) -> float:
        """The smallest gamma for which the sparse part is zero if the low-rank part is."""
        return 2 * float(np.abs(self.cross).max())

    def value(self, W: Array, gram_W: Array) -> float:
        """||X W - Y||_F^2, given X^T X W."""
        return max(float(np.vdot(W, gram_W) - 2 * np.vdot(W, self.cross)) + self.target_norm2, 0.0)


@dataclass(frozen=True, eq=False)
class SparseLowRankCoefficients:
    """The solution.

    Attributes
    ----------
    sparse : ndarray of shape (p, k)
        P.
    low_rank : ndarray of shape (p, k)
        Q.
    objective : float
    gap : float
        Duality gap: the objective exceeds its minimum by no more than this.
    n_iter : int
    converged : bool
        Whether the gap is at most ``tol * ||Y||_F^2``.
    """

    sparse: Array
    low_rank: Array
    objective: float
    gap: float
    n_iter: int
    converged: bool


def least_squares(X: Any, X_mean: Array, Y: Array, sample_weight: Weights = None) -> LeastSquares:
    """For samples that are not centred, dense or sparse, and centred and scaled targets.

    X^T X is formed where that is cheaper.
    """
    Z, mean = centre(X, X_mean)
    n, p = X.shape
    Z, total = scale_rows(Z, sample_weight), total_weight(n, sample_weight)
    root = None if sample_weight is None else np.sqrt(sample_weight)[:, None]
    cross = np.asarray(Z.T @ Y)

    def product_by_samples(W: Array) -> Array:
        offset = mean @ W
        return np.asarray(Z.T @ (Z @ W - (offset if root is None else root * offset)))

    product = product_by_samples
    if p <= n and p * p <= 2 * (Z.nnz if issparse(Z) else n * p):
        gram = Z.T @ Z
        gram = (gram.toarray() if issparse(gram) else gram) - total * np.outer(mean, mean)

        def product_by_gram(W: Array) -> Array:
            return np.asarray(gram @ W)

        product = product_by_gram
    return LeastSquares(product, cross, float(np.vdot(Y, Y)), _largest_eigenvalue(product, p))


def observed_least_squares(
    X: Any, Y: Array, sample_weight: Weights = None
) -> tuple[LeastSquares, Callable[[Array], Array]]:
    """For samples and targets that are not centred, of which those that are NaN are left out; and the intercepts.

    The function is the sum of the squared errors of the observed targets with the best intercept for each label. So the
    samples and the target of a label are centred by their means over the samples in which it is observed. The Gram
    matrix of these is at most that of all samples, whose largest eigenvalue is the bound.
    """
    Z, _ = centre(X, column_means(X, sample_weight))
    weight = np.where(np.isnan(Y), 0.0, 1.0 if sample_weight is None else sample_weight[:, None])
    total = np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)
    Y = np.where(np.isnan(Y), 0.0, Y)

    def means(values: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->j", weight, values) / total)

    def product(W: Array) -> Array:
        fitted = np.asarray(Z @ W)
        return np.asarray(Z.T @ (weight * (fitted - means(fitted))))

    def intercepts(W: Array) -> Array:
        return means(Y - X @ W)

    centred = Y - means(Y)
    complete = least_squares(X, column_means(X, sample_weight), np.zeros((X.shape[0], 1)), sample_weight)
    problem = LeastSquares(
        product,
        np.asarray(Z.T @ (weight * centred)),
        float(np.einsum("ij,ij,ij->", weight, centred, centred)),
        complete.largest_eigenvalue,
    )
    return problem, intercepts


def _largest_eigenvalue(product: Callable[[Array], Array], p: int) -> float:
    """An upper bound of the largest eigenvalue of a symmetric (p, p) matrix that is given by its product."""
    start = np.random.default_rng(0).standard_normal(p)
    image = product(start[:, None])
    if not image.any():
        return 0.0
    if p <= 2:
        return float(np.linalg.eigvalsh(product(np.eye(p)))[-1])
    operator = LinearOperator((p, p), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
    largest = eigsh(operator, k=1, which="LA", v0=start, tol=_EIGENVALUE_TOL / 10, return_eigenvectors=False)
    return float(largest[0]) * (1 + _EIGENVALUE_TOL)


def sparse_low_rank(
    problem: LeastSquares,
    gamma: float,
    tau: float,
    *,
    start: SparseLowRankCoefficients | None = None,
    tol: float = 1e-4,
    max_iter: int = 5000,
) -> SparseLowRankCoefficients:
    """Solve the problem of this module.

    ``start`` is a solution for other ``gamma`` and ``tau``. With ``tau = 0`` the problem is the lasso.
    """
    P = np.zeros_like(problem.cross) if start is None else start.sparse
    Q = np.zeros_like(problem.cross) if start is None else project_on_trace_norm_ball(start.low_rank, tau)
    # The Hessian in (P, Q) has twice the largest eigenvalue of that in P + Q.
    lipschitz = (4 if tau > 0 else 2) * problem.largest_eigenvalue
    H = problem.gram_product(P + Q)
    objective, gap = objective_and_gap(problem, gamma, tau, P, P + Q, H)
    P_ahead, Q_ahead, H_ahead, t, n_iter = P, Q, H, 1.0, 0
    while gap > tol * problem.target_norm2 and n_iter < max_iter:
        n_iter += 1
        step = 2 * (H_ahead - problem.cross) / lipschitz
        P_new = _soft_threshold(P_ahead - step, gamma / lipschitz)
        Q_new = project_on_trace_norm_ball(Q_ahead - step, tau)
        H_new = problem.gram_product(P_new + Q_new)
        dP, dQ = P_new - P, Q_new - Q
        if np.vdot(P_ahead - P_new, dP) + np.vdot(Q_ahead - Q_new, dQ) > 0:
            t = 1.0  # restart
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = (t - 1) / t_new
        P_ahead, Q_ahead, H_ahead = P_new + momentum * dP, Q_new + momentum * dQ, H_new + momentum * (H_new - H)
        P, Q, H, t = P_new, Q_new, H_new, t_new
        if n_iter % _CHECK_EVERY == 0 or n_iter == max_iter:
            objective, gap = objective_and_gap(problem, gamma, tau, P, P + Q, H)
    return SparseLowRankCoefficients(P, Q, objective, gap, n_iter, bool(gap <= tol * problem.target_norm2))


def objective_and_gap(
    problem: LeastSquares, gamma: float, tau: float, P: Array, W: Array, gram_W: Array
) -> tuple[float, float]:
    """The objective for W = P + Q, given X^T X W, and its distance from the dual value of the scaled residual."""
    loss = problem.value(W, gram_W)
    objective = loss + gamma * float(np.abs(P).sum())
    gradient = 2 * (gram_W - problem.cross)
    largest = float(np.abs(gradient).max())
    spectral_norm = _spectral_norm(gradient) if tau > 0 else 0.0
    # For s Theta with Theta = 2 (X W - Y) the dual value is linear * s - loss * s^2.
    linear = 2 * (problem.target_norm2 - float(np.vdot(W, problem.cross))) - tau * spectral_norm
    feasible = 1.0 if largest <= gamma else gamma / largest
    scale = min(feasible, max(linear, 0) / (2 * loss)) if loss > 0 else 0.0
    return objective, max(objective - (linear - loss * scale) * scale, 0.0)


def _soft_threshold(A: Array, threshold: float) -> Array:
    return np.asarray(A - np.clip(A, -threshold, threshold))


def _spectral_norm(A: Array) -> float:
    small = A.T @ A if A.shape[1] <= A.shape[0] else A @ A.T
    m = len(small)
    return float(np.sqrt(max(eigh(small, eigvals_only=True, subset_by_index=(m - 1, m - 1))[0], 0.0)))


def project_on_trace_norm_ball(A: Array, radius: float) -> Array:
    """The nearest matrix whose singular values sum up to at most ``radius``."""
    if radius == 0:
        return np.zeros_like(A)
    is_tall = A.shape[1] <= A.shape[0]
    squares, F = eigh(A.T @ A if is_tall else A @ A.T)
    s = np.sqrt(np.maximum(squares, 0))
    if s.sum() <= radius:
        return A
    shrunk = _project_on_simplex(s, radius)
    kept = shrunk > 0
    factor = (F[:, kept] * (shrunk[kept] / s[kept])) @ F[:, kept].T
    return np.asarray(A @ factor if is_tall else factor @ A)


def _project_on_simplex(s: Array, radius: float) -> Array:
    """The nearest non-negative vector with this sum, which is smaller than that of ``s``, non-negative."""
    descending = np.sort(s)[::-1]
    excess = (np.cumsum(descending) - radius) / np.arange(1, s.size + 1)
    theta = excess[np.flatnonzero(descending > excess)[-1]]
    return np.asarray(np.maximum(s - theta, 0))
