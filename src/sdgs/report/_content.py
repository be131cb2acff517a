"""What the page says, as values that JSON can hold. Nothing is fitted, and nothing is drawn."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs import metrics
from sdgs._utils._validation import check_int, check_labels, check_names
from sdgs._utils._version import __version__
from sdgs.datasets._statistics import dataset_statistics
from sdgs.decomposition._label_angles import label_angles, leaves_of
from sdgs.report._decomposed_samples import ExplainedSamples
from sdgs.report._packed_labels import LEAST, STEPS, as_text, packed

MEASURES = {
    "hamming_loss": "Hamming loss",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "accuracy": "Accuracy",
}
_ON_MAPS = 60  # labels


def model_content(
    model: Any,
    X: Any,
    Y: Any,
    *,
    feature_names: Any = None,
    label_names: Any = None,
    sample_names: Any = None,
    rivals: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
    title: str = "A model and its samples",
    max_samples: int = 10_000,
    max_explained: int = 500,
) -> dict[str, Any]:
    """What :func:`write_model_report` shows, with the same parameters.

    Returns
    -------
    dict
        Of numbers, strings, lists and dicts only.
    """
    check_int(max_samples, "max_samples", minimum=1)
    check_int(max_explained, "max_explained", minimum=0)
    n, p = np.shape(X)
    if shape is not None and (len(shape) != 2 or shape[0] * shape[1] != p):
        raise ValueError(f"shape must be the height and width of an image of {p} pixels, got {shape}.")
    true = _label_matrix(Y, model, "Y", n)
    k = true.shape[1]
    if k != len(model.components_):
        raise ValueError(f"Y must have one column for each of the {len(model.components_)} labels, got {k}.")
    labels = check_names(label_names, "label_names", k, getattr(model, "label_names_", model.classes_))
    index = X.index if hasattr(X, "iloc") else None
    names = None if sample_names is None and index is None else check_names(sample_names, "sample_names", n, index)
    others = {str(name): _predicted(rival, model, X, name) for name, rival in (rivals or {}).items()}
    if n > max_samples:
        kept = np.sort(np.random.default_rng(0).choice(n, max_samples, replace=False))
        X = X.iloc[kept] if hasattr(X, "iloc") else (X.tocsr() if issparse(X) else np.asarray(X))[kept]
        true, others = true[kept], {name: Z[kept] for name, Z in others.items()}
        names = np.array([f"{i}" for i in kept], dtype=object) if names is None else names[kept]
    predicted = _label_matrix(model.predict(X), model, "the prediction", len(true))
    P = np.asarray(model.predict_proba(X), dtype=np.float64) if hasattr(model, "predict_proba") else None
    f1, order = _mistakes(true, predicted, P)
    chosen = _to_explain(order, len(true), ExplainedSamples.most(max_explained, shape, float(true.sum(axis=1).mean())))
    apart = _apart(model, X, true, predicted, chosen, feature_names, labels, shape)
    return {
        "title": title,
        "version": __version__,
        "model": {"name": type(model).__name__, "parameters": _parameters(model)},
        "data": _glance(X, true, predicted, n),
        "measures": list(MEASURES.values()),
        "values": list(metrics.evaluate(true, predicted).values()),
        "rivals": [{"name": name, "values": list(metrics.evaluate(true, Z).values())} for name, Z in others.items()],
        "labels": [str(name) for name in labels],
        "by_label": _by_label(true, predicted),
        "names": None if names is None else [str(name) for name in names],
        "cells": packed(true, predicted, P),
        "has_probabilities": P is not None,
        "least": LEAST,
        "steps": STEPS,
        "mistakes": as_text(order, "<u4"),
        "n_mistakes": len(order),
        "n_right": int((f1 == 1).sum()),
        "maps": _maps(model, true),
        "shape": None if shape is None else [int(side) for side in shape],
        "has_baseline": hasattr(model.scaler_, "mean_"),
        "has_huber": model.huber_ is not None,
        "features": apart.feature_names,
        "apart": apart.samples,
    }


def _label_matrix(Y: Any, model: Any, name: str, n: int) -> NDArray[np.bool_]:
    """A target in any form that the model takes, as a matrix."""
    if np.ndim(Y) == 1 and not issparse(Y):
        Y = np.asarray(Y)[:, None] == model.classes_
    return np.asarray(check_labels(Y, n_samples=n, name=name, some_positive=False).toarray(), dtype=bool)


def _predicted(rival: Any, model: Any, X: Any, name: Any) -> NDArray[np.bool_]:
    Z = rival.predict(X) if hasattr(rival, "predict") else rival
    found = _label_matrix(Z, model, f"the prediction of {name}", np.shape(X)[0])
    if found.shape[1] != len(model.components_):
        raise ValueError(f"the prediction of {name} must have one column for each label, got {found.shape[1]}.")
    return found


def _parameters(model: Any) -> dict[str, str]:
    """Those that are not the default, and what a search has found."""
    default = type(model)().get_params()
    given = {name: value for name, value in model.get_params().items() if repr(value) != repr(default[name])}
    found = getattr(model, "best_params_", {})
    return {str(name): str(value) for name, value in {**given, **found}.items()}


def _glance(X: Any, true: NDArray[np.bool_], predicted: NDArray[np.bool_], n_given: int) -> dict[str, Any]:
    statistics = dataset_statistics(X, true, range(true.shape[1]))
    n_predicted = predicted.sum(axis=1)
    by_size = zip_longest(statistics.label_set_sizes, np.bincount(n_predicted).tolist(), fillvalue=0)
    return {
        "n": statistics.n_samples,
        "n_given": n_given,
        "p": statistics.n_features,
        "k": statistics.n_labels,
        "cardinality": statistics.cardinality,
        "cardinality_predicted": float(n_predicted.mean()),
        "label_sets": statistics.distinct_label_sets,
        "never": sum(count == 0 for count in statistics.label_counts.values()),
        "nonzero": statistics.nonzero_share,
        "missing": statistics.missing_share,
        "by_size": [list(pair) for pair in by_size],
    }


def _by_label(true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> list[list[float | None]]:
    """For each label: samples, times predicted, precision, recall and F1; None where a share is not defined."""
    columns = zip(*(values.tolist() for values in metrics.evaluate_labels(true, predicted).values()), strict=True)
    return [[None if np.isnan(value) else value for value in row] for row in columns]


def _mistakes(
    true: NDArray[np.bool_], predicted: NDArray[np.bool_], P: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """F1 of each sample, and the samples that are not right, the largest mistake first.

    By F1; among equals by how sure the model was of what is wrong, the sum of ``abs(y - p)`` over those labels.
    """
    total = true.sum(axis=1) + predicted.sum(axis=1)
    f1 = np.where(total == 0, 1.0, 2 * (true & predicted).sum(axis=1) / np.maximum(total, 1))
    wrong = true != predicted
    sure = (wrong if P is None else wrong * np.abs(true - P)).sum(axis=1)
    order = np.lexsort((-sure, f1))
    return f1, order[f1[order] < 1]


def _to_explain(order: NDArray[np.intp], n: int, most: int) -> NDArray[np.intp]:
    """Samples to take apart: the largest mistakes, and a random part of all others."""
    others = np.setdiff1d(np.arange(n), order)
    n_others = min(max(most - len(order), most * 2 // 5), len(others))
    first = order[: max(most - n_others, 0)]
    return np.sort(np.concatenate([first, np.random.default_rng(0).choice(others, n_others, replace=False)]))


def _apart(
    model: Any,
    X: Any,
    true: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    chosen: NDArray[np.intp],
    feature_names: Any,
    labels: NDArray[Any],
    shape: tuple[int, int] | None,
) -> ExplainedSamples:
    apart = ExplainedSamples(shape)
    if not chosen.size:
        return apart
    some = X.iloc[chosen] if hasattr(X, "iloc") else (X.tocsr() if issparse(X) else np.asarray(X))[chosen]
    features = getattr(model, "feature_names_", None) if feature_names is None else feature_names
    if features is None and shape is not None and not hasattr(model, "feature_names_in_"):
        features = [f"pixel {i}, {j}" for i in range(shape[0]) for j in range(shape[1])]
    terms = {"feature_names": features, "label_names": labels}
    by_prediction = model.explain(some, predicted[chosen], **terms)
    by_truth = model.explain(some, true[chosen], **terms)
    for row, mine, other in zip(chosen, by_prediction, by_truth, strict=True):
        same = np.array_equal(true[row], predicted[row])
        apart.add(int(row), mine, None if same else other)
    return apart


def _maps(model: Any, true: NDArray[np.bool_]) -> dict[str, Any]:
    """Labels that come together, and what their subspaces share, in percent; the most frequent labels only."""
    kept = np.sort(np.argsort(-true.sum(axis=0), kind="stable")[:_ON_MAPS])
    counts = true[:, kept].T.astype(np.int64) @ true[:, kept].astype(np.int64)
    support = np.diag(counts)
    either = support[:, None] + support - counts
    angles = label_angles([model.components_[i] for i in kept])
    return {
        "together": _ordered(kept, counts / np.maximum(support, 1)[:, None], leaves_of(counts / np.maximum(either, 1))),
        "angles": _ordered(kept, angles.shared, angles.order() if len(kept) > 1 else np.array([0])),
    }


def _ordered(kept: NDArray[np.intp], shares: NDArray[np.float64], order: NDArray[np.intp]) -> dict[str, Any]:
    percent = np.round(1000 * shares[np.ix_(order, order)]).astype(np.int64)
    return {"labels": kept[order].tolist(), "permille": percent.tolist()}
