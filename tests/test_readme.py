import re
from pathlib import Path

import numpy as np
import pytest

from sdgs.datasets import make_composite_digits

DOCS = Path(__file__).parents[1] / "docs"


def test_the_code_in_the_readme_runs(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "'f1': 0.9" in capsys.readouterr().out
    assert names["parts"].shape == (5, 10, 64)
    np.testing.assert_allclose(names["parts"].sum(axis=1) + names["residual"], names["test"].X[:5])


def test_the_code_in_the_docs_runs(capsys):
    text = (DOCS / "beyond.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(compile(code, "beyond.md", "exec"), names)
    assert "'huber': 0." in capsys.readouterr().out
    truth = make_composite_digits(400, max_labels=2, subset="train", random_state=0).X
    before, after = (np.linalg.norm(X - truth) for X in (names["train"].X, names["cleaned"]))
    assert after < 0.7 * before
    assert names["probabilities"].shape == (400, 10)


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *DOCS.glob("*.md")], ids=lambda page: page.name)
def test_what_pages_link_to_exists(page):
    for path in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / path).exists(), path
