"""`sdgs update`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import count, escape, exit_with_error, out, print_json, spinner
from sdgs.cli._models import NamedModel, load_sdgs_model, stack_rows
from sdgs.cli._sample_weights import check_weight_column, only_column, parse_weights

_MAX_NAMES_SHOWN = 20


def update(
    model: option.ModelFile,
    file: option.DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write, ending in .sdgs. Default: MODEL itself."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels", "-l", help="Columns that are labels which the model does not know: names or patterns."
        ),
    ] = None,
    label_column: option.LabelColumn = None,
    weight_column: option.WeightColumn = None,
    invalid: option.Invalid = option.InvalidCells.error,
    format: option.Format = None,  # noqa: A002
    force: option.Force = False,
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Learn from more samples with labels, without those of sdgs fit, and write the model file again.

    The model must have been fitted with --set keep_samples=10000 or another number. Columns and labels are matched by
    name. Names in the column of --label-column that the model does not know are new labels.

    \b
    Examples:
      sdgs fit songs.csv --labels 'is_*' --set keep_samples=10000
      sdgs update songs.sdgs new-songs.csv
      sdgs update songs.sdgs new-songs.csv --labels is_loud -o songs-2.sdgs
      sdgs update tickets.sdgs new-tickets.csv --label-column tags
    """
    if output is not None:
        option.check_output(output, file, suffixes=(".sdgs",))
        if output.resolve() != model.resolve():
            option.check_not_existing(output, force)
    named = _load(model, jobs)
    from sdgs.datasets.readers._new_labels import new_label_names

    check_weight_column(weight_column, file, format)
    with spinner(f"Reading {file}"):
        new = new_label_names(
            file, named.labels, patterns=option.split_names(labels), label_column=label_column, format=format
        )
        keep = [] if weight_column is None else [weight_column]
        known = replace(named, labels=(*named.labels, *new))
        blocks = list(known.labelled_cells(file, format, label_column, keep, invalid.value))
        X, Y = (stack_rows([getattr(block, name) for block in blocks]) for name in ("X", "Y"))
        weights = None
        if weight_column is not None:
            cells = [parse_weights(only_column(b.kept, weight_column), b.rows, file, weight_column) for b in blocks]
            weights = np.concatenate(cells)
    with spinner("Learning"):
        try:
            named.model._update_by_matrix(X, Y, new, weights)
        except ValueError as error:
            exit_with_error(f"{model}: {error}")
    path = output or model
    named.model.save(path)
    total = named.model.n_samples_seen_
    if json:
        print_json({"model": str(path), "samples": X.shape[0], "samples_in_all": total, "new_labels": list(new)})
        return
    out().print(f"Learnt {count(X.shape[0], 'sample')}; {total:,} in all.")
    if new:
        shown = ", ".join(new[:_MAX_NAMES_SHOWN]) + (" ..." if len(new) > _MAX_NAMES_SHOWN else "")
        out().print(f"New labels: {escape(shown)}", soft_wrap=True)
    size = filesize.decimal(path.stat().st_size)
    out().print(f"Wrote [bold]{escape(str(path))}[/] ({size}).", soft_wrap=True)


def _load(path: Path, jobs: int) -> NamedModel:
    """A model that can be updated."""
    named = load_sdgs_model(path, jobs, "sdgs update")
    model: Any = named.model
    if not hasattr(model, "update"):
        what = "a Pipeline" if type(model).__name__ == "Pipeline" else f"a {type(model).__name__}"
        exit_with_error(f"{path} holds {what}, which sdgs update does not take: it needs an SDGSClassifier.")
    if named.encoder is not None and model.encoder_ is None:
        exit_with_error(f"{path} holds a Pipeline, which sdgs update does not take: it needs an SDGSClassifier.")
    if not hasattr(model, "n_samples_seen_"):
        exit_with_error(
            f"{path} cannot be updated: the model kept nothing of its training samples. Fit it again with "
            "--set keep_samples=10000."
        )
    return named
