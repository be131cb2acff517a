import subprocess
import sys
from unittest import mock

import pytest
from typer.testing import CliRunner

import sdgs
from sdgs.cli import app


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_demo_shows_both_methods_and_writes_one_picture(run, tmp_path):
    result = run("demo", "--output", "picture.png")
    assert result.exit_code == 0, result.output
    for word in ("SDGS", "binary relevance", "hamming loss", "precision", "recall", "f1", "accuracy", "training"):
        assert word in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "picture.png").stat().st_size > 20_000


def test_demo_as_vector_graphics(run, tmp_path):
    assert run("demo", "-o", "picture.svg", "--seed", "1").exit_code == 0
    assert "<svg" in (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--output", "picture.txt"], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--output", "."], "must be a file that ends in .png, .pdf or .svg"),
        (["demo", "--seed", str(2**32 - 1)], "--seed"),
        (["demo", "--output", "nowhere/picture.png"], "the folder nowhere does not exist"),
        (["demo", "--seed", "-1"], "--seed"),
        (["dmeo"], "No such command 'dmeo'"),
    ],
)
def test_mistakes_get_one_error(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


def test_demo_without_matplotlib_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("sdgs.cli._show.find_spec", lambda _: None)
    result = run("demo")
    assert result.exit_code == 1
    assert "pip install 'sdgs[plot]'" in result.output


def test_a_picture_that_fails_leaves_nothing_behind(run, monkeypatch, tmp_path):
    fail = mock.Mock(side_effect=OSError("no space left"))
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    result = run("demo")
    assert result.exit_code == 1
    assert result.stderr.strip() == "no space left"
    assert not list(tmp_path.iterdir())


def test_version_and_help(run):
    assert run("--version").output.strip() == f"sdgs {sdgs.__version__}"
    assert "demo" in run("--help").output
    assert "--output" in run("demo", "--help").output
    installed = subprocess.run([sys.executable, "-m", "sdgs", "--version"], capture_output=True, text=True, check=True)
    assert installed.stdout.strip() == f"sdgs {sdgs.__version__}"
