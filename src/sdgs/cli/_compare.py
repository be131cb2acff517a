"""`sdgs compare`."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import filesize

from sdgs.cli import _options as option
from sdgs.cli._console import (
    err,
    escape,
    exit_with_error,
    format_sizes,
    make_table,
    note,
    out,
    print_json,
    print_sentences,
    progress_bar,
    require_module,
    spinner,
)
from sdgs.cli._info import note_counters, print_dropped
from sdgs.cli._table_data import (
    TableSamples,
    TrainingData,
    columns_content,
    fit_encoder,
    new_encoder,
    print_columns,
    read_training_data,
    used_formats,
)
from sdgs.cli._training import samples_with_labels

_PAGE = "comparison.html"  # in a folder
_RECORDS = "records"


@dataclass(frozen=True, eq=False)
class _File:
    """A file with labels. ``name`` is that of the file, or its path if two have the same name.

    ``X`` has the samples with labels: a matrix, or columns of a table, which the fitted ``encoder`` makes a matrix.
    """

    path: Path
    name: str
    data: TrainingData
    X: Any
    Y: Any
    encoder: Any = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns that methods learn from."""
        names = self.data.feature_names if self.encoder is None else self.encoder.get_feature_names_out()
        return tuple(map(str, names))


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="ARFF, svmlight, CSV, Excel, JSON lines or Parquet files with labels, compressed or not; - for "
            "standard input.",
            allow_dash=True,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A page to write (.html), or a folder for the page and the records. With the same folder a "
            "comparison that was interrupted continues.",
        ),
    ] = None,
    labels: option.Labels = None,
    labels_from: option.LabelsFrom = None,
    label_column: option.LabelColumn = None,
    drop: option.Drop = None,
    text: option.Text = None,
    category: option.Category = None,
    number: option.Number = None,
    date: option.Date = None,
    format: option.Format = None,  # noqa: A002
    methods: Annotated[
        str,
        typer.Option(help="Methods, separated by commas; 'default' stands for all that do not take too long."),
    ] = "default",
    metric: Annotated[str, typer.Option(help="The measure to rank by, and to tune decisions for.")] = "f1",
    folds: Annotated[int, typer.Option(min=2, max=option.MAX_COUNT, help="Number of folds.")] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, max=option.MAX_COUNT, help="How often the samples are divided into folds.")
    ] = 1,
    fit_best: Annotated[
        Path | None,
        typer.Option(help="Fit the best method to the whole file, and write it to this model file (.sdgs)."),
    ] = None,
    seed: option.Seed = 0,
    jobs: option.Processes = -1,
    json: option.Json = False,
) -> None:
    """Compare methods on a file by cross-validation, or on several files by their ranks.

    Columns of text, categories and dates are used as by sdgs fit. What is learnt about them, such as words, is learnt
    from the training samples of each split.

    You can interrupt it at any time. With -o FOLDER the same command continues where it stopped.

    \b
    Examples:
      sdgs compare emotions-train.arff
      sdgs compare songs.csv --labels 'is_*' --drop id -o songs.html
      sdgs compare tickets.csv --label-column tags --methods sdgs,logistic,trees
      sdgs compare emotions-train.arff scene-train.arff yeast-train.arff \\
          -o comparison --repeats 2
      sdgs compare songs.csv --label-column moods --methods default,sdgs-cv \\
          --fit-best songs.sdgs
    """
    names = _check_methods(methods)
    _check_metric(metric)
    _check_outputs(output, fit_best, files)
    arguments = option.label_arguments(labels, labels_from, label_column)
    kinds = {"text": text, "category": category, "number": number, "date": date}
    pairs = zip(files, _names_of(files), strict=True)
    read = [_read(path, name, arguments, option.split_names(drop), format, kinds) for path, name in pairs]
    if fit_best is not None:
        _check_names_for_model(read[0])
    records = None if output is None or _is_page(output) else output / _RECORDS
    comparisons = {}
    for file in read:
        if not json:
            out().print(f"[bold]{escape(file.name)}[/]: {format_sizes(file.X, file.Y.shape[1])}", soft_wrap=True)
            print_dropped(file.data.dropped)
            note_counters(file.data)
            if file.encoder is not None:
                print_columns(file.encoder, file.path)
        comparisons[file.name] = _compare_file(file, names, metric, folds, repeats, seed, jobs, records)
        if not json:
            _print_comparison(comparisons[file.name])
    ranks = _rank(comparisons)
    if json:
        from sdgs.comparison._comparison_content import comparison_values, rank_values

        columns = {file.name: columns_content(file.encoder) for file in read}
        values = {name: {**comparison_values(result), "columns": columns[name]} for name, result in comparisons.items()}
        print_json({"files": values, "ranks": None if ranks is None else rank_values(ranks)})
    elif ranks is not None:
        _print_ranks(ranks)
    if output is not None:
        _write_page(output, comparisons)
    if fit_best is not None:
        _fit_best(read[0], comparisons[read[0].name], fit_best, jobs)
    if not any(result.has_best for result in comparisons.values()):
        raise typer.Exit(1)


def _check_methods(text: str) -> Any:
    from sdgs.comparison._default_methods import DEFAULT_METHODS

    names = list(option.split_commas(text))
    for name in names:
        if name not in ("default", *DEFAULT_METHODS):
            raise typer.BadParameter(
                f"there is no method {name!r}. There are default, {', '.join(DEFAULT_METHODS)}.", param_hint="--methods"
            )
    if not names:
        raise typer.BadParameter("name at least one method.", param_hint="--methods")
    return names


def _check_metric(metric: str) -> None:
    from sdgs.metrics import ALL_METRICS

    if metric not in ALL_METRICS:
        raise typer.BadParameter(
            f"there is no measure {metric!r}. There are {', '.join(ALL_METRICS)}.", param_hint="--metric"
        )


def _is_page(output: Path) -> bool:
    return output.suffix.lower() == ".html" and not output.is_dir()


def _check_outputs(output: Path | None, fit_best: Path | None, files: list[Path]) -> None:
    if output is not None:
        require_module("jinja2", "The page", extra="report")
        if _is_page(output):
            option.check_output(output, *files)
        elif output.exists() and not output.is_dir():
            raise typer.BadParameter(
                f"{output} is a file. Name a folder, or a page that ends in .html.", param_hint="--output"
            )
    if fit_best is not None:
        if len(files) > 1:
            raise typer.BadParameter("the best method is fitted to one file. Give only one.", param_hint="--fit-best")
        option.check_output(fit_best, *files, suffixes=(".sdgs",), hint="--fit-best")
    if len(files) > 1 and any(str(file) == "-" for file in files):
        raise typer.BadParameter("standard input cannot be one of several files.", param_hint="FILE...")


def _names_of(files: list[Path]) -> list[str]:
    """The names of the files, or their paths if two have the same name."""
    if len({path.resolve() for path in files}) < len(files):
        raise typer.BadParameter("a file is given twice.", param_hint="FILE...")
    names = [path.name for path in files]
    return names if len(set(names)) == len(names) else [str(path) for path in files]


def _read(
    path: Path,
    name: str,
    arguments: dict[str, Any],
    drop: list[str],
    format_: str | None,
    kinds: Mapping[str, list[str] | None],
) -> _File:
    with spinner(f"Reading {path}"):
        data = read_training_data(path, arguments, drop, format_, kinds)
    X, Y, _ = samples_with_labels(data, path)
    if not isinstance(X, TableSamples):
        return _File(path, name, data, X, Y)
    return _File(path, name, data, X, Y, fit_encoder(data, X.columns)[0])


def _compare_file(
    file: _File, methods: Any, metric: str, folds: int, repeats: int, seed: int, jobs: int, records: Path | None
) -> Any:
    from sdgs.comparison import ComparisonError, compare

    try:
        with progress_bar("Comparing", 1) as show:
            return compare(
                file.X.columns if isinstance(file.X, TableSamples) else file.X,
                file.Y,
                methods=methods,
                encode="auto" if file.encoder is None else new_encoder(file.data),
                metric=metric,
                cv=folds,
                n_repeats=repeats,
                random_state=seed,
                n_jobs=jobs,
                folder=records,
                label_names=file.data.label_names,
                progress=lambda done, total, message: show(done / total, message),
            )
    except (ValueError, ComparisonError) as error:
        exit_with_error(f"{file.path}: {error}")


def _rank(comparisons: Mapping[str, Any]) -> Any:
    """The ranks over several files; None for one file, or if fewer than two methods succeeded on all of them."""
    from sdgs.comparison import rank_methods

    if len(comparisons) < 2:
        return None
    try:
        return rank_methods(comparisons)
    except ValueError as error:
        note(str(error))
        return None


def _print_comparison(comparison: Any) -> None:
    from sdgs.comparison._comparison_result import format_p, format_seconds
    from sdgs.comparison._measure_units import digits, factor, titled

    unit, n = factor(comparison.metric), digits(comparison.metric)
    table = make_table("method", titled(comparison.metric), "± 95 %", "vs best", "p", "fit s", "predict s")
    for column in table.columns:
        column.no_wrap = True
    for row in comparison.summary():
        title = escape(row.title)
        if not row.has_value:
            table.add_row(title, row.problem, *[""] * 5)
            continue
        is_best = row.p_value != row.p_value
        cells = (
            f"{unit * row.mean:.{n}f}",
            f"± {unit * (row.high - row.low) / 2:.{n}f}",
            "best" if is_best else f"{unit * row.difference:+.{n}f}",
            "" if is_best else format_p(row.p_value),
            format_seconds(row.fit_seconds),
            format_seconds(row.predict_seconds),
        )
        table.add_row(f"[bold]{title}[/]" if not row.distinguishable else title, *cells)
    out().print(f"[dim]{escape(comparison.how())}. In bold: the best, and what is not distinguishable from it.[/]")
    out().print(table)
    print_sentences(comparison.conclusion())
    if comparison.n_repeats == 1 and any(not row.distinguishable for row in comparison.summary()[1:]):
        out().print("[dim]More repetitions distinguish more methods: --repeats 5[/]")
    for title, reason in comparison.failures().items():
        note(f"{title} {reason}")
    for title, reason in comparison.left_out.items():
        note(f"{title} is left out: {reason}")
    for method in comparison.methods:
        for text, number in method.warnings.items():
            note(f"{method.title} warned on {number} of {comparison.n_total_splits} splits: {text}")


def _print_ranks(ranks: Any) -> None:
    from sdgs.comparison._comparison_result import format_p
    from sdgs.comparison._measure_units import digits, factor, titled

    unit, n = factor(ranks.metric), digits(ranks.metric)
    table = make_table("method", "mean rank", f"mean {titled(ranks.metric, arrow=False)}", "p (Wilcoxon)")
    rows = zip(ranks.titles, ranks.mean_ranks, ranks.values.mean(axis=0), ranks.wilcoxon_p_values, strict=True)
    for title, rank, mean, p_value in rows:
        p = "" if p_value != p_value else format_p(p_value)
        table.add_row(escape(title), f"{rank:.2f}", f"{unit * mean:.{n}f}", p)
    out().print(f"[bold]Ranks over {len(ranks.dataset_names)} files[/]")
    out().print(table)
    print_sentences(" ".join(ranks.conclusions()))


def _write_page(output: Path, comparisons: Mapping[str, Any]) -> None:
    from sdgs.comparison import write_comparison_page

    page = output if _is_page(output) else output / _PAGE
    write_comparison_page(comparisons, page)
    size = filesize.decimal(page.stat().st_size)
    err().print(f"Wrote [bold]{escape(str(page))}[/] ({size}).", soft_wrap=True)


def _check_names_for_model(file: _File) -> None:
    """Check that a model file can hold the names of a file, before the comparison, which may take long."""
    import sdgs
    from sdgs.persistence.codecs._model_codec import check_storable

    check_storable(sdgs.SDGSClassifier(), {"features": file.feature_names, "labels": file.data.label_names})


def _fit_best(file: _File, comparison: Any, path: Path, jobs: int) -> None:
    """Fit the best method to all samples of the file, and save it."""
    import sdgs
    from sdgs._utils._last_step import last_step

    if not comparison.has_best:
        exit_with_error("No method succeeded on all splits, so there is none to fit.")
    model = comparison.best_estimator()
    last = last_step(model)
    if "n_jobs" in last.get_params(deep=False):
        last.set_params(n_jobs=jobs)
    title = comparison.methods[0].title
    with spinner(f"Fitting {title} to all samples"):
        model.fit(file.X.columns if isinstance(file.X, TableSamples) else file.X, file.Y)
    names = {"feature_names": file.feature_names, "label_names": file.data.label_names}
    sdgs.save(model, path, **names, column_formats=used_formats(file.data, file.encoder))
    err().print(
        f"Wrote [bold]{escape(str(path))}[/]: {escape(title)}, fitted to all {file.X.shape[0]:,} samples.",
        soft_wrap=True,
    )
    err().print(f"Next: {escape(shlex.join(['sdgs', 'predict', str(path), 'NEW-FILE']))}", soft_wrap=True)
