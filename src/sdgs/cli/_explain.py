"""`sdgs explain`."""

import io
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sdgs.cli._models import NamedModel, load
from sdgs.cli._options import (
    DataFile,
    Format,
    Jobs,
    Json,
    ModelFile,
    Shape,
    check_image_size,
    checked_picture,
    image_size,
    listed,
)
from sdgs.cli._show import err, give_up, needs, out, print_json, working


def explain(
    model: ModelFile,
    file: DataFile,
    samples: Annotated[
        str, typer.Option("--samples", "-n", help="Numbers of samples, from 1, with commas between.")
    ] = "1",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Picture of the first of them to write (.png, .pdf or .svg)."),
    ] = None,
    shape: Shape = None,
    names: Annotated[int, typer.Option(min=1, help="Features to name for each label, at most.")] = 5,
    format: Format = None,  # noqa: A002
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Take samples apart: what each predicted label contributes, which features speak for it, and what is left over.

    \b
    Examples:
      sdgs explain emotions.sdgs emotions-test.arff
      sdgs explain emotions.sdgs new.csv --samples 3,17 --json
      sdgs explain digits.sdgs digits.csv --samples 2 --shape 8x8 -o digit.png
    """
    wanted, size = _numbers(samples), image_size(shape)
    if output is not None:
        checked_picture(output)
        needs("A picture", "matplotlib", extra="plot")
    with working(f"Reading {file}"):
        named = load(model, jobs)
        check_image_size(size, len(named.features))
        X = _rows(named, file, format, wanted)
        found = named.model.explain(X, feature_names=named.features, label_names=named.labels)
    if json:
        print_json([_plain(number, one, names) for number, one in zip(wanted, found, strict=True)])
    else:
        for number, one in zip(wanted, found, strict=True):
            out().print(f"[bold]Sample {number}[/]")
            out().print(escape(one.text(max_names=names)), soft_wrap=True)
    if output is not None:
        from sdgs.persistence._atomic_write import write_atomically

        picture = io.BytesIO()
        found[0].plot(shape=size).figure_.savefig(picture, format=output.suffix[1:].lower(), bbox_inches="tight")
        write_atomically(output, picture.getvalue())
        err().print(f"Wrote {escape(str(output))}.", soft_wrap=True)


def _numbers(text: str) -> list[int]:
    parts = listed(text)
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{text!r} must be numbers from 1, with commas between.", param_hint="--samples")
    return [int(part) for part in parts]


def _rows(named: NamedModel, file: Path, kind: str | None, wanted: list[int]) -> Any:
    """Samples by their numbers; the file is read only as far as the last of them."""
    import numpy as np
    from scipy.sparse import csr_array, issparse, vstack

    rows: dict[int, Any] = {}
    first = 1  # sample of the block
    with closing(named.blocks(file, kind)) as blocks:
        for block in blocks:
            n = block.X.shape[0]
            rows.update({number: block.X[[number - first]] for number in wanted if first <= number < first + n})
            first += n
            if first > max(wanted):
                break
    absent = [number for number in wanted if number not in rows]
    if absent:
        give_up(f"{file}: there is no sample {absent[0]}; there are {first - 1}.")
    found = [rows[number] for number in wanted]
    return csr_array(vstack(found, format="csr")) if issparse(found[0]) else np.vstack(found)


def _plain(number: int, one: Any, n_names: int) -> dict[str, Any]:
    labels = []
    for i, name in enumerate(one.label_names):
        reasons, part = one.reasons(i, n_names), one.contributions[i]
        labels.append(
            {
                "label": str(name),
                "probability": None if one.probabilities is None else float(one.probabilities[i]),
                "share": float(one.shares[i]),
                "unique_share": float(one.unique_shares[i]),
                "because_of": [
                    {"feature": str(one.terms.feature_names[j]), "value": float(one.sample[j]), "part": float(part[j])}
                    for j in reasons
                ],
            }
        )
    residuals = [
        {
            "feature": str(entry.name),
            "value": entry.value,
            "expected": entry.expected,
            "size": entry.size,
            "corrupted": entry.corrupted,
        }
        for entry in one.top_residuals(n_names)
    ]
    return {"sample": number, "labels": labels, "residuals": residuals}
