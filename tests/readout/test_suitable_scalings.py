"""Scalings of counts and of measurements."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs.readout._column_statistics import column_statistics
from sdgs.readout._samples import ArraySamples
from sdgs.readout._scaling import suitable_scalings


def test_counts_and_measurements_have_different_scalings():
    def suitable(X):
        return suitable_scalings(column_statistics(X))

    rng = np.random.default_rng(0)
    counts, measurements = rng.poisson(1.0, (50, 4)).astype(float), rng.standard_normal((50, 4))
    assert suitable(counts) == ("rows", "columns")
    assert suitable(measurements) == ("columns",)
    assert suitable(csr_array(counts)) == ("idf", "rows")
    assert suitable(csr_array(measurements)) == ("idf", "rows")
    assert suitable(csr_array((50, 4))) == ("idf", "rows")
    spiked = counts.copy()
    spiked[::10] -= 50  # a tenth of the entries may be corrupted
    assert suitable(spiked) == ("rows", "columns")
    measurements[rng.random(measurements.shape) < 0.7] = np.nan
    assert suitable(measurements) == ("columns",)
    assert suitable(counts * 1e200) == ("rows",)  # variances overflow
    incomplete = csr_array(counts)
    incomplete.data[0] = np.nan
    assert suitable(incomplete) == ("rows",)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_idf_agrees_with_its_formula(form):
    X = np.zeros((40, 3))
    X[:, 0], X[:4, 1] = 1, 2
    scaling = ArraySamples(form(X)).scaling("idf")
    weighted = X * (np.log(41 / (1 + np.array([40, 4, 0]))) + 1)
    scaled, norms = scaling.transform(form(X))
    np.testing.assert_allclose(norms, np.linalg.norm(weighted, axis=1))
    scaled = scaled.toarray() if form is csr_array else scaled
    np.testing.assert_allclose(scaled, weighted / np.linalg.norm(weighted, axis=1, keepdims=True))


def test_idf_ignores_stored_zeros():
    X = csr_array(np.array([[1.0, 0.0], [1.0, 2.0]]))
    stored = csr_array((np.array([1.0, 0.0, 1.0, 2.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    weights, expected = (ArraySamples(form).scaling("idf").scaler.idf_ for form in (stored, X))
    np.testing.assert_array_equal(weights, expected)
    with pytest.raises(ValueError, match="needs complete samples"):
        ArraySamples(np.array([[np.nan, 1.0]])).scaling("idf")
