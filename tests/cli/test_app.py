"""What all commands share: help, version, errors."""

import importlib.util
import os
import subprocess
import sys
from unittest import mock

import pytest

import sdgs
from sdgs import SDGSClassifier


def test_version_and_help(run):
    assert run("--version").output.strip() == f"sdgs {sdgs.__version__}"
    for command in ("info", "fit", "predict", "evaluate", "explain", "reproduce"):
        assert command in run("--help").output
        text = run(command, "--help").output
        assert f"\n   sdgs {command} " in text  # an example, on a line of its own
    installed = subprocess.run([sys.executable, "-m", "sdgs", "--version"], capture_output=True, text=True, check=True)
    assert installed.stdout.strip() == f"sdgs {sdgs.__version__}"


def test_help_loads_no_large_library():
    code = (
        "import sys; sys.argv = ['sdgs', '--help']\ntry:\n import sdgs.cli; sdgs.cli.main()\nexcept SystemExit: pass\n"
    )
    code += "print([m for m in ('sklearn', 'scipy', 'numba', 'pandas', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_bug_is_not_hidden(run, monkeypatch, songs):
    monkeypatch.setattr(SDGSClassifier, "predict", mock.Mock(side_effect=ValueError("a bug")))
    assert isinstance(run("predict", songs / "songs.sdgs", songs / "test.csv").exception, ValueError)


@pytest.mark.slow
def test_a_terminal_with_ascii_only(songs, tmp_path):
    command = [sys.executable, "-m", "sdgs", "evaluate", songs / "songs.sdgs", songs / "test.arff"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert "hamming loss" in result.stdout


def test_the_command_does_not_need_click():
    """Newer versions of typer contain a copy of it, and do not install it."""
    code = "import sys; sys.modules['click'] = None\nimport typer._click, sdgs.cli"
    if importlib.util.find_spec("typer._click") is None:
        pytest.skip("this version of typer depends on click")
    subprocess.run([sys.executable, "-c", code], check=True)
