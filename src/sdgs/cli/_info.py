"""`sdgs info`."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdgs.cli import _options as option
from sdgs.cli._console import (
    count,
    escape,
    format_percent,
    format_sizes,
    json_value,
    make_table,
    note,
    out,
    print_command,
    print_json,
    spinner,
)
from sdgs.cli._data_notes import note_samples_and_labels
from sdgs.cli._models import (
    changed_parameters,
    describe_scaling,
    fitted_parameters,
    load_model,
    print_fitted_parameters,
)

MAX_LABELS = 20_000  # of `sdgs fit`: with 300 samples 10,000 labels take a minute, and time grows with both
_MAX_NAMES_SHOWN = 20
_MAX_CELL_LENGTH = 60


def info(
    file: option.DataFile,
    labels: option.Labels = None,
    labels_from: option.LabelsFrom = None,
    label_column: option.LabelColumn = None,
    drop: option.Drop = None,
    text: option.Text = None,
    category: option.Category = None,
    number: option.Number = None,
    date: option.Date = None,
    format: option.Format = None,  # noqa: A002
    json: option.Json = False,
) -> None:
    """Describe a data set or a model file: sizes, labels, missing values, and columns that are not features.

    \b
    Examples:
      sdgs info emotions-train.arff
      sdgs info songs.csv --labels 'is_*'
      sdgs info emotions.sdgs
    """
    if file.suffix.lower() == ".sdgs":
        _print_model(file, json)
        return
    with spinner(f"Reading {file}") as show:
        from sdgs.cli._table_data import fit_encoder, read_training_data
        from sdgs.datasets import guess_labels
        from sdgs.datasets.readers._formats import TABLE_FORMATS, detect_format

        arguments = option.label_arguments(labels, labels_from, label_column)
        guess = None
        if not any(arguments.values()) and str(file) != "-" and detect_format(file, format) in TABLE_FORMATS:
            arguments["labels"] = []
            guess = guess_labels(file, format=format)
        kinds = {"text": text, "category": category, "number": number, "date": date}
        data = read_training_data(file, arguments, option.split_names(drop), format, kinds)
        if data.is_table and data.X.shape[0] == 1:
            _print_one_sample(file, data, json)
            return
        show("Computing statistics")
        encoder = None
        if data.is_table:
            encoder, matrix = fit_encoder(data, data.X.columns)
            data = replace(data, X=matrix)
        content = _describe(data)
        if encoder is not None:
            content["columns"] = {
                column.name: {"kind": column.kind, "reason": column.reason} for column in encoder.columns_
            }
    if guess is not None:
        content["may_be_labels"] = {"columns": guess.columns, "lists": guess.lists}
    if json:
        print_json(content)
        return
    options = {
        "--format": format,
        "--drop": ",".join(drop or []),
        "--labels": ",".join(labels or []),
        "--labels-from": labels_from,
        "--label-column": label_column,
        **{f"--{kind}": ",".join(values or []) for kind, values in kinds.items()},
    }
    _print_dataset(file, content, data, guess, options, encoder)


def _print_one_sample(file: Path, data: Any, json: bool) -> None:
    """Describe a table with one row, whose columns have no kinds yet because all are constant."""
    cells = {name: str(values[0]) for name, values in data.X.columns.items()}
    if json:
        kinds = {name: data.formats[name].kind for name in cells}
        print_json({"name": data.name, "samples": 1, "columns": {name: {"read_as": kinds[name]} for name in cells}})
        return
    out().print(f"[bold]{escape(file.name)}[/]: 1 sample, {count(len(cells), 'column')}", soft_wrap=True)
    table = make_table("column", "read as", "cell")
    for column in table.columns:
        column.justify = "left"
    for name, cell in cells.items():
        table.add_row(escape(name), data.formats[name].kind, escape(cell[:_MAX_CELL_LENGTH]))
    out().print(table)
    out().print("How columns would be used is decided from several samples.")


def _describe(data: Any) -> dict[str, Any]:
    from scipy.sparse import csr_array, issparse

    from sdgs.datasets._statistics import dataset_statistics, labelled_samples
    from sdgs.estimators._classifier import likely_scaling

    statistics = dataset_statistics(data.X, data.Y, data.label_names)
    content = {
        "name": data.name,
        "samples": statistics.n_samples,
        "features": statistics.n_features,
        "labels": statistics.n_labels,
        "sparse": issparse(data.X),
        "nonzero_share": statistics.nonzero_share,
        "missing_share": statistics.missing_share,
        "samples_with_missing_labels": statistics.n_incomplete_samples,
        "samples_without_observed_labels": statistics.n_unlabelled_samples,
        "unobserved_labels": statistics.n_unobserved_labels,
        "dropped": dict(data.dropped),
    }
    if data.Y is None:
        return content
    labelled = labelled_samples(data.Y)
    Y = csr_array(data.Y[labelled] == 1)
    sizes = enumerate(statistics.label_set_sizes)
    return content | {
        "cardinality": statistics.cardinality,
        "distinct_label_sets": statistics.distinct_label_sets,
        "samples_by_number_of_labels": {size: count for size, count in sizes if count},
        "label_counts": statistics.label_counts,
        "observed_counts": statistics.observed_counts,
        "scaling": likely_scaling(data.X[labelled], Y) if Y.nnz and Y.shape[1] <= MAX_LABELS else None,
    }


def _print_dataset(
    file: Path, content: dict[str, Any], data: Any, guess: Any, options: dict[str, Any], encoder: Any
) -> None:
    sizes = format_sizes(data.X, content["labels"])
    if encoder is not None:
        labels = "" if guess is not None else f", {count(content['labels'], 'label')}"
        sizes = f"{content['samples']:,} samples, {count(encoder.n_features_in_, 'column')}{labels}"
    elif guess is not None:
        sizes = f"{content['samples']:,} samples, {count(content['features'], 'numeric column')}"
    out().print(f"[bold]{escape(file.name)}[/]: {sizes}", soft_wrap=True)
    missing = format_percent(content["missing_share"]) + " %" if content["missing_share"] else "none"
    what = "Numeric columns" if guess is not None and encoder is None else "Features"
    out().print(
        f"{what} are {'sparse' if content['sparse'] else 'dense'}: "
        f"{format_percent(content['nonzero_share'])} % of the entries are not zero, "
        f"{missing} are missing."
    )
    print_dropped(data.dropped)
    if encoder is not None:
        from sdgs.cli._table_data import print_columns

        print_columns(encoder, file)
    counters = note_counters(data)
    options["--drop"] = ",".join(filter(None, [options["--drop"], *map(_as_pattern, counters)]))
    note_samples_and_labels(file, data)
    if content["samples_without_observed_labels"]:
        out().print(f"{content['samples_without_observed_labels']:,} samples have missing labels.")
    if content["samples_with_missing_labels"] > content["samples_without_observed_labels"]:
        out().print(_unobserved_sentence(content))
    if guess is not None:
        _print_guess(file, guess, options)
    elif "label_counts" in content:
        out().print(
            f"Samples have {content['cardinality']:.2f} labels on average; there are "
            f"{content['distinct_label_sets']:,} different label sets."
        )
        _print_label_counts(content)
        if content["scaling"]:
            out().print(f"Expected scaling: {describe_scaling(content['scaling'])}.")
        if content["labels"] <= MAX_LABELS:
            _print_next("fit", file, options)


def _print_next(command: str, file: Path, options: dict[str, Any]) -> None:
    """Print the command to run next, with the same options."""
    given = [f"{name}={value}" for name, value in options.items() if value]
    print_command(out(), ["sdgs", command, str(file), *given])


def print_dropped(dropped: Any) -> None:
    """Print the columns that are not features, and why."""
    for name, reason in dropped[:_MAX_NAMES_SHOWN]:
        out().print(f"[dim]Not a feature:[/] {escape(name) or '(no name)'}: {escape(reason)}.", soft_wrap=True)
    if len(dropped) > _MAX_NAMES_SHOWN:
        out().print(f"[dim]... and {len(dropped) - _MAX_NAMES_SHOWN} more columns are not features.[/]")


def note_counters(data: Any) -> list[str]:
    """Note the features that number the samples, because a model would learn the order of the file from them."""
    from sdgs.datasets._statistics import find_row_number_columns

    X, feature_names = data.X, data.feature_names
    if hasattr(X, "columns"):  # of a table, whose numbers are looked at
        numbers = {name: values for name, values in X.columns.items() if values.dtype.kind == "f"}
        X, feature_names = np.column_stack([np.zeros(X.shape[0]), *numbers.values()]), ("", *numbers)
    names = [feature_names[i] for i in find_row_number_columns(X)]
    for name in names:
        note(f"{name} only numbers the samples. Drop it: {shlex.join(['--drop', _as_pattern(name)])}")
    return names


def _unobserved_sentence(content: dict[str, Any]) -> str:
    """How many labels of samples that have others are unobserved."""
    n_unlabelled, k = content["samples_without_observed_labels"], content["labels"]
    n_unobserved = content["unobserved_labels"] - n_unlabelled * k
    share = format_percent(n_unobserved / ((content["samples"] - n_unlabelled) * k))
    n_samples = content["samples_with_missing_labels"] - n_unlabelled
    return f"{n_unobserved:,} labels ({share} %) are unobserved, in {count(n_samples, 'sample')}, and are not counted."


def _print_label_counts(content: dict[str, Any]) -> None:
    counts, observed = content["label_counts"], content["observed_counts"]
    ranked = sorted(counts, key=lambda name: -counts[name])
    half = _MAX_NAMES_SHOWN // 2
    table = make_table("label", "samples", "%")
    for i, name in enumerate(ranked):
        if len(ranked) <= _MAX_NAMES_SHOWN or i < half or i >= len(ranked) - half:
            table.add_row(
                escape(name) or "(no name)", f"{counts[name]:,}", format_percent(counts[name] / max(observed[name], 1))
            )
        elif i == half:
            table.add_row(f"[dim]... {len(ranked) - _MAX_NAMES_SHOWN} more[/]", "", "")
    out().print(table)


def _print_guess(file: Path, guess: Any, options: dict[str, Any]) -> None:
    """Print which columns of a table may be labels, and the next commands."""
    out().print("It is not known yet which columns are labels.")
    if guess.columns:
        out().print(
            f"{len(guess.columns)} columns hold only 0 and 1, so they may be labels: {_join(guess.columns)}",
            soft_wrap=True,
        )
    for name in guess.lists:
        out().print(f"This column may list the labels of each sample: {escape(name)}", soft_wrap=True)
    if guess.columns or not guess.lists:
        patterns = ",".join(map(_as_pattern, guess.patterns)) or "NAME,NAME"
        _print_next("info", file, options | {"--labels": patterns})
    if guess.lists:
        _print_next("info", file, options | {"--label-column": guess.lists[0]})


def _join(names: Any) -> str:
    return escape(", ".join(name or "(no name)" for name in names[:_MAX_NAMES_SHOWN])) + (
        " ..." if len(names) > _MAX_NAMES_SHOWN else ""
    )


def _as_pattern(name: str) -> str:
    """A name as part of an option, in which commas separate names."""
    return name.replace(",", "?")


def _print_model(file: Path, json: bool) -> None:
    named = load_model(file, n_jobs=1)
    model = named.model
    changed = changed_parameters(model)
    n_samples_seen = getattr(model, "n_samples_seen_", None)
    if json:
        print_json(
            {
                "class": type(model).__name__,
                "features": len(named.features),
                "labels": list(named.labels),
                "feature_names": list(named.features),
                "columns": list(named.features if named.formats is None else named.formats),
                "parameters": json_value(changed),
                "chosen": fitted_parameters(model),
                "samples_seen": n_samples_seen,
            }
        )
        return
    out().print(
        f"[bold]{escape(file.name)}[/]: {type(model).__name__}, {len(named.features):,} features, "
        f"{len(named.labels):,} labels"
    )
    out().print(f"Labels: {_join(named.labels)}", soft_wrap=True)
    columns = named.features if named.formats is None else tuple(named.formats)
    out().print(f"Columns that a file must have: {_join(columns)}", soft_wrap=True)
    parameters = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    out().print(f"Parameters that differ from their defaults: {escape(parameters) or 'none'}", soft_wrap=True)
    print_fitted_parameters(model)
    if n_samples_seen is not None:
        out().print(f"sdgs update can continue from the {n_samples_seen:,} samples that it has learnt.")
