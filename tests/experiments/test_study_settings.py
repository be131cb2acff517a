"""The settings of a published study: what they imitate, against slow references."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from sdgs.experiments._study_settings import (
    THRESHOLDS,
    CalibratedSVC,
    best_sets,
    decide,
    fit_predict,
    homer_scores,
    method_scores,
    own_neighbour_scores,
    tune,
)
from sdgs.methods._label_powerset import fit_powerset

# Calibrations of separable scores have their optimum far away, and may stop before.
pytestmark = pytest.mark.filterwarnings("ignore:The inner solver")
METHODS = ("BR", "LP", "CC", "ECC", "RAkEL", "HOMER", "MBR", "ML-kNN")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(90, 6))
    Y = ((X - 0.5) @ rng.normal(size=(6, 5)) + 0.1 * rng.normal(size=(90, 5)) > 0).astype(int)
    Y[:, 0] |= ~Y.any(axis=1)  # no sample without labels
    return X[:60], Y[:60], X[60:]


@pytest.mark.parametrize("method", METHODS)
def test_sparse_samples_are_predicted_like_dense_ones(data, method):
    X, Y, X_test = data
    X, X_test = X / X.max(axis=0) * (X > 0.2), X_test / X.max(axis=0) * (X_test > 0.2)
    X[0] = 0  # the minimum that the scaling of dense samples finds
    settings = {"C": 8.0, "gamma": 0.5, "n_neighbors": 6}
    dense = fit_predict(method, X, Y, X_test, 0, settings)
    sparse = fit_predict(method, csr_array(X), Y, csr_array(X_test), 0, settings)
    assert dense.shape == (30, 5)
    assert np.mean(dense != sparse) < 0.02  # rounding


def test_the_threshold_gives_the_number_of_labels_of_training_samples():
    scores = np.random.default_rng(0).uniform(size=(200, 5))
    for share in (0.1, 0.3, 0.6):
        Y = np.zeros((100, 5))
        Y.flat[: round(share * Y.size)] = 1
        predicted = decide(scores, Y)
        assert predicted.mean() == pytest.approx(share, abs=0.03)  # thresholds are 0.05 apart
        assert any((predicted == (scores > threshold)).all() for threshold in THRESHOLDS)


def test_tuning_finds_a_machine_that_is_not_constant(data):
    X, Y, _ = data
    settings = tune("LP", X, Y, 0)
    assert settings["C"] * settings["gamma"] > 0.01
    assert tune("ECC", X, Y, 0) == {}


def test_calibration_is_fitted_to_training_scores():
    X = np.concatenate([np.linspace(0, 0.4, 20), np.linspace(0.6, 1, 20)])[:, None]
    y = np.repeat([0, 1], 20)
    probability = CalibratedSVC(C=100.0, gamma=1.0).fit(X, y).predict_proba(X)[:, 1]
    assert probability[y == 1].min() > 0.999  # a separable problem: scores of training samples are certain
    assert probability[y == 0].max() < 0.001


def test_stacking_learns_from_features_and_training_probabilities(data):
    X, Y, X_test = data
    machine = CalibratedSVC(C=2.0, gamma=0.5)
    first = OneVsRestClassifier(machine).fit(X, Y)
    inputs, inputs_test = (np.hstack([A, first.predict_proba(A)]) for A in (X, X_test))
    expected = OneVsRestClassifier(machine).fit(inputs, Y).predict_proba(inputs_test)
    result = method_scores("MBR", {"C": 2.0, "gamma": 0.5}, X, Y, X_test, 0)
    np.testing.assert_allclose(result, expected, atol=5e-3)  # the tolerance of the machine


def test_training_samples_are_their_own_neighbours(data):
    X, Y, X_test = data
    K, n = 4, len(Y)

    def count(x, label):
        return Y[np.argsort(((X - x) ** 2).sum(axis=1))[:K], label].sum()

    for label in range(Y.shape[1]):
        counts = np.array([count(x, label) for x in X])
        prior = (1 + Y[:, label].sum()) / (2 + n)
        for i, x in enumerate(X_test[:5]):
            joint = []
            for value, share in ((0, 1 - prior), (1, prior)):
                having = Y[:, label] == value
                joint.append(share * (1 + (counts[having] == count(x, label)).sum()) / (K + 1 + having.sum()))
            assert own_neighbour_scores(X, Y, X_test, K)[i, label] == pytest.approx(joint[1] / sum(joint))


def test_votes_are_those_of_pairs_of_sets(data):
    X, Y, X_test = data
    kernel, kernel_test = rbf_kernel(X, gamma=1.0), rbf_kernel(X_test, X, gamma=1.0)
    powerset = fit_powerset(SVC(C=8.0, kernel="precomputed"), kernel, Y[:, :3].astype(bool), None)
    m = len(powerset.sets)
    assert m > 2
    codes = (Y[:, None, :3] == powerset.sets).all(axis=2).argmax(axis=1)
    pairs = SVC(C=8.0, kernel="precomputed", decision_function_shape="ovo").fit(kernel, codes)
    votes = np.zeros((len(X_test), m))
    for (a, b), scores in zip(
        zip(*np.triu_indices(m, 1), strict=True), pairs.decision_function(kernel_test).T, strict=True
    ):
        votes[:, a] += scores > 0
        votes[:, b] += scores <= 0
    sets, share = best_sets(powerset, kernel_test)
    np.testing.assert_allclose(share, votes.max(axis=1) / (m * (m - 1) / 2))
    chosen = (sets[:, None] == powerset.sets).all(axis=2).argmax(axis=1)
    np.testing.assert_array_equal(votes[np.arange(len(votes)), chosen], votes.max(axis=1))


def test_homer_reproduces_labels_that_its_nodes_learn(data):
    X, Y, _ = data
    kernel = rbf_kernel(X, gamma=50.0)
    scores = homer_scores(SVC(C=1e6, kernel="precomputed"), 2, kernel, Y, kernel, 0)
    np.testing.assert_array_equal(scores > 0.5, Y.astype(bool))
    assert 0 < scores[Y == 0].max() < 0.5  # below groups that are not predicted
