"""`sdgs evaluate`, and the tables that `sdgs fit` shows as well."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from sdgs.cli._models import NamedModel, load
from sdgs.cli._options import DataFile, Format, Jobs, Json, LabelColumn, ModelFile
from sdgs.cli._show import out, percent, print_json, progress, table


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts the labels of a file."""

    samples: int
    measures: dict[str, float]
    by_label: dict[str, dict[str, float]]


def evaluate(
    model: ModelFile,
    file: DataFile,
    worst: Annotated[int, typer.Option(min=0, help="Labels to show, those with the lowest F1 first.")] = 20,
    label_column: LabelColumn = None,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """How well a model predicts the labels of a file: five measures, and each label by itself.

    \b
    Examples:
      sdgs evaluate emotions.sdgs emotions-test.arff
      sdgs evaluate emotions.sdgs emotions-test.arff --json
      sdgs evaluate songs.sdgs new-songs.csv --label-column moods
    """
    found = evaluated(load(model, jobs), file, format, label_column)
    if json:
        print_json({"samples": found.samples, "measures": found.measures, "labels": found.by_label})
        return
    show_measures(found, file)
    show_labels(found, worst)


def evaluated(named: NamedModel, file: Path, kind: str | None, label_column: str | None) -> Evaluation:
    """Predict the samples of a file and compare with its labels; samples with missing labels are left out."""
    from scipy.sparse import csr_array, vstack

    from sdgs import metrics

    true, predicted = [], []
    size = file.stat().st_size if file.is_file() else None
    with progress(f"Predicting {file}", size) as show:
        for X, Y, _, position in named.labelled(file, kind, label_column):
            true.append(Y)
            predicted.append(csr_array(named.predicted(X).astype(np.int8)))
            show(position, "")
    Y, Z = vstack(true, format="csr"), vstack(predicted, format="csr")
    return Evaluation(Y.shape[0], metrics.evaluate(Y, Z), _by_label(named, metrics.evaluate_labels(Y, Z)))


def _by_label(named: NamedModel, measures: dict[str, Any]) -> dict[str, dict[str, float]]:
    columns = {name: values.tolist() for name, values in measures.items()}
    return {label: {name: column[i] for name, column in columns.items()} for i, label in enumerate(named.labels)}


def show_measures(found: Evaluation, file: Path) -> None:
    """The five measures."""
    out().print(f"[bold]{escape(file.name)}[/]: {found.samples:,} samples, in percent", soft_wrap=True)
    from sdgs.metrics import METRICS

    made = table("", "%")
    for name, value in found.measures.items():
        arrow = "↑" if METRICS[name].greater_is_better else "↓"
        made.add_row(f"{name.replace('_', ' ')} {arrow}", percent(value))
    out().print(made)


def show_labels(found: Evaluation, worst: int) -> None:
    """Each label by itself, the worst first; labels without samples last."""
    ranked = sorted(found.by_label.items(), key=lambda item: (not item[1]["samples"], item[1]["f1"]))
    made = table("label", "samples", "predicted", "precision", "recall", "F1")
    for name, of in ranked[:worst]:
        shares = (percent(of[measure]) for measure in ("precision", "recall", "f1"))
        made.add_row(escape(name), f"{of['samples']:,}", f"{of['predicted']:,}", *shares)
    if ranked[:worst]:
        out().print("Each label by itself, lowest F1 first, in percent")
        out().print(made)
    if len(ranked) > worst > 0:
        out().print(f"[dim]... and {len(ranked) - worst} more labels: --worst {len(ranked)} shows all.[/]")
