"""Kernels with landmarks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, manhattan_distances

from sdgs import SDGSClassifier, metrics
from sdgs.readout._features import DecompositionOptions, PipelineParameters, fit_features
from sdgs.readout._landmark_kernel import LandmarkKernel, fit_landmark_kernel, landmarks
from sdgs.readout._manhattan import manhattan


@pytest.fixture
def samples():
    return np.random.default_rng(0).standard_normal((60, 5)) * [1, 10, 0.1, 3, 1]


def mean_distance(X):
    return np.abs(X[:, None] - X[None]).sum(axis=2).sum() / (len(X) * (len(X) - 1))


def test_kernels_of_dense_samples_are_of_their_own_units(samples):
    norms = np.linspace(1, 2, 60)
    chart = fit_landmark_kernel(samples / norms[:, None], norms, 1.5, 60, 0)
    standard = samples / samples.std(axis=0)
    expected = laplacian_kernel(standard, gamma=1.5 / mean_distance(standard))
    np.testing.assert_allclose(chart.image(samples / norms[:, None], norms), expected)
    np.testing.assert_allclose(chart.kernels, expected, atol=2e-6)


def test_sparse_samples_are_seen_as_they_are_scaled(samples):
    X = csr_array(np.where(samples > 0, samples, 0))
    chart = fit_landmark_kernel(X, np.full(60, 7.0), 1.0, 60, 0)
    assert chart.weights is None
    image = chart.image(X, np.full(60, 7.0))
    np.testing.assert_allclose(image, laplacian_kernel(X.toarray(), gamma=1 / mean_distance(X.toarray())))
    np.testing.assert_allclose(chart.kernels, image, atol=2e-6)
    np.testing.assert_allclose(chart.image(X.toarray(), None), image, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_compiled_distances(samples, n):
    found = np.full((n, 50), np.nan)
    manhattan(samples[:n], samples[10:], found)
    np.testing.assert_allclose(found, manhattan_distances(samples[:n], samples[10:]))


def test_it_reads_labels_as_with_nystroems_map(samples):
    """That of scikit-learn, with the same landmarks, in front of its ridge regression."""
    Y = (samples[:, :2] > 0).astype(float)
    options = {"gamma": 1.0, "n_landmarks": 20, "scaling": None, "penalty": 0.3, "random_state": 0}
    model = SDGSClassifier(2, **options).fit(samples, Y)
    chart = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    assert model.read_from_[0] == "kernel"
    width = len(model.read_from_) - 1
    theirs = Nystroem("laplacian", gamma=chart.gamma, n_components=20)
    theirs.components_ = chart.landmarks
    U, S, V = np.linalg.svd(laplacian_kernel(chart.landmarks, gamma=chart.gamma))
    theirs.normalization_ = U / np.sqrt(S) @ V
    member = model._members[0]
    (_, *others) = next(member.view.blocks(samples, None))
    Z = np.hstack([theirs.transform(samples * chart.weights), *others[:width]])
    np.testing.assert_allclose(member.scores(samples, None), Ridge(alpha=0.3).fit(Z, Y).predict(Z), atol=1e-6)


def test_dense_learnt_sparse_asked(samples):
    chart = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    np.testing.assert_allclose(chart.image(csr_array(samples), None), chart.image(samples, None))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_blocks_of_rows_and_threads_change_nothing(samples, form, kernel, monkeypatch):
    X = form(samples)
    chart = replace(fit_landmark_kernel(X, None, 1.0, 20, 0), kernel=kernel)
    whole = chart.image(X, None)
    monkeypatch.setattr("sdgs.readout._landmark_kernel._ROWS", 7)
    for n_jobs in (1, 2):
        np.testing.assert_allclose(chart.image(X, None, n_jobs), whole, rtol=1e-12, atol=1e-12)


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
def test_images_are_finite_and_do_not_depend_on_units(exponent, dtype, copies, constant, n, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    X[:, 0] = 3.0 if constant else X[:, 0]
    X = X[np.zeros(n, dtype=int)] if copies else X
    exponent = exponent if dtype == np.float64 else exponent // 10
    plain, scaled = X.astype(dtype), (X * 10.0**exponent).astype(dtype)
    images = [fit_landmark_kernel(one, None, 1.0, n, 0).image(one, None) for one in (plain, scaled)]
    for image in images:
        assert np.isfinite(image).all()
    if abs(exponent) < 30:
        np.testing.assert_allclose(*images, atol=1e-4)


def test_a_feature_that_was_constant_says_nothing(samples):
    X = samples.copy()
    X[:, 2] = 0.1
    chart = fit_landmark_kernel(X, None, 1.0, 60, 0)
    assert chart.weights[2] == 0
    np.testing.assert_array_equal(chart.image(X + np.array([0, 0, 5, 0, 0]), None), chart.image(X, None))


def test_what_fills_a_gap_does_not_say_how_a_feature_varies(samples):
    X, observed = samples.copy(), np.ones(samples.shape, dtype=bool)
    X[:, 2], observed[::3, 2] = 0.0, False
    X[::3, 2] = 1e-6 * np.random.default_rng(0).standard_normal(20)  # as a code is known to its gap
    observed[::2, 0] = False
    chart = fit_landmark_kernel(X, None, 1.0, 60, 0, observed)
    assert chart.weights[2] == 0
    np.testing.assert_allclose(chart.weights[[0, 1]], [1 / X[1::2, 0].std(), 1 / X[:, 1].std()])
    nothing = fit_landmark_kernel(X, None, 1.0, 60, 0, np.zeros(X.shape, dtype=bool))
    assert not nothing.weights.any()
    assert np.isfinite(nothing.image(X, None)).all()


@pytest.mark.parametrize("n_landmarks", [10, 30])
def test_some_of_many_samples_say_how_features_vary(samples, n_landmarks, monkeypatch):
    """Only those are cleaned, landmarks among them; of sparse ones only the landmarks."""
    monkeypatch.setattr("sdgs.readout._landmark_kernel._ENOUGH", 25)
    norms, observed = np.linspace(1, 2, 60), np.random.default_rng(0).random(samples.shape) < 0.9
    cleaned = []

    def clean(X):
        cleaned.append(X * 1.0)
        return -2 * X

    chart = fit_landmark_kernel(samples / norms[:, None], norms, 1.0, n_landmarks, 0, observed, clean)
    rows = np.sort(np.random.default_rng(0).permutation(60)[: max(25, n_landmarks)])
    np.testing.assert_array_equal(cleaned[0], (samples / norms[:, None])[rows])
    seen = np.where(observed, samples, np.nan)[rows]
    np.testing.assert_allclose(chart.weights, 1 / (2 * np.nanstd(seen, axis=0)))
    chosen = np.sort(np.random.default_rng(0).permutation(60)[:n_landmarks])
    np.testing.assert_allclose(chart.landmarks, -2 * samples[chosen] * chart.weights)
    chart = fit_landmark_kernel(csr_array(samples), norms, 1.0, n_landmarks, 0, None, clean)
    np.testing.assert_array_equal(cleaned[1].toarray(), samples[chosen])
    np.testing.assert_allclose(chart.landmarks.toarray(), -2 * samples[chosen])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", ["largest", "smallest"])
def test_samples_of_extreme_scales_are_told_apart(scale, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    unit = 0.9 * float(np.finfo(dtype).max) if scale == "largest" else 1e8 * float(np.finfo(dtype).tiny)
    samples = ((X - X.min()) / np.ptp(X) * unit).astype(dtype)  # norms of rows may overflow
    model = SDGSClassifier(2, gamma=1.0, scaling="rows", random_state=0).fit(samples, Y)
    P = model.predict_proba(samples)
    assert np.isfinite(P).all()
    assert metrics.accuracy(Y, model.predict(samples)) > 0.8


def test_one_sample_far_out_does_no_harm_to_others(samples):
    Y = (samples[:, :2] > 0).astype(int)
    for dtype in (np.float64, np.float32):
        model = SDGSClassifier(2, gamma=1.0, scaling="rows", random_state=0).fit((1e-3 * samples).astype(dtype), Y)
        far = (1e-3 * samples[:4]).astype(dtype)
        expected = model.predict_proba(far)
        far[0] = 0.9 * np.finfo(dtype).max
        found = model.predict_proba(far)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-5)


def test_norms_that_are_no_numbers_are_far_out(samples):
    chart = fit_landmark_kernel(samples, None, 1.0, 20, 0)
    image = chart.image(samples[:2], np.array([np.nan, 1.0]))
    assert np.isfinite(image).all()
    np.testing.assert_array_equal(image[1], chart.image(samples[:2], None)[1])


def test_how_many_landmarks():
    assert [landmarks("auto", n, sparse=False) for n in (30, 1400, 4000, 10**4)] == [30, 1400, 2000, 3000]
    assert [landmarks("auto", n, sparse=False) for n in (24_500, 10**6)] == [3500, 4500]
    assert [landmarks("auto", n, sparse=True) for n in (30, 800, 3000, 10**6)] == [30, 500, 750, 2000]
    assert [landmarks(np.int64(50), n, sparse=False) for n in (30, 100)] == [30, 50]


def test_codes_are_not_made_where_they_are_not_read(monkeypatch):
    """Rings: a kernel is all it takes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    model = SDGSClassifier(2, gamma=1.0, random_state=0).fit(X[:300], Y[:300])
    assert metrics.accuracy(Y[300:], model.predict(X[300:])) > 0.6
    assert "code" not in model.read_from_
    monkeypatch.setattr("sdgs.readout._features.group_lasso", None)
    assert model.predict(X[300:]).shape == (100, 2)
    X[300, 0] = np.nan  # then the code fills it in
    with pytest.raises(TypeError):
        model.predict(X[300:])


@pytest.mark.parametrize("apart", [0, 1e-13, 1e-9])
def test_landmarks_that_are_all_but_the_same(apart, monkeypatch):
    """A regression on them needs no more than a factor."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((10, 3)), 300, axis=0)
    X += apart * rng.standard_normal(X.shape)
    Y = (X[:, :2] > 0).astype(int)
    monkeypatch.setattr("sdgs.readout._ridge.eigh", None)
    model = SDGSClassifier(1, gamma=1.0, scaling=None, penalty=1e-5, n_landmarks=400, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)


def test_kernels_alone_are_made_where_nothing_else_is_read(samples):
    training = DecompositionOptions(1e-4, "brp", 100, 1e-2, 20, 0, None)
    view = fit_features(samples, csr_array(samples[:, :2] > 0), PipelineParameters(None, 1, 0.1, gamma=1.0), training)
    for width, parts in ((20, 1), (25, 2), (27, 4), (None, 4)):
        assert [len(next(view.blocks(samples, None, width=width)))] == [parts]
    assert view.kernels.shape == (20, 20)
    assert view.finished().kernels is None


def test_old_kernels_are_of_squares_and_mapped(samples):
    turn = np.random.default_rng(1).standard_normal((7, 7))
    chart = LandmarkKernel("rbf", 0.3, None, samples[:7], turn=turn)
    kernels = np.exp(-0.3 * np.square(samples[:, None] - samples[None, :7]).sum(axis=2))
    np.testing.assert_allclose(chart.image(samples, None), kernels @ turn, atol=1e-8)
