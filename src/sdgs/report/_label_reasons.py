"""The reasons of the labels of a sample, as JSON values for the page."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs.explanation import LogOddsParts, PredictionTerms, SampleReasons
from sdgs.explanation._reason_formatting import (
    deciding_reasons,
    named_components,
    named_features,
    named_neighbours,
)
from sdgs.report._page_values import FeatureNames, encode_images, rounded

_MAX_NAMES = 5  # features for a label, features against it, and components
_MAX_NEIGHBOURS = 3  # training samples for a label, and against it
_MAX_NAMED_IN_SENTENCE = 3  # features
_DECIMALS = 3  # of log-odds: the page shows two


def values_of_reasons(
    sample: SampleReasons, names: FeatureNames, shape: tuple[int, int] | None
) -> list[dict[str, Any]]:
    """Per explained label: its log-odds as a sum of kinds, the reasons with names, and the decision."""
    parts = sample.parts()
    return [_values_of_label(sample, parts, i, names, shape) for i in range(sample.labels.size)]


def _values_of_label(
    sample: SampleReasons, parts: LogOddsParts, i: int, names: FeatureNames, shape: tuple[int, int] | None
) -> dict[str, Any]:
    total = parts.features[i] + parts.features_through_components[i]
    features = [
        reason for against in (False, True) for reason in named_features(sample, parts, i, _MAX_NAMES, against=against)
    ]
    neighbours = [
        reason
        for against in (False, True)
        for reason in named_neighbours(sample, parts, i, _MAX_NEIGHBOURS, against=against)
    ]
    because = deciding_reasons(sample, parts, i, _MAX_NAMED_IN_SENTENCE)
    components = named_components(sample, parts, i, _MAX_NAMES)
    for reasons in (features, neighbours, components):
        reasons.sort(key=lambda reason: -reason.part)
    sums = parts.base[i], parts.features[i].sum(), parts.components[i].sum(), parts.neighbours[i].sum()
    values = {
        "label": int(sample.labels[i]),
        "predicted": bool(sample.predicted[i]),
        "log_odds": round(float(sample.log_odds[i]), _DECIMALS),
        "sums": [round(float(value), _DECIMALS) for value in sums],  # base, features, components, training samples
        "features": [
            [
                names.position(reason.feature, reason.name),
                sample.value_word(reason.feature),
                *rounded([reason.value, reason.part]),
            ]
            for reason in features
        ],
        "because": [
            [names.position(reason.feature, reason.name), sample.value_word(reason.feature)]
            for reason in because.features
        ],
        "because_of_neighbours": because.neighbours != 0,
        "other_features": _others(total, [reason.part for reason in features]),
        "components": [[reason.label, *rounded([reason.part])] for reason in components],
        "neighbours": [[reason.sample, *rounded([reason.similarity, reason.part])] for reason in neighbours],
        "other_neighbours": _others(parts.neighbours[i], [reason.part for reason in neighbours]),
        "decision": sample.decision(i).text(),
    }
    if shape is None:
        return values
    image = np.where(np.isnan(sample.sample), np.nan, 0.0)
    image[parts.columns] = total
    return values | encode_images([image])


def _others(parts: NDArray[np.float64], named: list[float]) -> list[Any]:
    """The number and the sum of the parts that are not zero and not named."""
    return [int(np.count_nonzero(parts)) - len(named), round(float(parts.sum()) - sum(named), _DECIMALS)]


def labels_of_training_samples(terms: PredictionTerms, rows: Iterable[int]) -> dict[int, list[int]]:
    """The labels of training samples that are landmarks."""
    positions = {row: int(np.searchsorted(terms.training_samples, row)) for row in sorted(set(rows))}
    return {row: np.flatnonzero(terms.training_labels[i]).tolist() for row, i in positions.items()}
