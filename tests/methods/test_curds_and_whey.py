"""Curds and whey."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression, Ridge

from scaled_data import measure, scaled_data
from sdgs.methods import CurdsAndWhey, CurdsAndWheyCV


@pytest.fixture
def problem():
    """Samples, labels and new samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7)) + 1
    Y = (X[:, :3] @ rng.standard_normal((3, 4)) + rng.standard_normal((80, 4)) > 0).astype(int)
    return X, Y, rng.standard_normal((9, 7))


def solution_by_definition(X, Y, X_new, shrinkage):
    """The formulas with covariance matrices, their inverse roots and an inverse of T."""
    n, p = X.shape
    r = p / n
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Syy = Yc.T @ Yc / n
    Sxx_root, Syy_root = np.linalg.inv(sqrtm(Xc.T @ Xc / n)), np.linalg.inv(sqrtm(Syy))
    _, c, Vt = np.linalg.svd(Sxx_root @ (Xc.T @ Yc / n) @ Syy_root, full_matrices=False)
    if shrinkage == "population":
        d = c**2 / (c**2 + r * (1 - c**2))
    else:
        d = np.maximum(0, (1 - r) * (c**2 - r) / ((1 - r) ** 2 * c**2 + r**2 * (1 - c**2)))
    T = Vt @ Syy_root
    correction = np.linalg.inv(T) @ np.diag(d) @ T
    fitted = LinearRegression().fit(X, Y).predict(X_new) - Y.mean(axis=0)
    return fitted @ correction.T + Y.mean(axis=0), c, d, correction


@pytest.mark.parametrize("shrinkage", ["gcv", "population"])
def test_agrees_with_the_definition(problem, shrinkage):
    X, Y, X_new = problem
    model = CurdsAndWhey(shrinkage).fit(X, Y)
    scores, c, d, correction = solution_by_definition(X, Y, X_new, shrinkage)
    np.testing.assert_allclose(model.decision_function(X_new), scores, atol=1e-10)
    np.testing.assert_allclose(model.canonical_correlations_, c, atol=1e-10)
    np.testing.assert_allclose(model.shrinkage_, d, atol=1e-10)
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(correction).real), np.sort(d), atol=1e-10)


def test_canonical_correlations_are_those_of_scikit_learn(problem):
    X, Y, _ = problem
    U, V = CCA(4, max_iter=10_000, tol=1e-12).fit_transform(X, Y)
    expected = [np.corrcoef(u, v)[0, 1] for u, v in zip(U.T, V.T, strict=True)]
    np.testing.assert_allclose(CurdsAndWhey().fit(X, Y).canonical_correlations_, expected, atol=1e-5)


@pytest.mark.parametrize("shrinkage", ["gcv", "population"])
def test_many_samples_need_no_shrinkage(shrinkage):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    Y = (X @ rng.standard_normal((3, 2)) + rng.standard_normal((20_000, 2)) > 0).astype(int)
    model = CurdsAndWhey(shrinkage).fit(X, Y)
    np.testing.assert_allclose(model.shrinkage_, 1, atol=2e-3)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_, atol=2e-3)


def test_one_label_is_shrunk_towards_its_share(problem):
    X, Y, X_new = problem
    y = Y[:, 0]
    model = CurdsAndWhey("population").fit(X, y)
    fit = LinearRegression().fit(X, y)
    R2, r = fit.score(X, y), X.shape[1] / len(X)
    d = R2 / (R2 + r * (1 - R2))
    np.testing.assert_allclose(model.shrinkage_, [d])
    scores = y.mean() + d * (fit.predict(X_new) - y.mean())
    np.testing.assert_allclose(model.decision_function(X_new), 2 * scores - 1)


def test_the_penalty_gives_ridge_regressions_and_their_factors_by_leave_one_out(problem):
    """For one label the factor is the least-squares coefficient of the labels on the left-out predictions."""
    X, Y, X_new = problem
    n, y, alpha = len(X), Y[:, 0], 5.0
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    H = Xc @ np.linalg.solve(Xc.T @ Xc + alpha * np.eye(X.shape[1]), Xc.T)
    r = np.trace(H) / n
    left_out = (H @ yc - r * yc) / (1 - r)
    d = left_out @ yc / (left_out @ left_out)
    model = CurdsAndWhey(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(model.shrinkage_, [d])
    scores = y.mean() + d * (Ridge(alpha).fit(X, y).predict(X_new) - y.mean())
    np.testing.assert_allclose(model.decision_function(X_new), 2 * scores - 1)


def test_a_small_penalty_changes_nothing(problem):
    X, Y, X_new = problem
    for shrinkage in ("gcv", "population"):
        expected = CurdsAndWhey(shrinkage).fit(X, Y).decision_function(X_new)
        actual = CurdsAndWhey(shrinkage, alpha=1e-9).fit(X, Y).decision_function(X_new)
        np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_more_features_than_samples_need_a_penalty(problem):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="needs more samples than features: 8 samples have 7 independent features"):
        CurdsAndWhey().fit(X[:8], Y[:8])
    assert (CurdsAndWhey("population", alpha=1.0).fit(X[:8], Y[:8]).shrinkage_ < 1).all()


def test_labels_that_depend_on_each_other_linearly(problem):
    X, Y, X_new = problem
    both = np.column_stack([Y, 1 - Y, Y[:, 0]])
    scores = CurdsAndWhey().fit(X, both).decision_function(X_new)
    np.testing.assert_allclose(scores[:, :4], CurdsAndWhey().fit(X, Y).decision_function(X_new), atol=1e-9)
    np.testing.assert_allclose(scores[:, 4:8], 1 - scores[:, :4], atol=1e-9)


@pytest.mark.parametrize("shrinkage", ["gcv", "population"])
def test_the_search_finds_the_penalty_and_fits_with_it(digits, shrinkage):
    train, test = digits
    X, X_test = train.X / 16, test.X / 16
    model = CurdsAndWheyCV(shrinkage, cv=3, random_state=0).fit(X, train.Y)
    assert model.best_score_ == model.cv_results_["score"].max()
    again = CurdsAndWhey(shrinkage, **model.best_params_).fit(X, train.Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert measure(test.Y, model.predict(X_test))[1] > 0.6


@pytest.mark.slow
def test_reference_values(data_home):
    X, Y, X_test, Y_test = scaled_data(data_home, "emotions")
    model = CurdsAndWhey().fit(X, Y)
    np.testing.assert_allclose(
        model.canonical_correlations_, [0.8487, 0.6745, 0.5525, 0.5200, 0.4563, 0.4087], atol=5e-5
    )
    np.testing.assert_allclose(model.shrinkage_, [0.8947, 0.6875, 0.4358, 0.3437, 0.1188, 0], atol=5e-5)
    np.testing.assert_allclose(measure(Y_test, model.predict(X_test)), [0.2071, 0.5345, 0.4604], atol=5e-4)
    model = CurdsAndWhey("population").fit(X, Y)
    np.testing.assert_allclose(measure(Y_test, model.predict(X_test)), [0.2071, 0.5490, 0.4744], atol=5e-4)
