"""`sdgs fit`."""

import ast
import shlex
import warnings
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich import filesize
from rich.markup import escape

import sdgs
from sdgs.cli._evaluate import evaluated, show_labels, show_measures
from sdgs.cli._info import note_counters, print_dropped
from sdgs.cli._models import NamedModel, chosen, print_chosen
from sdgs.cli._options import (
    DataFile,
    Drop,
    Format,
    Jobs,
    Json,
    LabelColumn,
    Labels,
    LabelsFrom,
    checked_folder,
    label_options,
    names,
)
from sdgs.cli._show import err, give_up, note, out, print_json, progress, sizes, working

_WORDS = {"none": None, "true": True, "false": False}


def fit(
    file: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write, ending in .sdgs. Default: named after FILE, here."),
    ] = None,
    labels: Labels = None,
    labels_from: LabelsFrom = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    format: Format = None,  # noqa: A002
    cv: Annotated[bool, typer.Option("--cv", help="Find the parameters by cross-validation.")] = False,
    test: Annotated[
        Path | None, typer.Option(help="File to test the model on, with labels.", exists=True, dir_okay=False)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter, as NAME=VALUE; can be repeated.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 2, help="For all that is random.")] = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Learn from a file whose labels are known, and write a model file.

    \b
    Examples:
      sdgs fit emotions-train.arff -o emotions.sdgs --test emotions-test.arff
      sdgs fit songs.csv --labels 'is_*' --drop id --cv
      sdgs fit songs.csv --label-column moods
      sdgs fit rcv1.svm --set n_components=8 --set alpha=0.2
    """
    start = perf_counter()
    output = _checked_output(output, file)
    model = _model(cv, settings or [], seed, jobs)
    with working(f"Reading {file}"):
        from sdgs.datasets import read

        data = read(file, **label_options(labels, labels_from, label_column), drop=names(drop), format=format)
    X, Y = _complete(data, file)
    read_in = perf_counter()
    if not json:
        out().print(f"[bold]{escape(file.name)}[/]: {sizes(X, Y.shape[1])}", soft_wrap=True)
        print_dropped(out(), data.dropped)
        note_counters(data)
    named = NamedModel(model, data.feature_names, data.label_names)
    if test is not None:
        _look_at(test, named, label_column)
    with working("Getting ready (the first time this compiles, which can take a minute)"):
        from sdgs.estimators._classifier import warm_up

        warm_up(X, robust=cv or model.huber is not None)
    ready = perf_counter()
    _train(model, X, Y)
    trained = perf_counter()
    model.save(output, feature_names=data.feature_names, label_names=data.label_names)
    found = None if test is None else evaluated(named, test, None, label_column)
    if json:
        print_json(
            {
                "model": str(output),
                "samples": X.shape[0],
                "features": X.shape[1],
                "labels": list(data.label_names),
                "dropped": dict(data.dropped),
                "seconds": {"reading": read_in - start, "compiling": ready - read_in, "training": trained - ready},
                "parameters": {name: repr(value) for name, value in model.get_params().items()},
                "best_params": getattr(model, "best_params_", None),
                "chosen": chosen(model),
                "test": None if found is None else {"samples": found.samples, "measures": found.measures},
            }
        )
        return
    _show(model, output, trained - ready)
    if test is None or found is None:
        again = [f"--label-column={label_column}"] if label_column else []
        following = shlex.join(["sdgs", "evaluate", str(output), "TEST-FILE", *again])
        err().print(f"Next: {escape(following)}", soft_wrap=True)
    else:
        show_measures(found, test)
        show_labels(found, 20)


def _show(model: Any, output: Path, seconds: float) -> None:
    print_chosen(out(), model)
    size = filesize.decimal(output.stat().st_size)
    out().print(f"Trained in {seconds:.1f} s. Wrote [bold]{escape(str(output))}[/] ({size}).", soft_wrap=True)


def _checked_output(output: Path | None, file: Path) -> Path:
    if output is None:
        output = Path("model.sdgs" if str(file) == "-" else f"{file.name.split('.')[0] or 'model'}.sdgs")
    if output.suffix.lower() != ".sdgs" or output.is_dir():
        raise typer.BadParameter(f"{output} must be a file that ends in .sdgs.", param_hint="--output")
    checked_folder(output)
    return output


def _model(cv: bool, settings: list[str], seed: int, jobs: int) -> Any:
    """A model that is yet to be fitted, with the parameters that were given."""
    model: Any = (sdgs.SDGSClassifierCV if cv else sdgs.SDGSClassifier)(random_state=seed, n_jobs=jobs)
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        known = list(model.get_params())
        if not equals or name not in known:
            near = ", ".join(get_close_matches(name, known) or known)
            wrong = f"{setting!r} is not NAME=VALUE with a parameter of {type(model).__name__}. Near it: {near}."
            raise typer.BadParameter(wrong, param_hint="--set")
        model.set_params(**{name: _value(text.strip())})
    try:
        model._check_parameters()
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None
    return model


def _value(text: str) -> Any:
    """A number, a tuple, None, True or False; else the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _complete(data: Any, file: Path) -> tuple[Any, Any]:
    """Samples all of whose labels are known; the label matrix sparse, for a dense one with one column means classes."""
    from scipy.sparse import csr_array

    if data.Y is None:
        give_up(f"{file}: no sample has labels, so there is nothing to learn from.")
    complete = ~np.isnan(data.Y).any(axis=1)
    if not complete.all():
        note(f"{file}: {int((~complete).sum())} samples have missing labels and are left out.")
    Y = data.Y[complete].astype(np.int8)
    count = Y.sum(axis=0, dtype=int)
    for number, what in (
        (0, "no sample has {}: such labels cannot be learnt."),
        (len(Y), "every sample has {}: such labels tell nothing."),
    ):
        some = [name for name, n in zip(data.label_names, count, strict=True) if n == number]
        if some and len(some) < len(data.label_names):
            note(f"{file}: " + what.format(", ".join(some[:10]) + (" ..." if len(some) > 10 else "")))
    return data.X if complete.all() else data.X[complete], csr_array(Y)


def _look_at(test: Path, named: NamedModel, label_column: str | None) -> None:
    """Whether it has what the model will need: before the training, which may take long."""
    with warnings.catch_warnings():  # which come when it is read
        warnings.simplefilter("ignore")
        with closing(named.blocks(test, None, with_labels=True, label_column=label_column)) as blocks:
            next(blocks, None)


def _train(model: Any, X: Any, Y: Any) -> None:
    with progress("Training", 1) as show:
        model._progress = show
        try:
            model.fit(X, Y)
        except ValueError as error:
            wrong = str(error)
        else:
            return
    give_up(wrong)
