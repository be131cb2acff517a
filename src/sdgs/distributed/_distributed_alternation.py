"""The alternation of all workers together: what the client does between their sums.

For each label only sums of p x r numbers travel: N^T (N A) from the workers and the subspace Q back to them, and only
from and to those that have rows of the label. The subspaces of one level of labels go with the question for the sums of
the next. So a sweep has a round trip a level (in the first sweep two), and three more for the residual.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.sparse import csr_array

from sdgs.decomposition._alternation import SharedParameters, component_ranks, power_of_two_above, rank_tolerances
from sdgs.decomposition._block_updates import Array, Indices, orthonormal_basis, ritz_basis
from sdgs.decomposition._label_rows import label_cooccurrence, levels, rows_by_label
from sdgs.decomposition._solvers import Solver, refines_random_start
from sdgs.distributed._actor_pool import ActorPool
from sdgs.distributed._dask_rows import Rows
from sdgs.distributed._k_largest import bounds, kept


class DistributedAlternation:
    """What ``decompose`` asks of an alternation, answered by the workers of a crew."""

    def __init__(
        self,
        X: Rows,
        crew: ActorPool,
        labels: Any,
        ranks: NDArray[np.intp],
        K: int,
        solver: Solver,
        seed: int,
    ) -> None:
        self.shape, self.K, self.solver, self.sweeps = X.shape, K, solver, 0
        self.rows = rows_by_label(labels)
        self._crew, self._dtype = crew, X.dtype
        self.scale = power_of_two_above(max(crew.ask_all("largest")), X.dtype)
        self._width = component_ranks(ranks, self.rows, X.shape[1])
        whole = SharedParameters(self.scale, self._width)
        by_rows = labels.tocsr()
        parts = [by_rows[first:last].tocsc() for first, last in crew.bounds]
        begun = crew.ask("begin", [(part, ranks, K, solver, seed, whole) for part in parts])
        self.total = sum(total for total, _ in begun)
        self._energies = np.sum([energies for _, energies in begun], axis=0).tolist()
        self._sizes = np.array([np.diff(part.indptr) for part in parts])  # rows of each label, on each worker
        self._levels = [
            [i for i in level if self.rows[i].size] for level in levels(label_cooccurrence(self.rows, X.shape[0]))
        ]
        self._C: list[Array] = [np.zeros((r, X.shape[1]), dtype=X.dtype) for r in self._width]
        self._untold: list[dict[int, Array]] = [{} for _ in parts]  # subspaces that workers do not know yet

    def sweep(self) -> None:
        """Update every label, then the residual."""
        for level in filter(None, self._levels):
            Y2 = self._sums(level)
            Q = {i: orthonormal_basis(Y2[i], self._dtype) for i in level}
            if self.sweeps == 0 and refines_random_start(self.solver):
                Y2 = self._sums(level, Q)
                Q = {i: ritz_basis(Q[i], Y2[i], self._width[i]) for i in level}
            for i in level:
                self._C[i] = np.ascontiguousarray(Q[i].T)
            for mine, untold in zip(self._sizes, self._untold, strict=True):
                untold.update({i: Q[i] for i in level if mine[i]})
        self._residual_step()
        self.sweeps += 1

    def _told(self, number: int) -> dict[int, Array]:
        """What the worker must know first; it is taken to be told."""
        untold, self._untold[number] = self._untold[number], {}
        return untold

    def _sums(self, level: Sequence[int], bases: Mapping[int, Array] | None = None) -> dict[int, Array]:
        """N^T (N A) of each label, added up over the workers in order."""
        asked = [[i for i in level if mine[i]] for mine in self._sizes]
        arguments = [
            (self._told(number), labels, None if bases is None else {i: bases[i] for i in labels}) if labels else None
            for number, labels in enumerate(asked)
        ]
        sums: dict[int, Array] = {}
        for labels, found in zip(asked, self._crew.ask("sums", arguments), strict=True):
            for i, Y2 in zip(labels, found or (), strict=True):
                sums[i] = sums[i] + Y2 if i in sums else Y2
        return sums

    def _residual_step(self) -> None:
        """S := the K largest entries on all workers."""
        samples = self._crew.ask("candidates", [(self._told(number),) for number in range(len(self._untold))])
        sizes = [sample.size for sample in samples]
        if sum(sizes) > self.K > 0:
            sizes = kept(self._crew.ask_all("between", *bounds(samples, self.K)), self.K)
        self._error = sum(self._crew.ask("keep", [(size,) for size in sizes]))

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        return float(self._error)

    def low_rank_factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label on its principal axes, with the rank that its rows support.

        As ``supported_rank`` has it: the singular values of U are those of the triangular factors below each other.
        """
        factors = self._crew.ask_all("factors")
        floors = rank_tolerances([omega.size for omega in self.rows], self._energies, self.shape[1], self._dtype)
        axes = []
        for i, floor in enumerate(floors):
            if self._width[i] == 0:
                axes.append(np.zeros((0, 0)))
                continue
            _, s, Vt = svd(np.vstack([mine[i][0] for mine in factors]), full_matrices=False, check_finite=False)
            mine = Vt[: np.count_nonzero(s > floor)]
            total = np.sum([mine[i][1] for mine in factors], axis=0)
            axes.append(mine.T * np.where(mine @ total < 0, -1, 1))
        U = self._joined(self._crew.ask_all("coefficients", axes))
        return [
            (mine, (turn.T @ C).astype(self._dtype, copy=False)) for mine, turn, C in zip(U, axes, self._C, strict=True)
        ]

    def residual(self) -> csr_array:
        """S."""
        places, values = self._residual()
        return csr_array((values * self.scale, np.unravel_index(places, self.shape)), shape=self.shape)

    def _residual(self) -> tuple[Indices, Array]:
        found = self._crew.ask_all("residual")
        places = [mine + first * self.shape[1] for (mine, _), (first, _) in zip(found, self._crew.bounds, strict=True)]
        return np.concatenate(places), np.concatenate([values for _, values in found])

    def state(self) -> dict[str, NDArray[Any]]:
        """What the result is made of; what the workers know is told first."""
        U = np.concatenate([mine.reshape(-1) for mine in self._joined(self._crew.ask_all("coefficients"))])
        places, values = self._residual()
        return {"U": U, "C": np.vstack(self._C), "S_indices": places, "S_values": values}

    def working_state(self) -> dict[str, Array]:
        """None: the error is made anew from all else, and differs by rounding."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps."""
        p, C = self.shape[1], np.asarray(state["C"], dtype=self._dtype)
        ends = np.cumsum([omega.size * r for omega, r in zip(self.rows, self._width, strict=True)])
        U = np.split(state["U"], ends[:-1])
        cuts = np.concatenate([np.zeros_like(self._sizes[:1]), np.cumsum(self._sizes, axis=0)])
        arguments = []
        for number, (first, last) in enumerate(self._crew.bounds):
            mine = [
                part.reshape(-1, r)[a:b] if r else np.zeros((b - a, 0), dtype=self._dtype)
                for part, r, a, b in zip(U, self._width, cuts[number], cuts[number + 1], strict=True)
            ]
            here = slice(*np.searchsorted(state["S_indices"], [first * p, last * p]))
            arguments.append((mine, C, state["S_indices"][here] - first * p, state["S_values"][here], sweeps))
        self._crew.ask("restore", arguments)
        self._C = [np.ascontiguousarray(one) for one in np.split(C, np.cumsum(self._width)[:-1])]
        self.sweeps = sweeps

    def _joined(self, found: Sequence[Sequence[Array]]) -> list[Array]:
        """Of each label, the rows of all workers."""
        return [np.vstack([mine[i] for mine in found]) for i in range(len(self.rows))]
