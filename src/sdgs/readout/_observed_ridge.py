r"""Ridge regressions of labels of which some entries are unobserved: on the observed entries alone.

The problem is that of :mod:`sdgs.readout._ridge` with the sum of squared errors over the observed entries. Each label
has its own Gram matrix then. Conjugate gradients solve all labels at once, with the factorisation for complete labels:

- in the primal form for the coefficients, preconditioned by the inverse of the Gram matrix of all samples;
- in the dual form for the unobserved entries F, which add no error if they equal their fitted values. With H the matrix
  that maps complete labels to fitted values, and u and o the unobserved and the observed entries of a label, this is
  the linear system

.. math:: (I - H_{uu}) F = H_{uo} Y_o

Both are well conditioned unless hardly any label is observed, or the penalty is so small that labels are interpolated.
They end when one more step of filling in unobserved entries by fitted values would change fitted values by at most
``tol``, as a root mean square over the samples.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._array_api import on_host, to_host
from sdgs._utils._unobserved_labels import has_unobserved
from sdgs.readout._moments import as_dense
from sdgs.readout._penalised_system import CholeskyFactor, RangeFactor, factorise
from sdgs.readout._ridge import DualRidge, Path, PrimalRidge, Ridge, RidgeDesign, RidgeRegression, prepare_ridge
from sdgs.selection._defaults import MAX_OBSERVED_STEPS, OBSERVED_RIDGE_TOL, OBSERVED_RIDGE_TOL_COMPARISON

Array = NDArray[np.floating[Any]]
ErrorProducts = Callable[[Ridge, bool], tuple[Array, Array]]  # see error_products


def prepare_label_ridge(
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    design: RidgeDesign,
    landmark_gram: Array | None = None,
    n_jobs: int | None = 1,
) -> RidgeRegression:
    """The same as :func:`sdgs.readout._ridge.prepare_ridge`, for labels that may have unobserved entries (NaN).

    If they have, features stay in memory, and those on a device are brought to the host.
    """
    if not has_unobserved(Y):
        return prepare_ridge(blocks, Y, design, landmark_gram, n_jobs)
    blocks = [[part if on_host(part) else to_host(part) for part in block] for block in blocks]
    Y, weight = as_dense(Y), np.ones(Y.shape[0]) if design.sample_weight is None else design.sample_weight
    filled = np.where(np.isnan(Y), observed_means(Y, weight), Y)
    complete = prepare_ridge(blocks, filled, design, landmark_gram, n_jobs)
    if isinstance(complete, DualRidge):
        return DualObservedRidge(complete, filled, np.isnan(Y), weight)
    assert isinstance(complete, PrimalRidge)
    return PrimalObservedRidge(complete, partial(error_products, blocks, Y, weight))


def observed_means(Y: Array, weight: Array) -> Array:
    """The weighted mean of the observed entries of each column; 0 for a column without any."""
    observed = ~np.isnan(Y)
    total = weight @ observed
    return np.divide(weight @ np.where(observed, Y, 0.0), total, out=np.zeros(Y.shape[1]), where=total > 0)


class ObservedRidge(RidgeRegression):
    """Ridge regressions on the observed labels: see :func:`prepare_label_ridge`."""

    def ridges(self, penalty: float, widths: Sequence[int], *, tol: float = OBSERVED_RIDGE_TOL) -> Iterator[Ridge]:
        for ridge, solution in self._solutions(penalty, widths, tol):
            if not solution.converged:
                warnings.warn(
                    f"The ridge regression on observed labels did not converge: after {solution.n_steps} steps fitted "
                    f"values are wrong by about {solution.error:.1g}. More labels should be observed, or the penalty "
                    "be larger.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            yield ridge

    def path(self, blocks: Sequence[Sequence[Any]], widths: Sequence[int]) -> Path:
        """To a tolerance that suffices to compare penalties."""

        def scores(penalty: float) -> list[Any]:
            ridges = self.ridges(penalty, widths, tol=OBSERVED_RIDGE_TOL_COMPARISON)
            return [np.concatenate([to_host(ridge.scores(block)) for block in blocks]) for ridge in ridges]

        return scores

    def _solutions(
        self, penalty: float, widths: Sequence[int], tol: float
    ) -> Iterator[tuple[Ridge, "ConjugateGradients"]]:
        raise NotImplementedError


class PrimalObservedRidge(ObservedRidge):
    """By the coefficients.

    ``complete`` is a regression on the labels with the means of the observed ones in place of the others: it has the
    penalty and the preconditioner, and is the start. ``products`` are those of :func:`error_products` for all samples.
    """

    def __init__(self, complete: PrimalRidge, products: ErrorProducts, *, max_steps: int = MAX_OBSERVED_STEPS) -> None:
        self._complete, self._products, self._max_steps = complete, products, max_steps
        self._last: dict[int, Array] = {}  # by the number of columns: solutions for the last penalty are near

    def _solutions(
        self, penalty: float, widths: Sequence[int], tol: float
    ) -> Iterator[tuple[Ridge, "ConjugateGradients"]]:
        factor = factorise(self._complete.moments.gram, penalty, self._complete.penalty_matrix)
        for width in widths:
            yield self._solve(factor.leading(width), penalty, width, tol)

    def _solve(
        self, factor: CholeskyFactor | RangeFactor, penalty: float, width: int, tol: float
    ) -> tuple[Ridge, "ConjugateGradients"]:
        moments = self._complete.moments
        Z_mean = moments.Z_mean[:width]

        def as_ridge(A: Array) -> Ridge:  # coefficients of centred features, and the intercept in the last row
            return Ridge(np.ascontiguousarray(A[:-1].T), A[-1] - Z_mean @ A[:-1])

        def negative_gradient(A: Array, *, with_labels: bool) -> Array:
            cross, total = self._products(as_ridge(A), with_labels)
            penalised = penalty * self._complete.penalty_matrix.times(A[:-1])
            return np.vstack([cross - np.outer(Z_mean, total) - penalised, total])

        def precondition(residual: Array) -> Array:
            (W,) = factor.solve(residual[:-1], [width])
            return np.vstack([W, residual[-1:] / moments.weight])

        start = self._last.get(width)
        if start is None:
            (W,) = factor.solve(moments.cross[:width], [width])
            start = np.vstack([W, moments.Y_mean])
        result = conjugate_gradients(
            lambda A: -negative_gradient(A, with_labels=False),
            negative_gradient(start, with_labels=True),
            np.full(start.shape[1], moments.weight),
            tol,
            self._max_steps,
            precondition,
        )
        self._last[width] = start + result.x
        return as_ridge(self._last[width]), result


class DualObservedRidge(ObservedRidge):
    """By the unobserved entries; ``filled`` are complete labels to start at."""

    def __init__(
        self,
        complete: DualRidge,
        filled: Array,
        unobserved: NDArray[np.bool_],
        weight: Array,
        *,
        max_steps: int = MAX_OBSERVED_STEPS,
    ) -> None:
        self._complete, self._filled, self._unobserved, self._max_steps = complete, filled, unobserved, max_steps
        self._root, self._weights = np.sqrt(weight)[:, None], np.full(filled.shape[1], weight.sum())
        self._last: dict[int, Array] = {}  # by the number of columns: solutions for the last penalty are near

    def _solutions(
        self, penalty: float, widths: Sequence[int], tol: float
    ) -> Iterator[tuple[Ridge, "ConjugateGradients"]]:
        for width, (fit, ridge) in zip(widths, self._complete.label_fits(penalty, widths), strict=True):
            filled = self._last.get(width, self._filled)

            def among_unobserved(values: Array) -> Array:
                return np.where(self._unobserved, values, 0.0)

            def apply(scaled: Array, fit: Callable[[Array], Array] = fit) -> Array:
                return scaled - among_unobserved(self._root * fit(scaled / self._root))

            # Times the square roots of the weights, with which the system is symmetric.
            residual = among_unobserved(self._root * (fit(filled) - filled))
            result = conjugate_gradients(apply, residual, self._weights, tol, self._max_steps)
            self._last[width] = filled + result.x / self._root
            yield ridge(self._last[width]), result


@dataclass(frozen=True, eq=False)
class ConjugateGradients:
    """Solutions x of linear systems, one per column.

    Attributes
    ----------
    x : ndarray of shape (m, k)
    error : float
        The largest root mean square of a residual.
    n_steps : int
    converged : bool
        Whether no such root mean square exceeds the tolerance.
    """

    x: Array
    error: float
    n_steps: int
    converged: bool


def conjugate_gradients(
    apply: Callable[[Array], Array],
    right: Array,
    sizes: Array,
    tol: float,
    max_steps: int,
    precondition: Callable[[Array], Array] = lambda residual: residual,
) -> ConjugateGradients:
    """Solve symmetric positive definite systems, one per column of ``right`` (m, k), by conjugate gradients.

    ``apply`` multiplies by the matrices and ``precondition`` by approximate inverses. The square of the error of a
    column is its residual times the preconditioned one, over its entry of ``sizes``.
    """
    x, residual = np.zeros_like(right), right
    preconditioned = precondition(residual)
    squares = _column_products(residual, preconditioned)
    direction, n_steps, bound = preconditioned, 0, tol**2 * sizes
    while (squares > bound).any() and n_steps < max_steps:
        image = apply(direction)
        curvature = _column_products(direction, image)
        length = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        x, residual = x + length * direction, residual - length * image
        preconditioned = precondition(residual)
        last, squares = squares, _column_products(residual, preconditioned)
        ratio = np.divide(squares, last, out=np.zeros_like(squares), where=last > 0)
        direction, n_steps = preconditioned + ratio * direction, n_steps + 1
    error = float(np.sqrt(np.maximum(squares, 0) / sizes).max())
    return ConjugateGradients(x, error, n_steps, bool((squares <= bound).all()))


def _column_products(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def error_products(
    blocks: Iterable[Sequence[Any]], Y: Array, weight: Array | None, ridge: Ridge, with_labels: bool
) -> tuple[Array, Array]:
    """Z^T E and the column sums of E, the weighted errors of a regression on the observed labels; 0 for the others.

    The columns of Z are the leading ones that the regression reads. Without labels, the errors for labels of 0.
    """
    width, start = ridge.coef.shape[1], 0
    cross, total = np.zeros((width, Y.shape[1])), np.zeros(Y.shape[1])
    for block in blocks:
        rows = slice(start, start + block[0].shape[0])
        labels = as_dense(Y[rows])
        errors = np.where(np.isnan(labels), 0.0, (labels if with_labels else 0.0) - ridge.scores(block))
        if weight is not None:
            errors *= weight[rows][:, None]
        cross += np.concatenate([np.asarray(part.T @ errors) for part in block])[:width]
        total += errors.sum(axis=0)
        start = rows.stop
    return cross, total
