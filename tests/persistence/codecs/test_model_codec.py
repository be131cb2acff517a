"""Saved models are equal after a round trip, to the last digit; files with unusable content are rejected."""

import subprocess
import sys
import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from archive_models import ARCHIVE, fit_models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_file_helpers import assert_same, assert_same_predictions, forge, save_and_load
from safetensors.numpy import load_file
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold

import sdgs
from sdgs import ModelFileError, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import ColumnFormat, make_label_subspaces


@pytest.fixture(scope="module")
def data():
    return make_label_subspaces(150, 12, 4, n_components=2, noise=0.1, random_state=0)


def words(data):
    return csr_array(np.maximum(np.round(4 * data.X), 0))


def with_missing_entries(data):
    X = data.X.copy()
    X[::7, ::3] = np.nan
    X[:, 5] = np.nan
    return X


MODELS = {
    "ridge": (SDGSClassifier(2, gamma=None, random_state=0), lambda d: d.X),
    "norm": (SDGSClassifier(2, readout="norm", random_state=0), lambda d: d.X),
    "kernel": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), lambda d: d.X),
    "float32": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), lambda d: d.X.astype(np.float32)),
    "words": (SDGSClassifier(2, scaling="idf", random_state=0), words),
    "words, kernel": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), words),
    "standardised, missing": (SDGSClassifier(2, scaling="columns", huber=0.1, random_state=0), with_missing_entries),
    "unscaled": (SDGSClassifier((1, 2, 3, 2), scaling=None, solver="svd", residual_size=20), lambda d: d.X),
    "fewer samples than columns": (SDGSClassifier([1, 1, 1, 1], random_state=0), lambda d: np.tile(d.X, 20)),
    "thresholds": (SDGSClassifier(2, decision=np.array([0.2, 0.3, 0.4, 0.5]), random_state=0), lambda d: d.X),
    "one threshold": (SDGSClassifier(2, decision=np.float32(0.3), alpha=np.float64(0.2), random_state=0), words),
    "top": (SDGSClassifier(2, decision=2, at_least_one=False, metric="accuracy", random_state=0), lambda d: d.X),
    "search": (SDGSClassifierCV(budget=6, n_landmarks=40, random_state=0), lambda d: d.X),
    "search, words": (SDGSClassifierCV(budget=4, n_components=(np.int64(2), 3), cv=2, random_state=0), words),
    "search on some rows": (SDGSClassifierCV(budget=5, n_landmarks=20, max_rows=100, random_state=0), lambda d: d.X),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * n.startswith("search")) for n in MODELS])
def test_round_trip(name, data, tmp_path):
    estimator, features = MODELS[name]
    X = features(data)
    model = clone(estimator).fit(X, data.Y)
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, X)
    assert_same(clone(model).get_params(), clone(loaded).get_params())
    assert_same_predictions(
        clone(model).set_params(random_state=1).fit(X, data.Y), loaded.set_params(random_state=1).fit(X, data.Y), X
    )


@pytest.mark.parametrize(("combine", "gamma"), [(np.multiply, 2.0), (np.add, None)])
def test_the_chosen_kernel_comes_back(combine, gamma, tmp_path):
    X = np.random.default_rng(0).standard_normal((400, 4))
    Y = (combine(X[:, ::2], X[:, 1::2]) > 0).astype(int)
    model = SDGSClassifier(2, n_landmarks=100, random_state=0).fit(X, Y)
    loaded = save_and_load(model, tmp_path)
    assert (loaded.gamma, loaded.gamma_) == ("auto", gamma)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, X)


def frame(Y, **dtypes):
    return pd.DataFrame(Y.astype(int), columns=["b", "a", "d", "ć"]).astype(dtypes)


def one_class(names):
    return lambda Y: np.asarray(names)[Y.argmax(axis=1)]


def lists(row=list, names="dacb"):
    return lambda Y: [row(names[j] for j in np.flatnonzero(labels)) for labels in Y]


TARGETS = {
    "lists": lists(),
    "tuple of sets": lambda Y: tuple(lists(set)(Y)),
    "sets of integers": lists(set, [3, -1, 2**40, 0]),
    "array of tuples": lambda Y: pd.Series(lists(tuple)(Y)).to_numpy(),
    "series of lists": lambda Y: pd.Series(lists()(Y), name="tags"),
    "column of lists": lambda Y: pd.DataFrame({0: lists()(Y)}),
    **{
        np.dtype(dtype).str: lambda Y, dtype=dtype: Y.astype(dtype)
        for dtype in ("bool", "int8", "uint8", ">i4", "uint64", "float16", "float32", "float64")
    },
    "sparse": lambda Y: csc_array(Y.astype(np.int16)),
    "frame": frame,
    "frame of many dtypes": lambda Y: frame(Y, a="boolean", b="UInt8", d=object, ć="float32"),
    "frame, sparse columns": lambda Y: frame(Y, a="Sparse[int64, 0]", b="Sparse[bool, False]"),
    "frame, numbers for names": lambda Y: pd.DataFrame(Y, columns=[3, 1, 2, 7]),
    "frame, range for names": lambda Y: pd.DataFrame(Y),
    "frame, named columns": lambda Y: frame(Y).rename_axis(columns="labels"),
    "frame, mixed names": lambda Y: pd.DataFrame(Y, columns=["a", 1, 2.5, False]),
    "strings": one_class(["d", "ää", "\N{SNOWMAN}", "a b"]),
    "objects": one_class(np.array(["d", "ää", "c", "a b"], dtype=object)),
    "integers": one_class([-3, 0, 5, 2**62]),
    "small integers": one_class(np.array([0, 1, 5, 255], dtype=np.uint8)),
    "floats": one_class([0.0, 1.0, -2.0, 7.0]),
    "two classes": lambda Y: Y[:, 0].astype(bool),
}


@pytest.mark.parametrize("form", TARGETS)
def test_every_form_of_target_comes_back(form, data, tmp_path):
    y = TARGETS[form](data.Y)
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, y)
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, data.X)


def test_names_of_features_and_the_output_container_come_back(data, tmp_path):
    X = pd.DataFrame(data.X, columns=[f"f{j}" for j in range(11)] + ["größe"])
    model = SDGSClassifier(2, random_state=0).set_output(transform="pandas").fit(X, frame(data.Y))
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, X)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[X.columns[::-1]])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_small_model_comes_back(tmp_path_factory, data):
    n, p, k = (data.draw(st.integers(low, high)) for low, high in ((2, 12), (1, 6), (1, 4)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    dtype, size = data.draw(st.sampled_from([(np.float64, 1e-150), (np.float64, 1e100), (np.float32, 1.0)]))
    X = (size * rng.standard_normal((n, p))).astype(dtype)
    y = data.draw(st.lists(st.sampled_from(data.draw(st.lists(NAMES, min_size=1, max_size=k))), min_size=n, max_size=n))
    if data.draw(st.booleans()):
        Y = rng.random((n, k)) < 0.5
        Y[0, 0] = True
        y = pd.DataFrame(Y, columns=data.draw(st.lists(NAMES, min_size=k, max_size=k, unique=True)))
    if data.draw(st.booleans()):
        X[rng.random((n, p)) < 0.2] = np.nan
    if data.draw(st.booleans()):
        X = csr_array(X)
    model = SDGSClassifier(
        data.draw(st.integers(1, 3)),
        readout=data.draw(st.sampled_from(["ridge", "norm"])),
        residual_size=data.draw(st.integers(0, 5)),
        scaling="rows",
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y has a column with the blank name", UserWarning)
        model.fit(X, y)
        loaded = save_and_load(model, tmp_path_factory.mktemp("any"))
        assert_same(model, loaded)
        assert_same_predictions(model, loaded, X)


def test_other_readers_of_safetensors_read_the_file(data, tmp_path):
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    model.save(str(tmp_path / "model.sdgs"))
    arrays = load_file(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(arrays["pipeline0.components"], np.vstack(model.components_))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.sdgs"]


@pytest.mark.slow
def test_another_process_predicts_the_same(data, tmp_path):
    model = SDGSClassifier(2, gamma=1.0, n_landmarks=30, random_state=0).fit(data.X, data.Y)
    model.save(tmp_path / "model.sdgs")
    np.save(tmp_path / "X.npy", data.X)
    code = "import numpy as np, sdgs; np.save('P.npy', sdgs.load('model.sdgs').predict_proba(np.load('X.npy')))"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "P.npy"), model.predict_proba(data.X))


def test_a_regression_on_some_feature_blocks_comes_back(tmp_path):
    """It is part of what was solved for all blocks, and must be an array of its own, as in a loaded model."""
    _, model, words = next(fit_models())
    assert model.read_from_ == ("sample", "code")
    loaded = save_and_load(model, tmp_path)
    assert_same(model, loaded)
    assert_same_predictions(model, loaded, words)


def test_save_needs_a_fitted_model_and_an_existing_folder(data, tmp_path):
    with pytest.raises(NotFittedError):
        SDGSClassifier().save(tmp_path / "model.sdgs")
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, data.Y)
    with pytest.raises(FileNotFoundError, match="Create it first"):
        model.save(tmp_path / "nowhere" / "model.sdgs")
    assert not list(tmp_path.iterdir())


class Subclass(SDGSClassifier):
    pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model, "random_state", object()), "the parameter random_state cannot be stored"),
        (lambda model: setattr(model, "tol", float("nan")), "the parameter tol cannot be stored"),
        (
            lambda model: setattr(model, "cv", KFold(3)),
            "the parameter cv cannot be stored .* Pass its splits as a list",
        ),
        (lambda model: setattr(model, "readout", "ridge"), "without a ridge regression"),
        (lambda model: setattr(model, "__class__", Subclass), "this is a Subclass"),
        (lambda model: setattr(model, "classes_", np.arange(4).astype("datetime64[D]")), "classes_ cannot be stored"),
        (lambda model: setattr(model, "classes_", np.array(["\ud800", "b", "c", "d"])), "classes_ cannot be stored"),
        (
            lambda model: setattr(model, "classes_", np.array([b"a", 1, 2, 3], dtype=object)),
            "classes_ cannot be stored",
        ),
        (lambda model: model._pipelines[0].features.decomposition.components[0].fill(np.nan), "not finite"),
    ],
)
def test_a_model_that_a_file_cannot_hold_is_rejected_when_it_is_saved(change, message, data, tmp_path):
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, data.Y.argmax(axis=1))
    change(model)
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "model.sdgs")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (lambda Y: pd.DataFrame(Y, columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]])), "rename it"),
        (lambda Y: frame(Y, a=pd.CategoricalDtype([0, 1])), "column 'a' has dtype category"),
    ],
)
def test_label_columns_that_a_file_cannot_hold_are_rejected(columns, message, data, tmp_path):
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, columns(data.Y))
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "model.sdgs")


def test_a_series_of_lists_with_a_name_that_a_file_cannot_hold_is_rejected(data, tmp_path):
    y = pd.Series(lists()(data.Y), name=1.5)
    with pytest.raises(ModelFileError, match=r"y is named 1\.5"):
        SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, y).save(tmp_path / "model.sdgs")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"container": "dict"}, "container must be one of"),
        ({"row": "dict"}, "row must be one of"),
        ({"row": ["list"]}, "row must be one of"),
        ({"name": 1.5}, "neither a string nor an integer"),
        ({"name": True}, "neither a string nor an integer"),
        ({"name": {"tuple": []}}, "neither a string nor an integer"),
        ({"sparse": True}, "must have the fields"),
        ({"classes": {"numpy": "object", "value": ["a", "b", "c"]}}, "4 labels and 3 label names"),
        ({"classes": {"numpy": "object", "value": ["a", "a", "c", "d"]}}, "not different"),
        ({"classes": {"numpy": "object", "value": ["a", 1, "c", "d"]}}, "neither strings nor integers"),
        ({"classes": {"numpy": "<f8", "value": [1, 2, 3, 4]}}, "neither strings nor integers"),
        ({"classes": {"numpy": "<i8", "value": []}}, "neither strings nor integers"),
        ({"classes": ["a", "b", "c", "d"]}, "classes are not a list"),
    ],
)
def test_forged_lists_of_labels_are_rejected(change, message, data, tmp_path):
    model, path = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, lists()(data.Y)), tmp_path / "a.sdgs"
    model.save(path)
    forged = forge(path, tmp_path, lambda document, _: document["target"].update(change))
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forged)


def test_a_random_state_object_is_left_out_with_a_warning(data, tmp_path):
    model = SDGSClassifier(2, random_state=np.random.RandomState(0)).fit(data.X, data.Y)
    with pytest.warns(UserWarning, match="which a model file cannot hold"):
        model.save(tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    assert loaded.random_state is None
    assert_same_predictions(model, loaded, data.X)


@pytest.mark.parametrize("what", ["feature", "label"])
def test_names_with_surrogates_are_rejected_because_json_may_join_them(what, data, tmp_path):
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    names = ["\ud83d", "\ude00", *map(str, range({"feature": 10, "label": 2}[what]))]
    with pytest.raises(ModelFileError, match=f"the names of {what}s must be strings, without surrogates"):
        model.save(tmp_path / "model.sdgs", **{f"{what}_names": names})
    assert not list(tmp_path.iterdir())


def test_names_given_to_save_come_back(tmp_path, data):
    model, path = SDGSClassifier(2, random_state=0).fit(data.X, data.Y), tmp_path / "model.sdgs"
    features, labels = [f"f{i}" for i in range(12)], tuple(f"ü {i}" for i in range(4))
    model.save(path, feature_names=features, label_names=labels)
    loaded = sdgs.load(path)
    assert (loaded.feature_names_, loaded.label_names_) == (tuple(features), labels)
    loaded.save(path)
    assert sdgs.load(path).label_names_ == labels
    model.save(path)
    assert not hasattr(sdgs.load(path), "label_names_")
    assert not hasattr(loaded.fit(data.X, data.Y), "feature_names_")
    for names, message in [(labels[1:], "4 names"), ([labels[0]] * 4, "two labels are"), ([1] * 4, "must be strings")]:
        with pytest.raises(ModelFileError, match=message):
            model.save(tmp_path / "other.sdgs", label_names=names)
    assert not (tmp_path / "other.sdgs").exists()


def test_formats_of_columns_come_back(tmp_path, data):
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    formats = {f"c {i}": ColumnFormat("number", ",", i == 3) for i in range(12)}
    model.save(tmp_path / "model.sdgs", column_formats=formats)
    loaded = sdgs.load(tmp_path / "model.sdgs")
    assert loaded.column_formats_ == formats
    loaded.save(tmp_path / "again.sdgs")
    assert list(sdgs.load(tmp_path / "again.sdgs").column_formats_) == list(formats)
    with pytest.raises(ModelFileError, match="the format of each of its columns"):
        model.save(tmp_path / "other.sdgs", column_formats={"a": ColumnFormat("number")})


FORGED_FORMAT = {"kind": "number", "decimal": ".", "others_missing": False}
FORGERIES = {
    "formats of no columns": (lambda document, _: document.update(column_formats={}), "have no names"),
    "formats of some columns": (
        lambda document, _: document.update(column_formats={"a": FORGED_FORMAT}),
        "does not have the format of each",
    ),
    "an unknown kind of column": (
        lambda document, _: document.update(column_formats={"a": FORGED_FORMAT | {"kind": "code"}}),
        "kind is one of number, text",
    ),
    "a decimal mark that is a list": (
        lambda document, _: document.update(column_formats={"a": FORGED_FORMAT | {"decimal": [1]}}),
        "decimal a point or comma",
    ),
    "a format with another field": (
        lambda document, _: document.update(column_formats={"a": FORGED_FORMAT | {"more": 1}}),
        "must have the fields",
    ),
    "a parameter of an unknown dtype": (
        lambda document, _: document["parameters"].update(alpha={"numpy": "|O", "value": 1}),
        "dtype",
    ),
    "an unknown parameter": (lambda document, _: document["parameters"].update(evil=1), "no parameter 'evil'"),
    "a folder to write to": (
        lambda document, _: document["parameters"].update(checkpoint="/etc"),
        "no parameter 'checkpoint'",
    ),
    "a parameter out of range": (lambda document, _: document["parameters"].update(alpha=-1), "alpha must be"),
    "too many threads": (lambda document, _: document["parameters"].update(n_jobs=10**6), "at most 1024 threads"),
    "a class by name": (
        lambda document, _: document.update({"class": "os.system"}),
        "of the unknown class 'os.system'",
    ),
    "a field too many": (lambda document, _: document.update(more=1), "must have the fields"),
    "a field too few": (lambda document, _: document.pop("target"), "must have the fields"),
    "the wrong number of features": (lambda document, _: document["features"].update(number=9), "mean_ has shape"),
    "too few feature names": (lambda document, _: document["features"].update(names=["a"]), "not have 8 feature names"),
    "given names of something else": (lambda document, _: document.update(names={"rows": ["a"]}), "something else"),
    "given names that repeat": (
        lambda document, _: document.update(names={"labels": ["a"] * 3}),
        "two labels are named 'a'",
    ),
    "a threshold too many": (lambda _, arrays: arrays.update(thresholds=np.ones(4)), "thresholds has shape"),
    "an array too many": (lambda _, arrays: arrays.update(more=np.ones(4)), "unexpected array 'more'"),
    "no out-of-fold probabilities": (
        lambda _, arrays: arrays.pop("out_of_fold.probabilities"),
        "out_of_fold.probabilities is missing",
    ),
    "no out-of-fold rows": (lambda _, arrays: arrays.pop("out_of_fold.rows"), "out_of_fold.rows is missing"),
    "out-of-fold probabilities of too few labels": (
        lambda _, arrays: arrays.update({"out_of_fold.probabilities": arrays["out_of_fold.probabilities"][:, :2]}),
        "out_of_fold.probabilities has shape",
    ),
    "out-of-fold probabilities of too few samples": (
        lambda _, arrays: arrays.update({"out_of_fold.probabilities": arrays["out_of_fold.probabilities"][1:]}),
        "out_of_fold.probabilities has shape",
    ),
    "out-of-fold probabilities above 1": (
        lambda _, arrays: arrays["out_of_fold.probabilities"].fill(1.5),
        "must be float32, between 0 and 1",
    ),
    "out-of-fold probabilities below 0": (
        lambda _, arrays: arrays["out_of_fold.probabilities"].fill(-0.5),
        "must be float32, between 0 and 1",
    ),
    "out-of-fold probabilities that are NaN": (
        lambda _, arrays: arrays["out_of_fold.probabilities"].fill(np.nan),
        "out_of_fold.probabilities has entries that are not finite",
    ),
    "out-of-fold probabilities in double precision": (
        lambda _, arrays: arrays.update(
            {"out_of_fold.probabilities": arrays["out_of_fold.probabilities"].astype(np.float64)}
        ),
        "must be float32",
    ),
    "out-of-fold rows that are no training samples": (
        lambda _, arrays: arrays["out_of_fold.rows"].__setitem__(-1, 60),
        "out_of_fold.rows is out of range",
    ),
    "out-of-fold rows that repeat": (
        lambda _, arrays: arrays["out_of_fold.rows"].__setitem__(1, 0),
        "out_of_fold.rows must be ascending",
    ),
    "out-of-fold rows of no sample": (
        lambda _, arrays: arrays.update(
            {
                "out_of_fold.rows": np.zeros(0, dtype=np.int64),
                "out_of_fold.probabilities": np.zeros((0, 3), dtype=np.float32),
            }
        ),
        "must be ascending, and at least one",
    ),
    "labels read from the middle": (
        lambda document, _: document["readout"].update(read_from={"tuple": ["code"]}),
        "read_from must be the first of sample, code, norms",
    ),
    "fewer feature blocks than coefficients": (
        lambda document, _: document["readout"]["read_from"]["tuple"].pop(),
        "read_from and ridge.coef have different numbers of columns",
    ),
    "at_least_one that is no boolean": (
        lambda document, _: document["readout"].update(at_least_one=None),
        "in place of true or false",
    ),
    "a search without a search": (lambda document, _: document.update(search={}), "only SDGSClassifierCV"),
    "no ridge regression": (lambda document, _: document.update(readout=None), "without a ridge regression"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_unusable_content_with_a_correct_checksum_is_rejected(name, ridge_file, tmp_path):
    change, message = FORGERIES[name]
    with pytest.raises(ModelFileError, match=rf"forged\.sdgs, written by sdgs '0\.1', does not hold.*{message}"):
        sdgs.load(forge(ridge_file, tmp_path, change))


def test_label_columns_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModelFileError, match="Install pandas"):
        sdgs.load(ARCHIVE / "v1-search.sdgs")


def without_subspaces(n_features, n_labels=3):
    """A change after which no array has a column per feature, or a byte per training sample."""

    def change(document, arrays):
        document["features"]["number"] = n_features
        document["parameters"]["n_components"] = document["pipelines"][0]["parameters"]["n_components"] = 1
        document["parameters"]["readout"], document["readout"] = "norm", None
        document["pipelines"][0]["scaler"] = None
        integers = np.zeros(n_labels, dtype=np.int32)
        arrays.clear()
        arrays["pipeline0.ranks"], arrays["pipeline0.sizes"] = integers, integers
        arrays["pipeline0.components"] = np.zeros((0, n_features))
        arrays["pipeline0.rows"], arrays["pipeline0.coefficients"] = integers[:0], np.zeros(0)
        arrays["pipeline0.objective"] = np.zeros(1)
        for name, array in {"data": np.zeros(0), "indices": integers[:0], "indptr": integers[:2]}.items():
            arrays[f"pipeline0.residual.{name}"] = array

    return change


def test_a_number_of_features_that_the_file_only_claims_is_rejected(ridge_file, tmp_path):
    assert sdgs.load(forge(ridge_file, tmp_path, without_subspaces(1 << 20))).n_features_in_ == 1 << 20
    with pytest.raises(ModelFileError, match="claims 1099511627776 features, but its arrays have only"):
        sdgs.load(forge(ridge_file, tmp_path, without_subspaces(1 << 40)))


MANY_VALUES = {
    "lists": [[]] * 60_000,
    "objects": [{}] * 60_000,
    "tuples": [{"tuple": []}] * 20_000,
    "fields": {f"{i:x}": 0 for i in range(30_000)},
    "strings": [f"{i:x}" for i in range(30_000)],
    "numbers": [999] * 60_000,
    "strings in arrays": [{"numpy": "str", "value": ["x" * 400, *[""] * 400]}] * 100,
    "strings in nested arrays": {"numpy": "str", "value": [["x" * 20_000], *[[""]] * 20_000]},
}
PLACES = {
    "parameter": lambda document, value: document["parameters"].update(random_state=value),
    "names": lambda document, value: document.update(names={"labels": value}),
    "feature names": lambda document, value: document["features"].update(names=value),
    "columns": lambda document, value: document["target"].update(classes=value, form="classes"),
    "lists": lambda document, value: document.update(
        target={"form": "lists", "container": "list", "row": "list", "name": None, "classes": value}
    ),
    "search": lambda document, value: document.update(
        search={"dict": {"results": {"dict": {"score": value}}, "best_score": 0.5}}
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("values", MANY_VALUES)
def test_reading_takes_memory_in_proportion_to_the_file(values, place, ridge_file, tmp_path):
    path = forge(ridge_file, tmp_path, lambda document, _: PLACES[place](document, MANY_VALUES[values]))
    assert _peak_of_loading(path) < 80 * path.stat().st_size


def test_labels_take_memory_in_proportion_to_the_file(ridge_file, tmp_path):
    path = forge(ridge_file, tmp_path, without_subspaces(8, n_labels=5_000))
    assert _peak_of_loading(path) < 80 * path.stat().st_size


def _peak_of_loading(path):
    """Bytes; whether the file is rejected does not matter."""
    sdgs.load(ARCHIVE / "v1-norm.sdgs")  # imports what it needs
    tracemalloc.start()
    with suppress(ModelFileError):
        sdgs.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
