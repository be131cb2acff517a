"""`sdgs audit`."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import (
    err,
    escape,
    format_sizes,
    make_table,
    note,
    out,
    print_json,
    print_sentences,
    require_module,
    spinner,
)
from sdgs.cli._csv_lines import csv_writer
from sdgs.cli._info import note_counters, print_dropped
from sdgs.cli._table_data import print_columns, read_training_data
from sdgs.cli._training import build_model, prepare_samples, samples_with_labels, train

_COLUMNS = ("sample", "label", "given", "probability", "reason", "other", "distance")
_MAX_LABELS_SHOWN = 6  # of a sample, in a table on the terminal
_MAX_CELLS = 8  # of a sample, by default
_MAX_CELL_LENGTH, _MAX_LINE_LENGTH = 60, 160  # of one cell and of all, in a table on the terminal


@dataclass(frozen=True, eq=False)
class _Audit:
    """What was found in a file, and what it is shown with. Samples are named by their numbers in the file, from 1."""

    data: Any
    X: Any
    Y: Any
    suspicious: Any
    duplicates: Any
    probabilities: dict[int, NDArray[np.float32]]  # of the checked samples, by row
    cells: dict[str, list[str]]  # of columns of the file, by row of X

    def labels_of(self, row: int, without: int = -1) -> list[str]:
        """The names of the given labels of a sample."""
        entries = slice(self.Y.indptr[row], self.Y.indptr[row + 1])
        columns = self.Y.indices[entries][self.Y.data[entries] == 1]
        return [self.data.label_names[j] for j in columns if j != without]

    def cells_of(self, row: int) -> dict[str, str]:
        """The cells of a sample by columns."""
        return {name: texts[row] for name, texts in self.cells.items()}

    def shown_cells(self, row: int) -> str:
        """The starts of the cells that are not empty, in one line."""
        texts = {name: " ".join(cell.split()) for name, cell in self.cells_of(row).items()}
        starts = {
            name: cell[:_MAX_CELL_LENGTH] + "..." * (len(cell) > _MAX_CELL_LENGTH) for name, cell in texts.items()
        }
        return escape(" · ".join(f"{name}: {start}" for name, start in starts.items() if start))


def audit(
    file: option.DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write: a table with all of them (.csv), or a page (.html)."),
    ] = None,
    labels: option.Labels = None,
    labels_from: option.LabelsFrom = None,
    label_column: option.LabelColumn = None,
    drop: option.Drop = None,
    text: option.Text = None,
    category: option.Category = None,
    number: option.Number = None,
    date: option.Date = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of a table to show with each sample: names or patterns. Default: those of a table with text "
            f"or categories, {_MAX_CELLS} at most."
        ),
    ] = None,
    format: option.Format = None,  # noqa: A002
    top: Annotated[int, typer.Option(min=0, help="Maximum number of rows of each table that is printed.")] = 10,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=option.MAX_COUNT,
            help="How many suspicious labels to list. Default: as many as are probably mistakes.",
        ),
    ] = None,
    max_distance: Annotated[
        float,
        typer.Option(min=0, max=1, help="Largest distance of near-duplicates: 0 for copies, 1 for any two samples."),
    ] = 0.1,
    cv: Annotated[bool, typer.Option("--cv", help="Select the parameters of the model by cross-validation.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the model, as NAME=VALUE; can be repeated.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page. Default: the name of FILE.")] = None,
    seed: option.Seed = 0,
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Find labels that are probably wrong or missing, and near-duplicates with different labels.

    The labels are compared with probabilities from cross-validation. The file is not changed.

    \b
    Examples:
      sdgs audit emotions-train.arff
      sdgs audit songs.csv --labels 'is_*' --drop id -o suspicious.html
      sdgs audit songs.csv --label-column moods --keep title -o suspicious.csv
    """
    if output is not None:
        option.check_output(output, file, suffixes=(".csv", ".html"))
        if output.suffix.lower() == ".html":
            require_module("jinja2", "A page", extra="report")
    model = build_model(cv, settings or [], seed, jobs)
    if getattr(model, "readout", "ridge") != "ridge":
        raise typer.BadParameter('the audit needs probabilities: readout="ridge".', param_hint="--set")
    with spinner(f"Reading {file}"):
        options = option.label_arguments(labels, labels_from, label_column)
        kinds = {"text": text, "category": category, "number": number, "date": date}
        data = read_training_data(
            file, options, option.split_names(drop), format, kinds, numbers_only=model.encode is None
        )
    X, Y, rows = samples_with_labels(data, file)
    if not json:
        out().print(f"[bold]{escape(file.name)}[/]: {format_sizes(X, Y.shape[1])}", soft_wrap=True)
        print_dropped(data.dropped)
        note_counters(data)
    training = prepare_samples(model, data, X)
    cells = _kept_cells(file, format, option.split_names(keep), training.encoder, rows)
    if training.encoder is not None and not json:
        print_columns(training.encoder, file)
    train(model, training.samples, Y)
    X, data = training.matrix, replace(data, feature_names=training.feature_names)
    result = _find(model, data, X, Y, rows, pairs, max_distance, cells)
    if json:
        print_json(_json_content(result))
    else:
        _print_tables(result, top)
    if output is not None:
        _write(result, output, file.name if title is None else title)
    elif not json:
        err().print("All of them in a table: -o suspicious.csv. A page: -o suspicious.html", soft_wrap=True)


def _kept_cells(
    file: Path, format_: str | None, keep: list[str], encoder: Any, rows: NDArray[np.intp]
) -> dict[str, list[str]]:
    """The cells of these rows in the columns to keep; by default in the first columns of a table, text first."""
    from sdgs.datasets.readers._original_cells import read_cells

    if str(file) == "-":
        if keep:
            raise typer.BadParameter("needs a file, because standard input is read once.", param_hint="--keep")
        return {}
    if not keep and encoder is not None:
        columns = sorted(encoder.columns_, key=lambda column: column.kind != "text")
        keep = [column.name for column in columns if column.reason not in ("constant", "empty")][:_MAX_CELLS]
    cells = read_cells(file, keep, format_) if keep else {}
    return {name: [texts[row] for row in rows] for name, texts in cells.items()}


def _find(
    model: Any,
    data: Any,
    X: Any,
    Y: Any,
    rows: NDArray[np.intp],
    pairs: int | None,
    max_distance: float,
    cells: dict[str, list[str]],
) -> _Audit:
    from sdgs.audit import find_differing_duplicates

    n = X.shape[0]
    numbers = rows + 1
    suspicious = model.suspicious_labels(n_pairs="auto" if pairs is None else pairs, label_names=data.label_names)
    if suspicious.n_samples < n:
        note(
            f"The labels of {suspicious.n_samples:,} of {n:,} samples were checked: cross-validation of many samples "
            "does not predict all of them."
        )
    with spinner("Comparing samples"):
        duplicates = find_differing_duplicates(
            X, Y, max_distance=max_distance, label_names=data.label_names, sample_names=numbers
        )
    checked = zip(model.out_of_fold_rows_.tolist(), model.out_of_fold_probabilities_, strict=True)
    suspicious = replace(suspicious, sample_names=numbers[suspicious.rows])
    return _Audit(data, X, Y, suspicious, duplicates, dict(checked), cells)


def _print_tables(result: _Audit, top: int) -> None:
    suspicious, duplicates = result.suspicious, result.duplicates
    print_sentences(suspicious.summary())
    for title, others, found in (
        ("Given but improbable", "its other labels", suspicious.wrong),
        ("Not given but probable", "its labels", suspicious.missing),
    ):
        if len(found) and top:
            table = make_table("sample", "label", "probability", others, *(["cells"] if result.cells else []))
            for i in range(min(len(found), top)):
                row = int(found.rows[i])
                names, cells = (
                    result.labels_of(row, int(found.labels[i])),
                    [result.shown_cells(row)] * bool(result.cells),
                )
                name = escape(found.label_names[found.labels[i]]) or "(no name)"
                table.add_row(str(found.sample_names[i]), name, f"{found.probability[i]:.3f}", _join(names), *cells)
            _print_table(title, table, len(found), top)
    print_sentences(duplicates.summary())
    if len(duplicates) and top:
        table = make_table("samples", "distance", "only the first has", "only the second has")
        for i in range(min(len(duplicates), top)):
            numbers = " and ".join(map(str, duplicates.sample_names[i]))
            distance = "equal" if duplicates.distance[i] == 0 else f"{duplicates.distance[i]:.2g}"
            table.add_row(numbers, distance, _join(duplicates.only_first(i)), _join(duplicates.only_second(i)))
        _print_table("Near-duplicates with different labels", table, len(duplicates), top)


def _print_table(title: str, table: Any, n_rows: int, top: int) -> None:
    for i, column in enumerate(table.columns):
        column.justify = "right" if column.header in ("probability", "distance") else "left"
        column.no_wrap = i == 0
    out().print(f"[bold]{title}[/]")
    out().print(table)
    if n_rows > top:
        out().print(f"[dim]... and {n_rows - top:,} more. To print all: --top {n_rows}[/]")


def _join(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_LABELS_SHOWN} more" if len(names) > _MAX_LABELS_SHOWN else ""
    return (", ".join(escape(name) or "(no name)" for name in names[:_MAX_LABELS_SHOWN]) + more) or "-"


def _json_content(result: _Audit) -> dict[str, Any]:
    suspicious, duplicates = result.suspicious, result.duplicates
    pairs = zip(suspicious.sample_names, suspicious.labels, suspicious.given, suspicious.probability, strict=True)
    scored = zip(pairs, suspicious.score, suspicious.rows, strict=True)
    return {
        "samples": result.X.shape[0],
        "checked": suspicious.n_samples,
        "given": suspicious.n_given,
        "estimated_wrong": suspicious.n_wrong,
        "likely_missing": suspicious.n_missing,
        "suspicious": [
            {
                "sample": int(sample),
                "label": result.data.label_names[label],
                "given": bool(given),
                "probability": float(probability),
                "score": float(score),
                **({"cells": result.cells_of(int(row))} if result.cells else {}),
            }
            for (sample, label, given, probability), score, row in scored
        ],
        "duplicates": [
            {
                "samples": [int(number) for number in duplicates.sample_names[i]],
                "distance": float(duplicates.distance[i]),
                "only_first": duplicates.only_first(i),
                "only_second": duplicates.only_second(i),
            }
            for i in range(len(duplicates))
        ],
    }


def _write(result: _Audit, output: Path, title: str) -> None:
    from sdgs.audit import write_audit_page
    from sdgs.persistence._atomic_write import write_atomically

    if output.suffix.lower() == ".html":
        write_audit_page(
            result.suspicious,
            result.duplicates,
            result.X,
            result.Y,
            output,
            feature_names=result.data.feature_names,
            title=title,
            cells=result.cells,
        )
    else:
        text = io.StringIO()
        csv_writer(text).writerows([[*_COLUMNS, *result.cells], *_csv_rows(result)])
        write_atomically(output, text.getvalue().encode())
    size = filesize.decimal(output.stat().st_size) if output.is_file() else ""
    err().print(f"Wrote [bold]{escape(str(output))}[/]{f' ({size})' if size else ''}.", soft_wrap=True)


def _csv_rows(result: _Audit) -> Iterator[list[Any]]:
    """One row per suspicious label, then one per label that two near-duplicates do not share."""
    suspicious, duplicates = result.suspicious, result.duplicates
    for i in range(len(suspicious)):
        name, is_given = result.data.label_names[suspicious.labels[i]], bool(suspicious.given[i])
        reason = "improbable" if is_given else "probable"
        cells = result.cells_of(int(suspicious.rows[i])).values()
        yield [
            *(suspicious.sample_names[i], name, int(is_given), f"{suspicious.probability[i]:.6g}", reason, "", ""),
            *cells,
        ]
    columns = {name: j for j, name in enumerate(result.data.label_names)}
    for i in range(len(duplicates)):
        first, second = duplicates.sample_names[i]
        cells = result.cells_of(int(duplicates.rows[i, 0])).values()
        P = result.probabilities.get(int(duplicates.rows[i, 0]))
        for given, names in ((1, duplicates.only_first(i)), (0, duplicates.only_second(i))):
            for name in names:
                probability = "" if P is None else f"{P[columns[name]]:.6g}"
                distance = f"{duplicates.distance[i]:.6g}"
                yield [first, name, given, probability, "duplicate", second, distance, *cells]
