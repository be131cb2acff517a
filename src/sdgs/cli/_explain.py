"""`sdgs explain`."""

import io
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from sdgs.cli import _options as option
from sdgs.cli._console import err, escape, exit_with_error, out, print_json, require_module, spinner
from sdgs.cli._models import NamedModel, load_model, stack_rows


def explain(
    model: option.ModelFile,
    file: option.DataFile,
    samples: Annotated[
        str, typer.Option("--samples", "-n", help="Numbers of samples, from 1, separated by commas.")
    ] = "1",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Picture of the first sample to write (.png, .pdf or .svg)."),
    ] = None,
    shape: option.Shape = None,
    names: Annotated[
        int, typer.Option(min=1, max=option.MAX_COUNT, help="Maximum number of features to name per label.")
    ] = 5,
    format: option.Format = None,  # noqa: A002
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Explain predictions: the contribution of each predicted label, its main features, and the unexplained residual.

    \b
    Examples:
      sdgs explain emotions.sdgs emotions-test.arff
      sdgs explain emotions.sdgs new.csv --samples 3,17 --json
      sdgs explain digits.sdgs digits.csv --samples 2 --shape 8x8 -o digit.png
    """
    numbers, size = _parse_numbers(samples), option.parse_image_size(shape)
    if output is not None:
        option.check_output(output, suffixes=option.PICTURE_SUFFIXES)
        require_module("matplotlib", "A picture", extra="plot")
    with spinner(f"Reading {file}"):
        named = load_model(model, jobs)
        option.check_image_size(size, len(named.features))
        X = _read_samples(named, file, format, numbers)
        explanations = named.model.explain(X, feature_names=named.features, label_names=named.labels)
    if json:
        print_json([_json_content(*pair, names) for pair in zip(numbers, explanations, strict=True)])
    else:
        for number, explanation in zip(numbers, explanations, strict=True):
            out().print(f"[bold]Sample {number}[/]")
            out().print(escape(explanation.text(max_names=names), keep="\n"), soft_wrap=True)
    if output is not None:
        from sdgs.persistence._atomic_write import write_atomically

        picture = io.BytesIO()
        figure = explanations[0].plot(shape=size).figure_
        figure.savefig(picture, format=output.suffix[1:].lower(), bbox_inches="tight")
        write_atomically(output, picture.getvalue())
        err().print(f"Wrote {escape(str(output))}.", soft_wrap=True)


def _parse_numbers(text: str) -> list[int]:
    parts = option.split_commas(text)
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{text!r} must be numbers from 1, separated by commas.", param_hint="--samples")
    return [int(part) for part in parts]


def _read_samples(named: NamedModel, file: Path, format_: str | None, numbers: list[int]) -> Any:
    """Samples by their numbers. The file is read only up to the last of them."""
    rows: dict[int, Any] = {}
    first = 1  # number of the first sample of the block
    with closing(named.blocks(file, format_)) as blocks:
        for block in blocks:
            n = block.X.shape[0]
            rows.update({number: block.X[[number - first]] for number in numbers if first <= number < first + n})
            first += n
            if first > max(numbers):
                break
    missing = [number for number in numbers if number not in rows]
    if missing:
        exit_with_error(f"{file}: there is no sample {missing[0]}; the file has {first - 1}.")
    return stack_rows([rows[number] for number in numbers])


def _json_content(number: int, explanation: Any, n_names: int) -> dict[str, Any]:
    labels, names = [], explanation.terms.feature_names
    for i, name in enumerate(explanation.label_names):
        contribution, probabilities = explanation.contributions[i], explanation.probabilities
        features = [
            {"feature": str(names[j]), "value": float(explanation.sample[j]), "part": float(contribution[j])}
            for j in explanation.reasons(i, n_names)
        ]
        labels.append(
            {
                "label": str(name),
                "probability": None if probabilities is None else float(probabilities[i]),
                "share": float(explanation.shares[i]),
                "unique_share": float(explanation.unique_shares[i]),
                "features": features,
            }
        )
    keys = ("value", "expected", "size", "corrupted")
    residuals = [
        {"feature": str(entry.name), **{key: getattr(entry, key) for key in keys}}
        for entry in explanation.top_residuals(n_names)
    ]
    return {"sample": number, "labels": labels, "residuals": residuals}
