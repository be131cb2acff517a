"""What the door of ``decompose`` needs for samples on workers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from dask import compute, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from sdgs._utils._validation import is_dask_array
from sdgs.decomposition._alternation import Solver
from sdgs.decomposition._decomposition_result import Decomposition
from sdgs.distributed._actor_pool import ActorPool
from sdgs.distributed._dask_rows import Rows
from sdgs.distributed._distributed_alternation import DistributedAlternation


def check_solver(solver: Any) -> None:
    """Refuse what would send the rows of a label about."""
    if solver == "svd":
        raise ValueError('solver="svd" needs all rows of a label in one place. Use "brp" for a Dask array.')


def gathered_labels(Y: Any) -> Any:
    """Labels as the client has them: what was no Dask array as it is, a matrix sparse, one class a sample dense."""
    if not is_dask_array(Y):
        return Y
    if Y.ndim != 2 or (Y.shape[1] == 1 and not issparse(Y._meta)):
        return Y.compute()
    blocks = Y.rechunk({1: -1}).to_delayed().ravel()
    return csr_array(vstack(compute(*(delayed(csr_array)(block) for block in blocks)), format="csr"))


def decomposed(
    X: Rows,
    labels: Any,
    ranks: NDArray[np.intp],
    K: int,
    solver: Solver,
    seed: int,
    *,
    dense: bool,
    run: Callable[[DistributedAlternation], Decomposition],
) -> Decomposition:
    """What ``run`` makes of an alternation over rows that are handed to workers before, and let go of after."""
    with ActorPool(X, dense=dense) as crew:
        return run(DistributedAlternation(X, crew, labels, ranks, K, solver, seed))
