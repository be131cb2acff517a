"""`sdgs report`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import filesize
from rich.markup import escape

from sdgs.cli._models import NamedModel, load
from sdgs.cli._options import (
    DataFile,
    Format,
    Jobs,
    LabelColumn,
    ModelFile,
    Shape,
    check_image_size,
    checked_folder,
    image_size,
)
from sdgs.cli._show import needs, out, working


def report(
    model: ModelFile,
    file: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write.")] = Path("report.html"),
    rivals: Annotated[
        Path | None,
        typer.Option(
            help="File to fit binary relevance and ML-kNN to, to compare with: what the model was fitted to.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    shape: Shape = None,
    title: Annotated[
        str | None, typer.Option(help="Of the page. Default: the name of FILE.", show_default=False)
    ] = None,
    explained: Annotated[int, typer.Option(min=0, help="Samples to take apart, at most.")] = 500,
    label_column: LabelColumn = None,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
) -> None:
    """One page about a model and a file whose labels are known: measures, labels, and samples taken apart.

    The page is a single file for any browser, and works offline.

    \b
    Examples:
      sdgs report emotions.sdgs emotions-test.arff
      sdgs report emotions.sdgs emotions-test.arff --rivals emotions-train.arff -o emotions.html
      sdgs report digits.sdgs digits.csv --shape 8x8
    """
    if output.is_dir() or output.resolve() in (file.resolve(), model.resolve()):
        raise typer.BadParameter(f"{output} is a folder, or what is read. Name another file.", param_hint="--output")
    checked_folder(output)
    size = image_size(shape)
    needs("A report", "jinja2", extra="report")
    with working(f"Reading {file}") as show:
        named = load(model, jobs)
        check_image_size(size, len(named.features))
        X, Y, numbers = _samples(named, file, format, label_column)
        others: dict[str, Any] = {}

        from sdgs.report import fit_compared_methods, write_model_report

        if rivals is not None:
            show(f"Fitting other methods to {rivals}")
            others = fit_compared_methods(*_samples(named, rivals, None, label_column)[:2])
        show("Taking samples apart")
        write_model_report(
            named.model,
            X,
            Y,
            output,
            feature_names=named.features,
            label_names=named.labels,
            sample_names=numbers,
            compared_methods=others,
            shape=size,
            title=file.name if title is None else title,
            max_explained=explained,
        )
    written = filesize.decimal(output.stat().st_size)
    out().print(f"Wrote [bold]{escape(str(output))}[/] ({written}). Open it in a browser.", soft_wrap=True)


def _samples(named: NamedModel, file: Path, kind: str | None, label_column: str | None) -> tuple[Any, Any, list[int]]:
    """Samples, labels, and the number of each sample in the file, from 1; those with missing labels are left out."""
    import numpy as np
    from scipy.sparse import csr_array, issparse, vstack

    X, Y, numbers, _ = zip(*named.labelled(file, kind, label_column), strict=True)
    stacked = csr_array(vstack(X, format="csr")) if issparse(X[0]) else np.vstack(X)
    return stacked, csr_array(vstack(Y, format="csr")), np.concatenate(numbers).tolist()
