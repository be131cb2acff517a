"""Measurements of explanations, by name: each is a function of training samples and a seed, and makes a record."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sdgs.datasets import Dataset
from sdgs.experiments._faithfulness import measure_faithfulness


@dataclass(frozen=True)
class ExplanationStudy:
    """A measurement: its data sets, and the function, which returns ``measured`` and what else to record."""

    title: str
    datasets: tuple[str, ...]
    measure: Callable[[Dataset, int], dict[str, Any]]


EXPLANATION_STUDIES: Mapping[str, ExplanationStudy] = {
    "faithfulness": ExplanationStudy(
        "fall of the log-odds of a label when five features are deleted",
        ("medical", "enron", "yahoo-arts", "emotions"),
        measure_faithfulness,
    ),
}


def study_lines(folder: Path, study: str) -> list[str]:
    """One line per data set with the figures of a study, means over the records in a folder."""
    measured = defaultdict(list)
    for path in sorted((folder / "studies").glob(f"{study}--*.json")):
        record = json.loads(path.read_text())
        measured[record["dataset"]].append(record["measured"])
    return [
        f"{dataset}: " + ", ".join(f"{name} {fmean(values[name] for values in figures):.3g}" for name in figures[0])
        for dataset, figures in measured.items()
    ]
