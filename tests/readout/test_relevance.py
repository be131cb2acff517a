"""Relevant columns, their penalty weights, and weights of samples."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from regressions import penalty_weights_by_hand
from sdgs.readout._relevance import explained_by_column, f1_sample_weight, most_relevant_columns, penalty_weights


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("product_entries", [1 << 23, 300])
def test_columns_are_ranked_by_what_a_regression_on_each_explains(form, product_entries):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 50)) < 0.3, rng.standard_normal((200, 50)) + 1, 0)
    Y = rng.random((200, 7)) < 0.3
    explained = np.zeros(50)
    for j, column in enumerate((X - X.mean(axis=0)).T):
        ridge = Ridge(alpha=1.0, fit_intercept=False).fit(column[:, None], Y - Y.mean(axis=0))
        explained[j] = np.square(ridge.coef_).sum() * (column @ column + 1)
    blocks = [form(X[:, :30]), X[:, 30:]]
    selected = most_relevant_columns(blocks, csr_array(Y), 20, product_entries=product_entries)
    np.testing.assert_array_equal(selected, np.sort(np.argsort(-explained)[:20]))
    assert most_relevant_columns(blocks, csr_array(Y), 50) is None


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_relevance_of_weighted_samples_is_that_of_repeated_ones(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < 0.3, rng.standard_normal((80, 30)) + 1, 0)
    Y, weight = (rng.random((80, 4)) < 0.3).astype(float), rng.integers(0, 4, 80)
    Y[Y == 0] = 0.2  # the frequency of a label that was not observed
    rows = np.repeat(np.arange(80), weight)
    explained = explained_by_column(form(X), csr_array(Y), weight.astype(float))
    np.testing.assert_allclose(explained, explained_by_column(form(X[rows]), csr_array(Y[rows])), rtol=1e-9)
    selected = most_relevant_columns([form(X)], csr_array(Y), 9, weight.astype(float))
    np.testing.assert_array_equal(selected, most_relevant_columns([form(X[rows])], csr_array(Y[rows]), 9))
    assert not np.array_equal(selected, most_relevant_columns([form(X)], csr_array(Y), 9))


@pytest.mark.array_api
def test_weighted_relevance_on_a_device(elsewhere):
    rng = np.random.default_rng(0)
    X, Y, weight = rng.standard_normal((80, 30)), csr_array(rng.random((80, 4)) < 0.3), rng.exponential(size=80)
    actual = explained_by_column(elsewhere(X), Y, weight)
    np.testing.assert_allclose(actual, explained_by_column(X, Y, weight), rtol=1e-9)


def test_penalty_weights_agree_with_the_formula():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((50, 8)) + 1, (rng.random((50, 3)) < 0.4).astype(float)
    Z[:, 2] += 3 * Y[:, 1]
    centred = Z - Z.mean(axis=0)
    weights = penalty_weights(np.square(centred).sum(axis=0), centred.T @ Y, Y.mean(axis=0), 50)
    np.testing.assert_allclose(weights, penalty_weights_by_hand(Z, Y))
    assert weights.argmax() == 2


@pytest.mark.parametrize("cross", [0, 1e-200, 1e300, np.inf])
@pytest.mark.parametrize("energy", [0, 1e-300, 1e308, np.inf])
def test_columns_are_weighted_alike_without_information(cross, energy):
    weights = penalty_weights(np.array([energy, energy, 1.0]), np.full((3, 2), cross), np.array([0.5, 0.0]), 10)
    assert np.isfinite(weights).all()
    assert (weights > 0).all()
    if cross in (0, np.inf):
        np.testing.assert_array_equal(weights, 1)


def test_samples_with_many_labels_weigh_less():
    Y = csr_array([[1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    weight = f1_sample_weight(Y, "f1")
    np.testing.assert_allclose(weight, np.array([3 / 8, 3 / 14, 3 / 8]) / np.mean([3 / 8, 3 / 14, 3 / 8]))
    np.testing.assert_array_equal(f1_sample_weight(Y, "accuracy"), weight)


def test_samples_weigh_the_same_for_the_hamming_loss_and_with_equal_numbers_of_labels():
    Y = csr_array([[1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    assert f1_sample_weight(Y, "hamming_loss") is None
    assert f1_sample_weight(csr_array(np.eye(3)), "f1") is None
    assert f1_sample_weight(csr_array((3, 2)), "f1") is None
