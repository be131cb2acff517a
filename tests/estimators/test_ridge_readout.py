"""The read-out by ridge regression, as users see it."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sdgs import SDGSClassifier, group_lasso, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.readout import _features


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(1500, max_labels=2, subset="train", random_state=0),
        make_composite_digits(1000, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="module")
def model(digits):
    return SDGSClassifier(random_state=0).fit(digits[0].X, digits[0].Y)


def test_noise_gets_the_frequencies():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((90, 60)), (rng.random((90, 3)) < [0.1, 0.3, 0.5]).astype(int)
    p = SDGSClassifier(10, random_state=0).fit(X, Y).predict_proba(rng.standard_normal((500, 60)))
    np.testing.assert_allclose(p.mean(axis=0), Y.mean(axis=0), atol=0.12)
    assert p.std(axis=0).max() < 0.2


def test_parameters_of_the_fit_do_not_change_predictions_afterwards(digits, model):
    test = digits[1]
    before = model.predict_proba(test.X[:20])
    changed = pickle.loads(pickle.dumps(model)).set_params(alpha=0.5, scaling=None, huber=0.01, gamma=1.0, decision=2)
    np.testing.assert_array_equal(changed.predict_proba(test.X[:20]), before)


def test_a_dense_model_takes_sparse_samples():
    data = make_label_subspaces(100, 12, 3, n_components=2, noise=0.2, random_state=0)
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    assert model.scaler_ is not None
    np.testing.assert_allclose(model.predict_proba(csr_array(data.X)), model.predict_proba(data.X))
    np.testing.assert_allclose(model.contributions(csr_array(data.X[:2])), model.contributions(data.X[:2]))


def test_one_warning_however_many_folds():
    data = make_label_subspaces(100, 12, 3, n_components=2, noise=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        SDGSClassifier(2, max_iter=1, tol=0.0, random_state=0).fit(data.X, data.Y)
    assert len(caught) == 1


def test_probabilities_are_calibrated(digits, model):
    test = digits[1]
    p = model.predict_proba(test.X)
    assert p.shape == test.Y.shape
    np.testing.assert_allclose(p, expit(model.decision_function(test.X)))
    bins = np.digitize(p.ravel(), np.linspace(0, 1, 11)[1:-1])
    truth = test.Y.ravel()
    error = sum(abs(truth[bins == b].mean() - p.ravel()[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    assert error < 0.03


def test_it_predicts_better_than_the_paper(digits, model):
    train, test = digits
    paper = SDGSClassifier(6, alpha=0.25, readout="norm", threshold=0.26, random_state=0).fit(train.X, train.Y)
    assert metrics.f1(test.Y, model.predict(test.X)) > metrics.f1(test.Y, paper.predict(test.X)) + 0.02


def test_norms_are_read_if_signs_carry_no_information():
    """Planted coefficients are as often negative as positive, so that only their size depends on the labels."""
    data = make_label_subspaces(600, 60, 8, n_components=3, random_state=0)
    assert SDGSClassifier(3, random_state=0).fit(data.X, data.Y).read_from_ == ("sample", "code", "norms")


def test_a_1d_target(digits):
    train = digits[0]
    single = train.Y.sum(axis=1) == 1
    X, y = train.X[single], train.Y[single].argmax(axis=1)
    model = SDGSClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.85
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_probabilities_need_the_ridge_readout(digits):
    train = digits[0]
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(train.X[:100], train.Y[:100])
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = model.predict_proba
    with pytest.raises(NotFittedError, match="Fit it again"):
        model.set_params(readout="ridge").predict(train.X[:2])


def test_a_given_penalty_is_used(digits):
    train = digits[0]
    model = SDGSClassifier(2, penalty=2.5, random_state=0).fit(train.X[:200], train.Y[:200])
    assert model.penalty_ == 2.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"readout": "svm"}, "readout must be one of"),
        ({"penalty": 0.0}, "penalty must be"),
        ({"penalty": "large"}, "penalty must be"),
        ({"decision": "recall"}, "decision must be one of"),
        ({"decision": 0}, "decision must be an integer >= 1"),
        ({"decision": 1.5}, "decision must be a probability"),
        ({"decision": [0.5, 0.5]}, "one for each of the 10 labels"),
        ({"metric": "recall"}, "metric must be one of"),
        ({"at_least_one": "always"}, "at_least_one must be one of"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"gamma": 1.0, "readout": "norm"}, 'gamma needs readout="ridge"'),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"cv": 1}, "cv must be"),
        ({"huber": -1.0}, "huber must be"),
        ({"huber": "much"}, "huber must be"),
        ({"huber": "auto", "readout": "norm"}, 'huber="auto" needs readout="ridge"'),
    ],
)
def test_bad_parameters(digits, options, message):
    with pytest.raises(ValueError, match=message):
        SDGSClassifier(**options).fit(digits[0].X, digits[0].Y)


def test_codes_that_are_not_read_are_not_computed(monkeypatch):
    """Labels that depend on magnitudes alone: a kernel suffices."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    Y = np.column_stack([np.abs(X[:, 0]) > 0.7, np.abs(X[:, 1]) > 0.7]).astype(int)
    model = SDGSClassifier(2, gamma=1.0, random_state=0).fit(X[:300], Y[:300])
    assert metrics.accuracy(Y[300:], model.predict(X[300:])) > 0.6
    assert "code" not in model.read_from_
    monkeypatch.setattr(_features, "code_samples", None)
    assert model.predict(X[300:]).shape == (100, 2)
    X[300, 0] = np.nan  # which the code fills in
    with pytest.raises(TypeError):
        model.predict(X[300:])


def test_all_kinds_of_sparse_matrices_give_the_same_predictions():
    """csr_matrix, whose * is the matrix product; unsorted entries; entries stored in two parts."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((120, 60)) < 0.2, rng.random((120, 60)), 0)
    Y = rng.random((120, 3)) < 0.4
    rows, columns = dense.nonzero()
    order = rng.permutation(2 * rows.size)
    halves = np.tile(dense[rows, columns] / 2, 2)[order]
    places = (np.tile(rows, 2)[order], np.tile(columns, 2)[order])
    by_row = np.argsort(places[0], kind="stable")
    counts = np.bincount(places[0], minlength=120)
    twice = csr_array((halves[by_row], places[1][by_row], np.concatenate([[0], np.cumsum(counts)])), shape=dense.shape)
    given = twice.data.copy(), twice.indices.copy()
    models = [SDGSClassifier(huber=0.5, random_state=0).fit(X, Y) for X in (csr_array(dense), csr_matrix(dense), twice)]
    expected = models[0].predict_proba(csr_array(dense))
    for model, X in zip(models, (csr_array(dense), csr_matrix(dense), twice), strict=True):
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
        assert model.transform(X).shape == dense.shape
    np.testing.assert_array_equal(twice.data, given[0])
    np.testing.assert_array_equal(twice.indices, given[1])
    components = models[0].components_
    plain, doubled = (group_lasso(X, components, 0.1).codes.toarray() for X in (dense, twice))
    np.testing.assert_allclose(doubled, plain, atol=1e-12)


def test_no_subspace_is_the_whole_space():
    """Labels could not be distinguished, and rounding would decide which label codes a sample."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = 0.3 * rng.standard_normal((200, 2)) + np.array([[0, 2], [2, -1], [-2, -1]])[y]
    model = SDGSClassifier(huber=0.1, random_state=0).fit(X, y)
    assert [len(C) for C in model.components_] == [1, 1, 1]
    np.testing.assert_allclose(model.predict_proba(X.astype(np.float32)), model.predict_proba(X), atol=1e-3)
    assert (model.predict(X) == y).mean() > 0.95
