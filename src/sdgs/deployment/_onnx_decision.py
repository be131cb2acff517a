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
        weight = description["decision"]["label_weight"]
        if weight is not None:
            log_odds = _add_clipped_log_odds(graph, _add_softmax_of_log_expit(graph, scores))
            scores = graph.add("Add", log_odds, np.log(weight))
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
    if decision["label_weight"] is not None:
        weighted = graph.add("Mul", P, decision["label_weight"])
        P = graph.add("Div", weighted, graph.add("Add", graph.add("Sub", 1.0, P), weighted))
    if rule == "top":
        _, leading = graph.add_outputs("TopK", P, np.array([min(decision["top"], k)]), number=2, axis=1)
        is_label = graph.add("Equal", graph.add("Unsqueeze", leading, np.array([2])), np.arange(k)[None, None])
        return graph.cast(graph.reduce("ReduceMax", graph.cast(is_label, "INT64"), keepdims=0), "BOOL")
    if rule == "expected f1":
        return _add_best_expected_f1(graph, P, k, allow_empty=not decision["at_least_one"])
    labels = graph.add("GreaterOrEqual", P, threshold)
    labels = _add_fill_empty(graph, labels, P, k) if decision["at_least_one"] else labels
    return labels if decision["label_sets"] is None else _add_most_probable_sets(graph, decision, P, labels)


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


def _add_clipped_log_odds(graph: OnnxGraph, P: str) -> str:
    """log(p / (1 - p)), of probabilities that are bounded away from 0 and 1."""
    eps = float(np.finfo(np.float64).eps)
    P = graph.add("Clip", P, eps, 1 - eps)
    return graph.add("Sub", graph.add("Log", P), graph.add("Log", graph.add("Sub", 1.0, P)))


def _add_most_probable_sets(graph: OnnxGraph, decision: Description, P: str, independent: str) -> str:
    """The best of some sets, whose probabilities are corrected, and of the set of independent labels."""
    sets, log_ratios = decision["label_sets"]["sets"], decision["label_sets"]["log_ratios"]
    log_odds, own = _add_clipped_log_odds(graph, P), graph.cast(independent, "DOUBLE")
    scores = graph.add("Add", graph.add("MatMul", log_odds, sets.T), log_ratios[:-1])
    own_score = graph.reduce("ReduceSum", graph.add("Mul", log_odds, own))
    is_better = graph.add(
        "Greater", graph.add("Add", own_score, float(log_ratios[-1])), graph.reduce("ReduceMax", scores)
    )
    # The number of labels in which the own set differs from each of the others; 0 for one of them.
    common = graph.add("MatMul", own, sets.T)
    sizes = graph.add("Add", graph.reduce("ReduceSum", own), sets.sum(axis=1)[None])
    differences = graph.add("Sub", sizes, graph.add("Mul", common, 2.0))
    is_new = graph.add("Greater", graph.reduce("ReduceMin", differences), 0.5)
    best = graph.add("Gather", sets > 0, graph.add("ArgMax", scores, axis=1, keepdims=0), axis=0)
    takes_own = graph.add("And", is_better, is_new)
    is_own, is_best = graph.add("And", takes_own, independent), graph.add("And", graph.add("Not", takes_own), best)
    return graph.add("Or", is_own, is_best)  # runtimes have no "Where" of booleans
