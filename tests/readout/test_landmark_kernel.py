"""The Laplacian kernel with landmarks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, manhattan_distances

from sdgs import SDGSClassifier, metrics
from sdgs.readout import _penalised_system
from sdgs.readout._landmark_kernel import fit_landmark_kernel, landmark_number
from sdgs.readout._manhattan import manhattan


@pytest.fixture
def samples():
    return np.random.default_rng(0).standard_normal((60, 5)) * [1, 10, 0.1, 3, 1]


def mean_distance(X):
    return np.abs(X[:, None] - X[None]).sum(axis=2).sum() / (len(X) * (len(X) - 1))


def test_dense_samples_are_compared_in_their_own_units(samples):
    norms = np.linspace(1, 2, 60)
    kernel = fit_landmark_kernel(samples / norms[:, None], norms, 1.5, 60, 0)
    standard = samples / samples.std(axis=0)
    expected = laplacian_kernel(standard, gamma=1.5 / mean_distance(standard))
    np.testing.assert_allclose(kernel.transform(samples / norms[:, None], norms), expected)
    np.testing.assert_allclose(kernel.landmark_gram, expected, atol=2e-6)


def test_sparse_samples_are_compared_as_they_are_scaled(samples):
    X = csr_array(np.where(samples > 0, samples, 0))
    kernel = fit_landmark_kernel(X, np.full(60, 7.0), 1.0, 60, 0)
    assert kernel.weights is None
    np.testing.assert_allclose(kernel.gram(), kernel.landmark_gram, rtol=1e-14)
    values = kernel.transform(X, np.full(60, 7.0))
    np.testing.assert_allclose(values, laplacian_kernel(X.toarray(), gamma=1 / mean_distance(X.toarray())))
    np.testing.assert_allclose(kernel.landmark_gram, values, atol=2e-6)
    np.testing.assert_allclose(kernel.transform(X.toarray(), None), values, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "missing", "sparse"])
def test_weights_are_repetitions_but_for_the_landmarks(samples, kind):
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 60)
    rows, norms = np.repeat(np.arange(60), weight), np.linspace(1, 2, 60)
    observed = rng.random(samples.shape) < 0.8 if kind == "missing" else None
    form = csr_array if kind == "sparse" else np.asarray
    X = form(np.where(samples > 0, samples, 0))
    kernel = fit_landmark_kernel(X, norms, 1.5, 60, 0, observed, sample_weight=weight.astype(float))
    repeated_observed = None if observed is None else observed[rows]
    repeated = fit_landmark_kernel(X[rows], norms[rows], 1.5, rows.size, 0, repeated_observed)
    assert kernel.gamma == pytest.approx(repeated.gamma, rel=1e-9)
    assert kernel.n_landmarks == 60
    unweighted = fit_landmark_kernel(X, norms, 1.5, 60, 0, observed)
    np.testing.assert_array_equal(kernel.rows, unweighted.rows)
    assert kernel.gamma != unweighted.gamma
    if kind != "sparse":
        np.testing.assert_allclose(kernel.weights, repeated.weights, rtol=1e-9)
    np.testing.assert_allclose(repeated.transform(X, norms)[:, [0]], kernel.transform(X, norms)[:, [0]], rtol=1e-9)


def test_small_weights_and_weights_of_0_are_those_of_some_samples(samples):
    weight = np.r_[np.zeros(20), np.full(40, 1e-6)]
    samples[:20] = 1e3
    kernel = fit_landmark_kernel(samples, None, 1.0, 60, 0, sample_weight=weight)
    expected = fit_landmark_kernel(samples[20:], None, 1.0, 40, 0)
    np.testing.assert_allclose(kernel.weights, expected.weights)
    assert kernel.gamma == pytest.approx(expected.gamma)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_compiled_distances(samples, n):
    found = np.full((n, 50), np.nan)
    manhattan(samples[:n], samples[10:], found)
    np.testing.assert_allclose(found, manhattan_distances(samples[:n], samples[10:]))


def test_predictions_are_those_on_the_nystroem_map(samples):
    """Of scikit-learn, with the same landmarks, before its ridge regression."""
    Y = (samples[:, :2] > 0).astype(float)
    options = {"gamma": 1.0, "n_landmarks": 20, "scaling": None, "penalty": 0.3, "random_state": 0}
    model = SDGSClassifier(2, **options).fit(samples, Y)
    kernel = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    assert model.read_from_[0] == "kernel"
    width = len(model.read_from_) - 1
    theirs = Nystroem("laplacian", gamma=kernel.gamma, n_components=20)
    theirs.components_ = kernel.landmarks
    U, S, V = np.linalg.svd(laplacian_kernel(kernel.landmarks, gamma=kernel.gamma))
    theirs.normalization_ = U / np.sqrt(S) @ V
    pipeline = model._pipelines[0]
    (_, *other_blocks) = next(pipeline.features.transform_blocks(samples, None))
    Z = np.hstack([theirs.transform(samples * kernel.weights), *other_blocks[:width]])
    np.testing.assert_allclose(pipeline.scores(samples, None), Ridge(alpha=0.3).fit(Z, Y).predict(Z), atol=1e-6)


def test_fitted_to_dense_samples_it_takes_sparse_ones(samples):
    kernel = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    np.testing.assert_allclose(kernel.transform(csr_array(samples), None), kernel.transform(samples, None))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_blocks_of_rows_and_threads_change_nothing(samples, form):
    X = form(samples)
    kernel = fit_landmark_kernel(X, None, 1.0, 20, 0)
    whole = kernel.transform(X, None)
    for n_jobs in (1, 2):
        np.testing.assert_allclose(kernel.transform(X, None, n_jobs, block_rows=7), whole, rtol=1e-12, atol=1e-12)


def test_landmarks_are_drawn_from_the_samples_by_the_seed(samples):
    first, again, other = (fit_landmark_kernel(samples, None, 1.0, 10, seed).landmarks for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    weighted = samples * fit_landmark_kernel(samples, None, 1.0, 10, 0).weights
    assert all((weighted == landmark).all(axis=1).any() for landmark in first)


@settings(deadline=None, max_examples=60)
@given(
    exponent=st.integers(-300, 300),
    dtype=st.sampled_from([np.float64, np.float32]),
    copies=st.booleans(),
    constant=st.booleans(),
    n=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_kernels_are_finite_and_do_not_depend_on_units(exponent, dtype, copies, constant, n, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    X[:, 0] = 3.0 if constant else X[:, 0]
    X = X[np.zeros(n, dtype=int)] if copies else X
    exponent = exponent if dtype == np.float64 else exponent // 10
    plain, scaled = X.astype(dtype), (X * 10.0**exponent).astype(dtype)
    kernels = [fit_landmark_kernel(one, None, 1.0, n, 0).transform(one, None) for one in (plain, scaled)]
    for values in kernels:
        assert np.isfinite(values).all()
    if abs(exponent) < 30:
        np.testing.assert_allclose(*kernels, atol=1e-4)


def test_a_constant_feature_is_ignored(samples):
    X = samples.copy()
    X[:, 2] = 0.1
    kernel = fit_landmark_kernel(X, None, 1.0, 60, 0)
    assert kernel.weights[2] == 0
    np.testing.assert_array_equal(kernel.transform(X + np.array([0, 0, 5, 0, 0]), None), kernel.transform(X, None))


def test_standard_deviations_are_of_observed_entries(samples):
    X, observed = samples.copy(), np.ones(samples.shape, dtype=bool)
    X[:, 2], observed[::3, 2] = 0.0, False
    X[::3, 2] = 1e-6 * np.random.default_rng(0).standard_normal(20)  # codes are known up to their duality gap
    observed[::2, 0] = False
    kernel = fit_landmark_kernel(X, None, 1.0, 60, 0, observed)
    assert kernel.weights[2] == 0
    np.testing.assert_allclose(kernel.weights[[0, 1]], [1 / X[1::2, 0].std(), 1 / X[:, 1].std()])
    unobserved = fit_landmark_kernel(X, None, 1.0, 60, 0, np.zeros(X.shape, dtype=bool))
    assert not unobserved.weights.any()
    assert np.isfinite(unobserved.transform(X, None)).all()


@pytest.mark.parametrize("n_landmarks", [10, 30])
def test_standard_deviations_are_of_some_samples(samples, n_landmarks):
    """Only those are cleaned, landmarks among them; of sparse samples only the landmarks."""
    norms, observed = np.linspace(1, 2, 60), np.random.default_rng(0).random(samples.shape) < 0.9
    cleaned = []

    def clean(X):
        cleaned.append(X * 1.0)
        return -2 * X

    scaled = samples / norms[:, None]
    kernel = fit_landmark_kernel(scaled, norms, 1.0, n_landmarks, 0, observed, clean, max_spread_samples=25)
    rows = np.sort(np.random.default_rng(0).permutation(60)[: max(25, n_landmarks)])
    np.testing.assert_array_equal(cleaned[0], (samples / norms[:, None])[rows])
    seen = np.where(observed, samples, np.nan)[rows]
    np.testing.assert_allclose(kernel.weights, 1 / (2 * np.nanstd(seen, axis=0)))
    drawn = np.sort(np.random.default_rng(0).permutation(60)[:n_landmarks])
    np.testing.assert_allclose(kernel.landmarks, -2 * samples[drawn] * kernel.weights)
    kernel = fit_landmark_kernel(csr_array(samples), norms, 1.0, n_landmarks, 0, None, clean)
    np.testing.assert_array_equal(cleaned[1].toarray(), samples[drawn])
    np.testing.assert_allclose(kernel.landmarks.toarray(), -2 * samples[drawn])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", ["largest", "smallest"])
def test_samples_of_extreme_scales_are_separated(scale, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    unit = 0.9 * float(np.finfo(dtype).max) if scale == "largest" else 1e8 * float(np.finfo(dtype).tiny)
    samples = ((X - X.min()) / np.ptp(X) * unit).astype(dtype)  # norms of rows may overflow
    model = SDGSClassifier(2, gamma=1.0, scaling="rows", random_state=0).fit(samples, Y)
    P = model.predict_proba(samples)
    assert np.isfinite(P).all()
    assert metrics.accuracy(Y, model.predict(samples)) > 0.8


def test_an_outlier_does_not_change_other_predictions(samples):
    Y = (samples[:, :2] > 0).astype(int)
    for dtype in (np.float64, np.float32):
        model = SDGSClassifier(2, gamma=1.0, scaling="rows", random_state=0).fit((1e-3 * samples).astype(dtype), Y)
        far = (1e-3 * samples[:4]).astype(dtype)
        expected = model.predict_proba(far)
        far[0] = 0.9 * np.finfo(dtype).max
        found = model.predict_proba(far)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-5)


def test_a_norm_that_is_nan_counts_as_very_large(samples):
    kernel = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    values = kernel.transform(samples[:2], np.array([np.nan, 1.0]))
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(values[1], kernel.transform(samples[:2], None)[1])


def test_the_number_of_landmarks():
    assert [landmark_number("many", n) for n in (30, 1400, 4000, 10**4)] == [30, 1400, 2000, 3000]
    assert [landmark_number("many", n) for n in (24_500, 10**6)] == [3500, 4500]
    assert [landmark_number("auto", n) for n in (30, 800, 3000, 10**6)] == [30, 500, 750, 2000]
    assert [landmark_number(np.int64(50), n) for n in (30, 100)] == [30, 50]


@pytest.mark.parametrize("distance", [0, 1e-13, 1e-9])
def test_landmarks_that_nearly_coincide(distance, monkeypatch):
    """The jitter keeps their Gram matrix positive definite: the regression does not fall back to eigenvalues."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((10, 3)), 300, axis=0)
    X += distance * rng.standard_normal(X.shape)
    Y = (X[:, :2] > 0).astype(int)
    monkeypatch.setattr(_penalised_system, "eigh", None)
    model = SDGSClassifier(1, gamma=1.0, scaling=None, penalty=1e-5, n_landmarks=400, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
