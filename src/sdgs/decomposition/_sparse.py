"""The alternation for sparse X, which never forms a matrix of the size of X.

R = V X - W C - S is kept by its parts: X and S sparse, W (n, R) the coefficients of all labels side by side, C (R, p)
all components below each other, and V diagonal: in the first sweep a row has the start of the labels that are yet to
come taken from it, and so less of X. Later V is 1. A product with the label's rows of R costs their stored entries, and
the components of the labels that they have beside the label.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.decomposition._alternation import Alternation, Solver
from sdgs.decomposition._steps import Array, Indices, largest

_BLOCK_ENTRIES = 1 << 21  # of a dense block
_MOST_PRODUCTS = 4096  # components whose products with each other are kept: a pass over them less, twice a label


class SparseAlternation(Alternation):
    """R by its parts."""

    def __init__(
        self, X: Any, rows: tuple[Indices, ...], ranks: NDArray[np.intp], K: int, solver: Solver, seed: int
    ) -> None:
        super().__init__(X, rows, ranks, K, solver, seed)
        n, p = X.shape
        self.X = csr_array(self.X * (1 / self.scale))  # a copy, indices too: they are put in order next
        self.X.sum_duplicates()
        self._row_of = np.repeat(np.arange(n), np.diff(self.X.indptr))
        # All components below each other; those of a label are a view.
        self._starts = np.concatenate([[0], np.cumsum(self.width)])
        self._C = np.zeros((self._starts[-1], p), dtype=X.dtype)
        self.C = [self._C[a:b] for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]
        R = self._C.shape[0]
        self._products = np.zeros((R, R), dtype=X.dtype) if R <= _MOST_PRODUCTS else None  # C C^T, of labels that meet
        self._W, self._places_in_W = self._coefficients()
        self._V = (1 - self.share * self.card).astype(X.dtype)
        self._V[np.abs(self._V) < 0.5 * self.share] = 0  # rounding
        self._S = csr_array((n, p), dtype=X.dtype)
        self._in_gap = np.isin(self._row_of * p + self.X.indices, self.gaps) if self.gaps.size else None

    def _coefficients(self) -> tuple[csr_array, list[NDArray[np.int64]]]:
        """W with room for the coefficients of every row's labels, and where those of each label are in it."""
        n = self.X.shape[0]
        sizes = np.zeros(n, dtype=np.int64)
        for omega, r in zip(self.rows, self.width, strict=True):
            sizes[omega] += r
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.empty(indptr[-1], dtype=np.int64)
        free = indptr[:-1].copy()
        places = []
        for omega, r, start in zip(self.rows, self.width, self._starts, strict=False):
            mine = free[omega][:, None] + np.arange(r)
            indices[mine] = start + np.arange(r)
            free[omega] += r
            places.append(mine)
        W = csr_array((np.zeros(indptr[-1], dtype=self.X.dtype), indices, indptr), shape=(n, int(self._starts[-1])))
        return W, places

    def _part(self, i: int) -> "_Part":
        """The label's rows of R, ready to be multiplied."""
        omega = self.rows[i]
        W = self._W[omega]
        C, used = self._C, np.unique(W.indices)
        if used.size < C.shape[0] // 2:
            where = np.zeros(C.shape[0], dtype=np.int64)
            where[used] = np.arange(used.size)
            W = csr_array((W.data, where[W.indices], W.indptr), shape=(omega.size, used.size))
            C = C[used]
        else:
            used = np.arange(C.shape[0])
        S = self._S[omega] if self._S.nnz else None
        return _Part(self.X[omega], self._V[omega, None], W, C, S, used)

    def _mine(self, i: int) -> slice:
        return slice(self._starts[i], self._starts[i + 1])

    def _products_with(self, i: int, part: "_Part") -> Array:
        """Of the components of the part with those of the label."""
        return part.C @ self.C[i].T if self._products is None else self._products[part.used, self._mine(i)]

    def error(self) -> float:
        """``||R||_F^2`` in the unit scale: ||X - S||^2 - 2 <X - S, W C> + ||W C||^2.

        No nearer than the rounding of ||X||^2.
        """
        assert (self._V == 1).all() or self.sweeps == 0
        rest = self.X - self._S
        total = float(np.square(rest.data, dtype=np.float64).sum())
        for i, (omega, U, C) in enumerate(zip(self.rows, self.U, self.C, strict=True)):
            if omega.size:
                part = self._part(i)
                both = (rest[omega] @ C.T).astype(np.float64) * 2 - part.W @ self._products_with(i, part)
                total -= float((both * U).sum())
        return max(total, 0.0)

    def _put_back_start(self, i: int) -> None:
        omega = self.rows[i]
        self._V[omega] += self.share[omega]

    def gram_times(self, i: int, A: Array, add_start: bool = False) -> Array:
        """Three products: with X, with the components, with S."""
        if add_start:
            self._put_back_start(i)
        part = self._part(i)
        return self._gram_of(i, part, part.times(A, part.C @ A) + self.U[i] @ (self.C[i] @ A))

    def gram_times_last(self, i: int) -> Array:
        """One pass over the components less."""
        part, C = self._part(i), self.C[i]
        return self._gram_of(i, part, part.times(C.T, self._products_with(i, part)) + self.U[i] @ (C @ C.T))

    def _gram_of(self, i: int, part: "_Part", Y1: Array) -> Array:
        """N^T Y1."""
        return part.transposed_times(Y1) + self.C[i].T @ (self.U[i].T @ Y1)

    def label_matrix(self, i: int) -> Array:
        """The label's rows alone are made dense."""
        if self.sweeps == 0:
            self._put_back_start(i)
        part = self._part(i)
        N: Array = part.X.toarray() * part.V - part.W @ part.C + self.U[i] @ self.C[i]
        if part.S is not None:
            N -= part.S.toarray()
        return N

    def project(self, i: int, Q: Array) -> None:
        """Only the label's own coefficients and components change."""
        part = self._part(i)
        products = part.C @ Q
        U = part.times(Q, products) + self.U[i] @ (self.C[i] @ Q)
        self._W.data[self._places_in_W[i]] = U
        self.C[i][:] = Q.T
        self.U[i] = U
        if self._products is not None:
            mine = self._mine(i)
            self._products[part.used, mine] = products
            self._products[mine, part.used] = products.T
            self._products[mine, mine] = Q.T @ Q

    def residual_step(self) -> None:
        """The K largest entries of X - W C: of those that X has, and of the others where the labels say much.

        The latter are found without looking at all of them. Where X has no entry, |W C| is at most the sum over the
        row's labels of ||U_i row|| ||C^i column||, so for one of its labels ||U_i row|| ||C^i column|| times the
        number of labels reaches what the K-th largest stored entry is. Few columns of a label's component do.
        """
        if self.sweeps == 0:
            self._V[:] = 1
        n, p = self.X.shape
        said = self._said_of_stored()
        left = self.X.data - said
        if self._in_gap is not None:
            left[self._in_gap] = 0
        stored = self._row_of * p + self.X.indices
        floor = _kth_largest(left, self.K)
        more = self._said_elsewhere(floor, stored) if self.K > 0 else (np.empty(0, dtype=np.intp), left[:0])
        flat, left = np.concatenate([stored, more[0]]), np.concatenate([left, -more[1]])
        kept = np.flatnonzero(left)
        kept = kept[largest(np.abs(left[kept]), self.K)]
        kept = kept[np.argsort(flat[kept])]
        self.places, self.values = flat[kept].astype(np.intp), left[kept]
        flat, values = self.places, self.values
        if self._in_gap is not None:
            flat = np.concatenate([flat, stored[self._in_gap]])
            values = np.concatenate([values, -said[self._in_gap]])
        self._S = csr_array((values, (flat // p, flat % p)), shape=(n, p))

    def _said_of_stored(self) -> Array:
        """W C where X stores an entry."""
        said: Array = np.zeros_like(self.X.data)
        start = self.X.indptr.astype(np.int64)
        for omega, U, C in zip(self.rows, self.U, self.C, strict=True):
            counts = start[omega + 1] - start[omega]
            entries = np.repeat(start[omega] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            entries += np.arange(entries.size)
            Ct = np.ascontiguousarray(C.T)
            said[entries] += np.einsum("er,er->e", np.repeat(U, counts, axis=0), Ct[self.X.indices[entries]])
        return said

    def _said_elsewhere(self, floor: float, stored: NDArray[np.int64]) -> tuple[Indices, Array]:
        """(flat place, W C) of entries that X does not store, all those of at least ``floor`` among them."""
        p = self.X.shape[1]
        places, values = [np.empty(0, dtype=np.int64)], [self.X.data[:0]]
        for i, (omega, U, C) in enumerate(zip(self.rows, self.U, self.C, strict=True)):
            if omega.size == 0:
                continue
            reach = self.card[omega] * np.linalg.norm(U, axis=1) * (1 + 1e-5)
            columns = np.flatnonzero(np.linalg.norm(C, axis=0) * reach.max() >= max(floor, 1e-30))
            if columns.size == 0:
                continue
            heavy = np.flatnonzero(reach * np.linalg.norm(C[:, columns], axis=0).max() >= floor)
            part = self._part(i)
            components = np.ascontiguousarray(part.C[:, columns])
            step = max(1, _BLOCK_ENTRIES // columns.size)
            for begin in range(0, heavy.size, step):
                rows = heavy[begin : begin + step]
                said = part.W[rows] @ components
                at, which = np.nonzero(np.abs(said) >= max(floor, 1e-30))
                place = omega[rows[at]].astype(np.int64) * p + columns[which]
                new = ~_among(place, stored)
                places.append(place[new])
                values.append(said[at, which][new])
        flat, first = np.unique(np.concatenate(places), return_index=True)  # two labels of a row find the same
        return flat, np.concatenate(values)[first]


class _Part:
    """Rows of R: V X - W C - S."""

    def __init__(
        self, X: csr_array, V: Array, W: csr_array, C: Array, S: csr_array | None, used: NDArray[np.int64]
    ) -> None:
        self.X, self.V, self.W, self.C, self.S = X, V, W, C, S
        self.used = used  # which of all components those of C are

    def times(self, A: Array, CA: Array) -> Array:
        """R A, given C A."""
        product: Array = self.V * (self.X @ A) - self.W @ CA
        return product if self.S is None else product - self.S @ A

    def transposed_times(self, Y: Array) -> Array:
        """R^T Y."""
        product: Array = self.X.T @ (self.V * Y) - self.C.T @ (self.W.T @ Y)
        return product if self.S is None else product - self.S.T @ Y


def _kth_largest(values: Array, K: int) -> float:
    """In magnitude; 0 if there are fewer."""
    if K <= 0 or values.size < K:
        return 0.0
    return float(np.partition(np.abs(values), values.size - K)[values.size - K])


def _among(places: NDArray[np.int64], stored: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each place is one of ``stored``, which are in order."""
    if stored.size == 0:
        return np.zeros(places.size, dtype=bool)
    at = np.minimum(np.searchsorted(stored, places), stored.size - 1)
    return np.asarray(stored[at] == places)
