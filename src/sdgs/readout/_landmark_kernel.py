"""The Laplacian kernel between samples and landmarks, which are some of the training samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._array_api import namespace, on_host, take_rows, to_device_of, to_host
from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._threads import ThreadPool
from sdgs.selection import _defaults as defaults

Array = NDArray[np.floating[Any]]

_BLOCK_ROWS = 1024  # rows whose kernels are computed at a time, so that they stay in the cache
_DEVICE_ENTRIES = 1 << 25  # samples x features x landmarks whose differences a device holds at a time


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    r"""A Laplacian kernel with landmarks, fitted to cleaned samples.

    :math:`k(x, z) = \exp(-\gamma \sum_j w_j |x_j - z_j|)`. Dense samples are compared in their own units, with w one
    over the standard deviation of a feature; sparse ones as they are scaled, with w = 1. A regression on the Nystroem
    map of this kernel is one over functions :math:`f(x) = \sum_i c_i k(x, z_i)` with squared norm :math:`c^T K c`, so
    the map itself is not needed: the features are k(x, z_i), and their penalty is K.

    Attributes
    ----------
    gamma : float
        As in the formula.
    weights : ndarray of shape (p,) or None
        w; None for samples that are compared as they are scaled.
    landmarks : ndarray or csr_array of shape (m, p)
        z_i, with w applied.
    rows : ndarray of shape (m,)
        The training samples that the landmarks are, ascending.
    landmark_gram : ndarray of shape (m, m) or None
        K, the kernel between landmarks; only during training.
    """

    gamma: float
    weights: NDArray[np.float64] | None
    landmarks: Any
    rows: NDArray[np.intp]
    landmark_gram: Array | None = None

    @property
    def n_landmarks(self) -> int:
        """The number of columns of :meth:`transform`."""
        return int(self.landmarks.shape[0])

    def transform(self, X: Any, norms: Any, n_jobs: int | None = None, *, block_rows: int = _BLOCK_ROWS) -> Any:
        """The kernel between scaled samples and landmarks; ``norms`` are the samples' before scaling (None: 1)."""
        X = X if self.weights is None else _in_units(X, norms, self.weights)
        if on_host(X):
            return self._transform_on_host(X, n_jobs, block_rows)
        xp = namespace(X)
        # Centred, because differences of large numbers lose digits.
        centre = self.landmarks.mean(axis=0, dtype=np.float64)
        landmarks, centre = (xp.astype(to_device_of(A, X), X.dtype) for A in (self.landmarks - centre, centre))
        return xp.exp(-self.gamma * _manhattan_on_device(X - centre, landmarks))

    def gram(self, n_jobs: int | None = 1) -> NDArray[np.float64]:
        """``landmark_gram``, computed again on the host."""
        return _with_jitter(_manhattan_distances(self.landmarks, self.landmarks, n_jobs, gamma=self.gamma))

    def _transform_on_host(self, X: Any, n_jobs: int | None, block_rows: int) -> NDArray[np.float64]:
        landmarks = self.landmarks
        if issparse(X) != issparse(landmarks):
            X, landmarks = (A.toarray() if issparse(A) else A for A in (X, landmarks))

        return _manhattan_distances(X, landmarks, n_jobs, gamma=self.gamma, block_rows=block_rows)


def fit_landmark_kernel(
    X: Any,
    norms: Any,
    gamma: float,
    n_landmarks: int,
    seed: int,
    observed: NDArray[np.bool_] | None = None,
    clean: Callable[[Any], Any] = lambda X: X,
    n_jobs: int | None = 1,
    *,
    sample_weight: NDArray[np.float64] | None = None,
    max_spread_samples: int = defaults.MAX_SPREAD_SAMPLES,
) -> LandmarkKernel:
    """Draw landmarks from scaled samples, and fit weights and width.

    Parameters
    ----------
    X, norms
        Scaled samples, and their norms before scaling (None: 1).
    gamma : float
        Relative to the mean distance between samples.
    observed : ndarray of shape (n, p) or None
        Which entries of dense samples are not missing (None: all): standard deviations are of these alone.
    clean : callable
        Cleans the few samples that are needed.
    n_jobs : int or None
        Threads.
    sample_weight : ndarray of shape (n,) or None
        Standard deviations and mean distance are weighted: a sample counts as often as its weight says. The draw of
        landmarks ignores weights, and a landmark is one column whatever its weight; so the result is that for repeated
        samples only as far as the landmarks are the same.
    """
    order = np.random.default_rng(seed).permutation(X.shape[0])
    rows = np.sort(order[: n_landmarks if issparse(X) else max(n_landmarks, max_spread_samples)])
    original = X
    X = to_host(clean(take_rows(X, rows)))
    norms = None if norms is None else to_host(norms)[rows]
    weights = None
    if not issparse(X):
        weights = _inverse_deviations(
            _in_units(X, norms, None),
            None if observed is None else observed[rows],
            None if sample_weight is None else sample_weight[rows],
        )
    landmark_rows = np.sort(order[:n_landmarks])
    drawn = np.searchsorted(rows, landmark_rows)
    landmarks = X[drawn, :]
    if weights is not None:
        landmarks = _in_units(landmarks, None if norms is None else norms[drawn], weights)
    if on_host(original):
        distances = _manhattan_distances(landmarks, landmarks, n_jobs)
    else:
        on_device = to_device_of(landmarks.astype(np.float64), original)
        distances = to_host(_manhattan_on_device(on_device, on_device))
    some = slice(defaults.MAX_DISTANCE_LANDMARKS)
    mean_distance = _mean_distance(
        distances[some, some], None if sample_weight is None else sample_weight[landmark_rows[some]]
    )
    if mean_distance > 0 and np.isfinite(gamma / mean_distance):
        gamma = gamma / mean_distance
    return LandmarkKernel(gamma, weights, landmarks, landmark_rows, _with_jitter(np.exp(-gamma * distances)))


def _with_jitter(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """A Gram matrix of landmarks that is positive definite; it is changed."""
    gram.flat[:: len(gram) + 1] += defaults.LANDMARK_JITTER
    return gram


def landmark_number(n_landmarks: int | str, n: int) -> int:
    """How many of n samples are landmarks; ``n_landmarks`` is a maximum, "auto", or "many" for a search."""
    if not isinstance(n_landmarks, str):
        return min(n, int(n_landmarks))
    divisor, minimum, maximum = defaults.LANDMARKS if n_landmarks == "auto" else defaults.MANY_LANDMARKS
    number = min(n, max(n // divisor, minimum), maximum)
    if n_landmarks == "auto":
        return number
    divisor, maximum = defaults.MANY_LANDMARKS_OF_MANY_SAMPLES
    return max(number, min(n // divisor, maximum))


def _in_units(X: Any, norms: Any, weights: Any) -> Any:
    """Dense samples before they had unit norm, with weighted columns, clipped so that distances do not overflow."""
    X = X.toarray() if issparse(X) else X
    xp, dtype = namespace(X), X.dtype
    largest = float(xp.finfo(dtype).max)
    with np.errstate(over="ignore"):
        X = X if norms is None else _clip(X * _clip(norms, largest)[:, None], largest)
        return X if weights is None else xp.astype(_clip(X * to_device_of(weights, X), largest**0.5), dtype)


def _clip(X: Any, bound: float) -> Any:
    """Entries clipped to [-bound, bound]; NaN, which a row norm that overflowed gives, becomes the bound."""
    xp = namespace(X)
    limit = xp.full_like(X, bound)
    return xp.where(xp.isnan(X), limit, xp.minimum(xp.maximum(X, -limit), limit))


def _mean_distance(distances: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """The mean distance between two samples, given those between all; with weights between two of the repeated samples.

    Copies of a sample have distance 0. Where all weights are small, as if they sum to 1, they count as if their mean
    was 1.
    """
    if weight is None:
        return float(distances.sum()) / max(distances.size - len(distances), 1)
    total = weight.sum()
    n = max(float(total), float(np.count_nonzero(weight)))
    share = weight / total if total > 0 else weight
    return float(share @ distances @ share) * n / max(n - 1, 1)


def _inverse_deviations(
    X: Array, observed: NDArray[np.bool_] | None, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """One over the standard deviation of each feature; 0 for one that is constant up to rounding."""
    is_observed = np.ones(X.shape, dtype=bool) if observed is None else observed
    if weight is not None:
        is_observed = is_observed & (weight > 0)[:, None]
    largest = np.abs(X).max(axis=0, where=is_observed, initial=0).astype(np.float64)

    def sum_rows(A: Array) -> Array:
        if weight is None:
            return np.asarray(A.sum(axis=0, where=is_observed, dtype=np.float64))
        return np.asarray(weight @ np.where(is_observed, A, 0))

    count = is_observed.sum(axis=0) if weight is None else weight @ is_observed
    count = np.where(count > 0, count, 1)
    relative = X / np.where(largest > 0, largest, 1)  # squares may overflow
    mean = sum_rows(relative) / count
    spread = np.sqrt(sum_rows(np.square(relative - mean)) / count)
    deviation = largest * spread
    is_constant = (spread <= 10 * np.finfo(X.dtype).eps) | (deviation < np.finfo(np.float64).tiny)
    return np.where(is_constant, 0.0, 1 / np.where(is_constant, 1, deviation))


def _manhattan_distances(
    X: Any,
    landmarks: Any,
    n_jobs: int | None,
    *,
    gamma: float | None = None,
    block_rows: int = _BLOCK_ROWS,
) -> NDArray[np.float64]:
    """Distances d between the rows of both, which are sparse or dense; with ``gamma`` exp(-gamma d)."""
    from sdgs.readout._manhattan import manhattan, sparse_manhattan

    distances = np.empty((X.shape[0], landmarks.shape[0]))
    if issparse(X):
        X, landmarks = (narrow_indices(A).astype(np.float64, copy=False) for A in (X, landmarks))
    else:
        X, landmarks = (np.ascontiguousarray(A, dtype=np.float64) for A in (X, landmarks))

    def fill_block(start: int) -> None:
        rows = slice(start, start + block_rows)
        x, block = X[rows], distances[rows]
        if issparse(x):
            z = landmarks
            sparse_manhattan(x.indptr, x.indices, x.data, z.indptr, z.indices, z.data, z.shape[1], block)
        else:
            manhattan(x, landmarks, block)
        if gamma is not None:
            block *= -gamma
            np.exp(block, out=block)

    ThreadPool(n_jobs if X.shape[0] > block_rows else 1).for_each(fill_block, range(0, X.shape[0], block_rows))
    return distances


def _manhattan_on_device(X: Any, landmarks: Any) -> Any:
    xp = namespace(X)
    step = max(1, _DEVICE_ENTRIES // max(X.shape[0] * X.shape[1], 1))
    parts = [
        xp.sum(xp.abs(X[:, None, :] - landmarks[None, start : min(start + step, landmarks.shape[0]), :]), axis=2)
        for start in range(0, landmarks.shape[0], step)
    ]
    return xp.concat(parts, axis=1)
