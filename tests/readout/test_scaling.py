"""Scalings and the column statistics that they are fitted to."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from sdgs.readout._column_statistics import column_statistics, merge_statistics, mergeable_statistics
from sdgs.readout._samples import ArraySamples
from sdgs.readout._scaling import SCALINGS, fit_scaling, suitable_scalings


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5)) * [1, 100, 0.01, 3, 1] + [0, 1e4, 0, 3, 0]
    X[:, 4] = 7.0
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [True, False])
def test_columns_are_those_of_standard_scaler(samples, dtype, missing):
    X = samples.astype(dtype) if missing else np.nan_to_num(samples).astype(dtype)
    scaling, expected = ArraySamples(X).scaling("columns"), StandardScaler().fit(X)
    informative = slice(0, 4) if missing else slice(None)  # the last column is constant where it is observed
    for name in ("mean_", "scale_", "var_"):
        np.testing.assert_array_equal(getattr(scaling.scaler, name)[informative], getattr(expected, name)[informative])
    np.testing.assert_array_equal(scaling.scaler.n_samples_seen_, expected.n_samples_seen_)
    rounding = 1e-5 if dtype == np.float32 else 0  # scikit-learn 1.7 rounds otherwise than 1.9
    np.testing.assert_allclose(
        scaling.weight_columns(X)[:, informative], expected.transform(X)[:, informative], rtol=0, atol=rounding
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("constant", [0.0, 1e-20, 7.0, -5e4, 1e20, np.nan])
def test_a_column_that_was_constant_does_not_count(samples, dtype, constant):
    X = np.nan_to_num(samples).astype(dtype)
    X[:, 4] = constant
    scaling = ArraySamples(X).scaling("columns")
    changed = X.copy()
    changed[:, 4] = 5.2e4 if np.isnan(constant) else 1.04 * constant + 1
    scaled, norms = scaling.transform(changed)
    expected, _ = scaling.transform(np.where(np.arange(5) == 4, np.nan_to_num(constant), X).astype(dtype))
    np.testing.assert_allclose(scaled, expected, atol=1e-15)
    assert np.isfinite(scaling.inverse_transform(scaled, norms)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_idf_is_that_of_tfidf_transformer(form, dtype):
    rng = np.random.default_rng(0)
    X = form((rng.random((30, 9)) < 0.3).astype(dtype))
    scaling, expected = ArraySamples(X).scaling("idf"), TfidfTransformer(norm=None).fit(X)
    np.testing.assert_array_equal(scaling.scaler.idf_, expected.idf_)
    assert scaling.scaler.idf_.dtype == dtype
    weighted = scaling.weight_columns(X)
    np.testing.assert_allclose(weighted.toarray() if form is csr_array else weighted, expected.transform(X).toarray())


@pytest.mark.parametrize("name", SCALINGS)
def test_a_scaling_can_be_inverted(samples, name):
    X = np.abs(np.nan_to_num(samples)) if name == "idf" else samples
    scaling = ArraySamples(X).scaling(name)
    scaled, norms = scaling.transform(X)
    np.testing.assert_allclose(scaling.inverse_transform(scaled, norms), X)
    if name is not None and not np.isnan(X).any():
        np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1)


def test_a_scaling_is_fitted_once(samples):
    X = ArraySamples(samples)
    assert X.scaling("columns") is X.scaling("columns")
    assert X.column_statistics is X.column_statistics


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_statistics_of_parts_are_those_of_the_whole(samples, form):
    X = form(samples)
    parts = [mergeable_statistics(X[rows]) for rows in (slice(0, 1), slice(1, 17), slice(17, 40))]
    merged, whole = merge_statistics(parts), column_statistics(X)
    assert (merged.n_samples, merged.dtype, merged.sparse, merged.missing) == (40, X.dtype, form is csr_array, True)
    for name in ("nonzero", "observed", "negative"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name))
    for name in ("mean", "variance"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-9, atol=1e-12)


def test_a_column_without_an_observed_entry(samples):
    samples[:, 1] = np.nan
    for statistics in (column_statistics(samples), mergeable_statistics(samples)):
        assert statistics.observed[1] == 0
        assert statistics.finite_variance
    scaler = ArraySamples(samples).scaling("columns").scaler
    assert scaler.mean_[1] == 0
    assert scaler.scale_[1] > 1e20


def test_what_is_mostly_zero_does_not_depend_on_the_storage():
    rng = np.random.default_rng(0)
    for share, expected in ((0.2, True), (0.3, False)):
        X = (rng.random((100, 50)) < share).astype(float)
        assert column_statistics(X).mostly_zero == column_statistics(csr_array(X)).mostly_zero == expected


def test_suitable_scalings(samples):
    def suitable(X):
        return suitable_scalings(column_statistics(X))

    counts = np.random.default_rng(0).poisson(1.0, (30, 6)).astype(float)
    assert suitable(counts) == ("rows", "columns")
    assert suitable(csr_array(counts)) == suitable(csr_array((30, 6))) == ("idf", "rows")
    assert suitable(samples) == ("columns",)  # often negative
    assert suitable(csr_array(np.nan_to_num(samples))) == ("idf", "rows")  # sparse ones are not centred
    spikes = counts.copy()
    spikes[:6, 0] = -5  # 20 % of a column may be corrupted
    assert suitable(spikes) == ("rows", "columns")
    spikes[:6, 0] = -50  # so that it outweighs all others
    assert suitable(spikes) == ("columns", "rows")
    missing = csr_array(counts)
    missing.data[0] = np.nan
    assert suitable(missing) == ("rows",)
    assert suitable(counts * 1e300) == ("rows",)  # variances overflow


def test_a_column_in_another_unit_is_standardised():
    X = np.abs(np.random.default_rng(0).normal(1, 0.3, (40, 6)))
    assert suitable_scalings(column_statistics(X)) == ("rows", "columns")
    X[:, 2] *= 1e4
    X[::5, 1] = np.nan
    squares = np.nanmean(X**2, axis=0)
    for statistics in (column_statistics(X), mergeable_statistics(X)):
        np.testing.assert_allclose(statistics.largest_share, squares.max() / squares.sum())
        assert suitable_scalings(statistics) == ("columns", "rows")
    assert column_statistics(X[:, [1]]).largest_share == 1
    assert column_statistics(np.zeros((3, 2))).largest_share == 0
    np.testing.assert_allclose(column_statistics(X * 1e140).largest_share, squares.max() / squares.sum())


def test_errors_say_what_to_do(samples):
    with pytest.raises(ValueError, match=r'Pass X dense, or use "rows"'):
        ArraySamples(csr_array(np.eye(3))).scaling("columns")
    with pytest.raises(ValueError, match=r'needs complete samples.*Use "rows"'):
        ArraySamples(samples).scaling("idf")
    with pytest.raises(ValueError, match="Scale them down"):
        ArraySamples(np.array([[1.7e308, 1.0], [1.6e308, 2.0]])).scaling("columns")


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["complete", "missing", "counts", "sparse"])
def test_weights_are_repetitions(samples, kind, dtype):
    rng = np.random.default_rng(1)
    X = samples if kind == "missing" else np.nan_to_num(samples) if kind == "complete" else rng.poisson(0.4, (40, 5))
    X, weight = X.astype(dtype), rng.integers(0, 4, 40).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    X[weight == 0] = np.nan  # such samples are left out
    form = csr_array if kind == "sparse" else np.asarray
    expected = column_statistics(form(repeated))
    cuts = [slice(0, 1), slice(1, 17), slice(17, 40)]
    merged = merge_statistics([mergeable_statistics(form(X[rows]), weight[rows]) for rows in cuts])
    for actual in (column_statistics(form(X), weight), mergeable_statistics(form(X), weight), merged):
        assert (actual.n_samples, actual.missing, actual.dtype) == (len(repeated), kind == "missing", dtype)
        for name in ("nonzero", "observed", "negative"):
            np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
        for name in ("mean", "variance", "squares"):
            np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
        assert actual.mostly_zero == expected.mostly_zero
        assert suitable_scalings(actual) == suitable_scalings(expected)
        name, fields = ("idf", ["idf_"]) if kind == "sparse" else ("columns", ["mean_", "scale_", "n_samples_seen_"])
        scalers = [fit_scaling(statistics, name).scaler for statistics in (actual, expected)]
        for field in fields:
            np.testing.assert_allclose(*(getattr(scaler, field) for scaler in scalers), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("statistics_of", [column_statistics, mergeable_statistics])
def test_small_weights_count_in_proportion(samples, statistics_of):
    weight = np.random.default_rng(1).exponential(size=40)
    small, large = statistics_of(samples, weight * 2.0**-20), statistics_of(samples, weight)
    assert suitable_scalings(small) == suitable_scalings(large)
    assert small.mostly_zero == large.mostly_zero
    for name in ("mean", "variance"):
        np.testing.assert_allclose(getattr(small, name), getattr(large, name), rtol=1e-9)
        np.testing.assert_allclose(
            getattr(merge_statistics([small, small]), name), getattr(large, name), rtol=1e-9, atol=1e-12
        )


@pytest.mark.array_api
def test_weighted_statistics_on_a_device(elsewhere, samples):
    weight = np.random.default_rng(1).integers(0, 4, 40).astype(float)
    actual, expected = column_statistics(elsewhere(samples), weight), column_statistics(samples, weight)
    assert actual.n_samples == expected.n_samples
    for name in ("nonzero", "observed", "negative", "mean", "variance"):
        np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
