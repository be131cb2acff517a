"""Ridge regressions, against scikit-learn's."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel

from regressions import THREE_ROW_BLOCKS, penalty_weights_by_hand, ridge_path
from sdgs.readout._ridge import DualRidge, PrimalRidge, RidgeDesign, prepare_ridge


@pytest.mark.parametrize("shape", [(50, 8), (8, 50), (20, 20)])
def test_ridge_agrees_with_scikit_learn(shape):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal(shape) + 1, (rng.random((shape[0], 3)) < 0.4).astype(float)
    new = rng.standard_normal((5, shape[1]))
    penalties = [1e-3, 1.0, 100.0]
    for penalty, model in zip(penalties, ridge_path([[Z]], Y, penalties, [shape[1]]), strict=True):
        expected_model = Ridge(alpha=penalty).fit(Z, Y)
        np.testing.assert_allclose(model.scores([new]), expected_model.predict(new), rtol=1e-6, atol=1e-8)


def test_ridge_of_features_that_depend_on_each_other():
    Z = np.ones((10, 4))
    Z[:, 0] = np.arange(10)
    Z[:, 1] = Z[:, 0]
    Y = (np.arange(10) > 4).astype(float)[:, None]
    (model,) = ridge_path([[Z]], Y, [0.1], [4])
    assert np.isfinite(model.coef).all()
    assert ((model.scores([Z]) > 0.5) == Y).all()


@pytest.mark.parametrize("n", [60, 8])
def test_ridge_of_leading_columns(n):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    models = ridge_path([[Z]], Y, [0.1, 10.0], [9, 12])
    for model, (width, penalty) in zip(models, [(9, 0.1), (12, 0.1), (9, 10.0), (12, 10.0)], strict=True):
        expected_model = Ridge(alpha=penalty).fit(Z[:, :width], Y)
        np.testing.assert_allclose(model.scores([Z]), expected_model.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


def test_the_penalty_is_lost_in_rounding():
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.standard_normal((40, 3)) @ rng.standard_normal((3, 10))
    Y = (Z[:, :1] > 0).astype(float)
    for model, width in zip(ridge_path([[Z]], Y, [1e-2], [5, 10]), (5, 10), strict=True):
        least = np.linalg.lstsq(Z[:, :width] - Z[:, :width].mean(axis=0), Y - Y.mean(), rcond=1e-9)[0]
        expected = (Z[:, :width] - Z[:, :width].mean(axis=0)) @ least + Y.mean()
        np.testing.assert_allclose(model.scores([Z]), expected, atol=1e-4)


@pytest.mark.parametrize("n", [90, 8])
@pytest.mark.parametrize(
    "forms", ["dense", "sparse", "sparse first", "dense first", "sparse on the right", "sparse in between"]
)
@pytest.mark.parametrize("labels", [np.asarray, csr_array])
def test_ridge_by_blocks_of_rows_in_any_form(n, forms, labels):
    rng = np.random.default_rng(0)
    Z = np.where(rng.random((n, 12)) < 0.5, rng.standard_normal((n, 12)) + 1, 0)
    Y = (rng.random((n, 3)) < 0.4).astype(float)
    sparse = {
        "dense": set(),
        "sparse": set(range(9)),
        "sparse first": {0, 1, 2},
        "dense first": {3, 4, 5, 6, 7, 8},
        "sparse on the right": {1, 2, 4, 5, 7, 8},
        "sparse in between": {1, 3, 4, 7},
    }[forms]
    parts = [Z[rows, columns] for rows in THREE_ROW_BLOCKS for columns in (slice(0, 5), slice(5, 9), slice(9, 12))]
    parts = [csr_array(part) if i in sparse else part for i, part in enumerate(parts)]
    blocks = [parts[:3], parts[3:6], parts[6:]]
    for model, width in zip(ridge_path(iter(blocks), labels(Y), [0.1], [9, 12]), (9, 12), strict=True):
        expected_model = Ridge(alpha=0.1).fit(Z[:, :width], Y)
        for form in ([Z], [csr_array(Z)], [Z[:, :4], csr_array(Z[:, 4:])], [csr_array(Z[:, :10]), Z[:, 10:]]):
            np.testing.assert_allclose(model.scores(form), expected_model.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [60, 8])
def test_weighted_columns_have_penalties_of_their_own(n):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    Z[:, 5] = Y[:, 0]
    models = ridge_path([[Z[:3]], [Z[3:]]], Y, [0.1, 10.0], [9, 12], slice(4, 9))
    weights = np.ones(12)
    weights[4:9] = penalty_weights_by_hand(Z[:, 4:9], Y)
    assert weights.argmax() == 5
    assert weights[5] > 1.2
    for model, (width, penalty) in zip(models, [(9, 0.1), (12, 0.1), (9, 10.0), (12, 10.0)], strict=True):
        weighted = Z[:, :width] * np.sqrt(weights[:width])
        expected_model = Ridge(alpha=penalty).fit(weighted, Y)
        np.testing.assert_allclose(model.scores([Z]), expected_model.predict(weighted), rtol=1e-6, atol=1e-8)


def test_weighted_columns_if_the_penalty_is_lost_in_rounding():
    """Equal columns share their coefficient by their weights."""
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.standard_normal((40, 3))
    Z = np.hstack([Z, Z, 1e9 * rng.standard_normal((40, 1))])
    Y = (Z[:, :2] > 0).astype(float)
    weights = penalty_weights_by_hand(Z[:, 3:], Y)
    (model,) = ridge_path([[Z]], Y, [1e-2], [7], slice(3, 7))
    np.testing.assert_allclose(model.coef[:, 3:6], model.coef[:, :3] * weights[:3], rtol=1e-3)
    assert np.ptp(weights[:3]) > 0.1


@pytest.mark.parametrize("n", [60, 8])
def test_a_kernel_with_landmarks_gives_kernel_ridge_regression(n):
    """As on the Nystroem map, for more rows and for more columns, with weighted columns beside it."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, 5)), (rng.random((n, 3)) < 0.4).astype(float)
    landmarks = rng.standard_normal((6, 5))
    K, gram = laplacian_kernel(X, landmarks), laplacian_kernel(landmarks)
    weights = penalty_weights_by_hand(X, Y)
    features = np.hstack([K @ np.linalg.inv(np.linalg.cholesky(gram)).T, X * np.sqrt(weights)])
    Z = [np.hstack([K, X])[rows] for rows in THREE_ROW_BLOCKS]
    models = ridge_path([[block] for block in Z], Y, [0.1, 10.0], [6, 11], slice(6, 11), gram)
    for model, (width, penalty) in zip(models, [(6, 0.1), (11, 0.1), (6, 10.0), (11, 10.0)], strict=True):
        expected_model = Ridge(alpha=penalty).fit(features[:, :width], Y)
        scores = model.scores([np.hstack([K, X])])
        np.testing.assert_allclose(scores, expected_model.predict(features[:, :width]), rtol=1e-6, atol=1e-8)


def test_a_kernel_if_the_penalty_is_lost_in_rounding():
    rng = np.random.default_rng(0)
    landmarks = rng.standard_normal((4, 2))
    gram = laplacian_kernel(landmarks)
    Z = 1e9 * rng.standard_normal((40, 3))
    Z = np.hstack([np.repeat(Z[:, :2], 2, axis=1), Z[:, :1]])
    Y = (Z[:, ::2] > 0).astype(float)
    (model,) = ridge_path([[Z]], Y, [1e-2], [5], landmark_gram=gram)
    whitened = np.hstack([Z[:, :4] @ np.linalg.inv(np.linalg.cholesky(gram)).T, Z[:, 4:]])
    centred = whitened - whitened.mean(axis=0)
    least = centred @ np.linalg.lstsq(centred, Y - Y.mean(axis=0), rcond=1e-9)[0] + Y.mean(axis=0)
    np.testing.assert_allclose(model.scores([Z]), least, atol=1e-4)
    assert np.abs(model.coef).max() < 1e-8


def test_scores_of_no_columns_are_the_intercept():
    Z, Y = np.zeros((5, 3)), np.eye(5)[:, :2]
    for model, parts in zip(ridge_path([[Z]], Y, [1.0], [0, 3]), ([Z[:, :0], Z], [csr_array(Z)]), strict=True):
        np.testing.assert_allclose(model.scores(parts), np.full((5, 2), 0.2))


def test_ridge_by_blocks_keeps_the_digits_of_columns_far_from_zero():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((200, 4)) + 1e6, (rng.random((200, 2)) < 0.4).astype(float)
    (model,) = ridge_path([[Z[:70]], [Z[70:]]], Y, [1.0], [4])
    np.testing.assert_allclose(model.coef, Ridge(alpha=1.0).fit(Z - Z.mean(axis=0), Y).coef_, rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("n", [60, 8])
def test_sample_weights_are_those_of_scikit_learn(n, form):
    """For more rows and for more columns."""
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((n, 12)) + 1, (rng.random((n, 3)) < 0.4).astype(float)
    sample_weight = rng.uniform(0.2, 3, n)
    sample_weight /= sample_weight.mean()
    blocks = [[Z[rows, :5], form(Z[rows, 5:])] for rows in THREE_ROW_BLOCKS]
    regression = prepare_ridge(blocks, form(Y), RidgeDesign([9, 12], sample_weight=sample_weight))
    for model, width in zip(regression.ridges(0.5, [9, 12]), (9, 12), strict=True):
        expected_model = Ridge(alpha=0.5).fit(Z[:, :width], Y, sample_weight=sample_weight)
        np.testing.assert_allclose(model.scores([Z]), expected_model.predict(Z[:, :width]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [120, 40])
def test_a_row_of_weight_two_is_two_rows(n):
    """With weighted columns too, up to the scale of the weights: their mean is 1."""
    rng = np.random.default_rng(0)
    X, Y = (rng.random((n, 60)) < 0.2).astype(float), (rng.random((n, 3)) < 0.4).astype(float)
    repeats = rng.integers(1, 4, n)
    weighted = prepare_ridge([[X]], Y, RidgeDesign([60], None, repeats / repeats.mean()))
    repeated = prepare_ridge([[np.repeat(X, repeats, axis=0)]], np.repeat(Y, repeats, axis=0), RidgeDesign([60]))
    expected = repeated.ridge(2.0 * repeats.mean(), 60)
    np.testing.assert_allclose(weighted.ridge(2.0, 60).coef, expected.coef, atol=1e-10)
    weighted = prepare_ridge([[X]], Y, RidgeDesign([60], slice(0, 60), repeats / repeats.mean()))
    assert not np.allclose(weighted.ridge(2.0, 60).coef, expected.coef, atol=1e-3)


@pytest.mark.parametrize(("n", "form"), [(60, PrimalRidge), (8, DualRidge)])
@pytest.mark.parametrize("weighted_columns", [None, slice(6, 14)])
@pytest.mark.parametrize("weighted_samples", [False, True])
@pytest.mark.parametrize("with_kernel", [False, True])
def test_a_path_gives_the_scores_of_the_ridges(n, form, weighted_columns, weighted_samples, with_kernel):
    rng = np.random.default_rng(0)
    X, new, landmarks = (rng.standard_normal((rows, 8)) + 1 for rows in (n, 12, 6))
    Y = (rng.random((n, 3)) < 0.4).astype(float)
    sample_weight = rng.uniform(0.2, 3, n) if weighted_samples else None
    widths = [6, 10, 14]
    design = RidgeDesign(widths, weighted_columns, sample_weight)
    gram = laplacian_kernel(landmarks) if with_kernel else None
    regression = prepare_ridge([[laplacian_kernel(X, landmarks), X]], Y, design, gram)
    assert type(regression) is form
    kernel = laplacian_kernel(new, landmarks)
    blocks = [[kernel[:5], csr_array(new[:5])], [kernel[5:], csr_array(new[5:])]]
    path = regression.path(blocks, widths)
    for penalty in (1e-2, 1.0, 100.0, 1.0):  # a path keeps no state
        for scores, ridge in zip(path(penalty), regression.ridges(penalty, widths), strict=True):
            expected = np.vstack([ridge.scores(block) for block in blocks])
            np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_the_form_depends_on_the_shape():
    rng = np.random.default_rng(0)
    for n, form in ((60, PrimalRidge), (8, DualRidge)):
        Z, Y = rng.standard_normal((n, 12)), rng.random((n, 2))
        assert type(prepare_ridge([[Z]], Y, RidgeDesign([12]))) is form
