"""The content of the page, as values that JSON can hold. Nothing is fitted or drawn here."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs import metrics
from sdgs._utils._label_collections import as_label_matrix, has_label_lists
from sdgs._utils._last_step import (
    known_feature_names,
    label_names_of,
    last_step,
    samples_of_last_step,
    stored_feature_names,
)
from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._unobserved_labels import split_unobserved
from sdgs._utils._validation import check_int, check_labels, check_names
from sdgs._utils._version import __version__
from sdgs.datasets._statistics import dataset_statistics
from sdgs.decomposition._label_angles import label_angles, leaves_of
from sdgs.estimators._model_functions import check_last_step
from sdgs.explanation import LabelExplanation
from sdgs.report._explained_samples import ExplainedSamples
from sdgs.report._label_marks import choose_samples, values_of_marks
from sdgs.report._label_reasons import labels_of_training_samples
from sdgs.report._packed_labels import MIN_STEP, N_STEPS, encode_base64, pack_labels
from sdgs.report._page_values import FeatureNames
from sdgs.report._summary_tables import calibration_table, chosen_parameters, f1_over_labels

_MAX_MAP_LABELS = 60


@dataclass(frozen=True)
class _Samples:
    """The samples of the page, all or some of the given ones, with their true and predicted labels.

    Unobserved labels are not true. They are not shown and not counted: ``shown`` and ``compared`` do not predict them,
    and ``shown_probabilities`` has 0 for them.
    """

    X: Any
    true: NDArray[np.bool_]
    observed: NDArray[np.bool_] | None  # None if all are
    predicted: NDArray[np.bool_]
    probabilities: NDArray[np.float64] | None
    compared: dict[str, NDArray[np.bool_]]  # predictions of other methods
    names: NDArray[Any] | None

    @property
    def labels(self) -> NDArray[Any]:
        """The true labels with NaN where they are unobserved, for metrics."""
        return self.true if self.observed is None else np.where(self.observed, self.true, np.nan)

    @property
    def shown(self) -> NDArray[np.bool_]:
        return self.predicted if self.observed is None else self.predicted & self.observed

    @property
    def shown_probabilities(self) -> NDArray[np.float64] | None:
        if self.probabilities is None or self.observed is None:
            return self.probabilities
        return np.where(self.observed, self.probabilities, 0.0)


def model_content(
    model: Any,
    X: Any,
    Y: Any,
    *,
    feature_names: Any = None,
    label_names: Any = None,
    sample_names: Any = None,
    compared_methods: Mapping[str, Any] | None = None,
    shape: tuple[int, int] | None = None,
    title: str = "A model and its samples",
    max_samples: int = 10_000,
    max_explained: int = 500,
) -> dict[str, Any]:
    """The content of the page that :func:`write_model_report` writes, with the same parameters.

    Returns
    -------
    dict
        Numbers, strings, lists and dicts only.
    """
    check_int(max_samples, "max_samples", minimum=1)
    check_int(max_explained, "max_explained", minimum=0)
    check_last_step(model)
    pipeline, model = model, last_step(model)
    predictions = {  # by other methods, of the samples as they are given
        str(name): method.predict(X) if hasattr(method, "predict") else method
        for name, method in (compared_methods or {}).items()
    }
    if sample_names is None and hasattr(X, "iloc"):
        sample_names = X.index
    X = samples_of_last_step(pipeline, X)
    p = np.shape(X)[1]
    if shape is not None and (len(shape) != 2 or shape[0] * shape[1] != p):
        raise ValueError(f"shape must be the height and width of an image of {p} pixels, got {shape}.")
    samples, n_labelled = _predict(model, X, Y, sample_names, predictions, max_samples)
    true, predicted, probabilities = samples.true, samples.shown, samples.shown_probabilities
    labels = label_names_of(model, label_names, true.shape[1])
    if feature_names is None:
        feature_names = _default_feature_names(pipeline, shape)
    names = {"feature_names": feature_names, "label_names": labels}
    f1, mistakes = _rank_mistakes(true, predicted, probabilities)
    has_reasons = hasattr(model, "explain_prediction")
    shown_labels = true | samples.predicted if has_reasons else true
    labels_per_sample = float(shown_labels.sum(axis=1).mean())
    n_explained = ExplainedSamples.max_samples(max_explained, shape, labels_per_sample, has_reasons=has_reasons)
    used_names = FeatureNames()
    rows = _choose_explained(mistakes, len(true), n_explained)
    explained = _explain(model, samples, rows, names, shape, used_names)
    label_explanation, marks = _explain_labels(model, samples, names, used_names)
    return {
        "title": title,
        "version": __version__,
        "model": {
            "name": type(model).__name__,
            "parameters": _changed_parameters(model),
            "chosen": chosen_parameters(model),
        },
        "data": _statistics(samples, n_labelled),
        **_metric_values(samples),
        "f1_over_labels": f1_over_labels(true, [predicted, *samples.compared.values()]),
        "calibration": _calibration(samples),
        "labels": [str(name) for name in labels],
        "by_label": _by_label(true, predicted),
        "names": None if samples.names is None else [str(name) for name in samples.names],
        "cells": pack_labels(true, predicted, probabilities),
        "has_probabilities": probabilities is not None,
        "min_step": MIN_STEP,
        "n_steps": N_STEPS,
        "mistakes": encode_base64(mistakes, "<u4"),
        "n_mistakes": len(mistakes),
        "n_right": int((f1 == 1).sum()),
        "maps": _maps(model, true, label_explanation),
        **marks,
        "shape": None if shape is None else [int(side) for side in shape],
        "has_baseline": hasattr(model.scaler_, "mean_"),
        "has_huber": model.huber_ is not None,
        "features": used_names.names,
        "has_reasons": has_reasons,
        **explained,
    }


def _predict(
    model: Any, X: Any, Y: Any, sample_names: Any, predictions: Mapping[str, Any], max_samples: int
) -> tuple[_Samples, int]:
    """Validate the labels, draw at most ``max_samples`` samples at random, and predict them.

    Returns also from how many samples they are drawn: those with an observed label.
    """
    n, k = np.shape(X)[0], len(model.components_)
    Y, unobserved = (Y, None) if has_label_lists(Y) else split_unobserved(Y)
    true = _label_matrix(Y, model, "Y", n)
    observed = None if unobserved is None else ~unobserved.toarray()
    if true.shape[1] != k:
        raise ValueError(f"Y must have one column for each of the {k} labels, got {true.shape[1]}.")
    names = None if sample_names is None else check_names(sample_names, "sample_names", n, None)
    compared = {}
    for name, prediction in predictions.items():
        compared[name] = labels = _label_matrix(prediction, model, f"the prediction of {name}", n)
        if labels.shape[1] != k:
            raise ValueError(f"the prediction of {name} must have one column for each label, got {labels.shape[1]}.")
    labelled = np.arange(n) if observed is None else np.flatnonzero(observed.any(axis=1))
    if not labelled.size:
        raise ValueError("Y has no observed label: all entries are NaN, so there is nothing to compare with.")
    if labelled.size > max_samples or labelled.size < n:
        rows = labelled
        if labelled.size > max_samples:
            rows = np.sort(np.random.default_rng(0).choice(labelled, max_samples, replace=False))
        X, true, compared = _rows(X, rows), true[rows], {name: labels[rows] for name, labels in compared.items()}
        observed = None if observed is None else observed[rows]
        names = np.array([f"{i}" for i in rows], dtype=object) if names is None else names[rows]
    if observed is not None:
        compared = {name: labels & observed for name, labels in compared.items()}
    predicted = _label_matrix(model.predict(X), model, "the prediction", len(true))
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64) if hasattr(model, "predict_proba") else None
    return _Samples(X, true, observed, predicted, probabilities, compared, names), labelled.size


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X.tocsr() if issparse(X) else np.asarray(X))[rows]


def _label_matrix(Y: Any, model: Any, name: str, n: int) -> NDArray[np.bool_]:
    """A target in any form that the model accepts, as a boolean matrix."""
    Y = as_label_matrix(Y, model.classes_, name)
    if np.ndim(Y) == 1 and not issparse(Y):
        Y = np.asarray(Y)[:, None] == model.classes_
    return np.asarray(check_labels(Y, n_samples=n, name=name, some_positive=False).toarray(), dtype=bool)


def _changed_parameters(model: Any) -> dict[str, str]:
    """Parameters that differ from their defaults, and the parameters chosen by a search."""
    defaults = type(model)().get_params()
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name != "n_jobs" and repr(value) != repr(defaults[name])
    }
    return {str(name): str(value) for name, value in {**changed, **getattr(model, "best_params_", {})}.items()}


def _statistics(samples: _Samples, n_given: int) -> dict[str, Any]:
    statistics = dataset_statistics(samples.X, samples.true, range(samples.true.shape[1]))
    n_predicted = samples.shown.sum(axis=1)
    by_size = zip_longest(statistics.label_set_sizes, np.bincount(n_predicted).tolist(), fillvalue=0)
    return {
        "n": statistics.n_samples,
        "n_given": n_given,
        "unobserved": 0.0 if samples.observed is None else float((~samples.observed).mean()),
        "p": statistics.n_features,
        "k": statistics.n_labels,
        "cardinality": statistics.cardinality,
        "cardinality_predicted": float(n_predicted.mean()),
        "n_label_sets": statistics.distinct_label_sets,
        "n_labels_without_samples": sum(count == 0 for count in statistics.label_counts.values()),
        "nonzero": statistics.nonzero_share,
        "missing": statistics.missing_share,
        "by_size": [list(pair) for pair in by_size],
    }


def _metric_values(samples: _Samples) -> dict[str, Any]:
    """The metrics, and their values for the model and for the compared methods; what the Hamming loss divides by."""
    observed, (n, k) = samples.observed, samples.true.shape
    return {
        "observed_per_sample": k if observed is None else float(observed.sum() / n),
        "metrics": [
            {"name": name, "title": metric.title, "greater_is_better": metric.greater_is_better}
            for name, metric in metrics.METRICS.items()
        ],
        "values": list(metrics.evaluate(samples.labels, samples.predicted).values()),
        "compared_methods": [
            {"name": name, "values": list(metrics.evaluate(samples.labels, prediction).values())}
            for name, prediction in samples.compared.items()
        ],
    }


def _calibration(samples: _Samples) -> list[list[float]] | None:
    """The calibration of the observed labels."""
    if samples.probabilities is None:
        return None
    on = slice(None) if samples.observed is None else samples.observed
    return calibration_table(samples.true[on], samples.probabilities[on])


def _by_label(true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> list[list[float | None]]:
    """Per label: number of samples, number predicted, precision, recall and F1; None where undefined."""
    columns = zip(*(values.tolist() for values in metrics.evaluate_labels(true, predicted).values()), strict=True)
    return [[None if np.isnan(value) else value for value in row] for row in columns]


def _rank_mistakes(
    true: NDArray[np.bool_], predicted: NDArray[np.bool_], probabilities: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """F1 of each sample, and the indices of the samples with wrong labels, largest mistake first.

    The order is by increasing F1, then by decreasing sum of ``abs(y - p)`` over the wrong labels.
    """
    n_labels = true.sum(axis=1) + predicted.sum(axis=1)
    f1 = np.where(n_labels == 0, 1.0, 2 * (true & predicted).sum(axis=1) / np.maximum(n_labels, 1))
    wrong = true != predicted
    errors = (wrong if probabilities is None else wrong * np.abs(true - probabilities)).sum(axis=1)
    order = np.lexsort((-errors, f1))
    return f1, order[f1[order] < 1]


def _choose_explained(mistakes: NDArray[np.intp], n: int, n_explained: int) -> NDArray[np.intp]:
    """Samples to explain: the largest mistakes, and others drawn at random, which are at least 40 % if possible."""
    others = np.setdiff1d(np.arange(n), mistakes)
    n_others = min(max(n_explained - len(mistakes), n_explained * 2 // 5), len(others))
    largest = mistakes[: max(n_explained - n_others, 0)]
    return np.sort(np.concatenate([largest, np.random.default_rng(0).choice(others, n_others, replace=False)]))


@blas_on_one_thread()
def _explain(
    model: Any,
    samples: _Samples,
    rows: NDArray[np.intp],
    names: dict[str, Any],
    shape: tuple[int, int] | None,
    used_names: FeatureNames,
) -> dict[str, Any]:
    """The explained samples, and the labels of the training samples that are named in them."""
    explained = ExplainedSamples(shape, used_names)
    if not rows.size:
        return {"explained": {}, "training_labels": {}}
    X, true, predicted = _rows(samples.X, rows), samples.true[rows], samples.predicted[rows]
    by_prediction, by_truth = model.explain(X, predicted, **names), model.explain(X, true, **names)
    reasons = model.explain_prediction(X, true | predicted, **names) if hasattr(model, "explain_prediction") else None
    for i, row in enumerate(rows):
        decomposed_truth = None if np.array_equal(true[i], predicted[i]) else by_truth[i]
        explained.add(int(row), by_prediction[i], decomposed_truth, None if reasons is None else reasons[i])
    named = {} if reasons is None else labels_of_training_samples(reasons.terms, explained.named_training_samples())
    return {"explained": explained.samples, "training_labels": named}


def _explain_labels(
    model: Any, samples: _Samples, names: dict[str, Any], used_names: FeatureNames
) -> tuple[LabelExplanation | None, dict[str, Any]]:
    """What marks each label, averaged over some of the samples; None without reasons, or if it would take too long."""
    P = samples.probabilities if hasattr(model, "explain_labels") else None
    rows = choose_samples(samples.X, P)
    if P is None or not rows.size:
        return None, {"marks": None, "n_marking": 0}
    X = _rows(samples.X, rows)
    explanation = model.explain_labels(X, **names)
    return explanation, {"marks": values_of_marks(explanation, X, P[rows], used_names), "n_marking": rows.size}


def _default_feature_names(pipeline: Any, shape: tuple[int, int] | None) -> Any:
    """Pixels by their row and column, if the model itself has no names for them; other features as it knows them."""
    if shape is not None and stored_feature_names(last_step(pipeline)) is None:
        return [f"pixel ({i}, {j})" for i in range(shape[0]) for j in range(shape[1])]
    return known_feature_names(pipeline)


def _maps(model: Any, true: NDArray[np.bool_], explanation: LabelExplanation | None) -> dict[str, Any]:
    """Co-occurrence of the most frequent labels, overlap of their subspaces, and their influence on each other.

    Shares are in 1/1000, influences in 1/100.
    """
    labels = np.sort(np.argsort(-true.sum(axis=0), kind="stable")[:_MAX_MAP_LABELS])
    counts = true[:, labels].T.astype(np.int64) @ true[:, labels].astype(np.int64)
    support = np.diag(counts)
    union = support[:, None] + support - counts
    shares, order = counts / np.maximum(support, 1)[:, None], leaves_of(counts / np.maximum(union, 1))
    angles = label_angles([model.components_[i] for i in labels])
    angle_order = angles.order() if len(labels) > 1 else np.array([0])
    return {
        "cooccurrence": _ordered_map(labels, 1000 * shares, order),
        "subspaces": _ordered_map(labels, 1000 * angles.shared, angle_order),
        "influence": None if explanation is None else _influence_map(labels, explanation.influence, angle_order),
    }


def _influence_map(
    labels: NDArray[np.intp], influence: NDArray[np.float64], order: NDArray[np.intp]
) -> dict[str, Any] | None:
    """What components of labels add to the log-odds of other labels, or None if that is nothing."""
    among = 100 * influence[np.ix_(labels, labels)]
    np.fill_diagonal(among, 0)
    return _ordered_map(labels, among, order) if np.rint(among).any() else None


def _ordered_map(labels: NDArray[np.intp], values: NDArray[np.float64], order: NDArray[np.intp]) -> dict[str, Any]:
    ordered = np.rint(values[np.ix_(order, order)]).astype(np.int64)
    return {"labels": labels[order].tolist(), "values": ordered.tolist()}
