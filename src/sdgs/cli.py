"""The command line. Shows what other modules compute."""

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

import sdgs

app = typer.Typer(
    help="Multi-label learning that takes every sample apart into what each label contributed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the `sdgs` command."""
    app()


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Multi-label learning that takes every sample apart into what each label contributed."""
    if version:
        typer.echo(f"sdgs {sdgs.__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the picture (.png, .pdf or .svg).")
    ] = Path("sdgs-demo.png"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Seed of the data and the model.")] = 0,
) -> None:
    """Learn sums of handwritten digits, compare with binary relevance, and draw samples taken apart."""
    console, errors = Console(), Console(stderr=True)
    if output.suffix.lower() not in (".png", ".pdf", ".svg") or output.is_dir():
        raise typer.BadParameter(f"{output} must be a file that ends in .png, .pdf or .svg.", param_hint="--output")
    if not output.parent.is_dir():
        raise typer.BadParameter(f"the folder {output.parent} does not exist. Create it first.", param_hint="--output")
    if find_spec("matplotlib") is None:
        errors.print("The demo draws with matplotlib, which is not installed. Run: [bold]pip install 'sdgs\\[plot]'[/]")
        raise typer.Exit(1)

    start = perf_counter()
    columns = SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=errors) as bar:
        tasks = [bar.add_task("Loading", total=1)]

        from sdgs.demo import draw_demo, run_demo  # loads scikit-learn

        def progress(what: str) -> None:
            bar.advance(tasks[-1])
            tasks.append(bar.add_task(what, total=1))

        result = run_demo(seed=seed, progress=progress)
        progress("Drawing samples taken apart")
        draw_demo(result, output)
        bar.advance(tasks[-1])

    n, k, p = len(result.train.X), result.train.Y.shape[1], result.train.X.shape[1]
    console.print(f"\n[bold]Sums of one or two handwritten digits[/]: {n} samples, {p} pixels, {k} labels\n")
    table = Table()
    table.add_column("", min_width=16)
    for trial in result.trials:
        table.add_column(trial.name, justify="right")
    better = {"hamming_loss": min}
    for measure in result.trials[0].scores:
        values = [trial.scores[measure] for trial in result.trials]
        best = better.get(measure, max)(values)
        cells = [f"[bold green]{100 * v:.1f}[/]" if v == best else f"{100 * v:.1f}" for v in values]
        arrow = "↓" if measure in better else "↑"
        table.add_row(f"{measure.replace('_', ' ')} {arrow}", *cells, end_section=measure == "accuracy")
    table.add_row("chosen", *(trial.parameters.replace(", ", "\n") for trial in result.trials), end_section=True)
    for what, seconds in (
        ("tuning", [trial.tuning_seconds for trial in result.trials]),
        ("training", [trial.fit_seconds for trial in result.trials]),
        ("prediction", [trial.predict_seconds for trial in result.trials]),
    ):
        table.add_row(what, *(f"{value:.2f} s" for value in seconds))
    console.print(table)
    console.print(
        "[dim]In percent, on samples made of other images. SDGS takes no tuning here. The other two have\n"
        "one parameter and a threshold, chosen by 3-fold cross-validation on the training samples;\n"
        "binary relevance is one linear SVM a label.[/]\n"
    )
    console.print(f"[bold]{output}[/] shows what each label contributed. Done in {perf_counter() - start:.0f} s.")


@app.command()
def reproduce(
    data_home: Annotated[
        Path | None,
        typer.Option(help="Folder with NAME/NAME-train.arff and so on. Default: SDGS_DATA, then the cache."),
    ] = None,
    datasets: Annotated[
        str, typer.Option(help="Names, with commas between. Default: the paper's eleven.", show_default=False)
    ] = "",
    methods: Annotated[str, typer.Option(help="Some of br, mlknn, mddm, sdgs.")] = "br,mlknn,mddm,sdgs",
    seeds: Annotated[str, typer.Option(help="Whole numbers, with commas between.")] = "0",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the records and the page.")] = Path(
        "sdgs-reproduction"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 2,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Also compare SDGS as it is here with other methods at their best.")
    ] = False,
) -> None:
    r"""Measure the paper's experiments again, and write one page that sets them beside the published figures.

    Stop it at any time and run the same command again: it goes on where it was.

    \b
    Examples:
      sdgs reproduce --data-home ~/multi-label
      sdgs reproduce --data-home ~/multi-label --datasets emotions,medical --methods br,sdgs --seeds 0,1,2
    """
    console, errors = Console(), Console(stderr=True)
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file. Name a folder.", param_hint="--output")
    for module in ("jinja2", "matplotlib"):
        if find_spec(module) is None:
            errors.print(f"The page needs {module}, which is not installed. Run: [bold]pip install 'sdgs\\[report]'[/]")
            raise typer.Exit(1)

    from sdgs.datasets import DataFileError  # loads scikit-learn
    from sdgs.experiments import ExperimentError, Protocol, run, write_report

    try:
        protocol = Protocol(
            datasets=_listed(datasets) if datasets else Protocol.datasets,
            methods=_listed(methods),
            seeds=tuple(int(seed) for seed in _listed(seeds)),
            beyond=beyond,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None

    start = perf_counter()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(width=30, no_wrap=True)),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]left"),
        TimeRemainingColumn(),
    )
    # Tasks take from a second to minutes: only the whole run so far says how fast it goes.
    with Progress(*columns, console=errors, speed_estimate_period=1e9) as bar:
        tasks: list[TaskID] = []

        def progress(done: float, total: float, what: str) -> None:
            if not tasks:  # what was done before this run says nothing about its speed
                tasks.append(bar.add_task("Starting", total=total, completed=done))  # type: ignore[arg-type]
            bar.update(tasks[0], completed=done, description=what or "Starting")

        failed = False
        try:
            run(protocol, output, data_home=data_home, n_jobs=jobs, progress=progress)
        except ExperimentError as error:
            failed = True
            bar.stop()
            errors.print(f"[red]{escape(str(error))}[/]", highlight=False)
        except (OSError, DataFileError) as error:
            bar.stop()
            _give_up(errors, error)
    try:
        page = write_report(output)
    except OSError as error:
        if not failed:
            _give_up(errors, error)
        raise typer.Exit(1) from None
    console.print(
        f"[bold]{page}[/] shows the results; tables.csv and tables.md beside it have the figures.", soft_wrap=True
    )
    console.print(f"Done in {perf_counter() - start:.0f} s.")
    if failed:
        raise typer.Exit(1)


def _give_up(errors: Console, error: Exception) -> NoReturn:
    """One line, and the exit status of a failure."""
    message = f"{error.filename}: {error.strerror}." if isinstance(error, OSError) and error.filename else str(error)
    errors.print(f"[red]{escape(message)}[/]", highlight=False)
    raise typer.Exit(1) from None


def _listed(text: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
