"""Row norms of samples with missing entries."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from corruption import with_missing_entries
from sdgs._utils._row_norms import unit_rows


def test_missing_entries_are_as_large_as_the_observed_ones_on_average():
    X = np.array([[3.0, np.nan, 4.0, np.nan], [np.nan] * 4, [0.0, 0.0, 0.0, np.nan]])
    unit, norms = unit_rows(X)
    np.testing.assert_allclose(norms, [5 * np.sqrt(2), 0, 0])
    np.testing.assert_allclose(unit[0], [3 / norms[0], np.nan, 4 / norms[0], np.nan])
    assert np.isnan(unit[1]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_and_dense_rows_agree(dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 15)) < 0.4, rng.standard_normal((80, 15)), 0).astype(dtype)
    X = with_missing_entries(X, 0.1)
    X[3], X[4] = np.nan, 0.0
    (dense, dense_norms), (sparse, sparse_norms) = unit_rows(X), unit_rows(csr_array(X))
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-6)
    np.testing.assert_allclose(sparse_norms, dense_norms, rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_rows_of_any_scale_and_form(form, scale):
    """Rows without an entry, at the end too; the argument does not change."""
    X = scale * np.array([[0.0, 0, 0], [3, 0, -4], [0, 0, 2], [0, 0, 0]])
    matrix = form(X)
    unit, norms = unit_rows(matrix)
    np.testing.assert_allclose(
        unit.toarray() if form is csr_array else unit, [[0, 0, 0], [0.6, 0, -0.8], [0, 0, 1], [0, 0, 0]]
    )
    np.testing.assert_allclose(norms, scale * np.array([0.0, 5, 2, 0]))
    np.testing.assert_array_equal(matrix.toarray() if form is csr_array else matrix, X)
