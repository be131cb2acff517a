"""`sdgs fit`."""

import warnings
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import err, escape, format_sizes, json_value, out, print_command, print_json, spinner
from sdgs.cli._evaluate import (
    Evaluation,
    EvaluationOptions,
    evaluate_file,
    evaluate_predictions,
    print_labels,
    print_measures,
)
from sdgs.cli._holdout import check_holdout, split_samples, write_samples
from sdgs.cli._info import note_counters, print_dropped
from sdgs.cli._models import NamedModel, fitted_parameters, print_fitted_parameters
from sdgs.cli._sample_weights import check_weight_column, name_weights, read_weights, weights_of
from sdgs.cli._table_data import TableSamples, columns_content, print_columns, read_training_data, used_formats
from sdgs.cli._training import build_model, prepare_samples, samples_with_labels, train

_MAX_LABELS_SHOWN = 20


def fit(
    file: option.DataFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Model file to write, ending in .sdgs. Default: named after FILE, in this folder."
        ),
    ] = None,
    labels: option.Labels = None,
    labels_from: option.LabelsFrom = None,
    label_column: option.LabelColumn = None,
    weight_column: option.WeightColumn = None,
    drop: option.Drop = None,
    text: option.Text = None,
    category: option.Category = None,
    number: option.Number = None,
    date: option.Date = None,
    format: option.Format = None,  # noqa: A002
    cv: Annotated[bool, typer.Option("--cv", help="Select the parameters by cross-validation.")] = False,
    test: Annotated[
        Path | None, typer.Option(help="File with labels to evaluate the model on.", exists=True, dir_okay=False)
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the samples to hold out, such as 0.2, with the same share of each label: the model is "
            "fitted to the others only, and evaluated on these."
        ),
    ] = None,
    holdout_file: Annotated[
        Path | None,
        typer.Option(
            help="CSV file to write with the samples that --holdout holds out: for sdgs evaluate and sdgs report."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="What decisions and choices optimise, such as macro_f1: --set metric=NAME.")
    ] = None,
    label_weight: Annotated[
        str | None,
        typer.Option(help="balanced: rare labels are predicted more often, for macro F1: --set label_weight=balanced."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the model, as NAME=VALUE; can be repeated. See above."),
    ] = None,
    force: option.Force = False,
    seed: option.Seed = 0,
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Train a model on a file with labels, and write a model file.

    \b
    Examples:
      sdgs fit emotions-train.arff -o emotions.sdgs --test emotions-test.arff
      sdgs fit songs.csv --labels 'is_*' --drop id --cv
      sdgs fit songs.csv --label-column moods --holdout 0.2 \\
          --holdout-file held-out.csv
      sdgs fit songs.csv --label-column moods --metric macro_f1
      sdgs fit rcv1.svm --set n_components=8 --set alpha=0.2

    \b
    Parameters for --set, and their defaults; with --cv those marked * choose
    among several values, as in --set "alphas=(0.05, 0.1)":
      alpha=0.1             * (alphas) weight of the group penalty: more, and
                            fewer labels take part in a code
      assume=negative       what labels that are not given mean: negative,
                            or missing, so that they may be true
      at_least_one=auto     a sample without a label gets its most probable one
      checkpoint=None       a folder from which an interrupted fit continues
      cv=3                  number of folds of cross-validation
      encode=auto           auto: columns of tables become features by their
                            kinds; None: only numbers are used
      decision=expected     how labels are decided: expected, threshold,
                            thresholds, share, top, or a number
      gamma=auto            * (gammas) a kernel, for labels that no linear method
                            separates; None for no kernel
      huber=None            * (hubers) weight of the residual: a bound on the
                            influence of wrong values
      keep_samples=None     for sdgs update: maximum number of training samples
                            that the model keeps; not with --cv
      label_weight=None     balanced, or a tuple of factors of the odds, one per
                            label in the order that sdgs info MODEL prints
      max_iter=100          maximum number of training sweeps
      metric=f1             what decisions and choices optimise: f1, accuracy,
                            hamming_loss, micro_f1, macro_f1 or subset_accuracy
      n_components=4        * dimension of a label's subspace
      n_landmarks=auto      maximum number of landmarks of a kernel
      penalty=auto          * (penalties) the ridge penalty
      propensity=auto       with assume=missing: the probability that a true
                            label is given
      readout=ridge         how labels are read: ridge, or norm as in the paper;
                            not with --cv
      residual_size=0.0001  size of the sparse residual in training: a number or
                            a share of entries
      scaling=auto          auto, rows, columns, idf (for words) or None
      solver=brp            brp (random projections) or svd
      threshold=0.1         for readout=norm: minimum norm of a predicted label;
                            not with --cv
      tol=0.01              when training stops
      budget=10             only with --cv: maximum cost, in fits with the
                            default parameters
      max_rows=3000         only with --cv: maximum number of samples that
                            candidates are evaluated on
      n_averaged=3          only with --cv: maximum number of averaged candidates
      time_limit=None       only with --cv: maximum time in seconds
      verbose=0             only with --cv: 1 for one line per candidate
    """
    times = [perf_counter()]
    output = output or Path("model.sdgs" if str(file) == "-" else f"{file.name.split('.')[0] or 'model'}.sdgs")
    option.check_output(output, suffixes=(".sdgs",))
    option.check_not_existing(output, force)
    model = build_model(cv, settings or [], seed, jobs, metric=metric, label_weight=label_weight)
    check_holdout(file, holdout, holdout_file, test)
    weight_columns = check_weight_column(weight_column, file, format)
    with spinner(f"Reading {file}"):
        options = option.label_arguments(labels, labels_from, label_column)
        kinds = {"text": text, "category": category, "number": number, "date": date}
        dropped = [*option.split_names(drop), *weight_columns]
        data = read_training_data(file, options, dropped, format, kinds, numbers_only=model.encode is None)
        data = name_weights(data, weight_columns)
    X, Y, rows = samples_with_labels(data, file)
    weights = read_weights(file, weight_column, format, rows)
    times.append(perf_counter())
    if not json:
        _print_data(file, X, Y, data)
    held_out, kept = split_samples(Y, holdout, seed)
    if holdout_file is not None:
        write_samples(holdout_file, file, format, rows[held_out])
    _print_sizes(kept.size, held_out.size, holdout_file, shown=not json)
    training = prepare_samples(model, data, X[kept])
    if training.encoder is not None and not json:
        print_columns(training.encoder, file)
    from sdgs.persistence.codecs._model_codec import check_storable

    names = {"features": training.feature_names, "labels": data.label_names}
    check_storable(model, names)  # before the training
    formats = used_formats(data, training.encoder)
    named = NamedModel(model, training.feature_names, data.label_names, formats, training.encoder)
    if test is not None:
        _check_columns(test, named, label_column, weight_columns)
    with spinner("Compiling (in the first run this can take a minute)"):
        from sdgs.estimators._classifier import warm_up

        warm_up(training.matrix, robust=cv or model.huber is not None)
    times.append(perf_counter())
    train(model, training.samples, Y[kept], weights_of(weights, kept))
    times.append(perf_counter())
    model.save(output, feature_names=training.feature_names, label_names=data.label_names, column_formats=formats)
    evaluation = None
    if test is not None:
        evaluation = evaluate_file(named, test, None, label_column, EvaluationOptions(weight_column=weight_column))
    if held_out.size:
        evaluation = _evaluate_held_out(named, X[held_out], Y[held_out], weights_of(weights, held_out))
    seconds = dict(zip(("reading", "compiling", "training"), np.diff(times).tolist(), strict=True))
    if json:
        print_json(_json_content(model, data, training, output, seconds, evaluation))
        return
    print_fitted_parameters(model)
    size = filesize.decimal(output.stat().st_size)
    written = f"Wrote [bold]{escape(str(output))}[/] ({size})."
    out().print(f"Trained in {seconds['training']:.1f} s. {written}", soft_wrap=True)
    if evaluation is None:
        same_column = [f"--label-column={label_column}"] if label_column else []
        print_command(err(), ["sdgs", "evaluate", str(output), "TEST-FILE", *same_column])
    else:
        print_measures(evaluation, f"{file.name}, held out" if test is None else test.name)
        print_labels(evaluation, _MAX_LABELS_SHOWN)


def _print_data(file: Path, X: Any, Y: Any, data: Any) -> None:
    out().print(f"[bold]{escape(file.name)}[/]: {format_sizes(X, Y.shape[1])}", soft_wrap=True)
    print_dropped(data.dropped)
    note_counters(data)


def _print_sizes(n_kept: int, n_held_out: int, file: Path | None, *, shown: bool) -> None:
    if not (n_held_out and shown):
        return
    written = "" if file is None else f", and are written to {escape(file)}"
    sizes = f"The model is fitted to {n_kept:,} samples; {n_held_out:,} are held out{written}."
    out().print(sizes, soft_wrap=True)


def _evaluate_held_out(named: NamedModel, X: Any, Y: Any, sample_weight: Any) -> Evaluation:
    from scipy.sparse import csr_array

    matrix = named.matrix(X.columns) if isinstance(X, TableSamples) else X
    predicted = csr_array(named.predict_labels(matrix).astype(np.int8))
    return evaluate_predictions(named, Y, predicted, sample_weight=sample_weight)


def _json_content(
    model: Any, data: Any, training: Any, output: Path, seconds: dict[str, float], evaluation: Evaluation | None
) -> dict[str, Any]:
    return {
        "model": str(output),
        "samples": training.matrix.shape[0],
        "features": training.matrix.shape[1],
        "labels": list(data.label_names),
        "columns": columns_content(training.encoder),
        "dropped": dict(data.dropped),
        "seconds": seconds,
        "parameters": {name: json_value(value) for name, value in model.get_params(deep=False).items()},
        "best_params": json_value(getattr(model, "best_params_", None)),
        "chosen": fitted_parameters(model),
        "test": None if evaluation is None else {"samples": evaluation.samples, "measures": evaluation.measures},
    }


def _check_columns(test: Path, named: NamedModel, label_column: str | None, keep: list[str]) -> None:
    """Check that a file has the columns of the model, before the training, which may take long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are shown when the file is evaluated
        with closing(named.blocks(test, None, with_labels=True, label_column=label_column, keep=keep)) as blocks:
            next(blocks, None)
