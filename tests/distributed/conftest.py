import logging
from importlib.util import find_spec

import pytest

HAS_DASK = find_spec("dask") is not None and find_spec("distributed.client") is not None
collect_ignore_glob = [] if HAS_DASK else ["test_*.py"]


@pytest.fixture(scope="module")
def client():
    """A client of two workers in this process."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with LocalCluster(processes=False, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def store_every_sweep(monkeypatch):
    """Checkpoints are written after every sweep, however long that takes."""
    from sdgs.persistence._checkpoint import Checkpoint

    monkeypatch.setattr(Checkpoint, "due", lambda _: True)


@pytest.fixture
def at_sweep(monkeypatch):
    """A function that makes an action happen before the residual step of a sweep, counted from 1, once."""
    from sdgs.distributed._actor_pool import ActorPool

    def plan(sweep, action):
        call, n_sweeps = ActorPool.call, [0]

        def counted(self, method, arguments):
            if method == "residual_candidates":
                n_sweeps[0] += 1
                if n_sweeps[0] == sweep:
                    action()
            return call(self, method, arguments)

        monkeypatch.setattr(ActorPool, "call", counted)
        return n_sweeps

    return plan
