"""How things are shown: results on standard output, all else on standard error, nothing that moves unless one looks."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NoReturn

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

_live: list[Console] = []  # of the bar that is shown, if one is: what is printed by another would run into it
_PIPED_WIDTH = 160  # there is no window to fit in


def out() -> Console:
    """Where results go."""
    return Console(width=_width(sys.stdout), highlight=False)


def err() -> Console:
    """Where all else goes."""
    return _live[-1] if _live else _stderr()


def _stderr() -> Console:
    return Console(stderr=True, width=_width(sys.stderr), highlight=False)


def _width(file: Any) -> int | None:
    return None if file.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH


def note(message: str) -> None:
    """Something worth knowing that is not the result."""
    err().print(f"[yellow]Note:[/] {escape(message)}", soft_wrap=True)


def give_up(message: str, *, status: int = 1) -> NoReturn:
    """Say what is wrong, and end with this exit status."""
    err().print(f"[red]{escape(message)}[/]", soft_wrap=True)
    raise typer.Exit(status) from None


def needs(what: str, module: str, *, extra: str) -> None:
    """End with what to install if a module is not there."""
    if find_spec(module) is None:
        give_up(f"{what} needs {module}, which is not installed. Run: pip install 'sdgs[{extra}]'")


def print_json(value: Any) -> None:
    """For machines. NaN and infinity, which JSON does not have, are null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def sizes(X: Any, n_labels: int) -> str:
    """How large a data set is, in words."""
    n, p = X.shape
    return f"{n:,} samples, {p:,} features, {n_labels:,} {'label' if n_labels == 1 else 'labels'}"


def table(*columns: str) -> Table:
    """A table whose first column is text and whose others are numbers."""
    made = Table(box=SIMPLE, pad_edge=False)
    for i, name in enumerate(columns):
        made.add_column(name, justify="right" if i else "left", overflow="fold")
    return made


def percent(value: float) -> str:
    """A share, or a dash where it is not defined."""
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


@contextmanager
def _above(console: Console) -> Iterator[None]:
    """Notes are printed above the bar of this console."""
    _live.append(console)
    try:
        yield
    finally:
        _live.pop()


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner with the time while something is done; what it is can be changed."""
    errors = _stderr()
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar, _above(errors):
        task = bar.add_task(escape(what), total=None)
        yield lambda description: bar.update(task, description=escape(description))


@contextmanager
def progress(what: str, total: float | None, *, shown: bool = True) -> Iterator[Callable[[float, str], None]]:
    """A bar with the time left. Call it with how much is done, and a few words."""
    errors = _stderr()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]left"),
        TimeRemainingColumn(),
    )
    hidden = not (shown and errors.is_terminal)
    bar = Progress(*columns, console=errors, transient=True, disable=hidden, speed_estimate_period=1e9)
    with bar, _above(errors):
        task = bar.add_task(escape(what), total=total)
        yield lambda done, words: bar.update(task, completed=done, description=escape(f"{what} {words}".strip()))
