"""`sdgs reproduce`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
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
from rich.table import Column

from sdgs.cli._options import listed
from sdgs.cli._show import err, needs, out


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
    """Measure the paper's experiments again, and write one page that sets them beside the published figures.

    Stop it at any time and run the same command again: it goes on where it was.

    \b
    Examples:
      sdgs reproduce --data-home ~/multi-label
      sdgs reproduce --data-home ~/multi-label --datasets emotions,medical --methods br,sdgs --seeds 0,1,2
    """
    console, errors = out(), err()
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file. Name a folder.", param_hint="--output")
    for module in ("jinja2", "matplotlib"):
        needs("The page", module, extra="report")

    from sdgs.experiments import ExperimentError, Protocol, run, write_report  # loads scikit-learn

    try:
        protocol = Protocol(
            datasets=listed(datasets) if datasets else Protocol.datasets,
            methods=listed(methods),
            seeds=tuple(int(seed) for seed in listed(seeds)),
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
    with Progress(*columns, console=errors, speed_estimate_period=1e9, disable=not errors.is_terminal) as bar:
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
    try:
        page = write_report(output)
    except OSError:
        if failed:  # which has been said
            raise typer.Exit(1) from None
        raise
    console.print(
        f"[bold]{page}[/] shows the results; tables.csv and tables.md beside it have the figures.", soft_wrap=True
    )
    console.print(f"Done in {perf_counter() - start:.0f} s.")
    if failed:
        raise typer.Exit(1)
