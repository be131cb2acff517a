"""`sdgs demo`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from sdgs.cli._console import escape, out, require_module, show_bar
from sdgs.cli._evaluate import measure_title
from sdgs.cli._options import PICTURE_SUFFIXES, Seed, check_output


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write (.png, .pdf or .svg).")] = Path(
        "sdgs-demo.png"
    ),
    seed: Seed = 0,
) -> None:
    """Learn sums of handwritten digits, compare with binary relevance, and draw explained samples."""
    check_output(output, suffixes=PICTURE_SUFFIXES)
    require_module("matplotlib", "The demo", extra="plot")
    start = perf_counter()
    columns = SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), TimeElapsedColumn()
    with show_bar(*columns) as bar:
        tasks = [bar.add_task("Loading", total=1)]

        from sdgs.experiments._digits_demo import draw_demo, run_demo  # loads scikit-learn

        def start_step(description: str) -> None:
            bar.advance(tasks[-1])
            tasks.append(bar.add_task(description, total=1))

        result = run_demo(seed=seed, progress=start_step)
        start_step("Drawing explained samples")
        draw_demo(result, output)
        bar.advance(tasks[-1])

    (n, p), k = result.train.X.shape, result.train.Y.shape[1]
    out().print(f"\n[bold]Sums of one or two handwritten digits[/]: {n} samples, {p} pixels, {k} labels\n")
    out().print(_make_table(result.methods))
    out().print(
        "[dim]In percent, on samples made of other images. SDGS uses its defaults. The other two methods have one "
        "parameter and a threshold, selected by 3-fold cross-validation on the training samples. "
        "Binary relevance trains one linear SVM per label.[/]\n"
    )
    out().print(
        f"[bold]{escape(output)}[/] shows the contribution of each label. Done in {perf_counter() - start:.0f} s."
    )


def _make_table(methods: Any) -> Table:
    """Measures, parameters and times, one column per method; the best value of each measure in green."""
    from sdgs.metrics import METRICS

    table = Table()
    table.add_column("", min_width=16)
    for method in methods:
        table.add_column(method.name, justify="right")
    for name in methods[0].scores:
        scores = [method.scores[name] for method in methods]
        best = (max if METRICS[name].greater_is_better else min)(scores)
        cells = [f"[bold green]{100 * score:.1f}[/]" if score == best else f"{100 * score:.1f}" for score in scores]
        table.add_row(measure_title(name), *cells, end_section=name == [*METRICS][-1])
    table.add_row("selected", *(method.parameters.replace(", ", "\n") for method in methods), end_section=True)
    for step, attribute in (
        ("tuning", "tuning_seconds"),
        ("training", "fit_seconds"),
        ("prediction", "predict_seconds"),
    ):
        table.add_row(step, *(f"{getattr(method, attribute):.2f} s" for method in methods))
    return table
