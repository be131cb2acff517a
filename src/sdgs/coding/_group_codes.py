"""The frozen result of coding, and what is computed from it: norms, cleaned samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs._utils._validation import has_missing

Array = NDArray[np.floating[Any]]

# Singular values below this count as zero: nearly equal directions would give huge parts that cancel, and lose digits.
_MIN_SINGULAR_VALUE = 1e-4
_FILL_BLOCK = 4096  # missing entries of sparse samples that are filled in at a time


@dataclass(frozen=True, eq=False)
class GroupCodes:
    """Group-sparse codes of n samples, each with its certificate.

    Attributes
    ----------
    codes : csr_array of shape (n, R)
        b, one row per sample; R is the number of rows of all components together. If X is an array of another library,
        this and all other attributes but ``groups`` are dense arrays of that library, on the device of X. (The features
        of small problems use dense codes on the host too.)
    groups : ndarray of shape (k + 1,)
        The code of label i is ``codes[:, groups[i]:groups[i + 1]]``.
    gap : ndarray of shape (n,)
        Duality gap of each row divided by ``||x||^2 / 2``, the objective of the zero code: an upper bound on the
        relative suboptimality of the code as it is returned, with rounding. With ``huber`` or missing entries it is
        divided by ``||clip(x, -huber, huber)||^2 / 2`` over the observed entries, which large outliers do not inflate.
    n_iter : ndarray of shape (n,)
        Block-descent sweeps, Newton steps and checks of all groups per row.
    converged : ndarray of shape (n,)
        Whether ``gap <= tol``.
    residual : csr_array of shape (n, p) or None
        The sparse residual s of each row, if ``huber`` was given: the corruption of each entry. Zero where an entry is
        missing.
    """

    codes: Any
    groups: NDArray[np.int64]
    gap: Any
    n_iter: Any
    converged: Any
    residual: Any = None

    def take(self, rows: slice) -> "GroupCodes":
        """The codes of some samples."""
        residual = None if self.residual is None else self.residual[rows]
        return GroupCodes(
            self.codes[rows], self.groups, self.gap[rows], self.n_iter[rows], self.converged[rows], residual
        )

    def l1_norms(self) -> Array:
        """``||b_Gi||_1`` of every sample and label, dense (n, k): the paper's evidence for a label."""
        if isinstance(self.codes, np.ndarray):
            return _sum_over_groups(np.abs(self.codes), self.groups)
        norms = abs(self.codes) @ _membership(self)
        return norms.toarray() if issparse(norms) else norms  # type: ignore[no-any-return]


def group_norms(result: GroupCodes) -> Any:
    """``||b_Gi||_2`` of every sample and label, (n, k) in float64, sparse if the codes are.

    Euclidean norms do not depend on the choice of the axes of a subspace.
    """
    if issparse(result.codes):
        return csr_array(result.codes.astype(np.float64).power(2) @ _membership(result)).sqrt()
    if isinstance(result.codes, np.ndarray):
        squares = np.square(result.codes, dtype=np.float64)
        return np.sqrt(_sum_over_groups(squares, result.groups))
    xp = namespace(result.codes)
    squares = xp.astype(result.codes, xp.float64) ** 2
    return xp.sqrt(squares @ xp.astype(_membership(result), squares.dtype))


def _sum_over_groups(values: Array, groups: NDArray[np.int64]) -> Array:
    """The sums (n, k) of the columns of each group; 0 for groups without columns."""
    is_empty = groups[1:] == groups[:-1]
    sums = np.zeros((len(values), is_empty.size), dtype=values.dtype)
    if not is_empty.all():
        sums[:, ~is_empty] = np.add.reduceat(values, groups[:-1][~is_empty], axis=1)
    return sums


def _membership(result: GroupCodes) -> Any:
    """(R, k): 1 where a coordinate of the codes belongs to a label; sparse if the codes are."""
    label = np.repeat(np.arange(len(result.groups) - 1), np.diff(result.groups))
    shape = (label.size, len(result.groups) - 1)
    member = csr_array((np.ones(label.size, dtype=np.float32), (np.arange(label.size), label)), shape=shape)
    codes = result.codes
    return member if issparse(codes) else namespace(codes).astype(to_device_of(member.toarray(), codes), codes.dtype)


def cleaned_samples(X: Any, result: GroupCodes, components: Sequence[Array]) -> Any:
    """X with missing entries replaced by the reconstruction from its codes, less the residual."""
    if has_missing(X):
        C = np.vstack([to_host(C) for C in components])
        if issparse(X):
            X = _filled_sparse_samples(X, result.codes, C)
        else:
            xp = namespace(X)
            C = C if on_host(X) else xp.astype(to_device_of(C, X), X.dtype)
            X = xp.where(xp.isnan(X), result.codes @ C, X)
    S = result.residual
    if S is None:
        return X
    return X - (S.toarray() if issparse(S) and not issparse(X) else S)


def _filled_sparse_samples(X: Any, codes: Any, C: Array) -> Any:
    """Sparse X with its missing entries replaced by those of ``codes @ C``."""
    X, missing = X.copy(), np.isnan(X.data)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[missing]
    column, filled = X.indices[missing], np.empty(row.size, dtype=X.dtype)
    for start in range(0, row.size, _FILL_BLOCK):
        part = slice(start, start + _FILL_BLOCK)
        part_codes = codes[row[part]]
        part_codes = part_codes.toarray() if issparse(part_codes) else part_codes
        filled[part] = np.einsum("ij,ji->i", part_codes, C[:, column[part]])
    X.data[missing] = filled
    return X


def least_squares_code(x: Array, components: Sequence[Array]) -> list[Array]:
    """The coefficients in each subspace that together approximate the sample ``x`` best, over its observed entries.

    If subspaces share a direction, or nearly so, its coefficient is split between them.
    """
    sizes = [len(C) for C in components]
    observed = ~np.isnan(x)
    if not any(sizes) or not x[observed].any():
        return [np.zeros(size, dtype=x.dtype) for size in sizes]
    scale = np.abs(x[observed]).max()
    C = np.vstack(components).T[observed]
    code = np.linalg.lstsq(C, x[observed] / scale, rcond=_MIN_SINGULAR_VALUE)[0] * scale
    return np.split(code, np.cumsum(sizes)[:-1])
