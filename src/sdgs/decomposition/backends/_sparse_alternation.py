"""The alternation for sparse X, which never forms a matrix of the size of X.

R = V X - W C - S is kept by its parts: X and S sparse, W (n, R) the coefficients of all labels side by side, C (R, p)
all components below each other, and V diagonal: in the first sweep a row has the start of the labels that are yet to
come taken from it, and so less of X. Later V is 1, in the unit scale. A product with the label's rows of R costs their
stored entries, and the components of the labels that they have beside the label.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.decomposition._alternation import Alternation, slices
from sdgs.decomposition._block_updates import Array, Indices, largest, largest_entries

_BLOCK_ENTRIES = 1 << 21  # of a dense block
_BLOCK_ROWS = 1 << 14  # of X, for which a product has its own sum, so that threads can share them out
_BLOCK_COLUMNS = 1 << 13  # of C, likewise
_MOST_PRODUCTS = 4096  # components whose products with each other are kept: a pass over them less, twice a label
_TINY = 1e-30  # what a label says of an entry is rounding below


class SparseAlternation(Alternation):
    """R by its parts."""

    def begin(self) -> None:
        """Only samples without a label have an error yet: V is zero for the others."""
        X = self.X
        n, p = X.shape
        # All components below each other; those of a label are a view.
        self._starts = np.concatenate([[0], np.cumsum(self.width)])
        self._C = np.zeros((self._starts[-1], p), dtype=X.dtype)
        self.C = [self._C[a:b] for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]
        R = self._C.shape[0]
        self._products = np.zeros((R, R), dtype=X.dtype) if R <= _MOST_PRODUCTS else None  # C C^T, of labels that meet
        self._W, self._places_in_W = self._coefficients()
        V = 1 - self.share * self.card
        V[np.abs(V) < 0.5 * self.share] = 0  # rounding
        self._V = (V / self.scale).astype(X.dtype)
        self._S = csr_array((n, p), dtype=X.dtype)
        self._in_gaps = np.zeros(self.gaps.size, dtype=X.dtype)

    def working_state(self) -> dict[str, Array]:
        """What S has where X is missing, and products, which are rounded as they were made."""
        products = {} if self._products is None else {"products": self._products}
        return {"in_gaps": self._in_gaps, **products}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps."""
        super().restore(state, sweeps)
        self._V[:] = 1 / self.scale
        for i in range(len(self.rows)):
            self._put_coefficients(i)
        self._products = state.get("products", self._products)
        self._in_gaps = state.get("in_gaps", self._in_gaps)
        self._put_residual()

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
            mine = free[omega]
            indices[mine[:, None] + np.arange(r)] = start + np.arange(r)
            free[omega] += r
            places.append(mine)
        W = csr_array((np.zeros(indptr[-1], dtype=self.X.dtype), indices, indptr), shape=(n, int(self._starts[-1])))
        return W, places

    def _others(self, i: int) -> tuple[Array, NDArray[np.int64], Any]:
        """The components that other labels give the label's rows, the place of each among them, and which they are.

        All where these are most, for a copy costs as much. In the first sweep those of later labels are still zero.
        """
        met = self.meets(i)
        C, where, used = self._at_hand(met[met < i] if self.sweeps == 0 else met)
        where[self._mine(i)] = -1
        return C, where, used

    def _at_hand(self, labels: Indices) -> tuple[Array, NDArray[np.int64], Any]:
        R = self._C.shape[0]
        sizes = np.diff(self._starts)[labels]
        used = np.repeat(self._starts[labels] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        if 2 * used.size >= R:
            return self._C, np.arange(R), slice(None)
        where = np.full(R, -1)
        where[used] = np.arange(used.size)
        return self._C[used], where, used

    def _mine(self, i: int) -> slice:
        return slice(self._starts[i], self._starts[i + 1])

    def _product(self, C: Array, A: Array) -> Array:
        """C A."""
        start: Array = np.zeros((len(C), A.shape[1]), dtype=C.dtype)
        columns = slices(C.shape[1], _BLOCK_COLUMNS)
        return self.workers.total(lambda block: C[:, block] @ A[block], columns, start)

    def _combination(self, W: Array, C: Array) -> Array:
        """C^T W, by rows of C: in half the time."""
        parts = self.workers.run(lambda columns: W.T @ C[:, columns], slices(C.shape[1], _BLOCK_COLUMNS))
        return np.hstack(list(parts)).T

    def _times(self, i: int, A: Array, where: NDArray[np.int64], CA: Array) -> Array:
        """N A, given C A of the components at hand."""
        from sdgs.decomposition.backends._sparse_products import times

        X, W, S, omega = self.X, self._W, self._S, self.rows[i]
        A, CA = np.ascontiguousarray(A), np.ascontiguousarray(CA)
        out: Array = np.empty((omega.size, A.shape[1]), dtype=X.dtype)

        def one(block: slice) -> None:
            times(
                *(omega[block], X.indptr, X.indices, X.data, self._V, A),
                *(W.indptr, W.indices, W.data, where, CA),
                *(S.indptr, S.indices, S.data, out[block]),
            )

        self.workers.do(one, slices(omega.size, _BLOCK_ROWS))
        return out

    def _transposed_times(self, i: int, Y: Array, where: NDArray[np.int64], C: Array) -> Array:
        """N^T Y, added up in float64 as for dense X."""
        from sdgs.decomposition.backends._sparse_products import transposed_times

        X, W, S, omega = self.X, self._W, self._S, self.rows[i]
        p, shape = X.shape[1], (X.shape[1] + len(C), Y.shape[1])  # of both sums, one above the other

        def one(block: slice) -> Array:
            sums: Array = np.zeros(shape)
            transposed_times(
                *(omega[block], X.indptr, X.indices, X.data, self._V, Y[block]),
                *(W.indptr, W.indices, W.data, where),
                *(S.indptr, S.indices, S.data, sums[:p], sums[p:]),
            )
            return sums

        sums = self.workers.total(one, slices(omega.size, _BLOCK_ROWS), np.zeros(shape))
        return sums[:p] - self._combination(sums[p:].astype(X.dtype, copy=False), C)

    def error(self) -> float:
        """``||R||_F^2`` in the unit scale: ||X - S||^2 - 2 <X - S, W C> + ||W C||^2.

        No nearer than the rounding of ||X||^2.
        """
        assert self.sweeps == 0 or not self._V.size or np.ptp(self._V) == 0
        Ct = np.ascontiguousarray(self._C.T)

        def of_rows(block: slice) -> float:
            rest = self.X[block] * (1 / self.scale) - self._S[block]
            there = self._said(rest, self._W[block], Ct)
            return float(((rest.data.astype(np.float64) - 2 * there) * rest.data).sum())

        blocks = slices(self.X.shape[0], _BLOCK_ROWS)
        total = sum(self.workers.run(of_rows, blocks), 0.0)
        for i, omega in enumerate(self.rows):
            if omega.size:
                C, where, used = self._at_hand(self.meets(i))
                mine = self._products_with(i, C, used)
                W = self._W[omega]
                both = csr_array((W.data, where[W.indices], W.indptr), shape=(omega.size, len(C))) @ mine
                total += float((both.astype(np.float64) * self.U[i]).sum())
        return max(total, 0.0)

    def _products_with(self, i: int, C: Array, used: Any) -> Array:
        """Of the components at hand with those of the label."""
        return self._product(C, self.C[i].T) if self._products is None else self._products[used, self._mine(i)]

    def _put_back_start(self, i: int) -> None:
        omega = self.rows[i]
        self._V[omega] += self.share[omega] / self.scale

    def gram_times(self, i: int, A: Array, add_start: bool = False) -> Array:
        """Three products: with X, with the components, with S."""
        if add_start:
            self._put_back_start(i)
        C, where, _ = self._others(i)
        return self._transposed_times(i, self._times(i, A, where, self._product(C, A)), where, C)

    def gram_times_last(self, i: int) -> Array:
        """One pass over the components less."""
        C, where, used = self._others(i)
        return self._transposed_times(i, self._times(i, self.C[i].T, where, self._products_with(i, C, used)), where, C)

    def label_matrix(self, i: int) -> Array:
        """The label's rows alone are made dense."""
        if self.sweeps == 0:
            self._put_back_start(i)
        omega = self.rows[i]
        N: Array = self.X[omega].toarray() * self._V[omega, None] - self._S[omega].toarray()
        N += self.U[i] @ self.C[i] - self._W[omega] @ self._C
        return N

    def project(self, i: int, Q: Array) -> None:
        """Only the label's own coefficients and components change."""
        C, where, used = self._others(i)
        products = self._product(C, Q)
        U = self._times(i, Q, where, products)
        self.C[i][:] = Q.T
        self.U[i] = U
        self._put_coefficients(i)
        if self._products is not None:
            mine = self._mine(i)
            self._products[used, mine] = products
            self._products[mine, used] = products.T
            self._products[mine, mine] = Q.T @ Q

    def _put_coefficients(self, i: int) -> None:
        self._W.data[self._places_in_W[i][:, None] + np.arange(self.width[i])] = self.U[i]

    def _put_residual(self) -> None:
        n, p = self.X.shape
        places = np.concatenate([self.places, self._places(self.gaps)])
        values = np.concatenate([self.values, self._in_gaps])
        self._S = csr_array((values, (places // p, places % p)), shape=(n, p))

    def residual_step(self) -> None:
        """The K largest entries of X - W C: of those that X has, and of the others where the labels say much.

        The latter are found without looking at all of them. Where X has no entry, |W C| is at most the sum over the
        row's labels of ||U_i row|| ||C^i column||, so for one of its labels ||U_i row|| ||C^i column|| times the
        number of labels reaches what the K-th largest stored entry is. Few columns of a label's component do.
        """
        places, values = self.residual_candidates()
        chosen = largest(np.abs(values), self.K)
        chosen = chosen[np.argsort(places[chosen])]
        self.put_residual(places[chosen], values[chosen])

    def residual_candidates(self) -> tuple[Indices, Array]:
        """(flat place, X - W C) of some entries, the K largest among them."""
        if self.sweeps == 0:
            self._V[:] = 1 / self.scale
        places, values, self._in_gaps = self._largest_stored()
        if self.K == 0:
            return places, values
        more, there = self._said_elsewhere(float(np.abs(values).min()) if values.size == self.K else 0.0)
        return np.concatenate([places, more]), np.concatenate([values, -there])

    def put_residual(self, places: Indices, values: Array) -> None:
        """S := these, in order, beside what it has where X is missing."""
        self.places, self.values = places, values
        self._put_residual()

    def rebuild(self) -> None:
        """The working state from all else, but for rounding."""
        if self._products is not None:
            self._products = self._C @ self._C.T
        self._in_gaps = self._left()[self.gaps]
        self._put_residual()

    def _largest_stored(self) -> tuple[Indices, Array, Array]:
        """(flat place, X - W C) of the K largest among the entries that X stores; and X - W C where X is missing."""
        left = self._left()
        in_gaps = left[self.gaps]
        left[self.gaps] = 0
        kept = largest_entries(left, self.K)
        return self._places(kept), left[kept], in_gaps

    def _left(self) -> Array:
        """X - W C where X stores an entry."""
        X = self.X
        Ct = np.ascontiguousarray(self._C.T)
        left: Array = np.empty_like(X.data)

        def of_rows(block: slice) -> None:
            stored = slice(X.indptr[block.start], X.indptr[block.stop])
            left[stored] = X.data[stored] * (1 / self.scale) - self._said(X[block], self._W[block], Ct)

        self.workers.do(of_rows, slices(X.shape[0], _BLOCK_ROWS))
        return left

    def _said(self, X: Any, W: Any, Ct: Array) -> Array:
        """W C where X stores an entry."""
        from sdgs.decomposition.backends._sparse_products import said

        out: Array = np.empty(X.nnz, dtype=Ct.dtype)
        said(X.indptr, X.indices, W.indptr, W.indices, W.data, Ct, out)
        return out

    def _places(self, stored: Indices) -> Indices:
        """Flat places in X of stored entries."""
        row = np.searchsorted(self.X.indptr, stored, side="right") - 1
        return np.asarray(row * self.X.shape[1] + self.X.indices[stored], dtype=np.intp)

    def _said_elsewhere(self, floor: float) -> tuple[Indices, Array]:
        """(flat place, W C) of entries that X does not store, all those of at least ``floor`` among them."""
        from sdgs.decomposition.backends._sparse_products import is_stored

        floor = max(floor, _TINY)
        X, p = self.X, self.X.shape[1]
        places, values = np.empty(0, dtype=np.intp), X.data[:0]
        for rows, columns in self._where_much_is_said(floor):
            for block in slices(rows.size, max(1, _BLOCK_ENTRIES // columns.size)):
                W = self._W[rows[block]]
                used, at_hand = np.unique(W.indices, return_inverse=True)
                W = csr_array((W.data, at_hand, W.indptr), shape=(W.shape[0], used.size))
                there = W @ self._C[np.ix_(used, columns)]
                at, which = np.nonzero(np.abs(there) >= floor)
                row, column = rows[block][at], columns[which]
                known = np.empty(row.size, dtype=bool)
                is_stored(row, column, X.indptr, X.indices, known)
                # Two labels of a row find the same.
                places, first = np.unique(np.append(places, (row * p + column)[~known]), return_index=True)
                values = np.append(values, there[at, which][~known])[first]
                if places.size > 4 * self.K + _BLOCK_ENTRIES:
                    kept = largest(np.abs(values), self.K)
                    places, values = places[kept], values[kept]
                    floor = max(floor, float(np.abs(values).min()))
        return places, values

    def _where_much_is_said(self, floor: float) -> list[tuple[Indices, Indices]]:
        """(rows, columns) that together hold all entries of W C of at least ``floor``."""
        found = []
        for omega, U, C in zip(self.rows, self.U, self.C, strict=True):
            if omega.size == 0:
                continue
            reach, sizes = self.card[omega] * np.linalg.norm(U, axis=1) * (1 + 1e-5), np.linalg.norm(C, axis=0)
            columns = np.flatnonzero(sizes * reach.max() >= floor)
            if columns.size:
                found.append((omega[reach * sizes[columns].max() >= floor], columns))
        n, p = self.X.shape
        if sum(rows.size * columns.size for rows, columns in found) > n * p:  # then one look at everything is less
            return [(np.flatnonzero(self.card), np.arange(p))]
        return found
