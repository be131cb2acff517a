"""`sdgs example`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sdgs.cli import _options as option
from sdgs.cli._console import escape, make_table, out


def _tickets() -> Path:
    from sdgs.datasets import tickets_path

    return tickets_path()


# Name, what it is, and its path.
_EXAMPLES: dict[str, tuple[str, Callable[[], Path]]] = {
    "tickets": ("400 support tickets with a message, a plan, a channel, a date, an amount and tags", _tickets)
}


def example(
    name: Annotated[
        str | None,
        typer.Argument(help="The file. Default: list them.", autocompletion=lambda: list(_EXAMPLES)),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    force: option.Force = False,
) -> None:
    """Write a file to try the commands with, or list such files.

    \b
    Examples:
      sdgs example
      sdgs example tickets > tickets.csv
      sdgs example tickets -o tickets.csv
    """
    if name is None:
        table = make_table("name", "content")
        for key, (description, _) in _EXAMPLES.items():
            table.add_row(key, escape(description))
        out().print(table)
        return
    if name not in _EXAMPLES:
        raise typer.BadParameter(f"there is no example {name!r}. There are {', '.join(_EXAMPLES)}.", param_hint="NAME")
    content = _EXAMPLES[name][1]().read_bytes()
    if output is None:
        typer.echo(content, nl=False)
        return
    from sdgs.persistence._atomic_write import write_atomically

    option.check_output(output)
    option.check_not_existing(output, force)
    write_atomically(output, content)
