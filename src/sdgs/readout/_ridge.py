r"""Ridge regressions of all labels at once.

The problem, for features Z (n, d) and labels Y (n, k), both centred after the intercept is eliminated:

.. math:: \min_{W, w} \; \|Y - Z W^T - 1 w^T\|_F^2 + \lambda \operatorname{tr} W P W^T

Its solution is W^T = (Z^T Z + lambda P)^-1 Z^T Y, the primal form, or P^-1 Z^T (Z P^-1 Z^T + lambda)^-1 Y, the dual
form, which is cheaper if there are fewer rows than columns. P is the identity, with two exceptions: 1 /
:func:`~sdgs.readout._relevance.penalty_weights` on the diagonal for weighted columns; and if the leading columns are
the kernel between samples and landmarks, the Gram matrix of the landmarks: that is kernel ridge regression over
functions that the landmarks span. Squared errors and means are weighted by the sample weights. For
unobserved labels see :mod:`sdgs.readout._observed_ridge`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate as accumulate_sums
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg import solve_triangular as solve_triangular_on_host

from sdgs._utils._array_api import namespace, on_host, solve_triangular, to_device_of, to_host
from sdgs.readout._moments import Moments, accumulate, as_dense
from sdgs.readout._penalised_system import PenaltyMatrix, factorise, solve
from sdgs.readout._relevance import penalty_weights

Array = NDArray[np.floating[Any]]
Path = Callable[[float], list[Any]]  # from a penalty to scores, one array per number of columns


@dataclass(frozen=True, eq=False)
class Ridge:
    """Scores Z @ coef.T + intercept, on the leading columns of Z that ``coef`` (k, d) has."""

    coef: Array
    intercept: Array

    def scores(self, Z: Sequence[Any]) -> Any:
        """Scores (n, k), near 1 for likely labels and near 0 for others; Z comes as matrices side by side."""
        total, start = to_device_of(self.intercept, Z[0]), 0
        for block in Z:
            W = self.coef[:, start : start + block.shape[1]].T
            total = total + block[:, : len(W)] @ to_device_of(W, block)
            start += block.shape[1]
        return total


@dataclass(frozen=True, eq=False)
class RidgeDesign:
    """Which regressions are needed, and how columns and rows are weighted.

    Attributes
    ----------
    widths : sequence of int
        Numbers of leading columns to regress on, none less than the number of landmarks.
    weighted_columns : slice or None
    sample_weight : ndarray of shape (n,) or None
        None for weights of 1.
    total_weight : float or None
        The sum of the sample weights; None for the number of samples.
    """

    widths: Sequence[int]
    weighted_columns: slice | None = None
    sample_weight: Array | None = None
    total_weight: float | None = None


def prepare_ridge(
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    design: RidgeDesign,
    landmark_gram: Array | None = None,
    n_jobs: int | None = 1,
) -> "RidgeRegression":
    """Everything that ridge regressions of Y on Z need to know, for any penalty.

    Z comes as blocks of rows, each a sequence of matrices side by side, and is in memory as a whole only in the dual
    form. One Cholesky factor serves all widths, because the factor of a leading block is a leading block of the factor.
    (One eigendecomposition would serve all penalties, but takes longer than six Cholesky factors.)
    """
    blocks = iter(blocks)
    first = next(blocks)
    blocks = chain([first], blocks)
    # The dual form factorises an (n, n) matrix per width, the primal form one matrix of the largest width.
    is_on_device = not on_host(first[0])
    if is_on_device or len(design.widths) * Y.shape[0] ** 3 >= max(design.widths) ** 3:
        moments = accumulate(None, blocks, Y, design.sample_weight, n_jobs).moments()
        kind = DeviceRidge if is_on_device else PrimalRidge
        return kind(moments, design.weighted_columns, landmark_gram)
    return DualRidge(_stack(blocks), Y, design, landmark_gram)


class RidgeRegression(ABC):
    """Ridge regressions, ready for any penalty; see :func:`prepare_ridge`."""

    @abstractmethod
    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        """One per number of leading columns."""

    def ridge(self, penalty: float, width: int) -> Ridge:
        """The one on the first ``width`` columns."""
        return next(self.ridges(penalty, [width]))

    def path(self, blocks: Sequence[Sequence[Any]], widths: Sequence[int]) -> Path:
        """The scores of other samples as a function of the penalty, one array per number of leading columns.

        The features of the samples come as blocks of rows, each a sequence of matrices side by side.
        """

        def scores(penalty: float) -> list[Any]:
            return [_concatenate([ridge.scores(block) for block in blocks]) for ridge in self.ridges(penalty, widths)]

        return scores


class PrimalRidge(RidgeRegression):
    """By Z^T Z."""

    def __init__(
        self, moments: Moments, weighted_columns: slice | None = None, landmark_gram: Array | None = None
    ) -> None:
        self.moments = moments
        diagonal = np.ones(moments.cross.shape[0])
        if landmark_gram is not None:
            diagonal[: len(landmark_gram)] = 0
        if weighted_columns is not None:
            energy = to_host(namespace(moments.gram).linalg.diagonal(moments.gram))[weighted_columns]
            cross = to_host(moments.cross)[weighted_columns]
            diagonal[weighted_columns] = 1 / penalty_weights(energy, cross, moments.Y_mean, moments.weight)
        self.penalty_matrix = PenaltyMatrix(diagonal, landmark_gram)

    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        moments = self.moments
        for W in solve(moments.gram, penalty, self.penalty_matrix, moments.cross, widths):
            yield Ridge(np.ascontiguousarray(W.T), moments.Y_mean - W.T @ moments.Z_mean[: len(W)])


class DeviceRidge(PrimalRidge):
    """By Z^T Z, on its device, where all scores are computed too."""

    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        for W, intercept in self._solutions(penalty, widths):
            yield Ridge(np.ascontiguousarray(to_host(W).T), to_host(intercept))

    def path(self, blocks: Sequence[Sequence[Any]], widths: Sequence[int]) -> Path:
        """Without coefficients on the host."""
        stacked = [namespace(block[0]).concat(list(block), axis=1) for block in blocks]

        def scores(penalty: float) -> list[Any]:
            solutions = self._solutions(penalty, widths)
            return [_concatenate([Z[:, : W.shape[0]] @ W + intercept for Z in stacked]) for W, intercept in solutions]

        return scores

    def _solutions(self, penalty: float, widths: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """W (width, k) and the intercept for every width, on the device."""
        moments, xp = self.moments, namespace(self.moments.gram)
        try:
            L = xp.linalg.cholesky(self.penalty_matrix.add_to(moments.gram, penalty))
            half = solve_triangular(L, moments.cross)
            is_definite = bool(xp.all(xp.isfinite(half)))
        except (LinAlgError, RuntimeError):
            is_definite = False
        if is_definite:
            solutions = (solve_triangular(L[:w, :w], half[:w, :], transposed=True) for w in widths)
        else:
            gram, cross = to_host(moments.gram), to_host(moments.cross)
            host_solutions = solve(gram, penalty, self.penalty_matrix, cross, widths)
            solutions = (to_device_of(W, moments.gram) for W in host_solutions)
        Z_mean, Y_mean = (to_device_of(mean, moments.gram) for mean in (moments.Z_mean, moments.Y_mean))
        for W in solutions:
            yield W, Y_mean - Z_mean[: W.shape[0]] @ W


class DualRidge(RidgeRegression):
    """By Z P^-1 Z^T; ``Z`` is overwritten."""

    def __init__(self, Z: Array, Y: Any, design: RidgeDesign, landmark_gram: Array | None = None) -> None:
        Y, sample_weight, weighted_columns = as_dense(Y), design.sample_weight, design.weighted_columns
        self._Z_mean, self._Y_mean = (np.average(A, axis=0, weights=sample_weight) for A in (Z, Y))
        Z -= self._Z_mean
        self._Y = Y - self._Y_mean
        self._root_weight = None if sample_weight is None else np.sqrt(sample_weight)
        if self._root_weight is not None:
            Z *= self._root_weight[:, None]
            self._Y *= self._root_weight[:, None]
        self._inverse_root = np.ones(Z.shape[1])  # of the diagonal of P
        if weighted_columns is not None:
            weighted = Z[:, weighted_columns]
            energy = np.einsum("ij,ij->j", weighted, weighted)
            total = len(Z) if design.total_weight is None else design.total_weight
            weights = penalty_weights(energy, weighted.T @ self._Y, self._Y_mean, total)
            self._inverse_root[weighted_columns] = np.sqrt(weights)
        self._factor = None if landmark_gram is None else cholesky(landmark_gram, lower=True, check_finite=False)
        self._Z = self._times_inverse_root(Z)  # Z P^-1/2
        self._no_penalty_matrix = PenaltyMatrix(np.ones(len(Z)))

    def ridges(self, penalty: float, widths: Sequence[int]) -> Iterator[Ridge]:
        for width, gram in zip(widths, self._products(self._Z, widths), strict=True):
            yield self._regression(self._dual(gram, penalty), self._Y_mean, width)

    def _regression(self, dual: Array, Y_mean: Array, width: int) -> Ridge:
        W = self._inverse_root[:width, None] * (self._Z[:, :width].T @ dual)
        if self._factor is not None:
            m = len(self._factor)
            W[:m] = solve_triangular_on_host(self._factor, W[:m], lower=True, trans="T", check_finite=False)
        return Ridge(np.ascontiguousarray(W.T), Y_mean - W.T @ self._Z_mean[: len(W)])

    def label_fits(
        self, penalty: float, widths: Sequence[int]
    ) -> Iterator[tuple[Callable[[Array], Array], Callable[[Array], Ridge]]]:
        """For every width two functions of other labels Y (n, k): their fitted values, and the regression on them.

        In the dual form the fitted values are Y - penalty * dual, for centred Y.
        """
        root = self._root_weight

        def centred(Y: Array) -> tuple[Array, Array]:
            mean = np.average(Y, axis=0, weights=None if root is None else np.square(root))
            return (Y - mean if root is None else (Y - mean) * root[:, None]), mean

        def solution(factor: Any, Y: Array) -> Array:
            return factor.solve(Y, [len(Y)])[0]  # type: ignore[no-any-return]

        for width, gram in zip(widths, self._products(self._Z, widths), strict=True):
            factor = factorise(gram, penalty, self._no_penalty_matrix)

            def fitted(Y: Array, factor: Any = factor) -> Array:
                scaled, mean = centred(Y)
                values = scaled - penalty * solution(factor, scaled)
                return np.asarray((values if root is None else values / root[:, None]) + mean)

            def regression(Y: Array, factor: Any = factor, width: int = width) -> Ridge:
                scaled, mean = centred(Y)
                return self._regression(solution(factor, scaled), mean, width)

            yield fitted, regression

    def path(self, blocks: Sequence[Sequence[Any]], widths: Sequence[int]) -> Path:
        """By the products of these samples with those of the regression, which serve all penalties."""
        others = self._times_inverse_root(_stack(blocks)[:, : self._Z.shape[1]] - self._Z_mean)
        products = list(zip(self._products(self._Z, widths), self._products(others, widths), strict=True))

        def scores(penalty: float) -> list[Any]:
            return [cross @ self._dual(gram, penalty) + self._Y_mean for gram, cross in products]

        return scores

    def _times_inverse_root(self, centred: Array) -> Array:
        """Centred features times P^-1/2, in place."""
        centred *= self._inverse_root
        if self._factor is not None:
            m = len(self._factor)
            centred[:, :m] = solve_triangular_on_host(self._factor, centred[:, :m].T, lower=True, check_finite=False).T
        return centred

    def _products(self, A: Array, widths: Sequence[int]) -> list[Array]:
        """A P^-1/2 Z^T for the leading columns of both."""
        ends = sorted(set(widths))
        parts = [A[:, start:end] @ self._Z[:, start:end].T for start, end in pairwise([0, *ends])]
        products = dict(zip(ends, accumulate_sums(parts), strict=True))
        return [products[width] for width in widths]

    def _dual(self, gram: Array, penalty: float) -> Array:
        (dual,) = solve(gram, penalty, self._no_penalty_matrix, self._Y, [len(gram)])
        return dual


def _stack(blocks: Iterable[Sequence[Any]]) -> Array:
    """Blocks of rows, each a sequence of matrices side by side, as one dense matrix."""
    return np.vstack([np.hstack([as_dense(part) for part in block]) for block in blocks])


def _concatenate(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)
