"""Explanations in words, as tables and as a page of a notebook."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sdgs._utils._validation import check_choice, check_int

if TYPE_CHECKING:
    from sdgs.explanation._explanation import Explanation, SampleExplanation

SHOWN = 5  # samples, where all would be too many
_ENTRIES = 3  # of a residual to name


def sentences(sample: "SampleExplanation", unit: str, max_names: int) -> str:
    """One sample in words, a line for each thing to say."""
    lines = [_label(sample, int(i), unit, max_names) for i in np.argsort(-sample.shares, kind="stable")]
    rest = 1 - float(sample.shares.sum())
    if not lines:
        lines.append("There is no label to take the sample apart into.")
    elif not _sees_something(sample):
        lines = [f"{_named(sample, i)}: nothing of the sample is to be seen." for i in range(len(lines))]
    else:
        lines.append(f"{_percent(rest)} of the sample is not explained by {'it' if len(lines) == 1 else 'them'}.")
    if sample.corrupted is not None and sample.corrupted.size:
        wrong = sample.top_residuals(min(sample.corrupted.size, _ENTRIES))
        named = "; ".join(f"{entry.name} is {entry.value:.3g}, the labels say {entry.expected:.3g}" for entry in wrong)
        lines.append(f"{_look_corrupted(sample.corrupted.size)}: {named}{_and_more(sample.corrupted.size)}.")
    if sample.missing.size:
        expected, names = sample.expected, sample.terms.feature_names
        named = "; ".join(f"{names[j]}, the labels say {expected[j]:.3g}" for j in sample.missing[:_ENTRIES])
        count = f"{sample.missing.size} entries are" if sample.missing.size > 1 else "1 entry is"
        lines.append(f"{count} missing: {named}{_and_more(sample.missing.size)}.")
    return "\n".join(lines)


def frame(explanation: "Explanation", by: str, max_features: int | None) -> Any:
    """As a long DataFrame; see :meth:`Explanation.to_frame`."""
    check_choice(by, "by", ("feature", "label"))
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas.") from None

    if by == "label":
        columns = ["sample", "label", "probability", "share", "unique_share"]
        return pd.DataFrame([line for sample in explanation for line in _label_lines(sample)], columns=columns)
    if max_features is not None:
        check_int(max_features, "max_features", minimum=1)
    names, blocks = explanation.terms.feature_names, []
    for sample in explanation:
        parts = [("label", name, part) for name, part in zip(sample.label_names, sample.contributions, strict=True)]
        if sample.terms.baseline is not None:
            parts.append(("baseline", None, sample.baseline))
        parts.append(("residual", None, sample.residual))
        for kind, label, part in parts:
            kept = np.arange(part.size)
            if max_features is not None:
                kept = np.argsort(-np.abs(part), kind="stable")[:max_features]
            # One kind of column, whether labels are numbers, strings or None.
            whose = pd.Series([label] * kept.size, dtype=object)
            block = {"sample": [sample.name] * kept.size, "part": kind, "label": whose, "feature": names[kept]}
            blocks.append(pd.DataFrame({**block, "contribution": part[kept]}))
    columns = ["sample", "part", "label", "feature", "contribution"]
    return pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=columns)


def page(samples: Sequence["SampleExplanation"], n_more: int) -> str:
    """What a notebook shows."""
    heads = ("sample", "label", "probability", "share", "because of")
    lines = [line for sample in samples for line in _html_lines(sample)]
    more = f"<p>... and {n_more} more samples.</p>" if n_more else ""
    head = "".join(f"<th>{text}</th>" for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _html_lines(sample: "SampleExplanation") -> Iterable[str]:
    names = sample.terms.feature_names
    for i, label in enumerate(sample.label_names):
        chance = "" if sample.probabilities is None else f"{sample.probabilities[i]:.2f}"
        reasons = ", ".join(_reason(sample, j, names[j]) for j in sample.reasons(i))
        yield _row(sample.name if i == 0 else "", label, chance, _percent(sample.shares[i]), reasons)
    odd = ""
    if sample.corrupted is not None and sample.corrupted.size:
        wrong = sample.top_residuals(min(sample.corrupted.size, _ENTRIES))
        named = ", ".join(str(entry.name) for entry in wrong)
        odd = f"{_look_corrupted(sample.corrupted.size)}: {named}{_and_more(sample.corrupted.size)}"
    yield _row("" if sample.labels.size else sample.name, "residual", "", _percent(1 - sample.shares.sum()), odd)


def _row(*cells: Any) -> str:
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"


def _label_lines(sample: "SampleExplanation") -> Iterable[tuple[Any, ...]]:
    chances = np.full(sample.labels.size, np.nan) if sample.probabilities is None else sample.probabilities
    for line in zip(sample.label_names, chances, sample.shares, sample.unique_shares, strict=True):
        yield (sample.name, *line)


def _named(sample: "SampleExplanation", i: int) -> str:
    name = str(sample.label_names[i])
    return name if sample.probabilities is None else f"{name} (p = {sample.probabilities[i]:.2f})"


def _label(sample: "SampleExplanation", i: int, unit: str, max_names: int) -> str:
    share = sample.shares[i]
    if share < 0:
        return f"{_named(sample, i)} explains none of the sample: it takes away from the others ({_percent(share)})."
    return f"{_named(sample, i)} explains {_percent(share)} of the sample{_because(sample, i, unit, max_names)}."


def _because(sample: "SampleExplanation", i: int, unit: str, max_names: int) -> str:
    names = [_reason(sample, j, sample.terms.feature_names[j]) for j in sample.reasons(i, max_names)]
    return f", because of the {unit} {', '.join(names)}" if names else f"; no {unit} speak for it"


def _reason(sample: "SampleExplanation", j: Any, name: Any) -> str:
    """The name of an entry that speaks for a label; where the sample has less than usual, that is said."""
    below = sample.sample[j] < sample.baseline[j]
    if sample.terms.baseline is None:
        return f"negative {name}" if below else str(name)
    return f"{'low' if below else 'high'} {name}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-0 %", "0 %")


def _sees_something(sample: "SampleExplanation") -> bool:
    return bool(np.any(np.nan_to_num(sample.sample - sample.baseline)))


def _look_corrupted(n: int) -> str:
    return f"{n} entries look corrupted" if n > 1 else "1 entry looks corrupted"


def _and_more(n: int) -> str:
    return f"; and {n - _ENTRIES} more" if n > _ENTRIES else ""
