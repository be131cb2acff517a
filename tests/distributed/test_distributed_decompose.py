"""Decompositions of Dask arrays equal those in memory."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from distributed_data import DECOMPOSE_OPTIONS, assert_same_decomposition, make_data
from helpers import decompose_as_given
from sdgs import decompose

CHUNKS = {
    "even": (60, 60, 60),
    "uneven, some empty": (0, 17, 100, 0, 63),
    "fewer than workers": (180,),
}

pytestmark = pytest.mark.usefixtures("client")


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("kind", ["dense", "dense missing", "sparse", "sparse missing"])
def test_equals_the_decomposition_in_memory(kind, chunks):
    data = make_data(kind)
    actual = decompose_as_given(data.as_dask(chunks), data.Y, **DECOMPOSE_OPTIONS)
    assert_same_decomposition(actual, decompose_as_given(data.X, data.Y, **DECOMPOSE_OPTIONS))


def assert_equals_that_in_memory(data, chunks=(50, 80, 50), **options):
    options = DECOMPOSE_OPTIONS | options
    assert_same_decomposition(decompose(data.as_dask(chunks), data.Y, **options), decompose(data.X, data.Y, **options))


def test_more_chunks_than_rows():
    assert_equals_that_in_memory(make_data("dense missing", n=40), (1,) * 40 + (0, 0))


def test_small_sparse_samples_are_made_dense():
    assert_equals_that_in_memory(make_data("sparse missing"))


@pytest.mark.parametrize("options", [{"solver": "brp-fresh", "max_iter": 3, "tol": 1}, {"residual_size": 0}])
def test_other_options(options):
    assert_equals_that_in_memory(make_data("dense"), **options)


@pytest.mark.parametrize(
    ("kind", "residual_size"), [("dense", 37), ("dense missing", 0.3), ("sparse", 0.3), ("sparse missing", 37)]
)
def test_weighted_samples(kind, residual_size):
    data, rng = make_data(kind), np.random.default_rng(1)
    for weight in (rng.integers(0, 4, 180), rng.exponential(size=180), np.r_[np.zeros(70), np.ones(110)]):
        options = DECOMPOSE_OPTIONS | {"residual_size": residual_size, "sample_weight": weight, "max_iter": 4}
        actual = decompose_as_given(data.as_dask((0, 17, 40, 100, 0, 23)), data.Y, **options)
        expected = decompose_as_given(data.X, data.Y, **options)
        assert_same_decomposition(actual, expected)
        for U, V in zip(actual.coefficients, expected.coefficients, strict=True):  # the signs too
            np.testing.assert_allclose(U, V, atol=1e-6 * np.abs(V).max(initial=1))


def test_integer_samples_and_labels_in_blocks():
    data = make_data("dense")
    integers = (data.X * 1e6).astype(np.int32)
    X, Y = da.from_array(integers, chunks=(70, 7)), da.from_array(data.Y, chunks=(33, 2))
    expected = decompose(integers, data.Y, **DECOMPOSE_OPTIONS)
    assert_same_decomposition(decompose(X, Y, **DECOMPOSE_OPTIONS), expected)


def test_float32_stays_float32():
    data = make_data("dense")
    X = da.from_array(data.X.astype(np.float32), chunks=(70, 7))
    result = decompose(X, csr_array(data.Y), **DECOMPOSE_OPTIONS)
    assert result.components[0].dtype == result.coefficients[0].dtype == result.residual.dtype == np.float32
    for C in result.components:
        np.testing.assert_allclose(C.astype(np.float64) @ C.T, np.eye(len(C)), atol=8e-8)


def test_invalid_arguments_are_rejected():
    data = make_data("dense")
    infinite = data.as_dask().map_blocks(lambda block: np.where(block == block.max(), np.inf, block))
    with pytest.raises(ValueError, match="infinity"):
        decompose(infinite, data.Y)
    with pytest.raises(ValueError, match='Use "brp"'):
        decompose(data.as_dask(), data.Y, solver="svd")
