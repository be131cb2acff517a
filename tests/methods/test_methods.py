import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import metrics
from sdgs.datasets import make_composite_digits
from sdgs.methods import MDDM, BinaryRelevance, MLkNN


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(600, max_labels=2, subset="train", random_state=0),
        make_composite_digits(200, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), (rng.uniform(size=(60, 4)) < 0.4).astype(int)
    Y[:, 3] = 0
    return X, Y, rng.standard_normal((25, 5))


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([BinaryRelevance(), MLkNN(), MDDM()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def mlknn_by_definition(X, Y, X_test, K, s):
    """Zhang and Zhou's algorithm, one cell at a time."""
    n, k = Y.shape

    def neighbours(x, leave_out=None):
        distance = [np.sum((x - X[i]) ** 2) if i != leave_out else np.inf for i in range(n)]
        return sorted(range(n), key=distance.__getitem__)[:K]

    posterior = np.zeros((len(X_test), k))
    for label in range(k):
        prior = (s + sum(Y[:, label])) / (2 * s + n)
        with_label, without = [0] * (K + 1), [0] * (K + 1)
        for i in range(n):
            c = sum(Y[j, label] for j in neighbours(X[i], leave_out=i))
            (with_label if Y[i, label] else without)[c] += 1
        for t, x in enumerate(X_test):
            c = sum(Y[j, label] for j in neighbours(x))
            yes = prior * (s + with_label[c]) / (s * (K + 1) + sum(with_label))
            no = (1 - prior) * (s + without[c]) / (s * (K + 1) + sum(without))
            posterior[t, label] = yes / (yes + no)
    return posterior


@pytest.mark.parametrize(("K", "s"), [(1, 1.0), (5, 1.0), (10, 0.3)])
def test_mlknn_agrees_with_the_definition_cell_by_cell(small, K, s):
    X, Y, X_test = small
    model = MLkNN(K, smoothing=s).fit(X, Y)
    expected = mlknn_by_definition(X, Y, X_test, K, s)
    np.testing.assert_allclose(model.decision_function(X_test), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X_test), expected > 0.5)
    np.testing.assert_allclose(
        MLkNN(K, smoothing=s).fit(csr_array(X), Y).decision_function(X_test), expected, rtol=1e-9
    )


def test_mlknn_does_not_count_a_sample_as_its_own_neighbour():
    # Two far pairs of equal samples with opposite labels: a sample's nearest other sample always disagrees with it.
    X = np.array([[0.0], [0.0], [9.0], [9.0]])
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    model = MLkNN(1).fit(X, Y)
    np.testing.assert_allclose(model.likelihood_[1, 0], [3 / 4, 1 / 4])
    assert MLkNN(50).fit(X, Y).likelihood_.shape == (2, 2, 4)
    with pytest.raises(ValueError, match="at least 2 samples"):
        MLkNN().fit(X[:1], csr_array([[1, 0]]))


@pytest.mark.parametrize("shape", [(60, 8), (12, 30), (20, 20)])
@pytest.mark.parametrize("mu", [0.12, 0.5, 1.0])
@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_mddm_agrees_with_a_dense_generalised_eigensolver(shape, mu, convert):
    rng = np.random.default_rng(0)
    n, p = shape
    X = rng.standard_normal((n, p)) + 3.0
    Y = rng.integers(0, 2, size=(n, 4))
    model = MDDM(4, regularization=mu).fit(convert(X), Y)
    H = np.eye(n) - 1 / n
    A = X.T @ H @ Y @ Y.T @ H @ X
    B = (1 - mu) * X.T @ H @ X + mu * np.eye(p)
    values, vectors = eigh(A, B)
    np.testing.assert_allclose(model.dependence_, values[::-1][:4], rtol=1e-7)
    for found, expected in zip(model.components_, vectors.T[::-1], strict=False):
        np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-6)
    np.testing.assert_allclose(model.components_ @ B @ model.components_.T, np.eye(4), atol=1e-7)
    np.testing.assert_allclose(model.transform(convert(X)), H @ X @ model.components_.T, atol=1e-7)


def test_mddm_keeps_no_more_directions_than_depend_on_the_labels(digits):
    train, _ = digits
    assert MDDM().fit(train.X, train.Y).components_.shape == (10, 64)  # not 13: ten labels
    assert MDDM(0.05).fit(train.X, train.Y).components_.shape == (3, 64)
    framed = MDDM(2).set_output(transform="pandas").fit(pd.DataFrame(train.X).add_prefix("x"), train.Y)
    assert list(framed.transform(pd.DataFrame(train.X).add_prefix("x")).columns) == ["mddm0", "mddm1"]
    for bad, message in [(0, "n_components"), (1.5, "share in"), ("all", "n_components")]:
        with pytest.raises(ValueError, match=message):
            MDDM(bad).fit(train.X, train.Y)
    with pytest.raises(ValueError, match=r"regularization must be in \(0, 1\]"):
        MDDM(regularization=2).fit(train.X, train.Y)


def test_binary_relevance_is_one_svm_a_label(small):
    X, Y, X_test = small
    model = BinaryRelevance(C=0.5, random_state=0).fit(X, Y)
    rival = OneVsRestClassifier(LinearSVC(C=0.5, random_state=0)).fit(X, Y[:, :3])
    np.testing.assert_allclose(model.decision_function(X_test)[:, :3], rival.decision_function(X_test), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X_test)[:, :3], rival.predict(X_test))


def test_sparse_data_with_long_indices(small):
    X, Y, X_test = small
    long = csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    expected = BinaryRelevance(random_state=0).fit(csr_array(X), Y).decision_function(X_test)
    found = BinaryRelevance(random_state=0).fit(long, Y).decision_function(X_test)
    np.testing.assert_array_equal(found, expected)


def test_labels_that_all_or_none_have(small):
    X, Y, X_test = small
    Y[:, 0] = 1
    for model in (BinaryRelevance(), MLkNN(5)):
        predicted = model.fit(X, Y).predict(X_test)
        assert predicted[:, 0].all()
        assert not predicted[:, 3].any()


def test_all_learn_something_and_give_names_back(digits):
    train, test = digits
    names = [f"digit {i}" for i in range(10)]
    scale = 1 / 16
    for model in (BinaryRelevance(), MLkNN(), make_pipeline(MDDM(), MLkNN())):
        model.fit(train.X * scale, pd.DataFrame(train.Y, columns=names))
        predicted = model.predict(test.X * scale)
        assert list(predicted.columns) == names
        assert metrics.f1(test.Y, predicted) > 0.6


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BinaryRelevance(C=0), "C must be a finite number > 0"),
        (BinaryRelevance(n_jobs=0), "n_jobs must be"),
        (MLkNN(0), "n_neighbors must be an integer >= 1"),
        (MLkNN(smoothing=0), "smoothing must be a finite number > 0"),
        (MDDM(regularization=0), "regularization must be a finite number > 0"),
    ],
)
def test_bad_parameters(small, estimator, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)
