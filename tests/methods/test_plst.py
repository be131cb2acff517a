"""Principal label space transformation, and its conditional form."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from sdgs.methods import PLST, ReducedRankRidge


@pytest.fixture(params=[(60, 12, 5), (20, 40, 5)], ids=["tall", "wide"])
def problem(request):
    """Samples, labels and new samples."""
    n, p, k = request.param
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 1
    Y = (X[:, :3] @ rng.standard_normal((3, k)) + rng.standard_normal((n, k)) > 0).astype(int)
    return X, Y, rng.standard_normal((7, p))


@pytest.mark.parametrize("r", [1, 3])
def test_regresses_principal_components_of_the_labels(problem, r):
    X, Y, X_new = problem
    pca = PCA(r).fit(Y)
    expected = pca.inverse_transform(Ridge(0.5).fit(X, pca.transform(Y)).predict(X_new).reshape(-1, r))
    model = PLST(r, alpha=0.5).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-9)
    signs = np.sign((model.label_components_ * pca.components_).sum(axis=1))
    np.testing.assert_allclose(model.label_components_ * signs[:, None], pca.components_, atol=1e-9)


@pytest.mark.parametrize("r", [1, 3])
def test_the_conditional_form_regresses_directions_that_the_features_predict(problem, r):
    X, Y, X_new = problem
    alpha = 0.5
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    H = Xc @ np.linalg.solve(Xc.T @ Xc + alpha * np.eye(X.shape[1]), Xc.T)
    R = np.linalg.eigh(Yc.T @ H @ Yc)[1][:, ::-1][:, :r]
    expected = Ridge(alpha).fit(X, Yc @ R).predict(X_new).reshape(-1, r) @ R.T + Y.mean(axis=0)
    model = PLST(r, alpha=alpha, conditional=True).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-9)
    same = ReducedRankRidge(r, alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-12)


@pytest.mark.parametrize("conditional", [False, True])
def test_with_as_many_components_as_labels_it_is_ridge_regression(problem, conditional):
    X, Y, X_new = problem
    model = PLST(1.0, alpha=2, conditional=conditional).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X_new), Ridge(2).fit(X, Y).predict(X_new), atol=1e-9)
