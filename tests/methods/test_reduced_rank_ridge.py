"""Reduced-rank ridge regression."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.linear_model import Ridge

from scaled_data import measure, scaled_data
from sdgs.methods import ReducedRankRidge, ReducedRankRidgeCV


@pytest.fixture(params=[(60, 12, 5), (20, 40, 5)], ids=["tall", "wide"])
def problem(request):
    """Samples, labels and new samples."""
    n, p, k = request.param
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 1
    Y = (X[:, :3] @ rng.standard_normal((3, k)) + rng.standard_normal((n, k)) > 0).astype(int)
    return X, Y, rng.standard_normal((7, p))


@pytest.mark.parametrize("r", [1, 3, 5])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_agrees_with_a_generalised_eigensolver(problem, r, alpha):
    """The paper's form: ridge regression on the projection by orthonormalised partial least squares."""
    X, Y, X_new = problem
    model = ReducedRankRidge(r, alpha=alpha).fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    vectors = eigh(Xc.T @ Yc @ Yc.T @ Xc, Xc.T @ Xc + alpha * np.eye(X.shape[1]))[1]
    Q = np.linalg.qr(vectors[:, ::-1][:, :r])[0]
    expected = Ridge(alpha).fit(X @ Q, Y).predict(X_new @ Q)
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-8)
    np.testing.assert_allclose(model.components_.T @ model.components_, Q @ Q.T, atol=1e-8)


@pytest.mark.slow
def test_no_alternation_finds_a_smaller_objective(problem):
    X, Y, _ = problem
    r, alpha = 2, 3.0
    U = ReducedRankRidge(r, alpha=alpha).fit(X, Y).coef_.T
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    p, k = U.shape

    def objective(U):
        return ((X @ U - Y) ** 2).sum() + alpha * (U**2).sum()

    rng = np.random.default_rng(1)
    for _ in range(3):
        R = np.linalg.qr(rng.standard_normal((k, r)))[0]
        for _ in range(2000):
            W = np.linalg.solve(X.T @ X + alpha * np.eye(p), X.T @ Y @ R)
            left, _, right = np.linalg.svd((Y.T @ X) @ W, full_matrices=False)
            R = left @ right
        assert objective(W @ R.T) >= objective(U) - 1e-9
        assert objective(W @ R.T) == pytest.approx(objective(U), rel=1e-8)


def test_with_as_many_dimensions_as_labels_it_is_ridge_regression(problem):
    X, Y, X_new = problem
    expected = Ridge(2.0).fit(X, Y).predict(X_new)
    for r in (5, 9, 1.0):
        model = ReducedRankRidge(r, alpha=2).fit(X, Y)
        np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-9)


def test_the_coefficients_have_the_rank(problem):
    X, Y, _ = problem
    assert np.linalg.matrix_rank(ReducedRankRidge(2).fit(X, Y).coef_) == 2
    assert ReducedRankRidge(0.6).fit(X, Y).components_.shape[0] == 3


def test_bad_numbers_of_components_are_rejected(problem):
    X, Y, _ = problem
    for n_components, message in [(0, "n_components must be an integer"), (1.5, "share in"), ("all", "n_components")]:
        with pytest.raises(ValueError, match=message):
            ReducedRankRidge(n_components).fit(X, Y)
        with pytest.raises(ValueError, match=message):
            ReducedRankRidgeCV(n_components=[1, n_components]).fit(X, Y)
    with pytest.raises(ValueError, match="n_components must be a number or a sequence"):
        ReducedRankRidgeCV(n_components=[]).fit(X, Y)
    with pytest.raises(ValueError, match="alphas must be a number or a sequence"):
        ReducedRankRidgeCV(alphas=[]).fit(X, Y)


@pytest.mark.parametrize("metric", ["f1", "accuracy", "hamming_loss", "squared_error"])
def test_the_search_finds_the_parameters_and_fits_with_them(digits, metric):
    train, test = digits
    X, X_test = train.X / 16, test.X / 16
    model = ReducedRankRidgeCV(cv=3, metric=metric, random_state=0).fit(X, train.Y)
    assert model.best_score_ == model.cv_results_["score"].max()
    assert len(model.cv_results_["params"]) == 25
    again = ReducedRankRidge(**model.best_params_).fit(X, train.Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert measure(test.Y, model.predict(X_test))[1] > 0.6


def test_the_search_with_one_class_per_sample_maximises_its_accuracy(digits):
    train, _ = digits
    first = train.Y.argmax(axis=1)
    model = ReducedRankRidgeCV(cv=3, random_state=0).fit(train.X / 16, first)
    assert model.best_score_ > 0.5  # above one half none is a plain threshold's
    assert model.score(train.X / 16, first) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "r", "expected"),
    [
        ("emotions", 1, [0.2228, 0.4711, 0.4059]),
        ("emotions", 2, [0.2063, 0.5243, 0.4596]),
        ("emotions", 3, [0.2170, 0.5533, 0.4818]),
        ("emotions", 4, [0.2211, 0.5640, 0.4851]),
        ("emotions", 6, [0.2219, 0.5589, 0.4823]),
        ("medical", 5, [0.0175, 0.447, 0.430]),
        ("medical", 10, [0.0157, 0.525, 0.501]),
        ("medical", 20, [0.0149, 0.558, 0.534]),
        ("medical", 45, [0.0146, 0.5651, 0.5408]),
    ],
)
def test_reference_values(data_home, name, r, expected):
    X, Y, X_test, Y_test = scaled_data(data_home, name)
    predicted = ReducedRankRidge(r, alpha=1).fit(X, Y).predict(X_test)
    np.testing.assert_allclose(measure(Y_test, predicted), expected, atol=6e-4)
