"""Encoders of tables come back from a model file to the last digit; forged ones are rejected."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from model_file_helpers import assert_same, assert_same_predictions, forge, save_and_load
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sdgs
from mixed_tables import small_table, tables
from sdgs import DecisionClassifier, ModelFileError, SDGSClassifier
from sdgs.methods import MLkNN
from sdgs.persistence._container import CheckedArrays
from sdgs.persistence.codecs._encoder_codec import decode_encoder, encode_encoder
from sdgs.persistence.codecs._model_codec import check_storable
from sdgs.preprocessing import TableEncoder

Y = np.array([[i % 2, i % 5 in (0, 3)] for i in range(20)])


def labelled_table():
    table = pd.DataFrame(small_table())
    table["size"] = pd.Categorical([("small", "large")[i % 2] for i in range(20)], ["small", "large"], ordered=True)
    table["day"] = pd.date_range("2025-01-01", periods=20, freq="7h")
    table.loc[3, "day"] = pd.NaT
    return table


@pytest.fixture(scope="module")
def model():
    return SDGSClassifier(2, gamma=None, random_state=0).fit(labelled_table(), Y)


@pytest.fixture(scope="module")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "table.sdgs"
    model.save(path)
    return path


@pytest.mark.parametrize(
    "encode",
    [
        "auto",
        TableEncoder({"id": "drop", "channel": "text", "amount": "category"}, text="both", max_categories=2),
        TableEncoder(sparse_output=True, text="characters"),
        TableEncoder(sparse_output=np.bool_(False), max_categories=np.int64(3)),
    ],
    ids=["auto", "kinds", "sparse", "dense"],
)
def test_round_trip(encode, tmp_path):
    table = labelled_table()
    model = SDGSClassifier(2, gamma=None, random_state=0, encode=encode).fit(table, Y)
    loaded = save_and_load(model, tmp_path)
    assert_same_predictions(model, loaded, table)
    assert_same_predictions(model, loaded, table.iloc[:3].assign(channel="fax", message="late unheard", size="small"))
    assert_same(model.encoder_._encoding, loaded.encoder_._encoding)
    assert loaded.encoder_.columns_ == model.encoder_.columns_
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist() == list(table)
    assert loaded.n_features_in_ == table.shape[1]
    again = loaded.fit(table, Y)
    assert_same_predictions(model, again, table)


def test_an_encoder_of_arrays(tmp_path):
    X = labelled_table().to_numpy(dtype=object)
    model = SDGSClassifier(2, gamma=None, random_state=0, encode=TableEncoder()).fit(X, Y)
    assert_same_predictions(model, save_and_load(model, tmp_path), X)


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("output", [None, "pandas"])
def test_a_step_of_a_pipeline(is_sparse, output, tmp_path):
    table = labelled_table()
    encoder = TableEncoder({"id": "drop"}, sparse_output=is_sparse)
    if output is not None and not is_sparse:
        encoder.set_output(transform=output)
    scaler = MaxAbsScaler() if is_sparse else SimpleImputer()
    model = make_pipeline(encoder, DecisionClassifier(make_pipeline(scaler, MLkNN(3)), random_state=0)).fit(table, Y)
    loaded = save_and_load(model, tmp_path)
    assert_same(model[0]._encoding, loaded[0]._encoding)
    assert repr(loaded) == repr(model)
    assert_same_predictions(model, loaded, table.iloc[::-1].assign(channel="fax"))
    assert_same_predictions(model, loaded.fit(table, Y), table)


@pytest.mark.parametrize(
    ("change_document", "message"),
    [
        (lambda step: step.update(output="csv"), "output"),
        (lambda step: step.update(parameters={}), "must have the fields"),
        (lambda step: step["encoder"]["columns"].pop(), "features"),
    ],
)
def test_a_forged_step_is_rejected(change_document, message, tmp_path):
    path = tmp_path / "model.sdgs"
    table = labelled_table()[["channel", "day", "amount"]]
    sdgs.save(make_pipeline(TableEncoder(sparse_output=False), SimpleImputer(), MLkNN(3)).fit(table, Y), path)
    forged = forge(path, tmp_path, lambda document, _: change_document(document["attributes"]["steps"][0][1]))
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forged)


def test_a_step_with_a_function_is_left_out(tmp_path):
    encoder = TableEncoder(text=lambda texts: np.array([[len(text)] for text in texts]))
    model = make_pipeline(encoder, MLkNN(3)).fit(labelled_table()[["message", "channel"]], Y)
    with pytest.warns(UserWarning, match="cannot hold tableencoder"):
        sdgs.save(model, tmp_path / "model.sdgs")
    assert isinstance(sdgs.load(tmp_path / "model.sdgs"), MLkNN)


def test_functions_are_not_stored(tmp_path):
    def embed(texts):
        return np.array([[len(text), text.count("e") + 1] for text in texts])

    for encoder in (TableEncoder(text=embed), TableEncoder({"message": embed})):
        unfitted = SDGSClassifier(2, gamma=None, random_state=0, encode=encoder)
        with pytest.raises(ModelFileError, match="encoded by a function"):
            check_storable(unfitted, {})
        model = unfitted.fit(labelled_table(), Y)
        with pytest.raises(ModelFileError, match="encoded by a function"):
            model.save(tmp_path / "model.sdgs")
    assert not list(tmp_path.iterdir())


def test_surrogates_are_not_stored(tmp_path):
    table = labelled_table()
    table["channel"] = pd.Series(["\ud800", "mail"] * 10, dtype=object)
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(table, Y)
    with pytest.raises(ModelFileError, match="different strings"):
        model.save(tmp_path / "model.sdgs")


def column(document, name):
    return next(column for column in document["encoder"]["columns"] if column["name"] == name)


def change(name, **changes):
    return lambda document, _: column(document, name)["encoder"].update(changes)


def change_words(change):
    def replace(document, arrays):
        del document
        terms = arrays["encoder1.word"].tobytes().split(b"\n")
        arrays["encoder1.word"] = np.frombuffer(b"\n".join(change(terms)), dtype=np.uint8)

    return replace


def replace_words(text):
    def replace(document, arrays):
        del document
        arrays["encoder1.word"] = np.frombuffer(text, dtype=np.uint8)

    return replace


FORGED = {
    "no object": lambda d, _: d.update(encoder=[]),
    "no columns": lambda d, _: d["encoder"].update(columns=[]),
    "a field more": lambda d, _: d["encoder"].update(more=1),
    "not named": lambda d, _: d["encoder"].update(named=1),
    "sparse": lambda d, _: d["encoder"].update(sparse="yes"),
    "other features": lambda d, _: d["features"].update(number=3),
    "names of features": lambda d, _: d["features"].update(names=["x"] * d["features"]["number"]),
    "same names": lambda d, _: column(d, "amount").update(name="message"),
    "a name": lambda d, _: column(d, "amount").update(name=3),
    "a kind": lambda d, _: column(d, "amount").update(kind="number2"),
    "another kind": lambda d, _: column(d, "amount").update(kind="text"),
    "dropped": lambda d, _: column(d, "amount").update(kind="drop"),
    "not dropped": lambda d, _: column(d, "id").update(kind="number"),
    "a reason": lambda d, _: column(d, "id").update(reason=None),
    "max_categories": lambda d, _: d["encoder"]["parameters"].update(max_categories=0),
    "text": lambda d, _: d["encoder"]["parameters"].update(text="pickle"),
    "text is a list": lambda d, _: d["encoder"]["parameters"].update(text=["words"]),
    "kinds": lambda d, _: d["encoder"]["parameters"].update(kinds={"a": "function"}),
    "kinds is a list": lambda d, _: d["encoder"]["parameters"].update(kinds=["a"]),
    "sparse_output": lambda d, _: d["encoder"]["parameters"].update(sparse_output="no"),
    "a category more": change("channel", values=["chat", "fax", "mail", "phone"]),
    "a category twice": change("channel", values=["chat", "chat", "mail"]),
    "unsorted categories": change("channel", values=["mail", "chat", "phone"]),
    "a number as category": change("channel", values=["chat", 1, "phone"]),
    "rare": change("channel", rare=None),
    "missing": change("channel", missing="no"),
    "mean": change("amount", scaling={"mean": ["1"], "scale": [1.0], "had_missing": [True]}),
    "scale": change("amount", scaling={"mean": [1.0], "scale": [0.0], "had_missing": [True]}),
    "had_missing": change("amount", scaling={"mean": [1.0], "scale": [1.0], "had_missing": [1]}),
    "two means": change("amount", scaling={"mean": [1.0, 1.0], "scale": [1.0], "had_missing": [True]}),
    "levels": change("size", levels=["small", "small"]),
    "form": change("created", form="(a+)+"),
    "origin": change("created", origin=10**18),
    "origin is a float": change("created", origin=0.5),
    "parts": change("created", parts=["weekday", "days"]),
    "no parts": change("created", parts=[]),
    "an unknown part": change("created", parts=["days", "century"]),
    "lists": change("topics", values=["b", "a"]),
    "no lists": change("topics", values=[]),
    "no analyzers": change("message", analyzers=[]),
    "analyzers": change("message", analyzers=["char_wb", "word"]),
    "an unknown analyzer": change("message", analyzers=["eval"]),
    "no words": replace_words(b""),
    "an empty word": replace_words(b"\na"),
    "unsorted words": replace_words(b"b\na"),
    "reversed words": change_words(lambda terms: terms[::-1]),
    "a word twice": change_words(lambda terms: [terms[0], *terms[:-1]]),
    "no text": replace_words(b"\xff\xfe"),
    "no array": lambda _, arrays: arrays.pop("encoder1.word"),
    "another array": lambda _, arrays: arrays.update({"encoder2.word": arrays["encoder1.word"]}),
    "words as floats": lambda _, arrays: arrays.update({"encoder1.word": np.zeros(3)}),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_encoders_are_rejected(name, model_file, tmp_path):
    with pytest.raises(ModelFileError, match="does not hold a model"):
        sdgs.load(forge(model_file, tmp_path, FORGED[name]))


def test_forged_parameter_is_rejected(model_file, tmp_path):
    for value in (
        {"encoder": {}},
        {"encoder": {"kinds": None, "text": "x", "max_categories": 1, "sparse_output": True}},
    ):
        with pytest.raises(ModelFileError, match="does not hold a model"):
            sdgs.load(forge(model_file, tmp_path, lambda d, _, value=value: d["parameters"].update(encode=value)))


def test_an_unchanged_file_is_accepted(model, model_file, tmp_path):
    loaded = sdgs.load(forge(model_file, tmp_path, lambda *_: None))
    assert_same_predictions(model, loaded, labelled_table())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column .* is (left out|encoded as)")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(min_rows=2), st.sampled_from(["auto", "both", "characters"]))
def test_all_encoders_come_back(table, text):
    encoder = TableEncoder(text=text)
    try:
        encoder.fit(table)
    except ValueError:
        assume(False)
    arrays = {}
    document = encode_encoder(encoder, "", arrays)
    checked = CheckedArrays(arrays)
    loaded = decode_encoder(document, "", checked)
    checked.check_all_taken()
    assert_same(encoder._encoding, loaded._encoding)
    assert_same(encoder.transform(table), loaded.transform(table))
