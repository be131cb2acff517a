"""Sparse vectors from few measurements z = A y: greedy decoders, for many vectors at a time.

All work with the Gram matrix A^T A (k, k) and the correlations A^T z, and return y (n, k) with at most ``sparsity``
non-zero entries per row.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 22  # of the Gram matrices of supports that are held at a time
_MAX_COSAMP_ITERATIONS = 50  # it stops earlier, once the residual does not fall
_DIGITS = 9  # of magnitudes that are compared
_NEGLIGIBLE = 1e-10  # correlation with the residual, relative to that with z, below which z is represented


def orthogonal_matching_pursuit(Z: Array, A: Array, sparsity: int) -> Array:
    """Adds the column with the largest correlation with the residual, ``sparsity`` times, and refits each time.

    It stops where the residual is zero.
    """
    return _by_blocks(_pursue, Z, A, min(sparsity, A.shape[1]))


def cosamp(Z: Array, A: Array, sparsity: int) -> Array:
    """Compressive sampling matching pursuit: revises the whole support until the residual stops falling.

    Each iteration fits the support and the ``2 * sparsity`` columns with the largest correlations with the residual,
    and keeps the ``sparsity`` largest coefficients.
    """
    return _by_blocks(_revise, Z, A, min(sparsity, A.shape[1]))


def correlations(Z: Array, A: Array, sparsity: int) -> Array:
    """The ``sparsity`` largest entries of A^T z, the cheapest decoder."""
    return _keep_largest(Z @ A, min(sparsity, A.shape[1]))


DECODERS: dict[str, Callable[[Array, Array, int], Array]] = {
    "omp": orthogonal_matching_pursuit,
    "cosamp": cosamp,
    "correlation": correlations,
}


def _by_blocks(decode: Callable[[Array, Array, int], Array], Z: Array, A: Array, sparsity: int) -> Array:
    step = max(_BLOCK_ENTRIES // (3 * sparsity) ** 2, 1)
    gram = A.T @ A
    return np.concatenate([decode(Z[i : i + step] @ A, gram, sparsity) for i in range(0, max(len(Z), 1), step)])


def _pursue(target: Array, gram: Array, sparsity: int) -> Array:
    n, k = target.shape
    y, support = np.zeros((n, k)), np.empty((n, 0), dtype=np.intp)
    residual, rows = target.copy(), np.arange(n)  # A^T (z - A y), and the rows that are not yet represented
    smallest = _NEGLIGIBLE * np.abs(target).max(axis=1, initial=0.0)
    for _ in range(sparsity):
        magnitude = np.abs(residual[rows])
        np.put_along_axis(magnitude, support, -1.0, axis=1)
        best = _comparable(magnitude).argmax(axis=1)
        is_active = magnitude.max(axis=1) > smallest[rows]
        rows, support = rows[is_active], np.column_stack([support, best])[is_active]
        coefficients = _fit(target[rows], gram, support, np.ones(support.shape, dtype=bool))
        y[rows[:, None], support] = coefficients
        residual[rows] = target[rows] - y[rows] @ gram
    return y


def _revise(target: Array, gram: Array, sparsity: int) -> Array:
    n, k = target.shape
    y = np.zeros((n, k))
    error = np.zeros(n)  # ||z - A y||^2 - ||z||^2
    rows = np.arange(n)
    for _ in range(_MAX_COSAMP_ITERATIONS):
        if not rows.size:
            break
        residual = target[rows] - y[rows] @ gram
        merged = (y[rows] != 0) | (_keep_largest(residual, min(2 * sparsity, k)) != 0)
        # As index lists of one length; surplus entries are switched off.
        support = np.argsort(~merged, axis=1, kind="stable")[:, : min(3 * sparsity, k)]
        is_used = np.take_along_axis(merged, support, axis=1)
        fitted = np.zeros((rows.size, k))
        np.put_along_axis(fitted, support, _fit(target[rows], gram, support, is_used), axis=1)
        new = _keep_largest(fitted, sparsity)
        new_error = np.einsum("ij,ij->i", new, new @ gram - 2 * target[rows])
        falls = new_error < error[rows] - _NEGLIGIBLE * np.abs(error[rows])
        rows, new, new_error = rows[falls], new[falls], new_error[falls]
        y[rows], error[rows] = new, new_error
    return y


def _fit(target: Array, gram: Array, support: NDArray[np.intp], is_used: NDArray[np.bool_]) -> Array:
    """Least squares on the columns of each row's support; of smallest norm if these depend on each other."""
    blocks = gram[support[:, :, None], support[:, None, :]] * (is_used[:, :, None] & is_used[:, None, :])
    right = np.take_along_axis(target, support, axis=1) * is_used
    if not right.size:
        return right
    inverse = np.linalg.pinv(blocks, rcond=_NEGLIGIBLE, hermitian=True)
    return np.asarray((inverse @ right[:, :, None])[:, :, 0])


def _comparable(magnitudes: Array) -> Array:
    """Rounded relative to the largest of each row: the first of equal ones is the same whatever the rounding errors.

    Columns of a Hadamard matrix without most of its rows are often equal up to their sign.
    """
    largest = magnitudes.max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.round(magnitudes / np.where(largest > 0, largest, 1.0), _DIGITS))


def _keep_largest(values: Array, size: int) -> Array:
    """Zero but for the entries of each row with the largest magnitudes."""
    kept = np.argsort(-_comparable(np.abs(values)), axis=1, kind="stable")[:, :size]
    result = np.zeros_like(values)
    np.put_along_axis(result, kept, np.take_along_axis(values, kept, axis=1), axis=1)
    return result
