"""The alternation for sparse X, which never forms a matrix of the size of X.

R = V X - W C - S is represented by its parts: X and S sparse, W (n, R) the coefficients of all labels side by side,
C (R, p) all components stacked, and V diagonal. Labels that are not updated yet in the first sweep still have their
start, an equal share of the row, so that V is 1 - (such labels of the row) / (labels of the row); afterwards V is 1.
(All in the unit scale.) A product with the label's rows of R costs their stored entries, and the components of the
labels that occur together with the label.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.decomposition._alternation import Alternation
from sdgs.decomposition._block_updates import (
    Array,
    Indices,
    largest_entries,
    largest_weighted_entries,
    slices,
    weighted_energy,
)
from sdgs.decomposition._label_rows import cooccurring_labels

_MIN_MAGNITUDE = 1e-30  # entries of W C below it are rounding

Slots = NDArray[np.int64]


class SparseAlternation(Alternation):
    """R by its parts."""

    block_entries = 1 << 21  # of a dense block
    block_rows = 1 << 14  # of X: products are summed per block, so that threads can share them
    block_columns = 1 << 13  # of C, likewise
    max_gram_size = 4096  # up to so many components C C^T is kept, which saves two passes over C per label step

    def init_error(self) -> None:
        """Only samples without a label have an error before the first sweep: V is zero for the others."""
        X = self.X
        n, p = X.shape
        # All components stacked; those of a label are a view.
        self._starts = np.concatenate([[0], np.cumsum(self.ranks)])
        self._C = np.zeros((self._starts[-1], p), dtype=X.dtype)
        self.C = np.split(self._C, self._starts[1:-1])
        size = len(self._C)
        # C C^T, up to date only for labels that share a row.
        self._gram = np.zeros((size, size), dtype=X.dtype) if size <= self.max_gram_size else None
        self._W, self._positions_in_W = self._allocate_coefficients()
        V = 1 - self.start_weight * self.cardinality
        V[np.abs(V) < 0.5 * self.start_weight] = 0  # rounding
        self._V = (V / self.scale).astype(X.dtype)
        self._S = csr_array((n, p), dtype=X.dtype)
        self._S_at_missing = np.zeros(self.missing.size, dtype=X.dtype)

    def working_state(self) -> dict[str, Array]:
        """The values of S at missing entries, and C C^T, which depends on the order of its updates by rounding."""
        gram = {} if self._gram is None else {"gram": self._gram}
        return {"S_at_missing": self._S_at_missing, **gram}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after so many sweeps."""
        super().restore(state, sweeps)
        self._V[:] = 1 / self.scale
        for i in range(len(self.rows)):
            self._store_coefficients(i)
        self._gram = state.get("gram", self._gram)
        self._S_at_missing = state.get("S_at_missing", self._S_at_missing)
        self._store_residual()

    def _allocate_coefficients(self) -> tuple[csr_array, list[NDArray[np.int64]]]:
        """W with zeros for the coefficients of every row's labels, and the positions of each label's among them."""
        components = np.split(np.arange(len(self._C)), self._starts[1:-1])
        row = np.concatenate([np.repeat(omega, r) for omega, r in zip(self.rows, self.ranks, strict=True)])
        column = np.concatenate([np.tile(own, omega.size) for omega, own in zip(self.rows, components, strict=True)])
        order = csr_array((np.arange(row.size), (row, column)), shape=(self.X.shape[0], len(self._C)))
        W = csr_array((np.zeros(row.size, dtype=self.dtype), order.indices, order.indptr), shape=order.shape)
        positions = np.split(np.argsort(order.data), np.cumsum([U.size for U in self.U])[:-1])
        return W, [position.reshape(U.shape) for position, U in zip(positions, self.U, strict=True)]

    def _other_components(self, i: int) -> tuple[Array, Slots, Any]:
        """The components of other labels that occur on the label's rows; see ``_components_of``.

        In the first sweep those of later labels are still zero.
        """
        labels = cooccurring_labels(self.cooccurrence, i)
        C, slots, used = self._components_of(labels[labels < i] if self.sweeps == 0 else labels)
        slots[self._component_slice(i)] = -1
        return C, slots, used

    def _components_of(self, labels: Indices) -> tuple[Array, Slots, Any]:
        """The components of some labels, the row of each component among them (or -1), and an index of them.

        All components if these are at least half: a copy would cost as much.
        """
        R = self._C.shape[0]
        sizes = np.diff(self._starts)[labels]
        used = np.repeat(self._starts[labels] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        if 2 * used.size >= R:
            return self._C, np.arange(R), slice(None)
        slots = np.full(R, -1)
        slots[used] = np.arange(used.size)
        return self._C[used], slots, used

    def _component_slice(self, i: int) -> slice:
        return slice(self._starts[i], self._starts[i + 1])

    def _product(self, C: Array, A: Array) -> Array:
        """C A."""
        start: Array = np.zeros((len(C), A.shape[1]), dtype=C.dtype)
        columns = slices(C.shape[1], self.block_columns)
        return self.threads.sum(lambda block: C[:, block] @ A[block], columns, start)

    def _transposed_product(self, C: Array, W: Array) -> Array:
        """C^T W, computed from rows of C, which takes half the time."""
        parts = self.threads.map(lambda columns: W.T @ C[:, columns], slices(C.shape[1], self.block_columns))
        return np.hstack(list(parts)).T

    def _times(self, i: int, A: Array, slots: Slots, CA: Array) -> Array:
        """N A, given C A of the other components."""
        from sdgs.decomposition.backends._sparse_products import times

        X, W, S, omega = self.X, self._W, self._S, self.rows[i]
        A, CA = np.ascontiguousarray(A), np.ascontiguousarray(CA)
        out: Array = np.empty((omega.size, A.shape[1]), dtype=X.dtype)

        def multiply_block(block: slice) -> None:
            times(
                *(omega[block], X.indptr, X.indices, X.data, self._V, A),
                *(W.indptr, W.indices, W.data, slots, CA),
                *(S.indptr, S.indices, S.data, out[block]),
            )

        self.threads.for_each(multiply_block, slices(omega.size, self.block_rows))
        return out

    def _transposed_times(self, i: int, Y: Array, slots: Slots, C: Array) -> Array:
        """N^T Y, summed in float64 as for dense X."""
        from sdgs.decomposition.backends._sparse_products import transposed_times

        X, W, S, omega = self.X, self._W, self._S, self.rows[i]
        p, shape = X.shape[1], (X.shape[1] + len(C), Y.shape[1])  # of both sums, stacked

        def sum_block(block: slice) -> Array:
            sums: Array = np.zeros(shape)
            transposed_times(
                *(omega[block], X.indptr, X.indices, X.data, self._V, Y[block]),
                *(W.indptr, W.indices, W.data, slots),
                *(S.indptr, S.indices, S.data, sums[:p], sums[p:]),
            )
            return sums

        sums = self.threads.sum(sum_block, slices(omega.size, self.block_rows), np.zeros(shape))
        return sums[:p] - self._transposed_product(C, sums[p:].astype(X.dtype, copy=False))

    def error(self) -> float:
        """``||R||_F^2`` in the unit scale: ||X - S||^2 - 2 <X - S, W C> + ||W C||^2.

        Accurate to the rounding of ||X||^2. With weights the first two terms and the last one are sums over rows.
        """
        weight = self.problem.sample_weight
        assert self.sweeps == 0 or not self._V.size or np.ptp(self._V) == 0
        Ct = np.ascontiguousarray(self._C.T)

        def block_error(block: slice) -> float:
            difference = self.X[block] * (1 / self.scale) - self._S[block]
            low_rank = self._reconstruction_at(difference, self._W[block], Ct)
            terms = (difference.data.astype(np.float64) - 2 * low_rank) * difference.data
            return float(
                terms.sum() if weight is None else np.repeat(weight[block], np.diff(difference.indptr)) @ terms
            )

        total = sum(self.threads.map(block_error, slices(self.X.shape[0], self.block_rows)), 0.0)
        for i, omega in enumerate(self.rows):
            if omega.size:
                C, slots, used = self._components_of(cooccurring_labels(self.cooccurrence, i))
                products = self._products_with_label(i, C, used)
                W = self._W[omega]
                WCCt = csr_array((W.data, slots[W.indices], W.indptr), shape=(omega.size, len(C))) @ products
                products_with_U = WCCt.astype(np.float64) * self.U[i]
                total += float(products_with_U.sum() if weight is None else (weight[omega] @ products_with_U).sum())
        return max(total, 0.0)

    def _products_with_label(self, i: int, C: Array, used: Any) -> Array:
        """C (C^i)^T."""
        return self._product(C, self.C[i].T) if self._gram is None else self._gram[used, self._component_slice(i)]

    def add_start(self, rows: Indices) -> None:
        """Only V changes."""
        self._V[rows] += self.start_weight[rows] / self.scale

    def gram_times(self, i: int, A: Array | None = None) -> Array:
        """Three products: with X, with the components, with S. C C^T, if it is kept, saves one pass over C."""
        C, slots, used = self._other_components(i)
        CA = self._products_with_label(i, C, used) if A is None else self._product(C, A)
        Y1 = self._times(i, self.C[i].T if A is None else A, slots, CA)
        if self.weight is not None:
            Y1 *= self.weight[self.rows[i], None]
        return self._transposed_times(i, Y1, slots, C)

    def label_matrix(self, i: int) -> Array:
        """Only the label's rows are made dense."""
        omega = self.rows[i]
        N: Array = self.X[omega].toarray() * self._V[omega, None] - self._S[omega].toarray()
        N += self.U[i] @ self.C[i] - self._W[omega] @ self._C
        return N

    def project(self, i: int, Q: Array) -> None:
        """Only the label's own coefficients and components change."""
        C, slots, used = self._other_components(i)
        products = self._product(C, Q)
        U = self._times(i, Q, slots, products)
        self.C[i][:] = Q.T
        self.U[i] = U
        self._store_coefficients(i)
        if self._gram is not None:
            own = self._component_slice(i)
            self._gram[used, own] = products
            self._gram[own, used] = products.T
            self._gram[own, own] = Q.T @ Q

    def _store_coefficients(self, i: int) -> None:
        self._W.data[self._positions_in_W[i]] = self.U[i]

    def _store_residual(self) -> None:
        n, p = self.X.shape
        indices = np.concatenate([self.S_indices, self._flat_indices(self.missing)])
        values = np.concatenate([self.S_values, self._S_at_missing])
        self._S = csr_array((values, (indices // p, indices % p)), shape=(n, p))

    def residual_step(self) -> None:
        """The K largest entries of X - W C, among the stored entries of X and among the others.

        The others are not all computed. |W C| is there at most the sum, over the labels of the row, of
        ||U_i row|| ||C^i column||. So if it reaches the K-th largest stored entry, then for one of the labels
        ||U_i row|| ||C^i column|| times the number of labels does. Only few columns of a component satisfy this.
        """
        indices, values = self.residual_candidates()
        if self.problem.sample_weight is not None:
            self._weighted_residual_step(indices, values)
            return
        chosen, _ = self.largest_candidates(indices, values)
        chosen = chosen[np.argsort(indices[chosen])]
        self.put_residual(indices[chosen], values[chosen])

    def _weighted_residual_step(self, indices: Indices, values: Array) -> None:
        """The largest candidates that fit into K, or the entries of the last sweep if those are better."""
        order = np.argsort(indices)
        chosen = order[self.largest_candidates(indices[order], values[order])[0]]
        largest, last = (indices[chosen], values[chosen]), (self.S_indices, self.values_at_residual())
        self.put_residual(*max((largest, last), key=lambda S: weighted_energy(S[1], self.problem.costs(S[0]))))

    def values_at_residual(self) -> Array:
        """X - W C at the entries of S."""
        X, p = self.X, self.X.shape[1]
        entries = csr_array((self.S_values, (self.S_indices // p, self.S_indices % p)), shape=X.shape)
        rows = np.flatnonzero(np.diff(entries.indptr))
        stored = X[rows]
        flat = np.append(np.repeat(rows, np.diff(stored.indptr)) * p + stored.indices, -1)
        position = np.searchsorted(flat[:-1], self.S_indices)
        values = np.where(flat[position] == self.S_indices, np.append(stored.data, 0)[position], 0) * (1 / self.scale)
        low_rank = self._reconstruction_at(entries, self._W, np.ascontiguousarray(self._C.T))
        return np.asarray(values - low_rank, dtype=X.dtype)

    def residual_candidates(self) -> tuple[Indices, Array]:
        """(flat index, X - W C) of some entries that include the K largest."""
        if self.sweeps == 0:
            self._V[:] = 1 / self.scale
        indices, values, floor = self._largest_stored()
        if self.problem.K == 0:
            return indices, values
        unstored, low_rank = self._unstored_candidates(floor)
        return np.concatenate([indices, unstored]), np.concatenate([values, -low_rank])

    def put_residual(self, indices: Indices, values: Array) -> None:
        """Set S to these entries, in ascending order, beside its values at missing entries."""
        self.S_indices, self.S_values = indices, values
        self._store_residual()

    def rebuild(self) -> None:
        """Recompute the working state; it differs by rounding."""
        if self._gram is not None:
            self._gram = self._C @ self._C.T
        self._S_at_missing = self._error_at_stored()[self.missing]
        self._store_residual()

    def _largest_stored(self) -> tuple[Indices, Array, float]:
        """(flat index, X - W C) of the K largest among the stored entries of X, and a magnitude that the K largest of
        all reach; sets S at missing entries.
        """
        error, K = self._error_at_stored(), self.problem.K
        self._S_at_missing = error[self.missing]
        error[self.missing] = 0
        if self.problem.sample_weight is not None:
            largest, floor = largest_weighted_entries(
                error, K, lambda stored: self.problem.costs(self._flat_indices(stored))
            )
            return self._flat_indices(largest), error[largest], floor
        largest = largest_entries(error, int(K))
        floor = float(np.abs(error[largest]).min()) if largest.size == K > 0 else 0.0
        return self._flat_indices(largest), error[largest], floor

    def _error_at_stored(self) -> Array:
        """X - W C at the stored entries of X."""
        X = self.X
        Ct = np.ascontiguousarray(self._C.T)
        error: Array = np.empty_like(X.data)

        def fill_block(block: slice) -> None:
            stored = slice(X.indptr[block.start], X.indptr[block.stop])
            low_rank = self._reconstruction_at(X[block], self._W[block], Ct)
            error[stored] = X.data[stored] * (1 / self.scale) - low_rank

        self.threads.for_each(fill_block, slices(X.shape[0], self.block_rows))
        return error

    def _reconstruction_at(self, X: Any, W: Any, Ct: Array) -> Array:
        """W C at the stored entries of X."""
        from sdgs.decomposition.backends._sparse_products import reconstruction_at

        out: Array = np.empty(X.nnz, dtype=Ct.dtype)
        reconstruction_at(X.indptr, X.indices, W.indptr, W.indices, W.data, Ct, out)
        return out

    def _flat_indices(self, stored: Indices) -> Indices:
        """Flat indices in X of stored entries."""
        row = np.searchsorted(self.X.indptr, stored, side="right") - 1
        return np.asarray(row * self.X.shape[1] + self.X.indices[stored], dtype=np.intp)

    def _unstored_candidates(self, floor: float) -> tuple[Indices, Array]:
        """(flat index, W C) of entries that X does not store, including the K largest of at least ``floor``."""
        from sdgs.decomposition.backends._sparse_products import is_stored

        floor = max(floor, _MIN_MAGNITUDE)
        X, p = self.X, self.X.shape[1]
        indices, values = np.empty(0, dtype=np.intp), X.data[:0]
        for rows, columns in self._bound_candidates(floor):
            for block in slices(rows.size, max(1, self.block_entries // columns.size)):
                W = self._W[rows[block]]
                used, compact = np.unique(W.indices, return_inverse=True)
                W = csr_array((W.data, compact, W.indptr), shape=(W.shape[0], used.size))
                low_rank = W @ self._C[np.ix_(used, columns)]
                i, j = np.nonzero(np.abs(low_rank) >= floor)
                row, column = rows[block][i], columns[j]
                stored = np.empty(row.size, dtype=bool)
                is_stored(row, column, X.indptr, X.indices, stored)
                # Two labels of a row give the same entry.
                indices, first = np.unique(np.append(indices, (row * p + column)[~stored]), return_index=True)
                values = np.append(values, low_rank[i, j][~stored])[first]
                if indices.size > 4 * self.problem.K + self.block_entries:
                    largest, reached = self.largest_candidates(indices, values)
                    indices, values, floor = indices[largest], values[largest], max(floor, reached)
        return indices, values

    def _bound_candidates(self, floor: float) -> list[tuple[Indices, Indices]]:
        """(rows, columns) that together contain all entries of W C of at least ``floor``."""
        candidates = []
        for omega, U, C in zip(self.rows, self.U, self.C, strict=True):
            if omega.size == 0:
                continue
            row_bound = self.cardinality[omega] * np.linalg.norm(U, axis=1) * (1 + 1e-5)
            column_norm = np.linalg.norm(C, axis=0)
            columns = np.flatnonzero(column_norm * row_bound.max() >= floor)
            if columns.size:
                candidates.append((omega[row_bound * column_norm[columns].max() >= floor], columns))
        n, p = self.X.shape
        if sum(rows.size * columns.size for rows, columns in candidates) > n * p:  # then one pass over all is cheaper
            return [(np.flatnonzero(self.cardinality), np.arange(p))]
        return candidates
