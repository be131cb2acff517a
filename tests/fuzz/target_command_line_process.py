"""The `sdgs` command in a process of its own: the same outcome as in this process."""

import subprocess
import sys

from typer.testing import CliRunner

from fuzz import command_lines
from sdgs.cli import app

prepare = command_lines.prepare


def run_case(rng, folder):
    command = command_lines.random_command(rng)
    outcomes = []
    for name, run in (("process", _run_in_process), ("here", _run_here)):
        (folder / name).mkdir()
        command_lines.write_files(command, folder / name)
        status, stdout, stderr = run(command, folder / name)
        command_lines.check_outcome(command, status, stdout, stderr, folder / name)
        outcomes.append(status)
    assert outcomes[0] == outcomes[1], f"exit status {outcomes[0]} in a process, {outcomes[1]} here"
    return command_lines.CLEAN_ERROR if outcomes[0] else command_lines.VALID


def _run_in_process(command, folder):
    run = subprocess.run(
        [sys.executable, "-m", "sdgs", *command.arguments], cwd=folder, input=command.stdin or b"", capture_output=True
    )
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def _run_here(command, folder):
    from contextlib import chdir

    with chdir(folder):
        result = CliRunner().invoke(app, command.arguments, input=command.stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
