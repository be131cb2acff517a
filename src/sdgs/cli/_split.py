"""`sdgs split`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli import _options as option
from sdgs.cli._console import count, escape, exit_with_error, note, out, print_json, spinner
from sdgs.cli._file_parts import part_suffix, write_rows
from sdgs.cli._holdout import check_share, split_samples

_MAX_FOLDS = 1000  # each is two files
_MAX_LISTED = 6
Rows = NDArray[np.intp]


def split(
    file: option.DataFile,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PREFIX",
            help="What the names of the files begin with. Default: the name of FILE, in this folder.",
        ),
    ] = None,
    test: Annotated[
        float | None, typer.Option(help="Share of the samples for testing. Default: 0.2, without --folds.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, max=_MAX_FOLDS, help="Number of folds: each is the test file of one split."),
    ] = None,
    labels: option.Labels = None,
    labels_from: option.LabelsFrom = None,
    label_column: option.LabelColumn = None,
    group_column: Annotated[
        str | None, typer.Option(help="Column of a table: samples with the same cell stay together.")
    ] = None,
    format: option.Format = None,  # noqa: A002
    force: option.Force = False,
    seed: option.Seed = 0,
    json: option.Json = False,
) -> None:
    """Split a file into files for training and testing, in which each label has the same share.

    Lines and cells stay as they are, and in their order. CSV and TSV files are written with the same separator, ARFF,
    JSON lines, svmlight and Parquet files in the same format, Excel files as CSV, all without compression and in UTF-8.

    \b
    Examples:
      sdgs split songs.csv --label-column moods
      sdgs split songs.csv --labels 'is_*' --test 0.3 --group-column artist \\
          -o parts/songs
      sdgs split emotions.arff --folds 5
    """
    from sdgs.datasets.readers._formats import TABLE_FORMATS, check_is_table, detect_format

    if test is not None and folds is not None:
        raise typer.BadParameter("give --test or --folds, not both.", param_hint="--test")
    if str(file) == "-":
        raise typer.BadParameter("needs a file, because standard input is read once.", param_hint="FILE")
    check_share(test, "--test")
    format_ = detect_format(file, format)
    if group_column is not None:
        check_is_table(format_, file, "A column of groups")
    prefix = file.name.split(".")[0] if output is None else output
    names = ["-"] if folds is None else [f"-fold{i + 1}-" for i in range(folds)]
    paths = [tuple(Path(f"{prefix}{name}{part}{part_suffix(format_)}") for part in ("train", "test")) for name in names]
    for path in (path for pair in paths for path in pair):
        option.check_output(path, file)
        option.check_not_existing(path, force)
    with spinner(f"Reading {file}"):
        arguments = option.label_arguments(labels, labels_from, label_column)
        read_labels = _table_labels if format_ in TABLE_FORMATS else _other_labels
        Y, groups = read_labels(file, format_, arguments, group_column)
    written = []
    for pair, (train_rows, test_rows) in zip(paths, _splits(Y, groups, test, folds, seed), strict=True):
        for path, rows in zip(pair, (train_rows, test_rows), strict=True):
            write_rows(path, file, format_, rows)
            written.append((path, int(rows.size)))
    if json:
        print_json({"files": [{"file": str(path), "samples": n} for path, n in written]})
        return
    for path, n in written[:_MAX_LISTED]:
        out().print(f"Wrote [bold]{escape(str(path))}[/]: {count(n, 'sample')}.", soft_wrap=True)
    if len(written) > _MAX_LISTED:
        out().print(f"[dim]... and {len(written) - _MAX_LISTED} more files.[/]")
    if format_ == "xlsx":
        note("Excel files are written as CSV.")


def _table_labels(file: Path, format_: str, arguments: dict[str, Any], group_column: str | None) -> tuple[Any, Any]:
    """The label matrix of a table, and the cells of the column of groups; other columns are not read."""
    from sdgs.datasets.readers._column_selection import match_columns
    from sdgs.datasets.readers._mulan_meka import read_label_names
    from sdgs.datasets.readers._open_table import open_table
    from sdgs.datasets.readers._table_labels import TableLabels

    names = read_label_names(arguments["xml"]) if "xml" in arguments else arguments.get("labels")
    with open_table(file, format_, None, whole=True) as source:
        labels = TableLabels(source, names, arguments.get("label_column"), [])
        matched = [] if group_column is None else match_columns([group_column], source.names, source.name, "group")
        if len(matched) > 1:
            raise typer.BadParameter(
                f"{group_column!r} matches several columns. Name one.", param_hint="--group-column"
            )
        groups = list[str]()
        for rows in source.blocks(list(dict.fromkeys([*labels.columns, *matched]))):
            labels.add(rows)
            groups += [cell for name in matched for cell in rows.texts(name)]
        return labels.values()[1], groups if matched else None


def _other_labels(file: Path, format_: str, arguments: dict[str, Any], _: str | None) -> tuple[Any, Any]:
    """The label matrix of an ARFF or svmlight file, which have no groups."""
    from sdgs.datasets import read

    return read(file, **arguments, format=format_).Y, None


def _splits(Y: Any, groups: Any, test: float | None, folds: int | None, seed: int) -> list[tuple[Rows, Rows]]:
    """The rows for training and for testing of each split, in order."""
    from scipy.sparse import csr_array

    from sdgs.model_selection import MultilabelStratifiedKFold

    if Y is None or np.isnan(Y).all():
        exit_with_error("No sample has labels, so there is nothing to stratify by.")
    labels = csr_array(Y)
    if folds is None:
        held_out, kept = split_samples(labels, 0.2 if test is None else test, seed, groups=groups, hint="--test")
        return [(kept, held_out)]
    try:
        return list(MultilabelStratifiedKFold(folds, random_state=seed).split(labels, labels, groups))
    except ValueError as error:  # fewer samples or groups than folds
        exit_with_error(str(error))
