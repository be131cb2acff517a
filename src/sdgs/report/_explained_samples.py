"""The reasons of predictions and the decompositions of some samples, as JSON values for the page."""

from typing import Any

import numpy as np

from sdgs.explanation import SampleReasons
from sdgs.report._json_values import FeatureNames, encode_images, rounded
from sdgs.report._label_reasons import values_of_reasons

_MAX_FEATURES = 10  # with bars, per sample
_MAX_LABELS = 6  # with a colour of their own, per sample; the others are drawn as one part
_MAX_RESIDUALS = 5  # in the table, per sample
_MAX_IMAGE_BYTES = 6 << 20  # of all images together
_MAX_REASONS = 6000  # labels with reasons, of all samples together


class ExplainedSamples:
    """Samples with the reasons of their labels, decomposed into their predicted and into their true labels.

    Parameters
    ----------
    shape : tuple of 2 ints or None
        Height and width of the samples as images.
    names : FeatureNames
        Gets the names of the features shown.
    """

    def __init__(self, shape: tuple[int, int] | None, names: FeatureNames) -> None:
        self._shape = shape
        self._names = names
        self.samples: dict[int, dict[str, Any]] = {}

    @staticmethod
    def max_samples(n: int, shape: tuple[int, int] | None, labels_per_sample: float, *, has_reasons: bool) -> int:
        """The number of samples to explain, at most ``n``, such that the page does not become too large."""
        if has_reasons:
            n = min(n, max(int(_MAX_REASONS / max(labels_per_sample, 1)), 1))
        if shape is None:
            return n
        images_per_sample = 2 * (3 + labels_per_sample) + has_reasons * labels_per_sample
        return min(n, max(int(_MAX_IMAGE_BYTES / (images_per_sample * shape[0] * shape[1])), 1))

    def add(self, row: int, predicted: Any, true: Any | None, reasons: SampleReasons | None) -> None:
        """Add the explanations of a sample; ``true`` is None if the true labels are the predicted ones."""
        self.samples[row] = {
            "reasons": [] if reasons is None else values_of_reasons(reasons, self._names, self._shape),
            "predicted": self._decomposition(predicted),
            "true": None if true is None else self._decomposition(true),
        }

    def named_training_samples(self) -> set[int]:
        """The training samples that are named as reasons."""
        reasons = (reason for sample in self.samples.values() for reason in sample["reasons"])
        return {row for reason in reasons for row, *_ in reason["neighbours"]}

    def _decomposition(self, sample: Any) -> dict[str, Any]:
        unit = sample.terms.unit
        order = np.argsort(-np.abs(sample.shares), kind="stable")
        contributions, residual = sample.contributions.astype(np.float64), sample.residual.astype(np.float64)
        own, merged = order[:_MAX_LABELS], order[_MAX_LABELS:]
        parts = [*contributions[own], *([contributions[merged].sum(axis=0)] if merged.size else []), residual]
        values = {
            "labels": sample.labels[order].tolist(),
            "shares": rounded(sample.shares[order], 5),
            "unique_shares": rounded(sample.unique_shares[order], 5),
            "residual_share": rounded([1 - sample.shares.sum()], 5)[0],
            "n_own_parts": len(own),
            "sentences": sample.text().split("\n"),
            "residuals": [
                [
                    self._names.position(entry.feature, entry.name),
                    *rounded([entry.value, entry.expected]),
                    entry.corrupted,
                ]
                for entry in sample.top_residuals(_MAX_RESIDUALS)
            ],
        }
        if self._shape is not None:
            baseline = [] if sample.terms.baseline is None else [sample.baseline]
            return values | encode_images([sample.sample, *baseline, *parts])
        scaled = contributions / unit
        sizes = np.abs(scaled).sum(axis=0) if len(scaled) else np.abs(np.nan_to_num(sample.residual / unit))
        features = np.argsort(-sizes, kind="stable")[:_MAX_FEATURES]
        features = features[sizes[features] > 0]
        names = sample.terms.feature_names
        return values | {
            "features": [self._names.position(int(j), names[j]) for j in features],
            "values": rounded(sample.sample[features]),
            "parts": [rounded([part[j] / unit[j] for part in parts]) for j in features],
        }
