"""The prediction stage: the group-sparse code of new samples in the subspaces of the labels."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sdgs._utils._array_api import namespace, on_host, to_host
from sdgs._utils._row_norms import safe_row_norms, unit_rows
from sdgs._utils._validation import check_features, check_int, check_n_jobs, check_number, has_missing
from sdgs.coding._group_codes import GroupCodes
from sdgs.coding.compiled._huber_loss import solve_robust
from sdgs.coding.compiled._squared_loss import solve_by_gram, solve_by_sets

Array = NDArray[np.floating[Any]]

# Rows coded in one go. Fixed by the problem alone, so that the result does not depend on the number of threads.
_CHUNK_ROWS = 1024
_CHUNK_BYTES = 64 << 20
# Products and codes in float32 are off by about this much: no smaller gap can be told from zero.
_FLOAT32_TOL = 1e-6
# Coordinates whose products with each other are kept: 512 MiB.
_MOST_PRODUCTS = 8192


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

    With ``huber``, :math:`\mu`, the sample has a sparse residual s of its own, as the training samples have:

    .. math:: \min_{b, s} \; \tfrac12 \|x - b C - s\|_2^2 + \alpha \sum_{i=1}^k \|b_{G_i}\|_2 + \mu \|s\|_1

    Entries that the code misses by more than :math:`\mu` then count by their sign and no longer by their size: for b
    this is the Huber loss. Only observed entries count.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Samples. NaN is an entry that was not observed. float32 in, float32 out. Arrays of other libraries, such as
        torch's on a GPU, are coded where they are under ``sklearn.config_context(array_api_dispatch=True)``.
    components : sequence of k array-likes of shape (r_i, p)
        One subspace a label, each with orthonormal rows; ``r_i`` may be 0.
    alpha : float
        Weight of the penalty, lambda in the paper. A row's code is exactly zero from ``max_i ||C^i x||_2`` on. 0 gives
        the least-squares code of smallest norm, for complete rows and without ``huber``.
    huber : float or None, default=None
        Weight of the residual, mu. Below ``alpha`` no single entry can call up a label, and what it does to the code is
        bounded, however wrong it is. None, the paper's problem, is the limit of large mu.
    tol : float, default=1e-6
        Relative duality gap at which a row is done. At least 1e-6 for float32, which knows the gap no better.
    max_iter : int, default=2000
        Most iterations a row.
    n_jobs : int or None, default=None
        Threads over blocks of rows, or what ``joblib.parallel_config`` says: another backend, such as processes or that
        of Dask or Ray, gets blocks of at most 1024 rows. None means 1 unless in such a context. Of no use for arrays of
        other libraries.

    Returns
    -------
    GroupCodes
        Codes and, for every row, the duality gap reached. A ``ConvergenceWarning`` is issued if a row did not converge.

    Notes
    -----
    Memory: the codes, the Gram matrix of the dictionary (R x R), and for each thread 64 MiB and the squares of the
    largest working set. Beyond R = 8192 the Gram matrix is not formed, but for missing entries and ``huber``: then
    every check of a row costs a product with the whole dictionary, and every row the products of its own working sets.

    Where subspaces coincide the code is not unique: objective and gap are right, but which of the twins gets the
    coefficients is arbitrary. So it is, and the convergence slow, where ``huber`` is exactly ``alpha`` and a subspace
    holds a unit vector: code and residual can then be traded for each other.

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
    single = X.dtype == namespace(X).float32
    C, groups = _check_components(components, X.shape[1], np.float32 if single else np.float64)
    alpha = check_number(alpha, "alpha")
    mu = None if huber is None else check_number(huber, "huber", positive=True)
    # None where an entry is missing, so that one pass over X tells both.
    norms = safe_row_norms(X) if mu is None and on_host(X) and not issparse(X) else None
    robust = mu is not None or (norms is None and has_missing(X))
    if robust and alpha == 0:
        raise ValueError("alpha must be positive for samples with missing entries (NaN) and with huber, got 0.")
    tol = check_number(tol, "tol", positive=True)
    if single and tol < _FLOAT32_TOL:
        raise ValueError(f"tol must be at least {_FLOAT32_TOL:g} for float32, got {tol!r}. Pass X as float64 for less.")
    max_iter = check_int(max_iter, "max_iter", minimum=1)
    check_n_jobs(n_jobs)

    n, R = X.shape[0], C.shape[0]
    # Empty groups would share a start with their neighbour; the solver never sees them.
    starts = np.unique(groups)
    if not on_host(X):
        from sdgs.coding.array_api._coder import coded_on_device

        result = coded_on_device(X, C, starts, groups, alpha, mu, tol, max_iter)
        _warn_unless(to_host(result.gap), tol, max_iter)
        return result
    G, C64 = _products(C, formed=R <= _MOST_PRODUCTS or robust)
    pinv = np.linalg.pinv(C) if alpha == 0 and R > 0 else None
    code = _Coder(C, G, C64, pinv, starts, alpha, mu, robust, tol, max_iter)
    row_bytes = 16 * (R + (0 if issparse(X) and not robust and G is not None else X.shape[1]) + 1)
    step = int(np.clip(_CHUNK_BYTES // row_bytes, 1, _CHUNK_ROWS))
    places = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    blocks = ((X[rows], None if norms is None else norms[rows]) for rows in places)
    if effective_n_jobs(n_jobs) > 1 and len(places) > 1:
        # Threads are over blocks: BLAS threads inside them would only fight for the same cores. Where the user chose
        # another backend of joblib, blocks go wherever that takes them.
        with threadpool_limits(1):
            parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(code)(*block) for block in blocks)
    else:
        parts = [code(*block) for block in blocks]

    gap = np.concatenate([part[1] for part in parts])
    _warn_unless(gap, tol, max_iter)
    return GroupCodes(
        codes=csr_array(vstack([part[0] for part in parts], format="csr")),
        groups=groups,
        gap=gap,
        n_iter=np.concatenate([part[2] for part in parts]),
        converged=gap <= tol,
        residual=None if mu is None else csr_array(vstack([part[3] for part in parts], format="csr")),
    )


@dataclass(frozen=True, eq=False)
class _Coder:
    """Codes blocks of rows of one problem; it can be sent to other processes."""

    C: Array
    G: NDArray[np.float64] | None
    C64: NDArray[np.float64] | None
    pinv: Array | None
    starts: NDArray[np.int64]
    alpha: float
    mu: float | None
    robust: bool
    tol: float
    max_iter: int

    def __call__(
        self, x: Any, norms: Array | None
    ) -> tuple[csr_array, NDArray[np.float64], NDArray[np.int64], csr_array | None]:
        dtype = x.dtype
        limits = self.tol, self.max_iter
        if self.robust:
            assert self.G is not None
            b, gap, n_iter, s = solve_robust(x, self.C, self.G, self.starts, self.alpha, self.mu or np.inf, *limits)
            b, s = b.astype(dtype, copy=False), s.astype(dtype, copy=False)
            return _sparse(b), gap, n_iter, None if self.mu is None else _sparse(s)
        norms = safe_row_norms(x) if norms is None else norms
        if norms is None or self.pinv is not None:
            x, norms = unit_rows(x)
            units = np.ones_like(norms)
        else:
            units = norms  # to divide what comes of the rows by, and spare a copy of them
        if not np.isfinite(norms).all():
            raise ValueError("X has rows whose norm overflows. Scale X and alpha down together.")
        if self.pinv is not None:
            b, gap, n_iter = _least_squares(x, self.C, self.pinv)
        else:
            c = np.ascontiguousarray(x @ self.C.T, dtype=np.float64)
            c /= units[:, None]
            with np.errstate(over="ignore", divide="ignore"):
                # A row of norm s has s times the code of its unit row under alpha / s. No correlation of a unit row
                # exceeds 1: above 2 nothing changes, and a zero row is as good as any. Far below the rounding of the
                # gap nothing that can be seen changes either.
                alphas = np.clip(self.alpha / norms.astype(np.float64), 1e-13, 2.0)
            if self.G is None:
                assert self.C64 is not None
                b, gap, n_iter = solve_by_sets(c, self.C64, self.starts, alphas, *limits)
            else:
                b, gap, n_iter = solve_by_gram(c, self.G, self.starts, alphas, *limits)
        b *= norms[:, None]
        return _sparse(b.astype(dtype, copy=False)), gap, n_iter, None


def _warn_unless(gap: NDArray[np.float64], tol: float, max_iter: int) -> None:
    """All rows have converged."""
    if (gap > tol).any():
        warnings.warn(
            f"group_lasso: {np.count_nonzero(gap > tol)} of {gap.size} rows did not reach a duality gap of tol={tol} "
            f"within max_iter={max_iter} (largest: {gap.max():.1e}). Raise alpha, max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _check_components(components: Any, p: int, dtype: Any) -> tuple[Array, NDArray[np.int64]]:
    """The dictionary C (R, p), stacked, and the bounds (k + 1,) of its groups."""
    if components is None or len(components) == 0:
        raise ValueError("components is empty: pass a sequence of arrays, one a label.")
    parts = []
    for i, component in enumerate(components):
        part = np.asarray(component.toarray() if issparse(component) else to_host(component), dtype=dtype)
        if part.ndim != 2 or part.shape[1] != p:
            raise ValueError(f"components[{i}] must have shape (r, {p}), one column a feature of X, got {part.shape}.")
        parts.append(part)
    ranks = np.array([len(part) for part in parts])
    C = np.ascontiguousarray(np.vstack(parts))
    for rank in np.unique(ranks):
        alike = np.flatnonzero(ranks == rank)
        stacked = (C if alike.size == ranks.size else np.vstack([parts[i] for i in alike])).reshape(alike.size, rank, p)
        errors = np.abs(stacked @ stacked.transpose(0, 2, 1) - np.eye(rank)).max(axis=(1, 2), initial=0)
        if not (errors <= 1e-4).all():  # written so that NaN fails it as well
            raise ValueError(
                f"components[{alike[np.argmin(errors <= 1e-4)]}] must have orthonormal rows. Pass the components of "
                "decompose, or numpy.linalg.qr(rows.T).Q.T."
            )
    return C, np.concatenate([[0], np.cumsum(ranks)]).astype(np.int64)


def _products(C: Array, *, formed: bool) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """C C^T, or else C itself, in float64."""
    wide = C.astype(np.float64, copy=False)
    return (wide @ wide.T, None) if formed else (None, wide)  # of one array with itself: half the arithmetic


def _sparse(A: Array) -> csr_array:
    """A as CSR; scipy's own way goes over it several times."""
    places = np.flatnonzero(A != 0)  # of booleans: five times as fast as of floats
    ptr = np.searchsorted(places, np.arange(len(A) + 1) * A.shape[1])
    return csr_array((A.reshape(-1)[places], places % max(A.shape[1], 1), ptr), shape=A.shape)


def _least_squares(x: Any, C: Array, pinv: Array) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """The case alpha = 0. What the error still has in the row space of C is how far the objective is from its least."""
    b = np.asarray(x @ pinv, dtype=np.float64)
    error = np.asarray(x.toarray() if issparse(x) else x) - b @ C
    gap = np.square((error @ pinv) @ C, dtype=np.float64).sum(axis=1)
    return b, gap, np.ones(len(b), dtype=np.int64)
