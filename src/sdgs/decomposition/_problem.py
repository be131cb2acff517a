"""The arguments of ``decompose``, as given and validated."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdgs._utils._validation import (
    check_checkpoint,
    check_choice,
    check_int,
    check_labels,
    check_n_jobs,
    check_number,
    check_ranks,
    check_residual_size,
    check_seed,
)
from sdgs.decomposition._block_updates import Indices
from sdgs.decomposition._label_rows import rows_by_label
from sdgs.decomposition._solvers import SOLVERS, Solver
from sdgs.persistence._checkpoint import Checkpoint

_MAX_SMALL_BYTES = 32 << 20  # of a dense matrix whose memory does not matter
_MAX_DENSE_RATIO = 4  # a dense X may have this many times the memory of the components


@dataclass(frozen=True, eq=False)
class Problem:
    """The validated arguments of :func:`sdgs.decompose`, without X, in the notation of the paper."""

    shape: tuple[int, int]
    labels: csc_array
    ranks: NDArray[np.intp]
    K: int
    solver: Solver
    seed: int
    max_iter: int
    tol: float
    n_jobs: int | None
    checkpoint_folder: Path | None
    densify: bool | None

    @cached_property
    def rows(self) -> tuple[Indices, ...]:
        """Omega_i for each label."""
        return rows_by_label(self.labels)

    def is_solved_dense(self, dtype: Any) -> bool:
        """Whether sparse X of this type is made dense: it is small, or not much larger than the components.

        The dense path is three to ten times faster on the paper's text data sets. With thousands of labels the products
        with the components, which are dense, dominate on either path.
        """
        n, p = self.shape
        if self.densify is not None:
            return self.densify
        n_components = int(np.minimum(self.ranks, np.diff(self.labels.indptr)).sum())
        return n * p * np.dtype(dtype).itemsize <= _MAX_SMALL_BYTES or n <= _MAX_DENSE_RATIO * n_components

    def open_checkpoint(self, fingerprint_of_X: Callable[[], str]) -> Checkpoint | None:
        """The checkpoint of this problem for an X with this fingerprint, or None if no folder was given."""
        if self.checkpoint_folder is None:
            return None
        arguments = (self.ranks, self.K, self.solver, self.max_iter, self.tol, self.seed)
        data = (fingerprint_of_X(), self.shape, self.labels, self.labels.shape)
        return Checkpoint(self.checkpoint_folder, "decompose", *data, *arguments)


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of :func:`sdgs.decompose` as given, and ``densify``: whether to make sparse X dense.

    None, the default, decides it by size (:meth:`Problem.is_solved_dense`).
    """

    n_components: Any
    residual_size: Any
    solver: Any
    max_iter: Any
    tol: Any
    random_state: Any
    n_jobs: Any
    checkpoint: Any
    densify: bool | None = None

    def check(self, shape: tuple[int, int], Y: Any) -> Problem:
        """The validated problem for samples of this shape with labels ``Y``."""
        labels = check_labels(Y, n_samples=shape[0])
        ranks = check_ranks(self.n_components, labels.shape[1])
        K = check_residual_size(self.residual_size, shape[0] * shape[1])
        check_choice(self.solver, "solver", SOLVERS)
        max_iter = check_int(self.max_iter, "max_iter", minimum=1)
        tol = check_number(self.tol, "tol")
        seed = check_seed(self.random_state)
        check_n_jobs(self.n_jobs)
        folder = check_checkpoint(self.checkpoint, self.random_state)
        return Problem(shape, labels, ranks, K, self.solver, seed, max_iter, tol, self.n_jobs, folder, self.densify)
