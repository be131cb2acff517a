"""What methods have in common whose scores are linear in the features."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs.methods import (
    MDDM,
    PLST,
    CompressedLabels,
    CurdsAndWhey,
    CurdsAndWheyCV,
    ReducedRankRidge,
    ReducedRankRidgeCV,
    SharedSubspace,
    SharedSubspaceCV,
    SparseLowRank,
    SparseLowRankCV,
)
from sdgs.methods._centred_svd import centred_svd

LINEAR = [
    SparseLowRank(tol=1e-8),
    SparseLowRankCV(cv=2, gammas=[0.1, 0.01], taus=[0.5, 1], random_state=0),
    SharedSubspace(),
    SharedSubspaceCV(cv=2, random_state=0),
    ReducedRankRidge(),
    ReducedRankRidgeCV(cv=2, random_state=0),
    CurdsAndWhey(),
    CurdsAndWhey("population", alpha=0.1),
    CurdsAndWheyCV(cv=2, random_state=0),
    PLST(),
    PLST(conditional=True),
]
COMPRESSED = [CompressedLabels(decoder=decoder, random_state=0) for decoder in ("omp", "cosamp", "correlation")]
METHODS = [*LINEAR, *COMPRESSED]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
each_linear_method = pytest.mark.parametrize("method", LINEAR, ids=lambda method: type(method).__name__)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*METHODS, MDDM(projection="orthonormal", label_kernel="rbf")])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@each_method
def test_labels_that_all_or_no_samples_have(method, small):
    X, Y, X_test = small
    Y[:, 0] = 1
    predicted = clone(method).fit(X, Y).predict(X_test)
    assert predicted[:, 0].all()
    assert not predicted[:, 3].any()


@each_method
def test_labels_none_of_which_varies(method, small):
    X, _, X_test = small
    Y = np.tile([1, 0], (len(X), 1))
    np.testing.assert_array_equal(clone(method).fit(X, Y).decision_function(X_test), Y[: len(X_test)])


@each_linear_method
def test_equal_labels_have_equal_scores(method, small):
    X, Y, X_test = small
    Y[:, 3] = Y[:, 1]
    scores = clone(method).fit(X, Y).decision_function(X_test)
    np.testing.assert_allclose(scores[:, 3], scores[:, 1], atol=1e-6)


@each_method
@pytest.mark.parametrize("shape", [(80, 6), (30, 50)])
def test_sparse_samples_and_labels_give_the_same(method, shape):
    rng = np.random.default_rng(0)
    X = rng.random(shape) * (rng.random(shape) < 0.4)
    X[:, 0] += 3  # a column without zeros
    X = csr_array(X)
    Y = (X[:, :3].toarray() + 0.3 * rng.standard_normal((shape[0], 3)) > 0.3).astype(int)
    if method.get_params().get("alpha") == 0:
        method = clone(method).set_params(alpha=1.0)  # which it needs with more features than samples
    dense, sparse = clone(method).fit(X.toarray(), Y), clone(method).fit(X, csr_array(Y))
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), atol=1e-4)
    np.testing.assert_array_equal(sparse.predict(X).toarray(), dense.predict(X.toarray()))


@each_method
def test_one_label(method, small):
    X, Y, X_test = small
    frame = pd.DataFrame(Y[:, [0]], columns=["one"])
    model = clone(method).fit(X, frame)
    predicted = model.predict(X_test)
    assert list(predicted.columns) == ["one"]
    np.testing.assert_array_equal(predicted["one"], model.decision_function(X_test)[:, 0] > 0.5)


@pytest.mark.parametrize("method", [SharedSubspace(), ReducedRankRidge(), CurdsAndWhey(), PLST()])
def test_the_scores_of_two_classes_add_up_to_one(method, small):
    X, Y, X_test = small
    scores = clone(method).fit(X, csr_array(Y[:, [0]])).decision_function(X_test)[:, 0]
    difference = clone(method).fit(X, Y[:, 0]).decision_function(X_test)
    np.testing.assert_allclose(difference, 2 * scores - 1, atol=1e-9)


@each_method
def test_a_shift_of_the_samples_changes_nothing(method, small):
    X, Y, X_test = small
    X, X_test = X.round(2), X_test.round(2)
    expected = clone(method).fit(X, Y).decision_function(X_test)
    shifted = clone(method).fit(X + 1000, Y).decision_function(X_test + 1000)
    np.testing.assert_allclose(shifted, expected, atol=1e-4)


@each_method
def test_the_threshold_decides(method, small):
    X, Y, X_test = small
    model = clone(method).set_params(threshold=0.3).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), model.decision_function(X_test) > 0.3)


@each_linear_method
def test_samples_that_are_all_the_same_get_the_mean(method, small):
    _, Y, _ = small
    X = np.ones((len(Y), 3))
    scores = clone(method).fit(X, Y).decision_function(X[:2])
    np.testing.assert_allclose(scores, np.tile(Y.mean(axis=0), (2, 1)))


@each_method
def test_bad_parameters_are_rejected(method, small):
    X, Y, _ = small
    for parameter in set(method.get_params()) - {"random_state"}:
        with pytest.raises(ValueError, match=f"{parameter} must be"):
            clone(method).set_params(**{parameter: -1 if parameter != "n_jobs" else 0}).fit(X, Y)


@each_method
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_features_whose_squares_overflow_are_rejected(method, convert, small):
    X, Y, _ = small
    with pytest.raises(ValueError, match="X has entries that are too large for least squares"):
        clone(method).fit(convert(X * 1e160), Y)


@pytest.mark.parametrize("shape", [(60, 8), (12, 30), (20, 20)])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_decomposition_is_that_of_centred_samples(shape, convert, offset):
    rng = np.random.default_rng(0)
    X, new, Y = rng.standard_normal(shape) + offset, rng.standard_normal((5, shape[1])), rng.random((shape[0], 3))
    X[:, -1] = X[:, 0]  # a singular value that is zero
    Y -= Y.mean(axis=0)
    result = centred_svd(convert(X))
    A, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    q = result.singular_values.size
    np.testing.assert_allclose(result.singular_values, s[:q], rtol=1e-6)
    assert q == min(shape[0] - 1, shape[1] - 1)
    M = result.left_product(Y)
    signs = np.sign(M[:, 0] * (A.T @ Y)[:q, 0])
    np.testing.assert_allclose(M * signs[:, None], (A.T @ Y)[:q], atol=1e-6)
    V = result.right_product(np.eye(q))
    np.testing.assert_allclose(V * signs, Vt[:q].T, atol=1e-6)
    np.testing.assert_allclose(result.project(convert(new)), (new - X.mean(axis=0)) @ V, atol=1e-6)
