import pickle
from email.message import Message

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdgs import SDGSClassifier, SDGSClassifierCV, metrics
from sdgs.datasets import make_composite_digits, make_label_subspaces
from sdgs.estimators._base import documentation
from sdgs.experiments._digits_demo import run_demo


@pytest.fixture(scope="module")
def digits():
    return (
        make_composite_digits(1500, max_labels=2, subset="train", random_state=0),
        make_composite_digits(500, max_labels=2, subset="test", random_state=1),
    )


@pytest.fixture(scope="module")
def model(digits):
    return SDGSClassifier(random_state=0).fit(digits[0].X, digits[0].Y)


# All of scikit-learn's checks; none is expected to fail.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [SDGSClassifier(), SDGSClassifier(readout="norm"), SDGSClassifier(gamma=1.0), SDGSClassifierCV(budget=6)]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_composite_digits_the_papers_way_beat_tuned_binary_relevance():
    # One parameter and one threshold each, chosen in the same way on the training data.
    ours, paper, rival = run_demo(n_train=1500, n_test=1000, seed=3).methods
    assert [method.name for method in (ours, paper, rival)] == ["SDGS", "SDGS as published", "binary relevance"]
    assert paper.scores["f1"] >= rival.scores["f1"]
    assert ours.scores["f1"] >= paper.scores["f1"]


@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_planted_labels_are_found(readout):
    data = make_label_subspaces(900, 60, 8, n_components=3, random_state=0)
    model = SDGSClassifier(3, alpha=0.1, readout=readout, random_state=0).fit(data.X[:600], data.Y[:600])
    assert metrics.f1(data.Y[600:], model.predict(data.X[600:])) > 0.95


def test_decision_and_prediction_the_papers_way_follow_the_definition(digits):
    train, test = digits
    model = SDGSClassifier(readout="norm", random_state=0).fit(train.X, train.Y)
    scores = model.decision_function(test.X)
    assert scores.shape == test.Y.shape
    np.testing.assert_array_equal(model.predict(test.X), scores >= model.threshold)
    x = test.X[0] / np.linalg.norm(test.X[0])
    from sdgs import group_lasso

    code = group_lasso([x], model.components_, model.alpha).codes.toarray()[0]
    np.testing.assert_allclose(scores[0], np.abs(code).reshape(10, -1).sum(axis=1), atol=1e-6)


def test_contributions_and_residual_make_the_sample(digits, model):
    test = digits[1]
    parts = model.contributions(test.X[:20])
    predicted = model.predict(test.X[:20])
    assert parts.shape == (20, 10, 64)
    assert not parts[predicted == 0].any()
    residual = test.X[:20] - parts.sum(axis=1)
    for i in range(20):  # least squares: the residual is orthogonal to the subspace of every label used
        for label in np.flatnonzero(predicted[i]):
            np.testing.assert_allclose(model.components_[label] @ residual[i], 0, atol=1e-8)
    # Given the true labels, the parts look like the images that were added.
    parts = model.contributions(test.X[:50], test.Y[:50])
    error = np.linalg.norm(parts - test.parts[:50]) / np.linalg.norm(test.parts[:50])
    assert error < 0.45
    np.testing.assert_allclose(model.contributions(csr_array(test.X[:3])), model.contributions(test.X[:3]), atol=1e-8)
    with pytest.raises(ValueError, match="labels must have one column for each of the 10 labels, got 3"):
        model.contributions(test.X[:1], [[1, 0, 0]])


@pytest.mark.parametrize("convert", [csr_array, csr_matrix, csc_matrix])
def test_sparse_in_sparse_out(digits, model, convert):
    train, test = digits
    sparse = SDGSClassifier(scaling="rows", random_state=0).fit(convert(train.X), convert(train.Y))
    predicted = sparse.predict(convert(test.X))
    assert issparse(predicted)
    assert predicted.format == "csr"
    assert predicted.dtype == train.Y.dtype
    assert np.mean(predicted.toarray() == model.predict(test.X)) > 0.999  # the same but for rounding
    np.testing.assert_allclose(sparse.decision_function(test.X), model.decision_function(test.X), atol=1e-3)


def test_a_frame_of_labels_comes_back_with_its_names(digits, model):
    train, test = digits
    names = [f"digit {i}" for i in range(10)]
    features = [f"pixel {i}" for i in range(64)]
    X = pd.DataFrame(test.X, columns=features, index=np.arange(len(test.X)) + 1000)
    named = SDGSClassifier(random_state=0).fit(
        pd.DataFrame(train.X, columns=features), pd.DataFrame(train.Y.astype(bool), columns=names)
    )
    predicted = named.predict(X)
    assert list(predicted.columns) == names
    assert list(predicted.index) == list(X.index)
    assert all(dtype == np.dtype(bool) for dtype in predicted.dtypes)
    np.testing.assert_array_equal(predicted.to_numpy(), model.predict(test.X))
    assert list(named.classes_) == names
    assert list(named.feature_names_in_) == features
    assert 0 < named.score(X, pd.DataFrame(test.Y, columns=names)) < 1
    unnamed = SDGSClassifier(random_state=0).fit(train.X, pd.DataFrame(train.Y, columns=names))
    assert list(unnamed.predict(test.X[:2].tolist()).index) == [0, 1]
    with pytest.raises(ValueError, match="feature names"):
        named.predict(X.rename(columns={"pixel 0": "other"}))


def test_names_and_dtypes_of_labels_come_back_whatever_they_are(digits):
    train, test = digits
    columns = pd.MultiIndex.from_tuples([("digit", i) for i in range(10)])
    frame = pd.DataFrame(train.Y, columns=columns)
    for dtype in ("boolean", "Int64", "uint8", pd.CategoricalDtype([0, 1])):
        predicted = SDGSClassifier(random_state=0).fit(train.X, frame.astype(dtype)).predict(test.X)
        assert predicted.columns.equals(columns)
        assert all(found == dtype for found in predicted.dtypes)
    mixed = frame.astype({("digit", 0): bool, ("digit", 1): float})
    predicted = SDGSClassifier(random_state=0).fit(train.X, mixed).predict(test.X)
    assert list(predicted.dtypes) == list(mixed.dtypes)


def test_a_single_label_is_a_label_when_it_is_named_or_sparse():
    data = make_label_subspaces(100, 20, 2, labels_per_sample=1, random_state=0)
    y = data.Y[:, :1]
    framed = SDGSClassifier(random_state=0).fit(data.X, pd.DataFrame(y, columns=["only"])).predict(data.X)
    assert framed.shape == (100, 1)
    assert SDGSClassifier(random_state=0).fit(data.X, csr_array(y)).predict(data.X).shape == (100, 1)
    with pytest.warns(DataConversionWarning):
        assert SDGSClassifier(random_state=0).fit(data.X, y).predict(data.X).shape == (100,)


def test_one_class_a_sample():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {i}" for i in range(10)])[y]
    model = SDGSClassifier(random_state=0).fit(X[:900], names[:900])
    assert model.decision_function(X).shape == (1797, 10)
    assert model.score(X[900:], names[900:]) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    X, y = X[y < 2], y[y < 2]
    two = SDGSClassifier(random_state=0).fit(X[:200], y[:200])
    assert two.decision_function(X).shape == (len(X),)
    assert two.score(X[200:], y[200:]) > 0.95
    parts = model.contributions(X[:2], ["digit 3", "digit 7"])
    assert [np.flatnonzero(part.any(axis=1)).tolist() for part in parts] == [[3], [7]]
    parts = two.contributions(X[:5])
    assert parts.shape == (5, 2, 64)


def test_rows_are_brought_to_unit_norm_unless_told_otherwise(digits):
    train, test = digits
    scaled = SDGSClassifier(random_state=0).fit(train.X * np.arange(1, 1501)[:, None], train.Y)
    plain = SDGSClassifier(random_state=0).fit(train.X, train.Y)
    np.testing.assert_allclose(scaled.decision_function(test.X * 1e5), plain.decision_function(test.X), atol=1e-4)
    unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (train.X, test.X)]
    off = SDGSClassifier(scaling=None, random_state=0).fit(unit[0], train.Y)
    np.testing.assert_allclose(off.decision_function(unit[1]), plain.decision_function(test.X), atol=1e-4)
    assert not np.allclose(off.decision_function(test.X), plain.decision_function(test.X))


@pytest.mark.parametrize("readout", ["ridge", "norm"])
def test_what_real_data_has_does_no_harm(readout):
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
    if readout == "norm":  # the other knows which labels are frequent
        assert not predicted[4].any()
        assert not predicted[-2].any()
    assert len(model.components_[2]) == 0
    assert len(model.components_[4]) == 1


def test_raw_measurements_need_no_care():
    """Columns in units that differ by a million, and far from zero, as measurements come."""
    data = make_label_subspaces(900, 30, 5, n_components=2, random_state=0)
    rng = np.random.default_rng(0)
    units = 10.0 ** rng.uniform(-3, 3, 30)
    raw = (data.X + rng.choice([-5, 5], 30)) * units
    model = SDGSClassifier(2, random_state=0).fit(raw[:600], data.Y[:600])
    plain = SDGSClassifier(2, scaling="rows", random_state=0).fit(raw[:600], data.Y[:600])
    f1, without = (metrics.f1(data.Y[600:], m.predict(raw[600:])) for m in (model, plain))
    assert f1 > 0.85
    assert f1 > without + 0.2
    np.testing.assert_allclose(model.scaler_.mean_, raw[:600].mean(axis=0))
    assert plain.scaler_ is None
    # Parts and residual make the sample, less the mean; and transform gives samples back in their own units.
    parts = model.contributions(raw[:3], np.ones((3, 5)))
    centred = raw[:3] - model.scaler_.mean_
    rest = (centred - parts.sum(axis=1)) / units
    assert np.linalg.norm(rest) < 0.5 * np.linalg.norm(centred / units)
    gappy = raw[600:].copy()
    gappy[::2, 3] = np.nan
    filled = model.transform(gappy)
    np.testing.assert_allclose(filled[1::2], raw[601::2], rtol=1e-9)
    assert np.corrcoef(filled[::2, 3], raw[600::2, 3])[0, 1] > 0.9


@pytest.mark.parametrize("metric", ["f1", "hamming_loss"])
def test_positive_measurements_in_different_units(metric):
    """Age, income, blood pressure: none is ever negative, but their sum means nothing. Gaps are none either."""
    rng = np.random.default_rng(0)
    age, pressure = rng.uniform(0, 90, 400), rng.normal(125, 15, 400)
    X = np.column_stack([age, rng.lognormal(10, 0.8, 400), pressure, rng.normal(75, 10, 400)])
    Y = np.column_stack([age > 60, pressure > 130, X[:, 3] > 80])
    model = SDGSClassifier(2, metric=metric, random_state=0).fit(X, Y)
    assert model.scaling_ == "columns"
    gappy = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    gappy[:, 1] = np.nan
    assert SDGSClassifier(2, metric=metric, random_state=0).fit(gappy, Y).scaling_ == "columns"


def test_what_is_a_sum_is_not_centred(digits, model):
    assert model.scaling_ == "rows"
    assert model.scaler_ is None
    gappy = np.where(np.random.default_rng(0).random(digits[0].X.shape) < 0.1, np.nan, digits[0].X)
    assert SDGSClassifier(random_state=0).fit(gappy[:300], digits[0].Y[:300]).scaling_ == "rows"
    assert SDGSClassifier(random_state=0).fit(csr_matrix(digits[0].X), digits[0].Y).scaling_ in ("rows", "idf")
    with pytest.raises(ValueError, match='scaling="columns" would fill sparse X'):
        SDGSClassifier(scaling="columns").fit(csr_matrix(digits[0].X), digits[0].Y)


def test_same_result_with_one_thread_or_two(digits):
    train, test = digits
    one, two = (SDGSClassifier(random_state=0, n_jobs=jobs).fit(train.X, train.Y) for jobs in (1, 2))
    X = np.vstack([test.X] * 5)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-12)


def test_float32_stays_float32(digits, model):
    train, test = digits
    single = SDGSClassifier(random_state=0).fit(train.X.astype(np.float32), train.Y)
    scores = single.decision_function(test.X.astype(np.float32))
    assert scores.dtype == np.float32
    assert single.components_[0].dtype == np.float32
    agreement = np.mean(single.predict(test.X.astype(np.float32)) == model.predict(test.X))
    assert agreement > 0.99


def test_clone_pickle_search_and_pipeline(digits, model):
    train, test = digits
    copy = clone(SDGSClassifier(n_components=3, alpha=0.3))
    assert copy.get_params()["alpha"] == 0.3
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(test.X), model.decision_function(test.X))
    Y = pd.DataFrame(train.Y)
    scores = cross_val_score(SDGSClassifier(random_state=0), train.X, Y, scoring=make_scorer(metrics.f1), cv=3)
    assert (scores > 0.5).all()
    texts = ["cats purr softly", "dogs bark loudly", "cats purr and dogs bark", "cats purr", "dogs bark"]
    labels = [[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]]
    text_model = make_pipeline(TfidfVectorizer(), SDGSClassifier(1, random_state=0)).fit(texts, labels)
    np.testing.assert_array_equal(text_model.predict(["the cats purr", "a dog did bark"]), [[1, 0], [0, 1]])


def test_metadata_routing(digits):
    train, _ = digits
    with sklearn.config_context(enable_metadata_routing=True):
        model = SDGSClassifier(random_state=0).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.2, 0.3]}, cv=2)
        search.fit(train.X, train.Y, sample_weight=np.ones(len(train.X)))
        assert search.best_params_["alpha"] in (0.2, 0.3)


def test_works_inside_other_meta_estimators():
    data = make_label_subspaces(100, 15, 3, random_state=0)
    model = MultiOutputClassifier(SDGSClassifier(2, random_state=0)).fit(data.X, data.Y)
    assert model.predict(data.X).shape == (100, 3)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        SDGSClassifier().predict([[1.0]])
    with pytest.raises(NotFittedError):
        SDGSClassifier().contributions([[1.0]])


@pytest.mark.parametrize("address", ["https://example.org/sdgs/", None])
def test_documentation_link(address, monkeypatch):
    """In scikit-learn's HTML view, where the installed package says where its documentation is."""
    known = Message()
    known["Project-URL"] = "Source, https://example.org/source"
    if address:
        known["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr("sdgs.estimators._base.metadata", lambda _: known)
    documentation.cache_clear()
    page = "https://example.org/sdgs/api/sdgs.SDGSClassifier.html"
    try:
        assert (page in SDGSClassifier()._repr_html_()) == bool(address)
        assert SDGSClassifier()._get_doc_link() == (page if address else "")
    finally:
        documentation.cache_clear()
