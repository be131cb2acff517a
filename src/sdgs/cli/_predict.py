"""`sdgs predict`."""

import io
import json as jsonlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdgs._utils._text import printable, printable_json
from sdgs.cli._console import progress_bar
from sdgs.cli._csv_lines import csv_writer
from sdgs.cli._models import NamedModel, load_model
from sdgs.cli._options import DataFile, Format, Invalid, InvalidCells, Jobs, ModelFile, check_output, split_names


def predict(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write the probability of every label.")] = False,
    top: Annotated[
        int | None, typer.Option(min=1, help="Write this many labels, the most probable first, with probabilities.")
    ] = None,
    separator: Annotated[str, typer.Option(help="Separator between labels in CSV.")] = ";",
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns of a table to copy, such as identifiers: names or patterns."),
    ] = None,
    invalid: Invalid = InvalidCells.error,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per line.")] = False,
) -> None:
    """Predict the labels of the samples of a file, and write them as CSV or JSON, in the same order.

    Columns are matched by name. Samples are read, predicted and written block by block, so files can be of any size.

    \b
    Examples:
      sdgs predict emotions.sdgs new.csv --keep id
      sdgs predict emotions.sdgs new.arff --top 3 -o labels.csv
      zcat big.svm.gz | sdgs predict rcv1.sdgs - --format svmlight --json | head
    """
    if scores and top is not None:
        raise typer.BadParameter("give --scores or --top, not both.", param_hint="--top")
    if output is not None:
        check_output(output, file, model)
    named = load_model(model, jobs)
    size = file.stat().st_size if file.is_file() else None
    # A bar would be printed between the lines of a result on the same terminal.
    with progress_bar(f"Predicting {file}", size, shown=output is not None or not sys.stdout.isatty()) as show:
        blocks = named.blocks(file, format, keep=split_names(keep), invalid=invalid.value)
        form = "scores" if scores else "labels" if top is None else "top"
        parts = _predictions(named, blocks, form, top, None if json else separator, show)
        if output is not None:
            from sdgs.persistence._atomic_write import write_atomically

            write_atomically(output, parts)
            return
        for part in parts:
            text = printable(part.decode(), keep="\r\n\t") if sys.stdout.isatty() else part.decode()
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()


def _predictions(
    named: NamedModel,
    blocks: Iterator[Any],
    form: str,
    top: int | None,
    separator: str | None,
    show: Callable[[float, str], None],
) -> Iterator[bytes]:
    """The text to write, block by block: JSON lines, or CSV if there is a separator. Samples are numbered from 1."""
    sample = 0
    predict_rows = named.predict_labels if form == "labels" else named.predict_scores
    columns = {"labels": ("labels",), "scores": named.labels, "top": ("labels", "scores")}[form]
    for block in blocks:
        text = io.StringIO()
        writer = csv_writer(text)
        if sample == 0 and separator is not None:
            writer.writerow(["sample", *block.kept, *columns])
        for i, row in enumerate(predict_rows(block.X)):
            sample += 1
            kept = {name: cells[i] for name, cells in block.kept.items()}
            chosen = np.flatnonzero(row) if form == "labels" else np.arange(row.size)
            if form == "top":
                chosen = np.argsort(-row, kind="stable")[:top]
            names, scores = [named.labels[j] for j in chosen], row[chosen].tolist()
            if separator is not None:
                writer.writerow([sample, *kept.values(), *_csv_cells(form, names, scores, separator)])
            else:
                content = {"sample": sample, **({"kept": kept} if kept else {}), form: _json_value(form, names, scores)}
                text.write(printable_json(jsonlib.dumps(content, ensure_ascii=False)) + "\n")
        yield text.getvalue().encode()
        show(block.position, f"{sample:,} samples")


def _csv_cells(form: str, names: list[str], scores: list[float], separator: str) -> list[str]:
    if form == "labels":
        return [separator.join(names)]
    texts = [f"{score:.6g}" for score in scores]
    return texts if form == "scores" else [separator.join(names), separator.join(texts)]


def _json_value(form: str, names: list[str], scores: list[float]) -> Any:
    if form == "labels":
        return names
    pairs = zip(names, scores, strict=True)
    return dict(pairs) if form == "scores" else [{"label": name, "score": score} for name, score in pairs]
