"""Tables with text, categories and dates as samples of SDGS models."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sdgs
import sdgs.displays
import sdgs.report
from mixed_tables import small_table, tables
from sdgs import AveragingClassifier, DecisionClassifier, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_tickets
from sdgs.metrics import f1
from sdgs.preprocessing import TableEncoder


@pytest.fixture(scope="module")
def tickets():
    columns = {name: list(cells) for name, cells in make_tickets(200, random_state=3).columns.items()}
    table = pd.DataFrame(columns, index=np.arange(200) + 1000).replace("", None)
    Y = table.pop("tags").str.get_dummies(";")[["shipping", "billing", "refund", "login", "bug"]]
    return table.assign(amount=table["amount"].astype(float)), Y


@pytest.fixture(scope="module")
def model(tickets):
    table, Y = tickets
    return SDGSClassifier(2, gamma=None, random_state=0).fit(table.iloc[:150], Y.iloc[:150])


def test_labels_are_learnt_from_a_table(tickets, model):
    table, Y = tickets
    new, right = table.iloc[150:], Y.iloc[150:]
    predicted = model.predict(new)
    assert f1(right.to_numpy(), predicted.to_numpy()) > 0.8
    assert predicted.index.tolist() == new.index.tolist()
    assert model.n_features_in_ == table.shape[1]
    assert model.feature_names_in_.tolist() == list(table)
    assert model.get_feature_names_out().tolist() == model.encoder_.get_feature_names_out().tolist()
    assert model.components_[0].shape[1] == len(model.get_feature_names_out())
    assert model.transform(new).shape == (50, len(model.get_feature_names_out()))


def test_it_is_a_pipeline_of_encoder_and_model(tickets, model):
    table, Y = tickets
    pipeline = make_pipeline(TableEncoder(), SDGSClassifier(2, gamma=None, random_state=0))
    pipeline.fit(table.iloc[:150], Y.iloc[:150])
    assert_array_equal(pipeline.predict_proba(table), model.predict_proba(table))
    ours, theirs = (sdgs.explain_prediction(one, table.iloc[150:153]) for one in (model, pipeline))
    assert str(ours[0]) == str(theirs[0])
    assert "message: " in str(ours[0])


def test_all_functions_take_the_table(tickets, model):
    table, Y = tickets
    new = table.iloc[150:153]
    names = model.get_feature_names_out().tolist()
    assert sdgs.explain(model, new)[0].name == model.explain(new)[0].name == 1150
    assert any(name in str(model.explain(new)[0]) for name in names)
    assert model.contributions(new).shape == (3, 5, len(names))
    assert str(sdgs.explain_labels(model, new)) == str(model.explain_labels(new))
    (removed,) = model.counterfactual(table.iloc[[150]], "shipping")
    assert set(removed.feature_names) <= set(names)
    found = sdgs.suspicious_labels(model, table.iloc[150:], Y.iloc[150:], n_pairs=3)
    assert set(found.sample_names) <= set(table.index[150:])
    assert model.score(table.iloc[150:], Y.iloc[150:]) > 0.3


def test_units_do_not_matter(tickets):
    table, Y = tickets
    model = SDGSClassifier(2, gamma=None, random_state=0)
    expected = clone(model).fit(table, Y).predict_proba(table)
    in_cents = table.assign(amount=1e6 * table["amount"] + 1e7)
    np.testing.assert_allclose(clone(model).fit(in_cents, Y).predict_proba(in_cents), expected, atol=1e-5)


def test_encoded_samples_are_taken_too(tickets, model):
    table, _ = tickets
    encoded = model.encoder_.transform(table)
    assert_array_equal(model.predict_proba(encoded), model.predict_proba(table))


def test_columns_are_found_by_their_names(tickets, model):
    table, _ = tickets
    assert_array_equal(model.predict_proba(table[table.columns[::-1]].assign(more=1)), model.predict_proba(table))
    with pytest.raises(ValueError, match="no column 'message'"):
        model.predict(table.drop(columns="message"))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.zeros((2, 3)))


def test_polars_and_arrow(tickets, model):
    table, Y = tickets
    expected = model.predict_proba(table).to_numpy()
    for convert in (pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False), dict):
        fitted = clone(model).fit(convert(table.iloc[:150]), Y.to_numpy()[:150])
        assert_array_equal(fitted.predict_proba(convert(table)), expected)
    assert clone(model).fit(pl.DataFrame({"a": range(20), "b": [1.0, 2] * 10}), Y[:20]).encoder_ is None


def test_tables_of_numbers_are_not_encoded():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.random((60, 2)) < 0.5
    X[::9, 1] = np.nan
    model = SDGSClassifier(1, gamma=None, random_state=0)
    expected = clone(model).fit(X, Y).predict_proba(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for table in (frame, frame.astype("Float64"), frame.astype(object), pd.DataFrame(X)):
        fitted = clone(model).fit(table, Y)
        assert fitted.encoder_ is None
        assert_array_equal(fitted.predict_proba(table), expected)
    truths = pd.DataFrame(X > 0, columns=list("abcd"))
    fitted = clone(model).fit(truths, Y)
    assert fitted.encoder_ is None
    assert_array_equal(fitted.predict_proba(truths), clone(model).fit(truths.to_numpy(float), Y).predict_proba(X > 0))


def test_encode_is_none_an_encoder_or_auto(tickets):
    table, Y = tickets
    model = SDGSClassifier(2, gamma=None, random_state=0)
    with pytest.raises(ValueError, match=r"not numbers: 'ticket', 'message'.*encode=\"auto\".*TableEncoder"):
        clone(model).set_params(encode=None).fit(table, Y)
    with pytest.raises(ValueError, match="encode must be one of"):
        clone(model).set_params(encode="yes").fit(table, Y)
    encoder = TableEncoder({"message": "drop"})
    fitted = clone(model).set_params(encode=encoder).fit(table, Y)
    assert not any("message" in name for name in fitted.get_feature_names_out())
    assert not hasattr(encoder, "columns_")
    numbers = table[["amount"]].assign(more=np.arange(200.0))
    assert clone(model).set_params(encode=TableEncoder(sparse_output=True)).fit(numbers, Y).encoder_ is not None
    with pytest.raises(ValueError, match="1D array of strings"):
        clone(model).fit(list(table["message"]), Y)
    with pytest.raises(ValueError, match="1D array of strings"):
        clone(model).fit(table["message"], Y)


def test_a_second_fit_forgets_the_encoder(tickets):
    table, Y = tickets
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(table, Y)
    model.fit(table[["amount"]].fillna(0).to_numpy() + np.eye(200)[:, :5], Y)
    assert model.encoder_ is None
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.slow
def test_around_and_beside_other_classifiers(tickets):
    table, Y = tickets
    model = SDGSClassifier(2, gamma=None, random_state=0)
    decided = DecisionClassifier(model, random_state=0).fit(table.iloc[:150], Y.iloc[:150])
    assert f1(Y.iloc[150:].to_numpy(), decided.predict(table.iloc[150:]).to_numpy()) > 0.8
    # Rows are selected from the DataFrame: each fold has its own encoder.
    seen = []
    step = FunctionTransformer(lambda X: seen.append(set(X.index - 1000)) or X)
    DecisionClassifier(make_pipeline(step, model), cv=3, random_state=0).fit(table.iloc[:150], Y.iloc[:150])
    assert {len(rows) for rows in seen} == {100, 50, 150}
    linear = make_pipeline(TableEncoder(sparse_output=True), LogisticRegression())
    averaged = AveragingClassifier([("sdgs", model), ("linear", linear)], random_state=0)
    averaged.fit(table.iloc[:150], Y.iloc[:150])
    assert f1(Y.iloc[150:].to_numpy(), averaged.predict(table.iloc[150:]).to_numpy()) > 0.8


@pytest.mark.slow
def test_reports_and_displays_take_tables(tickets, model, tmp_path):
    pytest.importorskip("jinja2")
    table, Y = tickets
    page = sdgs.report.write_model_report(model, table.iloc[150:], Y.iloc[150:], tmp_path / "page.html")
    assert "message: refund" in page.read_text()
    display = sdgs.displays.SampleDecompositionDisplay.from_estimator(model, table.iloc[[150]])
    assert display.plot().figure_ is not None


@pytest.mark.slow
def test_the_search_takes_tables(tickets, tmp_path):
    table, Y = tickets
    model = SDGSClassifierCV(budget=2, n_components=2, gammas=None, random_state=0)
    model.fit(table.iloc[:150], Y.iloc[:150])
    assert model.scaling_ in ("idf", "rows")
    assert f1(Y.iloc[150:].to_numpy(), model.predict(table.iloc[150:]).to_numpy()) > 0.8
    model.save(tmp_path / "model.sdgs")
    assert_array_equal(sdgs.load(tmp_path / "model.sdgs").predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("sparse_output", [False, True])
def test_numbers_are_encoded_exactly_once(sparse_output):
    """Also if the table has as many columns as the encoded one, so that their number does not tell them apart."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(50, 10, (40, 3)), columns=["a", "b", "c"])
    Y = (table.to_numpy() > 50).astype(int)
    encoder = TableEncoder(sparse_output=sparse_output)
    model = SDGSClassifier(1, gamma=None, encode=encoder, random_state=0).fit(table, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(model.predict_proba(table.to_numpy()), model.predict_proba(table))
    encoded = model.encoder_.transform(table)
    assert_array_equal(model.predict_proba(encoded[5:9]), model.predict_proba(table)[5:9])
    if not sparse_output:
        assert type(encoded + 1) is np.ndarray
        assert type(encoded.mean()) is np.float64
    pipeline = make_pipeline(encoder, SDGSClassifier(1, gamma=None, random_state=0)).fit(table, Y)
    of_array = SDGSClassifier(1, gamma=None, encode=encoder, random_state=0).fit(table.to_numpy(), Y)
    for one, X in ((model, table), (of_array, table.to_numpy())):
        ours, theirs = sdgs.explain_prediction(one, X[:2]), sdgs.explain_prediction(pipeline, table[:2])
        assert_array_equal(ours.log_odds, theirs.log_odds)


def test_an_encoder_and_dask_arrays_exclude_each_other():
    array = pytest.importorskip("dask.array")
    X = array.from_array(np.random.default_rng(0).random((20, 3)), chunks=(10, 3))
    with pytest.raises(ValueError, match="numbers only"):
        SDGSClassifier(1, encode=TableEncoder()).fit(X, np.ones((20, 1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column .* is (left out|encoded as)")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(min_rows=12))
def test_a_fit_to_any_table_has_a_result_or_a_clear_error(table):
    n = len(next(iter(table.values())))
    Y = np.array([[i % 2, i % 3 == 0] for i in range(n)])
    model = SDGSClassifier(1, gamma=None, cv=2, random_state=0, max_iter=5, n_jobs=1, tol=1)
    try:
        fitted = model.fit(table, Y)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
        assert np.isfinite(fitted.predict_proba(table)).all()
    assert not message or "column" in message


def test_the_small_table_in_other_estimators():
    table = pd.DataFrame(small_table())
    y = table["channel"].fillna("none")
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(table, y)
    assert model.score(table, y) > 0.9
