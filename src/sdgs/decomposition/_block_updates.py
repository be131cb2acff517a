"""The block updates of the training decomposition, on plain arrays.

The problem (equation 3 of the paper), for data X (n, p) and the rows Omega_i of each label i::

    min ||X - sum_i L^i - S||_F^2    rank(L^i) <= r^i,  L^i zero outside Omega_i,  card(S) <= K

One matrix carries the state, the error R = X - sum_i L^i - S. Label i sees N = R[Omega_i] + L^i.

*The label step.* Every solver picks an orthonormal basis Q (p, r^i) and projects: L^i = N Q Q^T, stored as
U_i = N Q and C^i = Q^T. The exact step (equation 5) takes the leading right singular vectors of N. Bilateral random
projections take Q from the thin QR of Y2 = N^T (N A): with A2 := Y1 = N A the paper's L = Y1 (A2^T Y1)^{-1} Y2^T is
exactly N Q Q^T, so no inverse is formed and rank deficiency does no harm.

*Why a warm start descends.* Let A span the last subspace. Among all matrices whose columns lie in range(N A), the one
nearest to N has the row space range(N^T N A) = range(Q); and the last L^i, even with its best coefficients, is one of
those matrices. So the error after the step is at most the error before it. A fresh Gaussian A has no such bound.

*The residual step.* S keeps the K entries of largest magnitude of X - sum_i L^i, with their signs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, svd
from scipy.linalg.lapack import dgeqrf, dorgqr

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

# Entries of |E| looked at in one go by `largest_entries`: 2 MiB of float64, so that the scratch stays in cache.
_BLOCK = 1 << 18
_SAMPLE = 1 << 14  # entries looked at to guess how large the largest are


def exact_subspace(N: Array, r: int) -> Array:
    """Leading ``r`` right singular vectors of ``N`` as columns (p, r)."""
    Vt: Array
    try:
        _, _, Vt = svd(N, full_matrices=False, check_finite=False)
    except LinAlgError:  # divide and conquer can fail to converge where QR iteration does not
        _, _, Vt = svd(N, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return Vt[:r].T


def orthonormal_basis(Y2: Array, dtype: Any) -> Array:
    """Thin QR: the basis (p, r <= p) of bilateral random projections, from Y2 = N^T (N A).

    Straight from LAPACK: what scipy does around it takes longer than the arithmetic where labels have few samples. In
    float64, and then of type ``dtype``: so it is orthonormal to the last digit. Squares are in Y2, so that it pays to
    have it in float64 as well.
    """
    room = 64 * max(Y2.shape[1], 1)
    reflectors, scales, _, _ = dgeqrf(Y2, lwork=room)
    Q: Array = dorgqr(reflectors, scales, lwork=room, overwrite_a=1)[0]
    return Q.astype(dtype, copy=False)


def ritz_basis(Q: Array, Y2: Array, r: int) -> Array:
    """The step from the best ``r`` directions of a basis Q (p, more), by Rayleigh and Ritz; Y2 = N^T (N Q)."""
    _, axes = eigh(Q.T @ Y2, check_finite=False)
    return orthonormal_basis(Y2 @ axes[:, -r:], Q.dtype)


def largest_entries(E: Array, K: int, floor: float = 0.0) -> Indices:
    """Flat positions, ascending, of the ``K`` non-zero entries of C-ordered ``E`` that are largest in magnitude.

    Streams over ``E`` in blocks, and holds O(K) candidates. ``floor`` is a magnitude that at least ``K`` entries are
    known to reach; a good one leaves little more than K candidates. A sample guesses a better one: where it is too
    high, which shows in too few entries, the search is made again without it.
    """
    flat = E.reshape(-1)
    if K <= 0 or flat.size == 0:
        return np.empty(0, dtype=np.intp)
    guess = _likely_floor(flat, K)
    if guess > floor:
        places = _largest_from(flat, K, guess)
        if places.size == K:
            return places
    return _largest_from(flat, K, floor)


def _likely_floor(flat: Array, K: int) -> float:
    """A magnitude that most likely at least ``K`` entries reach: from a sample, four deviations on the safe side."""
    step = flat.size // _SAMPLE
    if step < 2:
        return 0.0
    sample, rank = np.abs(flat[::step]), likely_rank(K, step)
    return float(np.partition(sample, -rank)[-rank]) if rank < sample.size else 0.0


def likely_rank(K: int, step: int) -> int:
    """Where in a sample of every ``step``-th entry, the largest first, an entry is that most likely K of all reach."""
    rank = K / step
    return int(rank + 4 * np.sqrt(rank) + 4)


def _largest_from(flat: Array, K: int, floor: float) -> Indices:
    """At most ``K`` positions: of the largest entries among those that are not zero and reach ``floor``."""
    room = np.empty(min(_BLOCK, flat.size), dtype=flat.dtype)
    places, sizes, held = [], [], 0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        magnitude = np.abs(block, out=room[: block.size])
        found = np.flatnonzero(magnitude >= floor if floor > 0 else magnitude)
        places.append(found + start)
        sizes.append(magnitude[found])
        held += found.size
        if held > 4 * K + 4096:
            kept = largest(np.concatenate(sizes), K)
            places, sizes, held = [np.concatenate(places)[kept]], [np.concatenate(sizes)[kept]], K
            floor = max(floor, float(sizes[0].min()))
    candidates = np.concatenate(places)
    return np.sort(candidates[largest(np.concatenate(sizes), K)])


def largest(sizes: Array, K: int) -> Indices:
    """Where the ``K`` largest are, or all if there are fewer; in no order."""
    if K == 0:
        return np.empty(0, dtype=np.intp)
    return np.argpartition(sizes, sizes.size - K)[-K:] if sizes.size > K else np.arange(sizes.size)


def update_residual(R: Array, places: Indices, values: Array, K: int) -> tuple[Indices, Array]:
    """Residual step: take S (flat ``places``, ``values``) back into ``R``, then out again at the K largest entries."""
    flat = R.reshape(-1)
    flat[places] += values
    # S always holds the K largest entries, or all non-zero ones: a full S bounds the K-th largest from below.
    floor = float(np.abs(flat[places]).min()) if places.size == K > 0 else 0.0
    places = largest_entries(R, K, floor)
    values = flat[places]
    flat[places] = 0.0
    return places, values


def supported_rank(U: Array, C: Array, floor: float) -> tuple[Array, Array]:
    """Rewrite L = U C on its principal axes, and drop the axes whose singular value is at or below ``floor``.

    Where the rows support fewer than r^i directions (one sample, duplicate rows) the QR of the label step fills the
    basis with arbitrary ones. They carry nothing in training, but would catch energy of new samples at prediction.
    The sign of each axis is the one in which the rows' coefficients sum to a non-negative number.
    """
    W, s, Vt = svd(U.astype(np.float64, copy=False), full_matrices=False, check_finite=False)
    rank = int(np.count_nonzero(s > floor))
    principal = W[:, :rank] * s[:rank]
    sign = np.where(principal.sum(axis=0) < 0, -1, 1)
    return (principal * sign).astype(U.dtype, copy=False), ((Vt[:rank] @ C) * sign[:, None]).astype(C.dtype, copy=False)
