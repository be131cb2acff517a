"""Options that several commands have."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        "-l",
        help="Columns that are labels: names or patterns such as 'genre_*', with commas between.",
        show_default=False,
    ),
]
LabelsFrom = Annotated[
    Path | None,
    typer.Option(help="File with the labels' names: one a line, or Mulan's .xml.", exists=True, dir_okay=False),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        help="The one column that lists all labels of a sample, as in 'calm;sad', if they have no columns themselves.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, such as an id: names or patterns.", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", "-f", help="arff, csv, tsv, parquet or svmlight, where the name does not say.", show_default=False
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="ARFF, svmlight, CSV or Parquet, compressed or not; - for standard input.", allow_dash=True
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="What sdgs fit wrote.", exists=True, dir_okay=False)]

Shape = Annotated[
    str | None, typer.Option(help="HEIGHTxWIDTH, if samples are images. Default: bars.", show_default=False)
]


def listed(text: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def checked_folder(output: Path) -> None:
    """Refuse a file in a folder that does not exist, or where nothing can be written."""
    if not output.parent.is_dir():
        raise typer.BadParameter(f"the folder {output.parent} does not exist. Create it first.", param_hint="--output")
    try:
        tempfile.TemporaryFile(dir=output.parent).close()
    except OSError as error:
        wrong = f"nothing can be written to the folder {output.parent} ({error.strerror}). Name another."
        raise typer.BadParameter(wrong, param_hint="--output") from None


def checked_picture(output: Path) -> None:
    """Refuse what cannot be written as a picture."""
    if output.suffix.lower() not in (".png", ".pdf", ".svg") or output.is_dir():
        raise typer.BadParameter(f"{output} must be a file that ends in .png, .pdf or .svg.", param_hint="--output")
    checked_folder(output)


def image_size(text: str | None) -> tuple[int, int] | None:
    """Height and width of the images that samples are; None where they are none."""
    if text is None:
        return None
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{text!r} must be HEIGHTxWIDTH, such as 8x8.", param_hint="--shape")
    return int(parts[0]), int(parts[1])


def check_image_size(size: tuple[int, int] | None, n_features: int) -> None:
    """Refuse images that have another number of pixels than samples have features."""
    if size is not None and size[0] * size[1] != n_features:
        wrong = f"samples have {n_features} features, not {size[0]}x{size[1]}."
        raise typer.BadParameter(wrong, param_hint="--shape")


def names(given: list[str] | None) -> list[str]:
    """All names of an option that can be repeated."""
    return [name for text in given or [] for name in listed(text)]


def label_options(labels: list[str] | None, labels_from: Path | None, label_column: str | None) -> dict[str, Any]:
    """What `sdgs.datasets.read` is to know of labels."""
    if bool(labels) + bool(labels_from) + bool(label_column) > 1:
        wrong = "give one of --labels, --labels-from and --label-column."
        raise typer.BadParameter(wrong, param_hint="--labels")
    if label_column:
        return {"label_column": label_column}
    if labels_from is not None and labels_from.suffix.lower() == ".xml":
        return {"xml": labels_from}
    if labels_from is not None:
        lines = labels_from.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        return {"labels": [line.strip() for line in lines if line.strip()]}
    return {"labels": names(labels) or None}
