"""Scores of labels from classifiers of all kinds."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, lil_matrix
from scipy.special import expit, logit
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdgs.estimators._label_scores import Learner, Target, as_columns, cross_fit, fit_scorer
from sdgs.methods import BinaryRelevance
from sdgs.selection._folds import make_folds


@pytest.fixture
def data():
    """Samples and labels, of which label 1 is constant and label 3 is empty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    Y = X @ rng.standard_normal((4, 4)) + 0.5 * rng.standard_normal((80, 4)) > 0.3
    Y[:, 1], Y[:, 3] = True, False
    return X, Y


P = np.array([[0.1, 0.9], [0.6, 0.2], [0.3, 0.3]])


@pytest.mark.parametrize(
    "values",
    [
        P,
        pd.DataFrame(P, columns=["a", "b"]),
        lil_matrix(P),
        csr_array(P),
        [np.column_stack([1 - p, p]) for p in P.T],
        P.astype(np.longdouble),
    ],
    ids=["array", "DataFrame", "lil_matrix", "csr_array", "list", "longdouble"],
)
def test_forms_of_two_labels(values):
    columns = as_columns(values, 2)
    assert columns.dtype == np.float64
    np.testing.assert_array_equal(columns, P)


def test_forms_of_one_label_and_of_two_classes():
    p = P[:, 1]
    for values in (p, p[:, None], np.column_stack([1 - p, p]), [np.column_stack([1 - p, p])]):
        np.testing.assert_array_equal(as_columns(values, 1), p[:, None])
    np.testing.assert_array_equal(as_columns(p, 2), np.column_stack([-p, p]))
    with pytest.raises(ValueError, match="returned 2 columns of scores for 3 labels"):
        as_columns(P, 3)


logistic = LogisticRegression()


@pytest.mark.parametrize(
    "estimator",
    [
        logistic,
        OneVsRestClassifier(logistic),
        MultiOutputClassifier(logistic),
        make_pipeline(StandardScaler(with_mean=False, with_std=False), logistic),
        make_pipeline(StandardScaler(with_mean=False, with_std=False), OneVsRestClassifier(logistic)),
        GridSearchCV(logistic, {"C": [1.0]}, cv=2),
        GridSearchCV(MultiOutputClassifier(logistic), {"estimator__C": [1.0]}, cv=2),
    ],
    ids=["binary", "ovr", "multi-output", "pipeline", "pipeline-ovr", "search", "search-multi-output"],
)
@pytest.mark.parametrize("labels", [[0, 2], [0, 1, 2, 3], [2], [2, 3], [1, 3]])
def test_all_wrappers_of_a_classifier_give_its_log_odds(data, estimator, labels):
    X, Y = data
    Y = Y[:, labels]
    scorer = fit_scorer(Learner(estimator, {}, shrink=False), X, Target(csr_array(Y)))
    assert scorer.estimator is not estimator
    scores = scorer.scores(X[:5])
    assert scores.shape == (5, len(labels))
    for column, y in zip(scores.T, Y.T, strict=True):
        if y.all() or not y.any():
            np.testing.assert_allclose(expit(column), 81 / 82 if y[0] else 1 / 82)
        else:
            np.testing.assert_allclose(column, logistic.fit(X, y).decision_function(X[:5]), atol=1e-6)


def test_scores_of_a_decision_function_stay_as_they_are(data):
    X, Y = data
    target = Target(csr_array(Y))
    for estimator in (
        RidgeClassifier(),
        make_pipeline(StandardScaler(with_mean=False, with_std=False), RidgeClassifier()),
    ):
        scores = fit_scorer(Learner(estimator, {}), X, target).scores(X)
        np.testing.assert_allclose(
            scores[:, [0, 2]], RidgeClassifier().fit(X, Y[:, [0, 2]].astype(int)).decision_function(X)
        )
        np.testing.assert_array_equal(scores[:, [1, 3]], [[1, -1]] * len(X))


def test_methods_of_this_package_get_all_labels(data):
    X, Y = data
    model = BinaryRelevance(random_state=0)
    for estimator in (model, make_pipeline(StandardScaler(with_mean=False, with_std=False), model)):
        scorer = fit_scorer(Learner(estimator, {}), X, Target(csr_array(Y)))
        assert scorer.learnt.tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(scorer.scores(X), BinaryRelevance(random_state=0).fit(X, Y).decision_function(X))


def test_probabilities_of_0_and_1_have_finite_log_odds(data):
    X, Y = data
    forest = RandomForestClassifier(3, random_state=0)
    scorer = fit_scorer(Learner(forest, {}), X, Target(csr_array(Y)))
    p = np.column_stack([values[:, 1] for values in scorer.estimator.predict_proba(X)])
    assert {0.0, 1.0} <= set(p.ravel())
    np.testing.assert_allclose(scorer.scores(X)[:, [0, 2]], logit((80 * p + 1) / 82))


def test_classes_that_exclude_each_other(data):
    X, _ = data
    y = np.arange(80) % 3
    classes = np.array(["a", "b", "c"])
    target = Target(csr_array(np.eye(3)[y] > 0), classes)
    scorer = fit_scorer(Learner(logistic, {}, shrink=False), X, target)
    assert scorer.estimator.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(scorer.scores(X), logit(logistic.fit(X, y).predict_proba(X)), atol=1e-6)
    two = np.flatnonzero(y != 1)  # a fold without the class b
    scores = fit_scorer(Learner(logistic, {}, shrink=False), X[two], target.take(two)).scores(X)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 2], atol=1e-6)
    np.testing.assert_allclose(expit(scores[:, 1]), 1 / (two.size + 2))


def test_cross_fitted_scores_are_from_the_other_folds(data):
    X, Y = data
    Y = Y[:, [0, 2]]
    folds = make_folds(len(X), 4, 0)
    chain = ClassifierChain(logistic)
    learners = [Learner(chain, {}, shrink=False), Learner(DummyClassifier(), {}, shrink=False)]
    scorers, scores = cross_fit(learners, X, Target(csr_array(Y)), folds, None)
    np.testing.assert_allclose(scorers[0].estimator.predict_proba(X), chain.fit(X, Y).predict_proba(X))
    for train, test in folds.pairs:
        np.testing.assert_allclose(expit(scores[0][test]), chain.fit(X[train], Y[train]).predict_proba(X[test]))
        np.testing.assert_allclose(expit(scores[1][test]), np.tile(Y[train].mean(axis=0), (len(test), 1)))


class OnlyPredicts(RidgeClassifier):
    """Has neither probabilities nor scores."""

    decision_function = property()


class ReturnsNaN(RidgeClassifier):
    """Scores of NaN."""

    def decision_function(self, X):
        return np.full((len(X), 2), np.nan)


def test_a_classifier_without_usable_scores_is_rejected(data):
    X, Y = data
    target = Target(csr_array(Y))
    with pytest.raises(ValueError, match="OnlyPredicts has neither predict_proba nor decision_function"):
        fit_scorer(Learner(OnlyPredicts(), {}), X, target).scores(X)
    with pytest.raises(ValueError, match="decision_function of ReturnsNaN returned NaN"):
        fit_scorer(Learner(ReturnsNaN(), {}), X, target).scores(X)
