"""Dask arrays: the same results as in memory, what travels, and what happens when a worker is lost."""

import logging
import os
import signal
from dataclasses import dataclass
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array, issparse
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import sdgs
from helpers import decompose_as_given
from sdgs import SDGSClassifier, SDGSClassifierCV, decompose
from sdgs.datasets import make_label_subspaces
from sdgs.readout._ridge import PrimalRidge

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from distributed import Client, LocalCluster  # noqa: E402

from sdgs.distributed import WorkerLostError  # noqa: E402
from sdgs.distributed._actor_pool import ActorPool  # noqa: E402
from sdgs.distributed._k_largest import between, bounds, kept, sampled  # noqa: E402
from sdgs.distributed._training_actor import _on_one_thread  # noqa: E402

CHUNKS = {
    "even": (60, 60, 60),
    "uneven, some empty": (0, 17, 100, 0, 63),
    "one": (180,),  # and so fewer than workers
}


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with LocalCluster(processes=False, **options) as cluster, Client(cluster) as client:
        yield client


on_workers = pytest.mark.usefixtures("client")


@dataclass
class Data:
    X: object
    Y: np.ndarray

    def blocks(self, chunks=(50, 80, 50)):
        p = self.X.shape[1]
        dense = self.X.toarray() if issparse(self.X) else self.X
        X = da.from_array(dense, chunks=(chunks, (p,)))
        return X.map_blocks(csr_array) if issparse(self.X) else X


def made(kind, n=180):
    """Samples of a kind, some without a label, and one label without a sample."""
    data = make_label_subspaces(n, 30, 6, n_components=2, noise=0.1, random_state=0)
    rng = np.random.default_rng(0)
    X, Y = data.X.copy(), data.Y.copy()
    Y[:5], Y[:, 3] = 0, 0
    X[rng.integers(n, size=20), rng.integers(30, size=20)] = 5
    if "sparse" in kind:
        X = np.abs(np.where(rng.random(X.shape) < 0.7, 0, X))
    if "missing" in kind:
        X[rng.random(X.shape) < 0.1] = np.nan
    return Data(csr_array(X) if "sparse" in kind else X, Y)


def assert_same(found, expected, tol=1e-9):
    assert found.n_iter == expected.n_iter
    assert found.converged == expected.converged
    np.testing.assert_allclose(found.objective, expected.objective, rtol=tol)
    for i, (C, D) in enumerate(zip(found.components, expected.components, strict=True)):
        assert C.shape == D.shape
        assert C.dtype == D.dtype
        if len(C):
            assert subspace_angles(C.T, D.T).max() < 1e-6
        np.testing.assert_array_equal(found.rows[i], expected.rows[i])
        low_rank = expected.coefficients[i] @ D
        np.testing.assert_allclose(found.coefficients[i] @ C, low_rank, atol=1e-7 * np.abs(low_rank).max(initial=1))
    np.testing.assert_array_equal(found.residual.indices, expected.residual.indices)
    np.testing.assert_allclose(found.residual.data, expected.residual.data, rtol=1e-7)


def test_without_a_client():  # first of all, for the others have one
    data = made("dense")
    with pytest.raises(ValueError, match=r"from dask\.distributed import Client"):
        SDGSClassifier().fit(data.blocks(), data.Y)


OPTIONS = {"n_components": [2, 3, 2, 2, 40, 2], "residual_size": 0.01, "tol": 1e-3, "random_state": 3}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("kind", ["dense", "dense missing", "sparse", "sparse missing"])
@on_workers
def test_decompose_is_that_in_memory(kind, chunks):
    data = made(kind)
    found = decompose_as_given(data.blocks(chunks), data.Y, **OPTIONS)
    assert_same(found, decompose_as_given(data.X, data.Y, **OPTIONS))


def test_the_workers_let_go_of_the_rows(client):
    def held(dask_worker):
        return any(vars(actor) for actor in dask_worker.state.actors.values())

    data = made("dense")
    decompose(data.blocks(), data.Y, **OPTIONS)
    data.X[150] = np.inf  # in the last block, when others are there already
    with pytest.raises(ValueError, match="infinity"):
        decompose(data.blocks(), data.Y)
    for _ in range(100):  # the scheduler has to hear of it
        if not any(client.run(held).values()):
            return
        sleep(0.1)
    raise AssertionError("actors hold rows")


@on_workers
def test_more_chunks_than_rows():
    data = made("dense missing", n=40)
    assert_same(decompose(data.blocks((1,) * 40 + (0, 0)), data.Y, **OPTIONS), decompose(data.X, data.Y, **OPTIONS))


@on_workers
def test_sparse_samples_that_are_small_are_made_dense():
    data = made("sparse missing")
    assert_same(decompose(data.blocks(), data.Y, **OPTIONS), decompose(data.X, data.Y, **OPTIONS))


@pytest.mark.parametrize("options", [{"solver": "brp-fresh", "max_iter": 3, "tol": 1}, {"residual_size": 0}])
@on_workers
def test_other_options(options):
    data = made("dense")
    options = OPTIONS | options
    assert_same(decompose(data.blocks(), data.Y, **options), decompose(data.X, data.Y, **options))


@on_workers
def test_rows_in_files(monkeypatch):
    monkeypatch.setattr("sdgs.distributed._training_actor._SHARE", 0)  # no room at all
    monkeypatch.setattr("sdgs.distributed._worker_alternation._SLAB_BYTES", 30 * 8 * 7)
    mapped = []
    monkeypatch.setattr("mmap.mmap", _noting(mapped))
    data = made("dense missing")
    assert_same(decompose(data.blocks(), data.Y, **OPTIONS), decompose(data.X, data.Y, **OPTIONS))
    assert len(mapped) == 4  # X and R on two workers


def _noting(into):
    import mmap

    class Noting(mmap.mmap):
        def __init__(self, *_):
            into.append(self)

    return Noting


@on_workers
def test_sparse_rows_without_room(monkeypatch):
    monkeypatch.setattr("sdgs.distributed._training_actor._SHARE", 1e-9)
    data = made("sparse")
    with pytest.raises(MemoryError, match="Use more workers"):
        decompose_as_given(data.blocks(), data.Y)


@on_workers
def test_labels_and_columns_in_blocks_and_other_types():
    data = made("dense")
    whole = (data.X * 1e6).astype(np.int32)
    X, Y = da.from_array(whole, chunks=(70, 7)), da.from_array(data.Y, chunks=(33, 2))
    assert_same(decompose(X, Y, **OPTIONS), decompose(whole, data.Y, **OPTIONS))
    single = data.X.astype(np.float32)
    found = decompose(da.from_array(single, chunks=(70, 7)), csr_array(data.Y), **OPTIONS)
    assert found.components[0].dtype == found.coefficients[0].dtype == found.residual.dtype == np.float32
    for C in found.components:
        np.testing.assert_allclose(C.astype(np.float64) @ C.T, np.eye(len(C)), atol=8e-8)


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=60), min_size=1, max_size=5),
    st.integers(1, 80),
)
def test_the_largest_of_all_workers(numbers, K):
    parts = [np.sort(np.array(mine, dtype=float))[::-1][:K] for mine in numbers]
    everything = [(-x, number) for number, mine in enumerate(parts) for x in mine]
    if len(everything) <= K:
        return
    limits = bounds([sampled(mine, K) for mine in parts], K)
    sizes = kept([between(mine, *limits) for mine in parts], K)
    expected = [number for _, number in sorted(everything)[:K]]  # of equals those of the first worker
    assert sizes == [expected.count(number) for number in range(len(parts))]


def test_the_largest_are_found_from_few_numbers():
    rng, K = np.random.default_rng(0), 10_000
    parts = [np.sort(rng.exponential(size=K))[::-1] for _ in range(4)]
    samples = [sampled(mine, K) for mine in parts]
    told = [between(mine, *bounds(samples, K)) for mine in parts]
    assert sum(kept(told, K)) == K
    sent = sum(sample.values.size for sample in samples) + sum(part.values.size for part in told)
    assert sent <= 4 * 4 * np.sqrt(K)


@pytest.fixture
def traffic(monkeypatch):
    """(method, messages, numbers sent, numbers received) of every round trip."""
    rounds, ask = [], ActorPool.ask

    def counted(self, method, arguments):
        answers = ask(self, method, arguments)
        rounds.append((method, sum(mine is not None for mine in arguments), _numbers(arguments), _numbers(answers)))
        return answers

    monkeypatch.setattr(ActorPool, "ask", counted)
    return rounds


def _numbers(content):
    if isinstance(content, np.ndarray):
        return content.size
    if isinstance(content, dict):
        return sum(map(_numbers, content.values()))
    if isinstance(content, list | tuple):
        return sum(map(_numbers, content))
    return 0


@pytest.mark.parametrize("k", [4, 12])
@on_workers
def test_what_a_sweep_sends(traffic, k):
    """Labels in twos that meet: two levels, however many labels."""
    n, p, r, sweeps, K = 240, 20, 2, 3, 48
    rng = np.random.default_rng(0)
    Y = np.zeros((n, k), dtype=int)
    pair = np.arange(n) % (k // 2)
    Y[np.arange(n), 2 * pair + rng.integers(2, size=n)] = 1
    Y[:k, :] = np.kron(np.eye(k // 2, dtype=int), np.ones((2, 2), dtype=int))
    with pytest.warns(match="max_iter"):
        decompose(
            da.from_array(rng.standard_normal((n, p)), chunks=(60, p)),
            Y,
            **{"n_components": r, "residual_size": K, "max_iter": sweeps, "tol": 0, "random_state": 0},
        )
    sums = [entry for entry in traffic if entry[0] == "sums"]
    levels, workers = 2, 2
    assert len(sums) == (sweeps + 1) * levels  # the first sweep twice
    assert all(messages == workers for _, messages, _, _ in sums)
    later = sums[2 * levels :]
    told = [entry for entry in traffic if entry[0] == "candidates"]
    assert sum(sent for _, _, sent, _ in later) + sum(entry[2] for entry in told) <= sweeps * workers * k * p * r
    assert sum(received for *_, received in later) == (sweeps - 1) * workers * k * p * r
    assert sum(received for *_, received in sums[: 2 * levels]) == 2 * workers * k * p * (r + 4)
    for method in ("candidates", "between", "keep"):
        assert sum(entry[0] == method for entry in traffic) == sweeps


CLASSIFIERS = {
    "dense": ("dense", {}),
    "rows": ("dense", {"scaling": "rows", "decision": "threshold"}),
    "as they are": ("dense", {"scaling": None, "penalty": 1.0}),
    "missing": ("dense missing", {}),
    "huber": ("dense", {"huber": "auto"}),
    "sparse": ("sparse", {}),
    "sparse, missing": ("sparse missing", {}),
    "norms": ("dense", {"readout": "norm"}),
}


def assert_same_model(found, expected, data):
    for name in ("scaling_", "huber_", "penalty_", "read_from_", "n_iter_", "n_features_in_"):
        assert getattr(found, name, None) == getattr(expected, name, None)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    X = data.blocks()
    for method in ("decision_function", "predict", "transform", *["predict_proba"] * (found.readout == "ridge")):
        lazy, there = getattr(found, method)(X), getattr(expected, method)(data.X)
        assert isinstance(lazy, da.Array)
        assert lazy.dtype == there.dtype
        assert lazy.shape == there.shape
        assert lazy.chunks[0] == X.chunks[0]
        here = lazy.compute()
        assert issparse(here) == issparse(there) == issparse(lazy._meta)
        here, there = (M.toarray() if issparse(M) else M for M in (here, there))
        if there.dtype.kind == "f":
            np.testing.assert_allclose(here, there, rtol=1e-6, atol=1e-8)
        else:
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(("kind", "options"), CLASSIFIERS.values(), ids=CLASSIFIERS)
@on_workers
def test_a_classifier_is_that_in_memory(kind, options):
    data = made(kind)
    options = {"n_components": 2, "random_state": 0} | options
    found = SDGSClassifier(**options).fit(data.blocks(), da.from_array(data.Y, chunks=(70, 4)))
    assert_same_model(found, SDGSClassifier(**options).fit(data.X, data.Y), data)


@on_workers
def test_labels_that_listen_to_words_of_their_own(own_words, monkeypatch):
    data, partial = Data(csr_array(own_words[0][:180]), own_words[1][:180].astype(int)), []
    learnt = PrimalRidge.partial
    monkeypatch.setattr(PrimalRidge, "partial", lambda *args: partial.append(args[-1]) or learnt(*args))
    options = {"n_components": 2, "scaling": "rows", "penalty": 3.0, "random_state": 0}
    found, expected = (SDGSClassifier(**options).fit(X, csr_array(data.Y)) for X in (data.blocks(), data.X))
    assert len(partial[3]) == 1  # after three folds
    assert_same_model(found, expected, data)


@on_workers
def test_choices_are_made_on_the_same_few_rows_and_columns(monkeypatch):
    monkeypatch.setattr("sdgs.selection._cross_fit.MOST_ROWS", 100)
    monkeypatch.setattr("sdgs.readout._features.WIDEST", 25)
    monkeypatch.setattr("sdgs.readout._features._LOOKED_AT", 50)
    data = made("dense missing")
    found = SDGSClassifier(2, random_state=0).fit(data.blocks(), csr_array(data.Y))
    expected = SDGSClassifier(2, random_state=0).fit(data.X, csr_array(data.Y))
    np.testing.assert_array_equal(found._members[0].view.columns, expected._members[0].view.columns)
    assert_same_model(found, expected, data)


@on_workers
def test_columns_that_are_constant_or_unknown():
    data = made("dense")
    data.X[:, 4], data.X[:, 7] = 2.5, np.nan
    options = {"n_components": 2, "scaling": "columns", "readout": "norm", "random_state": 0}
    found, expected = (SDGSClassifier(**options).fit(X, data.Y) for X in (data.blocks(), data.X))
    for name in ("mean_", "scale_", "var_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(found.scaler_, name), getattr(expected.scaler_, name), rtol=1e-12)


@on_workers
def test_one_class_a_sample():
    data = made("dense")
    y = np.array(["a", "b", "c"])[data.Y[:, :3].argmax(axis=1)]
    found = SDGSClassifier(2, random_state=0).fit(data.blocks(), da.from_array(y, chunks=70))
    assert_same_model(found, SDGSClassifier(2, random_state=0).fit(data.X, y), data)


@on_workers
def test_the_search():
    data = made("dense")
    options = {"budget": 4, "random_state": 0}
    found = SDGSClassifierCV(**options).fit(data.blocks(), data.Y)
    expected = SDGSClassifierCV(gammas=None, **options).fit(data.X, data.Y)
    assert found.best_params_ == expected.best_params_
    assert found.cv_results_["averaged"] == expected.cv_results_["averaged"]
    np.testing.assert_allclose(found.predict_proba(data.X), expected.predict_proba(data.X), atol=1e-9)


def test_a_model_is_saved_and_predicts_without_workers(tmp_path):
    """Outside of a cluster, from a file; nothing is computed before it is asked for, and empty blocks stay empty."""
    data = made("dense")
    model = SDGSClassifier(2, random_state=0).fit(data.X, csr_array(data.Y))
    model.save(tmp_path / "model.sdgs")
    model = sdgs.load(tmp_path / "model.sdgs")

    def unreadable(_):
        raise OSError("read before it was asked for")

    model.predict(data.blocks().map_blocks(unreadable, dtype=float, meta=np.empty((0, 0))))
    with dask.config.set(scheduler="synchronous"):
        found = model.predict(data.blocks(CHUNKS["uneven, some empty"]))
        assert issparse(found._meta)
        assert (found.compute() != model.predict(data.X)).nnz == 0
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(data.Y, columns=list("abcdef"))
        of_frame = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, frame)
        found = of_frame.predict(data.blocks())
        np.testing.assert_array_equal(found.compute(), of_frame.predict(data.X).to_numpy())
    np.testing.assert_array_equal(model.decomposition_.rows[0], np.flatnonzero(data.Y[:, 0]))  # still there


@on_workers
def test_a_model_that_was_fitted_on_workers_is_saved(tmp_path):
    data = made("sparse")
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.blocks(), data.Y)
    model.save(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(sdgs.load(tmp_path / "model.sdgs").predict(data.X), model.predict(data.X))


@on_workers
def test_what_is_refused():
    data = made("dense")
    X = data.blocks()
    infinite = X.map_blocks(lambda block: np.where(block == block.max(), np.inf, block))
    unknown = X[X[:, 0] > 0]
    for arguments, options, message in [
        ((infinite, data.Y), {}, "infinity"),
        ((unknown, data.Y), {}, "compute_chunk_sizes"),
        ((X, data.Y[:-1]), {}, "inconsistent numbers of samples"),
        ((X, data.Y + 1), {}, "only 0 and 1"),
        ((X[:, 0], data.Y), {}, "2-D"),
        ((X[:, :0], data.Y), {}, "no features"),
        ((X.astype(str), data.Y), {}, "must hold numbers"),
        ((X, data.Y), {"solver": "svd"}, 'Use "brp"'),
        ((X, data.Y), {"gamma": 1.0}, "gamma maps all samples"),
        ((X.map_blocks(csr_array), data.Y), {"scaling": "columns"}, "sparse X"),
    ]:
        with pytest.raises(ValueError, match=message):
            SDGSClassifier(random_state=0, **options).fit(*arguments)
    with pytest.raises(ValueError, match="gamma maps all samples"):
        SDGSClassifierCV(gammas=(None, 1.0)).fit(X, data.Y)
    with pytest.raises(ValueError, match="infinity"):
        decompose(infinite, data.Y)
    with pytest.raises(ValueError, match='Use "brp"'):
        decompose(X, data.Y, solver="svd")


class StoppedError(Exception):
    """Somebody pulls the plug."""


@pytest.fixture
def stop_at(monkeypatch):
    """A function that has something happen at the n-th sweep, once."""

    def plan(sweep, happens):
        ask, left = ActorPool.ask, [sweep]

        def watched(self, method, arguments):
            if method == "candidates":
                left[0] -= 1
                if left[0] == 0:
                    happens(self)
            return ask(self, method, arguments)

        monkeypatch.setattr(ActorPool, "ask", watched)
        monkeypatch.setattr("sdgs.persistence._checkpoint._PAUSE", 0)  # every sweep is kept
        return left

    return plan


@pytest.mark.parametrize("kind", ["dense missing", "sparse missing"])
@on_workers
def test_it_goes_on_from_a_checkpoint(tmp_path, stop_at, kind):
    data, options = made(kind), OPTIONS | {"checkpoint": tmp_path}

    def stop(_):
        raise StoppedError

    left = stop_at(3, stop)
    with pytest.raises(StoppedError):
        decompose_as_given(data.blocks(), data.Y, **options)
    expected = decompose_as_given(data.X, data.Y, **OPTIONS)
    assert_same(decompose_as_given(data.blocks(), data.Y, **options), expected)
    assert -left[0] == expected.n_iter - 2  # two sweeps were kept
    assert_same(decompose_as_given(data.blocks(), data.Y, **options), expected)
    assert -left[0] == expected.n_iter - 2  # and then all
    other = Data(data.X.copy(), data.Y)
    (other.X.data if issparse(other.X) else other.X)[-1] = 0.125
    decompose_as_given(other.blocks(), data.Y, **options)
    assert -left[0] > expected.n_iter  # other samples begin at the beginning


def test_a_worker_is_killed(monkeypatch, tmp_path, stop_at):
    """In processes of their own: in the middle of a sweep, and while rows are handed over."""
    data = made("dense")
    options = {"n_components": 2, "random_state": 0}
    fit = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**fit) as cluster, Client(cluster) as client:

        def kill(_=None):
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        stop_at(3, kill)
        model = SDGSClassifier(**options, checkpoint=tmp_path)
        with pytest.raises(WorkerLostError, match="checkpoint=FOLDER"):
            model.fit(data.blocks(), data.Y)
        model.fit(data.blocks(), data.Y)
        expected = SDGSClassifier(**options).fit(data.X, data.Y)
        assert_same(model.decomposition_, expected.decomposition_)
        np.testing.assert_allclose(model.predict_proba(data.X), expected.predict_proba(data.X), atol=1e-9)

        fold = sdgs.distributed.Rows.fold

        def disturbed(self, *arguments, fixed=False):
            if fixed:
                kill()
            return fold(self, *arguments, fixed=fixed)

        monkeypatch.setattr("sdgs.distributed.Rows.fold", disturbed)
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(WorkerLostError):
            decompose(data.blocks(), data.Y, random_state=1)


def test_blas_has_one_thread_on_a_worker():
    def number():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    class Held:
        _blas = ThreadpoolController()

        @_on_one_thread
        def seen(self, more):
            return number(), more

    with threadpool_limits(2, user_api="blas"):
        if number() != {2}:
            pytest.skip("this BLAS has one thread")
        assert Held().seen(3) == ({1}, 3)
        assert number() == {2}
