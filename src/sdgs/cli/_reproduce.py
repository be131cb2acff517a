"""`sdgs reproduce`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, SpinnerColumn, TaskID, TaskProgressColumn, TextColumn
from rich.table import Column

from sdgs.cli._console import err, escape, out, require_module, show_bar, time_columns
from sdgs.cli._options import DataHome, split_commas


def reproduce(
    data_home: DataHome = None,
    datasets: Annotated[
        str, typer.Option(help="Names, separated by commas. Default: the paper's eleven.", show_default=False)
    ] = "",
    methods: Annotated[str, typer.Option(help="Any of br, mlknn, mddm, sdgs.")] = "br,mlknn,mddm,sdgs",
    seeds: Annotated[str, typer.Option(help="Random seeds, separated by commas.")] = "0",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the records and the page.")] = Path(
        "sdgs-reproduction"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 2,
    all_methods: Annotated[
        bool, typer.Option("--all-methods", help="Also run the methods that the paper's introduction names.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Also compare SDGS as implemented here with other tuned methods.")
    ] = False,
    beyond_methods: Annotated[
        str, typer.Option(help="Names of methods to compare with --beyond. Default: all.", show_default=False)
    ] = "",
    only: Annotated[
        str, typer.Option(help="Only this measurement of explanations: faithfulness.", show_default=False)
    ] = "",
) -> None:
    """Run the paper's experiments, and write a page that compares the results with the published figures.

    You can interrupt it at any time. The same command continues where it stopped.

    \b
    Examples:
      sdgs reproduce --data-home ~/multi-label
      sdgs reproduce --data-home ~/multi-label --datasets emotions,medical \\
          --methods br,sdgs --seeds 0,1,2
      sdgs reproduce --data-home ~/multi-label --only faithfulness --seeds 0,1,2
    """
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file. Name a folder.", param_hint="--output")
    if not only:
        for module in ("jinja2", "matplotlib"):
            require_module(module, "The page", extra="report")

    from sdgs.experiments import Protocol  # loads scikit-learn
    from sdgs.experiments._explanation_studies import EXPLANATION_STUDIES
    from sdgs.experiments._extended_comparison import installed_methods

    try:
        default = EXPLANATION_STUDIES[only].datasets if only in EXPLANATION_STUDIES else Protocol.datasets
        protocol = Protocol(
            datasets=split_commas(datasets) if datasets else default,
            methods=split_commas(methods),
            seeds=tuple(int(seed) for seed in split_commas(seeds)),
            all_methods=all_methods,
            beyond=beyond,
            beyond_methods=split_commas(beyond_methods) or installed_methods(),
            only=only or None,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    start = perf_counter()
    succeeded = _run(protocol, output, data_home, jobs)
    if only:
        _show_study(output, only)
    else:
        _write_page(output, succeeded=succeeded)
    out().print(f"Done in {perf_counter() - start:.0f} s.")
    if not succeeded:
        raise typer.Exit(1)


def _show_study(output: Path, study: str) -> None:
    """Print the figures of a measurement of explanations."""
    from sdgs.experiments._explanation_studies import EXPLANATION_STUDIES, study_lines

    lines = [EXPLANATION_STUDIES[study].title.capitalize(), *study_lines(output, study)]
    out().print("\n".join(map(escape, lines)), soft_wrap=True, highlight=False)
    out().print(f"[bold]{escape(output / 'studies')}[/] has the records.", soft_wrap=True)


def _write_page(output: Path, *, succeeded: bool) -> None:
    from sdgs.experiments import write_report

    try:
        page = write_report(output)
    except OSError:
        if not succeeded:  # the error has been printed
            raise typer.Exit(1) from None
        raise
    out().print(
        f"[bold]{escape(page)}[/] shows the results; tables.csv and tables.md in the same folder have the figures.",
        soft_wrap=True,
    )


def _run(protocol: Any, output: Path, data_home: Path | None, jobs: int) -> bool:
    """Run the experiments with a progress bar. If one fails, print its error and return False."""
    from sdgs.experiments import ExperimentError, run

    description = TextColumn("{task.description}", table_column=Column(width=30, no_wrap=True))
    columns = SpinnerColumn(), description, BarColumn(), TaskProgressColumn(), *time_columns()
    tasks: list[TaskID] = []
    # Tasks take from a second to minutes, so the speed is estimated over the whole run.
    with show_bar(*columns, speed_estimate_period=1e9) as bar:

        def show(done: float, total: float, task: str) -> None:
            if not tasks:  # tasks done before this run do not count for its speed
                tasks.append(bar.add_task("Starting", total=total, completed=done))  # type: ignore[arg-type]
            bar.update(tasks[0], completed=done, description=escape(task) or "Starting")

        try:
            run(protocol, output, data_home=data_home, n_jobs=jobs, progress=show)
        except ExperimentError as error:
            bar.stop()
            message = escape(error, keep="\n")
            err().print(f"[red]{message}[/]", highlight=False)
            return False
    return True
