"""`sdgs predict`."""

import csv
import io
import json as jsonlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sdgs.cli._console import progress_bar
from sdgs.cli._models import NamedModel, load_model
from sdgs.cli._options import DataFile, Format, Jobs, ModelFile, check_output, split_names


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
        typer.Option(
            help="Columns of a CSV or Parquet file to copy, such as identifiers: names or patterns.", show_default=False
        ),
    ] = None,
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
        writer = _JsonLines() if json else _Csv(separator)
        blocks = named.blocks(file, format, keep=split_names(keep))
        parts = _predictions(named, blocks, writer, scores, top, show)
        if output is not None:
            from sdgs.persistence._atomic_write import write_atomically

            write_atomically(output, parts)
            return
        for part in parts:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()


class _Csv:
    """One line per sample, below a line with the names of the columns."""

    def __init__(self, separator: str) -> None:
        self._separator = separator

    def header(self, *columns: str) -> str:
        return self._line(columns)

    def labels(self, sample: int, kept: dict[str, str], names: list[str]) -> str:
        return self._line([sample, *kept.values(), self._separator.join(names)])

    def scores(self, sample: int, kept: dict[str, str], _: Sequence[str], scores: NDArray[Any]) -> str:
        return self._line([sample, *kept.values(), *(f"{score:.6g}" for score in scores)])

    def top(self, sample: int, kept: dict[str, str], names: list[str], scores: list[float]) -> str:
        texts = [f"{score:.6g}" for score in scores]
        return self._line([sample, *kept.values(), self._separator.join(names), self._separator.join(texts)])

    @staticmethod
    def _line(cells: Any) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        return text.getvalue()


class _JsonLines:
    """One JSON object per line."""

    def header(self, *_: str) -> str:
        return ""

    def labels(self, sample: int, kept: dict[str, str], names: list[str]) -> str:
        return self._line(sample, kept, labels=names)

    def scores(self, sample: int, kept: dict[str, str], names: Sequence[str], scores: NDArray[Any]) -> str:
        return self._line(sample, kept, scores=dict(zip(names, scores.tolist(), strict=True)))

    def top(self, sample: int, kept: dict[str, str], names: list[str], scores: list[float]) -> str:
        labels = [{"label": name, "score": score} for name, score in zip(names, scores, strict=True)]
        return self._line(sample, kept, top=labels)

    @staticmethod
    def _line(sample: int, kept: dict[str, str], **content: Any) -> str:
        optional = {"kept": kept} if kept else {}
        return jsonlib.dumps({"sample": sample, **optional, **content}, ensure_ascii=False) + "\n"


def _predictions(
    named: NamedModel,
    blocks: Iterator[Any],
    writer: _Csv | _JsonLines,
    scores: bool,
    top: int | None,
    show: Callable[[float, str], None],
) -> Iterator[bytes]:
    """The text to write, block by block. Samples are numbered from 1."""
    names, sample = named.labels, 0
    columns = names if scores else ("labels", "scores") if top else ("labels",)
    predict_rows = named.predict_scores if scores or top is not None else named.predict_labels
    for block in blocks:
        lines = [] if sample else [writer.header("sample", *block.kept, *columns)]
        for i, row in enumerate(predict_rows(block.X)):
            sample += 1
            kept = {name: cells[i] for name, cells in block.kept.items()}
            if scores:
                lines.append(writer.scores(sample, kept, names, row))
            elif top is not None:
                best = np.argsort(-row, kind="stable")[:top]
                lines.append(writer.top(sample, kept, [names[j] for j in best], row[best].tolist()))
            else:
                lines.append(writer.labels(sample, kept, [names[j] for j in np.flatnonzero(row)]))
        yield "".join(lines).encode()
        show(block.position, f"{sample:,} samples")
