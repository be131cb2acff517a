"""`sdgs evaluate`, and the tables that `sdgs fit` prints as well."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdgs.cli._console import escape, exit_with_error, format_percent, make_table, out, print_json, progress_bar
from sdgs.cli._models import NamedModel, load_model, stack_rows
from sdgs.cli._options import DataFile, Format, Invalid, InvalidCells, Jobs, Json, LabelColumn, ModelFile, split_commas


@dataclass(frozen=True)
class Evaluation:
    """The measures of a model on the samples of a file."""

    samples: int
    measures: dict[str, float]
    labels: dict[str, dict[str, float]]


def _check_measures(measures: str | None) -> str | None:
    from sdgs.metrics._multilabel import find_metric

    for name in split_commas(measures or ""):
        try:
            find_metric(name)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return measures


def evaluate(
    model: ModelFile,
    file: DataFile,
    measures: Annotated[
        str | None,
        typer.Option(
            callback=_check_measures,
            help="Further measures, separated by commas: micro_f1, ranking_loss, ndcg@5, log_loss and others.",
        ),
    ] = None,
    all_measures: Annotated[bool, typer.Option("--all-measures", help="All measures that there are.")] = False,
    worst: Annotated[int, typer.Option(min=0, help="Number of labels to print, lowest F1 first.")] = 20,
    label_column: LabelColumn = None,
    invalid: Invalid = InvalidCells.error,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Evaluate a model on a file with labels: five measures or more, and precision, recall and F1 per label.

    \b
    Examples:
      sdgs evaluate emotions.sdgs emotions-test.arff
      sdgs evaluate emotions.sdgs emotions-test.arff --json
      sdgs evaluate songs.sdgs new-songs.csv --label-column moods
      sdgs evaluate emotions.sdgs emotions-test.arff --measures macro_f1,ranking_loss,ndcg@3
    """
    if measures and all_measures:
        raise typer.BadParameter("give --measures or --all-measures, not both.", param_hint="--measures")
    asked = "all" if all_measures else split_commas(measures or "")
    evaluation = evaluate_file(load_model(model, jobs), file, format, label_column, asked, invalid.value)
    if json:
        print_json(asdict(evaluation))
        return
    print_measures(evaluation, file.name)
    print_labels(evaluation, worst)


def evaluate_file(
    named: NamedModel,
    file: Path,
    format_: str | None,
    label_column: str | None,
    measures: str | Sequence[str] = (),
    invalid: str = "error",
) -> Evaluation:
    """Predict the samples of a file and compare with its labels; samples with missing labels are left out.

    ``measures`` are computed in addition to the five.
    """
    from scipy.sparse import csr_array

    true_blocks, predicted_blocks, score_blocks = [], [], []
    size = file.stat().st_size if file.is_file() else None
    with progress_bar(f"Predicting {file}", size) as show:
        for X, Y, _, position in named.labelled_blocks(file, format_, label_column, invalid=invalid):
            true_blocks.append(Y)
            predicted_blocks.append(csr_array(named.predict_labels(X).astype(np.int8)))
            if measures:
                score_blocks.append(named.predict_scores(X))
            show(position, "")
    scores = stack_rows(score_blocks) if measures else None
    return evaluate_predictions(named, stack_rows(true_blocks), stack_rows(predicted_blocks), scores, measures)


def evaluate_predictions(
    named: NamedModel, true: Any, predicted: Any, scores: Any = None, measures: str | Sequence[str] = ()
) -> Evaluation:
    """Compare label matrices."""
    from sdgs import metrics

    columns = {name: values.tolist() for name, values in metrics.evaluate_labels(true, predicted).items()}
    by_label = {label: {name: column[i] for name, column in columns.items()} for i, label in enumerate(named.labels)}
    try:
        values = metrics.evaluate(true, predicted, scores, measures=measures)
    except ValueError as error:  # more first labels than there are, or no probabilities
        exit_with_error(str(error))
    return Evaluation(true.shape[0], values, by_label)


def measure_title(name: str) -> str:
    """The name of a metric, and an arrow for whether a higher or a lower value is better."""
    from sdgs.metrics._multilabel import find_metric

    return f"{name.replace('_', ' ')} {'↑' if find_metric(name).greater_is_better else '↓'}"


def print_measures(evaluation: Evaluation, name: str) -> None:
    """Print the five measures, in percent, then the others."""
    from sdgs.metrics import METRICS

    out().print(f"[bold]{escape(name)}[/]: {evaluation.samples:,} samples, in percent", soft_wrap=True)
    table = make_table("", "%")
    for name in METRICS:
        table.add_row(measure_title(name), format_percent(evaluation.measures[name]))
    out().print(table)
    further = {name: value for name, value in evaluation.measures.items() if name not in METRICS}
    if further:
        table = make_table("", "value")
        for name, value in further.items():
            table.add_row(measure_title(name), "-" if math.isnan(value) else f"{value:.4f}")
        out().print("Further measures, not in percent")
        out().print(table)


def print_labels(evaluation: Evaluation, n_labels: int) -> None:
    """Print the measures per label, lowest F1 first; labels without samples last."""
    ranked = sorted(evaluation.labels.items(), key=lambda item: (not item[1]["samples"], item[1]["f1"]))
    table = make_table("label", "samples", "predicted", "precision", "recall", "F1")
    for name, values in ranked[:n_labels]:
        shares = (format_percent(values[measure]) for measure in ("precision", "recall", "f1"))
        table.add_row(escape(name) or "(no name)", f"{values['samples']:,}", f"{values['predicted']:,}", *shares)
    if ranked[:n_labels]:
        out().print("Per label, lowest F1 first, in percent")
        out().print(table)
    if len(ranked) > n_labels > 0:
        out().print(f"[dim]... and {len(ranked) - n_labels} more. To print all: --worst {len(ranked)}[/]")
