"""Low-rank + sparse multi-task learning."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, Ridge

from scaled_data import measure, scaled_data
from sdgs.methods import SparseLowRank, SparseLowRankCV
from sdgs.methods._sparse_low_rank_solver import (
    least_squares,
    objective_and_gap,
    project_on_trace_norm_ball,
    sparse_low_rank,
)


@pytest.fixture(params=[(60, 12, 5), (20, 40, 5)], ids=["tall", "wide"])
def centred(request):
    """Centred samples and targets, and the problem."""
    n, p, k = request.param
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = (X[:, :3] @ rng.standard_normal((3, k)) + rng.standard_normal((n, k)) > 0).astype(float)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return X, Y, least_squares(X, np.zeros(p), Y)


def objective(X, Y, P, Q, gamma):
    return ((X @ (P + Q) - Y) ** 2).sum() + gamma * np.abs(P).sum()


@pytest.mark.parametrize("gamma", [0.3, 3.0])
@pytest.mark.parametrize("tau", [0.0, 0.2, 5.0])
def test_the_gap_closes_and_the_optimality_conditions_hold(centred, gamma, tau):
    X, Y, problem = centred
    result = sparse_low_rank(problem, gamma, tau, tol=1e-11, max_iter=200_000)
    P, Q = result.sparse, result.low_rank
    assert result.converged
    assert 0 <= result.gap <= 1e-11 * (Y**2).sum()
    assert result.objective == pytest.approx(objective(X, Y, P, Q, gamma), abs=1e-9)
    G = 2 * X.T @ (X @ (P + Q) - Y)
    assert np.abs(G).max() <= gamma * (1 + 1e-4)
    np.testing.assert_allclose(G[P != 0], -gamma * np.sign(P[P != 0]), rtol=1e-3)
    assert np.linalg.norm(Q, "nuc") <= tau * (1 + 1e-7)
    assert -np.vdot(G, Q) == pytest.approx(tau * np.linalg.norm(G, 2), rel=1e-3, abs=1e-3)


def test_the_gap_bounds_the_distance_to_the_minimum(centred):
    X, Y, problem = centred
    best = sparse_low_rank(problem, 1.0, 0.3, tol=1e-12, max_iter=200_000).objective
    rng = np.random.default_rng(1)
    for scale in (0, 1e-3, 0.1):
        P = scale * rng.standard_normal((X.shape[1], Y.shape[1]))
        Q = project_on_trace_norm_ball(rng.standard_normal(P.shape), 0.3)
        value, gap = objective_and_gap(problem, 1.0, 0.3, P, P + Q, X.T @ (X @ (P + Q)))
        assert value == pytest.approx(objective(X, Y, P, Q, 1.0))
        assert value - gap <= best <= value


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_without_a_low_rank_part_it_is_the_lasso(small, alpha):
    X, Y, X_test = small
    model = SparseLowRank(2 * len(X) * alpha, 0, tol=1e-12, max_iter=100_000).fit(X, Y)
    expected = Lasso(alpha, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X_test), expected.predict(X_test), atol=1e-6)
    assert not model.low_rank_coef_.any()


def test_without_a_sparse_part_it_is_regression_in_the_trace_norm_ball(centred):
    X, Y, problem = centred
    result = sparse_low_rank(problem, 1e6, 0.5, tol=1e-12, max_iter=100_000)
    assert not result.sparse.any()
    G = 2 * X.T @ (X @ result.low_rank - Y)
    assert np.linalg.norm(result.low_rank, "nuc") == pytest.approx(0.5)
    # The solution's singular vectors belong to the largest singular value of the negative gradient.
    assert -np.vdot(G, result.low_rank) == pytest.approx(0.5 * np.linalg.norm(G, 2), rel=1e-5)


def test_the_sparse_part_vanishes_from_the_largest_useful_gamma_on(small):
    X, Y, _ = small
    largest = 2 * np.abs((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0))).max()
    assert not SparseLowRank(largest * 1.001, 0).fit(X, Y).coef_.any()
    assert SparseLowRank(largest * 0.95, 0, tol=1e-8).fit(X, Y).coef_.any()
    assert SparseLowRank().fit(X, Y).gamma_ == pytest.approx(largest / 100)


def test_with_both_loose_it_is_least_squares(small):
    X, Y, X_test = small
    model = SparseLowRank(1e-9, 5, tol=1e-9, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X_test), Ridge(1e-12).fit(X, Y).predict(X_test), atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 3), (3, 8)])
def test_the_projection_is_the_nearest_point_of_the_ball(shape):
    rng = np.random.default_rng(0)
    A = rng.standard_normal(shape)
    projected = project_on_trace_norm_ball(A, 1.5)
    assert np.linalg.norm(projected, "nuc") == pytest.approx(1.5)
    for _ in range(200):
        B = rng.standard_normal(shape)
        B *= 1.5 / np.linalg.norm(B, "nuc")
        assert np.vdot(A - projected, B - projected) <= 1e-9
    np.testing.assert_array_equal(project_on_trace_norm_ball(A, 100), A)


def test_a_fit_that_did_not_converge_says_so(small):
    X, Y, _ = small
    with pytest.warns(ConvergenceWarning, match="did not reach a duality gap of tol=1e-10"):
        model = SparseLowRank(0.1, tol=1e-10, max_iter=3).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.dual_gap_ > 1e-10 * ((Y - Y.mean(axis=0)) ** 2).sum()


def test_a_warm_start_gives_the_same_solution_in_fewer_iterations(centred):
    _, _, problem = centred
    first = sparse_low_rank(problem, 1.0, 0.5, tol=1e-9, max_iter=100_000)
    cold = sparse_low_rank(problem, 0.98, 0.5, tol=1e-9, max_iter=100_000)
    warm = sparse_low_rank(problem, 0.98, 0.5, start=first, tol=1e-9, max_iter=100_000)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)


@pytest.mark.slow
def test_the_search_finds_the_parameters_and_fits_with_them(digits):
    train, test = digits
    X, X_test = train.X / 16, test.X / 16
    model = SparseLowRankCV(cv=3, random_state=0, n_jobs=2).fit(X, train.Y)
    assert model.best_score_ == model.cv_results_["score"].max()
    assert len(model.cv_results_["params"]) == 16
    again = SparseLowRank(model.gamma_, model.tau_).fit(X, train.Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    alone = SparseLowRankCV(cv=3, random_state=0).fit(X, train.Y)
    np.testing.assert_array_equal(alone.cv_results_["score"], model.cv_results_["score"])
    assert measure(test.Y, model.predict(X_test))[1] > 0.6


@pytest.mark.slow
def test_the_search_does_not_depend_on_the_scale_of_the_samples(digits):
    train, _ = digits
    small, large = (
        SparseLowRankCV(gammas=[0.1, 0.01], taus=[0.1, 1], cv=2, random_state=0).fit(train.X * scale, train.Y)
        for scale in (1e-3, 1e3)
    )
    assert small.best_params_ == large.best_params_
    np.testing.assert_allclose(small.cv_results_["score"], large.cv_results_["score"], atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "gamma", "tau", "expected"),
    [("emotions", 10, 1, [0.2087, 0.5551, 0.4847]), ("medical", 0.5, 5, [0.0110, 0.7410, 0.7111])],
)
def test_reference_values(data_home, name, gamma, tau, expected):
    X, Y, X_test, Y_test = scaled_data(data_home, name)
    model = SparseLowRank(gamma, tau).fit(X, Y)
    np.testing.assert_allclose(measure(Y_test, model.predict(X_test)), expected, atol=5e-4)
    np.testing.assert_array_equal(
        SparseLowRank(gamma, tau).fit(csr_array(X), csr_array(Y)).predict(csr_array(X_test)).toarray(),
        model.predict(X_test),
    )
