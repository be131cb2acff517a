"""Some samples taken apart, as plain values for the page."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.report._packed_labels import as_text

_FEATURES = 10  # of a sample that are drawn
_LABELS = 6  # of a sample that have a colour of their own; the others are one part
_RESIDUALS = 5
_IMAGE_BYTES = 6 << 20  # of all images together


class ExplainedSamples:
    """Samples taken apart into predicted and into true labels, and the names of the features that they mention.

    Parameters
    ----------
    shape : tuple of 2 ints or None
        Height and width of the image that a sample is.
    """

    def __init__(self, shape: tuple[int, int] | None) -> None:
        self._shape = shape
        self._places: dict[int, int] = {}
        self.feature_names: list[str] = []
        self.samples: dict[int, dict[str, Any]] = {}

    @staticmethod
    def most(n: int, shape: tuple[int, int] | None, labels_a_sample: float) -> int:
        """How many of ``n`` samples are to be taken apart, so that images do not make the page too large."""
        if shape is None:
            return n
        images = 2 * (3 + labels_a_sample)
        return min(n, max(int(_IMAGE_BYTES / (images * shape[0] * shape[1])), 1))

    def add(self, row: int, predicted: Any, true: Any | None) -> None:
        """Add the explanations of a sample; ``true`` is None where the true labels are the predicted ones."""
        self.samples[row] = {"predicted": self._plain(predicted), "true": None if true is None else self._plain(true)}

    def _plain(self, sample: Any) -> dict[str, Any]:
        unit = sample.terms.unit
        order = np.argsort(-np.abs(sample.shares), kind="stable")
        parts, baseline = sample.contributions.astype(np.float64), sample.baseline.astype(np.float64)
        own, others = order[:_LABELS], order[_LABELS:]
        shown = [*parts[own], *([parts[others].sum(axis=0)] if others.size else []), sample.residual.astype(np.float64)]
        plain = {
            "labels": sample.labels[order].tolist(),
            "shares": _short(sample.shares[order], 5),
            "unique": _short(sample.unique_shares[order], 5),
            "rest": _short([1 - sample.shares.sum()], 5)[0],
            "own": len(own),
            "words": sample.text().split("\n"),
            "odd": [
                [self._place(entry.feature, entry.name), *_short([entry.value, entry.expected]), entry.corrupted]
                for entry in sample.top_residuals(_RESIDUALS)
            ],
        }
        if self._shape is not None:
            with_baseline = [baseline] if sample.terms.baseline is not None else []
            return plain | _images([sample.sample.astype(np.float64), *with_baseline, *shown])
        sizes = np.abs(parts / unit).sum(axis=0) if len(parts) else np.abs(np.nan_to_num(sample.residual / unit))
        features = np.argsort(-sizes, kind="stable")[:_FEATURES]
        features = features[sizes[features] > 0]
        names = sample.terms.feature_names
        return plain | {
            "features": [self._place(int(j), names[j]) for j in features],
            "values": _short(sample.sample[features]),
            "parts": [_short([part[j] / unit[j] for part in shown]) for j in features],
        }

    def _place(self, feature: int, name: Any) -> int:
        if feature not in self._places:
            self._places[feature] = len(self.feature_names)
            self.feature_names.append(str(name))
        return self._places[feature]


def _images(parts: list[NDArray[np.float64]]) -> dict[str, Any]:
    """Images in steps of 1 / 127 of the largest entry of all; -128 where it is missing."""
    values = np.vstack(parts)
    limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    steps = np.where(np.isnan(values), -128, np.round(127 * np.nan_to_num(values) / limit))
    return {"images": as_text(steps, "<i1"), "limit": _short([limit])[0]}


def _short(values: Any, digits: int = 3) -> list[float | None]:
    """So many digits of each; None for NaN and infinity, which JSON does not have."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
