"""The decomposition of Dask arrays."""

from typing import Any

from dask import delayed
from dask.array import Array
from distributed import Client
from scipy.sparse import csr_array, issparse, vstack

from sdgs._utils._threads import blas_on_one_thread
from sdgs.decomposition._decomposition_result import Decomposition
from sdgs.decomposition._minimise import minimise
from sdgs.decomposition._problem import Problem
from sdgs.distributed._actor_pool import ActorPool
from sdgs.distributed._dask_rows import DaskRows
from sdgs.distributed._distributed_alternation import DistributedAlternation
from sdgs.distributed._lost_workers import gather


def check_solver(solver: Any) -> None:
    """Reject the solver that would have to move the rows of a label between workers."""
    if solver == "svd":
        raise ValueError('solver="svd" needs all rows of a label in one place. Use "brp" for a Dask array.')


def gather_labels(Y: Any, client: Client) -> Any:
    """Labels on the client: a Dask matrix as CSR, classes as an array; anything else as it is."""
    if not isinstance(Y, Array):
        return Y
    if Y.ndim != 2 or (Y.shape[1] == 1 and not issparse(Y._meta)):
        return gather(client, [client.compute(Y)])[0]
    blocks = Y.rechunk({1: -1}).to_delayed().ravel()
    parts = gather(client, client.compute([delayed(csr_array)(block) for block in blocks]))
    return csr_array(vstack(parts, format="csr"))


def check_decomposable(X: Any, Y: Any) -> tuple[DaskRows, Any]:
    """The rows of a Dask array, and their labels on the client."""
    rows = DaskRows(X)
    return rows, gather_labels(Y, rows.client)


def decompose(X: DaskRows, problem: Problem) -> Decomposition:
    """The decomposition of a Dask array; workers hold the rows while it runs."""
    check_solver(problem.solver)
    checkpoint = problem.open_checkpoint(X.fingerprint)
    with blas_on_one_thread(), ActorPool(X, dense=problem.is_solved_dense(X.dtype)) as pool:
        return minimise(DistributedAlternation(X.dtype, pool, problem), checkpoint)
