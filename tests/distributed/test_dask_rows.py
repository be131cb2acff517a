"""The rows of a Dask array."""

import numpy as np
import pytest
from scipy.sparse import issparse

from distributed_data import make_data
from sdgs import SDGSClassifier
from sdgs.distributed._dask_rows import DaskRows


def test_training_needs_a_client():  # the first test of this module, because the others start one
    data = make_data("dense")
    with pytest.raises(ValueError, match=r"from dask\.distributed import Client"):
        SDGSClassifier().fit(data.as_dask(), data.Y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("index", [slice(None, None, 7), np.array([0, 16, 17, 179]), np.array([60])])
@pytest.mark.usefixtures("client")
def test_rows_by_index(kind, index):
    data = make_data(kind)
    rows = DaskRows(data.as_dask((0, 17, 100, 0, 63)))[index]
    assert issparse(rows) == (kind == "sparse")
    actual, expected = (X.toarray() if issparse(X) else X for X in (rows, data.X[index]))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("index", [np.array([5, 3]), slice(0, 0)])
@pytest.mark.usefixtures("client")
def test_rows_are_taken_in_ascending_order(index):
    with pytest.raises(IndexError, match="in ascending order, and at least one"):
        DaskRows(make_data("dense").as_dask())[index]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 9])
@pytest.mark.usefixtures("client")
def test_blocks_are_split_in_order_and_none_is_empty(n_parts):
    rows = DaskRows(make_data("dense").as_dask((0, 17, 20, 80, 0, 63)))
    parts = rows.split(n_parts)
    assert 0 < len(parts) <= n_parts
    assert all(parts)
    assert [block.start for part in parts for block in part] == [0, 17, 37, 117]


@pytest.mark.usefixtures("client")
def test_equal_samples_have_equal_fingerprints():
    data = make_data("sparse")
    fingerprint = DaskRows(data.as_dask()).fingerprint()
    assert fingerprint == DaskRows(data.as_dask()).fingerprint()
    data.X.data[-1] += 1
    assert fingerprint != DaskRows(data.as_dask()).fingerprint()
