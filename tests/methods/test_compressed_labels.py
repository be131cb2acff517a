"""Multi-label prediction via compressed sensing, and its decoders."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, orthogonal_mp

from scaled_data import measure, scaled_data
from sdgs.methods import CompressedLabels
from sdgs.methods._compressed_labels import sensing_matrix
from sdgs.methods._sparse_recovery import DECODERS, correlations, cosamp, orthogonal_matching_pursuit


@pytest.mark.parametrize(("m", "k"), [(4, 4), (8, 5), (64, 45)])
def test_a_whole_hadamard_matrix_keeps_all_norms(m, k):
    A = sensing_matrix(m, k, "hadamard", 0)
    np.testing.assert_allclose(A.T @ A, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("kind", ["hadamard", "gaussian"])
def test_sensing_matrices_keep_norms_on_average(kind):
    A = sensing_matrix(200, 300, kind, 0)
    assert A.shape == (200, 300)
    assert (A**2).sum(axis=0).mean() == pytest.approx(1, abs=0.01)
    np.testing.assert_array_equal(A, sensing_matrix(200, 300, kind, 0))
    assert (sensing_matrix(200, 300, kind, 1) != A).any()
    if kind == "hadamard":
        np.testing.assert_allclose(np.abs(A), 200**-0.5)


@pytest.mark.parametrize("decoder", ["omp", "cosamp"])
@pytest.mark.parametrize("kind", ["hadamard", "gaussian"])
def test_sparse_vectors_are_recovered_from_few_measurements(decoder, kind):
    rng = np.random.default_rng(0)
    Y = np.zeros((300, 60))
    for row in Y:
        row[rng.choice(60, 3, replace=False)] = 1
    A = sensing_matrix(32, 60, kind, 0)
    decoded = DECODERS[decoder](Y @ A.T, A, 3)
    assert (np.abs(decoded - Y).max(axis=1) < 1e-8).mean() > 0.95
    assert (np.count_nonzero(decoded, axis=1) <= 3).all()


@pytest.mark.parametrize("sparsity", [1, 3, 8])
def test_matching_pursuit_is_that_of_scikit_learn(sparsity):
    rng = np.random.default_rng(1)
    A, Z = sensing_matrix(12, 20, "gaussian", 0), rng.standard_normal((50, 12))
    expected = orthogonal_mp(A, Z.T, n_nonzero_coefs=sparsity).T
    np.testing.assert_allclose(orthogonal_matching_pursuit(Z, A, sparsity), expected, atol=1e-8)


def cosamp_by_definition(z, A, s):
    """One vector at a time, after Needell and Tropp."""
    y = np.zeros(A.shape[1])
    while True:
        proxy = A.T @ (z - A @ y)
        merged = sorted(set(np.flatnonzero(y)) | set(np.argsort(-np.abs(proxy))[: 2 * s]))
        fitted = np.zeros_like(y)
        fitted[merged] = np.linalg.lstsq(A[:, merged], z, rcond=None)[0]
        fitted[np.argsort(-np.abs(fitted))[s:]] = 0
        if np.linalg.norm(z - A @ fitted) >= np.linalg.norm(z - A @ y) * (1 - 1e-12):
            return y
        y = fitted


@pytest.mark.parametrize("sparsity", [1, 2, 4])
def test_cosamp_agrees_with_the_definition(sparsity):
    rng = np.random.default_rng(2)
    A, Z = sensing_matrix(16, 30, "gaussian", 0), rng.standard_normal((40, 16))
    expected = [cosamp_by_definition(z, A, sparsity) for z in Z]
    np.testing.assert_allclose(cosamp(Z, A, sparsity), expected, atol=1e-8)


@pytest.mark.parametrize("decoder", DECODERS)
def test_decoders_with_equal_columns_and_zeros(decoder):
    A = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    decoded = DECODERS[decoder](np.array([[2.0, 0.0], [0.0, 0.0], [0.0, -3.0]]), A, 2)
    assert np.isfinite(decoded).all()
    assert not decoded[1].any()
    np.testing.assert_allclose(decoded[2], [0, 0, -3, 0], atol=1e-12)
    if decoder != "correlation":
        np.testing.assert_allclose(A @ decoded[0], [2, 0], atol=1e-12)
    assert DECODERS[decoder](np.empty((0, 2)), A, 2).shape == (0, 4)


def test_correlations_keep_the_largest_entries():
    decoded = correlations(np.array([[1.0, -3.0, 2.0]]), np.eye(3), 2)
    np.testing.assert_array_equal(decoded, [[0, -3, 2]])


@pytest.mark.parametrize("decoder", DECODERS)
def test_with_as_many_orthogonal_measurements_as_labels_it_is_ridge_regression(digits, decoder):
    train, test = digits
    Y = train.Y[:, :8]
    model = CompressedLabels(8, sparsity=8, decoder=decoder, alpha=3, random_state=0).fit(train.X, Y)
    np.testing.assert_allclose(model.decision_function(test.X), Ridge(3).fit(train.X, Y).predict(test.X), atol=1e-8)


def test_a_label_is_decoded_at_any_number_of_samples(digits):
    """Blocks of rows do not change the result."""
    train, test = digits
    model = CompressedLabels(6, random_state=0).fit(train.X / 16, train.Y)
    scores = model.decision_function(test.X / 16)
    np.testing.assert_allclose([model.decision_function(row[None])[0] for row in test.X / 16], scores, atol=1e-9)
    H = test.X / 16 @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(
        orthogonal_matching_pursuit(np.tile(H, (40, 1)), model.sensing_matrix_, 9)[-len(H) :],
        orthogonal_matching_pursuit(H, model.sensing_matrix_, 9),
        atol=1e-9,
    )


def test_constant_labels_take_no_part_in_the_decoding(small):
    X, Y, X_test = small
    Y = np.column_stack([Y, np.ones(len(Y), dtype=int)])
    model = CompressedLabels(3, sparsity=2, random_state=0).fit(X, Y)
    scores = model.decision_function(X_test)
    assert not scores[:, 3].any()
    assert (scores[:, 4] == 1).all()
    assert not model.sensing_matrix_[:, 3:].any()


def test_automatic_sizes(digits):
    train, _ = digits  # ten labels, one or two per sample
    model = CompressedLabels(random_state=0).fit(train.X, train.Y)
    assert model.sparsity_ in (3, 4)
    assert model.coef_.shape == (10, 64)
    assert CompressedLabels(0.5, random_state=0).fit(train.X, train.Y).coef_.shape == (5, 64)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "f1"), [(15, 0.590), (30, 0.571), (60, 0.564)])
def test_reference_values(data_home, m, f1):
    """The matrix is another, and the spread over matrices is up to seven points."""
    X, Y, X_test, Y_test = scaled_data(data_home, "medical")
    values = [
        measure(Y_test, CompressedLabels(m, sparsity=3, random_state=seed).fit(X, Y).predict(X_test))[1]
        for seed in range(5)
    ]
    assert np.mean(values) == pytest.approx(f1, abs=0.05)


def test_the_mean_number_of_labels_counts_weights():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 3)), np.repeat([[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], 10, axis=0)
    weight = np.repeat([1, 3], 10)
    model = CompressedLabels(random_state=0).fit(X, Y, weight)
    assert (
        model.sparsity_
        == CompressedLabels(random_state=0).fit(np.repeat(X, weight, 0), np.repeat(Y, weight, 0)).sparsity_
    )
    assert model.sparsity_ > CompressedLabels(random_state=0).fit(X, Y).sparsity_
