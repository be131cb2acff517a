"""Targets in many forms, predictions in the same form, and the interface of scikit-learn."""

import pickle
from email.message import Message

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.estimators import _base
from sdgs.methods import BinaryRelevance, LabelPowerset
from sdgs.metrics import micro_f1
from sdgs.model_selection import MultilabelStratifiedKFold


@pytest.mark.parametrize("convert", [csr_array, csr_matrix, csc_matrix])
def test_labels_are_sparse_if_the_target_was(digits, convert):
    train, test = digits
    model = SDGSClassifier(gamma=None, random_state=0).fit(train.X, train.Y)  # sparse samples get no kernel
    sparse = SDGSClassifier(scaling="rows", random_state=0).fit(convert(train.X), convert(train.Y))
    predicted = sparse.predict(convert(test.X))
    assert issparse(predicted)
    assert predicted.format == "csr"
    assert predicted.dtype == train.Y.dtype
    assert np.mean(predicted.toarray() == model.predict(test.X)) > 0.999  # equal up to rounding
    np.testing.assert_allclose(sparse.decision_function(test.X), model.decision_function(test.X), atol=1e-3)


def test_labels_are_a_data_frame_if_the_target_was(digits, model):
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


@pytest.mark.slow
def test_label_frames_keep_any_column_names_and_dtypes(digits):
    train, test = digits
    columns = pd.MultiIndex.from_tuples([("digit", i) for i in range(10)])
    frame = pd.DataFrame(train.Y, columns=columns)
    for dtype in ("boolean", "Int64", "uint8", pd.CategoricalDtype([0, 1])):
        predicted = SDGSClassifier(random_state=0).fit(train.X, frame.astype(dtype)).predict(test.X)
        assert predicted.columns.equals(columns)
        assert all(column_dtype == dtype for column_dtype in predicted.dtypes)
    mixed = frame.astype({("digit", 0): bool, ("digit", 1): float})
    predicted = SDGSClassifier(random_state=0).fit(train.X, mixed).predict(test.X)
    assert list(predicted.dtypes) == list(mixed.dtypes)


def test_one_column_is_a_label_matrix_if_it_is_sparse_or_a_data_frame():
    data = make_label_subspaces(100, 20, 2, labels_per_sample=1, random_state=0)
    y = data.Y[:, :1]
    assert SDGSClassifier(random_state=0).fit(data.X, pd.DataFrame(y, columns=["a"])).predict(data.X).shape == (100, 1)
    assert SDGSClassifier(random_state=0).fit(data.X, csr_array(y)).predict(data.X).shape == (100, 1)
    with pytest.warns(DataConversionWarning):
        assert SDGSClassifier(random_state=0).fit(data.X, y).predict(data.X).shape == (100,)


def test_a_1d_target_has_one_class_per_sample():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {i}" for i in range(10)])[y]
    model = SDGSClassifier(random_state=0).fit(X[:900], names[:900])
    assert model.decision_function(X).shape == (1797, 10)
    assert model.score(X[900:], names[900:]) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    X, y = X[y < 2], y[y < 2]
    two_classes = SDGSClassifier(random_state=0).fit(X[:200], y[:200])
    assert two_classes.decision_function(X).shape == (len(X),)
    assert two_classes.score(X[200:], y[200:]) > 0.95
    parts = model.contributions(X[:2], ["digit 3", "digit 7"])
    assert [np.flatnonzero(part.any(axis=1)).tolist() for part in parts] == [[3], [7]]
    assert two_classes.contributions(X[:5]).shape == (5, 2, 64)


def test_float32_samples_give_float32_scores(digits, model):
    train, test = digits
    single = SDGSClassifier(random_state=0).fit(train.X.astype(np.float32), train.Y)
    scores = single.decision_function(test.X.astype(np.float32))
    assert scores.dtype == np.float32
    assert single.components_[0].dtype == np.float32
    agreement = np.mean(single.predict(test.X.astype(np.float32)) == model.predict(test.X))
    assert agreement > 0.99


def test_an_unfitted_model_raises():
    with pytest.raises(NotFittedError):
        SDGSClassifier().predict([[1.0]])
    with pytest.raises(NotFittedError):
        SDGSClassifier().contributions([[1.0]])


@pytest.mark.parametrize("address", ["https://example.org/sdgs/", None])
def test_the_html_view_links_to_the_documentation(address, monkeypatch):
    """If the metadata of the installed package has its address."""
    metadata = Message()
    metadata["Project-URL"] = "Source, https://example.org/source"
    if address:
        metadata["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr(_base, "metadata", lambda _: metadata)
    _base.documentation_url.cache_clear()
    page = "https://example.org/sdgs/api/sdgs.SDGSClassifier.html"
    try:
        assert (page in SDGSClassifier()._repr_html_()) == bool(address)
        assert SDGSClassifier()._get_doc_link() == (page if address else "")
    finally:
        _base.documentation_url.cache_clear()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_do_not_depend_on_how_an_array_is_passed(digits, model, dtype):
    """Plain arrays are not validated by scikit-learn."""
    X = digits[1].X[:7].astype(dtype)
    expected = model.decision_function(X)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for same in (np.asfortranarray(X), wide, np.ma.array(X, mask=False)):
        np.testing.assert_array_equal(model.decision_function(same), expected)
    np.testing.assert_allclose(model.decision_function(X.tolist()), expected, atol=1e-2)  # float64
    for row, scores in zip(X, expected, strict=True):
        np.testing.assert_allclose(model.decision_function(row[None])[0], scores, atol=1e-4)


def test_arrays_are_validated_before_prediction(digits, model):
    X = digits[1].X[:7].copy()
    for wrong, message in ((X[:, 1:], "63 features"), (X[0], "1D array"), (X[:0], "0 sample"), (X[None], "dim 3")):
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X)
    named = SDGSClassifier(random_state=0).fit(
        pd.DataFrame(X[1:], columns=[f"x{i}" for i in range(64)]), digits[1].Y[1:7]
    )
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X[1:])


NAMES = np.array(["d", "a", "c", "b"])
BY_NAME = np.argsort(NAMES)


@pytest.fixture(scope="module")
def lists():
    """Samples, their label matrix with sorted names, and the same labels as lists."""
    data = make_label_subspaces(90, 12, 4, n_components=2, random_state=0)
    return data.X, data.Y[:, BY_NAME], [NAMES[row == 1].tolist() for row in data.Y]


@pytest.mark.parametrize(
    "model",
    [
        SDGSClassifier(2, gamma=None, random_state=0),
        BinaryRelevance(),
        DecisionClassifier(LogisticRegression(), random_state=0),
        AveragingClassifier([LogisticRegression()], random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_lists_of_labels_are_the_label_matrix_with_names(model, lists):
    X, Y, y = lists
    expected = clone(model).fit(X, csr_array(Y))
    model = clone(model).fit(X, y)
    assert model.classes_.tolist() == sorted(NAMES)
    predicted, matrix = model.predict(X), expected.predict(X).toarray()
    assert predicted == [np.array(sorted(NAMES))[row == 1].tolist() for row in matrix]
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.score(X, y) == expected.score(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X) == predicted
    assert clone(model).fit(X, Y).predict(X).shape == Y.shape  # the form is that of the last fit
    assert model.fit(X, Y.argmax(axis=1)).predict(X).shape == (90,)


def test_a_series_of_lists_has_the_index_of_the_samples(lists):
    X, _, y = lists
    frame, tags = pd.DataFrame(X).add_prefix("f"), pd.Series(y, name="tags")
    frame.index = tags.index = np.arange(90) + 1000
    model = BinaryRelevance().fit(frame, tags.map(tuple))
    predicted = model.predict(frame[:5])
    assert (list(predicted.index), predicted.name, type(predicted.iloc[0])) == ([*range(1000, 1005)], "tags", tuple)
    unnamed = BinaryRelevance().fit(X, tags)
    assert list(unnamed.predict(X[:5].tolist()).index) == [0, 1, 2, 3, 4]
    column = BinaryRelevance().fit(frame, tags.to_frame()).predict(frame[:5])
    assert (list(column.columns), column["tags"].map(tuple).tolist()) == (["tags"], predicted.tolist())


def test_strings_with_separators_are_classes(lists):
    X, _, y = lists
    texts = pd.Series([";".join(labels) for labels in y])
    assert set(BinaryRelevance().fit(X, texts).classes_) == set(texts)


def test_lists_of_labels_are_scored_by_names(lists):
    X, _, y = lists
    model = BinaryRelevance().fit(X, y)
    predicted = model.predict(X)
    assert model.score(X, predicted) == 1
    assert model.score(X[:2], [predicted[0], [*predicted[1], "new"]]) == 0.5
    assert model.score(X[:2], [predicted[0], ["new"]], sample_weight=[3, 1]) == 0.75
    empty = [i for i, labels in enumerate(predicted) if not labels]
    assert model.score(X[:3], [[], [], []]) == np.mean([i in empty for i in range(3)])
    with pytest.raises(ValueError, match="Pass both in the same form"):
        model.score(X, np.ones((90, 4)))
    model = BinaryRelevance().fit([[0.0], [0.0], [9.0], [9.0]], [[], [], ["a"], ["a"]])
    assert (model.score([[0.0]], [[]]), model.score([[0.0], [9.0]], [[], []])) == (1, 0.5)  # no label at all


def test_names_of_lists_that_look_alike_give_a_warning_in_fit(lists):
    X, _, y = lists
    alike = [[*labels, "A"] if i % 3 == 0 else labels for i, labels in enumerate(y)]
    with pytest.warns(UserWarning, match="'A' / 'a'"):
        model = BinaryRelevance().fit(X, alike)
    assert model.classes_.tolist() == ["A", *sorted(NAMES)]


def test_lists_of_labels_in_cross_validation(lists):
    X, _, y = lists
    array, model = pd.Series(y).map(tuple).to_numpy(), BinaryRelevance()
    for cv in (KFold(3), MultilabelStratifiedKFold(3, random_state=0)):
        predicted = cross_val_predict(model, X, array, cv=cv)
        shares = [
            np.mean(pd.Series(array[test]).map(set) == pd.Series(predicted[test]).map(set))
            for _, test in cv.split(X, array)
        ]
        np.testing.assert_allclose(cross_val_score(model, X, array, cv=cv), shares)
        scores = cross_val_score(model, X, array, cv=cv, scoring=make_scorer(micro_f1))
        np.testing.assert_allclose(scores, [micro_f1(array[test], predicted[test]) for _, test in cv.split(X, array)])
        search = GridSearchCV(model, {"n_jobs": [1]}, cv=cv).fit(X, y)
        assert search.predict(X[:2]) == BinaryRelevance().fit(X, y).predict(X[:2])
        np.testing.assert_allclose(search.best_score_, np.mean(shares))


def test_suspicious_labels_and_explanations_take_lists_of_labels(lists):
    X, Y, y = lists
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X[:60], y[:60])
    named, matrix = (model.suspicious_labels(X[60:], of_test) for of_test in (y[60:], Y[60:]))
    np.testing.assert_array_equal(named.rows, matrix.rows)
    assert set(named.label_names) <= set(NAMES)
    for method in (model.explain, model.explain_prediction):
        assert str(method(X[:2], y[:2])[0]) == str(method(X[:2], Y[:2])[0])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SDGSClassifier(), [0.0, np.nan, 1.0]),
        (SDGSClassifier(), np.array(["a", None, "b"], dtype=object)),
        (LabelPowerset(), np.array([[0, 1], [1, np.nan], [1, 0]])),
    ],
)
def test_missing_labels_are_named(model, y):
    with pytest.raises(ValueError, match=r"missing in 1 of 3 rows \(counted from 0: 1\)"):
        model.fit(np.eye(3), y)


def test_a_label_without_a_name_is_warned_of_once(digits):
    Y = pd.DataFrame({"": digits[0].Y[:, 0], "other": digits[0].Y[:, 1]})
    with pytest.warns(UserWarning, match="blank name") as record:
        SDGSClassifier(random_state=0).fit(digits[0].X, Y)
    assert len(record) == 1
