"""A lost worker is an error or is replaced, every call ends, and the next one gives the model of an undisturbed fit."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import neg

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from distributed_data import assert_same_decomposition, make_data
from sdgs import SDGSClassifier, decompose
from sdgs.distributed import WorkerLostError
from sdgs.distributed._dask_rows import DaskRows
from sdgs.distributed._lost_workers import wait_for

pytestmark = pytest.mark.slow
PARAMETERS = {"n_components": 2, "random_state": 0}
MAX_SECONDS = 120  # for a call that takes a few seconds


@contextmanager
def start_workers(**options):
    """A client of two workers in processes of their own, which are started again if they are killed."""
    options |= {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    # Tests with the same data kill more workers than Dask allows one task to lose.
    allowed = dask.config.set({"distributed.scheduler.allowed-failures": 100})
    with allowed, LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def processes():
    with start_workers() as client:
        yield client


@pytest.fixture
def client(processes):
    """With two workers, also after tests that killed some."""
    processes.wait_for_workers(2, timeout=MAX_SECONDS)
    return processes


def kill_workers(client, n_workers=1):
    for pid in list(client.run(os.getpid).values())[:n_workers]:
        os.kill(pid, signal.SIGKILL)


def within_limit(function, *arguments, **options):
    """The result of a function, or an error if it does not end."""
    executor = ThreadPoolExecutor(1)
    try:
        return executor.submit(function, *arguments, **options).result(timeout=MAX_SECONDS)
    finally:
        executor.shutdown(wait=False)


@pytest.fixture
def at_reduction(monkeypatch):
    """A function that makes an action happen before some step reduces the first of its blocks, once."""

    def plan(step_name, action):
        reduce_blocks, actions = DaskRows.reduce_blocks, [action]

        def observed(self, step, *arguments, **options):
            if step.__name__ == step_name and actions:
                actions.pop()()
            return reduce_blocks(self, step, *arguments, **options)

        monkeypatch.setattr(DaskRows, "reduce_blocks", observed)

    return plan


def assert_same_as_in_memory(model, data):
    expected = SDGSClassifier(gamma=None, **PARAMETERS).fit(data.X, data.Y)
    assert_same_decomposition(model.decomposition_, expected.decomposition_)
    np.testing.assert_allclose(model.predict_proba(data.X), expected.predict_proba(data.X), atol=1e-9)


@pytest.mark.usefixtures("store_every_sweep")
def test_a_fit_continues_from_a_checkpoint(tmp_path, at_sweep, client):
    data = make_data("dense")
    n_sweeps = at_sweep(3, lambda: kill_workers(client))
    model = SDGSClassifier(**PARAMETERS, checkpoint=tmp_path)
    with pytest.raises(WorkerLostError, match="checkpoint=FOLDER"):
        within_limit(model.fit, data.as_dask(), data.Y)
    assert n_sweeps[0] == 3
    within_limit(model.fit, data.as_dask(), data.Y)
    assert n_sweeps[0] - 3 == model.n_iter_ - 2  # two were stored
    assert_same_as_in_memory(model, data)


def test_the_call_after_a_loss_does_not_wait_for_the_lost_worker(at_reduction, client):
    """Rows are sent to the workers when one is killed. The error is kept, as in an interactive session."""
    data = make_data("dense")
    at_reduction("send_rows", lambda: kill_workers(client))
    with pytest.raises(WorkerLostError) as error:
        within_limit(decompose, data.as_dask(), data.Y, **PARAMETERS)
    actual = within_limit(decompose, data.as_dask(), data.Y, **PARAMETERS)
    assert_same_decomposition(actual, decompose(data.X, data.Y, **PARAMETERS))
    assert error.value is not None


@pytest.mark.parametrize("step_name", ["_add_statistics", "_add_moments"])
def test_other_steps_are_repeated_if_all_workers_are_lost(at_reduction, client, step_name):
    data = make_data("dense")
    at_reduction(step_name, lambda: kill_workers(client, n_workers=2))
    model = within_limit(SDGSClassifier(**PARAMETERS).fit, data.as_dask(), data.Y)
    assert_same_as_in_memory(model, data)


def test_a_cluster_without_workers_is_not_waited_for_for_ever():
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client, pytest.raises(WorkerLostError, match="Every"):
        wait_for(client, [client.submit(neg, 1)], max_seconds_without_workers=0)
