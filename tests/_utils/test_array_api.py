"""Functions that the array API standard does not have, and CUDA graphs."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers import fast_libraries
from sdgs._utils import _array_api
from sdgs._utils._array_api import CudaGraphRunner, put, to_host

pytestmark = pytest.mark.array_api


def test_put_sets_rows(elsewhere):
    flat = elsewhere(np.zeros((4, 2)))
    changed = put(flat, elsewhere(np.array([2, 0])), elsewhere(np.array([[1.0, 2], [3, 4]])))
    np.testing.assert_array_equal(to_host(changed), [[3, 4], [0, 0], [1, 2], [0, 0]])


@fast_libraries
@pytest.mark.parametrize("synchronises", [False, True])
def test_work_is_done_on_every_call_whether_or_not_it_can_be_recorded(elsewhere, synchronises):
    total = elsewhere(np.zeros(3))
    runner = CudaGraphRunner(total)

    def work():
        if synchronises:
            float(total[0])  # the host waits for the device, which cannot be recorded
        total[...] = total + 1

    for _ in range(5):
        runner(work)
    np.testing.assert_array_equal(to_host(total), 5)
    on_cuda = getattr(total, "is_cuda", False)
    assert (runner._graph is not None) == (on_cuda and not synchronises)
    if on_cuda:
        import torch

        assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_work_is_recorded_on_the_second_call_and_replayed_afterwards(monkeypatch):
    calls = []
    graph = SimpleNamespace(replay=lambda: calls.append("replayed"))
    monkeypatch.setattr(_array_api, "_record_graph", lambda *_: graph)
    runner = CudaGraphRunner(np.zeros(1))
    runner._device = "a CUDA device"
    for _ in range(4):
        runner(lambda: calls.append("called"))
    assert calls == ["called", "replayed", "replayed", "replayed"]
