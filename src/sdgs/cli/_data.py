"""`sdgs data`."""

from typing import Annotated, Any

import typer

from sdgs.cli._console import escape, exit_with_error, make_table, out, print_json, progress_bar
from sdgs.cli._options import DataHome, Json

data = typer.Typer(help="List, download and check the paper's eleven data sets.", no_args_is_help=True)


def _registered_names() -> list[str]:
    from sdgs.datasets import REGISTRY

    return list(REGISTRY)


Names = Annotated[list[str] | None, typer.Argument(help="Data sets. Default: all.", autocompletion=_registered_names)]


@data.command("list")
def list_(data_home: DataHome = None, json: Json = False) -> None:
    """List the data sets, and which of them are on this machine.

    \b
    Examples:
      sdgs data list
      sdgs data list --data-home ~/multi-label --json
    """
    from sdgs.datasets import REGISTRY, find

    folders: dict[str, str | None] = {}
    for name in REGISTRY:
        try:
            folders[name] = str(find(name, data_home=data_home))
        except FileNotFoundError:
            folders[name] = None
    if json:
        keys = ("domain", "n_train", "n_test", "n_features", "n_labels", "source", "citation")
        print_json(
            [
                {"name": name, "folder": folders[name], **{key: getattr(entry, key) for key in keys}}
                for name, entry in REGISTRY.items()
            ]
        )
        return
    table = make_table("name", "train", "test", "features", "labels", "on this machine")
    for name, entry in REGISTRY.items():
        sizes = (f"{size:,}" for size in (entry.n_train, entry.n_test, entry.n_features, entry.n_labels))
        table.add_row(name, *sizes, escape(folders[name] or "-"))
    out().print(table)


@data.command()
def get(
    names: Names = None,
    mirror: Annotated[
        str,
        typer.Option(envvar="SDGS_MIRROR", help="Address under which NAME/NAME-train.arff and so on are served."),
    ] = "",
    data_home: DataHome = None,
) -> None:
    """Download data sets from a mirror, and verify their checksums.

    \b
    Examples:
      sdgs data get emotions --mirror https://example.org/multi-label
    """
    from sdgs.datasets import REGISTRY, fetch

    selected = _check_names(names)
    if not mirror:
        sources = "; ".join(sorted({REGISTRY[name].source for name in selected}))
        raise typer.BadParameter(
            f"name a server, because no public server has all data sets in this form. Original sources: {sources}.",
            param_hint="--mirror",
        )
    for name in selected:
        with progress_bar(f"Downloading {name}", None) as show:

            def show_file(file: str, done: int, total: int | None, show: Any = show) -> None:
                show(done, f"{file} {done / 1e6:.1f}{f' of {total / 1e6:.1f}' if total else ''} MB")

            folder = fetch(name, mirror=mirror, data_home=data_home, progress=show_file)
        out().print(f"{name}: {escape(str(folder))}", soft_wrap=True)


@data.command()
def check(names: Names = None, data_home: DataHome = None, json: Json = False) -> None:
    """Compare the files on this machine with their checksums. The exit status is 1 if one is different or missing.

    \b
    Examples:
      sdgs data check emotions medical
    """
    from sdgs.datasets import check as check_files

    states = {name: check_files(name, data_home=data_home) for name in _check_names(names)}
    wrong = {name: {file: state for file, state in files.items() if state != "right"} for name, files in states.items()}
    if json:
        print_json(states)
    else:
        for name, files in wrong.items():
            if not files:
                out().print(f"[green]✓[/] {name}")
            for file, state in files.items():
                out().print(f"[red]✗[/] {name}: {file} is {state}")
    n_wrong = sum(map(len, wrong.values()))
    if n_wrong:
        first = next(name for name, files in wrong.items() if files)
        exit_with_error(f"Files that are missing or different: {n_wrong}. To download them: sdgs data get {first}")


def _check_names(names: list[str] | None) -> list[str]:
    registered = _registered_names()
    for name in names or []:
        if name not in registered:
            raise typer.BadParameter(f"there is no data set {name!r}. There are {', '.join(registered)}.")
    return names or registered
