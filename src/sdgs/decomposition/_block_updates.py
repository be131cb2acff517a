"""The block updates of the training decomposition, on plain arrays. The residual step takes those of any library.

The problem (equation 3 of the paper), for data X (n, p) and the rows Omega_i of each label i::

    min ||X - sum_i L^i - S||_F^2    rank(L^i) <= r^i,  L^i zero outside Omega_i,  card(S) <= K

The state is one matrix, the error R = X - sum_i L^i - S. The update of label i fits N = R[Omega_i] + L^i.

*The label step.* Every solver picks an orthonormal basis Q (p, r^i) and projects: L^i = N Q Q^T, stored as
U_i = N Q and C^i = Q^T. The exact step (equation 5) takes the leading right singular vectors of N. Bilateral random
projections take Q from the thin QR of Y2 = N^T (N A): with A2 := Y1 = N A the paper's L = Y1 (A2^T Y1)^{-1} Y2^T is
exactly N Q Q^T, so that no inverse is formed and rank deficiency needs no special case.

*Why a warm start descends.* Let A span the last subspace. Among all matrices whose columns lie in range(N A), the one
nearest to N has the row space range(N^T N A) = range(Q), and the last L^i, even with its best coefficients, is one of
those matrices. So the error after the step is at most the error before it. A new Gaussian A has no such bound.

*The residual step.* S keeps the K entries of largest magnitude of X - sum_i L^i, with their signs.

*Sample weights* w minimise sum_i w_i ||R_i||^2. That is the problem for rows multiplied by sqrt(w_i), whose label step
takes Q from N^T diag(w) (N A); then L^i = N Q Q^T holds for the rows as they are, so that nothing else is weighted. In
the residual step an entry of row i takes w_i of the budget K. The largest entries that fit are the best ones but for
the last of them, so that the entries of the last sweep may be better: then S keeps those, and no step raises the error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, svd
from scipy.linalg.lapack import dgeqrf, dgesdd, dgesdd_lwork, dorgqr, dsyevr

from sdgs._utils._array_api import namespace, on_host, put, take, to_device_of, to_host

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

_SCAN_ENTRIES = 1 << 18  # entries per block of `largest_entries`: 2 MiB of float64, so that the buffer stays in cache
_SAMPLE_SIZE = 1 << 14  # entries from which the magnitude of the largest ones is estimated


def exact_subspace(N: Array, r: int) -> Array:
    """Leading ``r`` right singular vectors of ``N`` as columns (p, r)."""
    return np.asarray(_svd(N)[2][:r].T)


def _svd(A: Array) -> tuple[Array, Array, Array]:
    """The thin SVD."""
    try:
        W, s, Vt = svd(A, full_matrices=False, check_finite=False)
    except LinAlgError:
        return _svd_by_qr_iteration(A)
    return W, s, Vt


def _svd_by_qr_iteration(A: Array) -> tuple[Array, Array, Array]:
    """The thin SVD where divide and conquer fails to converge."""
    W, s, Vt = svd(A, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return W, s, Vt


def orthonormal_basis(Y2: Array, dtype: Any) -> Array:
    """Thin QR: the basis (p, r <= p) of bilateral random projections, from Y2 = N^T (N A).

    Calls LAPACK directly because scipy's wrapper takes longer than the arithmetic for labels with few samples. Computes
    in float64 and converts to ``dtype`` at the end, so that the basis is orthonormal to the last digit. Y2 should be
    float64 as well because it contains squares.
    """
    workspace = 64 * max(Y2.shape[1], 1)
    reflectors, scales, _, _ = dgeqrf(Y2, lwork=workspace)
    Q: Array = dorgqr(reflectors, scales, lwork=workspace, overwrite_a=1)[0]
    return Q.astype(dtype, copy=False)


def ritz_basis(Q: Array, Y2: Array, r: int) -> Array:
    """One subspace iteration from the best ``r`` directions in a larger basis Q (Rayleigh-Ritz); Y2 = N^T (N Q)."""
    _, axes, *_, failed = dsyevr(Q.T @ Y2, lower=1, overwrite_a=1)  # directly, as in `orthonormal_basis`
    if failed:
        raise LinAlgError("the eigenvalues of a projected label did not converge.")
    return orthonormal_basis(Y2 @ axes[:, -r:], Q.dtype)


def largest_entries(
    E: Any, K: int, floor: float = 0.0, *, block_size: int = _SCAN_ENTRIES, sample_size: int = _SAMPLE_SIZE
) -> Any:
    """Flat indices, ascending, of the ``K`` non-zero entries of C-ordered ``E`` that are largest in magnitude.

    Scans ``E`` in blocks and keeps O(K) candidates. ``floor`` is a magnitude that at least ``K`` entries are known to
    reach; a tight one leaves little more than K candidates. A higher floor is estimated from a sample. If it turns out
    too high, which shows in fewer than K entries, the scan is repeated with ``floor``.
    """
    xp = namespace(E)
    flat = xp.reshape(E, (-1,))
    if K <= 0 or flat.shape[0] == 0:
        return xp.zeros((0,), dtype=xp.int64, device=device(flat))
    estimate = _estimated_floor(flat, K, sample_size)
    if estimate > floor:
        indices = _largest_above(flat, K, estimate, block_size)
        if indices.shape[0] == K:
            return indices
    return _largest_above(flat, K, floor, block_size)


def _estimated_floor(flat: Any, K: int, sample_size: int) -> float:
    """A magnitude that at least ``K`` entries reach with high probability, from a regular sample."""
    step = flat.shape[0] // sample_size
    if step < 2:
        return 0.0
    sample = np.abs(to_host(flat[::step]))
    rank = int(K / step + 4 * np.sqrt(K / step) + 4)  # four standard deviations above the expected rank K / step
    return float(np.partition(sample, -rank)[-rank]) if rank < sample.size else 0.0


def _largest_above(flat: Any, K: int, floor: float, block_size: int) -> Any:
    """Indices of the at most ``K`` largest among the non-zero entries that reach ``floor``."""
    xp = namespace(flat)
    buffer = np.empty(min(block_size, flat.shape[0]), dtype=flat.dtype) if on_host(flat) else None
    indices, magnitudes, n_candidates = [], [], 0
    for block in slices(flat.shape[0], block_size):
        out = {} if buffer is None else {"out": buffer[: block.stop - block.start]}
        magnitude = xp.abs(flat[block], **out)
        candidates = xp.nonzero(magnitude >= floor if floor > 0 else magnitude > 0)[0]
        indices.append(xp.astype(candidates, xp.int64, copy=False) + block.start)
        magnitudes.append(take(magnitude, candidates))
        n_candidates += candidates.shape[0]
        if n_candidates > 4 * K + 4096:
            chosen = largest_indices(xp.concat(magnitudes), K)
            indices, magnitudes = [take(xp.concat(indices), chosen)], [take(xp.concat(magnitudes), chosen)]
            n_candidates, floor = K, max(floor, float(xp.min(magnitudes[0])))
    return xp.sort(take(xp.concat(indices), largest_indices(xp.concat(magnitudes), K)))


def largest_indices(magnitudes: Any, K: int) -> Any:
    """Indices of the ``K`` largest, or of all if there are fewer, in no particular order."""
    xp, size = namespace(magnitudes), magnitudes.shape[0]
    if K == 0 or size <= K:
        return xp.arange(min(size, K), device=device(magnitudes))
    if on_host(magnitudes):
        return np.argpartition(magnitudes, size - K)[-K:]
    return xp.argsort(magnitudes, descending=True, stable=True)[:K]


def number_within_budget(costs: Any, K: float) -> int:
    """How many of some entries, the largest first, fit into a budget K; the last one if at least half of it does.

    With integer costs this is what most copies of an entry get if it is repeated as often as it costs.
    """
    xp = namespace(costs)
    midpoints = xp.cumulative_sum(costs) - 0.5 * costs
    return int(xp.sum(xp.astype(midpoints <= K, xp.int64)))


def largest_within_budget(magnitudes: Any, costs: Any, K: float) -> tuple[Any, float]:
    """Indices, ascending, of the largest numbers that fit into a budget K, and the largest of the others, or 0."""
    xp = namespace(magnitudes)
    order = xp.argsort(magnitudes, descending=True, stable=True)
    number = number_within_budget(take(costs, order), K)
    rest = order[number : number + 1]
    return xp.sort(order[:number]), float(take(magnitudes, rest)[0]) if rest.shape[0] else 0.0


def largest_weighted_entries(
    E: Any,
    K: float,
    costs_of: Callable[[Any], Any],
    floor: float = 0.0,
    *,
    block_size: int = _SCAN_ENTRIES,
    sample_size: int = _SAMPLE_SIZE,
) -> tuple[Any, float]:
    """Flat indices, ascending, of the non-zero entries above ``floor`` that fit into a budget K, the largest first.

    ``costs_of`` returns the costs of entries at some indices. The second result is the largest magnitude that was left
    out, or ``floor``. As in `largest_entries` a higher floor is estimated, and if no entry above it is left out, it was
    too high.
    """
    xp = namespace(E)
    flat = xp.reshape(E, (-1,))
    if K <= 0:
        return xp.zeros((0,), dtype=xp.int64, device=device(flat)), floor
    estimate = _estimated_weighted_floor(flat, K, costs_of, sample_size)
    if estimate > floor:
        indices, largest_other = _largest_weighted_above(flat, K, costs_of, estimate, block_size)
        if largest_other > estimate:
            return indices, largest_other
    return _largest_weighted_above(flat, K, costs_of, floor, block_size)


def _estimated_weighted_floor(flat: Any, K: float, costs_of: Callable[[Any], Any], sample_size: int) -> float:
    """A magnitude such that the entries above it exceed the budget with high probability, from a regular sample."""
    step = flat.shape[0] // sample_size
    if step < 2:
        return 0.0
    sample = np.abs(to_host(flat[::step]))
    costs = to_host(costs_of(to_device_of(np.arange(0, flat.shape[0], step), flat)))
    order = np.argsort(-sample)
    largest_cost = step * costs.max()
    target = K + 4 * np.sqrt(K * largest_cost) + 4 * largest_cost  # at least four standard deviations above
    rank = np.searchsorted(step * costs[order].cumsum(), target)
    return float(sample[order[rank]]) if rank < sample.size else 0.0


def _largest_weighted_above(
    flat: Any, K: float, costs_of: Callable[[Any], Any], floor: float, block_size: int
) -> tuple[Any, float]:
    xp = namespace(flat)
    indices, max_candidates = xp.zeros((0,), dtype=xp.int64, device=device(flat)), 0
    for block in slices(flat.shape[0], block_size):
        candidates = xp.nonzero(xp.abs(flat[block]) > floor)[0]
        indices = xp.concat([indices, xp.astype(candidates, xp.int64, copy=False) + block.start])
        if indices.shape[0] > max_candidates or block.stop == flat.shape[0]:
            chosen, largest_other = largest_within_budget(xp.abs(take(flat, indices)), costs_of(indices), K)
            indices, floor = take(indices, chosen), max(floor, largest_other)
            max_candidates = 4 * indices.shape[0] + 4096
    return indices, floor


def update_residual(
    R: Any, S_indices: Any, S_values: Any, K: float, block_size: int = _SCAN_ENTRIES, weight: Any = None
) -> tuple[Any, Any, Any]:
    """Residual step: add S back to R, then move the K largest entries of R into S. Returns R and S.

    With a ``weight`` for each row an entry takes so much of K.
    """
    xp = namespace(R)
    flat = xp.reshape(R, (-1,))
    if S_indices.shape[0]:
        flat = put(flat, S_indices, take(flat, S_indices) + S_values)
    if weight is None:
        # S always holds the K largest entries, or all non-zero ones: a full S bounds the K-th largest from below.
        floor = float(xp.min(xp.abs(take(flat, S_indices)))) if S_indices.shape[0] == K > 0 else 0.0
        S_indices = largest_entries(flat, int(K), floor, block_size=block_size)
    else:
        S_indices = _better_entries(flat, S_indices, K, lambda at: take(weight, at // R.shape[1]), block_size)
    S_values = take(flat, S_indices)
    return xp.reshape(put(flat, S_indices, xp.zeros_like(S_values)), R.shape), S_indices, S_values


def _better_entries(flat: Any, last: Any, K: float, costs_of: Callable[[Any], Any], block_size: int) -> Any:
    """Indices of the largest entries that fit into K, or those of the last sweep if their weighted energy is larger."""
    largest, _ = largest_weighted_entries(flat, K, costs_of, block_size=block_size)
    return max((largest, last), key=lambda at: weighted_energy(take(flat, at), costs_of(at)))


def weighted_energy(values: Any, weight: Any) -> float:
    """The sum of squares, with weights."""
    xp = namespace(values)
    return float(xp.sum(xp.astype(values, xp.float64) ** 2 * weight))


def slices(size: int, step: int) -> list[slice]:
    """Consecutive slices of ``step`` that cover ``range(size)``; the last may be shorter."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def supported_rank(U: Array, C: Array, floor: float) -> tuple[Array, Array]:
    """Rewrite L = U C on its principal axes, and drop the axes whose singular value is at or below ``floor``.

    If the rows support fewer than r^i directions (one sample, duplicate rows), the QR of the label step fills the
    basis with arbitrary ones. They have no effect in training, but would capture energy of new samples at prediction.
    The sign of each axis is the one for which the coefficients of the rows have a non-negative sum.
    """
    if not len(U):
        return U, C
    workspace = int(dgesdd_lwork(*U.shape, full_matrices=0)[0])
    W, s, Vt, failed = dgesdd(U, full_matrices=0, lwork=workspace)  # directly, as in `orthonormal_basis`
    if failed:
        W, s, Vt = _svd_by_qr_iteration(U.astype(np.float64, copy=False))
    rank = int(np.count_nonzero(s > floor))
    principal = W[:, :rank] * s[:rank]
    sign = np.where(principal.sum(axis=0) < 0, -1, 1)
    return (principal * sign).astype(U.dtype, copy=False), ((Vt[:rank] @ C) * sign[:, None]).astype(C.dtype, copy=False)


def weighted_supported_rank(U: Array, C: Array, weight: NDArray[np.float64], floor: float) -> tuple[Array, Array]:
    """The same for rows with weights: the axes are those of sqrt(w) U.

    U is rotated rather than scaled back, because rows of small weight would lose digits.
    """
    if not len(U):
        return U, C
    _, s, Vt = _svd(np.sqrt(weight)[:, None] * U)
    Vt = Vt[: np.count_nonzero(s > floor)]
    Vt = Vt * np.where(weight @ (U @ Vt.T) < 0, -1, 1)[:, None]
    return (U @ Vt.T).astype(U.dtype, copy=False), (Vt @ C).astype(C.dtype, copy=False)
