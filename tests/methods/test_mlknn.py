"""ML-kNN."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdgs.methods import MLkNN


def posterior_by_definition(X, Y, X_test, K, s):
    """The algorithm of Zhang and Zhou, one entry at a time."""
    n, k = Y.shape

    def neighbours(x, excluded=None):
        distance = [np.sum((x - X[i]) ** 2) if i != excluded else np.inf for i in range(n)]
        return sorted(range(n), key=distance.__getitem__)[:K]

    posterior = np.zeros((len(X_test), k))
    for label in range(k):
        prior = (s + sum(Y[:, label])) / (2 * s + n)
        with_label, without = [0] * (K + 1), [0] * (K + 1)
        for i in range(n):
            c = sum(Y[j, label] for j in neighbours(X[i], excluded=i))
            (with_label if Y[i, label] else without)[c] += 1
        for t, x in enumerate(X_test):
            c = sum(Y[j, label] for j in neighbours(x))
            yes = prior * (s + with_label[c]) / (s * (K + 1) + sum(with_label))
            no = (1 - prior) * (s + without[c]) / (s * (K + 1) + sum(without))
            posterior[t, label] = yes / (yes + no)
    return posterior


@pytest.mark.parametrize(("K", "s"), [(1, 1.0), (5, 1.0), (10, 0.3)])
def test_agrees_with_the_definition(small, K, s):
    X, Y, X_test = small
    model = MLkNN(K, smoothing=s).fit(X, Y)
    expected = posterior_by_definition(X, Y, X_test, K, s)
    np.testing.assert_allclose(model.decision_function(X_test), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X_test), expected > 0.5)
    np.testing.assert_allclose(
        MLkNN(K, smoothing=s).fit(csr_array(X), Y).decision_function(X_test), expected, rtol=1e-9
    )


def test_a_sample_is_not_its_own_neighbour():
    # Two far pairs of equal samples with opposite labels: a sample's nearest other sample always disagrees with it.
    X = np.array([[0.0], [0.0], [9.0], [9.0]])
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    model = MLkNN(1).fit(X, Y)
    np.testing.assert_allclose(model.likelihood_[1, 0], [3 / 4, 1 / 4])
    assert MLkNN(50).fit(X, Y).likelihood_.shape == (2, 2, 4)
    with pytest.raises(ValueError, match="at least 2 samples"):
        MLkNN().fit(X[:1], csr_array([[1, 0]]))
