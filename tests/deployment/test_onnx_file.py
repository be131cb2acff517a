"""ONNX graphs predict what the model does, or are refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import sdgs
from sdgs import SDGSClassifier
from sdgs.datasets import make_composite_digits
from sdgs.methods import BinaryRelevance, SharedSubspace
from sdgs.readout._decision import Decision

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TRAIN = make_composite_digits(150, max_labels=2, subset="train", random_state=0)
X_TEST = make_composite_digits(60, max_labels=2, subset="test", random_state=1).X
WORDS = np.random.default_rng(0).poisson(0.15, (160, 90)).astype(np.float64)


def run_exported(model, path, X):
    """The two outputs of the exported model, by name, and its metadata."""
    sdgs.export(model, path, format="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    metadata = session.get_modelmeta().custom_metadata_map
    return dict(zip(names, session.run(None, {"X": X}), strict=True)), metadata


def assert_same_predictions(model, path, X):
    outputs, _ = run_exported(model, path, X)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(X), rtol=0, atol=1e-6)
    else:
        np.testing.assert_allclose(outputs["scores"], model.decision_function(X), rtol=0, atol=1e-6)
    labels = model.predict(X)
    np.testing.assert_array_equal(outputs["labels"], labels.toarray() if hasattr(labels, "toarray") else labels)


@pytest.mark.parametrize("scaling", ["rows", "columns", None])
@pytest.mark.parametrize("gamma", [None, 2.0])
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_dense_samples(scaling, gamma, n_blocks, tmp_path):
    model = SDGSClassifier(2, alpha=0, scaling=scaling, gamma=gamma, random_state=0).fit(TRAIN.X, TRAIN.Y)
    pipeline = model._pipelines[0]
    width = pipeline.features.widths[n_blocks - 1 - (gamma is None and n_blocks == 4)]  # kernel alone, or all blocks
    coef = np.random.default_rng(0).standard_normal((10, width)) / width
    model._pipelines = [replace(pipeline, ridge=replace(pipeline.ridge, coef=coef))]
    assert_same_predictions(model, tmp_path / "model.onnx", X_TEST)
    assert_same_predictions(model, tmp_path / "model.onnx", np.vstack([X_TEST[:1], np.zeros((1, 64))]))


@pytest.mark.parametrize("scaling", ["rows", "idf"])
def test_sparse_landmarks(scaling, tmp_path):
    model = SDGSClassifier(2, alpha=0, scaling=scaling, gamma=1.5, random_state=0)
    model.fit(csr_array(WORDS), WORDS[:, :4] > 0)
    assert_same_predictions(model, tmp_path / "model.onnx", WORDS)


def test_selected_columns_and_averages(tmp_path):
    model = SDGSClassifier(2, alpha=0, gamma=2.0, random_state=0).fit(TRAIN.X, TRAIN.Y)
    pipeline = model._pipelines[0]
    n_landmarks = pipeline.features.kernel.n_landmarks
    columns = np.r_[np.arange(n_landmarks), n_landmarks + np.arange(0, 94, 3)]
    coef = np.random.default_rng(0).standard_normal((10, columns.size)) / columns.size
    features = replace(pipeline.features, columns=columns)
    other = replace(pipeline, features=features, ridge=replace(pipeline.ridge, coef=coef))
    model._pipelines = [pipeline, other]
    assert_same_predictions(model, tmp_path / "model.onnx", X_TEST)


def test_decisions(tmp_path):
    model = SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(TRAIN.X, TRAIN.Y)
    for decision in (
        Decision("f1", False),
        Decision("hamming_loss", False),
        Decision("hamming_loss", True),
        Decision("f1", True, thresholds=np.asarray(0.7)),
        Decision("f1", False, thresholds=np.linspace(0.2, 0.9, 10)),
        Decision(top=3),
        Decision(top=99),
    ):
        model._decision = decision
        assert_same_predictions(model, tmp_path / "model.onnx", X_TEST)


@pytest.mark.parametrize("classes", [["a", "b", "c"], [3, 1, 2], [False, True]])
def test_one_label_per_sample(classes, tmp_path):
    y = np.asarray(classes)
    model = SDGSClassifier(2, alpha=0, gamma=None, random_state=0)
    model.fit(TRAIN.X, y[TRAIN.Y.argmax(axis=1) % len(classes)])
    assert_same_predictions(model, tmp_path / "model.onnx", X_TEST)


@pytest.mark.parametrize("model", [BinaryRelevance(random_state=0), SharedSubspace(2)])
def test_linear_methods(model, tmp_path):
    assert_same_predictions(model.fit(TRAIN.X / 16, TRAIN.Y), tmp_path / "model.onnx", X_TEST / 16)


def test_norms_of_least_squares_codes(tmp_path):
    model = SDGSClassifier(2, alpha=0, readout="norm", random_state=0).fit(TRAIN.X, TRAIN.Y)
    assert_same_predictions(model, tmp_path / "model.onnx", X_TEST)


def test_missing_entries_give_nan_and_no_labels(tmp_path):
    for gamma in (None, 2.0):
        model = SDGSClassifier(2, alpha=0, gamma=gamma, random_state=0).fit(TRAIN.X, TRAIN.Y)
        X = X_TEST[:3].copy()
        X[1, 5] = np.nan
        X[2, 7] = np.inf
        outputs, _ = run_exported(model, tmp_path / "model.onnx", X)
        assert np.isnan(outputs["probabilities"]).any(axis=1).tolist() == [False, True, True]
        assert outputs["labels"].any(axis=1).tolist() == [True, False, False]


def test_names_are_metadata(tmp_path):
    model = SDGSClassifier(2, alpha=0, gamma=None, random_state=0).fit(TRAIN.X, TRAIN.Y)
    model.label_names_ = [f"digit {j}" for j in range(10)]
    _, metadata = run_exported(model, tmp_path / "model.onnx", X_TEST)
    assert metadata["labels"].startswith('["digit 0", "digit 1",')
    assert metadata["features"] == "null"
    assert metadata["sdgs"] == sdgs.__version__


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"readout": "norm"}, r"codes \(alpha > 0\)"), ({"huber": 0.05, "alpha": 0.1, "gamma": None}, r"\(huber\)")],
)
def test_models_that_need_a_solver_are_refused(options, reason, tmp_path):
    model = SDGSClassifier(2, random_state=0, **options).fit(TRAIN.X, TRAIN.Y)
    with pytest.raises(ValueError, match=f'{reason}, which takes an iterative solver. Use format="numpy"'):
        sdgs.export(model, tmp_path / "model.onnx", format="onnx")
    assert not list(tmp_path.iterdir())


def test_files_that_are_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sdgs.deployment._onnx_file._MAX_BYTES", 1000)
    model = BinaryRelevance(random_state=0).fit(TRAIN.X / 16, TRAIN.Y)
    with pytest.raises(ValueError, match="ONNX files end at 2 GB"):
        sdgs.export(model, tmp_path / "model.onnx", format="onnx")
