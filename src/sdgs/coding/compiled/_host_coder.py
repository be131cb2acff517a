"""Codes of all rows of an array on the host, block by block."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, issparse, vstack

from sdgs._utils._overflow import TooLargeError
from sdgs._utils._row_norms import safe_row_norms, unit_rows
from sdgs._utils._threads import blas_on_one_thread, n_threads
from sdgs.coding._coding_problem import MIN_RELATIVE_ALPHA, ROUNDING, CodingProblem, Floats, Integers
from sdgs.coding._group_codes import Array, GroupCodes
from sdgs.coding.compiled._huber_loss import check_codes, solve_huber_loss
from sdgs.coding.compiled._squared_loss import rounded_gaps, solve_by_gram, solve_by_working_sets

# Rows per block. They depend on the problem alone, so that the result does not depend on the number of threads.
_MAX_BLOCK_ROWS = 1024
_BLOCK_BYTES = 64 << 20
_MIN_NORM = np.finfo(np.float64).tiny / np.finfo(np.float64).eps  # codes of smaller rows may have subnormal numbers
_MAX_GRAM_SIZE = 8192  # up to so many rows of the dictionary its Gram matrix is formed: 512 MiB


@blas_on_one_thread()
def code_on_host(
    X: Any,
    problem: CodingProblem,
    n_jobs: int | None = None,
    *,
    dense: bool = False,
    max_gram_size: int = _MAX_GRAM_SIZE,
) -> GroupCodes:
    """See :func:`sdgs.group_lasso`. With ``dense`` the codes are an array."""
    (n, p), R = X.shape, len(problem.C)
    has_gram = max_gram_size >= R or problem.huber_loss
    pinv = problem.dictionary.pinv if problem.alpha == 0 and R > 0 else None
    code = _BlockCoder(problem, problem.dictionary.gram if has_gram else None, pinv, dense)
    stays_sparse = issparse(X) and not problem.huber_loss and has_gram
    row_bytes = 16 * (R + (0 if stays_sparse else p) + 1)
    step = min(max(_BLOCK_BYTES // row_bytes, 1), _MAX_BLOCK_ROWS)
    if n <= step:
        return problem.to_group_codes(*code(X))
    blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    n_jobs = n_threads(n_jobs)
    if n_jobs > 1:  # with another backend of joblib the blocks run wherever it sends them
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(code)(X[rows]) for rows in blocks)
    else:
        parts = [code(X[rows]) for rows in blocks]

    codes, gaps, n_iter, residuals = zip(*parts, strict=True)
    return problem.to_group_codes(
        np.concatenate(codes) if dense else csr_array(vstack(codes, format="csr")),
        np.concatenate(gaps),
        np.concatenate(n_iter),
        None if problem.mu is None else csr_array(vstack(residuals, format="csr")),
    )


@dataclass(frozen=True, eq=False)
class _BlockCoder:
    """Codes a block of rows; it can be sent to other processes."""

    problem: CodingProblem
    gram: Floats | None  # C C^T, unless it would be too large
    pinv: Array | None
    dense: bool  # whether the codes are returned dense

    def __call__(self, x: Any) -> tuple[Any, Floats, Integers, csr_array | None]:
        """Codes, gaps, iterations and residuals."""
        residual = None
        if self.problem.huber_loss:
            assert self.gram is not None
            codes, gap, n_iter, s = solve_huber_loss(x, self.problem, self.gram)
            if self.problem.mu is not None:
                residual = to_csr(s.astype(x.dtype, copy=False))
        else:
            codes, gap, n_iter = self._code_complete_rows(x)
        return codes if self.dense else to_csr(codes), gap, n_iter, residual

    def _code_complete_rows(self, x: Any) -> tuple[Array, Floats, Integers]:
        """Codes without a residual."""
        dtype = x.dtype
        x = x.astype(np.float64, copy=False)
        norms = safe_row_norms(x)
        if norms is None or self.pinv is not None:
            x, norms = unit_rows(x)
            divisors = np.ones_like(norms)
        else:
            divisors = norms  # applied to the correlations of the rows, which saves a copy of the rows
        if not np.isfinite(norms).all():
            raise TooLargeError("X has rows whose norm overflows. Scale X and alpha down together.")
        if self.pinv is not None:
            return self._least_squares(x, norms, dtype)
        return self._solve_squared_loss(x, norms, divisors, dtype)

    def _least_squares(self, x: Any, norms: Array, dtype: Any) -> tuple[Array, Floats, Integers]:
        """The case alpha = 0, for unit rows. The part of their error in the row space of C is the gap."""
        C, pinv = self.problem.dictionary.C_float64, self.pinv
        codes = _codes_of_rows(np.asarray(x @ pinv), norms, dtype)
        x = x.toarray() if issparse(x) else x

        def gaps_of(b: Floats) -> Floats:
            errors = np.linalg.norm(((x - b @ C) @ pinv) @ C, axis=1)
            return np.asarray(np.square(errors + ROUNDING * np.abs(b).sum(axis=1)))

        gap = gaps_of(_codes_of_unit_rows(codes, norms))
        codes, gap = self.problem.or_zero_codes(codes, gap, lambda: gaps_of(np.zeros(codes.shape)))
        return codes, gap, np.ones(len(codes), dtype=np.int64)

    def _solve_squared_loss(self, x: Any, norms: Array, divisors: Array, dtype: Any) -> tuple[Array, Floats, Integers]:
        """Codes of rows that are divided by ``divisors`` to have unit norm."""
        problem, C = self.problem, self.problem.dictionary.C_float64
        c = np.ascontiguousarray(x @ C.T)
        c /= divisors[:, None]
        with np.errstate(over="ignore"):
            # A row of norm s has s times the code of its unit row under alpha / s. Correlations of unit rows are at
            # most 1, so that the code is zero above 2 as well; the value for a zero row does not matter.
            alphas = (problem.alpha / np.where(norms > 0, norms, 1.0)).clip(MIN_RELATIVE_ALPHA, 2.0)
        arguments = (problem.starts, alphas, problem.solver_tol, problem.max_iter)
        is_rounded = dtype == np.float32 or norms.min(where=norms > 0, initial=1.0) < _MIN_NORM
        original_c = c.copy() if is_rounded else c  # the solver overwrites c
        if self.gram is None:
            b, gap, n_iter = solve_by_working_sets(c, C, *arguments)
        else:
            b, gap, n_iter = solve_by_gram(c, self.gram, *arguments)
        codes = _codes_of_rows(b, norms, dtype)
        if is_rounded and len(C):

            def gaps_of(b: Floats) -> Floats:
                return rounded_gaps(original_c, b, self.gram, C, problem.starts, alphas)

            gap = gaps_of(_codes_of_unit_rows(codes, norms))
            codes, gap = problem.or_zero_codes(codes, gap, lambda: gaps_of(np.zeros(codes.shape)))
        return codes, gap, n_iter


def _codes_of_rows(b: Floats, norms: Array, dtype: Any) -> Array:
    """Codes of rows with these norms, from those of unit rows, which are overwritten."""
    with np.errstate(over="ignore"):
        b *= norms[:, None]
        codes = b.astype(dtype, copy=False)
    check_codes(np.isfinite(codes).all())
    return codes


def _codes_of_unit_rows(codes: Array, norms: Array) -> Floats:
    """The opposite of :func:`_codes_of_rows`; the codes are those after rounding."""
    return codes.astype(np.float64, copy=False) / np.where(norms > 0, norms, 1.0)[:, None]


def to_csr(A: Array) -> csr_array:
    """A as CSR; faster than scipy, which makes several passes over A."""
    indices = np.flatnonzero(A != 0)  # of booleans: five times as fast as of floats
    indptr = np.searchsorted(indices, np.arange(len(A) + 1) * A.shape[1])
    return csr_array((A.reshape(-1)[indices], indices % max(A.shape[1], 1), indptr), shape=A.shape)
