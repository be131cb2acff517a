"""The `sdgs` command, run in this process."""

import io

from typer.testing import CliRunner

from fuzz import command_lines
from fuzz.checks import files_in
from sdgs.cli import app


def prepare():
    command_lines.prepare()
    X, _ = command_lines.samples()
    command_lines.fitted_models()[3].predict(X)
    figure = command_lines.fitted_models()[3].explain(X[:1])[0].plot().figure_
    figure.savefig(io.BytesIO())  # matplotlib opens fonts and keeps them
    for arguments in (["info", "--help"], ["report", "--help"]):
        CliRunner().invoke(app, arguments)


def run_case(rng, folder):
    command = command_lines.random_command(rng)
    command_lines.write_files(command, folder)
    before = files_in(folder)
    result = CliRunner().invoke(app, command.arguments, input=command.stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    outcome = command_lines.check_outcome(command, result.exit_code, result.stdout, result.stderr, folder)
    after = files_in(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed <= set(command_lines.allowed_outputs(command, result.exit_code)), f"changed: {sorted(changed)}"
    return outcome
