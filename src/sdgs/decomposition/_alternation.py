"""The alternating minimisation: the state between two steps, and the steps that change it."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._threads import ThreadPool
from sdgs._utils._validation import has_missing
from sdgs.decomposition._block_updates import (
    Array,
    Indices,
    exact_subspace,
    largest_indices,
    largest_within_budget,
    orthonormal_basis,
    ritz_basis,
    slices,
    supported_rank,
    weighted_supported_rank,
)
from sdgs.decomposition._label_rows import label_cooccurrence, levels
from sdgs.decomposition._problem import Problem
from sdgs.decomposition._solvers import projection_columns, refines_random_start, starts_from_last_subspace

Arrays = dict[str, NDArray[Any]]


class AlternationState(Protocol):
    """What the loop needs of an alternation, whatever arrays it computes with."""

    problem: Problem
    dtype: Any
    scale: Any  # everything but X is divided by it: the unit scale
    total: float  # ||X||_F^2 in the unit scale; as all sums of squares with the weights of the samples
    energies: list[float]  # the same for the rows of each label
    sweeps: int

    def sweep(self) -> None:
        """Update every label, then the residual."""

    def error(self) -> float:
        """``||R||_F^2``, the objective in the unit scale."""

    def factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label, on the host."""

    def working_state(self) -> Arrays:
        """The arrays beside ``state`` that the next sweep depends on, to the last digit."""

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after so many sweeps; without the working state no sweep can follow."""

    def residual_entries(self) -> tuple[Indices, Array]:
        """Flat indices, ascending, and values of the at most K entries of S in the unit scale, on the host."""

    def residual(self) -> Any:
        """S."""
        indices, values = self.residual_entries()
        n, p = self.problem.shape
        indptr = np.concatenate([[0], np.cumsum(np.bincount(indices // p, minlength=n))])
        return csr_array((values * self.scale, indices % p, indptr), shape=(n, p))

    def state(self) -> Arrays:
        """The arrays that determine the result, after a sweep."""
        U, C = zip(*self.factors(), strict=True)
        indices, values = self.residual_entries()
        flat_U = np.concatenate([U_i.reshape(-1) for U_i in U])
        return {"U": flat_U, "C": np.vstack(C), "S_indices": indices, "S_values": values}

    def split_factors(self, state: Mapping[str, NDArray[Any]]) -> tuple[list[Array], list[Array]]:
        """U_i and C^i of every label in a state."""
        shapes = [(omega.size, r) for omega, r in zip(self.problem.rows, self.problem.ranks, strict=True)]
        U = np.split(state["U"], np.cumsum([size * r for size, r in shapes])[:-1])
        C = np.split(state["C"], np.cumsum(self.problem.ranks)[:-1])
        return [U_i.reshape(shape) for U_i, shape in zip(U, shapes, strict=True)], C

    def gaussian_matrix(self, i: int) -> Array:
        """The random projection of a label, seeded by sweep and label: the order of the updates changes no draw."""
        p = self.problem.shape[1]
        rng = np.random.default_rng((self.problem.seed, self.sweeps, i))
        width = projection_columns(self.problem.solver, self.problem.ranks[i], p)
        return rng.standard_normal((p, width)).astype(self.dtype)

    def rank_tolerances(self) -> list[float]:
        """Per label, the singular value of its rows at or below which only rounding is left."""
        eps, p = float(np.finfo(self.dtype).eps), self.problem.shape[1]
        pairs = zip(self.problem.rows, self.energies, strict=True)
        return [max(omega.size, p) * eps * float(np.sqrt(energy)) for omega, energy in pairs]

    def low_rank_factors(self) -> list[tuple[Any, Any]]:
        """(U_i, C^i) of every label, with the rank that its rows support."""
        pairs, weight = zip(self.factors(), self.rank_tolerances(), strict=True), self.problem.sample_weight
        if weight is None:
            return [supported_rank(U, C, tolerance) for (U, C), tolerance in pairs]
        return [
            weighted_supported_rank(U, C, weight[omega], tolerance)
            for ((U, C), tolerance), omega in zip(pairs, self.problem.rows, strict=True)
        ]


class Alternation(AlternationState):
    """X = sum_i U_i C^i + S + R, improved in place one block of variables at a time.

    An entry that is NaN was not observed: the error R is 0 there, and the entry does not count towards K. Everything
    but X is kept in a unit scale, X / ``scale``, in which squares neither overflow nor underflow.

    A subclass holds R, as a matrix or by its parts, and implements the products with it. Its block sizes are class
    attributes: they affect speed, and the result only by rounding.
    """

    scan_bytes = 1 << 20  # of X that are squared at a time
    min_task_entries = 1 << 18  # of a label's rows: an update of fewer is not worth a thread

    def __init__(self, X: Any, problem: Problem, *, scale: Any = None, missing: Indices | None = None) -> None:
        if missing is None:
            X, missing = _fill_missing(narrow_indices(X) if issparse(X) else X)
        self.missing = missing  # among the values of X, stored or flat
        self.threads = self.make_threads(problem.n_jobs)
        self.X, self.problem, self.rows, self.ranks = X, problem, problem.rows, problem.ranks.tolist()
        self.dtype = dtype = X.dtype
        self.scale = power_of_two_above(largest_magnitude(X), dtype) if scale is None else scale
        n, p = X.shape
        self.weight = None if problem.sample_weight is None else problem.sample_weight.astype(dtype)
        energy = self._row_energy()
        if problem.sample_weight is not None:
            energy *= problem.sample_weight
        self.total = float(energy.sum())

        # The paper's start divides each sample equally: L^i = X / (labels of the row). It is not low-rank, so it is not
        # stored: the first sweep takes it from X, and the error of every labelled row starts at zero.
        self.cardinality = np.bincount(np.concatenate(self.rows), minlength=n)
        self.start_weight = (1 / np.maximum(self.cardinality, 1)).astype(dtype)

        self.energies = [float(energy[omega].sum()) for omega in self.rows]
        self.C: list[Array] = [np.zeros((r, p), dtype=dtype) for r in self.ranks]
        self.U: list[Array] = [
            np.zeros((omega.size, r), dtype=dtype) for omega, r in zip(self.rows, self.ranks, strict=True)
        ]
        self.S_indices: Indices = np.empty(0, dtype=np.intp)  # of the at most K entries of S, flat and ascending
        self.S_values: Array = np.empty(0, dtype=dtype)
        self.sweeps = 0
        self.init_error()

    def make_threads(self, n_jobs: int | None) -> ThreadPool:
        """The threads that share the work of a step."""
        return ThreadPool(n_jobs)

    def _row_energy(self) -> NDArray[np.float64]:
        """Sum of the squares of each row of X / scale, in float64."""
        blocks = slices(self.X.shape[0], max(16, self.scan_bytes // (self.X.dtype.itemsize * self.X.shape[1])))
        parts = self.threads.map(lambda block: _energy(self.X[block] * (1 / self.scale)), blocks)
        return np.concatenate([np.zeros(0), *parts])

    def init_error(self) -> None:
        """Initialise R, before the first sweep."""
        raise NotImplementedError

    def factors(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label."""
        return list(zip(self.U, self.C, strict=True))

    def residual_entries(self) -> tuple[Indices, Array]:
        """Flat indices and values of S in the unit scale."""
        return self.S_indices, self.S_values

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Continue from a state after so many sweeps; without the working state no sweep can follow."""
        self.U, components = self.split_factors(state)
        for C, stored in zip(self.C, components, strict=True):
            C[:] = stored
        self.S_indices, self.S_values, self.sweeps = state["S_indices"], state["S_values"], sweeps

    def residual_step(self) -> None:
        """Update S with all else fixed."""
        raise NotImplementedError

    def add_start(self, rows: Indices) -> None:
        """Add the paper's start of one label, which is not in U and C, back to these rows of R."""
        raise NotImplementedError

    def gram_times(self, i: int, A: Array | None = None) -> Array:
        """Y2 = N^T diag(w) (N A), N = R + L^i, in float64. A is by default the label's last subspace."""
        raise NotImplementedError

    def label_matrix(self, i: int) -> Array:
        """N itself, dense."""
        raise NotImplementedError

    def project(self, i: int, Q: Array) -> None:
        """L^i := N Q Q^T."""
        raise NotImplementedError

    def sweep(self) -> None:
        """Update every label, then the residual."""
        for level in self.levels:
            size = sum(self.rows[i].size for i in level) * self.X.shape[1]
            if size >= self.min_task_entries * len(level):
                self.threads.for_each(self.label_step, level)
            else:
                for i in level:
                    self.label_step(i)
        self.residual_step()
        self.sweeps += 1

    @cached_property
    def cooccurrence(self) -> csr_array:
        """The number of rows that two labels share."""
        return label_cooccurrence(self.rows, self.X.shape[0])

    @cached_property
    def levels(self) -> list[list[int]]:
        """The labels in groups that can be updated at the same time."""
        if self.threads.n_threads == 1:
            return [[i] for i in range(len(self.rows))]
        return levels(self.cooccurrence)

    def label_step(self, i: int) -> None:
        """Update L^i with all else fixed."""
        if self.rows[i].size == 0:
            return
        if self.sweeps == 0:
            self.add_start(self.rows[i])
        if self.problem.solver == "svd":
            N = self.label_matrix(i)
            if self.weight is not None:
                N *= np.sqrt(self.weight[self.rows[i]])[:, None]
            Q = exact_subspace(N, self.ranks[i])
        else:
            Q = self.bilateral_basis(i, partial(self.gram_times, i))
        self.project(i, Q)

    def largest_candidates(self, indices: Indices, values: Array) -> tuple[Indices, float]:
        """Positions of the K largest of some entries of R + S, and a magnitude that the K largest of all reach.

        With weights the flat indices must be ascending.
        """
        magnitudes, K = np.abs(values), self.problem.K
        if self.problem.sample_weight is not None:
            return largest_within_budget(magnitudes, self.problem.costs(indices), K)
        chosen = largest_indices(magnitudes, int(K))
        return chosen, float(magnitudes[chosen].min()) if chosen.size == K > 0 else 0.0

    def bilateral_basis(self, i: int, gram_times: Callable[..., Array]) -> Array:
        """The basis of bilateral random projections, from the products N^T (N A) for the label."""
        if starts_from_last_subspace(self.problem.solver, self.sweeps):
            return orthonormal_basis(gram_times(), self.dtype)
        Q = orthonormal_basis(gram_times(self.gaussian_matrix(i)), self.dtype)
        return ritz_basis(Q, gram_times(Q), self.ranks[i]) if refines_random_start(self.problem.solver) else Q


def _fill_missing(X: Any) -> tuple[Any, Indices]:
    """X with 0 for NaN, and the indices of NaN among its values, stored or flat; X itself if there are none."""
    if not has_missing(X):
        return X, np.empty(0, dtype=np.intp)
    X = X.copy()
    values = X.data if issparse(X) else X.reshape(-1)
    missing = np.flatnonzero(np.isnan(values))
    values[missing] = 0.0
    return X, missing


def largest_magnitude(X: Any) -> Any:
    """The largest absolute value of the entries of X."""
    values = X.data if issparse(X) else X
    return max(abs(values.max(initial=0)), abs(values.min(initial=0)))


def power_of_two_above(largest: Any, dtype: Any) -> Any:
    """The power of two that brings the largest magnitude into [0.5, 1)."""
    _, exponent = np.frexp(largest)
    # Both the power and its inverse must be representable: the largest and the subnormal numbers are only brought
    # near 1, which is sufficient.
    bound = np.finfo(dtype).maxexp - 1
    return np.dtype(dtype).type(2.0 ** min(max(int(exponent), -bound), bound))


def _energy(block: Any) -> NDArray[np.float64]:
    """Sum of the squares of each row, in float64."""
    if issparse(block):
        return np.asarray(block.multiply(block).sum(axis=1, dtype=np.float64)).reshape(-1)
    energy = np.empty(block.shape[0])
    return np.einsum("ij,ij->i", block, block, dtype=np.float64, out=energy)
