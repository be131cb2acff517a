"""Shared-subspace learning."""

import numpy as np
import pytest
from scipy.linalg import eig
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from scaled_data import measure, scaled_data
from sdgs._utils._validation import check_seed
from sdgs.methods import ReducedRankRidge, SharedSubspace, SharedSubspaceCV


@pytest.fixture(params=[(60, 12, 5), (20, 40, 5)], ids=["tall", "wide"])
def problem(request):
    """Samples, labels and new samples."""
    n, p, k = request.param
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 1
    Y = (X[:, :3] @ rng.standard_normal((3, k)) + rng.standard_normal((n, k)) > 0).astype(int)
    return X, Y, rng.standard_normal((7, p))


def objective(X, Y, U, theta, alpha, beta):
    V = theta @ U
    fit = ((X @ U - Y) ** 2).sum() / len(X)
    return fit + alpha * ((U - theta.T @ V) ** 2).sum() + beta * (U**2).sum()


def solution_by_definition(X, Y, r, alpha, beta):
    """The closed form of the paper with (p, p) matrices."""
    n, p = X.shape
    M = X.T @ X / n + (alpha + beta) * np.eye(p)
    inverse = np.linalg.inv(M)
    S1, S2 = np.eye(p) - alpha * inverse, inverse @ X.T @ Y @ Y.T @ X @ inverse
    values, vectors = eig(S2, S1)
    theta = np.linalg.qr(vectors[:, np.argsort(-values.real)[:r]].real)[0].T
    return np.linalg.solve(M - alpha * theta.T @ theta, X.T @ Y) / n, theta


@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.01), (1.0, 0.1), (30.0, 1.0)])
def test_agrees_with_the_definition(problem, r, alpha, beta):
    X, Y, _ = problem
    model = SharedSubspace(r, alpha=alpha, beta=beta).fit(X, Y)
    U, theta = solution_by_definition(X - X.mean(axis=0), Y - Y.mean(axis=0), r, alpha, beta)
    np.testing.assert_allclose(model.coef_.T, U, atol=1e-7)
    np.testing.assert_allclose(model.components_.T @ model.components_, theta.T @ theta, atol=1e-6)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(r), atol=1e-10)


@pytest.mark.slow
def test_no_alternation_finds_a_smaller_objective(problem):
    X, Y, _ = problem
    r, alpha, beta = 2, 1.0, 0.05
    model = SharedSubspace(r, alpha=alpha, beta=beta).fit(X, Y)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n, p = X.shape
    best = objective(X, Y, model.coef_.T, model.components_, alpha, beta)
    rng = np.random.default_rng(1)
    reached = []
    for _ in range(5):
        theta = np.linalg.qr(rng.standard_normal((p, r)))[0].T
        for _ in range(3000):
            H = X.T @ X + n * ((alpha + beta) * np.eye(p) - alpha * theta.T @ theta)
            U = np.linalg.solve(H, X.T @ Y)
            theta = np.linalg.svd(U)[0][:, :r].T
        reached.append(objective(X, Y, U, theta, alpha, beta))
    assert min(reached) >= best - 1e-10
    assert min(reached) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_with_as_many_dimensions_as_labels_it_is_ridge_regression(problem, alpha):
    X, Y, X_new = problem
    expected = Ridge(len(X) * 0.02).fit(X, Y).predict(X_new)
    for r in (5, 9, 1.0):
        model = SharedSubspace(r, alpha=alpha, beta=0.02).fit(X, Y)
        np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 1e-10])
def test_without_a_penalty_of_the_rest_it_is_ridge_regression(problem, alpha):
    X, Y, X_new = problem
    model = SharedSubspace(2, alpha=alpha, beta=0.02).fit(X, Y)
    expected = Ridge(len(X) * 0.02).fit(X, Y).predict(X_new)
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-7)


@pytest.mark.parametrize("r", [1, 2, 4])
def test_with_a_large_penalty_of_the_rest_it_is_reduced_rank_ridge_regression(problem, r):
    X, Y, X_new = problem
    model = SharedSubspace(r, alpha=1e9, beta=0.02).fit(X, Y)
    expected = ReducedRankRidge(r, alpha=len(X) * 0.02).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X_new), expected.decision_function(X_new), atol=1e-7)


def test_the_search_finds_the_parameters_and_fits_with_them(digits):
    train, test = digits
    X, X_test = train.X / 16, test.X / 16
    model = SharedSubspaceCV(cv=3, random_state=0, n_jobs=2).fit(X, train.Y)
    assert model.best_score_ == model.cv_results_["score"].max()
    assert len(model.cv_results_["params"]) == len({tuple(p.values()) for p in model.cv_results_["params"]}) == 60
    again = SharedSubspace(**model.best_params_).fit(X, train.Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert measure(test.Y, model.predict(X_test))[1] > 0.6


def test_the_scores_of_the_search_are_those_of_the_models(small):
    X, Y, _ = small
    model = SharedSubspaceCV(
        n_components=[1, 2], alphas=[1, 10], betas=0.1, metric="squared_error", cv=2, random_state=0
    )
    model.fit(X, Y)
    for params, score in zip(model.cv_results_["params"], model.cv_results_["score"], strict=True):
        errors = []
        for train, test in KFold(2, shuffle=True, random_state=check_seed(0)).split(X):
            scores = SharedSubspace(**params).fit(X[train], Y[train]).decision_function(X[test])
            errors.append(((scores - Y[test]) ** 2).mean())
        assert score == pytest.approx(-np.mean(errors), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "r", "beta", "expected"),
    [
        ("emotions", 2, 0.01, [0.2096, 0.5556, 0.4835]),
        ("emotions", 2, 0.001, [0.2096, 0.5563, 0.4843]),
        ("medical", 10, 0.001, [0.0144, 0.594, 0.567]),
        ("medical", 40, 0.001, [0.0124, 0.676, 0.649]),
    ],
)
def test_reference_values(data_home, name, r, beta, expected):
    X, Y, X_test, Y_test = scaled_data(data_home, name)
    model = SharedSubspace(r, alpha=1, beta=beta).fit(X, Y)
    np.testing.assert_allclose(measure(Y_test, model.predict(X_test)), expected, atol=5e-4)
