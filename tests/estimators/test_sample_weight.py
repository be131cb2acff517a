"""A sample of weight 2 counts as two equal ones, one of weight 0 is left out; and given splits for cross-validation."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from sdgs import DecisionClassifier, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces
from sdgs.model_selection import MultilabelStratifiedKFold

MODELS = {
    "default": SDGSClassifier(2, random_state=0),
    "linear": SDGSClassifier(2, gamma=None, random_state=0),
    "columns": SDGSClassifier(2, gamma=None, scaling="columns", random_state=0),
    "huber": SDGSClassifier(2, gamma=None, huber=0.05, random_state=0),
    "thresholds": SDGSClassifier(2, gamma=None, decision="thresholds", random_state=0),
    "norm": SDGSClassifier(2, gamma=None, readout="norm", random_state=0),
    "search": SDGSClassifierCV(budget=3, gammas=None, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return make_label_subspaces(90, 20, 4, n_components=2, noise=0.2, random_state=0)


def repeated(X, Y, weight):
    """The samples as often as their weights say, and three folds that keep copies together."""
    rows = np.repeat(np.arange(len(Y)), weight.astype(int))
    folds = rows % 3
    splits = [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(3)]
    return X[rows], Y[rows], splits


def weighted_splits(n):
    folds = np.arange(n) % 3
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(3)]


@pytest.mark.parametrize("unobserved", [False, True], ids=["complete", "unobserved"])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_weights_are_repetitions(model, form, unobserved, data):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 90).astype(float)
    X = np.where(rng.random(data.X.shape) < 0.7, 0, data.X) if form is csr_array else data.X
    if model.get_params().get("scaling") == "columns" and form is csr_array:
        pytest.skip("sparse samples are not standardised")
    Y = np.where(rng.random(data.Y.shape) < 0.2, np.nan, data.Y) if unobserved else data.Y
    X_repeated, Y_repeated, splits = repeated(X, Y, weight)
    options = {"cv": weighted_splits(90)}
    one = clone(model).set_params(**options).fit(form(X), Y, sample_weight=weight)
    other = clone(model).set_params(cv=splits).fit(form(X_repeated), Y_repeated)
    # Copies of a landmark each have a jitter; regressions on observed labels are iterative.
    tolerance = 1e-5 if getattr(one, "gamma_", None) is not None or unobserved else 1e-8
    np.testing.assert_allclose(one.decision_function(form(X)), other.decision_function(form(X)), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(one.predict(form(X)), other.predict(form(X)))


@pytest.mark.parametrize("model", [SDGSClassifier(random_state=0), SDGSClassifierCV(budget=3, random_state=0)])
def test_scikit_learns_checks(model):
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, model)
    check_sample_weight_equivalence_on_sparse_data(type(model).__name__, model)


def test_samples_of_weight_zero_are_counted_but_not_learnt(data):
    weight = np.ones(90)
    weight[::4] = 0
    kept = np.flatnonzero(weight)
    model = SDGSClassifier(2, gamma=1.0, n_landmarks=30, random_state=0)
    one = clone(model).fit(data.X, data.Y, sample_weight=weight)
    other = clone(model).fit(data.X[kept], data.Y[kept])
    np.testing.assert_allclose(one.predict_proba(data.X), other.predict_proba(data.X), atol=1e-9)
    np.testing.assert_array_equal(one.out_of_fold_rows_, kept[other.out_of_fold_rows_])
    for ours, theirs in zip(one.decomposition_.rows, other.decomposition_.rows, strict=True):
        np.testing.assert_array_equal(ours, kept[theirs])
    assert one.decomposition_.shape == (90, 20, 4)
    np.testing.assert_allclose(one.decomposition_.reconstruct()[kept], other.decomposition_.reconstruct(), atol=1e-9)
    np.testing.assert_array_equal(one.suspicious_labels().rows, kept[other.suspicious_labels().rows])


def test_equal_weights_change_nothing(data):
    plain = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    weighted = SDGSClassifier(2, random_state=0).fit(data.X, data.Y, sample_weight=np.ones(90))
    np.testing.assert_allclose(weighted.predict_proba(data.X), plain.predict_proba(data.X), atol=1e-10)


def test_a_checkpoint_of_other_weights_is_not_used(data, tmp_path):
    weight = np.random.default_rng(0).uniform(0.5, 2, 90)
    options = {"n_components": 2, "random_state": 0}
    SDGSClassifier(**options, checkpoint=tmp_path).fit(data.X, data.Y)
    resumed = SDGSClassifier(**options, checkpoint=tmp_path).fit(data.X, data.Y, sample_weight=weight)
    fresh = SDGSClassifier(**options).fit(data.X, data.Y, sample_weight=weight)
    np.testing.assert_array_equal(resumed.predict_proba(data.X), fresh.predict_proba(data.X))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(5), "one number >= 0 for each of the 90 samples"),
        (np.zeros(90), "not only zeros"),
        (-np.ones(90), "one number >= 0"),
        (np.full(90, np.nan), "sample_weight contains NaN"),
    ],
)
def test_wrong_weights(weight, message, data):
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(2).fit(data.X, data.Y, sample_weight=weight)


@pytest.mark.parametrize(
    "cv", [KFold(3), MultilabelStratifiedKFold(3, random_state=0), list(KFold(3).split(np.zeros(90)))]
)
def test_splits_for_cross_validation(cv, data):
    model = SDGSClassifier(2, cv=cv, random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.out_of_fold_rows_, np.arange(90))


def test_splits_of_groups_and_some_of_the_samples(data):
    groups = np.arange(90) // 10
    splits = list(GroupKFold(3).split(data.X, groups=groups))[:2]
    model = SDGSClassifier(2, cv=splits, random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.out_of_fold_rows_, np.sort(np.concatenate([test for _, test in splits])))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be an integer >= 2"),
        (2.5, "cv must be an integer >= 2"),
        ([], "cv gives no splits"),
        (ShuffleSplit(3, test_size=0.5, random_state=0), "cv must predict each sample at most once"),
        ([(np.arange(90), np.arange(5))], "cv must predict each sample at most once"),
        ([([0, 1], [500])], "rows must be integers from 0 to 89"),
        ([([0, 0, 1], [5])], "no row may be there twice"),
        (["abc"], "cv must give pairs of arrays"),
    ],
)
def test_wrong_splits(cv, message, data):
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(2, cv=cv).fit(data.X, data.Y)


@pytest.mark.parametrize("model", [SDGSClassifier(2, random_state=0), SDGSClassifierCV(budget=2, random_state=0)])
def test_splits_without_samples_of_positive_weight(model, data):
    splits = [(np.arange(40), np.arange(40, 90))]
    with pytest.raises(ValueError, match="no split with both training and test samples"):
        clone(model).set_params(cv=splits).fit(data.X, data.Y, sample_weight=(np.arange(90) < 20).astype(float))


@pytest.mark.parametrize("model", [SDGSClassifier(2), DecisionClassifier(LogisticRegression())], ids=["sdgs", "other"])
@pytest.mark.parametrize("decision", ["expected", "threshold"])
def test_splits_without_an_observed_label(model, decision, data):
    Y = np.where(np.arange(90)[:, None] < 40, data.Y, np.nan)
    splits = [(np.arange(40), np.arange(40, 90))]
    message = "no split with both .* among those that are used|none of the samples that cross-validation predicts has"
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(cv=splits, decision=decision).fit(data.X, Y)


@pytest.mark.parametrize("cv", [GroupKFold(3), StratifiedKFold(3)], ids=lambda cv: type(cv).__name__)
def test_splitters_that_need_something_else(cv, data):
    with pytest.raises(ValueError, match=f"{type(cv).__name__} cannot split these samples: .* as a list"):
        SDGSClassifier(2, cv=cv).fit(data.X, data.Y)
