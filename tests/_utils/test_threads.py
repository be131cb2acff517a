"""How many threads, and BLAS on one."""

from threading import Barrier, Thread

import pytest
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from helpers import interrupted
from sdgs._utils._threads import ThreadPool, blas_on_one_thread, n_threads


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread")
        yield
        assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_nested_limits_end_with_the_outer_one():
    @blas_on_one_thread()
    def inside():
        with blas_on_one_thread():
            pass
        return blas_threads()

    assert inside() == {1}
    assert blas_threads() == {2}
    with pytest.raises(KeyError), blas_on_one_thread():
        raise KeyError
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_limits_that_overlap_in_threads_end_with_the_last_one():
    first_is_in, second_is_in, first_is_out = Barrier(2), Barrier(2), Barrier(2)
    seen = []

    def first():
        with blas_on_one_thread():
            first_is_in.wait()
            second_is_in.wait()
        first_is_out.wait()

    def second():
        first_is_in.wait()
        with blas_on_one_thread():
            second_is_in.wait()
            first_is_out.wait()
            seen.append(blas_threads())

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}]


@pytest.mark.usefixtures("two_blas_threads")
def test_an_interrupted_beginning_or_end_of_a_limit_leaves_none():
    @blas_on_one_thread()
    def inside():
        with blas_on_one_thread():
            assert n_threads(None) == 2

    n_calls = interrupted(inside)
    assert n_calls > 5
    for point in range(1, n_calls + 1):
        with pytest.raises(KeyboardInterrupt):
            interrupted(inside, point, KeyboardInterrupt)
        assert blas_threads() == {2}
        assert n_threads(None) == 2


@pytest.mark.usefixtures("two_blas_threads")
def test_none_means_as_many_threads_as_blas_has():
    assert n_threads(None) == 2
    assert n_threads(1) == 1
    with blas_on_one_thread():  # the limit is ours
        assert n_threads(None) == 2
    with threadpool_limits(1, user_api="blas"):  # this one is the user's
        assert n_threads(None) == 1
    with parallel_config(backend="threading", n_jobs=3):
        assert n_threads(None) == 3
    inside = Parallel(n_jobs=2, backend="threading")(delayed(n_threads)(None) for _ in range(2))
    assert inside == [1, 1]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_pool_keeps_the_order_and_runs_nested_calls_in_place(n_jobs):
    pool = ThreadPool(n_jobs)
    results = pool.map(lambda i: list(pool.map(lambda j: 10 * i + j, range(3))), range(5))
    assert list(results) == [[10 * i + j for j in range(3)] for i in range(5)]
