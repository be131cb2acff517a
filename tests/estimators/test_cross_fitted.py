"""What DecisionClassifier and AveragingClassifier share: weights of samples, unobserved labels and given splits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, LeaveOneGroupOut, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, load
from sdgs.methods import (
    BinaryRelevance,
    HierarchicalRelevance,
    LabelPowerset,
    MLkNN,
    ReducedRankRidgeCV,
    SparseLowRankCV,
)
from sdgs.readout._calibration import fit_calibration
from sdgs.readout._decision import tune_decision

logistic = LogisticRegression()


@pytest.fixture
def data():
    """Samples, labels, of which a quarter is unobserved, weights and test samples."""
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((240, 5)), rng.standard_normal((5, 4))
    Y = (X @ coef + rng.standard_normal((240, 4)) > [0, 0.5, 1, 1.5]).astype(float)
    Y[rng.random(Y.shape) < 0.25] = np.nan
    return X[:200], Y[:200], rng.integers(0, 4, 200).astype(float), X[200:]


def shrunk_log_odds(model, X, n):
    return logit((model.predict_proba(X)[:, 1] * n + 1) / (n + 2))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "estimator", [logistic, OneVsRestClassifier(logistic), HierarchicalRelevance(logistic)], ids=repr
)
def test_an_independent_computation(data, estimator, weighted):
    """Fits, calibration and decision with weights, on observed labels; samples of weight 0 are in no fold."""
    X, Y, weight, X_test = data
    model = DecisionClassifier(estimator, decision="thresholds", random_state=5)
    model.fit(X, Y, weight if weighted else None)
    rows = np.flatnonzero(weight) if weighted else np.arange(200)
    X, Y, weight = X[rows], Y[rows], weight[rows] if weighted else np.ones(len(rows))
    scores = np.empty(Y.shape)
    for train, test in KFold(3, shuffle=True, random_state=5).split(X):
        for label, y in enumerate(Y.T):
            known = train[~np.isnan(y[train])]
            fit = clone(logistic).fit(X[known], y[known], weight[known])
            scores[test, label] = shrunk_log_odds(fit, X[test], weight[known].sum())
    calibration = fit_calibration(scores, Y, sample_weight=weight)
    P = calibration.probabilities(scores)
    np.testing.assert_array_equal(model.out_of_fold_rows_, rows)
    np.testing.assert_allclose(model.out_of_fold_probabilities_, P, atol=1e-5)
    of_test = np.empty((len(X_test), 4))
    for label, y in enumerate(Y.T):
        known = ~np.isnan(y)
        fit = clone(logistic).fit(X[known], y[known], weight[known])
        of_test[:, label] = shrunk_log_odds(fit, X_test, weight[known].sum())
    np.testing.assert_allclose(model.predict_proba(X_test), calibration.probabilities(of_test), atol=1e-5)
    decision = tune_decision("thresholds", "f1", P, Y, at_least_one=False, sample_weight=weight)
    np.testing.assert_allclose(model._decision.thresholds, decision.thresholds, atol=1e-5)


ENSEMBLES = [
    DecisionClassifier(logistic),
    DecisionClassifier(OneVsRestClassifier(RidgeClassifier()), decision="threshold", metric="accuracy"),
    DecisionClassifier(BinaryRelevance(tol=1e-10, max_iter=100_000), metric="micro_f1", label_weight="balanced"),
    AveragingClassifier([logistic, GaussianNB()]),
    AveragingClassifier([HierarchicalRelevance(), RidgeClassifier()], weights=[1, 2]),
]


@pytest.mark.parametrize("unobserved", [False, True])
@pytest.mark.parametrize("model", ENSEMBLES, ids=repr)
def test_weights_are_numbers_of_copies(data, model, unobserved):
    X, Y, weight, X_test = data
    Y = Y if unobserved else np.nan_to_num(Y)
    Y = np.column_stack([Y, np.ones(len(Y))])
    groups = np.random.default_rng(1).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight.astype(int))
    fitted = []
    for rows, sample_weight in ((np.arange(len(X)), weight), (copies, None)):
        splits = list(LeaveOneGroupOut().split(X[rows], groups=groups[rows]))
        fitted.append(clone(model).set_params(cv=splits).fit(X[rows], Y[rows], sample_weight=sample_weight))
    P, expected = (each.predict_proba(X_test) for each in fitted)
    np.testing.assert_allclose(P, expected, atol=1e-5)
    assert np.mean(fitted[0].predict(X_test) == fitted[1].predict(X_test)) > 0.99


def test_all_forms_of_unobserved_labels(data):
    X, Y, _, X_test = data
    expected = DecisionClassifier(logistic, random_state=0).fit(X, Y).predict_proba(X_test)
    sparse = csr_array(np.nan_to_num(Y, nan=2.0))
    sparse.data[sparse.data == 2] = np.nan
    np.testing.assert_array_equal(
        DecisionClassifier(logistic, random_state=0).fit(X, sparse).predict_proba(X_test), expected
    )
    frame = pd.DataFrame(Y, columns=list("abcd")).astype("Int64")
    model = DecisionClassifier(logistic, random_state=0).fit(X, frame)
    np.testing.assert_array_equal(model.predict_proba(X_test).to_numpy(), expected)
    assert (model.predict(X_test).dtypes == "Int64").all()


def test_which_classifiers_take_unobserved_labels(data):
    X, Y, _, X_test = data
    forest = DecisionClassifier(RandomForestClassifier(5), random_state=0).fit(X, Y)
    assert isinstance(forest.estimator_, OneVsRestClassifier)  # one forest per label
    assert forest.predict(X_test).any()
    one = DecisionClassifier(logistic, random_state=0).fit(X, pd.DataFrame(Y[:, :1], columns=["a"]))
    assert isinstance(one.estimator_, LogisticRegression)
    for estimator in (MultiOutputClassifier(logistic), LabelPowerset(), MLkNN()):
        model = DecisionClassifier(estimator)
        assert not get_tags(model).target_tags.allow_nan
        with pytest.raises(ValueError, match=r"labels are missing in \d+ of 200 rows.*DecisionClassifier around"):
            model.fit(X, Y)
        assert not get_tags(AveragingClassifier([logistic, estimator])).target_tags.allow_nan
    nested = AveragingClassifier([DecisionClassifier(logistic), BinaryRelevance()], random_state=0)
    assert get_tags(nested).target_tags.allow_nan
    assert nested.fit(X, Y).predict_proba(X_test).shape == (40, 4)


def test_classifiers_that_take_no_weights_are_warned_of(data):
    X, Y, weight, X_test = data
    Y = np.nan_to_num(Y)
    models = [
        ("near", KNeighborsClassifier()),
        ("scaled", make_pipeline(StandardScaler(), logistic)),
        ("own", logistic),
    ]
    averaged = AveragingClassifier(models, random_state=0)
    with pytest.warns(UserWarning, match="sample_weight is not passed to near, scaled, because fit does not take it"):
        averaged.fit(X, Y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        averaged.fit(X, Y)
    with pytest.warns(UserWarning, match="not passed to estimator"):
        model = DecisionClassifier(KNeighborsClassifier(), random_state=0).fit(X, Y, weight)
    plain = DecisionClassifier(KNeighborsClassifier(), random_state=0).fit(X[weight > 0], Y[weight > 0])
    assert np.abs(model.predict_proba(X_test) - plain.predict_proba(X_test)).max() > 1e-3  # calibrated with weights


def test_metadata_routing_passes_weights_on_and_they_count_in_the_calibration(data):
    X, Y, weight, X_test = data
    Y = np.nan_to_num(Y)
    expected = DecisionClassifier(logistic, random_state=0).fit(X, Y, weight).predict_proba(X_test)
    with config_context(enable_metadata_routing=True):
        requesting = clone(logistic).set_fit_request(sample_weight=True)
        scaler = StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False)
        for estimator in (requesting, OneVsRestClassifier(requesting), make_pipeline(scaler, requesting)):
            model = DecisionClassifier(estimator, random_state=0).fit(X, Y, sample_weight=weight)
            np.testing.assert_allclose(model.predict_proba(X_test), expected, atol=1e-7)
        ignoring = clone(logistic).set_fit_request(sample_weight=False)
        model = DecisionClassifier(ignoring, random_state=0).fit(X, Y, sample_weight=weight)
        assert np.abs(model.predict_proba(X_test) - expected).max() > 1e-3


def test_a_1d_target_and_samples_in_lists():
    words = np.array(["red", "green", "blue"])
    y = np.arange(60) % 3
    texts = [f"{words[i]} {words[(i * 7 + k) % 3]}" for k, i in enumerate(y)]
    weight = np.arange(60) % 4
    estimator = make_pipeline(CountVectorizer(), logistic)
    splits = list(KFold(3, shuffle=True, random_state=0).split(texts))
    with pytest.warns(UserWarning, match="is not passed to estimator"):
        model = DecisionClassifier(estimator, cv=splits).fit(texts, words[y], weight)
    assert model.score(texts, words[y]) > 0.5
    np.testing.assert_array_equal(model.out_of_fold_rows_, np.flatnonzero(weight))
    X = CountVectorizer().fit_transform(texts).toarray()
    for estimator in (logistic, OneVsRestClassifier(logistic)):
        model = DecisionClassifier(estimator, cv=StratifiedKFold(3)).fit(X, words[y], weight)
        assert model.estimator_.classes_.tolist() == ["blue", "green", "red"]
        assert model.predict_proba(X).shape == (60, 3)
    for model in (SDGSClassifier(1, cv=StratifiedKFold(3), random_state=0), ReducedRankRidgeCV(cv=StratifiedKFold(3))):
        assert model.fit(X, words[y]).score(X, words[y]) > 0.5


@pytest.mark.parametrize("ensemble", [DecisionClassifier(logistic), AveragingClassifier([logistic, GaussianNB()])])
def test_given_splits(data, ensemble):
    X, Y, _, X_test = data
    Y = np.nan_to_num(Y)
    expected = clone(ensemble).set_params(random_state=5).fit(X, Y).predict_proba(X_test)
    splitter = KFold(3, shuffle=True, random_state=5)
    for cv in (splitter, list(splitter.split(X))):
        np.testing.assert_array_equal(clone(ensemble).set_params(cv=cv).fit(X, Y).predict_proba(X_test), expected)
    half = clone(ensemble).set_params(cv=[(np.arange(100), np.arange(150, 200))]).fit(X, Y)
    np.testing.assert_array_equal(half.out_of_fold_rows_, np.arange(150, 200))
    for cv in (1, "a", [(np.arange(100), np.arange(90, 200))], []):
        with pytest.raises(ValueError, match="cv"):
            clone(ensemble).set_params(cv=cv).fit(X, Y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ensemble", [ENSEMBLES[0], ENSEMBLES[3]], ids=["decision", "average"])
def test_model_files(data, ensemble, weighted, tmp_path):
    X, Y, weight, X_test = data
    Y = np.column_stack([Y, np.full(len(Y), np.nan), np.ones(len(Y))])
    model = clone(ensemble).set_params(random_state=0).fit(X, Y, weight / 3 if weighted else None)
    model.save(tmp_path / "model.sdgs")
    loaded = load(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    np.testing.assert_array_equal(loaded.predict(X_test), model.predict(X_test))


def test_invalid_weights_are_rejected(data):
    X, Y, _, _ = data
    for weight in (np.ones(3), -np.ones(200), np.zeros(200)):
        with pytest.raises(ValueError, match="sample_weight must hold one number >= 0"):
            DecisionClassifier(logistic).fit(X, Y, weight)


def test_splits_without_samples_of_positive_weight_are_rejected(data):
    X, Y, _, _ = data
    splits = [(np.arange(100), np.arange(100, 200))]
    for model in (DecisionClassifier(logistic, cv=splits), SparseLowRankCV(cv=splits)):
        with pytest.raises(ValueError, match="no split with both training and test samples"):
            model.fit(X, Y, np.r_[np.zeros(100), np.ones(100)])
