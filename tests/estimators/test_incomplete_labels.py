"""Labels that are unobserved, and labels that may be true though they are not given."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import get_tags

from sdgs import SDGSClassifier, SDGSClassifierCV, decompose, load, save
from sdgs.datasets import make_label_subspaces
from sdgs.estimators._decision_parameters import all_may_have_labels
from sdgs.metrics import f1, macro_f1
from sdgs.readout._calibration import fit_calibration

MODELS = {
    "dense": SDGSClassifier(2, random_state=0),
    "linear": SDGSClassifier(2, gamma=None, scaling="rows", random_state=0),
    "norm": SDGSClassifier(2, gamma=None, readout="norm", random_state=0),
    "search": SDGSClassifierCV(budget=3, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return make_label_subspaces(240, 20, 5, n_components=2, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def hidden(data):
    """Three labels in ten are unobserved, and all of one sample."""
    mask = np.random.default_rng(1).random(data.Y.shape) < 0.3
    mask[7] = True
    return mask


def with_nan(Y, mask):
    return np.where(mask, np.nan, Y)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_form_of_unobserved_labels_does_not_matter(model, data, hidden):
    Y = with_nan(data.Y, hidden)
    frame = pd.DataFrame(Y, columns=list("abcde"))
    dense = clone(model).fit(data.X, Y)
    assert get_tags(model).target_tags.allow_nan
    for labels in (csr_array(Y), frame, frame.astype("Int64"), frame.astype(object).where(~hidden, None)):
        other = clone(model).fit(data.X, labels)
        np.testing.assert_array_equal(other.decision_function(data.X), dense.decision_function(data.X))
        predicted = other.predict(data.X)
        predicted = predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)
        np.testing.assert_array_equal(predicted.astype(int), dense.predict(data.X).astype(int))


def test_what_is_behind_an_unobserved_label_has_no_influence(data, hidden):
    """Of two samples that differ in nothing else, each way round."""
    Y = with_nan(data.Y, hidden)
    model = SDGSClassifier(2, random_state=0).fit(data.X, Y)
    for i, (rows, column) in enumerate(zip(model.decomposition_.rows, Y.T, strict=True)):
        np.testing.assert_array_equal(rows, np.flatnonzero(column == 1), err_msg=str(i))
    result = decompose(data.X, Y, random_state=0)
    known = decompose(data.X, np.nan_to_num(Y), random_state=0)
    np.testing.assert_array_equal(result.objective, known.objective)


def test_they_cost_less_than_to_take_them_for_negative(data):
    """A third at most, on average over what is hidden."""
    train, test = slice(0, 160), slice(160, None)
    X, Y = data.X[train], data.Y[train]

    def value(labels):
        model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, labels)
        return f1(data.Y[test], model.predict(data.X[test]).astype(int))

    masks = [np.random.default_rng(seed).random(Y.shape) < 0.3 for seed in range(5)]
    unobserved = np.mean([value(with_nan(Y, mask)) for mask in masks])
    negative = np.mean([value(np.where(mask, 0, Y)) for mask in masks])
    assert value(Y) - unobserved < (value(Y) - negative) / 3


def test_model_files(data, hidden, tmp_path):
    model = SDGSClassifier(2, random_state=0).fit(data.X, with_nan(data.Y, hidden))
    save(model, tmp_path / "model.sdgs")
    np.testing.assert_array_equal(load(tmp_path / "model.sdgs").predict(data.X), model.predict(data.X))


def test_a_checkpoint_of_other_labels_is_not_used(data, hidden, tmp_path):
    options = {"n_components": 2, "random_state": 0, "checkpoint": tmp_path}
    first = SDGSClassifier(**options).fit(data.X, data.Y)
    second = SDGSClassifier(**options).fit(data.X, with_nan(data.Y, hidden))
    fresh = SDGSClassifier(2, random_state=0).fit(data.X, with_nan(data.Y, hidden))
    np.testing.assert_array_equal(second.predict_proba(data.X), fresh.predict_proba(data.X))
    assert not np.array_equal(first.predict_proba(data.X), second.predict_proba(data.X))


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_without_an_observed_label_are_left_out(data, weighted):
    mask = np.zeros(data.Y.shape, dtype=bool)
    mask[::3] = True
    mask[1, 2] = True
    Y, known = with_nan(data.Y, mask), np.flatnonzero(~mask.all(axis=1))
    weight = np.where(np.arange(240) % 5 == 0, 0.0, 1.5) if weighted else None
    model = SDGSClassifier(2, random_state=0)
    one = clone(model).fit(data.X, Y, weight)
    other = clone(model).fit(data.X[known], Y[known], None if weight is None else weight[known])
    np.testing.assert_array_equal(one.predict_proba(data.X), other.predict_proba(data.X))
    np.testing.assert_array_equal(one.out_of_fold_rows_, known[other.out_of_fold_rows_])


def test_a_warning_about_labels_without_negatives(data):
    Y = np.where(data.Y == 1, 1.0, np.nan)
    with pytest.warns(UserWarning, match="no sample is known not to have a label"):
        model = SDGSClassifier(2, random_state=0).fit(data.X, Y)
    assert model.predict(data.X).all()


def test_errors(data):
    Y = data.Y.astype(float)
    Y[3, 1] = 2
    with pytest.raises(ValueError, match="only 0 and 1"):
        SDGSClassifier().fit(data.X, np.where(np.eye(240, 5), np.nan, Y))
    with pytest.raises(ValueError, match="nothing to learn"):
        SDGSClassifier().fit(data.X, np.full(Y.shape, np.nan))
    with pytest.raises(ValueError, match="labels are missing in 1 of 240 rows"):
        SDGSClassifier().fit(data.X, np.append(np.zeros(239), np.nan))


@pytest.mark.parametrize(
    ("given", "share", "expected"),
    [([1, 1, 1, 1], 0.0, True), ([1, 1, 0, 1], 0.0, False), ([1, 1, 0, 1], 0.25, True), ([0, 0, 0, 1], 0.25, False)],
)
def test_whether_all_samples_may_have_labels(given, share, expected):
    """Of 400 samples with one of four labels, in the share in which it is given."""
    Y = np.zeros((400, 4))
    Y[:, 0] = np.tile(given, 100)
    if share:
        Y[np.arange(400), 1 + np.arange(400) % 3] = np.nan
    assert all_may_have_labels(csr_array(Y)) == expected


@pytest.fixture(scope="module")
def half_given(digits):
    train, test = digits
    given = train.Y * (np.random.default_rng(0).random(train.Y.shape) < 0.5)
    return train.X, given, test


@pytest.mark.parametrize("propensity", [0.5, "auto", np.full(10, 0.5)])
def test_the_correction_raises_f1(half_given, propensity):
    X, given, test = half_given
    plain = SDGSClassifier(random_state=0).fit(X, given)
    model = SDGSClassifier(assume="missing", propensity=propensity, random_state=0).fit(X, given)
    assert model.propensity_.shape == (10,)
    assert np.abs(model.propensity_ - 0.5).max() < 0.2
    for measure in (f1, macro_f1):
        assert measure(test.Y, model.predict(test.X)) > measure(test.Y, plain.predict(test.X)) + 0.05
    assert plain.propensity_ is None


def test_probabilities_are_those_of_the_true_labels(half_given):
    X, given, test = half_given
    P = SDGSClassifier(assume="missing", propensity=0.5, random_state=0).fit(X, given).predict_proba(test.X)
    np.testing.assert_allclose(P.mean(), test.Y.mean(), atol=0.03)


def test_a_propensity_of_one_changes_nothing(half_given):
    X, given, test = half_given
    options = {"at_least_one": False, "random_state": 0}
    plain = SDGSClassifier(**options).fit(X, given)
    model = SDGSClassifier(assume="missing", propensity=1.0, **options).fit(X, given)
    np.testing.assert_allclose(model.predict_proba(test.X), plain.predict_proba(test.X), atol=1e-9)


def test_errors_about_assumptions(data):
    for options, message in (
        ({"assume": "unknown"}, "assume must be one of"),
        ({"propensity": 0.5}, 'propensity needs assume="missing"'),
        ({"assume": "missing", "propensity": 0}, "propensity must be a finite number > 0"),
        ({"assume": "missing", "propensity": {"a": 0.5}}, "one number per label in the order of classes_, not a dict"),
        ({"assume": "missing", "propensity": 1.5}, "propensity must be a probability"),
        ({"assume": "missing", "propensity": [0.5, 0.5]}, "one for each of the 5 labels"),
        ({"assume": "missing", "readout": "norm", "gamma": None}, 'assume="missing" needs readout="ridge"'),
        ({"assume": "missing", "decision": "threshold"}, 'decision="threshold" is tuned on given labels'),
        ({"assume": "missing", "metric": "subset_accuracy"}, "how often label sets occur"),
    ):
        with pytest.raises(ValueError, match=message):
            SDGSClassifier(**options).fit(data.X, data.Y)


def test_calibration_for_a_propensity_is_unbiased():
    """It finds the log-odds of the true labels from those that are given."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((60_000, 2))
    true = rng.random(scores.shape) < 1 / (1 + np.exp(-(2 * scores - 1)))
    propensity = np.array([0.4, 0.7])
    given = true & (rng.random(scores.shape) < propensity)
    calibration = fit_calibration(scores, given.astype(float), propensity=propensity)
    np.testing.assert_allclose(calibration.log_odds(np.array([[0.0, 0.0], [1.0, 1.0]])), [[-1, -1], [1, 1]], atol=0.08)
