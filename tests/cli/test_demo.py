"""`sdgs demo`: a table and one picture."""

import sys
from unittest import mock

import pytest
from matplotlib.figure import Figure


@pytest.mark.slow
def test_demo_shows_both_methods_and_writes_one_picture(run, tmp_path):
    result = run("demo", "--output", "picture.png")
    assert result.exit_code == 0, result.output
    for word in ("SDGS", "binary relevance", "hamming loss", "precision", "recall", "f1", "accuracy", "training"):
        assert word in result.output
    assert result.stderr == ""  # no progress bar without a terminal
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "picture.png").stat().st_size > 20_000


@pytest.mark.slow
def test_demo_as_vector_graphics(run, tmp_path):
    assert run("demo", "-o", "picture.svg", "--seed", "1").exit_code == 0
    assert "<svg" in (tmp_path / "picture.svg").read_text()


def test_demo_without_matplotlib_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    result = run("demo")
    assert result.exit_code == 1
    assert "pip install 'sdgs[plot]'" in result.output


@pytest.mark.slow
def test_a_picture_that_fails_leaves_nothing_behind(run, monkeypatch, tmp_path):
    fail = mock.Mock(side_effect=OSError("no space left"))
    monkeypatch.setattr(Figure, "savefig", fail)
    result = run("demo")
    assert result.exit_code == 1
    assert result.stderr.strip() == "no space left"
    assert not list(tmp_path.iterdir())
