"""The alternating minimisation: the state between two steps, and the steps that change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._row_norms import narrow_indices
from sdgs._utils._validation import has_missing
from sdgs.decomposition._block_updates import (
    Array,
    Indices,
    exact_subspace,
    orthonormal_basis,
    ritz_basis,
    supported_rank,
)
from sdgs.decomposition.backends._threads import Workers

Solver = Literal["brp", "svd", "brp-fresh"]


_BLOCK_BYTES = 1 << 20  # looked at in one go
_WORTH = 1 << 18  # entries of a label's rows for which a thread is

_OVERSAMPLING = 4  # columns beyond the rank in the first random projection of a label


@dataclass(frozen=True, eq=False)
class Whole:
    """What an alternation over some of the rows must have in common with those over the others."""

    scale: Any
    width: Sequence[int]  # of the component of each label


class Alternation:
    """X = sum_i U_i C^i + S + R, improved in place one block of variables at a time.

    Trusts its arguments: X is finite or NaN, ``rows`` holds the ascending rows of each label, ``ranks`` is positive.
    An entry that is NaN was not observed: S takes what the labels say of it, free of K, so that it never counts.
    Everything but X is kept in a unit scale, X / ``scale``, in which squares neither overflow nor vanish.

    A subclass holds R, as a matrix or by its parts, and knows how to multiply with it.
    """

    places: Indices  # of the K entries of S, flat
    values: Array

    def __init__(
        self,
        X: Any,
        rows: tuple[Indices, ...],
        ranks: NDArray[np.intp],
        K: int,
        solver: Solver,
        seed: int,
        n_jobs: int | None = None,
        *,
        whole: Whole | None = None,
        gaps: Indices | None = None,
    ) -> None:
        if gaps is None:
            X, gaps = _without_gaps(narrow_indices(X) if issparse(X) else X)
        self.gaps = gaps
        self.workers = self.make_workers(n_jobs)
        self.X, self.rows, self.K, self.solver, self.seed = X, rows, K, solver, seed
        self.scale = power_of_two_above(largest_magnitude(X), X.dtype) if whole is None else whole.scale
        self.shape = n, p = X.shape
        dtype = X.dtype
        energy = self._row_energy()
        self.total = float(energy.sum())

        # The paper's start shares each sample out equally: L^i = X / (labels of the row). It is not low-rank, so it is
        # not stored: the first sweep takes it from X, and the error of every labelled row starts at zero.
        self.card = np.bincount(np.concatenate(rows), minlength=n)
        self.share = (1 / np.maximum(self.card, 1)).astype(dtype)

        self.energies = [float(energy[omega].sum()) for omega in rows]
        self.width = widths(ranks, rows, p) if whole is None else list(whole.width)
        self.C: list[Array] = [np.zeros((r, p), dtype=dtype) for r in self.width]
        self.U: list[Array] = [
            np.zeros((omega.size, r), dtype=dtype) for omega, r in zip(rows, self.width, strict=True)
        ]
        self.places, self.values = np.empty(0, dtype=np.intp), np.empty(0, dtype=dtype)
        self.sweeps = 0
        self.begin()

    def make_workers(self, n_jobs: int | None) -> Workers:
        """Threads that do what is done to some rows after the other."""
        return Workers(n_jobs)

    def _row_energy(self) -> NDArray[np.float64]:
        """Sum of the squares of each row of X / scale, in float64."""
        blocks = slices(self.X.shape[0], max(16, _BLOCK_BYTES // (self.X.dtype.itemsize * self.X.shape[1])))
        parts = self.workers.run(lambda block: _energy(self.X[block] * (1 / self.scale)), blocks)
        return np.concatenate([np.zeros(0), *parts])

    def begin(self) -> None:
        """Make R, before the first sweep."""
        raise NotImplementedError

    def state(self) -> dict[str, NDArray[Any]]:
        """What the result is made of, after a sweep."""
        U = np.concatenate([U.reshape(-1) for U in self.U])
        return {"U": U, "C": np.vstack(self.C), "places": self.places, "values": self.values}

    def working_state(self) -> dict[str, Array]:
        """What the next sweep depends on beside that and the arguments, to the last digit."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        """Be as after ``sweeps`` sweeps; without the working state good for no more of them."""
        sizes = [U.size for U in self.U]
        for i, U in enumerate(np.split(state["U"], np.cumsum(sizes)[:-1])):
            self.U[i] = U.reshape(self.U[i].shape)
        for C, kept in zip(self.C, np.split(state["C"], np.cumsum(self.width)[:-1]), strict=True):
            C[:] = kept
        self.places, self.values, self.sweeps = state["places"], state["values"], sweeps

    def error(self) -> float:
        """``||R||_F^2``, in the unit scale."""
        raise NotImplementedError

    def residual_step(self) -> None:
        """Update S with all else fixed."""
        raise NotImplementedError

    def gram_times(self, i: int, A: Array, add_start: bool = False) -> Array:
        """Y2 = N^T (N A), N = R + L^i, in float64; with ``add_start`` the label's start is put back into R before."""
        raise NotImplementedError

    def gram_times_last(self, i: int) -> Array:
        """The same with the label's last subspace."""
        return self.gram_times(i, self.C[i].T)

    def label_matrix(self, i: int) -> Array:
        """N itself, dense; in the first sweep the start of the label is put back into R before."""
        raise NotImplementedError

    def project(self, i: int, Q: Array) -> None:
        """L^i := N Q Q^T."""
        raise NotImplementedError

    def sweep(self) -> None:
        """Update every label, then the residual."""
        for level in self.levels:
            size = sum(self.rows[i].size for i in level) * self.X.shape[1]
            if size >= _WORTH * len(level):
                self.workers.do(self.label_step, level)
            else:
                for i in level:
                    self.label_step(i)
        self.residual_step()
        self.sweeps += 1

    @cached_property
    def _meetings(self) -> csr_array:
        """(k, k): which labels share a row."""
        return meetings(self.rows, self.X.shape[0])

    def meets(self, i: int) -> Indices:
        """The labels that share a row with label i, itself among them, ascending."""
        return _met(self._meetings, i)

    @cached_property
    def levels(self) -> list[list[int]]:
        """The labels in groups that can be updated at the same time."""
        if self.workers.number == 1:
            return [[i] for i in range(len(self.rows))]
        return levels(self._meetings)

    def label_step(self, i: int) -> None:
        """Update L^i with all else fixed."""
        if self.rows[i].size == 0:
            return
        if self.solver == "svd":
            Q = exact_subspace(self.label_matrix(i), self.width[i])
        elif self.sweeps > 0 and self.solver == "brp":
            Q = orthonormal_basis(self.gram_times_last(i), self.X.dtype)
        else:
            Q = self._random_subspace(i)
        self.project(i, Q)

    def _random_subspace(self, i: int) -> Array:
        """Q (p, r) from a Gaussian matrix, seeded by sweep and label: the order of the labels changes no draw.

        "brp-fresh" takes one step from it, as printed. A start for "brp" should be nearer: some columns more find a
        subspace that holds the leading one, and the step is taken from the best r directions in it (Rayleigh-Ritz).
        """
        Q = orthonormal_basis(self.gram_times_random(i), self.X.dtype)
        return Q if self.solver == "brp-fresh" else ritz_basis(Q, self.gram_times(i, Q), self.width[i])

    def gram_times_random(self, i: int) -> Array:
        """Y2 from a Gaussian matrix; in the first sweep the start of the label is put back into R before."""
        return self.gram_times(i, self.drawn(i), add_start=self.sweeps == 0)

    def drawn(self, i: int) -> Array:
        """The Gaussian matrix of a label in this sweep."""
        r, p = self.C[i].shape
        return draw(self.seed, self.sweeps, i, (p, oversampled(r, p, self.solver)), self.X.dtype)

    def supported(self) -> list[tuple[Array, Array]]:
        """(U_i, C^i) of every label, with the rank that its rows support."""
        floors = rounding([omega.size for omega in self.rows], self.energies, self.X.shape[1], self.X.dtype)
        return [
            supported_rank(U, C, floor) if len(U) else (U, C)
            for U, C, floor in zip(self.U, self.C, floors, strict=True)
        ]

    def residual(self) -> csr_array:
        """S."""
        places = np.unravel_index(self.places, self.shape)
        return csr_array((self.values * self.scale, places), shape=self.shape)


def draw(seed: int, sweep: int, label: int, shape: tuple[int, int], dtype: Any) -> Array:
    """A Gaussian matrix, seeded by sweep and label: the order of the labels changes no draw."""
    A: Array = np.random.default_rng((seed, sweep, label)).standard_normal(shape).astype(dtype)
    return A


def oversampled(r: int, p: int, solver: Solver) -> int:
    """Columns of a label's random projection."""
    return r if solver == "brp-fresh" else min(r + _OVERSAMPLING, p)


def widths(ranks: NDArray[np.intp], rows: Sequence[Indices], p: int) -> list[int]:
    """The rank of each label's component: no more than its rows or columns."""
    return [min(int(r), omega.size, p) for r, omega in zip(ranks, rows, strict=True)]


def rounding(sizes: Sequence[int], energies: Sequence[float], p: int, dtype: Any) -> list[float]:
    """Of each label: below this a singular value of its rows is rounding."""
    eps = float(np.finfo(dtype).eps)
    return [max(size, p) * eps * float(np.sqrt(energy)) for size, energy in zip(sizes, energies, strict=True)]


def meetings(rows: Sequence[Indices], n: int) -> csr_array:
    """(k, k): which labels share one of n rows."""
    label = np.repeat(np.arange(len(rows)), [omega.size for omega in rows])
    row = np.concatenate(rows)
    Y = csr_array((np.ones(row.size, dtype=np.int32), (label, row)), shape=(len(rows), n))
    return csr_array(Y @ Y.T)


def _met(meetings: csr_array, i: int) -> Indices:
    first, last = meetings.indptr[i : i + 2]
    return np.sort(meetings.indices[first:last])


def levels(meetings: csr_array) -> list[list[int]]:
    """The labels in groups that share no row, so that each can be updated at the same time.

    A label is in the group after the last one with an earlier label that it meets: group by group every label finds
    what it would find if they came one after the other. So the result is the same, to the last digit.
    """
    level = np.zeros(meetings.shape[0], dtype=np.intp)
    for i in range(level.size):
        met = _met(meetings, i)
        level[i] = level[met[met < i]].max(initial=-1) + 1
    return [np.flatnonzero(level == number).tolist() for number in range(level.max() + 1)]


def slices(size: int, step: int) -> list[slice]:
    """Of ``step`` each, one after the other; the last may be shorter."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def _without_gaps(X: Any) -> tuple[Any, Indices]:
    """X with 0 for NaN, and where those are among its values, stored or flat; X itself if there are none."""
    if not has_missing(X):
        return X, np.empty(0, dtype=np.intp)
    X = X.copy()
    values = X.data if issparse(X) else X.reshape(-1)
    gaps = np.flatnonzero(np.isnan(values))
    values[gaps] = 0.0
    return X, gaps


def largest_magnitude(X: Any) -> Any:
    """Of the entries of X."""
    values = X.data if issparse(X) else X
    return max(abs(values.max(initial=0)), abs(values.min(initial=0)))


def power_of_two_above(largest: Any, dtype: Any) -> Any:
    """The power of two that brings the largest magnitude into [0.5, 1)."""
    _, exponent = np.frexp(largest)
    # The power and its inverse must both be numbers: the very largest and the subnormal come near 1, which will do.
    most = np.finfo(dtype).maxexp - 1
    return np.dtype(dtype).type(2.0 ** min(max(int(exponent), -most), most))


def _energy(block: Any) -> NDArray[np.float64]:
    """Sum of the squares of each row, in float64."""
    if issparse(block):
        return np.asarray(block.multiply(block).sum(axis=1, dtype=np.float64)).reshape(-1)
    energy = np.empty(block.shape[0])
    return np.einsum("ij,ij->i", block, block, dtype=np.float64, out=energy)
