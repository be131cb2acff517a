"""`sdgs export`: models as files that predict without this package."""

import importlib.util
import runpy

import numpy as np
import pytest

import sdgs
from sdgs.datasets import read


def test_a_python_file(run, songs, tmp_path):
    result = run("export", songs / "songs.sdgs")
    assert result.exit_code == 0, result.output
    assert "Wrote songs.py" in result.output
    exported, model = runpy.run_path(str(tmp_path / "songs.py")), sdgs.load(songs / "songs.sdgs")
    data = read(songs / "test.csv", labels=["is_*"], drop=["id", "title"])
    np.testing.assert_allclose(exported["predict_proba"](data.X), model.predict_proba(data.X), rtol=0, atol=1e-6)
    assert exported["LABELS"] == list(model.label_names_)
    assert exported["FEATURES"] == list(data.feature_names)
    assert "songs.py exists" in run("export", songs / "songs.sdgs").output
    assert run("export", songs / "songs.sdgs", "--force").exit_code == 0


def test_names_that_python_can_import(run, songs, tmp_path):
    (tmp_path / "2-songs.v1.sdgs").write_bytes((songs / "songs.sdgs").read_bytes())
    assert "Wrote model_2_songs_v1.py" in run("export", "2-songs.v1.sdgs").output


def test_errors(run, songs, tmp_path):
    result = run("export", songs / "songs.sdgs", "-o", "songs.onnx")
    assert result.exit_code == 2
    assert "must be a file that ends in .py" in " ".join(result.output.replace("│", " ").split())
    result = run("export", songs / "songs.sdgs", "--format", "onnx")
    assert result.exit_code == 1
    if importlib.util.find_spec("onnx") is None:
        assert "pip install 'sdgs[export]'" in result.output
    assert not list(tmp_path.iterdir())


def test_models_of_tables_are_refused(run, tmp_path):
    run("example", "tickets", "-o", "tickets.csv")
    fitted = run("fit", "tickets.csv", "--label-column", "tags", "--set", "gamma=None", "--set", "cv=2")
    assert fitted.exit_code == 0, fitted.output
    result = run("export", "tickets.sdgs")
    assert result.exit_code == 1
    assert "tickets.sdgs was not exported. The model encodes a table" in result.output
    assert not (tmp_path / "tickets.py").exists()


def test_an_onnx_graph(run, songs, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    options = ["--labels", "is_*", "--drop", "id,title", "--set", "alpha=0", "-o", "linear.sdgs"]
    fitted = run("fit", songs / "train.csv", *options)
    assert fitted.exit_code == 0, fitted.output
    result = run("export", "linear.sdgs", "--format", "onnx")
    assert result.exit_code == 0, result.output
    assert "Wrote linear.onnx" in result.output
    data = read(songs / "test.csv", labels=["is_*"], drop=["id", "title"])
    session = onnxruntime.InferenceSession(str(tmp_path / "linear.onnx"), providers=["CPUExecutionProvider"])
    P, _ = session.run(None, {"X": data.X})
    expected = sdgs.load(tmp_path / "linear.sdgs").predict_proba(data.X)
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-6)
