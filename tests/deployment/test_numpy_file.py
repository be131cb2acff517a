"""The exported Python file predicts what the model does, with NumPy alone, and nothing in it runs other code."""

import ast
import importlib.util
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array

import sdgs
from helpers import in_small_blocks
from sdgs import SDGSClassifier, SDGSClassifierCV
from sdgs.datasets import load, make_composite_digits
from sdgs.methods import PLST, BinaryRelevance, ReducedRankRidge, SharedSubspace
from sdgs.readout._decision import Decision
from sdgs.readout._ridge import Ridge

TOL = 1e-6  # what is promised; the steps are the same, so that the difference is rounding


@cache
def digits(subset):
    data = make_composite_digits(150, max_labels=2, subset=subset, random_state=subset == "test")
    return data.X, data.Y


@cache
def words():
    X = np.random.default_rng(0).poisson(0.15, (160, 90)).astype(np.float64)
    return csr_array(X), X[:, :4] > 0


def without_some(X, share=0.2):
    mask = np.random.default_rng(1).random(X.shape) < share
    if isinstance(X, np.ndarray):
        return np.where(mask, np.nan, X)
    X = X.copy()
    X.data[mask.ravel()[: X.nnz]] = np.nan
    return X


def load_exported(model, path):
    """The module of the exported model."""
    spec = importlib.util.spec_from_file_location("exported_model", sdgs.export(model, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same_predictions(model, exported, *samples):
    for X in samples:
        expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
        actual = exported.predict_proba(X) if hasattr(model, "predict_proba") else exported.decision_function(X)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=TOL)
        labels = model.predict(X)
        np.testing.assert_array_equal(exported.predict(X), labels.toarray() if hasattr(labels, "toarray") else labels)


DENSE = {
    "defaults": {},
    "codes alone": {"gamma": None},
    "huber": {"huber": 0.05, "gamma": 2.0},
    "standardised": {"scaling": "columns", "gamma": None},
    "in its own units": {"scaling": None, "alpha": 2.0},
    "norms of codes": {"readout": "norm"},
    "norms of codes with huber": {"readout": "norm", "huber": 0.05},
}


@pytest.mark.parametrize("options", DENSE.values(), ids=DENSE)
def test_dense_samples(options, tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, random_state=0, **options).fit(X, Y)
    X = digits("test")[0][:6]
    one_missing = X.copy()
    one_missing[3, 5] = np.nan  # then one solver codes all samples
    samples = X, X[:1], one_missing, without_some(X), csr_array(X), csr_array(without_some(X))
    assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), *samples)


def test_extreme_samples(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, gamma=2.0, random_state=0).fit(X, Y)
    tiny, huge = 1e-300 * digits("test")[0][:2], 1e305 * digits("test")[0][:2]
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, np.zeros((2, 64)), tiny, huge, np.full((2, 64), np.nan))
    model = SDGSClassifier(2, scaling=None, gamma=None, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="overflow"):
        load_exported(model, tmp_path / "model.py").predict(np.full((1, 64), 1e308))


def test_models_fitted_to_missing_values(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, random_state=0).fit(without_some(X), Y)
    X = digits("test")[0][:6]
    assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), X, without_some(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "medical", "yahoo-arts"])
def test_real_data(name, data_home, tmp_path):
    data = load(name, "train", data_home=data_home)
    model = SDGSClassifier(random_state=0).fit(data.X[:-60], data.Y[:-60])
    X = data.X[-60:]
    assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), X, without_some(X)[:10])


@pytest.mark.parametrize("options", [{}, {"gamma": 1.5}, {"scaling": "rows", "gamma": 1.5}], ids=str)
def test_sparse_samples(options, tmp_path):
    X, Y = words()
    model = SDGSClassifier(2, random_state=0, **options).fit(X, csr_array(Y.astype(int)))
    dense, gaps = X.toarray(), without_some(X[:20])
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, X, dense, X[:1], gaps)
    plain = exported.CSR(X.data, X.indices, X.indptr, X.shape)
    np.testing.assert_array_equal(exported.predict_proba(plain), exported.predict_proba(X))


def test_least_squares_codes(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(X, Y)
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, digits("test")[0][:9])
    for predict in (model.predict_proba, exported.predict_proba):
        with pytest.raises(ValueError, match="alpha"):
            predict(without_some(X[:2]))


def test_averages_of_pipelines(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifierCV(n_components=2, alphas=0.1, hubers=None, gammas=None, cv=2, random_state=0).fit(X, Y)
    other = SDGSClassifier(3, huber=0.05, gamma=2.0, random_state=0).fit(X, Y)
    model._pipelines = [*model._pipelines, *other._pipelines]
    X = digits("test")[0][:5]
    assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), X, without_some(X))


def test_selected_columns(tmp_path):
    X, Y = words()
    model = SDGSClassifier(2, gamma=1.5, random_state=0).fit(X, Y)
    pipeline, rng = model._pipelines[0], np.random.default_rng(0)
    columns = rng.permutation(pipeline.features._full_width)[:150]
    columns = np.union1d(np.arange(pipeline.features.kernel.n_landmarks), columns)
    features = replace(pipeline.features, columns=columns)
    ridge = Ridge(rng.standard_normal((4, columns.size)), pipeline.ridge.intercept)  # on blocks up to the norms
    model._pipelines = [replace(pipeline, features=features, ridge=ridge)]
    assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), X[:10])


@pytest.mark.parametrize("classes", [["a", "b", "c"], [3, 1, 2], [False, True]])
def test_one_label_per_sample(classes, tmp_path):
    X, Y = digits("train")
    y = np.asarray(classes)[Y.argmax(axis=1) % len(classes)]
    model = SDGSClassifier(2, random_state=0).fit(X, y)
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, digits("test")[0][:6])
    assert model.classes_.tolist() == exported.LABELS
    assert exported.predict_labels(X[:3]) == [[label] for label in model.predict(X[:3]).tolist()]


DECISIONS = [
    Decision("f1", False),
    Decision("f1", True),
    Decision("hamming_loss", False),
    Decision("hamming_loss", True),
    Decision("f1", True, thresholds=np.asarray(0.7)),
    Decision("f1", False, thresholds=np.linspace(0.2, 0.9, 10)),
    Decision(top=3),
]


def test_decisions(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, Y)
    for decision in DECISIONS:
        model._decision = decision
        assert_same_predictions(model, load_exported(model, tmp_path / "model.py"), digits("test")[0][:6])


def test_blocks_of_rows_are_those_of_the_library(tmp_path):
    X, Y = digits("train")
    model = in_small_blocks(SDGSClassifier(2, gamma=None, random_state=0).fit(X, Y))
    X = np.zeros((1030, 64))
    X[1020:] = digits("test")[0][:10]
    X[1029, 3] = np.nan  # in the second block, whose samples are coded by the solver for missing entries
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, X)
    assert exported._PREDICTOR.description["pipelines"][0]["block_rows"] == [1024, 1024]


@pytest.mark.parametrize("model", [BinaryRelevance(random_state=0), SharedSubspace(2), PLST(2), ReducedRankRidge(2)])
def test_linear_methods(model, tmp_path):
    X, Y = digits("train")
    model.fit(X / 16, Y)
    exported = load_exported(model, tmp_path / "model.py")
    assert_same_predictions(model, exported, X / 16, csr_array(X / 16))
    assert not hasattr(exported, "predict_proba")
    with pytest.raises(ValueError, match="NaN"):
        exported.predict(without_some(X))


def test_names(tmp_path):
    X, Y = digits("train")
    names = [f"pixel {j}" for j in range(64)]
    labels = [f'a "name", {j}\n' for j in range(10)]
    frame = pd.DataFrame(X, columns=names)
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(frame, pd.DataFrame(Y, columns=labels))
    exported = load_exported(model, tmp_path / "model.py")
    assert labels == exported.LABELS
    assert names == exported.FEATURES
    np.testing.assert_array_equal(exported.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(exported.predict(X), model.predict(frame))
    with pytest.raises(ValueError, match=r"in another order. Pass X\[FEATURES\]"):
        exported.predict(frame[names[::-1]])
    np.testing.assert_array_equal(exported.predict(frame[names[::-1]][exported.FEATURES]), model.predict(frame))
    np.testing.assert_array_equal(exported.predict(pd.DataFrame(X)), model.predict(frame))
    expected = [[labels[j] for j in np.flatnonzero(row)] for row in model.predict(frame[:9]).to_numpy()]
    assert exported.predict_labels(X[:9]) == expected
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.sdgs", label_names=labels)
    assert labels == load_exported(sdgs.load(tmp_path / "model.sdgs"), tmp_path / "model.py").LABELS


def test_invalid_samples(tmp_path):
    X, Y = digits("train")
    exported = load_exported(SDGSClassifier(2, random_state=0).fit(X, Y), tmp_path / "model.py")
    for bad, message in (
        (X[:, :5], "X has 5 features, but the model has 64"),
        (X[0], "two dimensions"),
        (np.full((1, 64), np.inf), "infinity"),
        (csc_array(X), "CSR|csr"),
        (csr_array(X).tocoo(), "CSR|csr"),
        (exported.CSR([1.0], [64], [0, 1], (1, 64)), "not a CSR array"),
    ):
        with pytest.raises(ValueError, match=message):
            exported.predict_proba(bad)
    assert exported.predict_proba(np.empty((0, 64))).shape == (0, 10)
    assert exported.predict_labels(np.empty((0, 64))) == []


# Ends with an error if anything but NumPy and the standard library is imported.
ISOLATED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "model"):
            raise ImportError(f"{name} is not to be imported")
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv[1])
import model, numpy
data = numpy.load(sys.argv[1] + "/samples.npz")
X = [data["dense"], data["gaps"], model.CSR(data["data"], data["indices"], data["indptr"], data["dense"].shape)]
numpy.savez(sys.argv[1] + "/predictions.npz", *map(model.predict_proba, X))
"""


def test_the_file_runs_with_numpy_alone(tmp_path):
    X, Y = digits("train")
    model = SDGSClassifier(2, gamma=2.0, random_state=0).fit(X, Y)
    sdgs.export(model, tmp_path / "model.py")
    X = digits("test")[0][:20]
    sparse, gaps = csr_array(X), without_some(X)
    arrays = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr}
    np.savez(tmp_path / "samples.npz", dense=X, gaps=gaps, **arrays)
    command = [sys.executable, "-E", "-c", ISOLATED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "predictions.npz") as predictions:
        for name, samples in zip(("arr_0", "arr_1", "arr_2"), (X, gaps, X), strict=True):
            np.testing.assert_allclose(predictions[name], model.predict_proba(samples), rtol=0, atol=TOL)


def test_the_file_only_computes(tmp_path):
    X, Y = digits("train")
    label = '"""); import os; os.abort()  # """'
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, pd.DataFrame(Y[:, :2], columns=[label, "b\\"]))
    path = sdgs.export(model, tmp_path / "model.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {
        *("base64", "json", "math", "numpy", "warnings", "zlib"),
        *("collections.abc", "functools", "numpy.typing", "typing"),
    }
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "open", "compile", "getattr", "setattr", "__import__", "pickle"}
    assert [label, "b\\"] == load_exported(model, path).LABELS


def test_a_file_is_replaced_as_a_whole(tmp_path):
    X, Y = digits("train")
    path = tmp_path / "model.py"
    path.write_text("old")
    with pytest.raises(ValueError, match="cannot be exported"):
        sdgs.export(object(), path)
    assert path.read_text() == "old"
    model = SDGSClassifier(2, gamma=None, random_state=0).fit(X, Y)
    assert sdgs.export(model, str(path)) == path
    assert list(tmp_path.iterdir()) == [path]
