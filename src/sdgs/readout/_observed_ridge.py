r"""Ridge regressions of labels of which some entries are unobserved: on the observed entries alone.

The problem is that of :mod:`sdgs.readout._ridge` with the sum of squared errors over the observed entries. Each label
has its own Gram matrix then, but no factorisation of its own is needed: for the unobserved entries F the complete
problem has the same solution if F are its fitted values, because then they add no error. With H the matrix that maps
complete labels to fitted values this is a linear system,

.. math:: (I - H_{mm}) F = H_{mo} Y_o

with m the unobserved and o the observed entries of a label. Conjugate gradients solve it for all labels at once; each
step fits all labels with the factorisation of the complete problem. I - H_mm is well conditioned unless hardly any
label is observed.
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
from sdgs.readout._moments import Moments, as_dense
from sdgs.readout._penalised_system import factorise
from sdgs.readout._ridge import DualRidge, Path, PrimalRidge, Ridge, RidgeDesign, RidgeRegression, prepare_ridge
from sdgs.selection._defaults import MAX_FILL_STEPS, OBSERVED_RIDGE_TOL, OBSERVED_RIDGE_TOL_COMPARISON

Array = NDArray[np.floating[Any]]
FitLabels = Callable[[Array], Array]  # from complete labels (n, k) to the fitted values of the same samples


def prepare_label_ridge(
    blocks: Iterable[Sequence[Any]],
    Y: Any,
    design: RidgeDesign,
    landmark_gram: Array | None = None,
    n_jobs: int | None = 1,
) -> RidgeRegression:
    """The same as :func:`sdgs.readout._ridge.prepare_ridge`, for labels that may have unobserved entries (NaN)."""
    if has_unobserved(Y):
        return ObservedRidge(blocks, as_dense(Y), design, landmark_gram, n_jobs)
    return prepare_ridge(blocks, Y, design, landmark_gram, n_jobs)


@dataclass(frozen=True, eq=False)
class Filling:
    """Complete labels, in which the unobserved entries are fitted values.

    Attributes
    ----------
    Y : ndarray of shape (n, k)
    error : float
        The largest root mean square, over the labels, of the differences between the unobserved entries and their
        fitted values.
    n_steps : int
    converged : bool
    """

    Y: Array
    error: float
    n_steps: int
    converged: bool


class ObservedRidge(RidgeRegression):
    """Ridge regressions on the observed labels.

    Features stay in memory. Those on a device are brought to the host.
    """

    def __init__(
        self,
        blocks: Iterable[Sequence[Any]],
        Y: Array,
        design: RidgeDesign,
        landmark_gram: Array | None = None,
        n_jobs: int | None = 1,
        *,
        max_steps: int = MAX_FILL_STEPS,
    ) -> None:
        self._max_steps = max_steps
        self._blocks = [[part if on_host(part) else to_host(part) for part in block] for block in blocks]
        self._unobserved = np.isnan(Y)
        self._weight = np.ones(len(Y)) if design.sample_weight is None else design.sample_weight
        self._start = np.where(self._unobserved, observed_means(Y, self._weight), Y)
        complete = prepare_ridge(self._blocks, self._start, design, landmark_gram, n_jobs)
        assert isinstance(complete, PrimalRidge | DualRidge)
        self._complete = complete
        self._fills: dict[int, Array] = {}  # by the number of columns: those of the last penalty are near

    def ridges(self, penalty: float, widths: Sequence[int], *, tol: float = OBSERVED_RIDGE_TOL) -> Iterator[Ridge]:
        for width, (fit, ridge) in zip(widths, self._fits(penalty, widths), strict=True):
            start = self._fills.get(width, self._start)
            filling = fill_unobserved(fit, start, self._unobserved, self._weight, tol, self._max_steps)
            if not filling.converged:
                warnings.warn(
                    f"The ridge regression on observed labels did not converge: after {filling.n_steps} steps the "
                    f"unobserved labels differ from their fitted values by {filling.error:.1g}. More labels should be "
                    "observed, or the penalty be larger.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            self._fills[width] = filling.Y
            yield ridge(filling.Y)

    def path(self, blocks: Sequence[Sequence[Any]], widths: Sequence[int]) -> Path:
        """To a tolerance that suffices to compare penalties."""

        def scores(penalty: float) -> list[Any]:
            ridges = self.ridges(penalty, widths, tol=OBSERVED_RIDGE_TOL_COMPARISON)
            return [np.concatenate([to_host(ridge.scores(block)) for block in blocks]) for ridge in ridges]

        return scores

    def _fits(self, penalty: float, widths: Sequence[int]) -> Iterator[tuple[FitLabels, Callable[[Array], Ridge]]]:
        """For every width how complete labels are fitted, and the regression on them."""
        if isinstance(self._complete, DualRidge):
            return self._complete.label_fits(penalty, widths)
        return _primal_fits(self._complete, self._blocks, self._weight, penalty, widths)


def fill_unobserved(
    fit: FitLabels,
    start: Array,
    unobserved: NDArray[np.bool_],
    weight: Array,
    tol: float,
    max_steps: int,
) -> Filling:
    """Fill in unobserved labels so that they equal their fitted values, by conjugate gradients.

    The residual of the system is the difference between both, weighted by the square roots of the weights, with which
    H is symmetric. A label is done when its root mean square is at most ``tol``.
    """
    root = np.sqrt(weight)[:, None]
    counts = np.maximum(unobserved.sum(axis=0), 1)
    Y = start.copy()
    residual = np.where(unobserved, root * (fit(Y) - Y), 0.0)
    squares = np.einsum("ij,ij->j", residual, residual)
    bound = np.square(tol) * np.maximum(np.where(unobserved, weight[:, None], 0.0).sum(axis=0), np.finfo(float).tiny)
    direction, n_steps = residual, 0
    while (squares > bound).any() and n_steps < max_steps:
        unscaled = direction / root
        image = np.where(unobserved, direction - root * (fit(unscaled)), 0.0)
        curvature = np.einsum("ij,ij->j", direction, image)
        length = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        Y += np.where(unobserved, length * unscaled, 0.0)
        residual = residual - length * image
        new_squares = np.einsum("ij,ij->j", residual, residual)
        ratio = np.divide(new_squares, squares, out=np.zeros_like(squares), where=squares > 0)
        direction, squares, n_steps = residual + ratio * direction, new_squares, n_steps + 1
    error = float(np.sqrt(squares / counts).max(initial=0.0))
    return Filling(Y, error, n_steps, bool((squares <= bound).all()))


def observed_means(Y: Array, weight: Array) -> Array:
    """The weighted mean of the observed entries of each column; 0 for a column without any."""
    observed = ~np.isnan(Y)
    total = weight @ observed
    return np.divide(weight @ np.where(observed, Y, 0.0), total, out=np.zeros(Y.shape[1]), where=total > 0)


def _primal_fits(
    complete: PrimalRidge,
    blocks: Sequence[Sequence[Any]],
    weight: Array,
    penalty: float,
    widths: Sequence[int],
) -> Iterator[tuple[FitLabels, Callable[[Array], Ridge]]]:
    moments = complete.moments
    factor = factorise(moments.gram, penalty, complete.penalty_matrix)

    def regression(Y: Array, width: int) -> Ridge:
        mean = weight @ Y / moments.weight
        (W,) = factor.solve(_cross(blocks, weight[:, None] * (Y - mean), moments), [width])
        return Ridge(np.ascontiguousarray(W.T), mean - W.T @ moments.Z_mean[:width])

    def fitted(Y: Array, width: int) -> Array:
        ridge = regression(Y, width)
        return np.concatenate([ridge.scores(block) for block in blocks])

    for width in widths:
        yield partial(fitted, width=width), partial(regression, width=width)


def _cross(blocks: Sequence[Sequence[Any]], centred: Array, moments: Moments) -> Array:
    """Z^T times weighted and centred labels."""
    cross, start = np.zeros(moments.cross.shape), 0
    for block in blocks:
        rows = centred[start : start + block[0].shape[0]]
        cross += np.concatenate([np.asarray(part.T @ rows) for part in block])
        start += len(rows)
    return cross
