"""The command: `python -m benchmarks`. Prints tables, writes benchmarks.json and SVGs, fails where a claim does."""

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
from benchmarks._measure import environment
from benchmarks._plots import draw
from benchmarks._report import Report

SUBJECTS = ("start_up", "training", "coding", "whole_task", "growth", "scale")


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and fewer problems, no data: two minutes.")] = False,
    large: Annotated[bool, typer.Option("--large", help="Also the shapes of RCV1 and Delicious: up to hours.")] = False,
    only: Annotated[str, typer.Option(help=f"Some of {', '.join(SUBJECTS)}, with commas.")] = ",".join(SUBJECTS),
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the record and the plots.")] = Path(
        "build/benchmarks"
    ),
    data_home: Annotated[Path | None, typer.Option(help="The paper's data; default: SDGS_DATA.")] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
) -> None:
    """Measure, compare, and check what the project says of its speed."""
    asked = only.split(",")
    unknown = [name for name in asked if name not in SUBJECTS]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: none of {', '.join(SUBJECTS)}.", param_hint="--only")
    options = Options(quick, large, data_home and data_home.resolve(), seed)
    console = Console()
    # Tables are wide; in a file or a pipe there is room for them.
    report = Report(console if console.is_terminal else Console(width=160))
    warnings.simplefilter("ignore", ConvergenceWarning)
    out.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    with threadpool_limits(1):
        head = {
            "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
            "seed": seed,
            "environment": environment(),
        }
        report.console.print(*(f"{name}: {value}\n" for name, value in head["environment"].items()), sep="", end="")
        for name in asked:
            report.subject = name
            report.console.rule(f"{name}, after {perf_counter() - start:.0f} s")
            import_module(f"benchmarks.{name}").run(report, options)
            record = head | {"seconds": perf_counter() - start} | report.record()
            # After each, so that a run that is stopped leaves what it has.
            (out / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n")
    plots = draw(record, out)
    report.console.rule(f"claims, after {record['seconds']:.0f} s")
    held = report.show_claims()
    report.console.print(f"Written: {', '.join(map(str, [out / 'benchmarks.json', *plots]))}")
    raise typer.Exit(not held)


if __name__ == "__main__":
    typer.run(main)
