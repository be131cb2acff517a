"""`sdgs predict`."""

import csv
import io
import json as jsonlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli._models import NamedModel, load
from sdgs.cli._options import DataFile, Format, Jobs, ModelFile, checked_folder, names
from sdgs.cli._show import progress


def predict(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="The probability of every label.")] = False,
    top: Annotated[
        int | None, typer.Option(min=1, help="The so many most probable labels, with their probabilities.")
    ] = None,
    separator: Annotated[str, typer.Option(help="What stands between labels.")] = ";",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to write as well, such as an id: names or patterns. CSV and Parquet.", show_default=False
        ),
    ] = None,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")] = False,
) -> None:
    """Labels for the samples of a file, as CSV or JSON, in their order.

    Columns are found by their names. Files of any size: samples are read, predicted and written block by block.

    \b
    Examples:
      sdgs predict emotions.sdgs new.csv --keep id
      sdgs predict emotions.sdgs new.arff --top 3 -o labels.csv
      zcat big.svm.gz | sdgs predict rcv1.sdgs - --format svmlight --json | head
    """
    if scores and top is not None:
        raise typer.BadParameter("give --scores or --top, not both.", param_hint="--top")
    if output is not None:
        checked_folder(output)
    if output is not None and (output.is_dir() or output.resolve() in (file.resolve(), model.resolve())):
        raise typer.BadParameter(f"{output} is a folder, or what is read. Name another file.", param_hint="--output")
    named = load(model, jobs)
    size = file.stat().st_size if file.is_file() else None
    # A bar between the lines of the result would be in the way.
    with progress(f"Predicting {file}", size, shown=output is not None or not sys.stdout.isatty()) as show:
        form = _Json() if json else _Csv(separator)
        parts = _parts(named, named.blocks(file, format, keep=names(keep)), form, scores, top, show)
        if output is not None:
            from sdgs.persistence._atomic_write import write_atomically

            write_atomically(output, parts)
            return
        for part in parts:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()


@dataclass(frozen=True)
class _Place:
    """Which sample it is: its number, from 1, and the cells of the columns that are kept."""

    sample: int
    kept: dict[str, str]


class _Csv:
    """A line a sample, under a line with names."""

    def __init__(self, separator: str) -> None:
        self._separator = separator

    def head(self, *columns: str) -> str:
        return self._line(columns)

    def labels(self, place: _Place, names: list[str]) -> str:
        return self._at(place, self._separator.join(names))

    def scores(self, place: _Place, _: tuple[str, ...], scores: NDArray[Any]) -> str:
        return self._at(place, *(f"{score:.6g}" for score in scores))

    def top(self, place: _Place, names: list[str], scores: list[float]) -> str:
        both = self._separator.join(names), self._separator.join(f"{score:.6g}" for score in scores)
        return self._at(place, *both)

    def _at(self, place: _Place, *cells: str) -> str:
        return self._line([str(place.sample), *place.kept.values(), *cells])

    @staticmethod
    def _line(cells: Any) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        return text.getvalue()


class _Json:
    """An object a line."""

    def head(self, *_: str) -> str:
        return ""

    def labels(self, place: _Place, names: list[str]) -> str:
        return self._at(place, labels=names)

    def scores(self, place: _Place, names: tuple[str, ...], scores: NDArray[Any]) -> str:
        return self._at(place, scores=dict(zip(names, scores.tolist(), strict=True)))

    def top(self, place: _Place, names: list[str], scores: list[float]) -> str:
        return self._at(place, top=[{"label": name, "score": score} for name, score in zip(names, scores, strict=True)])

    @staticmethod
    def _at(place: _Place, **content: Any) -> str:
        kept = {"kept": place.kept} if place.kept else {}
        return jsonlib.dumps({"sample": place.sample, **kept, **content}, ensure_ascii=False) + "\n"


def _parts(
    named: NamedModel, blocks: Iterator[Any], form: _Csv | _Json, scores: bool, top: int | None, show: Any
) -> Iterator[bytes]:
    """What is to be written, block by block."""
    names, sample = named.labels, 0
    columns = names if scores else ("labels", "scores") if top else ("labels",)
    for block in blocks:
        lines = [] if sample else [form.head("sample", *block.kept, *columns)]
        by_scores = scores or top is not None
        for i, row in enumerate(named.scores(block.X) if by_scores else named.predicted(block.X)):
            sample += 1
            place = _Place(sample, {name: cells[i] for name, cells in block.kept.items()})
            if scores:
                lines.append(form.scores(place, names, row))
            elif top is not None:
                best = np.argsort(-row, kind="stable")[:top]
                lines.append(form.top(place, [names[j] for j in best], row[best].tolist()))
            else:
                lines.append(form.labels(place, [names[j] for j in np.flatnonzero(row)]))
        yield "".join(lines).encode()
        show(block.position, f"{sample:,} samples")
