"""All commands, and what they have in common: how they end."""

import io
import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import sdgs
from sdgs.cli._data import data
from sdgs.cli._demo import demo
from sdgs.cli._evaluate import evaluate
from sdgs.cli._explain import explain
from sdgs.cli._fit import fit
from sdgs.cli._info import info
from sdgs.cli._predict import predict
from sdgs.cli._report import report
from sdgs.cli._reproduce import reproduce
from sdgs.cli._show import give_up, note


class Commands(TyperGroup):
    """Ends every command well: troubles with files in a line, warnings as notes, Ctrl-C without a trace."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("default", category=UserWarning)
            warnings.showwarning = lambda message, *_, **__: note(str(message))
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                give_up("Stopped. Nothing is left half-written.", status=130)
            except MemoryError:
                give_up("There is not enough memory for this. Take fewer samples or features.")
            except BrokenPipeError:  # whoever reads has seen enough
                raise
            except (OSError, ValueError) as error:
                if not _is_expected(error):
                    raise
                give_up(_in_words(error))


def _is_expected(error: Exception) -> bool:
    """Whether it is a trouble with a file, and not a mistake in the program."""
    if isinstance(error, OSError):
        return True
    from sdgs.datasets import DataFileError

    return isinstance(error, DataFileError | sdgs.ModelFileError)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (demo, info, fit, evaluate, explain, report, predict, reproduce):
    app.command()(command)
app.add_typer(data, name="data")


def main() -> None:
    """Entry point of the `sdgs` command."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or what is written aside would stay
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that a terminal cannot show is no reason to fail
    app()


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Multi-label learning that takes every sample apart into what each label contributed.

    \b
    From a file to a model, a score, a picture and labels:
      sdgs info music.arff
      sdgs fit music-train.arff -o music.sdgs
      sdgs evaluate music.sdgs music-test.arff
      sdgs explain music.sdgs music-test.arff -o explained.png
      sdgs report music.sdgs music-test.arff -o music.html
      sdgs predict music.sdgs new.csv > labels.csv
    """
    if version:
        typer.echo(f"sdgs {sdgs.__version__}")
        raise typer.Exit
