"""Probabilities and label sets in an ONNX graph; the formulas are those of the predictor's ``_label_sets``."""

from typing import Any

import numpy as np

from sdgs.deployment._model_description import Description
from sdgs.deployment._onnx_graph import OnnxGraph

Outputs = dict[str, tuple[str, str, list[Any]]]  # by name: node, type, shape


def add_decision(graph: OnnxGraph, description: Description, scores: str) -> Outputs:
    """The outputs of the graph: probabilities, or the scores of a model without them, and labels."""
    k = len(description["labels"])
    outputs: Outputs = {}
    if description["calibration"] is None:
        outputs["scores"] = scores, "DOUBLE", ["n", k]
    else:
        P = _add_softmax_of_log_expit(graph, scores) if description["one_per_sample"] else graph.add("Sigmoid", scores)
        outputs["probabilities"] = P, "DOUBLE", ["n", k]
    if description["one_per_sample"]:
        labels = np.asarray(description["labels"])
        best = graph.add("ArgMax", scores, axis=1, keepdims=0)
        dtype = {"U": "STRING", "b": "BOOL", "i": "INT64", "f": "DOUBLE"}[labels.dtype.kind]
        outputs["labels"] = graph.add("Gather", labels, best, axis=0), dtype, ["n"]
        return outputs
    labels_node = _add_label_sets(graph, description["decision"], scores, k)
    is_number = graph.add("Not", graph.add("IsNaN", scores))  # samples with NaN get no label
    outputs["labels"] = graph.cast(graph.add("And", labels_node, is_number), "INT64"), "INT64", ["n", k]
    return outputs


def _add_softmax_of_log_expit(graph: OnnxGraph, log_odds: str) -> str:
    """Probabilities that sum to 1 in each row."""
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", log_odds)))
    log_p = graph.add("Sub", graph.add("Min", log_odds, 0.0), graph.add("Log", graph.add("Add", small, 1.0)))
    return graph.add("Softmax", log_p, axis=1)


def _add_label_sets(graph: OnnxGraph, decision: Description, scores: str, k: int) -> str:
    """The label sets, boolean (n, k)."""
    rule, threshold = decision["rule"], decision["threshold"]
    if rule == "score above":
        return graph.add("Greater", scores, threshold)
    if rule == "score at least":
        return graph.add("GreaterOrEqual", scores, threshold)
    P = graph.add("Sigmoid", scores)
    if rule == "top":
        _, leading = graph.add_outputs("TopK", P, np.array([min(decision["top"], k)]), number=2, axis=1)
        is_label = graph.add("Equal", graph.add("Unsqueeze", leading, np.array([2])), np.arange(k)[None, None])
        return graph.cast(graph.reduce("ReduceMax", graph.cast(is_label, "INT64"), keepdims=0), "BOOL")
    if rule == "expected f1":
        return _add_best_expected_f1(graph, P, k, allow_empty=not decision["at_least_one"])
    labels = graph.add("GreaterOrEqual", P, threshold)
    return _add_fill_empty(graph, labels, P, k) if decision["at_least_one"] else labels


def _add_best_expected_f1(graph: OnnxGraph, P: str, k: int, *, allow_empty: bool) -> str:
    """The sets with the best ratio of expectations: the largest over all sizes, from sorted probabilities."""
    ordered, _ = graph.add_outputs("TopK", P, np.array([k]), number=2, axis=1)
    sums, total = graph.add("CumSum", ordered, np.array(1)), graph.reduce("ReduceSum", P)
    sizes = graph.add("Add", total, np.arange(1.0, k + 1)[None])
    best = graph.reduce("ReduceMax", graph.add("Div", graph.add("Mul", sums, 2.0), sizes))
    labels = graph.add("Greater", P, graph.add("Div", best, 2.0))
    labels = _add_fill_empty(graph, labels, P, k)
    if not allow_empty:
        return labels
    nothing = graph.reduce("ReduceProd", graph.add("Sub", 1.0, P))
    return graph.add("And", labels, graph.add("Not", graph.add("Greater", nothing, best)))


def _add_fill_empty(graph: OnnxGraph, labels: str, P: str, k: int) -> str:
    """The same sets, with the most probable label in those that are empty."""
    has_label = graph.cast(graph.reduce("ReduceMax", graph.cast(labels, "INT64")), "BOOL")
    is_best = graph.add("Equal", graph.add("ArgMax", P, axis=1, keepdims=1), np.arange(k)[None])
    return graph.add("Or", labels, graph.add("And", is_best, graph.add("Not", has_label)))
