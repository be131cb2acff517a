"""The memory of an actor."""

from dataclasses import replace

import numpy as np
import pytest

from distributed_data import DECOMPOSE_OPTIONS, assert_same_decomposition, make_data
from helpers import decomposition_problem
from sdgs import decompose
from sdgs._utils._validation import check_residual_size, check_seed
from sdgs.decomposition._minimise import minimise
from sdgs.distributed._actor_pool import ActorPool
from sdgs.distributed._dask_rows import DaskRows
from sdgs.distributed._distributed_alternation import DistributedAlternation


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_take_too_much_memory_are_in_files(client, weighted):
    def count_files(dask_worker):
        return sum(len(actor._allocator._maps) for actor in dask_worker.state.actors.values() if vars(actor))

    data = make_data("dense missing")
    rows = DaskRows(data.as_dask())
    options = DECOMPOSE_OPTIONS
    weight = np.linspace(0.05, 0.95, rows.shape[0]) if weighted else None
    K = check_residual_size(options["residual_size"], data.X.size)
    problem = decomposition_problem(rows.shape, data.Y, options["n_components"], K, tol=options["tol"])
    problem = replace(problem, seed=check_seed(options["random_state"]), sample_weight=weight)
    with ActorPool(rows, dense=True, max_memory_share=0.0, slab_bytes=30 * 8 * 7) as pool:
        result = minimise(DistributedAlternation(rows.dtype, pool, problem))
        assert sum(client.run(count_files).values()) == 4  # X and R on two workers
    options = DECOMPOSE_OPTIONS | {"sample_weight": weight, "residual_size": K}
    assert_same_decomposition(result, decompose(data.X, data.Y, **options))


@pytest.mark.usefixtures("client")
def test_sparse_rows_that_take_too_much_memory_are_an_error():
    rows = DaskRows(make_data("sparse").as_dask())
    with pytest.raises(MemoryError, match="Use more workers"):
        ActorPool(rows, dense=False, max_memory_share=1e-9)
