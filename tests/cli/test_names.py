"""Names from files may have any characters: none steers a terminal, and none is lost in output for programs."""

import csv
import json
import os
import subprocess
import sys

import pytest

from sdgs.datasets import make_label_subspaces

pty = pytest.importorskip("pty")  # not on Windows

ESCAPE = "\x1b]0;title\x07\x1b[2J\x9b31m"
FEATURES, LABELS = ["f", f"f {ESCAPE}", "[/red]", "$g_{$"], [f"is {ESCAPE}", "is $a_{$", "is [bold]"]
COMMANDS = {
    "info": ("info", "data.csv"),
    "info of a model": ("info", "model.sdgs"),
    "audit": ("audit", "data.csv", "-l", "is*", "--max-distance", "1", "--top", "90", "-o", "labels.html"),
    "fit": ("fit", "data.csv", "-l", "is*", "-o", "other.sdgs"),
    "evaluate": ("evaluate", "model.sdgs", "data.csv"),
    "explain": ("explain", "model.sdgs", "data.csv", "-o", "picture.png"),
    "report": ("report", "model.sdgs", "data.csv", "-o", "page.html"),
    "an unknown label": ("fit", "data.csv", "-l", f"{ESCAPE}*"),
    "an unknown file": ("info", f"{ESCAPE}.csv"),
    "an unknown option": ("info", f"--{ESCAPE}"),
    "audit as JSON": ("audit", "data.csv", "-l", "is*", "--json", "--pairs", "100"),
    "explain as JSON": ("explain", "model.sdgs", "data.csv", "--json"),
    "predict as JSON": ("predict", "model.sdgs", "data.csv", "--json"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a data file and a model in which names have control characters."""
    folder = tmp_path_factory.mktemp("names")
    data = make_label_subspaces(60, 4, 3, n_components=1, noise=0.1, random_state=0)
    with open(folder / "data.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*FEATURES, *LABELS], *([*x, *y] for x, y in zip(data.X, data.Y, strict=True))])
    command = [sys.executable, "-m", "sdgs", "fit", "data.csv", "-l", "is*", "-o", "model.sdgs"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def control_characters(text):
    return {character for character in text if character < " " or "\x7f" <= character < "\xa0"} - {"\n"}


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_has_no_control_characters(run, folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    result = run(*COMMANDS[command])
    assert result.exit_code == (2 if "option" in command else int("unknown" in command)), result.output
    assert control_characters(result.stdout) | control_characters(result.stderr) == set()
    if "JSON" in command:
        content = json.loads(result.stdout.splitlines()[0] if command.startswith("predict") else result.stdout)
        assert json.dumps(ESCAPE)[1:-1] in json.dumps(content)


def test_csv_has_the_names_themselves(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("predict", "model.sdgs", "data.csv", "--scores")
    assert next(csv.reader(result.stdout.splitlines()))[1:] == LABELS


def test_the_csv_file_of_an_audit_has_the_names_themselves(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run("audit", "data.csv", "-l", "is*", "--pairs", "180", "-o", "labels.csv").exit_code == 0
    with open("labels.csv", newline="") as file:
        assert {row["label"] for row in csv.DictReader(file)} == set(LABELS)


@pytest.mark.slow
def test_csv_on_a_terminal_has_no_control_characters(folder):
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "sdgs", "predict", "model.sdgs", "data.csv", "--scores"]
    with subprocess.Popen(command, cwd=folder, stdout=end, stderr=subprocess.DEVNULL) as process:
        os.close(end)
        printed = b""
        while part := _read(terminal):
            printed += part
        assert process.wait(timeout=300) == 0
    os.close(terminal)
    assert r"is \x1b]0;title\x07\x1b[2J\x9b31m" in printed.decode()
    assert control_characters(printed.decode()) <= {"\r"}


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""
