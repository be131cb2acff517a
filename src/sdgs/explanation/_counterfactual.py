"""The features whose removal changes whether a label is predicted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs.explanation._label_decision import format_probability

Floats = NDArray[np.float64]
Predict = Callable[[Any], tuple[Floats, NDArray[np.bool_]]]  # samples to log-odds and to whether the label is predicted

_MAX_TRIED = 256  # features that later steps try
_BATCH = 256  # samples that are predicted at a time


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """Features of a sample without which a label would be decided the other way.

    Attributes
    ----------
    label : object
        Name of the label.
    features : ndarray of shape (m,)
        The removed columns, in the order in which they were found.
    feature_names : ndarray of shape (m,)
    flipped : bool
        Whether the removal changes the decision; if not, ``features`` are those whose removal comes closest to it.
    predicted : bool
        Whether the label is predicted for the sample as it is.
    probability, probability_without : float
        The probability of the label for the sample as it is, and without these features.
    replaced_by : {"zero", "mean"}
        What the values of removed features are replaced by.
    sample : ndarray or csr_array of shape (1, p)
        The sample without these features, as it was predicted again.
    """

    label: Any
    features: NDArray[np.intp]
    feature_names: NDArray[Any]
    flipped: bool
    predicted: bool
    probability: float
    probability_without: float
    replaced_by: str
    sample: Any

    def text(self) -> str:
        """The result in one sentence."""
        names, was = ", ".join(map(str, self.feature_names)), "predicted" if self.predicted else "not predicted"
        change = f"p = {format_probability(self.probability)} becomes {format_probability(self.probability_without)}"
        without = f"without {names}"
        if self.replaced_by == "mean":
            several = len(self.features) > 1
            without = f"if {names} had {'their mean values' if several else 'the mean value'}"
        if not self.flipped:
            tried = f" {without[0].upper()}{without[1:]}, {change}." if names else ""
            return f"{self.label} stays {was}: no small set of features was found whose removal changes that.{tried}"
        return f"{self.label} would {'not ' if self.predicted else ''}be predicted {without}: {change}."

    def __repr__(self) -> str:
        return f"<Counterfactual: {self.text()}>"

    def __str__(self) -> str:
        return self.text()


def find_removed_features(
    x: Any, baseline: Floats | None, predict: Predict, max_features: int
) -> tuple[NDArray[np.intp], bool, Any]:
    """Features of the sample ``x`` (1, p) whose removal flips a decision, whether it does, and what is left of x.

    Removed features are set to 0, or to the ``baseline``. Each step removes the feature that changes the log-odds most;
    the first step tries all features, later ones those with the largest effects in the first. The search ends if no
    removal brings the log-odds nearer to the other decision. In the end each removed feature that is not needed is put
    back.
    """
    log_odds, labels = predict(x)
    predicted = bool(labels[0])
    nearest = float(-log_odds[0] if predicted else log_odds[0])

    def effects(removed: list[int], candidates: list[int]) -> tuple[Floats, NDArray[np.bool_]]:
        """How far one more removal moves the log-odds towards the other decision, and whether it flips."""
        parts = []
        for start in range(0, len(candidates), _BATCH):
            batch = candidates[start : start + _BATCH]
            log_odds, labels = predict(_stack([without_features(x, [*removed, f], baseline) for f in batch]))
            parts.append((-log_odds if predicted else log_odds, labels != predicted))
        moved, flips = zip(*parts, strict=True)
        return np.concatenate(moved), np.concatenate(flips)

    candidates, removed, flipped = _present_features(x, baseline), list[int](), False
    while candidates and not flipped and len(removed) < max_features:
        moved, flips = effects(removed, candidates)
        order = np.argsort(-np.where(flips, np.inf, moved), kind="stable")
        if not flips[order[0]] and moved[order[0]] <= nearest:
            break
        nearest = float(moved[order[0]])
        removed.append(candidates[order[0]])
        flipped = bool(flips[order[0]])
        candidates = [candidates[i] for i in order[1 : _MAX_TRIED + 1]]
    if flipped:
        for feature in removed[:-1]:
            fewer = [f for f in removed if f != feature]
            if bool(predict(without_features(x, fewer, baseline))[1][0]) != predicted:
                removed = fewer
    return np.array(removed, dtype=np.intp), flipped, without_features(x, removed, baseline)


def _present_features(x: Any, baseline: Floats | None) -> list[int]:
    """The features that are observed and would change if they were removed."""
    values = x.toarray()[0] if issparse(x) else x[0]
    reference = 0.0 if baseline is None else baseline.astype(values.dtype)
    return [int(f) for f in np.flatnonzero((values != reference) & ~np.isnan(values))]


def without_features(x: Any, features: Any, baseline: Floats | None) -> Any:
    """Samples in which features are 0, or have the values of the ``baseline``."""
    columns = np.asarray(features, dtype=np.intp)
    if issparse(x):
        kept = x.copy()
        kept.data[np.isin(kept.indices, columns)] = 0
        kept.eliminate_zeros()
        return kept
    kept = np.array(x)
    kept[:, columns] = 0 if baseline is None else baseline[columns]
    return kept


def _stack(samples: list[Any]) -> Any:
    if not issparse(samples[0]):
        return np.concatenate(samples)
    from scipy.sparse import vstack

    return csr_array(vstack(samples, format="csr"))
