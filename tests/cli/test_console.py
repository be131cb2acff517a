"""Notes and progress bars."""

import re
import sys

from sdgs.cli import _console


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
