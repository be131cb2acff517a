"""Saved models: the same after a round trip to the last digit, whatever they were learnt from."""

import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import sdgs
from sdgs import ModelFileError, SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import make_label_subspaces

ARCHIVE = Path(__file__).parent / "models"


@pytest.fixture(scope="module")
def data():
    return make_label_subspaces(150, 12, 4, n_components=2, noise=0.1, random_state=0)


def again(model, folder):
    path = folder / "model.sdgs"
    model.save(path)
    return sdgs.load(path)


def assert_same(a, b):
    """Of the same type, with the same content, down to the bits and the memory order."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype.kind == b.dtype.kind == "U" or a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.size < 2 or a.flags.c_contiguous == b.flags.c_contiguous
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    elif issparse(a):
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert a.shape == b.shape
        assert a.dtype == b.dtype
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b, check_index_type="equiv")
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "__dict__") and not isinstance(a, np.dtype):
        assert_same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    else:
        assert a == b


def assert_predicts_the_same(model, loaded, X):
    for method in ("predict", "decision_function", "predict_proba", "transform", "contributions"):
        if hasattr(model, method):
            assert_same(getattr(model, method)(X), getattr(loaded, method)(X))


def words(data):
    return csr_array(np.maximum(np.round(4 * data.X), 0))


def with_gaps(data):
    X = data.X.copy()
    X[::7, ::3] = np.nan
    X[:, 5] = np.nan
    return X


MODELS = {
    "ridge": (SDGSClassifier(2, random_state=0), lambda d: d.X),
    "norm": (SDGSClassifier(2, readout="norm", random_state=0), lambda d: d.X),
    "kernel": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), lambda d: d.X),
    "float32": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), lambda d: d.X.astype(np.float32)),
    "words": (SDGSClassifier(2, scaling="idf", random_state=0), words),
    "words, kernel": (SDGSClassifier(2, gamma=1.0, n_landmarks=40, random_state=0), words),
    "standardised, missing": (SDGSClassifier(2, scaling="columns", huber=0.1, random_state=0), with_gaps),
    "unscaled": (SDGSClassifier((1, 2, 3, 2), scaling=None, solver="svd", residual_size=20), lambda d: d.X),
    "fewer samples than columns": (SDGSClassifier([1, 1, 1, 1], random_state=0), lambda d: np.tile(d.X, 20)),
    "thresholds": (SDGSClassifier(2, decision=np.array([0.2, 0.3, 0.4, 0.5]), random_state=0), lambda d: d.X),
    "one threshold": (SDGSClassifier(2, decision=np.float32(0.3), alpha=np.float64(0.2), random_state=0), words),
    "top": (SDGSClassifier(2, decision=2, at_least_one=False, metric="accuracy", random_state=0), lambda d: d.X),
    "search": (SDGSClassifierCV(budget=6, n_landmarks=40, random_state=0), lambda d: d.X),
    "search, words": (SDGSClassifierCV(budget=4, n_components=(np.int64(2), 3), cv=2, random_state=0), words),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name, data, tmp_path):
    estimator, features = MODELS[name]
    X = features(data)
    model = clone(estimator).fit(X, data.Y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_predicts_the_same(model, loaded, X)
    assert_same(clone(model).get_params(), clone(loaded).get_params())
    assert_predicts_the_same(
        clone(model).set_params(random_state=1).fit(X, data.Y), loaded.set_params(random_state=1).fit(X, data.Y), X
    )


def frame(Y, **dtypes):
    return pd.DataFrame(Y.astype(int), columns=["b", "a", "d", "ć"]).astype(dtypes)


def one_class(names):
    return lambda Y: np.asarray(names)[Y.argmax(axis=1)]


TARGETS = {
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
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_predicts_the_same(model, loaded, data.X)


def test_names_of_features_and_the_output_container_come_back(data, tmp_path):
    X = pd.DataFrame(data.X, columns=[f"f{j}" for j in range(11)] + ["größe"])
    model = SDGSClassifier(2, random_state=0).set_output(transform="pandas").fit(X, frame(data.Y))
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_predicts_the_same(model, loaded, X)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[X.columns[::-1]])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


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
        model.fit(X, y)
        loaded = again(model, tmp_path_factory.mktemp("any"))
        assert_same(model, loaded)
        assert_predicts_the_same(model, loaded, X)


def test_the_file_is_read_by_others_too(data, tmp_path):
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    model.save(str(tmp_path / "model.sdgs"))
    arrays = load_file(tmp_path / "model.sdgs")
    np.testing.assert_array_equal(arrays["member0.components"], np.vstack(model.components_))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.sdgs"]


def test_predictions_of_another_process_are_the_same(data, tmp_path):
    model = SDGSClassifier(2, gamma=1.0, n_landmarks=30, random_state=0).fit(data.X, data.Y)
    model.save(tmp_path / "model.sdgs")
    np.save(tmp_path / "X.npy", data.X)
    code = "import numpy as np, sdgs; np.save('P.npy', sdgs.load('model.sdgs').predict_proba(np.load('X.npy')))"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "P.npy"), model.predict_proba(data.X))


@pytest.mark.parametrize(
    "name", ["v1-ridge", "v1-search", "v1-norm", "v2-ridge", "v2-kernel", "v3-kernel", "v4-kernel", "v5-kernel"]
)
def test_archived_models_still_load(name):
    with np.load(ARCHIVE / f"{name}-expected.npz") as expected:
        X, labels, scores = expected["X"], expected["labels"], expected["scores"]
    model = sdgs.load(ARCHIVE / f"{name}.sdgs")
    X = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
    found = model.predict(X)
    np.testing.assert_array_equal(found.toarray() if issparse(found) else found, labels)
    # They may have been written where sums of products are rounded otherwise.
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "norm"), [("v1-ridge", "l1"), ("v1-search", "l1"), ("v2-kernel", "l2")])
def test_archived_models_are_the_same_when_they_are_saved_again(name, norm, tmp_path):
    model = sdgs.load(ARCHIVE / f"{name}.sdgs")
    assert [member.view.norm for member in model._members] == [norm] * len(model._members)
    assert all(member.view.image_components is not None for member in model._members)
    assert_same(model, again(model, tmp_path))


def test_a_regression_on_some_of_the_parts_comes_back(data, monkeypatch, tmp_path):
    """Of what is solved for all parts it has its own: in an array of its own, as a file has it."""
    monkeypatch.setattr("sdgs.selection._cross_fit.parts_of", lambda _: ("sample", "code"))
    model = SDGSClassifier(2, penalty=1e-3, random_state=0).fit(data.X, data.Y)
    assert model.read_from_ == ("sample", "code")
    assert_same(model, again(model, tmp_path))


def test_only_models_of_version_4_and_before_have_a_map():
    charts = {name: sdgs.load(ARCHIVE / f"{name}-kernel.sdgs")._members[0].view.chart for name in ("v4", "v5")}
    assert charts["v4"].turn.shape == (charts["v4"].size,) * 2
    assert charts["v5"].turn is None


def test_codes_of_images_may_have_another_length():
    member = sdgs.load(ARCHIVE / "v2-kernel.sdgs")._members[0]
    view = replace(member.view, image_components=tuple(C[:1] for C in member.view.image_components))
    (parts,) = view.blocks(np.ones((2, 8)), None)
    assert view.widths == (10, 10 + 8, 10 + 8 + 3, 10 + 8 + 3 + 3)
    assert sum(part.shape[1] for part in parts) == view.widths[-1]


def test_archived_model_is_whole():
    model = sdgs.load(ARCHIVE / "v1-search.sdgs")
    assert isinstance(model, SDGSClassifierCV)
    assert list(model.classes_) == ["amber", "blue", "cyan"]
    assert list(model.feature_names_in_) == [f"f{j}" for j in range(6)]
    assert model.budget == 5
    assert len(model.cv_results_["params"]) == len(model.cv_results_["score"]) == len(model.cv_results_["read_from"])
    assert "uses_norms" not in model.cv_results_
    assert model.read_from_ in model.cv_results_["read_from"]
    assert model.predict(pd.DataFrame(np.ones((2, 6)), columns=model.feature_names_in_)).dtypes["blue"] == np.int8


def test_save_asks_for_a_fitted_model_and_a_folder(data, tmp_path):
    with pytest.raises(NotFittedError):
        SDGSClassifier().save(tmp_path / "model.sdgs")
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, data.Y)
    with pytest.raises(FileNotFoundError, match="Create it first"):
        model.save(tmp_path / "nowhere" / "model.sdgs")
    assert not list(tmp_path.iterdir())


class Own(SDGSClassifier):
    pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model, "solver", object()), "the parameter solver cannot be stored"),
        (lambda model: setattr(model, "tol", float("nan")), "the parameter tol cannot be stored"),
        (lambda model: setattr(model, "readout", "ridge"), "without a ridge regression"),
        (lambda model: setattr(model, "__class__", Own), "this is a Own"),
        (lambda model: setattr(model, "classes_", np.arange(4).astype("datetime64[D]")), "classes_ cannot be stored"),
        (lambda model: setattr(model, "classes_", np.array(["\ud800", "b", "c", "d"])), "classes_ cannot be stored"),
        (
            lambda model: setattr(model, "classes_", np.array([b"a", 1, 2, 3], dtype=object)),
            "classes_ cannot be stored",
        ),
        (lambda model: model._members[0].view.decomposition.components[0].fill(np.nan), "not finite"),
    ],
)
def test_what_cannot_be_stored_is_refused_at_the_door(change, message, data, tmp_path):
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
def test_unusual_columns_are_refused(columns, message, data, tmp_path):
    model = SDGSClassifier(2, readout="norm", random_state=0).fit(data.X, columns(data.Y))
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "model.sdgs")


def test_a_random_state_with_a_state_is_left_out_with_a_warning(data, tmp_path):
    model = SDGSClassifier(2, random_state=np.random.RandomState(0)).fit(data.X, data.Y)
    with pytest.warns(UserWarning, match="does not hold"):
        model.save(tmp_path / "model.sdgs")
    loaded = sdgs.load(tmp_path / "model.sdgs")
    assert loaded.random_state is None
    assert_predicts_the_same(model, loaded, data.X)


def test_names_that_came_with_arrays(tmp_path, data):
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
    for names, message in [(labels[1:], "not as many"), ([labels[0]] * 4, "different"), ([1] * 4, "strings")]:
        with pytest.raises(ModelFileError, match=message):
            model.save(tmp_path / "other.sdgs", label_names=names)
    assert not (tmp_path / "other.sdgs").exists()
