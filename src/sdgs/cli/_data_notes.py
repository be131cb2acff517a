"""Notes about data that a model can learn little from: few samples, and labels that nearly none or all samples have."""

from pathlib import Path
from typing import Any

import numpy as np

from sdgs.cli._console import count, format_percent, note, warn

_MIN_SAMPLES = 100  # from which a measure on all samples has a standard error of at most 5 points
_N_FOLDS = 3  # of cross-validation, by default
_MAX_LABELS_NAMED = 10
_MAX_EXAMPLES = 3


def note_unobserved_labels(file: Path, unobserved: Any) -> None:
    """Note how many labels of samples that have others are unobserved, given where."""
    n_samples = int(unobserved.any(axis=1).sum())
    if n_samples:
        share = format_percent(unobserved.mean())
        note(
            f"{file}: {int(unobserved.sum()):,} labels ({share} %) are unobserved, in {count(n_samples, 'sample')}. "
            "They count neither as given nor as not given."
        )


def note_samples_and_labels(file: Path, data: Any) -> None:
    """Note that there are few samples, and which labels cannot be learnt well."""
    if data.Y is None or not data.label_names:
        return
    observed = ~np.isnan(data.Y)
    n = int(observed.any(axis=1).sum())
    counts, n_observed = (data.Y == 1).sum(axis=0), observed.sum(axis=0)
    if n < _MIN_SAMPLES:
        points = 100 / np.sqrt(max(n, 1))  # two standard errors of a share, at most
        samples = count(n, "sample")
        verb = "is" if n == 1 else "are"
        note(f"{file}: {samples} {verb} few. A measure on {samples} is uncertain by up to {points:.0f} points.")
    is_rare = (counts > 0) & (counts < min(_N_FOLDS, n))
    column = getattr(data, "label_column", None)
    if column is not None and n >= _MIN_SAMPLES and 2 * is_rare.sum() > counts.size:
        examples = ", ".join(repr(data.label_names[j]) for j in np.flatnonzero(is_rare)[:_MAX_EXAMPLES])
        warn(
            f"{file}: of the {counts.size:,} labels in the column {column!r} {is_rare.sum():,} occur fewer than "
            f"{_N_FOLDS} times, such as {examples}. So few samples teach nothing about a label. If the column does not "
            "list labels, name another one by --label-column."
        )
        is_rare &= False
    is_constant = (counts == n_observed) & (counts > 0)
    is_positive_only = is_constant & (n_observed < n)
    if is_positive_only.any():
        names = [data.label_names[j] for j in np.flatnonzero(is_positive_only)]
        more = " ..." if len(names) > _MAX_LABELS_NAMED else ""
        warn(
            f"{file}: no sample is known not to have these labels, so that all samples will get them: "
            f"{', '.join(names[:_MAX_LABELS_NAMED])}{more}. If only true labels were recorded, write 0 in place of a "
            "missing value, and fit with --set assume=missing."
        )
    problems = {
        "no sample has these labels, which cannot be learnt": counts == 0,
        f"fewer than {_N_FOLDS} samples have these labels, so that some folds of cross-validation lack them": is_rare,
        "all samples have these labels, which carry no information": is_constant & ~is_positive_only,
    }
    for problem, affected in problems.items():
        names = [name for name, is_affected in zip(data.label_names, affected, strict=True) if is_affected]
        if names and len(names) < len(data.label_names):
            more = " ..." if len(names) > _MAX_LABELS_NAMED else "."
            note(f"{file}: {problem}: {', '.join(names[:_MAX_LABELS_NAMED])}{more}")
