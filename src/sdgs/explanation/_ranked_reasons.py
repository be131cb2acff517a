"""The strongest reasons of a label: features, components and training samples by what they add to its log-odds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sdgs._utils._validation import check_int

if TYPE_CHECKING:
    from sdgs.explanation._sample_reasons import LogOddsParts, SampleReasons


@dataclass(frozen=True)
class FeatureReason:
    """What a feature adds to the log-odds of a label.

    Attributes
    ----------
    feature : int
        Index of the column.
    name : object
    value : float
        Its value in the sample.
    part : float
        What it adds, directly and through components.
    direct : float
        What it adds directly.
    """

    feature: int
    name: Any
    value: float
    part: float
    direct: float


@dataclass(frozen=True)
class ComponentReason:
    """What the component of a label, found in the sample, adds to the log-odds of a label."""

    label: int
    name: Any
    part: float


@dataclass(frozen=True)
class NeighbourReason:
    """What the similarity to a training sample adds to the log-odds of a label.

    Attributes
    ----------
    sample : int
        Row of the training sample.
    labels : tuple
        The names of its labels.
    similarity : float
        The kernel between both samples, from 0 to 1; the mean over pipelines.
    part : float
    """

    sample: int
    labels: tuple[Any, ...]
    similarity: float
    part: float


def top_features(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int, *, against: bool
) -> tuple[FeatureReason, ...]:
    """See :meth:`SampleReasons.top_features`."""
    total = parts.features[i] + parts.features_through_components[i]
    order = np.argsort(total if against else -total, kind="stable")[: check_int(n, "n", minimum=0)]
    names, values = sample.terms.feature_names, sample.sample
    return tuple(
        FeatureReason(int(f), names[f], float(values[f]), float(total[j]), float(parts.features[i, j]))
        for j, f in zip(order, parts.columns[order], strict=True)
        if (total[j] < 0 if against else total[j] > 0)
    )


def top_components(sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int) -> tuple[ComponentReason, ...]:
    """See :meth:`SampleReasons.top_components`."""
    values, names = parts.components[i], sample.terms.label_names
    order = np.argsort(-np.abs(values), kind="stable")[: check_int(n, "n", minimum=0)]
    return tuple(ComponentReason(int(j), names[j], float(values[j])) for j in order if values[j])


def top_neighbours(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int, *, against: bool | None = None
) -> tuple[NeighbourReason, ...]:
    """See :meth:`SampleReasons.top_neighbours`."""
    values, terms = parts.neighbours[i], sample.terms
    if against is not None:
        values = np.where((values < 0) == against, values, 0.0)
    order = np.argsort(-np.abs(values), kind="stable")[: check_int(n, "n", minimum=0)]
    return tuple(
        NeighbourReason(
            int(terms.training_samples[j]),
            tuple(terms.label_names[terms.training_labels[j]]),
            float(parts.similarities[j]),
            float(values[j]),
        )
        for j in order
        if values[j]
    )
