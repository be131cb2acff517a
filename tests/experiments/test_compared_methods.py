"""The compared methods are tuned on held-out samples."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from sdgs import metrics
from sdgs.datasets import make_composite_digits
from sdgs.experiments._compared_methods import ChainEnsemble, TunedMethod, make_compared_method, prepare_samples
from sdgs.methods import BinaryRelevance


@pytest.fixture(scope="module")
def data():
    train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(200, max_labels=2, subset="test", random_state=1)
    return train.X, train.Y, test.X, test.Y


def test_missing_entries_are_imputed_from_training_samples_only():
    X, X_test = np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([[np.nan, 100.0]])
    train, test = prepare_samples("br-mean", X, X_test, lambda _: "rows")
    np.testing.assert_allclose(train[1], np.array([3, 2]) / np.hypot(3, 2))
    np.testing.assert_allclose(test[0], np.array([2, 100]) / np.hypot(2, 100))
    unchanged = prepare_samples("forest", X, X_test, lambda _: "rows")
    assert unchanged[0] is X
    assert unchanged[1] is X_test


def test_parameters_and_decisions_are_chosen_on_held_out_samples(data):
    """A method that memorises its training samples must not gain by it."""
    X, Y, X_test, Y_test = data

    class Memorizer:
        def __init__(self, honest, seed):
            self.honest, self.seed = honest, seed

        def fit(self, X, Y):
            self.known = {x.tobytes(): y for x, y in zip(X, Y, strict=True)}
            self.svm = BinaryRelevance(1.0, random_state=0).fit(X, Y)
            return self

        def decision_function(self, X):
            if self.honest:
                return self.svm.decision_function(X)
            return np.array([10.0 * self.known.get(x.tobytes(), np.zeros(10)) for x in X])

    method = TunedMethod(Memorizer, ({"honest": False}, {"honest": True}), 0).fit(X, Y)
    assert method.parameters == {"honest": True}
    assert metrics.f1(Y_test, method.predict(X_test)[method.best_rule]) > 0.6


def test_tuned_decisions_improve_f1(data):
    X, Y, X_test, Y_test = data
    X, X_test = prepare_samples("br", X, X_test, lambda _: "rows")
    default = max(
        metrics.f1(Y_test, BinaryRelevance(C, random_state=0).fit(X, Y).predict(X_test)) for C in (0.1, 1.0, 10.0)
    )
    tuned = make_compared_method("br", 0).fit(X, Y).predict(X_test)
    assert tuned.keys() == {"expected", "threshold"}
    assert all(metrics.f1(Y_test, labels) > default for labels in tuned.values())


def test_the_forest_consists_of_classification_trees(data):
    X, Y, X_test, _ = data
    forest = make_compared_method("forest", 0).fit(X, Y)
    scores = forest.scores(X_test)
    expected = RandomForestClassifier(200, random_state=1).fit(X, Y).predict_proba(X_test)
    expected = np.column_stack([p[:, 1] for p in expected])
    assert np.abs(scores - expected).mean() < 0.03  # two random forests of the same kind


def test_chains_skip_constant_labels():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    Y = np.column_stack([X[:, :2] > 0, np.ones(600), np.zeros(600)]).astype(int)
    scores = ChainEnsemble(1.0, 0).fit(X[:400], Y[:400]).decision_function(X[400:])
    assert scores.shape == (200, 4)
    assert ((scores[:, :2] > 0) == Y[400:, :2]).mean() > 0.95
    assert (scores[:, 2:] == -1).all()
    assert np.abs(scores).max() <= 1
