"""`sdgs explain`."""

import io
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import sdgs
from sdgs.cli import _options as option
from sdgs.cli._console import (
    count,
    err,
    escape,
    exit_with_error,
    out,
    print_json,
    print_sentences,
    require_module,
    spinner,
)
from sdgs.cli._models import NamedModel, load_sdgs_model, names_for_explanations, stack_rows

_UNITS = (
    "Features of an encoded table: numbers and dates are in standard deviations from their mean in training, "
    "categories are 0 or 1, and words have weights of at most 1."
)


class Picture(StrEnum):
    """What the picture shows."""

    reasons = "reasons"
    parts = "parts"


def explain(
    model: option.ModelFile,
    file: option.DataFile,
    samples: Annotated[
        str,
        typer.Option(
            "--samples",
            "-n",
            help="Numbers of the samples, separated by commas: 5 is the fifth of the file.",
        ),
    ] = "1",
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            help="Label to explain, predicted or not, or all; repeat it for more. Default: the predicted labels.",
        ),
    ] = None,
    counterfactual: Annotated[
        bool,
        typer.Option(
            "--counterfactual", help="Also find few features without which a label would be decided otherwise."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Picture of the first sample to write (.png, .pdf or .svg)."),
    ] = None,
    picture: Annotated[
        Picture | None,
        typer.Option(help="What it shows: the reasons of its first label, or its parts. Default: parts with --shape."),
    ] = None,
    shape: option.Shape = None,
    names: Annotated[
        int, typer.Option(min=1, max=option.MAX_COUNT, help="Maximum number of features to name per label.")
    ] = 5,
    invalid: option.Invalid = option.InvalidCells.error,
    format: option.Format = None,  # noqa: A002
    jobs: option.Jobs = -1,
    json: option.Json = False,
) -> None:
    """Explain predictions: why each label, and what each predicted label contributes to the sample.

    \b
    Examples:
      sdgs explain emotions.sdgs emotions-test.arff
      sdgs explain emotions.sdgs new.csv -n 3 --label quiet-still \\
          --counterfactual
      sdgs explain emotions.sdgs new.csv -o reasons.png
      sdgs explain digits.sdgs digits.csv --samples 2 --shape 8x8 -o digit.png
    """
    numbers, size = _parse_numbers(samples), option.parse_image_size(shape)
    if output is not None:
        option.check_output(output, suffixes=option.PICTURE_SUFFIXES)
        require_module("matplotlib", "A picture", extra="plot")
    with spinner(f"Reading {file}"):
        named = load_sdgs_model(model, jobs, "An explanation")
        option.check_image_size(size, len(names_for_explanations(named)["feature_names"]))
        X = _read_samples(named, file, format, numbers, invalid)
        explained = _explain(named, X, label, counterfactual=counterfactual)
    rows = [(*row, names) for row in zip(numbers, *explained, strict=True)]
    if json:
        print_json([_json_content(*row) for row in rows])
    else:
        for row in rows:
            _print_sample(*row)
        if named.encoder is not None:
            print_sentences(_UNITS)
    if output is not None:
        _write_picture(output, picture or (Picture.reasons if size is None else Picture.parts), explained, size)


def _explain(named: NamedModel, X: Any, labels: list[str] | None, *, counterfactual: bool) -> tuple[list[Any], ...]:
    """Per sample: its reasons, None without a ridge read-out; its counterfactuals; and its decomposition."""
    from sdgs._utils._last_step import last_step

    model = named.model
    names = names_for_explanations(named)
    parts = list(sdgs.explain(model, X, **names))
    if not hasattr(last_step(model), "explain_prediction"):
        if labels or counterfactual:
            exit_with_error('--label and --counterfactual need a model with readout="ridge".')
        return [None] * len(parts), [()] * len(parts), parts
    unknown = sorted(set(labels or ()) - set(named.labels))
    if labels == ["all"] and unknown:
        labels = list(named.labels)
    elif unknown:
        from sdgs.datasets.readers._column_selection import join_names

        problem = f"there is no label {unknown[0]!r} in the model. The labels are {join_names(named.labels)}."
        raise typer.BadParameter(problem, param_hint="--label")
    # A matrix, because a list may also be one class per sample.
    of_interest = [[int(name in labels) for name in named.labels]] * len(parts) if labels else None
    reasons = list(sdgs.explain_prediction(model, X, of_interest, **names))
    counterfactuals = [
        [sdgs.counterfactual(model, X[[row]], name, **names)[0] for name in sample.label_names]
        if counterfactual
        else ()
        for row, sample in enumerate(reasons)
    ]
    return reasons, counterfactuals, parts


def _print_sample(number: int, reasons: Any, counterfactuals: Any, parts: Any, n_names: int) -> None:
    """First why each label, then how the sample decomposes."""
    out().print(f"[bold]Sample {number}[/]")
    if reasons is not None:
        _print_text("Why these labels?", reasons.text(max_names=n_names, first_sample=1))
    if counterfactuals:
        _print_text("What would change them?", "\n".join(result.text() for result in counterfactuals))
    _print_text("What is the sample made of?", parts.text(max_names=n_names))


def _print_text(title: str, text: str) -> None:
    out().print(f"[italic]{title}[/]")
    print_sentences(text)


def _write_picture(output: Path, picture: Picture, explained: tuple[list[Any], ...], size: Any) -> None:
    from sdgs.persistence._atomic_write import write_atomically

    (reasons, *_), _, (parts, *_) = explained
    if picture is Picture.parts:
        display = parts.plot(shape=size)
    elif reasons is None:
        exit_with_error('A picture of reasons needs a model with readout="ridge". Use --picture parts.')
    elif not reasons.labels.size:
        exit_with_error("No label is predicted for the first sample. Name one with --label, or use --picture parts.")
    else:
        display = reasons.plot(int(reasons.probabilities.argmax()), shape=size)
    stream = io.BytesIO()
    display.figure_.savefig(stream, format=output.suffix[1:].lower(), bbox_inches="tight")
    write_atomically(output, stream.getvalue())
    err().print(f"Wrote {escape(str(output))}.", soft_wrap=True)


def _parse_numbers(text: str) -> list[int]:
    parts = option.split_commas(text)
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"{text!r} must be numbers from 1, separated by commas.", param_hint="--samples")
    return [int(part) for part in parts]


def _read_samples(named: NamedModel, file: Path, format_: str | None, numbers: list[int], invalid: str) -> Any:
    """Samples by their numbers. The file is read only up to the last of them."""
    rows: dict[int, Any] = {}
    first = 1  # number of the first sample of the block
    with closing(named.blocks(file, format_, invalid=invalid)) as blocks:
        for block in blocks:
            n = block.X.shape[0]
            rows.update({number: block.X[[number - first]] for number in numbers if first <= number < first + n})
            first += n
            if first > max(numbers):
                break
    missing = [number for number in numbers if number not in rows]
    if missing:
        exit_with_error(f"{file}: there is no sample {missing[0]}; the file has {count(first - 1, 'sample')}.")
    return stack_rows([rows[number] for number in numbers])


def _json_content(number: int, reasons: Any, counterfactuals: Any, parts: Any, n_names: int) -> dict[str, Any]:
    keys = ("value", "expected", "size", "corrupted")
    residuals = [
        {"feature": str(entry.name), **{key: getattr(entry, key) for key in keys}}
        for entry in parts.top_residuals(n_names)
    ]
    content = {
        "sample": number,
        "reasons": None if reasons is None else _json_reasons(reasons, n_names),
        "labels": [_json_part(parts, i, str(name), n_names) for i, name in enumerate(parts.label_names)],
        "residuals": residuals,
    }
    if counterfactuals:
        content["counterfactuals"] = [
            {
                "label": str(result.label),
                "predicted": result.predicted,
                "flipped": result.flipped,
                "without": [str(name) for name in result.feature_names],
                "probability": result.probability,
                "probability_without": result.probability_without,
            }
            for result in counterfactuals
        ]
    return content


def _json_reasons(sample: Any, n_names: int) -> list[dict[str, Any]]:
    """Why each label is predicted or not: parts of its log-odds, largest first."""
    parts, content = sample.parts(), []
    for i, name in enumerate(sample.label_names):
        features = [*sample.top_features(i, n_names), *sample.top_features(i, n_names, against=True)]
        content.append(
            {
                "label": str(name),
                "predicted": bool(sample.predicted[i]),
                "probability": float(sample.probabilities[i]),
                "log_odds": float(sample.log_odds[i]),
                "base": float(parts.base[i]),
                "sums": {
                    kind: float(getattr(parts, kind)[i].sum()) for kind in ("features", "components", "neighbours")
                },
                "features": [
                    {"feature": str(reason.name), "value": reason.value, "part": reason.part, "direct": reason.direct}
                    for reason in features
                ],
                "components": [
                    {"label": str(reason.name), "part": reason.part} for reason in sample.top_components(i, n_names)
                ],
                "neighbours": [
                    {
                        "training_sample": reason.sample + 1,  # numbers in files begin with 1
                        "labels": [str(label) for label in reason.labels],
                        "similarity": reason.similarity,
                        "part": reason.part,
                    }
                    for reason in sample.top_neighbours(i, n_names)
                ],
                "decision": sample.decision(i).text(),
            }
        )
    return content


def _json_part(sample: Any, i: int, name: str, n_names: int) -> dict[str, Any]:
    """What a label contributes to the sample."""
    contribution, probabilities = sample.contributions[i], sample.probabilities
    features = [
        {
            "feature": str(sample.terms.feature_names[j]),
            "value": float(sample.sample[j]),
            "part": float(contribution[j]),
        }
        for j in sample.reasons(i, n_names)
    ]
    return {
        "label": name,
        "probability": None if probabilities is None else float(probabilities[i]),
        "share": float(sample.shares[i]),
        "unique_share": float(sample.unique_shares[i]),
        "features": features,
    }
