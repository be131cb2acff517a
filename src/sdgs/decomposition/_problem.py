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
_MAX_DENSE_RATIO = 4  # a dense X may have this many times the memory of the components


@dataclass(frozen=True, eq=False)
class Problem:
    """The validated arguments of :func:`sdgs.decompose`, without X, in the notation of the paper."""

    shape: tuple[int, int]
    labels: csc_array
    ranks: NDArray[np.intp]  # of each label's component, at most the number of its rows and of the columns
    K: int
    solver: Solver
    seed: int
    max_iter: int
    tol: float
    n_jobs: int | None
    checkpoint_folder: Path | None

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
        return Checkpoint(self.checkpoint_folder, "decompose", *data, *arguments)
