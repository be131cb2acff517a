"""`sdgs fit`."""

import shlex
import warnings
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import err, escape, format_sizes, out, print_json, spinner
from sdgs.cli._evaluate import Evaluation, evaluate_file, print_labels, print_measures
from sdgs.cli._info import note_counters, print_dropped
from sdgs.cli._models import NamedModel, fitted_parameters, print_fitted_parameters
from sdgs.cli._training import build_model, samples_with_labels, train

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
    drop: option.Drop = None,
    format: option.Format = None,  # noqa: A002
    cv: Annotated[bool, typer.Option("--cv", help="Select the parameters by cross-validation.")] = False,
    test: Annotated[
        Path | None, typer.Option(help="File with labels to evaluate the model on.", exists=True, dir_okay=False)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the model, as NAME=VALUE; can be repeated.")
    ] = None,
    seed: option.Seed = 0,
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Train a model on a file with labels, and write a model file.

    \b
    Examples:
      sdgs fit emotions-train.arff -o emotions.sdgs --test emotions-test.arff
      sdgs fit songs.csv --labels 'is_*' --drop id --cv
      sdgs fit songs.csv --label-column moods
      sdgs fit rcv1.svm --set n_components=8 --set alpha=0.2
    """
    times = [perf_counter()]
    output = output or Path("model.sdgs" if str(file) == "-" else f"{file.name.split('.')[0] or 'model'}.sdgs")
    option.check_output(output, suffixes=(".sdgs",))
    model = build_model(cv, settings or [], seed, jobs)
    with spinner(f"Reading {file}"):
        from sdgs.datasets import read

        options = option.label_arguments(labels, labels_from, label_column)
        data = read(file, **options, drop=option.split_names(drop), format=format)
    X, Y, _ = samples_with_labels(data, file)
    times.append(perf_counter())
    if not json:
        out().print(f"[bold]{escape(file.name)}[/]: {format_sizes(X, Y.shape[1])}", soft_wrap=True)
        print_dropped(data.dropped)
        note_counters(data)
    from sdgs.persistence.codecs._model_codec import check_storable

    check_storable(model, {"features": data.feature_names, "labels": data.label_names})  # before the training
    named = NamedModel(model, data.feature_names, data.label_names)
    if test is not None:
        _check_columns(test, named, label_column)
    with spinner("Compiling (in the first run this can take a minute)"):
        from sdgs.estimators._classifier import warm_up

        warm_up(X, robust=cv or model.huber is not None)
    times.append(perf_counter())
    train(model, X, Y)
    times.append(perf_counter())
    model.save(output, feature_names=data.feature_names, label_names=data.label_names)
    evaluation = None if test is None else evaluate_file(named, test, None, label_column)
    seconds = dict(zip(("reading", "compiling", "training"), np.diff(times).tolist(), strict=True))
    if json:
        print_json(_json_content(model, data, X, output, seconds, evaluation))
        return
    print_fitted_parameters(model)
    size = filesize.decimal(output.stat().st_size)
    out().print(
        f"Trained in {seconds['training']:.1f} s. Wrote [bold]{escape(str(output))}[/] ({size}).", soft_wrap=True
    )
    if test is None or evaluation is None:
        same_column = [f"--label-column={label_column}"] if label_column else []
        command = shlex.join(["sdgs", "evaluate", str(output), "TEST-FILE", *same_column])
        err().print(f"Next: {escape(command)}", soft_wrap=True)
    else:
        print_measures(evaluation, test)
        print_labels(evaluation, _MAX_LABELS_SHOWN)


def _json_content(
    model: Any, data: Any, X: Any, output: Path, seconds: dict[str, float], evaluation: Evaluation | None
) -> dict[str, Any]:
    return {
        "model": str(output),
        "samples": X.shape[0],
        "features": X.shape[1],
        "labels": list(data.label_names),
        "dropped": dict(data.dropped),
        "seconds": seconds,
        "parameters": {name: repr(value) for name, value in model.get_params().items()},
        "best_params": getattr(model, "best_params_", None),
        "chosen": fitted_parameters(model),
        "test": None if evaluation is None else {"samples": evaluation.samples, "measures": evaluation.measures},
    }


def _check_columns(test: Path, named: NamedModel, label_column: str | None) -> None:
    """Check that a file has the columns of the model, before the training, which may take long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are shown when the file is evaluated
        with closing(named.blocks(test, None, with_labels=True, label_column=label_column)) as blocks:
            next(blocks, None)
