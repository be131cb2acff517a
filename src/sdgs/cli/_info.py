"""`sdgs info`."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from sdgs.cli._models import chosen, print_chosen, scaling_in_words
from sdgs.cli._options import DataFile, Drop, Format, Json, LabelColumn, Labels, LabelsFrom, label_options, names
from sdgs.cli._show import note, out, percent, print_json, sizes, table, working

_MANY = 20  # labels in a table
_FEW = 10  # samples of which nothing can be said


def info(
    file: DataFile,
    labels: Labels = None,
    labels_from: LabelsFrom = None,
    label_column: LabelColumn = None,
    drop: Drop = None,
    format: Format = None,  # noqa: A002
    json: Json = False,
) -> None:
    """What is in a data set, or in a model file: sizes, labels, missing values, and what was left out and why.

    \b
    Examples:
      sdgs info emotions-train.arff
      sdgs info songs.csv --labels 'is_*'
      sdgs info emotions.sdgs
    """
    if file.suffix.lower() == ".sdgs":
        _model(file, json)
        return
    with working(f"Reading {file}") as show:
        from sdgs.datasets import guess_labels, read

        options = label_options(labels, labels_from, label_column)
        guess = None
        if not any(options.values()) and _is_table(file, format):  # has a look before labels are named
            options["labels"] = []
            guess = guess_labels(file, format=format)
        data = read(file, **options, drop=names(drop), format=format)
        show("Looking at it")
        known = described(data)
    if guess is not None:
        known["may_be_labels"] = {"columns": guess.columns, "lists": guess.lists}
    if json:
        print_json(known)
        return
    again = [f"--format={format}"] if format else []
    again += [f"--drop={','.join(drop)}"] if drop else []
    named = [f"--labels={','.join(labels)}"] if labels else []
    named += [f"--labels-from={labels_from}"] if labels_from else []
    named += [f"--label-column={label_column}"] if label_column else []
    _show(file, known, data, guess, again, named)


def _is_table(file: Path, kind: str | None) -> bool:
    name = file.name.lower()
    return kind in ("csv", "tsv", "parquet") or any(end in name for end in (".csv", ".tsv", ".parquet", ".pq"))


def described(data: Any) -> dict[str, Any]:
    """What there is to say about a data set."""
    n, p = data.X.shape
    stored = data.X.data if hasattr(data.X, "indptr") else data.X
    missing, nonzero = int(np.isnan(stored).sum()), int(np.count_nonzero(stored))
    known: dict[str, Any] = {
        "name": data.name,
        "samples": n,
        "features": p,
        "labels": len(data.label_names),
        "sparse": hasattr(data.X, "indptr"),
        "nonzero_share": nonzero / max(n * p, 1),
        "missing_share": missing / max(n * p, 1),
        "samples_with_missing_labels": 0,
        "dropped": dict(data.dropped),
    }
    if data.Y is None:
        return {**known, "samples_with_missing_labels": n if data.label_names else 0}
    complete = ~np.isnan(data.Y).any(axis=1)
    Y = data.Y[complete].astype(bool)
    count = Y.sum(axis=0)
    sets, sizes = np.unique(Y.sum(axis=1), return_counts=True)
    known["samples_with_missing_labels"] = int(n - complete.sum())
    known["cardinality"] = float(count.sum() / max(len(Y), 1))
    known["distinct_label_sets"] = len(np.unique(np.packbits(Y, axis=1), axis=0))
    known["samples_by_number_of_labels"] = dict(zip(sets.tolist(), sizes.tolist(), strict=True))
    known["label_counts"] = dict(zip(data.label_names, count.tolist(), strict=True))
    known["scaling"] = _scaling(data.X[complete], Y) if count.any() else None
    return known


def _scaling(X: Any, Y: NDArray[np.bool_]) -> str:
    from scipy.sparse import csr_array

    from sdgs.estimators._classifier import likely_scaling

    return likely_scaling(X, csr_array(Y))


def _show(file: Path, known: dict[str, Any], data: Any, guess: Any, again: list[str], named: list[str]) -> None:
    console, kind = out(), "sparse" if known["sparse"] else "dense"
    size = sizes(data.X, known["labels"])
    if guess is not None:
        size = f"{known['samples']:,} samples, {known['features']:,} columns of numbers"
    console.print(f"[bold]{escape(file.name)}[/]: {size}", soft_wrap=True)
    missing = f"{percent(known['missing_share'])} % are missing" if known["missing_share"] else "none are missing"
    numbers = "Numbers" if guess is not None else "Features"
    console.print(f"{numbers} are {kind}: {percent(known['nonzero_share'])} % are not zero, {missing}.")
    print_dropped(console, data.dropped)
    counters = note_counters(data)
    if counters:
        again = [*(option for option in again if not option.startswith("--drop")), _drop_too(again, counters)]
    if known["samples_with_missing_labels"]:
        console.print(f"{known['samples_with_missing_labels']:,} samples have missing labels.")
    if guess is not None:
        _show_guess(console, file, guess, again)
    elif "label_counts" in known:
        console.print(
            f"A sample has {known['cardinality']:.2f} labels on average; "
            f"{known['distinct_label_sets']:,} different sets of labels occur."
        )
        _show_labels(console, known)
        if known["scaling"]:
            console.print(f"Scaling will be {scaling_in_words(known['scaling'])}, as it looks.")
        _next(console, "fit", file, [*again, *named])


def _drop_too(again: list[str], counters: list[str]) -> str:
    """The option to drop columns, with these as well."""
    dropped = [option.removeprefix("--drop=") for option in again if option.startswith("--drop")]
    return f"--drop={','.join([*dropped, *map(_option_value, counters)])}"


def _next(console: Any, command: str, file: Path, options: list[str]) -> None:
    console.print(f"Next: {escape(shlex.join(['sdgs', command, str(file), *options]))}", soft_wrap=True)


def print_dropped(console: Any, dropped: Any) -> None:
    """Columns that are not features, and why."""
    for name, reason in dropped[:_MANY]:
        console.print(f"[dim]Not a feature:[/] {escape(name) or '(no name)'}: {escape(reason)}.", soft_wrap=True)
    if len(dropped) > _MANY:
        console.print(f"[dim]... and {len(dropped) - _MANY} more columns are no features.[/]")


def note_counters(data: Any) -> list[str]:
    """Columns that only number the samples: a model would learn the order of the file from them."""
    n = data.X.shape[0]
    if hasattr(data.X, "indptr") or n < _FEW:
        return []
    counts = np.flatnonzero((np.diff(data.X, axis=0) == 1).all(axis=0))
    names = [data.feature_names[i] for i in counts]
    for name in names:
        note(f"{name} only counts the samples. Leave it out: {shlex.join(['--drop', _option_value(name)])}")
    return names


def _show_labels(console: Any, known: dict[str, Any]) -> None:
    count, n = known["label_counts"], max(known["samples"] - known["samples_with_missing_labels"], 1)
    ranked = sorted(count, key=lambda name: -count[name])
    made = table("label", "samples", "%")
    for i, name in enumerate(ranked):
        if len(ranked) <= _MANY or i < _MANY // 2 or i >= len(ranked) - _MANY // 2:
            made.add_row(escape(name), f"{count[name]:,}", percent(count[name] / n))
        elif i == _MANY // 2:
            made.add_row(f"[dim]... {len(ranked) - _MANY} more[/]", "", "")
    console.print(made)


def _show_guess(console: Any, file: Path, guess: Any, again: list[str]) -> None:
    """A table whose labels have not been named: which columns may be labels."""
    console.print("Which columns are labels is not known yet.")
    if guess.columns:
        shown = ", ".join(guess.columns[:_MANY]) + (" ..." if len(guess.columns) > _MANY else "")
        console.print(
            f"These {len(guess.columns)} hold only 0 and 1, so may be labels: {escape(shown)}", soft_wrap=True
        )
    for name in guess.lists:
        console.print(f"This one may list the labels of each sample: {escape(name)}", soft_wrap=True)
    if guess.lists:
        _next(console, "info", file, [*again, f"--label-column={guess.lists[0]}"])
    if guess.columns or not guess.lists:
        wanted = ",".join(map(_option_value, guess.patterns)) or "NAME,NAME"
        _next(console, "info", file, [*again, f"--labels={wanted}"])


def _option_value(name: str) -> str:
    """A name for an option that takes several with commas between."""
    return name.replace(",", "?")


def _model(file: Path, json: bool) -> None:
    from sdgs.cli._models import load

    named = load(file, n_jobs=1)
    model = named.model
    changed = {
        name: value
        for name, value in model.get_params().items()
        if name != "n_jobs" and value != type(model)().get_params()[name]
    }
    known = {
        "class": type(model).__name__,
        "features": len(named.features),
        "labels": list(named.labels),
        "feature_names": list(named.features),
        "parameters": {name: repr(value) for name, value in changed.items()},
        "chosen": chosen(model),
    }
    if json:
        print_json(known)
        return
    console = out()
    console.print(
        f"[bold]{escape(file.name)}[/]: {known['class']}, {known['features']:,} features, {len(named.labels):,} labels"
    )
    console.print("Labels: " + escape(", ".join(named.labels[:_MANY])) + (" ..." if len(named.labels) > _MANY else ""))
    console.print("Parameters: " + (", ".join(f"{name}={value!r}" for name, value in changed.items()) or "defaults"))
    print_chosen(console, model)
