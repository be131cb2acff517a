"""What marks each label, as JSON values for the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs.explanation import LabelExplanation, MeanReason
from sdgs.explanation._reason_formatting import strongest
from sdgs.report._json_values import FeatureNames, rounded

_MAX_FEATURES = 8  # per label
_MIN_PART = 0.005  # of log-odds: less is shown as 0.00
_MAX_SAMPLES = 300
_MIN_SAMPLES = 20
_MAX_PARTS = 10**8  # of the log-odds of all labels of these samples together


def choose_samples(X: Any, probabilities: NDArray[np.float64] | None) -> NDArray[np.intp]:
    """Samples to average over: the most probable one of each label, and others drawn at random.

    None if there are no probabilities, or if so many labels and features would take too long.
    """
    if probabilities is None:
        return np.empty(0, dtype=np.intp)
    n, k = probabilities.shape
    n_features = X.nnz / max(n, 1) if issparse(X) else np.shape(X)[1]
    size = min(int(_MAX_PARTS / (k * (k + n_features))), _MAX_SAMPLES)
    if size < _MIN_SAMPLES:
        return np.empty(0, dtype=np.intp)
    most_probable = np.unique(probabilities.argmax(axis=0))[:size]
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(n), most_probable))
    return np.sort(np.concatenate([most_probable, others[: size - len(most_probable)]]))


def values_of_marks(explanation: LabelExplanation, names: FeatureNames) -> list[dict[str, Any]]:
    """Per label the features that mark it, and the labels whose components speak for it and against it."""
    return [
        {
            "features": [
                [names.position(reason.index, reason.name), *rounded([reason.part])]
                for reason in _named(explanation.top_features(label, _MAX_FEATURES))
            ],
            "labels_for": _label_parts(explanation.top_labels(label)),
            "labels_against": _label_parts(explanation.top_labels(label, against=True)),
        }
        for label in range(explanation.terms.label_names.size)
    ]


def _label_parts(reasons: Sequence[MeanReason]) -> list[list[Any]]:
    return [[reason.index, *rounded([reason.part])] for reason in _named(reasons)]


def _named(reasons: Sequence[MeanReason]) -> list[MeanReason]:
    return [reason for reason in strongest(reasons) if abs(reason.part) >= _MIN_PART]
