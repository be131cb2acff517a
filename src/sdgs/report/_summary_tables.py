"""Small tables of the page: what the model uses, F1 over labels, and calibration."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.metrics import evaluate_labels

# Attributes of fitted models, and what they are called on the page.
_CHOSEN = {
    "scaling_": "scaling",
    "penalty_": "ridge penalty",
    "gamma_": "kernel (gamma)",
    "huber_": "weight of the residual (huber)",
    "n_components_": "dimension of subspaces",
    "alpha_": "weight of the group penalty (alpha)",
    "read_from_": "labels are read from",
}
_MISSING_VALUES = {"gamma_": "none", "huber_": "none", "scaling_": "none"}
_N_BINS = 10


def chosen_parameters(model: Any) -> dict[str, str]:
    """What a fitted model uses, in words."""
    chosen = {}
    for attribute, title in _CHOSEN.items():
        if hasattr(model, attribute):
            value = getattr(model, attribute)
            value = ", ".join(value) if isinstance(value, tuple) else value
            chosen[title] = _MISSING_VALUES.get(attribute, "-") if value is None else str(value)
    return chosen


def f1_over_labels(true: NDArray[np.bool_], predictions: Sequence[NDArray[np.bool_]]) -> dict[str, list[float | None]]:
    """Micro and macro F1 of each prediction; None if not defined.

    Labels that no sample has and that are never predicted have no F1, and are left out of the mean.
    """
    micro, macro = list[float | None](), list[float | None]()
    for predicted in predictions:
        total = int(true.sum() + predicted.sum())
        micro.append(2 * int((true & predicted).sum()) / total if total else None)
        by_label = evaluate_labels(true, predicted)["f1"]
        macro.append(None if np.isnan(by_label).all() else float(np.nanmean(by_label)))
    return {"Micro F1": micro, "Macro F1": macro}


def calibration_table(true: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> list[list[float]]:
    """For each tenth of the probabilities: its ends in percent, the number of entries, their mean, the true share."""
    bins = np.minimum((probabilities * _N_BINS).astype(int), _N_BINS - 1).ravel()
    counts = np.bincount(bins, minlength=_N_BINS)
    means = np.bincount(bins, probabilities.ravel(), _N_BINS) / np.maximum(counts, 1)
    shares = np.bincount(bins, true.ravel(), _N_BINS) / np.maximum(counts, 1)
    step = 100 // _N_BINS
    return [
        [step * i, step * (i + 1), int(counts[i]), float(means[i]), float(shares[i])]
        for i in np.flatnonzero(counts).tolist()
    ]
