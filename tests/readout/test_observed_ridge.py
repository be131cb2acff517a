"""Ridge regressions on the observed labels alone."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as SklearnRidge

from sdgs.readout._moments import accumulate
from sdgs.readout._observed_ridge import (
    DualObservedRidge,
    PrimalObservedRidge,
    conjugate_gradients,
    error_products,
    observed_means,
    prepare_label_ridge,
)
from sdgs.readout._ridge import PrimalRidge, RidgeDesign, prepare_ridge


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
    assert isinstance(regression, PrimalObservedRidge if n > d else DualObservedRidge)
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
@given(st.integers(0, 2**16), st.integers(1, 12), st.integers(1, 3))
def test_conjugate_gradients_certify_their_error(seed, m, k):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m))
    A, right = root @ root.T + np.eye(m), rng.standard_normal((m, k))
    result = conjugate_gradients(lambda x: A @ x, right, np.ones(k), 1e-9, 500, lambda r: r / 2)
    residual = right - A @ result.x
    assert result.converged
    assert result.error <= 1e-9
    np.testing.assert_allclose(np.linalg.norm(residual, axis=0) / np.sqrt(2), 0, atol=1e-7)
    np.testing.assert_allclose(result.x, np.linalg.solve(A, right), atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 8, 3), (20, 50, 4)])
def test_a_warning_if_it_does_not_converge(shape):
    n, d, k = shape
    Z, Y = problem(n, d, k)
    regression = prepare_label_ridge([[Z]], Y, RidgeDesign([d]))
    regression._max_steps = 1
    with pytest.warns(ConvergenceWarning, match="observed labels did not converge: after 1 steps"):
        regression.ridge(0.1, d)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_kernel_and_weighted_columns_both_forms_agree(weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    landmarks = X[:5]
    kernel, gram = (np.exp(-np.abs(A[:, None] - landmarks).sum(axis=2) / 6) for A in (X, landmarks))
    Y = problem(40, 6, 3)[1]
    weight = rng.uniform(0.5, 2, 40) if weighted else None
    total = None if weight is None else weight.sum()
    n_copies = 60  # of the features: so many columns make the dual form cheaper
    features = [kernel, np.tile(X, (1, n_copies)) / np.sqrt(n_copies)]
    design = RidgeDesign([5 + 6 * n_copies], slice(5, 5 + 6 * n_copies), weight, total)
    dual = prepare_label_ridge([features], Y, design, gram)
    assert isinstance(dual, DualObservedRidge)
    filled = np.where(np.isnan(Y), observed_means(Y, np.ones(40) if weight is None else weight), Y)
    moments = accumulate(None, [features], filled, weight).moments()
    complete = PrimalRidge(moments, design.weighted_columns, gram)
    primal = PrimalObservedRidge(complete, partial(error_products, [features], Y, weight))
    one, other = (regression.ridge(0.5, design.widths[0]) for regression in (dual, primal))
    np.testing.assert_allclose(one.scores(features), other.scores(features), atol=1e-5)
