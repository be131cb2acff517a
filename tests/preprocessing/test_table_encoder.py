import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mixed_tables import small_table, tables
from sdgs import AveragingClassifier, DecisionClassifier
from sdgs.datasets import tickets_path
from sdgs.methods import BinaryRelevance, ClassifierChains, MLkNN
from sdgs.preprocessing import TableEncoder

TEXT_OF_NUMBERS = "column .* is (left out|encoded as)"  # a warning about numbers that are read as text
few_examples = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


def result_or_error(function, X):
    try:
        return function(X), None
    except ValueError as error:
        return None, str(error)


def assert_same(A, B):
    assert issparse(A) == issparse(B)
    assert_array_equal(dense(A), dense(B))


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_kinds_names_and_reasons():
    encoder = TableEncoder(sparse_output=True).fit(small_table())
    kinds = {column.name: column.kind for column in encoder.columns_}
    assert kinds == {
        "id": "drop", "message": "text", "channel": "category", "amount": "number", "paid": "boolean",
        "created": "date", "topics": "list", "country": "drop", "empty": "drop",
    }  # fmt: skip
    reasons = {column.name: column.reason for column in encoder.columns_ if column.kind == "drop"}
    assert "identifier" in reasons["id"]
    assert reasons["country"] == "constant"
    assert reasons["empty"] == "empty"
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == sum(column.n_features for column in encoder.columns_)
    assert {"message: damaged", "channel = mail", "created: weekday", "topics: a", "paid = True"} <= set(names)
    assert "amount: missing" in names
    assert "channel: missing" in names


def test_views_show_every_column_and_escape_names():
    table = {**small_table(), "<b>bold</b>": list(range(20))}
    encoder = TableEncoder()
    assert "kinds" in encoder._repr_html_()
    encoder.fit(table)
    assert all(name in encoder.summary() for name in small_table())
    html = encoder._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "<b>bold" not in html
    assert encoder._repr_mimebundle_()["text/html"] == html


@pytest.mark.parametrize(
    "convert",
    [
        pd.DataFrame,
        lambda table: pd.DataFrame(table).convert_dtypes(),
        lambda table: pd.DataFrame(table).astype({"channel": "category", "created": "datetime64[ns]"}),
        lambda table: pl.DataFrame(table, strict=False),
        lambda table: pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()}),
    ],
    ids=["pandas", "nullable", "categories and dates", "polars", "arrow"],
)
def test_all_kinds_of_tables_give_the_same(convert):
    table = small_table()
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    other = TableEncoder()
    assert_same(other.fit_transform(convert(table)), X)
    assert other.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert_same(encoder.transform(convert(table)), X)


def test_it_is_what_a_column_transformer_makes():
    table = small_table()
    names = ["message", "channel", "amount", "paid"]
    frame = pd.DataFrame({name: table[name] for name in names})
    frame["message"] = frame["message"].fillna("")
    frame["amount"] = np.arange(20.0) ** 2
    by_hand = ColumnTransformer(
        [
            ("text", TfidfVectorizer(use_idf=False, sublinear_tf=True, min_df=2), "message"),
            ("category", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2), ["channel"]),
            ("number", StandardScaler(), ["amount"]),
            ("boolean", OneHotEncoder(), ["paid"]),
        ],
        sparse_threshold=1,
    )
    encoder = TableEncoder(sparse_output=True)
    assert_allclose(encoder.fit_transform(frame).toarray(), by_hand.fit_transform(frame).toarray(), atol=1e-14)
    new = frame.iloc[::-1].assign(channel="fax", message="late late parcel unheard")
    assert_allclose(encoder.transform(new).toarray()[:, :-2], by_hand.transform(new).toarray()[:, :-2], atol=1e-14)


def test_columns_are_found_by_their_names():
    frame = pd.DataFrame(small_table())
    encoder = TableEncoder()
    X = encoder.fit_transform(frame)
    shuffled = frame[frame.columns[::-1]].assign(more=1).drop(columns=["id", "country"])
    assert_same(encoder.transform(shuffled), X)
    with pytest.raises(ValueError, match="no column 'channel'"):
        encoder.transform(frame.drop(columns="channel"))


def test_columns_of_arrays_are_found_by_their_positions():
    frame = pd.DataFrame(small_table())
    array = frame.to_numpy(dtype=object)
    encoder = TableEncoder().fit(array)
    assert not hasattr(encoder, "feature_names_in_")
    assert "x1: damaged" in encoder.get_feature_names_out()
    named = TableEncoder().fit(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_same(named.transform(array), encoder.transform(array))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert_same(encoder.transform(frame), encoder.transform(array))
    with pytest.raises(ValueError, match="expecting 9 features"):
        encoder.transform(array[:, 1:])


def test_numbers_of_an_array_are_standardised_and_nan_stays():
    X = np.random.default_rng(0).normal(5, [1, 100, 1e-3], (50, 3))
    X[::7, 1] = np.nan
    encoder = TableEncoder()
    assert_allclose(encoder.fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    filled = TableEncoder(sparse_output=True)
    Z = filled.fit_transform(X).toarray()
    assert filled.get_feature_names_out().tolist() == ["x0", "x1", "x1: missing", "x2"]
    assert_array_equal(Z[:, 2], np.isnan(X[:, 1]))
    assert_array_equal(Z[::7, 1], 0)


def test_kinds_are_overridden():
    table = small_table()
    kinds = {"id": "text", "message": "drop", "amount": "category", "channel": "text", "country": "category"}
    columns = {column.name: column for column in TableEncoder(kinds).fit(table).columns_}
    assert all(
        columns[name].kind == kind and "user" in columns[name].reason for name, kind in kinds.items() if kind != "drop"
    )
    assert columns["message"].n_features == 0
    numbers = {"code": [str(i % 3) for i in range(12)], "level": [i % 3 for i in range(12)]}
    encoder = TableEncoder({"code": "number", "level": "category"}).fit(numbers)
    assert encoder.get_feature_names_out().tolist() == ["code", "level = 0", "level = 1", "level = 2"]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"nothing": "text"}, "kinds has a column 'nothing'"),
        ({"amount": "words"}, r"kinds\['amount'\] must be one of"),
        ("text", "kinds must be a dict"),
        ({"mesage": "text"}, "Did you mean 'message'. Its columns are 'message', 'id', 'channel', .* and 1 more"),
        ({"zzz": "text"}, "of this name. Its columns are 'id', 'message', 'channel'"),
        ({"message": "number"}, "'message' has no number: a cell is 'The parcel"),
        ({"message": "date"}, "'message' is not in a form of dates"),
        ({"message": "list"}, "'message' has strings, where lists"),
        ({"topics": "category"}, "'topics' has lists, where text"),
    ],
)
def test_wrong_kinds(kinds, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(kinds).fit(small_table())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"text": "bytes"}, "text must be"), ({"max_categories": 0}, "max_categories"), ({"sparse_output": 1}, "sparse")],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**parameters).fit(small_table())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (["one text", "another text"], "1D array of strings"),
        (pd.Series(["one text", "another text"]), "1D array of strings"),
        ({}, "0 feature"),
        ({"a": []}, "0 sample"),
        ({"a": [1, 2], "b": [1]}, "same number of entries"),
        ({"a": [[1], 2]}, "type list"),
        ({"a": [{}, {}]}, "type dict"),
        ({"a": [1.0, np.inf]}, "infinity"),
        ({"a": np.zeros((2, 2))}, "1-D"),
        ({"a": "text"}, "1-D"),
        ({"a": np.array([b"x", b"y"])}, "bytes"),
        ({"a": [10**400, 1]}, "too large"),
        ({"a": ["x", "x"], "b": [None, None]}, "no column of X can be used"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns with the name"),
        ({"a": [[{}], []]}, "lists of something else"),
        ({"a": np.array(["20000-01-01", "2000-01-01"], dtype="datetime64[D]")}, "years 1 to 9999"),
    ],
)
def test_what_is_not_a_table(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_types_may_not_change_after_fit():
    encoder = TableEncoder().fit(small_table())
    for name, values in {"amount": [["a"]] * 20, "created": [1.0] * 20, "topics": ["a"] * 20}.items():
        with pytest.raises(ValueError, match=f"column '{name}'"):
            encoder.transform({**small_table(), name: values})
    gone = {name: [None] * 20 for name in small_table()}
    assert encoder.transform(gone).shape == (20, len(encoder.get_feature_names_out()))


def test_unknown_values():
    table = small_table()
    encoder = TableEncoder(sparse_output=False).fit(table)
    names = encoder.get_feature_names_out().tolist()
    new = {
        **table,
        "channel": ["fax"] * 20,
        "message": ["unheard"] * 20,
        "created": ["tomorrow"] * 20,
        "topics": [["z"]] * 20,
    }
    Z = encoder.transform(new)
    for prefix in ("channel", "message", "topics"):
        assert not Z[:, [name.startswith(prefix) for name in names]].any()
    assert np.isnan(Z[:, [name.startswith("created") for name in names]]).all()


def test_pandas_output_clone_and_pickle():
    frame = pd.DataFrame(small_table(), index=np.arange(20) + 5)
    encoder = TableEncoder().set_output(transform="pandas")
    Z = encoder.fit_transform(frame)
    assert isinstance(Z, pd.DataFrame)
    assert Z.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert Z.index.tolist() == frame.index.tolist()
    copy = pickle.loads(pickle.dumps(encoder))
    pd.testing.assert_frame_equal(copy.transform(frame), Z)
    parameters = {"kinds": {"id": "drop"}, "text": "both", "max_categories": 3, "sparse_output": True}
    assert clone(TableEncoder(**parameters)).get_params() == parameters
    assert isinstance(TableEncoder().set_output(transform="polars").fit_transform(frame), pl.DataFrame)


def test_it_works_before_other_estimators():
    table = pd.DataFrame(small_table())
    model = make_pipeline(TableEncoder(sparse_output=True), LogisticRegression())
    y = table["channel"] == "mail"
    assert model.fit(table, y).score(table, y) == 1


def sparse_tickets():
    """A table whose encoding is sparse, and two labels."""
    table = pd.read_csv(tickets_path())[:150]
    return table, table.pop("tags").str.get_dummies(";")[["login", "shipping"]].to_numpy()


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, random_state=0),
        OneVsRestClassifier(LinearSVC()),
        OneVsRestClassifier(SVC()),
        OneVsRestClassifier(LogisticRegression()),
        DecisionClassifier(ExtraTreesClassifier(5, random_state=0), random_state=0),
        DecisionClassifier(LinearSVC(), random_state=0),
        AveragingClassifier(
            [("trees", RandomForestClassifier(5, random_state=0)), ("vectors", LinearSVC())], random_state=0
        ),
        BinaryRelevance(),
        ClassifierChains(RandomForestClassifier(5, random_state=0), n_chains=1, random_state=0),
        MLkNN(),
    ],
    ids=lambda classifier: "".join(repr(classifier)[:45].split()),
)
def test_estimators_take_the_sparse_matrix(classifier):
    table, Y = sparse_tickets()
    encoder = TableEncoder()
    for X in (encoder.fit_transform(table), encoder.transform(table)):
        assert issparse(X)
        assert X.indices.dtype == X.indptr.dtype == np.int32
    predicted = make_pipeline(encoder, classifier).fit(table, Y).predict(table)
    assert np.asarray(predicted == Y).mean() > 0.8


@pytest.mark.parametrize(
    ("cells", "example", "what"),
    [
        (["41,63 €", "7,10 €", "1.210,00 €", "9,99 €"], "41,63 €", "encoded as text"),
        (["$1,210.50", "$3.00", "12"], r"\$1,210.50", "left out"),
        (["4,5", "3,25", "1,75"], "4,5", "left out"),
        (["5 %", "10 %"] * 4, "5 %", "encoded as category"),
    ],
)
def test_numbers_that_are_not_parsed_are_warned_of(cells, example, what):
    table = pd.DataFrame({"price": cells, "other": range(len(cells))})
    with pytest.warns(UserWarning, match=f"column 'price' is {what}: .*'{example}'.*read_table.*kinds=") as record:
        encoder = TableEncoder().fit(table)
    assert record[0].filename == __file__
    assert "read_table" in encoder.columns_[0].note
    assert "or convert the column to numbers" in encoder.summary()  # notes are not cut
    TableEncoder({"price": "category"}).fit(table)
    with pytest.raises(ValueError, match=f"'price' has numbers such as '{example}', .*read_table"):
        TableEncoder({"price": "number"}).fit(table)


def test_numbers_in_two_notations_have_a_note():
    (column,) = TableEncoder().fit(pd.DataFrame({"size": ["4,5", "4.5", "3,5", "3.5"] * 3})).columns_
    assert "decimal comma" in column.note


def almost(cells, other, n_others):
    """A table of a hundred cells, of which some are something else."""
    return pd.DataFrame({"x": [other] * n_others + [cells(i // 2) for i in range(100 - n_others)]})


@pytest.mark.parametrize(
    ("kind", "cells", "other"),
    [
        ("date", lambda i: f"2025-0{1 + i % 9}-1{i % 9}", "unknown"),
        ("date", lambda i: f"{1 + i % 28}.{1 + i % 9}.2024", "31.2.2024"),
        ("number", str, "big"),
        ("number", lambda i: f"{i}.5", "n/a"),
    ],
)
def test_columns_with_few_other_cells_have_a_note(kind, cells, other):
    for n_others in (1, 10):
        table = almost(cells, other, n_others)
        (column,) = TableEncoder().fit(table).columns_
        assert column.kind in ("text", "category")
        assert f"{100 - n_others} of 100 cells are {kind}s, but {other!r} is not" in column.note
        assert f"kinds={{'x': '{kind}'}}" in column.note
        encoder = TableEncoder({"x": kind}, sparse_output=False)
        Z = encoder.fit_transform(table)
        assert_array_equal(np.isnan(Z[:, 0]), table["x"] == other)
        assert f"{n_others} missing, because {other!r} is no {kind}" in encoder.columns_[0].note
    assert TableEncoder().fit(almost(cells, other, 11)).columns_[0].note.count("cells are") == 0


def test_numbers_that_are_left_out_because_of_one_cell_are_warned_of():
    table = pd.DataFrame({"x": ["big", *map(str, range(99))], "y": range(100)})
    with pytest.warns(UserWarning, match="column 'x' is left out: 99 of 100 cells are numbers, but 'big' is not"):
        encoder = TableEncoder().fit(table)
    assert "an identifier" in encoder.summary()
    assert "but 'big' is not" in encoder.summary()
    TableEncoder({"x": "drop"}).fit(table)


def test_few_other_cells_beside_numbers_that_are_not_parsed():
    (column,) = TableEncoder().fit(almost(lambda i: f"{i},5 €", "free", 3)).columns_
    assert "97 of 100 cells are numbers, but 'free' is not: correct it, and read the file" in column.note


def test_dates_whose_day_and_month_may_be_swapped_stay_text():
    table = almost(lambda i: f"0{1 + i % 9}/0{1 + i // 12}/2024", "unknown", 1)
    assert "dates" not in TableEncoder().fit(table).columns_[0].note
    with pytest.raises(ValueError, match="could be swapped: a cell is 'unknown'"):
        TableEncoder({"x": "date"}).fit(table)


def test_texts_are_embedded_by_a_function():
    def embed(texts):
        return np.array([[len(text), text.count("e"), 1] for text in texts])

    table = small_table()
    encoder = TableEncoder({"message": embed, "created": "drop"}).fit(table)
    assert [column.n_features for column in encoder.columns_ if column.name == "message"] == [3]
    Z = dense(encoder.transform({**table, "message": ["eee"] * 20}))[:, :3]
    assert_allclose(Z, np.tile([3, 3, 1] / np.sqrt(19), (20, 1)))
    assert "message: 0" in encoder.get_feature_names_out()
    assert TableEncoder(text=embed).fit(table).get_feature_names_out()[0] == "message: 0"
    with pytest.raises(ValueError, match="one vector of finite numbers for each of the 20 texts"):
        TableEncoder(text=lambda texts: np.zeros((3, 3))).fit(table)  # noqa: ARG005


@pytest.mark.slow
@few_examples
@given(tables(), st.booleans())
def test_fit_gives_a_result_or_says_what_is_wrong(table, as_frame):
    X = pd.DataFrame(table) if as_frame else table
    encoder = TableEncoder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", TEXT_OF_NUMBERS)
        Z, error = result_or_error(encoder.fit_transform, X)
    if error is not None:
        assert "column" in error
        return
    assert Z.shape == (len(next(iter(table.values()))), len(encoder.get_feature_names_out()))
    assert len(set(encoder.get_feature_names_out())) == Z.shape[1]
    values = Z.data if issparse(Z) else Z
    assert not np.isinf(values).any()
    assert not (issparse(Z) and np.isnan(values).any())
    assert_same(encoder.transform(X), Z)


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore:{TEXT_OF_NUMBERS}")
@few_examples
@given(tables(), st.data())
def test_rows_are_encoded_one_by_one_and_columns_in_any_order(table, data):
    encoder = TableEncoder()
    try:
        Z = dense(encoder.fit_transform(table))
    except ValueError:
        assume(False)
    n = len(Z)
    cut = data.draw(st.integers(0, n))
    order = data.draw(st.permutations(sorted(table)))
    for rows in (range(cut), range(cut, n), *([i] for i in range(min(n, 4)))):
        if len(rows):
            part = {name: [table[name][i] for i in rows] for name in order}
            assert_array_equal(dense(encoder.transform(part)), Z[list(rows)])


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore:{TEXT_OF_NUMBERS}")
@few_examples
@given(tables(min_rows=4), tables())
def test_other_rows_are_encoded_or_rejected_clearly(table, others):
    encoder = TableEncoder()
    try:
        encoder.fit(table)
    except ValueError:
        assume(False)
    cells = list(others.values())
    new = {name: cells[i % len(cells)] for i, name in enumerate(table)}
    Z, error = result_or_error(encoder.transform, new)
    if error is not None:
        assert "column" in error
        return
    assert Z.shape[1] == len(encoder.get_feature_names_out())
    assert not np.isinf(Z.data if issparse(Z) else Z).any()
