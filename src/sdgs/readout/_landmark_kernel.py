"""Kernels of samples with landmarks, which are some of the samples that they are learnt from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from sdgs._utils._array_api import namespace, on_host, take_rows, to_device_of, to_host
from sdgs._utils._row_norms import narrow_indices

Array = NDArray[np.floating[Any]]
Kernel = Literal["laplacian", "rbf"]

# Every so many samples, but all of so few, and no more than so many; the latter if sparse.
_LANDMARKS = {False: (2, 1500, 3000), True: (4, 500, 2000)}
_OF_MANY = (7, 4500)  # every so many of many dense samples, and no more than so many
_ENOUGH = 5000  # samples to see from how features vary
_LOOKED_AT = 300  # samples that say how far samples are from each other
_JITTER = 1e-6  # added to the kernel of a landmark with itself: two may be all but the same
_ROWS = 1024  # that kernels are computed of in one go
_APART = 1 << 25  # numbers: samples times features times as many landmarks as a device looks at in one go


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    r"""A kernel with landmarks, learnt from cleaned samples.

    Of dense samples in their own units, :math:`\exp(-\gamma \sum_j w_j |x_j - x'_j|)`, where w is one over the standard
    deviation of a feature; of sparse ones as they are scaled, with w = 1. Regressions on Nystroem's map of it are of
    functions :math:`f(x) = \sum_i c_i k(x, x_i)` of kernels with landmarks, whose square norm is :math:`c^T K c`. So no
    map is needed.

    Attributes
    ----------
    kernel : {"laplacian", "rbf"}
        The latter, of squares of differences, only in old models.
    gamma : float
        As it is above.
    weights : ndarray of shape (p,) or None
        Of the features (w); None for samples as they are scaled.
    landmarks : ndarray or csr_array of shape (m, p)
        Samples as the kernel sees them.
    kernels : ndarray of shape (m, m) or None
        Of the landmarks with each other; None once it is no longer asked for.
    turn : ndarray of shape (m, m) or None
        Only in old models: what kernels with the landmarks are multiplied by.
    """

    kernel: Kernel
    gamma: float
    weights: NDArray[np.float64] | None
    landmarks: Any
    kernels: Array | None = None
    turn: Array | None = None

    @property
    def size(self) -> int:
        """Numbers that a sample becomes."""
        return int(self.landmarks.shape[0])

    def image(self, X: Any, norms: Any, n_jobs: int | None = None) -> Any:
        """Kernels with the landmarks, of scaled samples that had these norms before (None: one)."""
        seen = X if self.weights is None else _in_units(X, norms, self.weights)
        if on_host(X):
            found = self._kernels(seen, n_jobs)
            return found if self.turn is None else (found @ self.turn).astype(X.dtype, copy=False)
        xp = namespace(X)
        # Square distances as differences of squares need all the digits that there are: so from the middle.
        middle = self.landmarks.mean(axis=0, dtype=np.float64)
        points, middle = (xp.astype(to_device_of(A, X), X.dtype) for A in (self.landmarks - middle, middle))
        distances = _manhattan if self.kernel == "laplacian" else _euclidean
        found = xp.exp(-self.gamma * distances(seen - middle, points))
        return found if self.turn is None else found @ xp.astype(to_device_of(self.turn, X), X.dtype)

    def _kernels(self, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
        """With the landmarks, of samples as it sees them; some rows after the other, while they are in the cache."""
        points = self.landmarks
        if self.kernel == "laplacian":
            X, points = (_comparable(A) for A in _alike(X, points))
        kernels = np.empty((X.shape[0], points.shape[0]))

        def fill(start: int) -> None:
            rows = slice(start, start + _ROWS)
            part = kernels[rows]
            if self.kernel == "laplacian":
                _far_apart(X[rows], points, part)
            else:
                part[:] = euclidean_distances(X[rows], points, squared=True)
            part *= -self.gamma
            np.exp(part, out=part)

        starts = range(0, X.shape[0], _ROWS)
        # Distances of sparse rows, and square ones, have threads of their own.
        threaded = self.kernel == "laplacian" and not issparse(X) and len(starts) > 1
        Parallel(n_jobs=n_jobs if threaded else 1, require="sharedmem")(delayed(fill)(start) for start in starts)
        return kernels


def fit_landmark_kernel(
    X: Any,
    norms: Any,
    gamma: float,
    n_landmarks: int,
    seed: int,
    observed: NDArray[np.bool_] | None = None,
    clean: Callable[[Any], Any] = lambda X: X,
) -> LandmarkKernel:
    """The kernel of samples, scaled, that had these norms before (None: one), and made ``clean``: those that matter.

    ``gamma`` is relative to the mean distance between samples. ``observed`` says which entries of dense samples were
    not missing (None: all): how a feature varies is known from these alone.
    """
    order = np.random.default_rng(seed).permutation(X.shape[0])
    rows = np.sort(order[: n_landmarks if issparse(X) else max(n_landmarks, _ENOUGH)])
    X = to_host(clean(take_rows(X, rows)))
    norms = None if norms is None else to_host(norms)[rows]
    weights = None
    if not issparse(X):
        weights = _weights(_in_units(X, norms, None), None if observed is None else observed[rows])
    chosen = np.searchsorted(rows, np.sort(order[:n_landmarks]))
    points = X[chosen, :]
    if weights is not None:
        points = _in_units(points, None if norms is None else norms[chosen], weights)
    apart = np.empty((len(chosen), len(chosen)))
    comparable = _comparable(points)
    _far_apart(comparable, comparable, apart)
    far = apart[:_LOOKED_AT, :_LOOKED_AT]
    distance = float(far.sum()) / max(far.size - len(far), 1)
    gamma = gamma / distance if distance > 0 and np.isfinite(gamma / distance) else gamma
    kernels = np.exp(-gamma * apart)
    kernels.flat[:: len(kernels) + 1] += _JITTER
    return LandmarkKernel("laplacian", gamma, weights, points, kernels)


def landmarks(asked_for: int | str, n: int, *, sparse: bool) -> int:
    """How many of n samples a kernel is computed with; all of a few, some of more, never very many.

    Fewer of sparse samples, which have many features to be read beside it.
    """
    if not isinstance(asked_for, str):
        return min(n, int(asked_for))
    every, all_of, most = _LANDMARKS[sparse]
    some = min(n, max(n // every, all_of), most)
    return some if sparse else max(some, min(n // _OF_MANY[0], _OF_MANY[1]))


def _in_units(X: Any, norms: Any, weights: Any) -> Any:
    """Dense samples as they were before they had unit norm, in units of their features; none too far out to compare."""
    X = X.toarray() if issparse(X) else X
    xp, dtype = namespace(X), X.dtype
    largest = float(xp.finfo(dtype).max)
    with np.errstate(over="ignore"):
        X = X if norms is None else _within(X * _within(norms, largest)[:, None], largest)
        return X if weights is None else xp.astype(_within(X * to_device_of(weights, X), largest**0.5), dtype)


def _within(X: Any, bound: float) -> Any:
    """No entry beyond the bound; the norm of a row that overflowed may be no number, and is beyond it."""
    xp = namespace(X)
    limit = xp.full_like(X, bound)
    return xp.where(xp.isnan(X), limit, xp.minimum(xp.maximum(X, -limit), limit))


def _weights(X: Array, observed: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """One over the standard deviation of a feature; 0 for one that is constant, but for rounding."""
    seen = np.ones(X.shape, dtype=bool) if observed is None else observed
    largest = np.abs(X).max(axis=0, where=seen, initial=0).astype(np.float64)
    count = np.maximum(seen.sum(axis=0), 1)
    unit = X / np.where(largest > 0, largest, 1)  # squares may overflow
    mean = unit.sum(axis=0, where=seen, dtype=np.float64) / count
    relative = np.sqrt(np.square(unit - mean).sum(axis=0, where=seen, dtype=np.float64) / count)
    deviation = largest * relative
    constant = (relative <= 10 * np.finfo(X.dtype).eps) | (deviation < np.finfo(np.float64).tiny)
    return np.where(constant, 0.0, 1 / np.where(constant, 1, deviation))


def _comparable(X: Any) -> Any:
    """As distances are computed of."""
    return narrow_indices(X) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


def _far_apart(X: Any, points: Any, out: NDArray[np.float64]) -> None:
    """Write sums of differences; both are comparable, and sparse or dense."""
    if issparse(X):
        out[:] = manhattan_distances(X, points)
    else:
        from sdgs.readout._manhattan import manhattan

        manhattan(X, points, out)


def _alike(X: Any, points: Any) -> tuple[Any, Any]:
    """Both sparse or both dense."""
    if issparse(X) == issparse(points):
        return X, points
    return tuple(A.toarray() if issparse(A) else A for A in (X, points))


def _manhattan(X: Any, points: Any) -> Any:
    """Distances on a device."""
    xp = namespace(X)
    step = max(1, _APART // max(X.shape[0] * X.shape[1], 1))
    parts = [
        xp.sum(xp.abs(X[:, None, :] - points[None, start : min(start + step, points.shape[0]), :]), axis=2)
        for start in range(0, points.shape[0], step)
    ]
    return xp.concat(parts, axis=1)


def _euclidean(X: Any, points: Any) -> Any:
    """Square distances on a device."""
    xp = namespace(X)
    squares = xp.sum(X * X, axis=1)[:, None] + xp.sum(points * points, axis=1)[None, :]
    distances = squares - 2 * X @ xp.matrix_transpose(points)
    return xp.maximum(distances, xp.zeros_like(distances))
