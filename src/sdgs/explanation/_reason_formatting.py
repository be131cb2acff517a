"""Reasons of predictions as sentences, as DataFrames, and as HTML for notebooks."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sdgs._utils._validation import check_choice, check_int
from sdgs.explanation._formatting import MIN_SHARE
from sdgs.explanation._label_decision import format_probability
from sdgs.explanation._ranked_reasons import (
    ComponentReason,
    FeatureReason,
    NeighbourReason,
    top_components,
    top_features,
    top_neighbours,
)

if TYPE_CHECKING:
    from sdgs.explanation._prediction_explanation import PredictionExplanation
    from sdgs.explanation._sample_reasons import LogOddsParts, SampleReasons

_MINUS = "\N{MINUS SIGN}"


def describe_reasons(sample: "SampleReasons", unit: str, max_names: int, first_sample: int) -> str:
    """The reasons of all explained labels of a sample: one line per label, followed by indented lines."""
    if not sample.labels.size:
        state = "explained" if sample.is_any_predicted else "predicted"
        return f"No label is {state}. Pass labels to explain why one is not predicted."
    parts = sample.parts()
    order = np.argsort(-sample.probabilities, kind="stable")
    return "\n".join("\n  ".join(_sentences(sample, parts, int(i), unit, max_names, first_sample)) for i in order)


def _sentences(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, unit: str, max_names: int, first_sample: int
) -> Iterator[str]:
    is_predicted = bool(sample.predicted[i])
    verb = "is predicted" if is_predicted else "is not predicted"
    title = f"{sample.label_names[i]} {verb} (p = {format_probability(sample.probabilities[i])})"
    deciding = deciding_reasons(sample, parts, i, max_names)
    because = [f"the {unit} {_enumerate(sample, deciding.features)}"] if deciding.features else []
    if deciding.neighbours:
        because.insert(0, f"similar training samples ({signed(deciding.neighbours)} together)")
    if because:
        yield f"{title} because of {' and '.join(because)}."
    else:
        yield f"{title}: too little speaks {'against' if is_predicted else 'for'} it."
    for against in (is_predicted,) if because else (False, True):
        features = named_features(sample, parts, i, (max_names + 1) // 2, against=against)
        if features:
            yield f"{'Against' if against else 'For'} it: {_enumerate(sample, features)}."
    yield f"{_sum_of_kinds(sample, parts, i)}."
    for against in (not is_predicted, is_predicted):
        neighbours = named_neighbours(sample, parts, i, (max_names + 1) // 2, against=against)
        if neighbours:
            names = ", ".join(_neighbour(neighbour, first_sample) for neighbour in neighbours)
            yield f"Similar training samples {'against' if against else 'for'} it: {names}."
    components = named_components(sample, parts, i, max_names)
    if components:
        names = ", ".join(f"{component.name} {signed(component.part)}" for component in components)
        yield f"Components of labels found in the sample: {names}."
    yield sample.decision(i).text()


class DecidingReasons(NamedTuple):
    """What a label is predicted, or not predicted, because of; nothing if it is decided by its base."""

    features: list[FeatureReason]
    neighbours: float  # what all similar training samples add together; 0 if they are no reason


def deciding_reasons(sample: "SampleReasons", parts: "LogOddsParts", i: int, max_names: int) -> DecidingReasons:
    """The reasons of the decision on a label, with at most ``max_names`` features.

    A label that is predicted has reasons if together they raise its log-odds. One that is not predicted, as most are
    not, has reasons if it would be predicted without all that speaks against it.
    """
    is_predicted = bool(sample.predicted[i])
    by_feature = parts.features[i] + parts.features_through_components[i]
    by_neighbours = float(parts.neighbours[i].sum())
    decisive = float(by_feature[(by_feature > 0) == is_predicted].sum())
    neighbours_agree = by_neighbours != 0 and (by_neighbours > 0) == is_predicted
    if neighbours_agree:
        decisive += by_neighbours
    is_raised = is_predicted and by_neighbours + float(by_feature.sum()) > 0
    if not is_raised and sample.is_predicted_without(i, decisive) == is_predicted:
        return DecidingReasons([], 0.0)
    features = named_features(sample, parts, i, max_names, against=not is_predicted)
    is_named = neighbours_agree and (not features or abs(by_neighbours) > abs(by_feature.sum()))
    return DecidingReasons(features, by_neighbours if is_named else 0.0)


def named_features(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int, *, against: bool
) -> list[FeatureReason]:
    """The features to name for or against a label: those with a tenth of the strongest part of either sign."""
    least = MIN_SHARE * _largest_feature(parts, i)
    return [reason for reason in top_features(sample, parts, i, n, against=against) if abs(reason.part) >= least]


def named_components(sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int) -> list[ComponentReason]:
    """The components to name: those with a tenth of the strongest, if that has a tenth of the strongest feature."""
    components: list[ComponentReason] = strongest(top_components(sample, parts, i, n))
    least = MIN_SHARE * _largest_feature(parts, i)
    return components if components and abs(components[0].part) >= least else []


def named_neighbours(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, n: int, *, against: bool
) -> list[NeighbourReason]:
    """The training samples to name for or against a label: those with a tenth of the strongest."""
    return strongest(top_neighbours(sample, parts, i, n, against=against))


def strongest(reasons: Sequence[Any]) -> list[Any]:
    """Those with at least a tenth of the part of the first one."""
    return [reason for reason in reasons if abs(reason.part) >= MIN_SHARE * abs(reasons[0].part)]


def _largest_feature(parts: "LogOddsParts", i: int) -> float:
    total = parts.features[i] + parts.features_through_components[i]
    return float(np.abs(total).max(initial=0.0))


def _enumerate(sample: "SampleReasons", reasons: Iterable[FeatureReason]) -> str:
    return ", ".join(f"{sample.feature_title(reason.feature)} ({signed(reason.part)})" for reason in reasons)


def _neighbour(neighbour: NeighbourReason, first_sample: int) -> str:
    labels = ", ".join(map(str, neighbour.labels)) or "no label"
    return f"{first_sample + neighbour.sample} ({labels}) {signed(neighbour.part)}"


def _sum_of_kinds(sample: "SampleReasons", parts: "LogOddsParts", i: int) -> str:
    """The log-odds as a sum with one term per kind of reason."""
    direct, components = float(parts.features[i].sum()), float(parts.components[i].sum())
    terms = [f"{_number(sample.log_odds[i])} = {_number(parts.base[i])} base"]
    if parts.features[i].any() or not parts.neighbours.shape[1]:
        terms.append(f"{_signed_term(direct)} features")
    if parts.components[i].any():
        terms.append(f"{_signed_term(components)} components of labels")
    if parts.neighbours.shape[1]:
        terms.append(f"{_signed_term(float(parts.neighbours[i].sum()))} similar training samples")
    return "Log-odds " + " ".join(terms)


def signed(value: float) -> str:
    """A number with its sign and two digits."""
    return f"{_sign(value)}{f'{abs(value):.2g}' if abs(value) < 9.95 else f'{abs(value):.0f}'}"


def _signed_term(value: float) -> str:
    return f"{_sign(value)} {abs(value):.2f}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", _MINUS)


def _sign(value: float) -> str:
    return "+" if value >= 0 else _MINUS


def reasons_frame(explanation: "PredictionExplanation", by: str, max_reasons: int | None) -> Any:
    """See :meth:`PredictionExplanation.to_frame`."""
    check_choice(by, "by", ("feature", "component", "label"))
    if max_reasons is not None:
        check_int(max_reasons, "max_reasons", minimum=1)
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas.") from None

    rows = []
    for sample in explanation:
        parts = sample.parts()
        for i, label in enumerate(sample.label_names):
            if by == "label":
                rows.append((sample.name, label, *_label_row(sample, parts, i)))
            else:
                rows += [(sample.name, label, *row) for row in _part_rows(sample, parts, i, by, max_reasons)]
    columns = {
        "feature": ["sample", "label", "kind", "name", "direct", "through_components", "part"],
        "component": ["sample", "label", "kind", "name", "part"],
        "label": ["sample", "label", "probability", "log_odds", "predicted", *_KINDS, "decision"],
    }[by]
    return pd.DataFrame(rows, columns=columns)


_KINDS = ("base", "features", "components", "neighbours")


def _label_row(sample: "SampleReasons", parts: "LogOddsParts", i: int) -> tuple[Any, ...]:
    sums = (float(part[i].sum()) for part in (parts.features, parts.components, parts.neighbours))
    numbers = float(sample.probabilities[i]), float(sample.log_odds[i]), bool(sample.predicted[i])
    return (*numbers, float(parts.base[i]), *sums, sample.decision(i).text())


def _part_rows(
    sample: "SampleReasons", parts: "LogOddsParts", i: int, by: str, max_reasons: int | None
) -> Iterator[tuple[Any, ...]]:
    names, terms = sample.terms.feature_names[parts.columns], sample.terms
    direct, through = parts.features[i], parts.features_through_components[i]
    neighbours = _largest(parts.neighbours[i], max_reasons)
    if by == "feature":
        yield "base", None, parts.base[i], 0.0, parts.base[i]
        for j in _largest(direct + through, max_reasons):
            yield "feature", names[j], direct[j], through[j], direct[j] + through[j]
        for j in neighbours:
            part = parts.neighbours[i, j]
            yield "neighbour", terms.training_samples[j], part, 0.0, part
        return
    yield "base", None, parts.base[i]
    for kind, values, of_kind in (("feature", direct, names), ("component", parts.components[i], terms.label_names)):
        for j in _largest(values, max_reasons):
            yield kind, of_kind[j], values[j]
    for j in neighbours:
        yield "neighbour", terms.training_samples[j], parts.neighbours[i, j]


def _largest(values: Any, n: int | None) -> Any:
    """The positions of values that are not zero, the ``n`` largest magnitudes if n is not None, in order."""
    positions = np.flatnonzero(values)
    if n is None or positions.size <= n:
        return positions
    order = np.argsort(-np.abs(values[positions]), kind="stable")[:n]
    return np.sort(positions[order])


def reasons_html(samples: Sequence["SampleReasons"], n_more: int) -> str:
    """The table that a notebook shows."""
    titles = ("sample", "label", "probability", "predicted", "for it", "against it", "decision")
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(row for sample in samples for row in _html_rows(sample))
    more = f"<p>... and {n_more} more samples.</p>" if n_more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _html_rows(sample: "SampleReasons") -> Iterator[str]:
    parts = sample.parts()
    for position, i in enumerate(np.argsort(-sample.probabilities, kind="stable").tolist()):
        predicted = bool(sample.predicted[i])
        sides = (named_features(sample, parts, i, 5, against=against) for against in (False, True))
        cells = (
            sample.name if position == 0 else "",
            sample.label_names[i],
            format_probability(sample.probabilities[i]),
            "yes" if predicted else "no",
            *(_enumerate(sample, side) for side in sides),
            sample.decision(i).text(),
        )
        yield "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
