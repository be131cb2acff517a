"""Pipelines with unusable content are rejected, with a correct checksum too. Round trips are in test_model_codec.py."""

import numpy as np
import pytest
from model_file_helpers import forge
from scipy.sparse import csr_array

import sdgs
from sdgs import ModelFileError


def set_entry(name, index, value):
    """A change of one entry of an array of the first pipeline."""
    return lambda _, arrays: arrays[f"pipeline0.{name}"].__setitem__(index, value)


def add_kernel(document, arrays, landmarks=None):
    """Claim that the first pipeline has a kernel."""
    document["pipelines"][0]["parameters"]["gamma"] = 1.0
    document["pipelines"][0]["kernel"] = {"gamma": 1.0}
    if landmarks is not None:
        arrays["pipeline0.landmarks.dense"] = landmarks


RIDGE_FORGERIES = {
    "parameters that the solver does not support": (
        lambda document, _: document["pipelines"][0]["parameters"].update(alpha=0, huber=0.1),
        "alpha must be",
    ),
    "an unknown scaling": (
        lambda document, _: document["pipelines"][0]["parameters"].update(scaling="cube"),
        "scaling must be one of",
    ),
    "an unknown scaler": (lambda document, _: document["pipelines"][0].update(scaler="cube"), "scaler must be one of"),
    "unit_rows that is no boolean": (
        lambda document, _: document["pipelines"][0].update(unit_rows=None),
        "in place of true or false",
    ),
    "converged that is no boolean": (
        lambda document, _: document["pipelines"][0].update(converged=1),
        "in place of true or false",
    ),
    "a missing array": (lambda _, arrays: arrays.pop("pipeline0.rows"), "pipeline0.rows is missing"),
    "integers in place of floats": (
        lambda _, arrays: arrays.update({"pipeline0.objective": np.arange(3)}),
        "objective has dtype int64",
    ),
    "no objective": (lambda _, arrays: arrays.update({"pipeline0.objective": np.empty(0)}), "objective is empty"),
    "parts in different precisions": (
        lambda _, arrays: arrays.update(
            {"pipeline0.coefficients": arrays["pipeline0.coefficients"].astype(np.float32)}
        ),
        "differ in precision",
    ),
    "rows beyond the last sample": (set_entry("rows", -1, 60), "rows is out of range"),
    "negative rows": (set_entry("rows", 0, -1), "rows is out of range"),
    "rows in disorder": (set_entry("rows", 0, 59), "rows must be ascending"),
    "subspaces that are not orthonormal": (set_entry("components", (0, 0), 1.5), "not orthonormal"),
    "NaN": (set_entry("ridge.coef", (0, 0), np.nan), "not finite"),
    "too few coefficients": (
        lambda _, arrays: arrays.update({"pipeline0.ridge.coef": arrays["pipeline0.ridge.coef"][:, 1:]}),
        "ridge.coef has",
    ),
    "columns in disorder": (
        lambda _, arrays: arrays.update({"pipeline0.columns": np.array([1, 0])}),
        "columns must be ascending",
    ),
    "no columns": (
        lambda _, arrays: arrays.update({"pipeline0.columns": np.empty(0, dtype=np.int64)}),
        "columns must be ascending",
    ),
    "a kernel without landmarks": (add_kernel, "landmarks.* is missing"),
    "a kernel with zero landmarks": (
        lambda document, arrays: add_kernel(document, arrays, np.ones((0, 8))),
        "landmarks has no rows",
    ),
    "a gamma without a kernel": (
        lambda document, _: document["pipelines"][0]["parameters"].update(gamma=1.0),
        "a kernel if and only if it has a gamma",
    ),
    "a kernel without a gamma": (
        lambda document, _: document["pipelines"][0].update(kernel={"gamma": 1.0}),
        "a kernel if and only if it has a gamma",
    ),
    "row offsets out of range": (set_entry("residual.indptr", slice(1, 3), [9, 1]), "indptr is out of range"),
    "row offsets that do not start at 0": (set_entry("residual.indptr", 0, 1), "indptr is"),
    "a scale of zero": (set_entry("scaler.scale_", 0, 0), "not positive"),
}


@pytest.mark.parametrize("name", RIDGE_FORGERIES)
def test_unusable_pipelines_are_rejected(name, ridge_file, tmp_path):
    change, message = RIDGE_FORGERIES[name]
    with pytest.raises(ModelFileError, match=rf"forged\.sdgs, written by sdgs '0\.1', does not hold.*{message}"):
        sdgs.load(forge(ridge_file, tmp_path, change))


@pytest.mark.parametrize(
    "pipelines", [None, {}, 3, [], [3], "pipelines", [{"norm": "l2"}], [{"landmarks_gamma": 1.0}], [{"parameters": 3}]]
)
def test_pipelines_of_another_structure_are_rejected(pipelines, ridge_file, tmp_path):
    def change(document, _):
        fields = pipelines[0] if isinstance(pipelines, list) and pipelines else None
        changed = [document["pipelines"][0] | fields] if isinstance(fields, dict) else pipelines
        document["pipelines"] = changed

    with pytest.raises(ModelFileError, match=r"forged\.sdgs, written by sdgs '0\.1', does not hold"):
        sdgs.load(forge(ridge_file, tmp_path, change))


@pytest.mark.parametrize("gamma", [None, 0, -1.0, "1", True, {"numpy": "<f8", "value": 1.0}])
def test_a_kernel_needs_a_positive_gamma(gamma, kernel_file, tmp_path):
    def change(document, _):
        document["pipelines"][0]["kernel"]["gamma"] = gamma

    with pytest.raises(ModelFileError, match="the kernel's gamma must be"):
        sdgs.load(forge(kernel_file, tmp_path, change))


def remove_landmarks(_, arrays):
    arrays["pipeline0.landmarks.dense"] = arrays["pipeline0.landmarks.dense"][:0]


def make_landmarks_sparse(_, arrays):
    landmarks = csr_array(arrays.pop("pipeline0.landmarks.dense"))
    for name in ("data", "indices", "indptr"):
        arrays[f"pipeline0.landmarks.{name}"] = getattr(landmarks, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_entry("landmarks.weights", 0, -1), "weights are negative, or belong to sparse"),
        (make_landmarks_sparse, "weights are negative, or belong to sparse"),
        (remove_landmarks, "landmarks has no rows"),
        (lambda document, _: document["pipelines"][0]["kernel"].update(name="linear"), "must have the fields gamma"),
        (lambda document, _: document["readout"]["read_from"]["tuple"].pop(), "different numbers of columns"),
    ],
)
def test_unusable_kernels_are_rejected(change, message, kernel_file, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        sdgs.load(forge(kernel_file, tmp_path, change))


def test_parameters_may_be_numpy_scalars(kernel_file, tmp_path):
    def change(document, _):
        document["pipelines"][0]["parameters"]["gamma"] = {"numpy": "<f4", "value": 1.0}

    X = np.random.default_rng(0).standard_normal((5, 8))
    expected = sdgs.load(kernel_file).decision_function(X)
    np.testing.assert_array_equal(sdgs.load(forge(kernel_file, tmp_path, change)).decision_function(X), expected)
