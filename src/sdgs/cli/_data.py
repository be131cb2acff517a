"""`sdgs data`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sdgs.cli._options import Json
from sdgs.cli._show import give_up, out, print_json, progress, table

data = typer.Typer(help="The paper's eleven data sets: list, get, check.", no_args_is_help=True)

Home = Annotated[
    Path | None,
    typer.Option("--data-home", help="Folder with NAME/NAME-train.arff and so on. Default: SDGS_DATA, then the cache."),
]


def _names() -> list[str]:
    from sdgs.datasets import REGISTRY

    return list(REGISTRY)


Names = Annotated[list[str] | None, typer.Argument(help="Data sets; all if none is named.", autocompletion=_names)]


@data.command("list")
def list_(data_home: Home = None, json: Json = False) -> None:
    """What there is, and what of it is on this machine.

    \b
    Examples:
      sdgs data list
      sdgs data list --data-home ~/multi-label --json
    """
    from sdgs.datasets import REGISTRY

    where = {name: _found(name, data_home) for name in REGISTRY}
    if json:
        sizes = ("domain", "n_train", "n_test", "n_features", "n_labels", "source", "citation")
        print_json(
            [
                {"name": name, "folder": where[name], **{size: getattr(entry, size) for size in sizes}}
                for name, entry in REGISTRY.items()
            ]
        )
        return
    made = table("name", "train", "test", "features", "labels", "on this machine")
    for name, entry in REGISTRY.items():
        numbers = (f"{size:,}" for size in (entry.n_train, entry.n_test, entry.n_features, entry.n_labels))
        made.add_row(name, *numbers, escape(where[name] or "-"))
    out().print(made)


def _found(name: str, data_home: Path | None) -> str | None:
    from sdgs.datasets import find

    try:
        return str(find(name, data_home=data_home))
    except FileNotFoundError:
        return None


@data.command()
def get(
    names: Names = None,
    mirror: Annotated[
        str,
        typer.Option(envvar="SDGS_MIRROR", help="Address under which NAME/NAME-train.arff and so on are served."),
    ] = "",
    data_home: Home = None,
) -> None:
    """Download data sets from a mirror; each file is checked before it appears.

    \b
    Examples:
      sdgs data get emotions --mirror https://example.org/multi-label
    """
    from sdgs.datasets import REGISTRY, fetch

    chosen = _checked(names)
    if not mirror:
        sources = sorted({REGISTRY[name].source for name in chosen})
        raise typer.BadParameter(
            "name a server that has them, for no public one has all in this form. Originals: "
            + "; ".join(sources)
            + ".",
            param_hint="--mirror",
        )
    for name in chosen:
        with progress(f"Getting {name}", None) as show:
            folder = fetch(name, mirror=mirror, data_home=data_home, progress=_shown(show))
        out().print(f"{name}: {escape(str(folder))}", soft_wrap=True)


@data.command()
def check(names: Names = None, data_home: Home = None, json: Json = False) -> None:
    """Compare the files on this machine with the checksums of the paper's. Exit status 1 if one differs or is missing.

    \b
    Examples:
      sdgs data check emotions medical
    """
    from sdgs.datasets import check as states_of

    found = {name: states_of(name, data_home=data_home) for name in _checked(names)}
    wrong = [(name, file, state) for name, files in found.items() for file, state in files.items() if state != "right"]
    if json:
        print_json(found)
    else:
        for name, files in found.items():
            if all(state == "right" for state in files.values()):
                out().print(f"[green]✓[/] {name}")
            for file, state in files.items():
                if state != "right":
                    out().print(f"[red]✗[/] {name}: {file} is {state}")
    if wrong:
        give_up(f"{len(wrong)} files are missing or different. Get them again: sdgs data get {wrong[0][0]}")


def _shown(show: Callable[[float, str], None]) -> Callable[[str, int, int | None], None]:
    return lambda file, done, total: show(
        done, f"{file} {done / 1e6:.1f} MB" + (f" of {total / 1e6:.1f}" if total else "")
    )


def _checked(names: list[str] | None) -> list[str]:
    from sdgs.datasets import REGISTRY

    for name in names or []:
        if name not in REGISTRY:
            raise typer.BadParameter(f"there is no data set {name!r}. There are {', '.join(REGISTRY)}.")
    return names or list(REGISTRY)
