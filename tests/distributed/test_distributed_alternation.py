"""What the alternation sends to workers, and how it continues from a checkpoint."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import issparse

from distributed_data import DECOMPOSE_OPTIONS, Data, assert_same_decomposition, make_data
from helpers import decompose_as_given
from sdgs import decompose
from sdgs.distributed._actor_pool import ActorPool

pytestmark = pytest.mark.usefixtures("client")


@pytest.fixture
def traffic(monkeypatch):
    """(method, messages, numbers sent, numbers received) of every round trip."""
    round_trips, call = [], ActorPool.call

    def recorded(self, method, arguments):
        results = call(self, method, arguments)
        n_messages = sum(values is not None for values in arguments)
        round_trips.append((method, n_messages, count_numbers(arguments), count_numbers(results)))
        return results

    monkeypatch.setattr(ActorPool, "call", recorded)
    return round_trips


def count_numbers(content):
    if isinstance(content, np.ndarray):
        return content.size
    if isinstance(content, dict):
        return sum(map(count_numbers, content.values()))
    if isinstance(content, list | tuple):
        return sum(map(count_numbers, content))
    return 0


@pytest.mark.parametrize("k", [4, 12])
def test_a_sweep_sends_one_matrix_per_label_and_worker(traffic, k):
    """Labels share rows in pairs, so there are two levels however many labels there are."""
    n, p, r, n_sweeps, K = 240, 20, 2, 3, 48
    rng = np.random.default_rng(0)
    Y = np.zeros((n, k), dtype=int)
    pair = np.arange(n) % (k // 2)
    Y[np.arange(n), 2 * pair + rng.integers(2, size=n)] = 1
    Y[:k, :] = np.kron(np.eye(k // 2, dtype=int), np.ones((2, 2), dtype=int))
    X = da.from_array(rng.standard_normal((n, p)), chunks=(60, p))
    with pytest.warns(match="max_iter"):
        decompose(X, Y, n_components=r, residual_size=K, max_iter=n_sweeps, tol=0, random_state=0)
    products = [entry for entry in traffic if entry[0] == "gram_products"]
    n_levels, n_workers = 2, 2
    assert len(products) == (n_sweeps + 1) * n_levels  # two passes in the first sweep
    assert all(n_messages == n_workers for _, n_messages, _, _ in products)
    later = products[2 * n_levels :]
    candidates = [entry for entry in traffic if entry[0] == "residual_candidates"]
    n_sent = sum(sent for _, _, sent, _ in later + candidates)
    assert n_sent <= n_sweeps * n_workers * k * p * r
    assert sum(received for *_, received in later) == (n_sweeps - 1) * n_workers * k * p * r
    assert sum(received for *_, received in products[: 2 * n_levels]) == 2 * n_workers * k * p * (r + 4)
    for method in ("residual_candidates", "candidates_between", "set_residual"):
        assert sum(entry[0] == method for entry in traffic) == n_sweeps


class StoppedError(Exception):
    """Stops a decomposition."""


@pytest.mark.parametrize("kind", ["dense missing", "sparse missing"])
@pytest.mark.usefixtures("store_every_sweep")
def test_continues_from_a_checkpoint(tmp_path, at_sweep, kind):
    data, options = make_data(kind), DECOMPOSE_OPTIONS | {"checkpoint": tmp_path}

    def stop():
        raise StoppedError

    n_sweeps = at_sweep(3, stop)
    with pytest.raises(StoppedError):
        decompose_as_given(data.as_dask(), data.Y, **options)
    expected = decompose_as_given(data.X, data.Y, **DECOMPOSE_OPTIONS)
    assert_same_decomposition(decompose_as_given(data.as_dask(), data.Y, **options), expected)
    assert n_sweeps[0] == 3 + expected.n_iter - 2  # two sweeps were stored
    assert_same_decomposition(decompose_as_given(data.as_dask(), data.Y, **options), expected)
    assert n_sweeps[0] == 3 + expected.n_iter - 2  # and then all
    other = Data(data.X.copy(), data.Y)
    (other.X.data if issparse(other.X) else other.X)[-1] = 0.125
    decompose_as_given(other.as_dask(), data.Y, **options)
    assert n_sweeps[0] > 3 + expected.n_iter  # other samples start from the beginning
