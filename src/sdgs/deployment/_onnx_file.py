"""ONNX graphs of models whose predictions have a closed form; all numbers are float64."""

import json

import numpy as np
from numpy.typing import NDArray

from sdgs.deployment._model_description import Description
from sdgs.deployment._onnx_decision import add_decision
from sdgs.deployment._onnx_graph import OnnxGraph

_MAX_BYTES = 2_000_000_000  # of a file: protobuf's limit is 2 GiB
_LARGEST = float(np.finfo(np.float64).max)


def onnx_file(description: Description) -> bytes:
    """The content of the file; a ValueError says why there is none."""
    reason = why_not_closed_form(description)
    if reason is not None:
        raise ValueError(
            f'format="onnx" cannot hold this model: {reason}, which takes an iterative solver. Use format="numpy". '
            "SDGSClassifier(alpha=0, huber=None) can always be exported, but compare its measures before."
        )
    graph = OnnxGraph()
    if description["linear"] is not None:
        scores = graph.add("MatMul", "X", description["linear"]["coef"])
        scores = graph.add("Add", scores, description["linear"]["intercept"])
    else:
        parts = [_add_pipeline(graph, pipeline) for pipeline in description["pipelines"]]
        scores = graph.add("Div", graph.add("Sum", *parts), float(len(parts)))
        if description["calibration"] is not None:
            scores = graph.add("Mul", scores, description["calibration"]["slope"])
            scores = graph.add("Add", scores, description["calibration"]["offset"])
    # An entry that is not finite must not be lost, as in a minimum: it makes all scores NaN.
    scores = graph.add("Add", scores, graph.reduce("ReduceSum", graph.add("Mul", "X", 0.0)))
    outputs = add_decision(graph, description, scores)
    names = {"labels": json.dumps(description["labels"]), "features": json.dumps(description["features"])}
    if graph.n_bytes > _MAX_BYTES:
        raise ValueError(
            f'format="onnx" cannot hold this model: its arrays take {graph.n_bytes / 1e9:.1f} GB, and ONNX files end '
            'at 2 GB. Use format="numpy", or fit a model with a smaller n_landmarks.'
        )
    content: bytes = graph.to_bytes(description["n_features"], outputs, names | {"sdgs": description["version"]})
    return content


def why_not_closed_form(description: Description) -> str | None:
    """Why the predictions of a model have no closed form; None if they have."""
    for pipeline in description["pipelines"]:
        regression = pipeline["regression"]
        if pipeline["huber"] is not None:
            return "it corrects the entries of samples (huber)"
        if pipeline["alpha"] > 0 and (regression is None or "code" in regression["blocks"]):
            return "it reads labels from group-sparse codes (alpha > 0)"
    return None


def _add_pipeline(graph: OnnxGraph, pipeline: Description) -> str:
    """The scores of a pipeline."""
    X, norms = _add_scaling(graph, pipeline["scaling"])
    regression, codes = pipeline["regression"], ""
    if pipeline["pinv"] is not None:
        codes = graph.add("MatMul", X, pipeline["pinv"])
    if regression is None:
        return graph.add("MatMul", graph.add("Abs", codes), _membership(pipeline["groups"]))
    parts = []
    for name, block in regression["blocks"].items():
        if name == "kernel":
            Z = _add_kernel(graph, pipeline["kernel"], X, norms)
        elif name == "norms":
            Z = graph.add("Sqrt", graph.add("MatMul", graph.add("Mul", codes, codes), _membership(pipeline["groups"])))
        else:
            Z = X if name == "sample" else codes
        if block["columns"] is not None:
            Z = graph.add("Gather", Z, block["columns"], axis=1)
        parts.append(graph.add("MatMul", Z, block["coef"]))
    return graph.add("Add", graph.add("Sum", *parts), regression["intercept"])


def _membership(groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """(R, k): 1 where a coordinate of the codes belongs to a label."""
    sizes = np.diff(groups)
    member = np.zeros((int(sizes.sum()), sizes.size))
    member[np.arange(len(member)), np.repeat(np.arange(sizes.size), sizes)] = 1
    return member


def _add_scaling(graph: OnnxGraph, scaling: Description) -> tuple[str, str | None]:
    """Scaled samples, and the norms of their rows before; None for 1."""
    X = "X"
    if scaling["mean"] is not None:
        X = graph.add("Div", graph.add("Sub", X, scaling["mean"]), scaling["scale"])
    elif scaling["weight"] is not None:
        X = graph.add("Mul", X, scaling["weight"])
    if not scaling["to_unit_rows"]:
        return X, None
    largest = graph.reduce("ReduceMax", graph.add("Abs", X))
    X = graph.add("Div", X, _add_nonzero(graph, largest))
    norms = graph.add("Sqrt", graph.reduce("ReduceSum", graph.add("Mul", X, X)))
    return graph.add("Div", X, _add_nonzero(graph, norms)), graph.add("Mul", largest, norms)


def _add_nonzero(graph: OnnxGraph, divisors: str) -> str:
    """Divisors with 1 for 0."""
    return graph.add("Where", graph.add("Greater", divisors, 0.0), divisors, 1.0)


def _add_kernel(graph: OnnxGraph, kernel: Description, X: str, norms: str | None) -> str:
    """The kernel between samples and landmarks; row by row, because all differences at once would fill the memory."""
    if kernel["weights"] is not None:
        if norms is not None:
            X = graph.add("Mul", X, graph.add("Clip", norms, -_LARGEST, _LARGEST))
        X = graph.add("Clip", graph.add("Mul", X, kernel["weights"]), -(_LARGEST**0.5), _LARGEST**0.5)
    landmarks, indptr = kernel["landmarks"], kernel["indptr"]
    body = graph.subgraph()
    if indptr is None:
        differences = body.add("Abs", body.add("Sub", graph.constant(landmarks), "x"))
        distances = body.reduce("ReduceSum", differences, keepdims=0)
    else:
        indices, values = _padded(landmarks, kernel["indices"], indptr)
        x = body.add("Gather", "x", graph.constant(indices), axis=0)
        changes = body.add("Sub", body.add("Abs", body.add("Sub", x, graph.constant(values))), body.add("Abs", x))
        norm = body.reduce("ReduceSum", body.add("Abs", "x"), axis=0)
        distances = body.add("Max", body.add("Add", body.reduce("ReduceSum", changes, keepdims=0), norm), 0.0)
    distances = graph.scan_rows(X, body, distances)
    return graph.add("Exp", graph.add("Mul", distances, -kernel["gamma"]))


def _padded(
    data: NDArray[np.float64], indices: NDArray[np.int64], indptr: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The entries of CSR rows as two arrays (m, largest number of entries of a row); others are entries of value 0."""
    counts = np.diff(indptr)
    shape = (counts.size, int(counts.max(initial=0)))
    padded_indices, values = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    is_entry = np.arange(shape[1]) < counts[:, None]
    padded_indices[is_entry], values[is_entry] = indices, data
    return padded_indices, values
