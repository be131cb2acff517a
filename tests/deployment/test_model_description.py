"""Which models can be exported; what an error about others says."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sdgs
from sdgs import DecisionClassifier, SDGSClassifier
from sdgs.datasets import make_label_subspaces
from sdgs.deployment._model_description import describe_model
from sdgs.methods import CompressedLabels, LabelPowerset, MLkNN

DATA = make_label_subspaces(100, 8, 3, n_components=2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return SDGSClassifier(2, gamma=None, random_state=0).fit(DATA.X, DATA.Y)


@pytest.mark.parametrize(
    "other", [MLkNN(), LabelPowerset(), CompressedLabels(random_state=0), DecisionClassifier(MLkNN())]
)
def test_other_methods(other):
    with pytest.raises(ValueError, match=f"{type(other).__name__} cannot be exported: only SDGSClassifier"):
        describe_model(other)


def test_pipelines():
    pipeline = make_pipeline(StandardScaler(), SDGSClassifier(2, gamma=None, random_state=0)).fit(DATA.X, DATA.Y)
    with pytest.raises(ValueError, match=r"Export its last step, model.steps\[-1\]\[1\]"):
        describe_model(pipeline)
    assert describe_model(pipeline.steps[-1][1])["n_features"] == 8


def test_tables():
    colours = np.array(["red", "blue", "green"])[np.arange(100) % 3]
    table = pd.DataFrame({"a": DATA.X[:, 0], "colour": colours})
    model = SDGSClassifier(1, gamma=None, random_state=0).fit(table, DATA.Y)
    with pytest.raises(ValueError, match=r"model.encoder_.transform\(X\)"):
        describe_model(model)
    numbers = model.encoder_.transform(table)
    again = SDGSClassifier(1, gamma=None, random_state=0).fit(numbers, DATA.Y)
    np.testing.assert_array_equal(again.predict_proba(numbers), model.predict_proba(table))  # as the message says
    assert describe_model(again)["n_features"] == numbers.shape[1]


def test_models_that_are_not_ready():
    with pytest.raises(NotFittedError):
        describe_model(SDGSClassifier())
    norm = SDGSClassifier(2, readout="norm", random_state=0).fit(DATA.X, DATA.Y).set_params(readout="ridge")
    with pytest.raises(ValueError, match='fitted with readout="norm"'):
        describe_model(norm)


def test_names_that_have_no_form_in_a_file(model):
    model.label_names_ = [("a", "b"), "c", "d"]
    with pytest.raises(ValueError, match=r"The name \('a', 'b'\)"):
        describe_model(model)
    del model.label_names_


def test_dictionaries_that_the_library_codes_otherwise(model, monkeypatch):
    monkeypatch.setattr("sdgs.deployment._model_description._MAX_CODED_ROWS", 5)
    pipeline = model._pipelines[0]
    width = 8 + 6
    ridge = replace(pipeline.ridge, coef=np.zeros((3, width)))
    reads_codes = SDGSClassifier(2, gamma=None, random_state=0).fit(DATA.X, DATA.Y)
    reads_codes._pipelines = [replace(pipeline, ridge=ridge)]
    with pytest.raises(ValueError, match="have 6 dimensions; up to 5"):
        describe_model(reads_codes)


def test_arguments(model, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="format must be one of 'numpy', 'onnx'; got 'pickle'"):
        sdgs.export(model, tmp_path / "model.pkl", format="pickle")
    with pytest.raises(ValueError, match=r"path must end in \.onnx for format='onnx'"):
        sdgs.export(model, tmp_path / "model.py", format="onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    alpha_zero = SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(DATA.X, DATA.Y)
    with pytest.raises(ImportError, match=r"pip install 'sdgs\[export\]'"):
        sdgs.export(alpha_zero, tmp_path / "model.onnx", format="onnx")
