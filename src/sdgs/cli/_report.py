"""`sdgs report`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import escape, exit_with_error, note, out, require_module, spinner
from sdgs.cli._models import NamedModel, load_sdgs_model, names_for_explanations, stack_rows


def report(
    model: option.ModelFile,
    file: option.DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")] = Path("report.html"),
    compare: Annotated[
        Path | None,
        typer.Option(
            help="Training file of the model. Binary relevance and ML-kNN are fitted to it, for comparison.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    shape: option.Shape = None,
    title: Annotated[str | None, typer.Option(help="Title of the page. Default: the name of FILE.")] = None,
    explained: Annotated[
        int, typer.Option(min=0, max=option.MAX_COUNT, help="Maximum number of samples to explain.")
    ] = 500,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns of a table to show beside the number of a sample: names or patterns."),
    ] = None,
    label_column: option.LabelColumn = None,
    invalid: option.Invalid = option.InvalidCells.error,
    format: option.Format = None,  # noqa: A002
    jobs: option.Jobs = -1,
) -> None:
    """Write a page about a model on a file with labels: measures, labels, and explained samples.

    The page is a single file for any browser, and works offline.

    \b
    Examples:
      sdgs report emotions.sdgs emotions-test.arff
      sdgs report emotions.sdgs emotions-test.arff \\
          --compare emotions-train.arff -o emotions.html
      sdgs report digits.sdgs digits.csv --shape 8x8
    """
    option.check_output(output, file, model)
    size = option.parse_image_size(shape)
    require_module("jinja2", "A report", extra="report")
    with spinner(f"Reading {file}") as show:
        named = load_sdgs_model(model, jobs, "A report")
        option.check_image_size(size, len(names_for_explanations(named)["feature_names"]))
        X, Y, names = _read_labelled(named, file, format, label_column, option.split_names(keep), invalid)

        from sdgs.report import fit_compared_methods, write_model_report

        compared: dict[str, Any] = {}
        if compare is not None:
            show(f"Fitting other methods to {compare}")
            X_compared, Y_compared, _ = _read_labelled(named, compare, None, label_column, [], invalid)
            compared = fit_compared_methods(*_complete_samples(X_compared, Y_compared, compare))
        show("Explaining samples")
        write_model_report(
            named.model,
            X,
            Y,
            output,
            **names_for_explanations(named),
            sample_names=names,
            compared_methods=compared,
            shape=size,
            title=file.name if title is None else title,
            max_explained=explained,
        )
    written = filesize.decimal(output.stat().st_size)
    out().print(f"Wrote [bold]{escape(str(output))}[/] ({written}). Open it in a browser.", soft_wrap=True)


def _read_labelled(
    named: NamedModel, file: Path, format_: str | None, label_column: str | None, keep: list[str], invalid: str
) -> tuple[Any, Any, list[str]]:
    """All samples with an observed label: X, Y, and their names: numbers from 1, and the cells of columns to keep."""
    X, Y, names, _ = zip(*named.labelled_blocks(file, format_, label_column, keep, invalid=invalid), strict=True)
    return stack_rows(X), stack_rows(Y), [name for block in names for name in block]


def _complete_samples(X: Any, Y: Any, file: Path) -> tuple[Any, Any]:
    """The samples whose labels are all observed: the methods to compare with take no others."""
    from sdgs._utils._unobserved_labels import split_unobserved

    labels, unobserved = split_unobserved(Y)
    if unobserved is None:
        return X, Y
    complete = unobserved.sum(axis=1) == 0
    if not complete.any():
        exit_with_error(f"{file}: no sample has only observed labels, which the methods to compare with need.")
    note(f"{file}: the other methods are fitted to the {int(complete.sum()):,} samples whose labels are all observed.")
    return X[complete], labels.tocsr()[complete]
