"""SDGSClassifier: scikit-learn's checks, accuracy, scaling, missing and corrupted entries."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import make_scorer
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from corruption import with_missing_entries, with_spikes
from sdgs import SDGSClassifier, group_lasso, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.readout import _features
from sdgs.readout._landmark_kernel import fit_landmark_kernel


# All of scikit-learn's checks; none is expected to fail.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SDGSClassifier(), SDGSClassifier(readout="norm")])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([SDGSClassifier(gamma=1.0)])
def test_passes_the_checks_of_scikit_learn_with_a_kernel(estimator, check):
    check(estimator)


@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_planted_labels_are_predicted(readout):
    data = make_label_subspaces(900, 60, 8, n_components=3, random_state=0)
    model = SDGSClassifier(3, alpha=0.1, readout=readout, random_state=0).fit(data.X[:600], data.Y[:600])
    assert metrics.f1(data.Y[600:], model.predict(data.X[600:])) > 0.95


def test_the_norm_readout_follows_its_definition(digits):
    train, test = digits
    model = SDGSClassifier(readout="norm", random_state=0).fit(train.X, train.Y)
    scores = model.decision_function(test.X)
    assert scores.shape == test.Y.shape
    np.testing.assert_array_equal(model.predict(test.X), scores >= model.threshold)
    x = test.X[0] / np.linalg.norm(test.X[0])
    code = group_lasso([x], model.components_, model.alpha).codes.toarray()[0]
    np.testing.assert_allclose(scores[0], np.abs(code).reshape(10, -1).sum(axis=1), atol=1e-6)


@pytest.mark.slow
def test_rows_are_scaled_to_unit_norm_unless_scaling_is_none(digits):
    train, test = digits
    scaled = SDGSClassifier(gamma=None, random_state=0).fit(train.X * np.arange(1, 1501)[:, None], train.Y)
    plain = SDGSClassifier(gamma=None, random_state=0).fit(train.X, train.Y)
    np.testing.assert_allclose(scaled.decision_function(test.X * 1e5), plain.decision_function(test.X), atol=1e-4)
    unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (train.X, test.X)]
    off = SDGSClassifier(scaling=None, gamma=None, random_state=0).fit(unit[0], train.Y)
    np.testing.assert_allclose(off.decision_function(unit[1]), plain.decision_function(test.X), atol=1e-4)
    assert not np.allclose(off.decision_function(test.X), plain.decision_function(test.X))


@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_empty_labels_and_zero_rows_are_no_problem(readout):
    rng = np.random.default_rng(0)
    data = make_label_subspaces(200, 20, 5, n_components=2, random_state=0)
    X, Y = data.X.copy(), data.Y.copy()
    Y[:, 2] = 0  # a label without a sample
    Y[3] = 0  # samples without a label
    X[4] = 0  # zero rows
    X[5] = X[6]
    X[:, 7] = 0
    Y[:, 4] = 0
    Y[8, 4] = 1  # a label with one sample
    model = SDGSClassifier(readout=readout, scaling="rows", random_state=0).fit(X, Y)
    predicted = model.predict(np.vstack([X, np.zeros((1, 20)), rng.standard_normal((1, 20)) * 1e-300]))
    assert not predicted[:, 2].any()
    if readout == "norm":  # "ridge" has an intercept
        assert not predicted[4].any()
        assert not predicted[-2].any()
    assert len(model.components_[2]) == 0
    assert len(model.components_[4]) == 1


def test_columns_in_different_units_are_standardised():
    """Units differ by factors up to a million, and means are far from zero."""
    data = make_label_subspaces(900, 30, 5, n_components=2, random_state=0)
    rng = np.random.default_rng(0)
    units = 10.0 ** rng.uniform(-3, 3, 30)
    raw = (data.X + rng.choice([-5, 5], 30)) * units
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(raw[:600], data.Y[:600])
    plain = SDGSClassifier(2, gamma=None, scaling="rows", random_state=0).fit(raw[:600], data.Y[:600])
    f1, plain_f1 = (metrics.f1(data.Y[600:], m.predict(raw[600:])) for m in (model, plain))
    assert f1 > 0.85
    assert f1 > plain_f1 + 0.2
    np.testing.assert_allclose(model.scaler_.mean_, raw[:600].mean(axis=0))
    assert plain.scaler_ is None
    # Contributions and residual sum to the sample minus the mean, and transform returns samples in their own units.
    parts = model.contributions(raw[:3], np.ones((3, 5)))
    centred = raw[:3] - model.scaler_.mean_
    residual = (centred - parts.sum(axis=1)) / units
    assert np.linalg.norm(residual) < 0.5 * np.linalg.norm(centred / units)
    incomplete = raw[600:].copy()
    incomplete[::2, 3] = np.nan
    filled = model.transform(incomplete)
    np.testing.assert_allclose(filled[1::2], raw[601::2], rtol=1e-9)
    assert np.corrcoef(filled[::2, 3], raw[600::2, 3])[0, 1] > 0.9


@pytest.mark.parametrize("metric", ["f1", "hamming_loss"])
def test_positive_measurements_in_different_units_are_standardised(metric):
    """Age, income, blood pressure: never negative, but no parts of a sum either; also with missing entries."""
    rng = np.random.default_rng(0)
    age, pressure = rng.uniform(0, 90, 400), rng.normal(125, 15, 400)
    X = np.column_stack([age, rng.lognormal(10, 0.8, 400), pressure, rng.normal(75, 10, 400)])
    Y = np.column_stack([age > 60, pressure > 130, X[:, 3] > 80])
    model = SDGSClassifier(2, metric=metric, random_state=0).fit(X, Y)
    assert model.scaling_ == "columns"
    incomplete = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    incomplete[:, 1] = np.nan
    assert SDGSClassifier(2, metric=metric, random_state=0).fit(incomplete, Y).scaling_ == "columns"


def test_sums_of_parts_are_not_centred(digits, model):
    assert model.scaling_ == "rows"
    assert model.scaler_ is None
    incomplete = with_missing_entries(digits[0].X, 0.1)
    assert SDGSClassifier(random_state=0).fit(incomplete[:300], digits[0].Y[:300]).scaling_ == "rows"
    assert SDGSClassifier(random_state=0).fit(csr_matrix(digits[0].X), digits[0].Y).scaling_ in ("rows", "idf")
    with pytest.raises(ValueError, match='scaling="columns" would fill sparse X'):
        SDGSClassifier(scaling="columns").fit(csr_matrix(digits[0].X), digits[0].Y)


def test_the_number_of_threads_changes_only_rounding(digits):
    train, test = digits
    one_thread, two_threads = (SDGSClassifier(random_state=0, n_jobs=jobs).fit(train.X, train.Y) for jobs in (1, 2))
    X = np.vstack([test.X] * 5)
    np.testing.assert_allclose(one_thread.decision_function(X), two_threads.decision_function(X), atol=1e-12)


@pytest.mark.slow
def test_clone_pickle_search_and_pipeline(digits, model):
    train, test = digits
    assert clone(SDGSClassifier(n_components=3, alpha=0.3)).get_params()["alpha"] == 0.3
    unpickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(unpickled.decision_function(test.X), model.decision_function(test.X))
    Y = pd.DataFrame(train.Y)
    scores = cross_val_score(SDGSClassifier(random_state=0), train.X, Y, scoring=make_scorer(metrics.f1), cv=3)
    assert (scores > 0.5).all()
    texts = ["cats purr softly", "dogs bark loudly", "cats purr and dogs bark", "cats purr", "dogs bark"]
    labels = [[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]]
    text_model = make_pipeline(TfidfVectorizer(), SDGSClassifier(1, random_state=0)).fit(texts, labels)
    np.testing.assert_array_equal(text_model.predict(["the cats purr", "a dog did bark"]), [[1, 0], [0, 1]])


@pytest.mark.slow
def test_metadata_is_routed(digits):
    train, _ = digits
    with sklearn.config_context(enable_metadata_routing=True):
        model = SDGSClassifier(random_state=0).set_score_request(sample_weight=True)
        model.set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.2, 0.3]}, cv=2)
        search.fit(train.X, train.Y, sample_weight=np.ones(len(train.X)))
        assert search.best_params_["alpha"] in (0.2, 0.3)


def test_works_inside_meta_estimators():
    data = make_label_subspaces(100, 15, 3, random_state=0)
    model = MultiOutputClassifier(SDGSClassifier(2, random_state=0)).fit(data.X, data.Y)
    assert model.predict(data.X).shape == (100, 3)


def f1_of(train_X, test_X, digits, **options):
    """F1, in points, of the paper's readout on samples that were made from the digits."""
    train, test = digits
    options = {"readout": "norm", "n_components": 6, "alpha": 0.2, "threshold": 0.26, "random_state": 0, **options}
    model = SDGSClassifier(**options).fit(train_X, train.Y)
    return 100 * metrics.f1(test.Y, model.predict(test_X))


@pytest.mark.slow
def test_missing_entries_cost_little_accuracy(more_digits):
    train, test = more_digits
    clean = f1_of(train.X, test.X, more_digits)
    dirty = f1_of(with_missing_entries(train.X, 0.2), with_missing_entries(test.X, 0.2, 1), more_digits)
    zeros = f1_of(
        np.nan_to_num(with_missing_entries(train.X, 0.2)),
        np.nan_to_num(with_missing_entries(test.X, 0.2, 1)),
        more_digits,
    )
    assert dirty > clean - 6
    assert dirty > zeros + 4
    ridge = f1_of(
        with_missing_entries(train.X, 0.2), with_missing_entries(test.X, 0.2, 1), more_digits, readout="ridge"
    )
    assert ridge > dirty + 1


@pytest.mark.slow
def test_corrupted_entries_cost_less_accuracy_with_huber(more_digits):
    train, test = more_digits
    X, X_test = with_spikes(train.X, 0.05), with_spikes(test.X, 0.05, 1)
    plain = f1_of(X, X_test, more_digits)
    robust = f1_of(X, X_test, more_digits, huber=0.05, alpha=0.1)
    assert robust > plain + 10
    plain = f1_of(X, X_test, more_digits, readout="ridge", gamma=None, alpha=0.1)
    robust = f1_of(X, X_test, more_digits, readout="ridge", gamma=None, huber=0.05, alpha=0.1)
    assert robust > plain + 10


@pytest.mark.slow
def test_huber_is_chosen_if_entries_are_corrupted(more_digits):
    train, test = more_digits
    spiked, spiked_test = with_spikes(train.X, 0.05), with_spikes(test.X, 0.05, 1)
    chosen = SDGSClassifier(huber="auto", scaling="rows", random_state=0).fit(spiked, train.Y)
    assert chosen.huber_ is not None
    given = f1_of(
        spiked,
        spiked_test,
        more_digits,
        readout="ridge",
        n_components=4,
        alpha=0.1,
        scaling="rows",
        huber=chosen.huber_,
    )
    assert 100 * metrics.f1(test.Y, chosen.predict(spiked_test)) == pytest.approx(given)
    # On clean data it costs little.
    clean = SDGSClassifier(huber="auto", random_state=0).fit(train.X, train.Y)
    without = f1_of(train.X, test.X, more_digits, readout="ridge", n_components=4, alpha=0.1)
    assert 100 * metrics.f1(test.Y, clean.predict(test.X)) > without - 1.5
    assert SDGSClassifier(2, huber="auto", random_state=0).fit(csr_array(train.X[:99]), train.Y[:99]).huber_ is None


def test_samples_without_observed_entries_are_predicted():
    Y = np.eye(3, dtype=int)[[0, 1, 2, 0, 1, 2]]
    X = np.random.default_rng(0).standard_normal((6, 4))
    X[0] = np.nan
    X[:, 1] = np.nan
    unobserved = np.full((2, 4), np.nan)
    assert SDGSClassifier(2, readout="norm", random_state=0).fit(X, Y).predict(unobserved).sum() == 0
    assert np.isfinite(SDGSClassifier(2, random_state=0).fit(X, Y).predict_proba(unobserved)).all()


@pytest.mark.slow
def test_kernels_are_computed_from_cleaned_samples():
    """Those that ``transform`` returns: spikes and missing entries do not reach it."""
    clean = make_composite_digits(600, max_labels=2, subset="train", random_state=0)
    dirty = make_composite_digits(600, max_labels=2, spikes=0.05, subset="train", random_state=0)
    X = with_missing_entries(dirty.X, 0.05)
    model = SDGSClassifier(huber=0.05, gamma=1.0, random_state=0).fit(X, clean.Y)
    features, kernel = model._pipelines[0].features, model._pipelines[0].features.kernel
    scaled, norms = model._pipelines[0].scaling.transform(X)
    (blocks,) = features.transform_blocks(scaled, None, norms)
    assert np.isfinite(np.hstack(blocks[:2])).all()
    np.testing.assert_allclose(blocks[1], features.clean(scaled, None))
    in_units = model.transform(X) * kernel.weights  # not of unit norm: a spike may dominate the norm
    np.testing.assert_allclose(blocks[0], laplacian_kernel(in_units, kernel.landmarks, kernel.gamma))
    assert features.widths[:3] == (500, 564, 564 + sum(map(len, model.components_)))
    f1 = metrics.f1(
        clean.Y[500:],
        SDGSClassifier(huber=0.05, gamma=1.0, random_state=0).fit(X[:500], clean.Y[:500]).predict(X[500:]),
    )
    assert f1 > 0.75


def test_landmarks_are_drawn_from_training_folds(monkeypatch):
    n_samples = []

    def recorded(X, *args, **options):
        n_samples.append(len(X))
        return fit_landmark_kernel(X, *args, **options)

    monkeypatch.setattr(_features, "fit_landmark_kernel", recorded)
    data = make_label_subspaces(60, 8, 3, n_components=2, random_state=0)
    SDGSClassifier(2, gamma=1.0, random_state=0).fit(data.X, data.Y)
    assert n_samples == [40, 40, 40, 60]


def test_a_kernel_separates_samples_of_any_scale():
    """Its width is relative to the mean distance, which is small for positive samples of unit norm."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] * X[:, 3] > 0]).astype(int)
    for samples in (X, 1e-3 * X, 50 + X, csr_array(50 + X)):
        model = SDGSClassifier(2, scaling=None, gamma=1.0, random_state=0).fit(samples[:400], Y[:400])
        assert metrics.accuracy(Y[400:], model.predict(samples[400:])) > 0.8


def test_missing_entries_in_word_counts_with_idf():
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(0.5, (80, 12)).astype(float))
    Y = (X.toarray()[:, :3] > 0).astype(int)
    model = SDGSClassifier(2, scaling="idf", random_state=0).fit(X, Y)
    incomplete = X.copy()
    incomplete.data[::9] = np.nan
    P = model.predict_proba(incomplete)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P, model.predict_proba(incomplete.toarray()), atol=1e-6)
    assert np.isfinite(model.transform(incomplete).data).all()


def test_idf_is_chosen_if_rare_words_matter():
    """First rare words are associated with labels, and frequent ones are noise; then the other way round."""
    rng = np.random.default_rng(0)
    Y = rng.random((600, 6)) < 0.06
    Y[~Y.any(axis=1), 0] = True
    associated = Y & (rng.random(Y.shape) < 0.8)
    noise = rng.random((600, 60)) < 0.5
    X = csr_array(np.hstack([associated, noise]).astype(float))
    assert SDGSClassifier(2, random_state=0).fit(X, Y).scaling_ == "idf"
    rare = rng.random((600, 200)) < 0.02
    frequent = rng.random((600, 6)) < 0.5
    X = csr_array(np.hstack([frequent, rare]).astype(float))
    assert SDGSClassifier(2, random_state=0).fit(X, frequent).scaling_ == "rows"


def products_of_features(n=500):
    """Each label is the sign of a product, which no linear method predicts."""
    X = np.random.default_rng(0).standard_normal((n, 4))
    return X, np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] * X[:, 3] > 0]).astype(int)


def sums_of_features(n=500):
    """Each label is the sign of a sum."""
    X = np.random.default_rng(0).standard_normal((n, 4))
    return X, np.column_stack([X[:, 0] + X[:, 1] > 0, X[:, 2] - X[:, 3] > 0]).astype(int)


@pytest.mark.parametrize(
    ("make_samples", "form", "gamma"),
    [
        (products_of_features, np.asarray, 2.0),
        (sums_of_features, np.asarray, None),
        (products_of_features, csr_array, None),
    ],
)
def test_a_kernel_is_chosen_if_dense_samples_need_one(make_samples, form, gamma):
    """The model is that of the chosen kernel, given."""
    X, Y = make_samples()
    X = form(X)
    options = {"penalty": 1.0, "scaling": "rows", "random_state": 0}
    model, given = (SDGSClassifier(2, **kernel, **options).fit(X[:400], Y[:400]) for kernel in ({}, {"gamma": gamma}))
    assert model.get_params()["gamma"] == "auto"
    assert model.gamma_ == given.gamma_ == gamma
    assert ("kernel" in model.read_from_) == (gamma is not None)
    np.testing.assert_array_equal(model.decision_function(X), given.decision_function(X))
    if gamma is not None:
        without = SDGSClassifier(2, gamma=None, **options).fit(X[:400], Y[:400])
        accuracy, accuracy_without = (metrics.accuracy(Y[400:], m.predict(X[400:])) for m in (model, without))
        assert accuracy > accuracy_without + 0.2


def test_the_norm_readout_has_no_kernel():
    X, Y = products_of_features()
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(X, Y)
    assert model.gamma_ is None
    with pytest.raises(ValueError, match='gamma needs readout="ridge"'):
        SDGSClassifier(2, readout="norm", gamma=2.0).fit(X, Y)


@pytest.mark.parametrize("gamma", ["x", "Auto", 0, -1.0, np.nan, (2.0,)])
@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_a_gamma_that_is_no_positive_number_is_rejected(gamma, readout):
    X, Y = sums_of_features(30)
    with pytest.raises(ValueError, match=r"^gamma must be "):
        SDGSClassifier(2, gamma=gamma, readout=readout).fit(X, Y)
