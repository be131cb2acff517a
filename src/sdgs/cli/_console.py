"""Printing: results to standard output; notes, errors and progress bars to standard error."""

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, NoReturn

import typer
from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape as escape_markup
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sdgs._utils._text import printable, printable_json

_PIPED_WIDTH = 160  # of output that is not a terminal
_MAX_WORD_WIDTH = 16  # of a word in a table that is not broken
_LINES = "\n"  # messages may have several
_console_of_bar: list[Console] = []  # the console of the current bar, so that notes are printed above it


class PrintableConsole(Console):
    """A console that prints no control characters except its own: text may come from any file.

    On a terminal long lines are broken between words, which a terminal itself does not do. Elsewhere ``soft_wrap``
    leaves them as they are.
    """

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Print."""
        super().print(*objects, soft_wrap=bool(soft_wrap) and not self.is_terminal, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of text to print."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, keep="\n"), style, control)


def escape(text: Any, *, keep: str = "") -> str:
    """Text as it is: without markup, and with control characters as escapes except those in ``keep``."""
    return escape_markup(printable(text, keep=keep))


def out() -> Console:
    """The console for results."""
    return PrintableConsole(width=_width(sys.stdout), highlight=False, emoji=False)


def err() -> Console:
    """The console for everything else."""
    return _console_of_bar[-1] if _console_of_bar else _stderr()


def _stderr() -> Console:
    return PrintableConsole(stderr=True, width=_width(sys.stderr), highlight=False, emoji=False)


def _width(file: Any) -> int | None:
    return None if file.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH


def print_sentences(text: str) -> None:
    """Print text: on a terminal broken between words, elsewhere in the lines that it has."""
    out().print(escape(text, keep=_LINES), soft_wrap=not sys.stdout.isatty())


def print_command(console: Console, command: Sequence[str]) -> None:
    """Print the command to run next; on a terminal in lines that a shell joins."""
    width = console.width if console.is_terminal else sys.maxsize
    lines = ["Next:"]
    for part in map(shlex.quote, command):
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append(" ")
        lines[-1] += f" {part}"
    Console.print(console, escape("\n".join(lines), keep=_LINES), soft_wrap=True)


def note(message: str) -> None:
    """Print a warning that is not part of the result."""
    err().print(f"[yellow]Note:[/] {escape(message, keep=_LINES)}", soft_wrap=True)


def warn(message: str) -> None:
    """Print that the result is probably not what was meant."""
    err().print(f"[bold red]Warning:[/] {escape(message, keep=_LINES)}", soft_wrap=True)


def exit_with_error(message: str, *, status: int = 1) -> NoReturn:
    """Print an error and end with this exit status."""
    err().print(f"[red]{escape(message, keep=_LINES)}[/]", soft_wrap=True)
    raise typer.Exit(status) from None


def require_module(module: str, purpose: str, *, extra: str) -> None:
    """End with a message about what to install if a module is missing."""
    if find_spec(module) is None:
        exit_with_error(f"{purpose} needs {module}, which is not installed. Run: pip install 'sdgs[{extra}]'")


def print_json(value: Any) -> None:
    """Print JSON, in which NaN and infinity, which JSON does not have, are null."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    typer.echo(printable_json(json.dumps(finite, ensure_ascii=False, indent=2)))


def json_value(value: Any) -> Any:
    """The value of a parameter as JSON has it: numbers, text, booleans, null, lists and objects; else its text."""
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def format_sizes(X: Any, n_labels: int) -> str:
    """Numbers of samples, features or columns of a table, and labels."""
    n, p = X.shape
    noun = "column" if hasattr(X, "columns") else "feature"
    return f"{count(n, 'sample')}, {count(p, noun)}, {count(n_labels, 'label')}"


def count(n: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


class _WordTable(Table):
    """A table that breaks cells within words only where words are long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            texts = [Text.from_markup(cell).plain for cell in (column.header, *column.cells) if isinstance(cell, str)]
            longest = max((len(word) for text in texts for word in text.split()), default=1)
            column.min_width = max(min(longest, _MAX_WORD_WIDTH), 1)
        yield from super().__rich_console__(console, options)


def make_table(*columns: str) -> Table:
    """A table whose first column is text and whose other columns are numbers."""
    table = _WordTable(box=SIMPLE, pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left", overflow="fold")
    return table


def format_percent(share: float) -> str:
    """A share in percent; a dash if it is not defined."""
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


@contextmanager
def show_bar(*columns: Any, shown: bool = True, **options: Any) -> Iterator[Progress]:
    """A progress bar on standard error, if that is a terminal; notes are printed above it."""
    console = _stderr()
    is_shown = shown and console.is_terminal
    bar = Progress(*columns, console=console, disable=not is_shown, **options)
    with bar if is_shown else nullcontext():  # Rich before 15 writes an empty line at the end of a hidden bar
        _console_of_bar.append(console)
        try:
            yield bar
        finally:
            _console_of_bar.pop()


@contextmanager
def spinner(description: str) -> Iterator[Callable[[str], None]]:
    """A spinner with the elapsed time. Call it to change the description."""
    with show_bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True) as bar:
        task = bar.add_task(escape(description), total=None)
        yield lambda text: bar.update(task, description=escape(text))


@contextmanager
def progress_bar(
    description: str, total: float | None, *, shown: bool = True
) -> Iterator[Callable[[float, str], None]]:
    """A bar with the remaining time. Call it with the amount done and a detail."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *time_columns()
    with show_bar(*columns, shown=shown, transient=True, speed_estimate_period=1e9) as bar:
        task = bar.add_task(escape(description), total=total)
        yield lambda done, detail: bar.update(
            task, completed=done, description=escape(f"{description} {detail}".strip())
        )


def time_columns() -> tuple[TimeElapsedColumn, TextColumn, TimeRemainingColumn]:
    """Elapsed and remaining time."""
    return TimeElapsedColumn(), TextColumn("[dim]left"), TimeRemainingColumn()
