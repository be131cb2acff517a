"""The decompositions of some samples, as JSON values for the page."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.report._packed_labels import encode_base64

_MAX_FEATURES = 10  # with bars, per sample
_MAX_LABELS = 6  # with a colour of their own, per sample; the others are drawn as one part
_MAX_RESIDUALS = 5  # in the table, per sample
_MAX_IMAGE_BYTES = 6 << 20  # of all images together


class ExplainedSamples:
    """Samples decomposed into their predicted and their true labels, and the names of the features shown.

    Parameters
    ----------
    shape : tuple of 2 ints or None
        Height and width of the samples as images.
    """

    def __init__(self, shape: tuple[int, int] | None) -> None:
        self._shape = shape
        self._name_indices: dict[int, int] = {}
        self.feature_names: list[str] = []
        self.samples: dict[int, dict[str, Any]] = {}

    @staticmethod
    def max_samples(n: int, shape: tuple[int, int] | None, labels_per_sample: float) -> int:
        """The number of samples to explain, at most ``n``, such that images do not make the page too large."""
        if shape is None:
            return n
        images_per_sample = 2 * (3 + labels_per_sample)
        return min(n, max(int(_MAX_IMAGE_BYTES / (images_per_sample * shape[0] * shape[1])), 1))

    def add(self, row: int, predicted: Any, true: Any | None) -> None:
        """Add the explanations of a sample; ``true`` is None if the true labels are the predicted ones."""
        values = self._json_values(predicted)
        self.samples[row] = {"predicted": values, "true": None if true is None else self._json_values(true)}

    def _json_values(self, sample: Any) -> dict[str, Any]:
        unit = sample.terms.unit
        order = np.argsort(-np.abs(sample.shares), kind="stable")
        contributions, residual = sample.contributions.astype(np.float64), sample.residual.astype(np.float64)
        own, merged = order[:_MAX_LABELS], order[_MAX_LABELS:]
        parts = [*contributions[own], *([contributions[merged].sum(axis=0)] if merged.size else []), residual]
        values = {
            "labels": sample.labels[order].tolist(),
            "shares": _rounded(sample.shares[order], 5),
            "unique_shares": _rounded(sample.unique_shares[order], 5),
            "residual_share": _rounded([1 - sample.shares.sum()], 5)[0],
            "n_own_parts": len(own),
            "sentences": sample.text().split("\n"),
            "residuals": [
                [self._name_index(entry.feature, entry.name), *_rounded([entry.value, entry.expected]), entry.corrupted]
                for entry in sample.top_residuals(_MAX_RESIDUALS)
            ],
        }
        if self._shape is not None:
            baseline = [] if sample.terms.baseline is None else [sample.baseline.astype(np.float64)]
            return values | _encode_images([sample.sample.astype(np.float64), *baseline, *parts])
        scaled = contributions / unit
        sizes = np.abs(scaled).sum(axis=0) if len(scaled) else np.abs(np.nan_to_num(sample.residual / unit))
        features = np.argsort(-sizes, kind="stable")[:_MAX_FEATURES]
        features = features[sizes[features] > 0]
        names = sample.terms.feature_names
        return values | {
            "features": [self._name_index(int(j), names[j]) for j in features],
            "values": _rounded(sample.sample[features]),
            "parts": [_rounded([part[j] / unit[j] for part in parts]) for j in features],
        }

    def _name_index(self, feature: int, name: Any) -> int:
        """The index of a feature in ``feature_names``, to which it is added on first use."""
        if feature not in self._name_indices:
            self._name_indices[feature] = len(self.feature_names)
            self.feature_names.append(str(name))
        return self._name_indices[feature]


def _encode_images(parts: list[NDArray[np.float64]]) -> dict[str, Any]:
    """Images in steps of 1 / 127 of the largest entry of all; -128 where an entry is missing."""
    values = np.vstack(parts)
    limit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    steps = np.where(np.isnan(values), -128, np.round(127 * np.nan_to_num(values) / limit))
    return {"images": encode_base64(steps, "<i1"), "limit": _rounded([limit])[0]}


def _rounded(values: Any, digits: int = 3) -> list[float | None]:
    """Values with this number of significant digits; None for NaN and infinity, which JSON does not have."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
