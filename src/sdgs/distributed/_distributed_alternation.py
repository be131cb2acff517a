"""The alternation over all workers: what the client computes from their sums.

For each label only matrices of p x r numbers are sent: N^T (N A) from the workers and the subspace Q back to them, and
only from and to workers that have rows of the label. The subspaces of one level of labels are sent together with the
request for the sums of the next. So a sweep takes one round trip per level (in the first sweep two), and three more for
the residual, or four with weights. Notation: :mod:`sdgs.decomposition._block_updates`. A level is a set of labels that
share no row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from sdgs.decomposition._alternation import AlternationState, power_of_two_above
from sdgs.decomposition._block_updates import Array, Indices, orthonormal_basis, ritz_basis
from sdgs.decomposition._label_rows import label_cooccurrence, levels
from sdgs.decomposition._problem import Problem
from sdgs.decomposition._solvers import refines_random_start
from sdgs.distributed._actor_pool import ActorPool
from sdgs.distributed._k_largest import bound_kth_largest, cut_at_budget


class DistributedAlternation(AlternationState):
    """The alternation over rows that are on the workers of a pool."""

    def __init__(self, dtype: Any, pool: ActorPool, problem: Problem) -> None:
        self.problem, self.dtype, self.sweeps, self._pool = problem, dtype, 0, pool
        (n, p), rows = problem.shape, problem.rows
        self.scale = power_of_two_above(max(pool.call_all("largest")), dtype)
        csr_labels = problem.labels.tocsr()
        parts = [csr_labels[first:last].tocsc() for first, last in pool.bounds]
        weights = [None if problem.sample_weight is None else problem.sample_weight[a:b] for a, b in pool.bounds]
        problems = [
            replace(problem, shape=(part.shape[0], p), labels=part, n_jobs=None, sample_weight=weight)
            for part, weight in zip(parts, weights, strict=True)
        ]
        energies = pool.call("initialise", [(problem, self.scale) for problem in problems])
        self.total = sum(total for total, _ in energies)
        self.energies = np.sum([by_label for _, by_label in energies], axis=0).tolist()
        self._n_rows = np.array([np.diff(part.indptr) for part in parts])  # of each worker (row) and label (column)
        self._levels = [[i for i in level if rows[i].size] for level in levels(label_cooccurrence(rows, n))]
        self._C: list[Array] = [np.zeros((r, p), dtype=dtype) for r in problem.ranks]
        self._unsent: list[dict[int, Array]] = [{} for _ in parts]  # subspaces that a worker does not have yet

    def sweep(self) -> None:
        """Update every label, then the residual."""
        for level in filter(None, self._levels):
            Y2 = self._gram_products(level)
            Q = {i: orthonormal_basis(Y2[i], self.dtype) for i in level}
            if self.sweeps == 0 and refines_random_start(self.problem.solver):
                Y2 = self._gram_products(level, Q)
                Q = {i: ritz_basis(Q[i], Y2[i], self.problem.ranks[i]) for i in level}
            for i in level:
                self._C[i] = np.ascontiguousarray(Q[i].T)
            for n_rows, unsent in zip(self._n_rows, self._unsent, strict=True):
                unsent.update({i: Q[i] for i in level if n_rows[i]})
        self._residual_step()
        self.sweeps += 1

    def _pop_unsent(self, worker: int) -> dict[int, Array]:
        """The subspaces to send to a worker with the next call."""
        unsent, self._unsent[worker] = self._unsent[worker], {}
        return unsent

    def _gram_products(self, level: Sequence[int], bases: Mapping[int, Array] | None = None) -> dict[int, Array]:
        """N^T (N A) of each label, summed over the workers in order."""
        labels_of = [[i for i in level if n_rows[i]] for n_rows in self._n_rows]
        arguments = [
            (self._pop_unsent(worker), labels, None if bases is None else {i: bases[i] for i in labels})
            if labels
            else None
            for worker, labels in enumerate(labels_of)
        ]
        sums: dict[int, Array] = {}
        for labels, products in zip(labels_of, self._pool.call("gram_products", arguments), strict=True):
            for i, Y2 in zip(labels, products or (), strict=True):
                sums[i] = sums[i] + Y2 if i in sums else Y2
        return sums

    def _residual_step(self) -> None:
        """S := the K largest entries on all workers; with weights the last ones if those are better."""
        arguments: list[tuple[Any, ...]] = [(self._pop_unsent(worker),) for worker in range(len(self._unsent))]
        samples = self._pool.call("residual_candidates", arguments)
        K, cut, remaining = self.problem.K, 0.0, [0.0] * len(samples)  # no candidate is zero
        if sum(sample.total for sample in samples) > K > 0:
            candidates = self._pool.call_all("candidates_between", *bound_kth_largest(samples, K))
            cut, remaining = cut_at_budget(candidates, K)
        arguments = [(cut, rest) for rest in remaining]
        if self.problem.sample_weight is not None:
            last, largest = np.sum(self._pool.call("residual_energies", arguments), axis=0)
            if last > largest:
                self._error = sum(self._pool.call_all("update_residual_values"))
                return
        self._error = sum(self._pool.call("set_residual", arguments))

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        return float(self._error)

    def low_rank_factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label on its principal axes, with the rank that its rows support.

        As in ``supported_rank``: the singular values of U are those of the stacked triangular factors.
        """
        factors = self._pool.call_all("factors")
        rotations = []
        for i, tolerance in enumerate(self.rank_tolerances()):
            if self.problem.ranks[i] == 0:
                rotations.append(np.zeros((0, 0)))
                continue
            stacked = np.vstack([by_label[i][0] for by_label in factors])
            _, s, Vt = svd(stacked, full_matrices=False, check_finite=False)
            Vt = Vt[: np.count_nonzero(s > tolerance)]
            total = np.sum([by_label[i][1] for by_label in factors], axis=0)
            rotations.append(Vt.T * np.where(Vt @ total < 0, -1, 1))
        U = self._stack_workers(self._pool.call_all("coefficients", rotations))
        return [
            (U_i, (V.T @ C).astype(self.dtype, copy=False)) for U_i, V, C in zip(U, rotations, self._C, strict=True)
        ]

    def residual_entries(self) -> tuple[Indices, Array]:
        """Flat indices and values of S in the unit scale."""
        p, parts = self.problem.shape[1], self._pool.call_all("residual")
        indices = [part + first * p for (part, _), (first, _) in zip(parts, self._pool.bounds, strict=True)]
        return np.concatenate(indices), np.concatenate([values for _, values in parts])

    def factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label."""
        return list(zip(self._stack_workers(self._pool.call_all("coefficients")), self._C, strict=True))

    def working_state(self) -> dict[str, Array]:
        """Empty: R is computed from the rest, up to rounding."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after ``sweeps`` sweeps."""
        p, (U, C) = self.problem.shape[1], self.split_factors(state)
        cuts = np.concatenate([np.zeros_like(self._n_rows[:1]), np.cumsum(self._n_rows, axis=0)])
        arguments = []
        for worker, (first, last) in enumerate(self._pool.bounds):
            worker_U = [U_i[a:b] for U_i, a, b in zip(U, cuts[worker], cuts[worker + 1], strict=True)]
            in_part = slice(*np.searchsorted(state["S_indices"], [first * p, last * p]))
            indices, values = state["S_indices"][in_part] - first * p, state["S_values"][in_part]
            arguments.append((worker_U, state["C"], indices, values, sweeps))
        self._pool.call("restore", arguments)
        self._C = C
        self.sweeps = sweeps

    def _stack_workers(self, parts: Sequence[Sequence[Array]]) -> list[Array]:
        """The rows of all workers, for each label."""
        return [np.vstack([part[i] for part in parts]) for i in range(len(self._C))]
