"""Stacked binary relevance."""

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from sdgs.methods import StackedRelevance
from sdgs.methods._stacked_relevance import most_correlated_labels


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 5))
    Y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((160, 4)) > 0.3).astype(int)
    return X[:120], Y[:120], X[120:]


@pytest.mark.parametrize("passthrough", [False, True])
def test_agrees_with_the_definition(problem, passthrough):
    X, Y, X_test = problem
    model = StackedRelevance(passthrough=passthrough, cv=4, random_state=0).fit(X, Y)
    Z = model.out_of_fold_probabilities_
    P = np.empty((40, 4))
    Z_test = np.column_stack([LogisticRegression().fit(X, y).predict_proba(X_test)[:, 1] for y in Y.T])
    train, test = (np.hstack([X, Z]), np.hstack([X_test, Z_test])) if passthrough else (Z, Z_test)
    P = np.column_stack([LogisticRegression().fit(train, y).predict_proba(test)[:, 1] for y in Y.T])
    np.testing.assert_allclose(model.predict_proba(X_test), P, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X_test), P > 0.5)


def test_probabilities_are_out_of_fold(problem):
    X, Y, _ = problem
    # The nearest neighbour of a sample is the sample itself, if it is there.
    model = StackedRelevance(KNeighborsClassifier(1), final_estimator=LogisticRegression(), random_state=0).fit(X, Y)
    agreement = (model.out_of_fold_probabilities_ == Y).mean()
    assert 0.5 < agreement < 0.9
    assert all(isinstance(each, LogisticRegression) for each in model.final_estimators_)


def test_as_many_folds_as_samples_leave_one_out(problem):
    X, Y, _ = problem
    model = StackedRelevance(cv=500, random_state=0).fit(X[:30], Y[:30])
    expected = [
        LogisticRegression().fit(np.delete(X[:30], i, 0), np.delete(Y[:30, 0], i)).predict_proba(X[[i]])[0, 1]
        for i in range(30)
    ]
    np.testing.assert_allclose(model.out_of_fold_probabilities_[:, 0], expected, atol=1e-6)


def test_one_label_is_recalibrated(problem):
    X, Y, X_test = problem
    model = StackedRelevance(random_state=0).fit(X, Y[:, 0])
    first = LogisticRegression().fit(X, Y[:, 0]).predict_proba(X_test)[:, 1]
    np.testing.assert_array_equal(rankdata(model.predict_proba(X_test)[:, 1]), rankdata(first))


def test_most_correlated_labels():
    rng = np.random.default_rng(0)
    Y = rng.random((200, 6)) < 0.3
    Y[:, 1], Y[:, 4], Y[:, 5] = ~Y[:, 0], Y[:, 3] ^ (rng.random(200) < 0.1), False
    inputs = most_correlated_labels(Y, 2)
    assert [list(labels) for labels in inputs[:2]] == [[0, 1], [0, 1]]
    assert [list(labels) for labels in inputs[3:5]] == [[3, 4], [3, 4]]
    assert 5 in inputs[5]
    phi = np.abs(np.corrcoef(Y[:, :5].T)) + np.eye(5)
    for number in (1, 3, 5):
        for label, labels in enumerate(most_correlated_labels(Y[:, :5], number)):
            assert label in labels
            assert phi[label, labels].sum() == pytest.approx(np.sort(phi[label])[-number:].sum())  # there are ties


def test_the_second_stage_learns_from_some_labels(problem):
    X, Y, _ = problem
    model = StackedRelevance(max_labels=0.5, random_state=0).fit(X, Y)
    assert [each.n_features_in_ for each in model.final_estimators_] == [2] * 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"final_estimator": "svm"}, "final_estimator must be None or a scikit-learn classifier"),
        ({"passthrough": "yes"}, "passthrough must be one of"),
        ({"max_labels": 2}, "max_labels must be a share"),
        ({"cv": 1}, "cv must be an integer >= 2"),
    ],
)
def test_bad_parameters_are_rejected(problem, parameters, message):
    X, Y, _ = problem
    with pytest.raises(ValueError, match=message):
        StackedRelevance(**parameters).fit(X, Y)


def test_one_sample_is_rejected():
    with pytest.raises(ValueError, match="at least 2 samples"):
        StackedRelevance().fit([[1.0, 2.0]], [[1, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("passthrough", "expected"),
    [
        (False, [0.2054, 0.2475, 0.5767, 0.5000, 0.6498, 0.6084, 0.1371, 0.8315, 0.2426, 1.723]),
        (True, [0.2137, 0.2426, 0.6058, 0.5190, 0.6533, 0.6409, 0.1573, 0.8149, 0.2525, 1.852]),
    ],
)
def test_reference_values_of_emotions(emotions, measures, passthrough, expected):
    X, Y, X_test, Y_test = emotions
    model = StackedRelevance(LogisticRegression(max_iter=2000), passthrough=passthrough, random_state=0).fit(X, Y)
    values = measures(Y_test, model.predict(X_test), model.predict_proba(X_test))
    np.testing.assert_allclose(list(values.values())[:9], expected[:9], atol=0.03)
