"""Ridge regressions on the observed labels alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as SklearnRidge

from sdgs.readout._observed_ridge import ObservedRidge, fill_unobserved, observed_means, prepare_label_ridge
from sdgs.readout._ridge import RidgeDesign, prepare_ridge


def problem(n, d, k, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    Y = (Z[:, :k] + rng.standard_normal((n, k)) > 0.5).astype(float)
    Y[rng.random((n, k)) < share] = np.nan
    return Z, Y


def label_by_label(Z, Y, penalty, sample_weight=None):
    """scikit-learn's ridge regression of each label on the samples in which it is observed."""
    weight = np.ones(len(Z)) if sample_weight is None else sample_weight
    coef, intercept = np.zeros((Y.shape[1], Z.shape[1])), np.zeros(Y.shape[1])
    for j, y in enumerate(Y.T):
        observed = ~np.isnan(y)
        if observed.any():
            ridge = SklearnRidge(penalty).fit(Z[observed], y[observed], weight[observed])
            coef[j], intercept[j] = ridge.coef_, ridge.intercept_
    return coef, intercept


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(60, 8, 3), (20, 50, 4)])  # primal and dual form
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_equals_a_regression_per_label_on_its_observed_samples(shape, penalty, weighted):
    n, d, k = shape
    Z, Y = problem(n, d, k)
    weight = np.random.default_rng(1).integers(1, 4, n).astype(float) if weighted else None
    blocks = [[Z[:7, :5], csr_array(Z[:7, 5:])], [Z[7:, :5], csr_array(Z[7:, 5:])]]
    regression = prepare_label_ridge(blocks, Y, RidgeDesign([d], None, weight))
    assert isinstance(regression, ObservedRidge)
    ridge = regression.ridge(penalty, d)
    coef, intercept = label_by_label(Z, Y, penalty, weight)
    np.testing.assert_allclose(ridge.coef, coef, atol=1e-5)
    np.testing.assert_allclose(ridge.intercept, intercept, atol=1e-5)


@pytest.mark.parametrize("shape", [(60, 8, 3), (20, 50, 4)])
def test_leading_columns_and_paths(shape):
    n, d, k = shape
    Z, Y = problem(n, d, k)
    X = np.random.default_rng(2).standard_normal((5, d))
    regression = prepare_label_ridge([[Z]], Y, RidgeDesign([4, d]))
    for width, scores in zip((4, d), regression.path([[X[:2]], [X[2:]]], [4, d])(1.0), strict=True):
        coef, intercept = label_by_label(Z[:, :width], Y, 1.0)
        np.testing.assert_allclose(scores, X[:, :width] @ coef.T + intercept, atol=1e-2)


def test_complete_labels_are_regressed_on_as_ever():
    Z, Y = problem(30, 5, 2, share=0)
    design = RidgeDesign([5])
    ours, theirs = (prepare([[Z]], Y, design).ridge(1.0, 5) for prepare in (prepare_label_ridge, prepare_ridge))
    np.testing.assert_array_equal(ours.coef, theirs.coef)


def test_a_label_that_is_never_observed_has_score_zero():
    Z, Y = problem(30, 5, 2)
    Y[:, 1] = np.nan
    ridge = prepare_label_ridge([[Z]], Y, RidgeDesign([5])).ridge(1.0, 5)
    np.testing.assert_array_equal(ridge.coef[1], 0)
    assert ridge.intercept[1] == 0


def test_sparse_labels_with_stored_nan():
    Z, Y = problem(30, 5, 2)
    dense, sparse = (prepare_label_ridge([[Z]], labels, RidgeDesign([5])).ridge(1.0, 5) for labels in (Y, csr_array(Y)))
    np.testing.assert_array_equal(sparse.coef, dense.coef)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.floats(0.05, 0.9), st.sampled_from([(25, 4, 2), (12, 20, 3)]))
def test_the_error_of_the_filling_is_certified(seed, share, shape):
    n, d, k = shape
    Z, Y = problem(n, d, k, share, seed)
    H = Z @ np.linalg.solve(Z.T @ Z + np.eye(d), Z.T)
    mask = np.isnan(Y)
    start = np.where(mask, observed_means(Y, np.ones(n)), Y)
    filling = fill_unobserved(lambda labels: H @ labels, start, mask, np.ones(n), 1e-8, 200)
    assert filling.converged
    differences = np.where(mask, H @ filling.Y - filling.Y, 0)
    assert np.abs(differences).max() <= 1e-7 * np.sqrt(n)
    np.testing.assert_array_equal(filling.Y[~mask], Y[~mask])


def test_a_warning_if_it_does_not_converge():
    Z, Y = problem(40, 6, 2)
    mask = np.isnan(Y)
    H = Z @ np.linalg.solve(Z.T @ Z + np.eye(6), Z.T)
    filling = fill_unobserved(lambda labels: H @ labels, np.nan_to_num(Y), mask, np.ones(40), 1e-12, 1)
    assert (filling.converged, filling.n_steps) == (False, 1)
    assert filling.error > 1e-6
    regression = ObservedRidge([[Z]], Y, RidgeDesign([6]), max_steps=2)
    with pytest.warns(ConvergenceWarning, match="observed labels did not converge: after 2 steps"):
        regression.ridge(1.0, 6)
