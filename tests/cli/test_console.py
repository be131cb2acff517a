"""Notes and progress bars."""

import io
import re
import shlex
import sys

from sdgs.cli import _console
from sdgs.cli._console import PrintableConsole, make_table, note


def test_notes_do_not_run_into_a_bar(capsys, monkeypatch):
    """On a terminal a note is printed on a line of its own, above the bar."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with _console.progress_bar("Training", 1) as show:
        show(0.5, "")
        _console.note("something")
    _console.note("after")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"(^|[\r\n])Note: something\n", text)
    assert text.endswith("Note: after\n")


def test_sentences_are_broken_between_words_on_a_terminal_only(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    _console.print_sentences("one, two, three, [four], five")
    assert capsys.readouterr().out == "one, two, three, [four], five\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _console.print_sentences("one, two, three, [four], five")
    assert capsys.readouterr().out == "one, two, three, \n[four], five\n"


def test_lines_on_a_terminal_break_between_words(monkeypatch):
    text = "the column 'visits' is left out: an identifier: every value is different. To use it: --label-column visits"
    for width in range(24, 80, 5):
        stream = io.StringIO()
        console = PrintableConsole(file=stream, force_terminal=True, width=width, color_system=None)
        monkeypatch.setattr(_console, "_stderr", lambda console=console: console)
        note(text)
        assert stream.getvalue().split() == ["Note:", *text.split()]
    console = PrintableConsole(file=(stream := io.StringIO()), width=24)
    console.print(text, soft_wrap=True)
    assert stream.getvalue() == f"{text}\n"


def test_tables_break_between_words():
    table = make_table("column", "probability", "note")
    table.add_row(
        "reply_needed", "0.123", "some words that do not all fit into one line of the table, so it has several"
    )
    console = PrintableConsole(file=(stream := io.StringIO()), width=50)
    console.print(table)
    assert {"reply_needed", "probability", "words", "several"} <= set(stream.getvalue().split())


def test_commands_break_as_a_shell_reads_them():
    command = ["sdgs", "fit", "a file.csv", "--label-column=kinds", "--drop=order,customer", "--text=message"]
    for width in (30, 50, 200):
        console = PrintableConsole(file=(stream := io.StringIO()), force_terminal=True, width=width, color_system=None)
        _console.print_command(console, command)
        text = stream.getvalue()
        assert max(map(len, text.splitlines())) <= width
        assert shlex.split(text.removeprefix("Next: ").replace("\\\n", "")) == command
