"""The frozen result of coding, and what follows from it for the samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._array_api import namespace, on_host, to_device_of, to_host
from sdgs._utils._validation import has_missing

Array = NDArray[np.floating[Any]]
Norm = Literal["l1", "l2"]

# Directions of subspaces this near to each other are one: else huge parts would cancel, and digits with them.
_SHARED = 1e-4
# Missing entries of sparse samples that are filled in one go.
_FILLED = 4096


@dataclass(frozen=True, eq=False)
class GroupCodes:
    """Group-sparse codes of n samples, each with its certificate.

    Attributes
    ----------
    codes : csr_array of shape (n, R)
        b, one row a sample; R is the number of rows of all components together. Of an X of another array library this
        and all that follows but ``groups`` are dense arrays of that library, where X is.
    groups : ndarray of shape (k + 1,)
        The code of label i is ``codes[:, groups[i]:groups[i + 1]]``.
    gap : ndarray of shape (n,)
        Duality gap of each row divided by ``||x||^2 / 2``, the objective of the zero code: the objective is at most
        this share of that above the smallest possible. With ``huber`` or missing entries divided by
        ``||clip(x, -huber, huber)||^2 / 2`` over the observed entries instead, which wild ones do not blow up.
    n_iter : ndarray of shape (n,)
        Block-descent sweeps, Newton steps and checks of all groups spent on each row.
    converged : ndarray of shape (n,)
        Whether ``gap <= tol``.
    residual : csr_array of shape (n, p) or None
        The sparse residual s of each row, if ``huber`` was given: what looks corrupted, and by how much. Zero where an
        entry is missing.
    """

    codes: Any
    groups: NDArray[np.int64]
    gap: Any
    n_iter: Any
    converged: Any
    residual: Any = None

    def l1_norms(self) -> Array:
        """``||b_Gi||_1`` of every sample and label, dense (n, k): the paper's evidence for a label."""
        norms = group_norms(self, "l1")
        return norms.toarray() if issparse(norms) else norms  # type: ignore[no-any-return]


def group_norms(result: GroupCodes, norm: Norm) -> Any:
    """``||b_Gi||`` of every sample and label, (n, k), sparse if the codes are.

    Euclidean norms, in float64, stay as they are if the axes of a subspace are turned.
    """
    labels = len(result.groups) - 1
    label_of = np.repeat(np.arange(labels), np.diff(result.groups))
    member = csr_array(
        (np.ones(label_of.size, dtype=np.float32), (np.arange(label_of.size), label_of)),
        shape=(label_of.size, labels),
    )
    codes = result.codes
    if issparse(codes):
        if norm == "l1":
            return csr_array(abs(codes) @ member)
        return csr_array(codes.astype(np.float64).power(2) @ member).sqrt()
    xp = namespace(codes)
    codes = xp.abs(codes) if norm == "l1" else xp.astype(codes, xp.float64) ** 2
    norms = codes @ xp.astype(to_device_of(member.toarray(), codes), codes.dtype)
    return norms if norm == "l1" else xp.sqrt(norms)


def cleaned_samples(X: Any, result: GroupCodes, components: Sequence[Array]) -> Any:
    """X with what its codes say in place of missing entries, and without their residual."""
    if not on_host(X):
        xp = namespace(X)
        if has_missing(X):
            said = result.codes @ xp.astype(to_device_of(np.vstack([to_host(C) for C in components]), X), X.dtype)
            X = xp.where(xp.isnan(X), said, X)
        return X if result.residual is None else X - result.residual
    if has_missing(X):
        missing = np.isnan(X.data if issparse(X) else X)
        C = np.vstack(components)
        if issparse(X):
            X = X.copy()
            row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[missing]
            column, filled = X.indices[missing], np.empty(row.size, dtype=X.dtype)
            for start in range(0, row.size, _FILLED):
                part = slice(start, start + _FILLED)
                filled[part] = np.einsum("ij,ji->i", result.codes[row[part]].toarray(), C[:, column[part]])
            X.data[missing] = filled
        else:
            X = np.where(missing, result.codes @ C, X)
    if result.residual is not None:
        X = X - (result.residual if issparse(X) else result.residual.toarray())
    return X


def least_squares_code(x: Array, components: Sequence[Array]) -> list[Array]:
    """The coefficients in each subspace with which they come as near to the sample ``x`` together as they can.

    Only observed entries count. Where subspaces share a direction, or nearly so, it is split between them.
    """
    sizes = [len(C) for C in components]
    seen = ~np.isnan(x)
    if not any(sizes) or not x[seen].any():
        return [np.zeros(size, dtype=x.dtype) for size in sizes]
    scale = np.abs(x[seen]).max()
    code = np.linalg.lstsq(np.vstack(components).T[seen], x[seen] / scale, rcond=_SHARED)[0] * scale
    return np.split(code, np.cumsum(sizes)[:-1])
