"""All commands, and the handling of errors that they share."""

import io
import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import sdgs
from sdgs._utils._overflow import TooLargeError
from sdgs._utils._text import printable
from sdgs.cli._audit import audit
from sdgs.cli._compare import compare
from sdgs.cli._console import exit_with_error, note
from sdgs.cli._data import data
from sdgs.cli._demo import demo
from sdgs.cli._evaluate import evaluate
from sdgs.cli._example import example
from sdgs.cli._explain import explain
from sdgs.cli._export import export
from sdgs.cli._fit import fit
from sdgs.cli._info import info
from sdgs.cli._predict import predict
from sdgs.cli._report import report
from sdgs.cli._reproduce import reproduce
from sdgs.cli._split import split
from sdgs.cli._update import update
from sdgs.persistence._atomic_write import DISK_IS_FULL

# Of click, or of the copy of click in newer versions of typer.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class CommandGroup(TyperGroup):
    """Prints errors about files in one line and warnings as notes, and ends on Ctrl-C without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("default", category=UserWarning)
            warnings.showwarning = lambda message, *_, **__: note(str(message))
            try:
                return super().invoke(ctx)
            except _UsageError as error:  # typer prints it
                vars(error)["message"] = printable(vars(error)["message"], keep="\n")
                raise
            except KeyboardInterrupt:
                exit_with_error("Interrupted. No incomplete file was left.", status=130)
            except MemoryError:
                exit_with_error("There is not enough memory. Use fewer samples or features.")
            except BrokenPipeError:  # the reader of the output has closed it
                raise
            except (
                OSError,
                sdgs.datasets.DataFileError,
                sdgs.ModelFileError,
                TooLargeError,
            ) as error:  # other errors are bugs
                if isinstance(error, OSError) and error.filename:
                    exit_with_error(f"{error.filename}: {error.strerror}.")
                if isinstance(error, OSError) and error.errno in DISK_IS_FULL:
                    exit_with_error(f"The output cannot be written: {error.strerror}.")
                exit_with_error(str(error))


app = typer.Typer(cls=CommandGroup, no_args_is_help=True, pretty_exceptions_enable=False)
commands = (
    demo,
    example,
    info,
    split,
    audit,
    compare,
    fit,
    update,
    evaluate,
    explain,
    report,
    predict,
    export,
    reproduce,
)
for command in commands:
    app.command()(command)
app.add_typer(data, name="data")


def main() -> None:
    """Entry point of the `sdgs` command."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files are removed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for names that the terminal cannot show
    app()


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Multi-label classification in which every prediction can be decomposed into the contribution of each label.

    \b
    From a table to suspicious labels, the best method, a model, measures, an explanation, a report and predictions:
      sdgs example tickets > tickets.csv
      sdgs info tickets.csv
      sdgs audit tickets.csv --label-column tags -o suspicious.html
      sdgs compare tickets.csv --label-column tags
      sdgs fit tickets.csv --label-column tags --holdout 0.2 \\
          --holdout-file held-out.csv
      sdgs evaluate tickets.sdgs held-out.csv --label-column tags
      sdgs explain tickets.sdgs held-out.csv --samples 5
      sdgs report tickets.sdgs held-out.csv --label-column tags -o tickets.html
      sdgs predict tickets.sdgs tickets.csv > labels.csv
    """
    if version:
        typer.echo(f"sdgs {sdgs.__version__}")
        raise typer.Exit
