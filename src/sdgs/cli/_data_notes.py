"""Notes about data that a model can learn little from: few samples, and labels that nearly none or all samples have."""

from pathlib import Path
from typing import Any

import numpy as np

from sdgs.cli._console import note

_MIN_SAMPLES = 100  # from which a measure on all samples has a standard error of at most 5 points
_N_FOLDS = 3  # of cross-validation, by default
_MAX_LABELS_NAMED = 10


def note_samples_and_labels(file: Path, data: Any) -> None:
    """Note that there are few samples, and which labels cannot be learnt well."""
    from sdgs.datasets._statistics import complete_samples

    if data.Y is None or not data.label_names:
        return
    complete = complete_samples(data.Y)
    n = int(complete.sum())
    counts = data.Y[complete].sum(axis=0).astype(int)
    if n < _MIN_SAMPLES:
        points = 100 / np.sqrt(max(n, 1))  # two standard errors of a share, at most
        note(f"{file}: {n} samples are few. A measure on {n} samples is uncertain by up to {points:.0f} points.")
    problems = {
        "no sample has these labels, which cannot be learnt": counts == 0,
        f"fewer than {_N_FOLDS} samples have these labels, so that some folds of cross-validation lack them": (
            (counts > 0) & (counts < min(_N_FOLDS, n))
        ),
        "all samples have these labels, which carry no information": counts == n,
    }
    for problem, affected in problems.items():
        names = [name for name, is_affected in zip(data.label_names, affected, strict=True) if is_affected]
        if names and len(names) < len(data.label_names):
            more = " ..." if len(names) > _MAX_LABELS_NAMED else "."
            note(f"{file}: {problem}: {', '.join(names[:_MAX_LABELS_NAMED])}{more}")
