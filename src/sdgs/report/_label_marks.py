"""What marks each label, as JSON values for the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs.explanation import LabelExplanation, MeanReason
from sdgs.explanation._reason_formatting import strongest
from sdgs.report._page_values import FeatureNames, rounded

_MAX_FEATURES = 8  # per label
_MIN_PART = 0.005  # of log-odds: less is shown as 0.00
_MAX_SAMPLES = 200
_MIN_SAMPLES = 20
_MAX_PARTS = 10**8  # of the log-odds of all labels of these samples together
_MAX_MEANS = 2 * 10**7  # labels times features


def choose_samples(X: Any, probabilities: NDArray[np.float64] | None) -> NDArray[np.intp]:
    """Samples to average over: the most probable one of each label, and others drawn at random.

    None if there are no probabilities, or if so many labels and features would take too long.
    """
    if probabilities is None:
        return np.empty(0, dtype=np.intp)
    n, k = probabilities.shape
    n_features = X.nnz / max(n, 1) if issparse(X) else np.shape(X)[1]
    size = min(int(_MAX_PARTS / (k * (k + n_features))), _MAX_SAMPLES)
    if size < _MIN_SAMPLES or k * np.shape(X)[1] > _MAX_MEANS:
        return np.empty(0, dtype=np.intp)
    most_probable = np.unique(probabilities.argmax(axis=0))[:size]
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(n), most_probable))
    return np.sort(np.concatenate([most_probable, others[: size - len(most_probable)]]))


def values_of_marks(
    explanation: LabelExplanation, X: Any, probabilities: NDArray[np.float64], names: FeatureNames
) -> list[dict[str, Any]]:
    """Per label the features that mark it, and the labels whose components speak for it and against it.

    X (n, p) are the samples that the explanation is about.
    """
    differences = _mean_differences(X, probabilities)
    high = "" if explanation.terms.baseline is None else "high"
    return [
        {
            "features": [
                [
                    names.position(reason.index, reason.name),
                    "low" if differences[label, reason.index] < 0 else high,
                    *rounded([reason.part]),
                ]
                for reason in _named(explanation.top_features(label, _MAX_FEATURES))
            ],
            "labels_for": _label_parts(explanation.top_labels(label)),
            "labels_against": _label_parts(explanation.top_labels(label, against=True)),
        }
        for label in range(explanation.terms.label_names.size)
    ]


def _mean_differences(X: Any, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of each feature over samples with each label, minus the mean over all samples, (k, p)."""
    total = np.maximum(probabilities.sum(axis=0), np.finfo(np.float64).tiny)
    weights = probabilities / total - 1 / len(probabilities)
    if issparse(X):
        return np.asarray((X.T @ weights).T)
    values = np.asarray(X, dtype=np.float64)
    is_missing = np.isnan(values)
    means = np.nan_to_num(values).sum(axis=0) / np.maximum((~is_missing).sum(axis=0), 1)
    return np.asarray(weights.T @ np.where(is_missing, means, values))


def _label_parts(reasons: Sequence[MeanReason]) -> list[list[Any]]:
    return [[reason.index, *rounded([reason.part])] for reason in _named(reasons)]


def _named(reasons: Sequence[MeanReason]) -> list[MeanReason]:
    return [reason for reason in strongest(reasons) if abs(reason.part) >= _MIN_PART]
