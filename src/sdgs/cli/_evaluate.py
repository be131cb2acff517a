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
from sdgs.cli._options import (
    DataFile,
    Format,
    Invalid,
    InvalidCells,
    Jobs,
    Json,
    LabelColumn,
    ModelFile,
    Seed,
    WeightColumn,
    split_commas,
)
from sdgs.cli._sample_weights import only_column, parse_weights

MAX_RESAMPLES = 1_000_000


@dataclass(frozen=True)
class Evaluation:
    """The measures of a model on the samples of a file."""

    samples: int
    measures: dict[str, float]
    labels: dict[str, dict[str, float]]
    intervals: dict[str, tuple[float, float]] | None = None  # 95 %
    is_weighted: bool = False

    def content(self) -> dict[str, Any]:
        """As JSON values; intervals only if they were asked for."""
        left_out = {"is_weighted"} if self.intervals is not None else {"is_weighted", "intervals"}
        return {key: value for key, value in asdict(self).items() if key not in left_out}


@dataclass(frozen=True)
class EvaluationOptions:
    """What is computed: measures in addition to the five, with weights, and intervals from so many resamples."""

    measures: str | Sequence[str] = ()
    weight_column: str | None = None
    n_resamples: int | None = None
    seed: int = 0


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
    intervals: Annotated[
        bool, typer.Option("--intervals", help="95 % confidence intervals of the measures, by the bootstrap.")
    ] = False,
    resamples: Annotated[
        int, typer.Option(min=1, max=MAX_RESAMPLES, help="Number of resamples that --intervals draws.")
    ] = 1000,
    label_column: LabelColumn = None,
    weight_column: WeightColumn = None,
    invalid: Invalid = InvalidCells.error,
    format: Format = None,  # noqa: A002
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Evaluate a model on a file with labels: five measures or more, and precision, recall and F1 per label.

    \b
    Examples:
      sdgs evaluate emotions.sdgs emotions-test.arff
      sdgs evaluate emotions.sdgs emotions-test.arff --json
      sdgs evaluate songs.sdgs new-songs.csv --label-column moods
      sdgs evaluate emotions.sdgs emotions-test.arff \\
          --measures macro_f1,ranking_loss,ndcg@3
      sdgs evaluate emotions.sdgs emotions-test.arff --intervals
    """
    if measures and all_measures:
        raise typer.BadParameter("give --measures or --all-measures, not both.", param_hint="--measures")
    asked = "all" if all_measures else split_commas(measures or "")
    options = EvaluationOptions(asked, weight_column, resamples if intervals else None, seed)
    evaluation = evaluate_file(load_model(model, jobs), file, format, label_column, options, invalid.value)
    if json:
        print_json(evaluation.content())
        return
    print_measures(evaluation, file.name)
    print_labels(evaluation, worst)


def evaluate_file(
    named: NamedModel,
    file: Path,
    format_: str | None,
    label_column: str | None,
    options: EvaluationOptions = EvaluationOptions(),  # noqa: B008
    invalid: str = "error",
) -> Evaluation:
    """Predict the samples of a file and compare with its labels; samples without observed labels are left out."""
    from scipy.sparse import csr_array

    from sdgs.datasets.readers._formats import check_is_table, detect_format

    true_blocks, predicted_blocks, score_blocks, weights = [], [], [], []
    column = options.weight_column
    if column is not None:
        check_is_table(detect_format(file, format_), file, "A column of weights")
    size = file.stat().st_size if file.is_file() else None
    with progress_bar(f"Predicting {file}", size) as show:
        keep = [] if column is None else [column]
        for block in named.labelled_cells(file, format_, label_column, keep, invalid):
            true_blocks.append(block.Y)
            predicted_blocks.append(csr_array(named.predict_labels(block.X).astype(np.int8)))
            if options.measures:
                score_blocks.append(named.predict_scores(block.X))
            if column is not None:
                weights.append(parse_weights(only_column(block.kept, column), block.rows, file, column))
            show(block.position, "")
    scores = stack_rows(score_blocks) if options.measures else None
    sample_weight = np.concatenate(weights) if weights else None
    true, predicted = stack_rows(true_blocks), stack_rows(predicted_blocks)
    return evaluate_predictions(named, true, predicted, scores, sample_weight, options)


def evaluate_predictions(
    named: NamedModel,
    true: Any,
    predicted: Any,
    scores: Any = None,
    sample_weight: Any = None,
    options: EvaluationOptions = EvaluationOptions(),  # noqa: B008
) -> Evaluation:
    """Compare label matrices."""
    from sdgs import metrics

    arguments: dict[str, Any] = {"measures": options.measures, "sample_weight": sample_weight}
    intervals = None
    try:
        values = metrics.evaluate(true, predicted, scores, **arguments)
        of_labels = metrics.evaluate_labels(true, predicted, sample_weight=sample_weight)
        if options.n_resamples is not None:
            seeded: dict[str, Any] = {"n_resamples": options.n_resamples, "random_state": options.seed}
            found = metrics.bootstrap_intervals(true, predicted, scores, **arguments, **seeded)
            intervals = {name: (interval.low, interval.high) for name, interval in found.items()}
    except ValueError as error:  # more first labels than there are, no probabilities, or only weights of 0
        exit_with_error(str(error))
    columns = {name: column.tolist() for name, column in of_labels.items()}
    by_label = {label: {name: column[i] for name, column in columns.items()} for i, label in enumerate(named.labels)}
    return Evaluation(true.shape[0], values, by_label, intervals, sample_weight is not None)


def measure_title(name: str) -> str:
    """The name of a metric, and an arrow for whether a higher or a lower value is better."""
    from sdgs.metrics._multilabel import find_metric

    return f"{name.replace('_', ' ')} {'↑' if find_metric(name).greater_is_better else '↓'}"


def print_measures(evaluation: Evaluation, name: str) -> None:
    """Print the five measures, in percent, then the others."""
    from sdgs.metrics import METRICS

    weighted = ", weighted" if evaluation.is_weighted else ""
    out().print(f"[bold]{escape(name)}[/]: {evaluation.samples:,} samples{weighted}, in percent", soft_wrap=True)
    intervals = evaluation.intervals
    head = ["95 % interval"] if intervals is not None else []
    table = make_table("", "%", *head)
    for name in METRICS:
        ends = [] if intervals is None else [" to ".join(map(format_percent, intervals[name]))]
        table.add_row(measure_title(name), format_percent(evaluation.measures[name]), *ends)
    out().print(table)
    further = {name: value for name, value in evaluation.measures.items() if name not in METRICS}
    if further:
        table = make_table("", "value", *head)
        for name, value in further.items():
            ends = [] if intervals is None else [" to ".join(map(_format_value, intervals[name]))]
            table.add_row(measure_title(name), _format_value(value), *ends)
        out().print("Further measures, not in percent")
        out().print(table)


def _format_value(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _format_size(size: float) -> str:
    """A number of samples, or a sum of weights."""
    return f"{int(size):,}" if float(size).is_integer() else f"{size:,.2f}"


def print_labels(evaluation: Evaluation, n_labels: int) -> None:
    """Print the measures per label, lowest F1 first; labels without samples last."""
    ranked = sorted(evaluation.labels.items(), key=lambda item: (not item[1]["samples"], item[1]["f1"]))
    table = make_table("label", "samples", "predicted", "precision", "recall", "F1")
    for name, values in ranked[:n_labels]:
        sizes = (values["samples"], values["predicted"])
        shares = (format_percent(values[measure]) for measure in ("precision", "recall", "f1"))
        table.add_row(escape(name) or "(no name)", *map(_format_size, sizes), *shares)
    if ranked[:n_labels]:
        sums = "; samples and predicted are sums of weights" if evaluation.is_weighted else ""
        out().print(f"Per label, lowest F1 first, in percent{sums}")
        out().print(table)
    if len(ranked) > n_labels > 0:
        out().print(f"[dim]... and {len(ranked) - n_labels} more. To print all: --worst {len(ranked)}[/]")
