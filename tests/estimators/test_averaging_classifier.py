"""AveragingClassifier."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.methods import BinaryRelevance

logistic, forest = LogisticRegression(), RandomForestClassifier(3)


STRONGER = LogisticRegression(C=0.1)  # regularised more strongly
INEXACT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the given classifiers draw samples, or stop at their tolerance"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        AveragingClassifier([("linear", logistic), ("trees", forest)]),
        AveragingClassifier([LinearSVC(), BinaryRelevance()], weights=[1, 2]),
        AveragingClassifier([logistic, STRONGER]),
    ],
    expected_failed_checks=lambda estimator: {} if estimator.estimators == [logistic, STRONGER] else INEXACT,
)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    """Training and test samples: sums of one or two handwritten digits."""
    train = make_composite_digits(500, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(300, max_labels=2, subset="test", random_state=1)
    return train.X / 16, train.Y, test.X / 16, test.Y


@pytest.mark.slow
def test_the_average_is_better_than_each(digits):
    X, Y, X_test, Y_test = digits
    estimators = [ExtraTreesClassifier(100), LogisticRegression(max_iter=1000)]
    loss = lambda model: log_loss(Y_test.ravel(), model.fit(X, Y).predict_proba(X_test).ravel())  # noqa: E731
    model = AveragingClassifier(estimators, random_state=0)
    average = loss(model)
    assert average < min(loss(DecisionClassifier(estimator, random_state=0)) for estimator in estimators)
    assert (model.weights_ > 0.1).all()
    assert model.weights_.sum() == pytest.approx(1)
    assert model.out_of_fold_probabilities_.shape == Y.shape


def test_of_one_classifier_it_is_the_decision_classifier(digits):
    X, Y, X_test, _ = digits
    one = AveragingClassifier([KNeighborsClassifier()], random_state=0).fit(X, Y)
    expected = DecisionClassifier(KNeighborsClassifier(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(one.predict_proba(X_test), expected.predict_proba(X_test), atol=1e-12)
    np.testing.assert_array_equal(one.weights_, [1])


def test_given_weights_are_scaled(digits):
    X, Y, X_test, _ = digits
    neighbours = KNeighborsClassifier()
    model = AveragingClassifier([neighbours, forest], weights=[2, 0], random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, [1, 0])
    other = AveragingClassifier([neighbours, LinearSVC()], weights=[5, 0], random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X_test), other.predict_proba(X_test))


def test_scores_and_probabilities_can_be_averaged(digits):
    X, Y, X_test, _ = digits
    model = AveragingClassifier([LinearSVC(), forest, BinaryRelevance()], random_state=0).fit(X, Y)
    assert model.predict(X_test).shape == (300, 10)
    assert [type(estimator).__name__ for estimator in model.estimators_] == [
        "OneVsRestClassifier",
        "RandomForestClassifier",
        "BinaryRelevance",
    ]


def test_a_1d_target(digits):
    X, Y, X_test, _ = digits
    y = np.array(list("abcdefghij"))[Y.argmax(axis=1)]
    model = AveragingClassifier([KNeighborsClassifier(), forest], random_state=0).fit(X, y)
    assert set(model.predict(X_test)) <= set("abcdefghij")
    np.testing.assert_allclose(model.predict_proba(X_test).sum(axis=1), 1)


@pytest.mark.parametrize("has_names", [True, False])
def test_parameters_of_the_classifiers(has_names):
    names = ("a", "b") if has_names else ("logisticregression", "randomforestclassifier")
    estimators = list(zip(names, (logistic, forest), strict=True)) if has_names else [logistic, forest]
    model = AveragingClassifier(estimators)
    params = model.get_params()
    assert params[names[0]] is logistic
    assert params[f"{names[1]}__n_estimators"] == 3
    assert f"{names[1]}__n_estimators" not in model.get_params(deep=False)
    copy = clone(model).set_params(**{f"{names[1]}__n_estimators": 7, "cv": 2})
    assert copy.get_params()[f"{names[1]}__n_estimators"] == 7
    assert copy.cv == 2
    assert forest.n_estimators == 3
    svm = LinearSVC()
    copy.set_params(**{names[0]: svm, "metric": "accuracy"})
    assert copy.estimators[0] == ((names[0], svm) if has_names else svm)
    copy.set_params(estimators=[svm])
    assert copy.get_params()["linearsvc"] is svm
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(nothing=1)


@pytest.mark.slow
def test_a_search_over_parameters_of_a_classifier(digits):
    X, Y, _, _ = digits
    model = AveragingClassifier([("trees", forest), ("neighbours", KNeighborsClassifier())], cv=2, random_state=0)
    search = GridSearchCV(model, {"neighbours__n_neighbors": [1, 5], "trees": [forest, ExtraTreesClassifier(3)]}, cv=2)
    assert set(search.fit(X[:200], Y[:200]).best_params_) == {"neighbours__n_neighbors", "trees"}


def test_metadata_go_to_the_classifiers_that_ask(digits):
    X, Y, X_test, _ = digits
    weights = np.r_[np.ones(250), np.zeros(250)]
    with config_context(enable_metadata_routing=True):
        weighted = LogisticRegression().set_fit_request(sample_weight=True)
        model = AveragingClassifier([("a", weighted), ("b", KNeighborsClassifier())], random_state=0)
        model.fit(X, Y, sample_weight=weights)
    P = model.estimators_[0].predict_proba(X_test)
    expected = OneVsRestClassifier(logistic).fit(X[:250], Y[:250]).predict_proba(X_test)
    np.testing.assert_allclose(P, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimators": []}, "at least one classifier"),
        ({"estimators": logistic}, "estimators must be a list"),
        ({"estimators": {"a": logistic}}, "estimators must be a list"),
        ({"estimators": [("a", logistic), forest]}, "all be without a name"),
        ({"estimators": [("a", logistic), ("a", forest)]}, "the name 'a'"),
        ({"estimators": [("cv", logistic)]}, "the name 'cv'"),
        ({"estimators": [("a__b", logistic)]}, "the name 'a__b'"),
        ({"estimators": [("a", "logistic")]}, "a must be a classifier"),
        ({"weights": "equal"}, "weights must be one of 'auto'"),
        ({"weights": [1]}, "one number for each of the 2 classifiers"),
        ({"weights": [1, -1]}, "weights must be a finite number >= 0"),
        ({"weights": [0, 0]}, "weights must not all be 0"),
        ({"metric": "precision"}, "metric must be one of"),
    ],
)
def test_bad_parameters_are_rejected(digits, parameters, message):
    X, Y, _, _ = digits
    with pytest.raises(ValueError, match=message):
        AveragingClassifier(**{"estimators": [logistic, forest], **parameters}).fit(X, Y)


@pytest.mark.slow
def test_with_our_own_classifier(digits):
    X, Y, X_test, Y_test = digits
    model = AveragingClassifier([SDGSClassifier(), ExtraTreesClassifier()], random_state=0).fit(X, Y)
    assert np.mean(model.predict(X_test) == Y_test) > 0.95
