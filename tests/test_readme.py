import re
from pathlib import Path

import numpy as np


def test_the_code_in_the_readme_runs(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "'f1': 0.9" in capsys.readouterr().out
    assert names["parts"].shape == (5, 10, 64)
    np.testing.assert_allclose(names["parts"].sum(axis=1) + names["residual"], names["test"].X[:5])


def test_the_names_in_the_readme_exist():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    for path in re.findall(r"\]\(([^)#]+)\)", text):
        assert (Path(__file__).parents[1] / path).exists(), path
