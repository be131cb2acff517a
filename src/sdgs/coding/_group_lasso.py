"""The prediction stage: the group-sparse code of new samples in the subspaces of the labels."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from sdgs._utils._array_api import namespace, on_host, to_host
from sdgs._utils._validation import (
    check_features,
    check_int,
    check_n_jobs,
    check_number,
    has_missing,
    reject_huge_integers,
)
from sdgs.coding._coding_problem import CodingProblem, Dictionary
from sdgs.coding._group_codes import Array, GroupCodes
from sdgs.coding.compiled._host_coder import code_on_host

_MIN_FLOAT32_TOL = 1e-6  # rounding of codes to float32 gives larger gaps than a smaller tol would allow
_MAX_ORTHONORMALITY_ERROR = 1e-4


def group_lasso(
    X: Any,
    components: Sequence[Any],
    alpha: float,
    *,
    huber: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 2000,
    n_jobs: int | None = None,
) -> GroupCodes:
    r"""Group-lasso codes of all rows of ``X`` over one dictionary.

    For each row x, with :math:`C = [C^1; \ldots; C^k]` and :math:`b = [b_{G_1}, \ldots, b_{G_k}]`, solves

    .. math:: \min_b \; \tfrac12 \|x - b C\|_2^2 + \alpha \sum_{i=1}^k \|b_{G_i}\|_2

    With ``huber``, :math:`\mu`, each sample has a sparse residual s, as the training samples have:

    .. math:: \min_{b, s} \; \tfrac12 \|x - b C - s\|_2^2 + \alpha \sum_{i=1}^k \|b_{G_i}\|_2 + \mu \|s\|_1

    In terms of b this is the Huber loss: an entry whose error exceeds :math:`\mu` counts by its sign only, not by its
    size. The loss is taken over the observed entries.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Samples. NaN marks a missing entry. Codes have the precision of ``X``. Arrays of other libraries, such as torch
        on a GPU, are coded on their own device under ``sklearn.config_context(array_api_dispatch=True)``.
    components : sequence of k array-likes of shape (r_i, p)
        One subspace per label, each with orthonormal rows; ``r_i`` may be 0.
    alpha : float
        Weight of the penalty, lambda in the paper. If it is at least ``max_i ||C^i x||_2``, the code of x is zero. With
        0 the code is the least-squares one of smallest norm; that needs complete rows and no ``huber``. An alpha in
        between that is below ``1e-11 ||x||_2`` is raised to this, because of rounding, if ``X`` has no NaN.
    huber : float or None, default=None
        Weight of the residual, mu. If it is below ``alpha``, no single entry can make the code of a label non-zero, and
        the effect of one entry on the code is bounded. None, the paper's problem, is the limit of large mu.
    tol : float, default=1e-6
        Relative duality gap at which a row has converged. At least 1e-6 for float32.
    max_iter : int, default=2000
        Maximum number of iterations per row.
    n_jobs : int or None, default=None
        Number of threads over blocks of at most 1024 rows. Another backend, such as processes, Dask or Ray, can be set
        with ``joblib.parallel_config``. None means its number in such a context, otherwise as many threads as BLAS may
        use, usually one per core. Ignored for arrays of other libraries.

    Returns
    -------
    GroupCodes
        Codes, and the duality gap of every row. A ``ConvergenceWarning`` is issued if a row did not converge.

    Notes
    -----
    Memory: the codes, the Gram matrix of the dictionary (R x R), and per thread 64 MiB and the Gram matrices of the
    largest working set. For R > 8192 the Gram matrix is formed only for missing entries and ``huber``. Without it every
    check of a row costs a product with the whole dictionary, and every row the products of its own working sets.

    Everything is computed in float64. The gap is that of the code as it is returned, after it is rounded to the
    precision of ``X``. In float32 the rounding of a large code may exceed ``tol``: if subspaces nearly coincide, or if
    a code follows an entry that is far larger than ``huber``. Such a row has not converged; pass ``X`` as float64 then.

    If subspaces coincide the code is not unique: objective and gap are right, but which of these labels gets the
    coefficients is arbitrary. The same holds, with slow convergence, if ``huber`` equals ``alpha`` and a subspace
    contains a unit vector, because code and residual are then interchangeable.

    Examples
    --------
    >>> import numpy as np
    >>> from sdgs import group_lasso
    >>> axes = np.eye(4)
    >>> result = group_lasso([[3.0, 4.0, 0.0, 0.1]], [axes[:2], axes[2:]], alpha=1.0)
    >>> result.codes.toarray()
    array([[2.4, 3.2, 0. , 0. ]])
    """
    X = check_features(X, missing=True)
    is_float32 = X.dtype == namespace(X).float32
    dictionary = _check_components(components, X.shape[1], np.float32 if is_float32 else np.float64)
    alpha = check_number(alpha, "alpha")
    mu = None if huber is None else check_number(huber, "huber", positive=True)
    missing = has_missing(X)
    if alpha == 0 and (missing or mu is not None):
        raise ValueError("alpha must be positive for samples with missing entries (NaN) and with huber, got 0.")
    tol = check_number(tol, "tol", positive=True)
    if is_float32 and tol < _MIN_FLOAT32_TOL:
        raise ValueError(
            f"tol must be at least {_MIN_FLOAT32_TOL:g} for float32, got {tol!r}. Pass X as float64 for less."
        )
    max_iter = check_int(max_iter, "max_iter", minimum=1)
    check_n_jobs(n_jobs)
    return code_samples(X, CodingProblem(dictionary, alpha, mu, mu is not None or missing, tol, max_iter), n_jobs)


def code_samples(X: Any, problem: CodingProblem, n_jobs: int | None, *, dense: bool = False) -> GroupCodes:
    """:func:`group_lasso` for validated arguments; with ``dense`` the codes are an array on the host too."""
    if on_host(X):
        result = code_on_host(X, problem, n_jobs, dense=dense)
    else:
        from sdgs.coding.array_api._device_coder import code_on_device

        result = code_on_device(X, problem)
    gap, converged = to_host(result.gap), to_host(result.converged)
    if not converged.all():
        advice = ", or pass X as float64" if problem.C.dtype == np.float32 else ""
        warnings.warn(
            f"group_lasso: {np.count_nonzero(~converged)} of {gap.size} rows did not reach a duality gap of "
            f"tol={problem.tol} within max_iter={problem.max_iter} (largest: {gap.max():.1e}). Raise alpha, max_iter "
            f"or tol{advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result


def stack_components(components: Sequence[Array], dtype: Any) -> Dictionary:
    """The dictionary of components that are known to be orthonormal."""
    bounds = np.cumsum([0, *(len(C) for C in components)], dtype=np.int64)
    return Dictionary(np.ascontiguousarray(np.vstack(components), dtype=dtype), bounds)


def _check_components(components: Any, p: int, dtype: Any) -> Dictionary:
    """The dictionary of components that anyone may have made."""
    if components is None or len(components) == 0:
        raise ValueError("components is empty: pass a sequence of arrays, one per label.")
    parts = []
    for i, component in enumerate(components):
        with reject_huge_integers(f"components[{i}]"):
            part = np.asarray(component.toarray() if issparse(component) else to_host(component), dtype=dtype)
        if part.ndim != 2 or part.shape[1] != p:
            raise ValueError(
                f"components[{i}] must have shape (r, {p}), one column per feature of X, got {part.shape}."
            )
        parts.append(part)
    dictionary = stack_components(parts, dtype)
    ranks = np.diff(dictionary.groups)
    for rank in set(ranks.tolist()):
        labels = np.flatnonzero(ranks == rank)
        same_rank = dictionary.C if labels.size == ranks.size else np.vstack([parts[i] for i in labels])
        stacked = same_rank.reshape(labels.size, rank, p)
        errors = np.abs(stacked @ stacked.transpose(0, 2, 1) - np.eye(rank)).max(axis=(1, 2), initial=0)
        orthonormal = errors <= _MAX_ORTHONORMALITY_ERROR  # False for NaN
        if not orthonormal.all():
            raise ValueError(
                f"components[{labels[np.argmin(orthonormal)]}] must have orthonormal rows. Pass the components of "
                "decompose, or numpy.linalg.qr(rows.T).Q.T."
            )
    return dictionary
