"""Actors release their rows."""

from time import sleep

import numpy as np
import pytest

from distributed_data import DECOMPOSE_OPTIONS, make_data
from sdgs import decompose


def test_workers_release_the_rows(client):
    def holds_rows(dask_worker):
        return any(vars(actor) for actor in dask_worker.state.actors.values())

    data = make_data("dense")
    decompose(data.as_dask(), data.Y, **DECOMPOSE_OPTIONS)
    data.X[150] = np.inf  # in the last block: workers hold other blocks when it is read
    with pytest.raises(ValueError, match="infinity"):
        decompose(data.as_dask(), data.Y)
    for _ in range(100):  # actors are closed asynchronously
        if not any(client.run(holds_rows).values()):
            return
        sleep(0.1)
    raise AssertionError("actors hold rows")
