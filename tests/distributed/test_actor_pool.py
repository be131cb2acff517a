"""Actors release their rows, and a lost worker is an error."""

import logging
import os
import signal
from time import sleep

import numpy as np
import pytest
from distributed import Client, LocalCluster

from distributed_data import DECOMPOSE_OPTIONS, assert_same_decomposition, make_data
from sdgs import SDGSClassifier, decompose
from sdgs.distributed import WorkerLostError
from sdgs.distributed._dask_rows import DaskRows


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


@pytest.mark.slow
@pytest.mark.usefixtures("store_every_sweep")
def test_a_killed_worker_is_an_error_and_the_fit_continues_from_a_checkpoint(monkeypatch, tmp_path, at_sweep):
    """Workers are processes. One is killed during a sweep, and one while rows are sent."""
    data = make_data("dense")
    parameters = {"n_components": 2, "random_state": 0}
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**options) as cluster, Client(cluster) as client:

        def kill_a_worker():
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        at_sweep(3, kill_a_worker)
        model = SDGSClassifier(**parameters, checkpoint=tmp_path)
        with pytest.raises(WorkerLostError, match="checkpoint=FOLDER"):
            model.fit(data.as_dask(), data.Y)
        model.fit(data.as_dask(), data.Y)
        expected = SDGSClassifier(**parameters).fit(data.X, data.Y)
        assert_same_decomposition(model.decomposition_, expected.decomposition_)
        np.testing.assert_allclose(model.predict_proba(data.X), expected.predict_proba(data.X), atol=1e-9)

        reduce_blocks = DaskRows.reduce_blocks

        def killing_reduction(self, *arguments, pinned=False):
            if pinned:
                kill_a_worker()
            return reduce_blocks(self, *arguments, pinned=pinned)

        monkeypatch.setattr(DaskRows, "reduce_blocks", killing_reduction)
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(WorkerLostError):
            decompose(data.as_dask(), data.Y, random_state=1)
