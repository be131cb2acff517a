"""DecisionClassifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import DecisionClassifier, SDGSClassifier, metrics
from sdgs.datasets import tickets_path
from sdgs.methods import BinaryRelevance, MLkNN
from sdgs.readout._calibration import fit_calibration
from sdgs.readout._decision import DECISION_RULES, best_expected_f1, tune_decision

logistic = LogisticRegression()


INEXACT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the given classifier draws samples, or stops at its tolerance"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        DecisionClassifier(logistic),
        DecisionClassifier(LinearSVC()),
        DecisionClassifier(RandomForestClassifier(3)),
        DecisionClassifier(BinaryRelevance(), calibration=None, decision="threshold"),
    ],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator.estimator, LogisticRegression) else INEXACT,
)
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Samples, labels of different frequency, and test samples and their labels."""
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((500, 6)), rng.standard_normal((6, 5))
    Y = X @ coef + rng.standard_normal((500, 5)) > [0.5, 1, 2, 3, 4]
    return X[:300], Y[:300].astype(int), X[300:], Y[300:].astype(int)


def test_an_independent_computation(data):
    X, Y, X_test, _ = data
    model = DecisionClassifier(OneVsRestClassifier(logistic), random_state=5).fit(X, Y)
    scores = np.empty(Y.shape)
    shrunk = lambda P, n: logit((P * n + 1) / (n + 2))  # noqa: E731
    for train, test in KFold(3, shuffle=True, random_state=5).split(X):
        for label, y in enumerate(Y[train].T):
            scores[test, label] = shrunk(logistic.fit(X[train], y).predict_proba(X[test])[:, 1], len(train))
    calibration = fit_calibration(scores, Y)
    np.testing.assert_allclose(model.out_of_fold_probabilities_, calibration.probabilities(scores), atol=1e-6)
    of_test = np.column_stack([shrunk(logistic.fit(X, y).predict_proba(X_test)[:, 1], 300) for y in Y.T])
    P = calibration.probabilities(of_test)
    np.testing.assert_allclose(model.predict_proba(X_test), P, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X_test), logit(P), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X_test), best_expected_f1(P, allow_empty=True))
    np.testing.assert_array_equal(model.out_of_fold_rows_, np.arange(300))


@pytest.mark.parametrize(
    "estimator", [OneVsRestClassifier(logistic), ExtraTreesClassifier(50), BinaryRelevance(), MLkNN()], ids=repr
)
def test_decisions_are_better_than_a_threshold(data, estimator):
    X, Y, X_test, Y_test = (array[:, :] for array in data)
    Y, Y_test = (np.where(y.any(axis=1)[:, None], y, [[0, 0, 0, 0, 1]]) for y in (Y, Y_test))
    before = metrics.f1(Y_test, clone(estimator).fit(X, Y).predict(X_test))
    model = DecisionClassifier(estimator, random_state=0).fit(X, Y)
    assert metrics.f1(Y_test, model.predict(X_test)) > before + 0.02
    assert model.predict(X_test).any(axis=1).all()


def test_without_calibration_and_with_one_half_it_is_the_classifier(data):
    X, Y, X_test, _ = data
    for estimator in (
        OneVsRestClassifier(logistic),
        RandomForestClassifier(random_state=0),
        BinaryRelevance(random_state=0),
    ):
        model = DecisionClassifier(estimator, calibration=None, decision=0.5, at_least_one=False).fit(X, Y)
        expected = clone(estimator).fit(X, Y)
        differs = model.predict(X_test) != expected.predict(X_test)
        # A forest predicts 0 at exactly one half.
        assert not differs[~np.isclose(model.predict_proba(X_test), 0.5)].any()
        if hasattr(estimator, "predict_proba") and not isinstance(estimator, RandomForestClassifier):
            np.testing.assert_allclose(model.predict_proba(X_test), expected.predict_proba(X_test), atol=1e-9)


@pytest.mark.parametrize("rule", [*DECISION_RULES, 0.3, 2, [0.1, 0.2, 0.3, 0.4, 0.5]])
@pytest.mark.parametrize("metric", ["f1", "hamming_loss"])
def test_rules_are_those_of_the_read_out(data, rule, metric):
    X, Y, X_test, _ = data
    model = DecisionClassifier(logistic, decision=rule, metric=metric, at_least_one=False, random_state=0).fit(X, Y)
    P, P_test = model.out_of_fold_probabilities_, model.predict_proba(X_test)
    if isinstance(rule, str):
        # Tuned in full precision, so that a threshold may differ by rounding.
        expected = tune_decision(rule, metric, P.astype(float), Y, at_least_one=False).decide(P_test)
        assert np.mean(model.predict(X_test) == expected) > 0.99
    elif rule == 2:
        assert (model.predict(X_test).sum(axis=1) == 2).all()
    else:
        np.testing.assert_array_equal(model.predict(X_test), P_test >= rule)


def test_forms_of_the_target(data):
    X, Y, X_test, _ = data
    expected = DecisionClassifier(logistic, random_state=0).fit(X, Y)
    sparse = DecisionClassifier(logistic, random_state=0).fit(csr_array(X), csr_array(Y)).predict(csr_array(X_test))
    assert issparse(sparse)
    assert np.mean(sparse.toarray() == expected.predict(X_test)) > 0.999
    names = [f"label {j}" for j in range(5)]
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(6)])
    model = DecisionClassifier(logistic, random_state=0).fit(frame, pd.DataFrame(Y.astype(bool), columns=names))
    predicted = model.predict(frame.iloc[5:9])
    assert list(predicted.columns) == names
    assert list(predicted.index) == [5, 6, 7, 8]
    assert all(dtype is np.dtype(bool) for dtype in predicted.dtypes)
    np.testing.assert_array_equal(predicted.to_numpy(), expected.predict(X[5:9]))
    np.testing.assert_allclose(model.predict_proba(frame.iloc[5:9]).to_numpy(), expected.predict_proba(X[5:9]))
    assert list(model.feature_names_in_) == list(frame.columns)
    one = DecisionClassifier(logistic, random_state=0).fit(X, pd.DataFrame(Y[:, :1], columns=["a"]))
    assert one.predict(X_test).shape == (len(X_test), 1)
    assert one.predict_proba(X_test).shape == (len(X_test), 1)


def test_a_1d_target():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DecisionClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(X, names)
    assert model.score(X, names) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    two = DecisionClassifier(LinearSVC(), random_state=0).fit(X[:100], names[:100])
    assert two.decision_function(X).shape == (150,)
    assert two.predict_proba(X).shape == (150, 2)
    assert two.score(X[:100], names[:100]) == 1
    only = DecisionClassifier(LinearSVC()).fit(X[:50], names[:50])
    assert only.estimator_ is None
    assert set(only.predict(X)) == {"setosa"}


@pytest.mark.parametrize("estimator", [logistic, LinearSVC(), RandomForestClassifier(5), BinaryRelevance()], ids=repr)
def test_labels_that_are_rare_constant_or_empty(data, estimator):
    X, Y, X_test, _ = data
    Y = np.column_stack([Y, np.zeros(300, int), np.ones(300, int), np.arange(300) == 7, Y[:, 0]])
    model = DecisionClassifier(estimator, random_state=0).fit(X, Y)
    P, predicted = model.predict_proba(X_test), model.predict(X_test)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P[:, 5], 1 / 302)
    np.testing.assert_allclose(P[:, 6], 301 / 302)
    assert not predicted[:, 5].any()
    assert predicted[:, 6].all()
    assert predicted[:, 7].mean() < 0.1
    constant = DecisionClassifier(estimator).fit(X, Y[:, [5, 6]])
    np.testing.assert_array_equal(constant.predict(X_test), [[0, 1]] * len(X_test))


@pytest.mark.slow
def test_samples_of_any_kind_are_passed_on():
    table = pd.read_csv(tickets_path()).fillna({"plan": "unknown"})
    Y = table.pop("tags").str.get_dummies(";").to_numpy()
    texts = DecisionClassifier(make_pipeline(CountVectorizer(), logistic), random_state=0)
    expected = texts.fit(table["message"], Y).predict(table["message"])
    assert metrics.f1(Y, expected) > 0.8
    for samples in (list(table["message"]), table["message"].to_numpy(dtype=object)):
        np.testing.assert_array_equal(texts.fit(samples, Y).predict(samples), expected)
    encoder = make_column_transformer((OneHotEncoder(), ["plan"]), (CountVectorizer(), "message"))
    columns = DecisionClassifier(make_pipeline(encoder, logistic), random_state=0).fit(table, Y)
    assert np.mean(columns.predict(table) == expected) > 0.9


def test_the_given_classifier_is_not_changed(data):
    X, Y, _, _ = data
    forest = RandomForestClassifier(3)
    before = forest.get_params()
    model = DecisionClassifier(forest, random_state=3).fit(X, Y)
    assert forest.get_params() == before
    assert not hasattr(forest, "estimators_")
    assert model.estimator_.random_state == 3  # so that results can be repeated
    assert (
        DecisionClassifier(RandomForestClassifier(3, random_state=1), random_state=3).fit(X, Y).estimator_.random_state
        == 1
    )


@pytest.mark.slow
def test_results_do_not_depend_on_jobs_and_survive_pickle(data):
    X, Y, X_test, _ = data
    model = DecisionClassifier(RandomForestClassifier(5), random_state=0).fit(X, Y)
    expected = model.predict_proba(X_test)
    parallel = DecisionClassifier(RandomForestClassifier(5), random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(parallel.predict_proba(X_test), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X_test), expected)


def test_sample_weights_are_routed(data):
    X, Y, X_test, _ = data
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        DecisionClassifier(logistic).fit(X, Y, groups=weights)
    with config_context(enable_metadata_routing=True):
        weighted = clone(logistic).set_fit_request(sample_weight=True)
        for estimator in (weighted, OneVsRestClassifier(weighted)):
            model = DecisionClassifier(estimator, random_state=0, calibration=None)
            P = model.fit(X, Y, sample_weight=weights).predict_proba(X_test)
            repeated = np.repeat(np.arange(len(X)), weights)
            expected = OneVsRestClassifier(logistic).fit(X[repeated], Y[repeated]).predict_proba(X_test)
            np.testing.assert_allclose(P, expected, atol=1e-4)


def test_a_failed_fit_changes_nothing(data):
    X, Y, X_test, _ = data
    model = DecisionClassifier(logistic, random_state=0).fit(X, Y)
    expected = model.predict_proba(X_test)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full(X.shape, np.nan), Y)
    np.testing.assert_array_equal(model.predict_proba(X_test), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LinearRegression()}, "estimator must be a classifier"),
        ({"estimator": LogisticRegression}, "estimator must be a classifier"),
        ({"metric": "precision"}, "metric must be one of"),
        ({"decision": "best"}, "decision must be one of"),
        ({"decision": [0.5, 0.5]}, "one for each of the 5 labels"),
        ({"at_least_one": 3}, "at_least_one must be one of"),
        ({"cv": 1}, "cv must be an integer >= 2"),
        ({"calibration": "sigmoid"}, "calibration must be one of 'auto', None"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": "a"}, "random_state must be"),
    ],
)
def test_bad_parameters_are_rejected(data, parameters, message):
    X, Y, _, _ = data
    with pytest.raises(ValueError, match=message):
        DecisionClassifier(**{"estimator": logistic, **parameters}).fit(X, Y)


@pytest.mark.slow
def test_around_our_own_classifier_it_changes_little(digits):
    train, test = digits
    plain = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    model = DecisionClassifier(SDGSClassifier(random_state=0), random_state=0).fit(train.X, train.Y)
    assert np.mean(plain.predict(test.X) == model.predict(test.X)) > 0.98
    assert np.abs(plain.predict_proba(test.X) - model.predict_proba(test.X)).mean() < 0.02
    assert expit(model.decision_function(test.X)).max() <= 1
