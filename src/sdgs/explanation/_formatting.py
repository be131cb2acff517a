"""Explanations as sentences, as DataFrames, and as HTML for notebooks."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sdgs._utils._validation import check_choice, check_int

if TYPE_CHECKING:
    from sdgs.explanation._explanation import Explanation
    from sdgs.explanation._sample_explanation import SampleExplanation

MIN_SHARE = 0.1  # of the strongest feature or reason; weaker ones are not named
_MAX_NAMED_ENTRIES = 3  # corrupted or missing entries that a sentence names


def describe_sample(sample: "SampleExplanation", unit: str, max_names: int) -> str:
    """One sample in sentences, one per line."""
    by_share = np.argsort(-sample.shares, kind="stable")
    if not by_share.size:
        lines = ["There is no label into which the sample could be decomposed."]
    elif not np.any(np.nan_to_num(sample.sample - sample.baseline)):
        lines = ["No observed entry of the sample differs from the baseline."]
    else:
        lines = [_describe_label(sample, int(i), unit, max_names) for i in by_share if _explains_something(sample, i)]
        lines.append(f"{_percent(1 - float(sample.shares.sum()))} of the sample is not explained.")
    if sample.corrupted is not None and sample.corrupted.size:
        n = sample.corrupted.size
        entries = [
            f"{entry.name} is {entry.value:.3g}, expected {entry.expected:.3g}"
            for entry in sample.top_residuals(min(n, _MAX_NAMED_ENTRIES))
        ]
        lines.append(f"{_count_corrupted(n)}: {'; '.join(entries)}{_and_more(n)}.")
    if sample.missing.size:
        n, names, expected = sample.missing.size, sample.terms.feature_names, sample.expected
        entries = [f"{names[j]}, expected {expected[j]:.3g}" for j in sample.missing[:_MAX_NAMED_ENTRIES]]
        lines.append(f"{n} {'entries are' if n > 1 else 'entry is'} missing: {'; '.join(entries)}{_and_more(n)}.")
    return "\n".join(lines)


def to_frame(explanation: "Explanation", by: str, max_features: int | None) -> Any:
    """See :meth:`Explanation.to_frame`."""
    check_choice(by, "by", ("feature", "label"))
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas.") from None

    if by == "label":
        columns = ["sample", "label", "probability", "share", "unique_share"]
        return pd.DataFrame([row for sample in explanation for row in _label_rows(sample)], columns=columns)
    if max_features is not None:
        check_int(max_features, "max_features", minimum=1)
    feature_names, blocks = explanation.terms.feature_names, []
    for sample in explanation:
        parts = [("label", name, part) for name, part in zip(sample.label_names, sample.contributions, strict=True)]
        if sample.terms.baseline is not None:
            parts.append(("baseline", None, sample.baseline))
        parts.append(("residual", None, sample.residual))
        for kind, label, part in parts:
            features = np.arange(part.size)
            if max_features is not None:
                features = np.argsort(-np.abs(part), kind="stable")[:max_features]
            n = features.size
            # The same dtype, whether labels are numbers, strings or None.
            labels = pd.Series([label] * n, dtype=object)
            block = {"sample": [sample.name] * n, "part": kind, "label": labels, "feature": feature_names[features]}
            blocks.append(pd.DataFrame({**block, "contribution": part[features]}))
    columns = ["sample", "part", "label", "feature", "contribution"]
    return pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=columns)


def html_table(samples: Sequence["SampleExplanation"], n_more: int) -> str:
    """The table that a notebook shows."""
    titles = ("sample", "label", "probability", "share explained", "mainly in")
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(row for sample in samples for row in _html_rows(sample))
    more = f"<p>... and {n_more} more samples.</p>" if n_more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _html_rows(sample: "SampleExplanation") -> Iterator[str]:
    for i, label in enumerate(sample.label_names):
        probability = "" if sample.probabilities is None else f"{sample.probabilities[i]:.2f}"
        features = ", ".join(_feature_title(sample, j) for j in _named_columns(sample, i, 5))
        yield _html_row(sample.name if i == 0 else "", label, probability, _percent(sample.shares[i]), features)
    note = ""
    if sample.corrupted is not None and sample.corrupted.size:
        n = sample.corrupted.size
        names = ", ".join(str(entry.name) for entry in sample.top_residuals(min(n, _MAX_NAMED_ENTRIES)))
        note = f"{_count_corrupted(n)}: {names}{_and_more(n)}"
    name = "" if sample.labels.size else sample.name
    yield _html_row(name, "residual", "", _percent(1 - sample.shares.sum()), note)


def _html_row(*cells: Any) -> str:
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"


def _label_rows(sample: "SampleExplanation") -> Iterator[tuple[Any, ...]]:
    probabilities = np.full(sample.labels.size, np.nan) if sample.probabilities is None else sample.probabilities
    for row in zip(sample.label_names, probabilities, sample.shares, sample.unique_shares, strict=True):
        yield (sample.name, *row)


def _label_title(sample: "SampleExplanation", i: int) -> str:
    name = str(sample.label_names[i])
    return name if sample.probabilities is None else f"{name} (p = {sample.probabilities[i]:.2f})"


def _explains_something(sample: "SampleExplanation", i: int) -> bool:
    """Whether the share of a label is above 0 % as it is printed; a label may only cancel parts of others."""
    return round(100 * float(sample.shares[i])) > 0


def _describe_label(sample: "SampleExplanation", i: int, unit: str, max_names: int) -> str:
    features = ", ".join(_feature_title(sample, j) for j in _named_columns(sample, i, max_names))
    share = _percent(sample.shares[i])
    return f"{_label_title(sample, i)} explains {share} of the sample, mainly in the {unit} {features}."


def _named_columns(sample: "SampleExplanation", i: int, n: int) -> list[int]:
    """The columns to name for a label, at most ``n``."""
    evidence = sample.evidence()[i]
    return [int(j) for j in sample.reasons(i, n) if evidence[j] >= MIN_SHARE * evidence.max()]


def _feature_title(sample: "SampleExplanation", j: Any) -> str:
    """The name of a feature, with a word for the sign of its value relative to the baseline."""
    name, below = sample.terms.feature_names[j], sample.sample[j] < sample.baseline[j]
    if sample.terms.baseline is None:
        return f"negative {name}" if below else str(name)
    return f"{'low' if below else 'high'} {name}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-0 %", "0 %")


def _count_corrupted(n: int) -> str:
    return f"{n} entries look corrupted" if n > 1 else "1 entry looks corrupted"


def _and_more(n: int) -> str:
    return f"; and {n - _MAX_NAMED_ENTRIES} more" if n > _MAX_NAMED_ENTRIES else ""
