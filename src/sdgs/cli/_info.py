"""`sdgs info`."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from sdgs.cli._options import DataFile, Drop, Format, Json, Labels, LabelsFrom, label_options, names
from sdgs.cli._show import note, out, percent, print_json, sizes, table, working

_MANY = 20  # labels in a table
_FEW = 10  # samples of which nothing can be said


def info(
    file: DataFile,
    labels: Labels = None,
    labels_from: LabelsFrom = None,
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
    with working(f"Reading {file}"):
        from sdgs.datasets import read

        options = label_options(labels, labels_from)
        named = bool(options.get("labels") or options.get("xml"))
        if not named and _is_table(file, format):  # has a look before labels are named
            options["labels"] = []
        data = read(file, **options, drop=names(drop), format=format)
        known = described(data)
    if json:
        print_json(known)
    else:
        again = [f"--labels={','.join(labels)}"] if labels else []
        again += [f"--labels-from={labels_from}"] if labels_from else []
        again += [f"--drop={','.join(drop)}"] if drop else []
        _show(file, known, data, again)


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
    return known


def _show(file: Path, known: dict[str, Any], data: Any, again: list[str]) -> None:
    console, kind = out(), "sparse" if known["sparse"] else "dense"
    console.print(f"[bold]{escape(file.name)}[/]: {sizes(data.X, known['labels'])}", soft_wrap=True)
    missing = f"{percent(known['missing_share'])} % are missing" if known["missing_share"] else "none are missing"
    console.print(f"Features are {kind}: {percent(known['nonzero_share'])} % are not zero, {missing}.")
    print_dropped(console, data.dropped)
    note_counters(data)
    if known["samples_with_missing_labels"]:
        console.print(f"{known['samples_with_missing_labels']:,} samples have missing labels.")
    if "label_counts" in known:
        console.print(
            f"A sample has {known['cardinality']:.2f} labels on average; "
            f"{known['distinct_label_sets']:,} different sets of labels occur."
        )
        _show_labels(console, known)
        console.print(f"Next: {escape(shlex.join(['sdgs', 'fit', str(file), *again]))}", soft_wrap=True)
    elif not known["labels"]:
        _show_columns(console, file, data)


def print_dropped(console: Any, dropped: Any) -> None:
    """Columns that are not features, and why."""
    for name, reason in dropped[:_MANY]:
        console.print(f"[dim]Not a feature:[/] {escape(name) or '(no name)'}: {escape(reason)}.", soft_wrap=True)
    if len(dropped) > _MANY:
        console.print(f"[dim]... and {len(dropped) - _MANY} more columns are no features.[/]")


def note_counters(data: Any) -> None:
    """Columns that only number the samples: a model would learn the order of the file from them."""
    n = data.X.shape[0]
    if hasattr(data.X, "indptr") or n < _FEW:
        return
    counts = np.flatnonzero((np.diff(data.X, axis=0) == 1).all(axis=0))
    for name in (data.feature_names[i] for i in counts):
        note(f"{name} only counts the samples. Leave it out: {shlex.join(['--drop', name])}")


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


def _show_columns(console: Any, file: Path, data: Any) -> None:
    """A table whose labels have not been named: which columns may be labels."""
    binary = [name for name, column in zip(data.feature_names, data.X.T, strict=True) if _is_binary(column)]
    console.print("Which columns are labels is not known yet.")
    if binary:
        shown = ", ".join(binary[:_MANY]) + (" ..." if len(binary) > _MANY else "")
        console.print(f"These {len(binary)} hold only 0 and 1, so may be labels: {escape(shown)}", soft_wrap=True)
        wanted = _common(binary)
    else:
        wanted = "NAME,NAME"
    command = shlex.join(["sdgs", "info", str(file), "--labels", wanted])
    console.print(f"Next: {escape(command)}", soft_wrap=True)


def _is_binary(column: NDArray[np.float64]) -> bool:
    return bool(np.isin(column, (0, 1)).all())


def _common(found: list[str]) -> str:
    """The names, or a pattern if they begin alike."""
    first, last = min(found), max(found)
    start = first[
        : next((i for i, both in enumerate(zip(first, last, strict=False)) if both[0] != both[1]), len(first))
    ]
    return f"{start}*" if len(found) > 1 and len(start) > 1 else ",".join(found[:6])


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
    }
    if json:
        print_json(known)
        return
    console = out()
    console.print(
        f"[bold]{file.name}[/]: {known['class']}, {len(named.features):,} features, {len(named.labels):,} labels"
    )
    console.print("Labels: " + escape(", ".join(named.labels[:_MANY])) + (" ..." if len(named.labels) > _MANY else ""))
    console.print("Parameters: " + (", ".join(f"{name}={value!r}" for name, value in changed.items()) or "defaults"))
