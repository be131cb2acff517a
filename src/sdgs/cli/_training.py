"""Fitting a model to a file with labels: what `sdgs fit` and `sdgs audit` share."""

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

import sdgs
from sdgs.cli._console import count, exit_with_error, note, progress_bar
from sdgs.cli._data_notes import note_samples_and_labels
from sdgs.cli._info import MAX_LABELS
from sdgs.cli._table_data import TableSamples, TrainingData, fit_encoder, new_encoder

_MIN_SAMPLES = 2
_CONSTANTS = {"none": None, "true": True, "false": False}


def build_model(cv: bool, settings: list[str], seed: int, jobs: int, **options: str | None) -> Any:
    """An unfitted model with the given parameters; ``options`` are those with an option of their own, if not None."""
    model: Any = (sdgs.SDGSClassifierCV if cv else sdgs.SDGSClassifier)(random_state=seed, n_jobs=jobs)
    for name, text in options.items():
        if text is not None:
            model.set_params(**{name: _parse_value(text)})
            _check_parameters(model, f"--{name.replace('_', '-')}")
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        parameters = list(model.get_params())
        if not equals or name not in parameters:
            similar = get_close_matches(name, parameters)
            hint = f"Similar: {', '.join(similar)}." if similar else "sdgs fit --help lists the parameters."
            problem = f"{setting!r} is not NAME=VALUE with a parameter of {type(model).__name__}. {hint}"
            raise typer.BadParameter(problem, param_hint="--set")
        model.set_params(**{name: _parse_value(text.strip())})
    _check_parameters(model, "--set")
    return model


def _check_parameters(model: Any, option: str) -> None:
    try:
        model._check_parameters()
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _parse_value(text: str) -> Any:
    """A number, a tuple, None, True or False; else the text itself."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return text


def samples_with_labels(data: Any, file: Path) -> tuple[Any, Any, NDArray[np.intp]]:
    """Samples without missing labels, their labels, and which rows of the file they are.

    Labels are sparse, because one dense column would be a target of classes.
    """
    from scipy.sparse import csr_array

    from sdgs.datasets._statistics import complete_samples

    if data.Y is None:
        exit_with_error(f"{file}: no sample has labels, so there is nothing to learn from.")
    complete = complete_samples(data.Y)
    if not complete.all():
        note(f"{file}: samples left out because of missing labels: {int((~complete).sum())}.")
    if complete.sum() < _MIN_SAMPLES:
        exit_with_error(
            f"{file}: the file has {count(int(complete.sum()), 'sample')} with known labels; a model needs at least "
            f"{_MIN_SAMPLES}, and hundreds to be of use."
        )
    Y = data.Y[complete].astype(np.int8)
    counts = Y.sum(axis=0, dtype=int)
    if counts.size > MAX_LABELS:
        exit_with_error(
            f"{file}: {counts.size:,} labels, of which {np.count_nonzero(counts):,} occur, are too many: sdgs fit "
            f"takes {MAX_LABELS:,} at most. Keep the most frequent labels."
        )
    note_samples_and_labels(file, data)
    X = data.X if complete.all() else data.X[complete]
    return X, csr_array(Y), np.flatnonzero(complete)


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Samples to fit a model to: as the model takes them, and as a matrix with names of its columns."""

    samples: Any
    matrix: Any
    feature_names: tuple[str, ...]
    encoder: Any = None


def prepare_samples(model: Any, data: TrainingData, X: Any) -> TrainingSamples:
    """Encode samples of a table, and let the model do the same."""
    if not isinstance(X, TableSamples):
        return TrainingSamples(X, X, tuple(data.feature_names))
    if data.kinds:
        model.set_params(encode=new_encoder(data))
    encoder, matrix = fit_encoder(data, X.columns)
    return TrainingSamples(X.columns, matrix, tuple(map(str, encoder.get_feature_names_out())), encoder)


def train(model: Any, X: Any, Y: Any) -> None:
    """Fit a model, with a bar."""
    try:
        with progress_bar("Training", 1) as show:
            model._progress = show
            model.fit(X, Y)
    except ValueError as error:
        exit_with_error(str(error))
