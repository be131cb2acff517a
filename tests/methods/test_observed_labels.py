"""Methods that learn each label from the samples in which it is observed, against fits of single labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from sdgs.methods import BinaryRelevance, HierarchicalRelevance, SparseLowRank, SparseLowRankCV, StackedRelevance
from sdgs.methods._sparse_low_rank_solver import (
    least_squares,
    objective_and_gap,
    observed_least_squares,
    project_on_trace_norm_ball,
)
from sdgs.methods._stacked_relevance import _observed_phi, most_correlated_labels
from sdgs.methods._target_tree import close_upward

forms = pytest.mark.parametrize("form", [np.asarray, csr_array])
weightings = pytest.mark.parametrize("weighted", [False, True])


@pytest.fixture
def problem():
    """Samples, labels of which a third is unobserved, weights, and test samples."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    Y = (X @ rng.standard_normal((6, 4)) + 0.5 * rng.standard_normal((120, 4)) > 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    return X[:90], Y[:90], rng.uniform(0.5, 3, 90), X[90:]


def label_by_label(X, Y, weight, fit):
    """A model per label, fitted to the samples in which it is observed."""
    models = []
    for y in Y.T:
        known = ~np.isnan(y)
        models.append(fit(X[known], y[known], None if weight is None else weight[known]))
    return models


def probabilities(models, X):
    return np.column_stack([model.predict_proba(X)[:, 1] for model in models])


def logistic(X, y, weight):
    return LogisticRegression(max_iter=1000).fit(X, y, weight)


@forms
@weightings
def test_binary_relevance(problem, form, weighted):
    X, Y, weight, X_test = problem
    weight = weight if weighted else None
    model = BinaryRelevance(0.5, random_state=0).fit(form(X), Y, weight)
    fits = label_by_label(X, Y, weight, lambda *data: LinearSVC(C=0.5, random_state=0).fit(*data))
    expected = np.column_stack([fit.decision_function(X_test) for fit in fits])
    np.testing.assert_allclose(model.decision_function(form(X_test)), expected, atol=1e-9)


@forms
@weightings
@pytest.mark.parametrize("passthrough", [False, True])
def test_stacked_relevance(problem, form, weighted, passthrough):
    X, Y, weight, X_test = problem
    weight = weight if weighted else None
    model = StackedRelevance(cv=4, passthrough=passthrough, random_state=0).fit(form(X), Y, weight)
    Z, Z_test = model.out_of_fold_probabilities_, probabilities(label_by_label(X, Y, weight, logistic), X_test)
    inputs, test_inputs = (np.hstack([X, Z]), np.hstack([X_test, Z_test])) if passthrough else (Z, Z_test)
    expected = probabilities(label_by_label(inputs, Y, weight, logistic), test_inputs)
    np.testing.assert_allclose(model.predict_proba(form(X_test)), expected, atol=1e-6)


def test_out_of_fold_probabilities_of_given_splits(problem):
    X, Y, weight, _ = problem
    splits = [(np.arange(30, 90), np.arange(30)), (np.r_[0:30, 60:90], np.arange(30, 60))]
    model = StackedRelevance(cv=splits).fit(X, Y, weight)
    for train, test in splits:
        expected = probabilities(label_by_label(X[train], Y[train], weight[train], logistic), X[test])
        np.testing.assert_allclose(model.out_of_fold_probabilities_[test], expected, atol=1e-7)
    assert np.isnan(model.out_of_fold_probabilities_[60:]).all()
    fits = label_by_label(model.out_of_fold_probabilities_[:60], Y[:60], weight[:60], logistic)
    coef = np.array([estimator.coef_[0] for estimator in model.final_estimators_])
    np.testing.assert_allclose(coef, [fit.coef_[0] for fit in fits], atol=1e-5)
    weight[60:], weight[:60] = 1, 0
    with pytest.raises(ValueError, match="no split with both training and test samples"):
        StackedRelevance(cv=splits).fit(X, Y, weight)


def test_correlations_are_those_of_samples_in_which_both_labels_are_observed(problem):
    _, Y, weight, _ = problem
    Y = np.column_stack([Y, np.where(np.isnan(Y[:, 0]), Y[:, 1], 1 - Y[:, 0]), np.full(90, np.nan)])
    copies = np.repeat(np.arange(90), np.round(weight).astype(int))
    phi = np.zeros((6, 6))
    for first, second in np.ndindex(5, 5):
        known = copies[~np.isnan(Y[copies][:, [first, second]]).any(axis=1)]
        phi[first, second] = np.corrcoef(Y[known].T[[first, second]])[0, 1]
    np.testing.assert_allclose(_observed_phi(Y, np.round(weight)), phi, atol=1e-12)
    np.fill_diagonal(phi, 2)
    for label, chosen in enumerate(most_correlated_labels(Y, 3, np.round(weight))):
        np.testing.assert_array_equal(chosen, np.sort(np.argsort(-abs(phi[label]).round(12), kind="stable")[:3]))
    complete = np.nan_to_num(Y[:, :4])
    for plain, weighted in zip(
        most_correlated_labels(complete, 2), most_correlated_labels(complete, 2, np.ones(90)), strict=True
    ):
        np.testing.assert_array_equal(plain, weighted)


@weightings
def test_hierarchical_relevance(problem, weighted):
    X, Y, weight, X_test = problem
    weight = weight if weighted else None
    flat = HierarchicalRelevance().fit(X, Y, weight)
    expected = probabilities(label_by_label(X, Y, weight, logistic), X_test)
    np.testing.assert_allclose(flat.predict_proba(X_test), expected, atol=1e-7)
    model = HierarchicalRelevance(hierarchy=[-1, 0, 0, 1]).fit(X, Y, weight)
    child = np.where((Y[:, 1] == 1) | (Y[:, 3] == 1), 1, Y[:, 1])  # known where the label below it is
    parent = np.where((child == 1) | (Y[:, 2] == 1), 1, Y[:, 0])
    rows = (parent == 1) & ~np.isnan(child)
    fit = logistic(X[rows], child[rows], None if weight is None else weight[rows])
    np.testing.assert_allclose(model.estimators_[1].coef_, fit.coef_, atol=1e-6)


def test_labels_are_closed_upward_where_a_label_below_is_known():
    nan = np.nan
    Y = np.array([[nan, 1, nan], [0, nan, 1], [nan, 0, 0], [1, nan, nan], [0, nan, nan]])
    expected = [[1, 1, nan], [1, 1, 1], [nan, 0, 0], [1, nan, nan], [0, nan, nan]]
    np.testing.assert_array_equal(close_upward(Y, np.array([-1, 0, 1])), expected)


@forms
@weightings
def test_sparse_low_rank_without_a_low_rank_part_is_the_lasso_of_each_label(problem, form, weighted):
    X, Y, weight, X_test = problem
    X[:, 0] += 3
    weight = weight if weighted else None
    gamma = 4.0
    model = SparseLowRank(gamma, 0, tol=1e-12, max_iter=100_000).fit(form(X), Y, weight)

    def lasso(X, y, w):
        total = len(y) if w is None else w.sum()
        return Lasso(gamma / (2 * total), tol=1e-12).fit(X, y, w)

    fits = label_by_label(X, Y, weight, lasso)
    np.testing.assert_allclose(model.coef_, [fit.coef_ for fit in fits], atol=1e-6)
    expected = np.column_stack([fit.predict(X_test) for fit in fits])
    np.testing.assert_allclose(model.decision_function(form(X_test)), expected, atol=1e-6)


@forms
@weightings
def test_the_objective_and_the_gap_are_those_of_the_observed_labels(problem, form, weighted):
    """The minimum is below the objective of other coefficients, and above what their gaps allow."""
    X, Y, weight, _ = problem
    X[:, 0] += 3
    weight = weight if weighted else None
    gamma, tau = 3.0, 0.4
    model = SparseLowRank(gamma, tau, tol=1e-10, max_iter=100_000).fit(form(X), Y, weight)

    def objective(coef, intercept, sparse):
        errors = np.nan_to_num(X @ coef.T + intercept - Y) ** 2
        return float((errors * (1 if weight is None else weight[:, None])).sum() + gamma * np.abs(sparse).sum())

    expected = objective(model.coef_, model.intercept_, model.sparse_coef_)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    problem, intercepts = observed_least_squares(form(X), Y, weight)
    rng = np.random.default_rng(1)
    for scale in (0, 1e-3, 0.1):
        P = scale * rng.standard_normal((6, 4))
        Q = project_on_trace_norm_ball(rng.standard_normal(P.shape), tau)
        value, gap = objective_and_gap(problem, gamma, tau, P, P + Q, problem.gram_product(P + Q))
        assert value == pytest.approx(objective((P + Q).T, intercepts(P + Q), P.T))
        assert objective((P + Q).T, intercepts(P + Q) + 0.01, P.T) > value  # intercepts are the best
        assert value - gap <= model.objective_ <= value + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.9))
def test_the_largest_eigenvalue_is_a_bound_of_that_of_each_label(seed, share):
    rng = np.random.default_rng(seed)
    X, weight = rng.standard_normal((12, 4)), rng.uniform(0.1, 2, 12)
    Y = np.where(rng.random((12, 3)) < share, np.nan, 1.0)
    problem, _ = observed_least_squares(X, Y, weight)
    for label, y in enumerate(Y.T):
        known = ~np.isnan(y)
        gram = np.zeros((4, 4))
        if known.any():
            centred = X[known] - np.average(X[known], axis=0, weights=weight[known])
            gram = centred.T @ (weight[known][:, None] * centred)
        unit = np.zeros((4, 4, 3))
        unit[:, :, label] = np.eye(4)
        products = np.column_stack([problem.gram_product(each)[:, label] for each in unit])
        np.testing.assert_allclose(products, gram, atol=1e-10)
        assert np.linalg.eigvalsh(gram)[-1] <= problem.largest_eigenvalue * (1 + 1e-9)


def test_complete_labels_are_a_special_case(problem):
    X, Y, weight, _ = problem
    Y = np.nan_to_num(Y)
    mean = np.average(X, axis=0, weights=weight)
    root = np.sqrt(weight)[:, None]
    complete = least_squares(X, mean, root * (Y - np.average(Y, axis=0, weights=weight)), weight)
    observed, _ = observed_least_squares(X, Y, weight)
    W = np.random.default_rng(0).standard_normal((6, 4))
    np.testing.assert_allclose(observed.gram_product(W), complete.gram_product(W), atol=1e-10)
    np.testing.assert_allclose(observed.cross, complete.cross, atol=1e-10)
    assert observed.target_norm2 == pytest.approx(complete.target_norm2)
    assert observed.largest_eigenvalue == pytest.approx(complete.largest_eigenvalue, rel=1e-3)


@weightings
@pytest.mark.parametrize("metric", ["f1", "squared_error"])
def test_folds_are_scored_on_observed_labels(problem, metric, weighted):
    """A label that is observed in no test sample does not count, whatever is predicted for it."""
    X, Y, weight, _ = problem
    weight = weight**3 if weighted else np.ones(90)
    splits = [(np.arange(45, 90), np.arange(45))]
    Y[:45, 3] = np.nan
    search = SparseLowRankCV(gammas=0.01, taus=0.5, metric=metric, cv=splits, tol=1e-9).fit(X, Y, weight)
    gamma, tau = search.cv_results_["params"][0].values()
    assert (gamma, tau) == (0.01, 0.5)
    largest = 2 * np.abs(observed_least_squares(X[45:], Y[45:], weight[45:])[0].cross).max()
    fold = SparseLowRank(gamma * largest, search.tau_, tol=1e-2).fit(X[45:], Y[45:], weight[45:])
    scores, known = fold.decision_function(X[:45]), ~np.isnan(Y[:45])
    if metric == "squared_error":
        expected = -np.average((scores - Y[:45])[known] ** 2, weights=np.tile(weight[:45, None], (1, 4))[known])
    else:
        true, predicted = known & (Y[:45] == 1), known & (scores > 0.5)
        sizes = true.sum(axis=1) + predicted.sum(axis=1)
        values = np.where(sizes == 0, 1, 2 * (true & predicted).sum(axis=1) / np.maximum(sizes, 1))
        expected = np.average(values, weights=weight[:45] * known.any(axis=1))
    assert search.best_score_ == pytest.approx(expected, abs=1e-9)
