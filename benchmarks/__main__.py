"""The command `python -m benchmarks`: prints tables, writes benchmarks.json and SVGs, fails if a claim fails."""

import json
import shlex
import sys
import warnings
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._data import Options
from benchmarks._measure import describe_environment
from benchmarks._plots import draw_plots
from benchmarks._report import Report

SUBJECTS = ("start_up", "fit", "training", "coding", "whole_task", "growth", "methods", "scale", "splits", "export")


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and fewer problems, no data: three minutes.")] = False,
    large: Annotated[bool, typer.Option("--large", help="Also the shapes of RCV1 and Delicious: up to hours.")] = False,
    only: Annotated[str, typer.Option(help=f"Comma-separated subset of {', '.join(SUBJECTS)}.")] = ",".join(SUBJECTS),
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the record and the plots.")] = Path(
        "build/benchmarks"
    ),
    data_home: Annotated[Path | None, typer.Option(help="Folder of the paper's data; default: SDGS_DATA.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Measure speed and memory, compare with other methods, and check the project's claims."""
    subjects = only.split(",")
    unknown = [name for name in subjects if name not in SUBJECTS]
    if unknown:
        message = f"unknown: {', '.join(unknown)}. Choose from {', '.join(SUBJECTS)}."
        raise typer.BadParameter(message, param_hint="--only")
    options = Options(quick, large, data_home and data_home.resolve(), seed)
    console = Console()
    # The tables are wide: a file or a pipe gets a fixed width.
    report = Report(console if console.is_terminal else Console(width=160))
    warnings.simplefilter("ignore", ConvergenceWarning)
    out.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    with threadpool_limits(1):
        header = {
            "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
            "seed": seed,
            "environment": describe_environment(),
        }
        report.console.print(*(f"{name}: {value}\n" for name, value in header["environment"].items()), sep="", end="")
        for name in subjects:
            report.subject = name
            report.console.rule(f"{name}, after {perf_counter() - start:.0f} s")
            import_module(f"benchmarks.{name}").run(report, options)
            record = header | {"seconds": perf_counter() - start} | report.record()
            # Written after each subject, so that an interrupted run keeps its results.
            (out / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n")
    plots = draw_plots(record, out)
    report.console.rule(f"claims, after {record['seconds']:.0f} s")
    all_hold = report.show_claims()
    report.console.print(f"Written: {', '.join(map(str, [out / 'benchmarks.json', *plots]))}")
    raise typer.Exit(not all_hold)


if __name__ == "__main__":
    typer.run(main)
