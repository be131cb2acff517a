"""`sdgs demo`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from sdgs.cli._options import checked_picture
from sdgs.cli._show import err, needs, out


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the picture (.png, .pdf or .svg).")
    ] = Path("sdgs-demo.png"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Seed of the data and the model.")] = 0,
) -> None:
    """Learn sums of handwritten digits, compare with binary relevance, and draw samples taken apart."""
    console, errors = out(), err()
    checked_picture(output)
    needs("The demo", "matplotlib", extra="plot")

    start = perf_counter()
    columns = SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=errors, disable=not errors.is_terminal) as bar:
        tasks = [bar.add_task("Loading", total=1)]

        from sdgs.experiments._digits_demo import draw_demo, run_demo  # loads scikit-learn
        from sdgs.metrics import METRICS

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
    for method in result.methods:
        table.add_column(method.name, justify="right")
    for name in result.methods[0].scores:
        metric, values = METRICS[name], [method.scores[name] for method in result.methods]
        best = max(values) if metric.greater_is_better else min(values)
        cells = [f"[bold green]{100 * v:.1f}[/]" if v == best else f"{100 * v:.1f}" for v in values]
        arrow = "↑" if metric.greater_is_better else "↓"
        table.add_row(f"{name.replace('_', ' ')} {arrow}", *cells, end_section=name == [*METRICS][-1])
    table.add_row("chosen", *(method.parameters.replace(", ", "\n") for method in result.methods), end_section=True)
    for what, seconds in (
        ("tuning", [method.tuning_seconds for method in result.methods]),
        ("training", [method.fit_seconds for method in result.methods]),
        ("prediction", [method.predict_seconds for method in result.methods]),
    ):
        table.add_row(what, *(f"{value:.2f} s" for value in seconds))
    console.print(table)
    console.print(
        "[dim]In percent, on samples made of other images. SDGS takes no tuning here. The other two have\n"
        "one parameter and a threshold, chosen by 3-fold cross-validation on the training samples;\n"
        "binary relevance is one linear SVM a label.[/]\n"
    )
    console.print(f"[bold]{output}[/] shows what each label contributed. Done in {perf_counter() - start:.0f} s.")
