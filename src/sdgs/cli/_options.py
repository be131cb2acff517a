"""Options that several commands share, and their validation."""

import os
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

MAX_COUNT = 10**9  # of what an option counts


def _check_jobs(jobs: int) -> int:
    if not 0 < abs(jobs) < 1 << 31:
        raise typer.BadParameter(f"{jobs} is not a number of threads. Give one from 1, or -1 for all cores.")
    return jobs


class InvalidCells(StrEnum):
    """What to do with cells that are not of the kind that a model needs."""

    error = "error"
    missing = "missing"


Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels", "-l", help="Columns that are labels: names or patterns such as 'genre_*', separated by commas."
    ),
]
LabelsFrom = Annotated[
    Path | None,
    typer.Option(help="File with the names of the labels: one per line, or Mulan's XML.", exists=True, dir_okay=False),
]
LabelColumn = Annotated[
    str | None, typer.Option(help="The column that lists all labels of a sample, as in 'calm;sad'.")
]
WeightColumn = Annotated[
    str | None,
    typer.Option(help="The column of a table with the weights of the samples, numbers from 0. It is no feature."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to drop, such as identifiers: names or patterns.")]
Text = Annotated[list[str] | None, typer.Option("--text", help="Columns to use as free text: names or patterns.")]
Category = Annotated[list[str] | None, typer.Option("--category", help="Columns to use as categories.")]
Number = Annotated[
    list[str] | None,
    typer.Option("--number", help="Columns to use as numbers; cells that are not numbers are missing values."),
]
Date = Annotated[list[str] | None, typer.Option("--date", help="Columns to use as dates.")]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="arff, csv, tsv, parquet, xlsx, jsonl or svmlight. Default: by the suffix."),
]
Invalid = Annotated[
    InvalidCells,
    typer.Option(help="Whether cells that are no numbers or dates, where the model needs them, are errors or missing."),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", callback=_check_jobs, help="Number of threads; -1 for all cores.")]
Processes = Annotated[
    int, typer.Option("--jobs", "-j", callback=_check_jobs, help="Number of processes; -1 for one per core.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="ARFF, svmlight, CSV, Excel, JSON lines or Parquet file, compressed or not; - for standard input.",
        allow_dash=True,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, written by sdgs fit.", exists=True, dir_okay=False)
]
DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder with NAME/NAME-train.arff and so on. Default: the folder in SDGS_DATA, then the cache."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Random seed.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
Shape = Annotated[str | None, typer.Option(help="HEIGHTxWIDTH, to draw samples as images. Default: bars.")]


def split_commas(text: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def split_names(values: list[str] | None) -> list[str]:
    """All names of an option that can be repeated."""
    return [name for text in values or [] for name in split_commas(text)]


def check_output(output: Path, *inputs: Path, suffixes: tuple[str, ...] = (), hint: str = "--output") -> None:
    """Reject an output file that cannot be written, has another suffix, or would overwrite an input."""
    if suffixes and (output.suffix.lower() not in suffixes or output.is_dir()):
        *others, last = suffixes
        ending = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(f"{output} must be a file that ends in {ending}.", param_hint=hint)
    if output.is_dir() or output.resolve() in [path.resolve() for path in inputs]:
        raise typer.BadParameter(f"{output} is a folder or one of the input files. Name another file.", param_hint=hint)
    if output.exists() and not os.access(output, os.W_OK):
        raise typer.BadParameter(f"{output} is read-only. Name another file.", param_hint=hint)
    if output.exists() and not output.is_file():  # a device or a pipe, which is not replaced
        return
    folder = Path(os.path.realpath(output)).parent if output.is_symlink() else output.parent
    if not folder.is_dir():
        raise typer.BadParameter(f"the folder {folder} does not exist. Create it first.", param_hint=hint)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        problem = f"cannot write to the folder {folder} ({error.strerror}). Name another folder."
        raise typer.BadParameter(problem, param_hint=hint) from None


def check_not_existing(output: Path, force: bool) -> None:
    """Reject a file that exists, unless it is to be replaced.

    For files that cannot be made again from others in a moment: models and data. Pages, pictures and predictions are
    replaced.
    """
    if output.is_file() and not force:
        raise typer.BadParameter(
            f"{output} exists. Name another file, or replace it with --force.", param_hint="--output"
        )


PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


def parse_image_size(text: str | None) -> tuple[int, int] | None:
    """Height and width of images; None if samples are not images."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise typer.BadParameter(f"{text!r} must be HEIGHTxWIDTH, such as 8x8.", param_hint="--shape")
    return int(sides[0]), int(sides[1])


def check_image_size(size: tuple[int, int] | None, n_features: int) -> None:
    """Reject an image size whose number of pixels is not the number of features."""
    if size is not None and size[0] * size[1] != n_features:
        problem = f"samples have {n_features} features, not {size[0]}x{size[1]}."
        raise typer.BadParameter(problem, param_hint="--shape")


def label_arguments(labels: list[str] | None, labels_from: Path | None, label_column: str | None) -> dict[str, Any]:
    """Arguments of `sdgs.datasets.read` about labels."""
    if bool(labels) + bool(labels_from) + bool(label_column) > 1:
        raise typer.BadParameter("give only one of --labels, --labels-from and --label-column.", param_hint="--labels")
    if label_column:
        return {"label_column": label_column}
    if labels_from is None:
        return {"labels": split_names(labels) or None}
    if ".xml" in map(str.lower, labels_from.suffixes):
        return {"xml": labels_from}
    from sdgs.datasets.readers._open import open_stream, read_lines

    with open_stream(labels_from) as stream:
        return {"labels": [line.strip() for line in read_lines(stream) if line.strip()]}
