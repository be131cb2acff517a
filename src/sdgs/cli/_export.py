"""`sdgs export`."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import escape, exit_with_error, out, require_module


class ExportFormat(StrEnum):
    """The formats of :func:`sdgs.export`."""

    numpy = "numpy"
    onnx = "onnx"


def export(
    model: option.ModelFile,
    format: Annotated[  # noqa: A002
        ExportFormat,
        typer.Option("--format", "-f", help="numpy: a Python file that needs NumPy alone. onnx: an ONNX graph."),
    ] = ExportFormat.numpy,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, .py or .onnx. Default: the name of MODEL, in this folder."),
    ] = None,
    force: option.Force = False,
) -> None:
    """Write a model as one file that predicts without this package.

    A Python file takes all models that were fitted to numbers, an ONNX graph those with a closed form, and samples
    without missing values.

    \b
    Examples:
      sdgs export emotions.sdgs
      python -c "import emotions; print(emotions.LABELS)"
      sdgs export emotions.sdgs --format onnx -o emotions.onnx
    """
    from sdgs.cli._models import load_model
    from sdgs.deployment import export as export_model
    from sdgs.deployment._export_model import SUFFIXES
    from sdgs.deployment._model_description import ENCODES_TABLES

    suffix = SUFFIXES[format.value]
    output = output or Path(_module_name(model.stem) + suffix)
    option.check_output(output, model, suffixes=(suffix,))
    option.check_not_existing(output, force)
    if format is ExportFormat.onnx:
        require_module("onnx", "The format onnx", extra="export")
    named = load_model(model, 1)
    try:
        if named.encoder is not None:  # of the model or of a pipeline
            raise ValueError(ENCODES_TABLES)
        export_model(named.model, output, format=format.value)
    except ValueError as error:
        exit_with_error(f"{model} was not exported. {error}")
    written = filesize.decimal(output.stat().st_size)
    needs = "NumPy" if format is ExportFormat.numpy else "an ONNX runtime"
    out().print(f"Wrote [bold]{escape(str(output))}[/] ({written}). It needs {needs} alone.", soft_wrap=True)


def _module_name(stem: str) -> str:
    """The name of a file as one that Python can import."""
    name = re.sub(r"\W", "_", stem)
    return name if name.isidentifier() else f"model_{name}"
