"""The validated arguments of ``decompose``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdgs.decomposition._block_updates import Indices
from sdgs.decomposition._solvers import Solver
from sdgs.persistence._checkpoint import Checkpoint

_MAX_SMALL_BYTES = 32 << 20  # of a dense matrix whose memory does not matter
_ROUNDING = 1e-9  # relative, of sums of weights
_MAX_DENSE_RATIO = 4  # a dense X may have this many times the memory of the components


@dataclass(frozen=True, eq=False)
class Problem:
    """The validated arguments of :func:`sdgs.decompose`, without X, in the notation of the paper.

    ``sample_weight`` is None or positive, and in [0.5, 1) at its largest; K is then a sum of weights.
    """

    shape: tuple[int, int]
    labels: csc_array
    ranks: NDArray[np.intp]  # of each label's component, at most the number of its rows and of the columns
    K: float
    solver: Solver
    seed: int
    max_iter: int
    tol: float
    n_jobs: int | None
    checkpoint_folder: Path | None
    sample_weight: NDArray[np.float64] | None = None

    @cached_property
    def rows(self) -> tuple[Indices, ...]:
        """Omega_i for each label: its rows, ascending."""
        by_label = np.split(self.labels.indices, self.labels.indptr[1:-1])
        return tuple(np.asarray(omega, dtype=np.intp) for omega in by_label)

    def is_solved_dense(self, dtype: Any) -> bool:
        """Whether sparse X of this type is made dense: it is small, or not much larger than the components.

        The dense path is three to ten times faster on the paper's text data sets. With thousands of labels the products
        with the components, which are dense, dominate on either path.
        """
        n, p = self.shape
        return n * p * np.dtype(dtype).itemsize <= _MAX_SMALL_BYTES or n <= _MAX_DENSE_RATIO * int(self.ranks.sum())

    def open_checkpoint(self, fingerprint_of_X: Callable[[], str]) -> Checkpoint | None:
        """The checkpoint of this problem for an X with this fingerprint, or None if no folder was given."""
        if self.checkpoint_folder is None:
            return None
        arguments = (self.ranks, self.K, self.solver, self.max_iter, self.tol, self.seed)
        data = (fingerprint_of_X(), self.shape, self.labels, self.labels.shape)
        weights = () if self.sample_weight is None else (self.sample_weight,)
        return Checkpoint(self.checkpoint_folder, "decompose", *data, *arguments, *weights)

    def costs(self, indices: Any) -> NDArray[np.float64]:
        """What entries of S take of K, given their flat indices."""
        if self.sample_weight is None:
            return np.ones(indices.size)
        return np.asarray(self.sample_weight[indices // self.shape[1]])

    def fits_budget(self, indices: Any) -> bool:
        """Whether S may have these entries."""
        costs = self.costs(indices)
        return bool(costs.sum() - 0.5 * costs.max(initial=0) <= self.K * (1 + _ROUNDING))
