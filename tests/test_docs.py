"""The README and the pages in docs: what they say to type runs, what they link to exists, the site has them all.

A block that cannot run has a comment above it, ``<!-- not run: why -->``.
"""

import gzip
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from sdgs import SDGSClassifier
from sdgs.cli import app
from sdgs.datasets import make_composite_digits, make_label_subspaces

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXCUSE = re.compile(r"<!-- not run: \S.* -->\n$")


def blocks(page, *languages):
    """Language and text of the blocks of a page that have no excuse, in their order."""
    text = page.read_text()
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if block[1] in languages and not EXCUSE.search(text[: block.start()]):
            yield block[1], block[2]


@pytest.fixture(scope="session")
def files(tmp_path_factory, write_mulan):
    """A folder with the small files that the pages speak of."""
    folder = tmp_path_factory.mktemp("files")
    write_mulan(folder, "emotions")
    for path in (folder / "emotions").iterdir():
        path.rename(folder / path.name)
    data = make_label_subspaces(160, 6, 3, n_components=2, noise=0.2, random_state=0)
    names = ["id", *(f"f{j}" for j in range(6)), "is_calm", "is_sad", "is_odd"]
    for name, rows in (("songs.csv", range(100)), ("new-songs.csv", range(100, 160))):
        lines = [[f"s{i}", *data.X[i].tolist(), *data.Y[i].tolist()] for i in rows]
        (folder / name).write_text("\n".join(",".join(map(str, line)) for line in [names, *lines]) + "\n")
    with gzip.open(folder / "big.svm.gz", "wb") as file:
        dump_svmlight_file(data.X, data.Y, file, multilabel=True, zero_based=False)
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    numbers = {"feature_names": [str(j) for j in range(1, 7)], "label_names": ["0", "1", "2"]}
    model.save(folder / "model.sdgs", **numbers)
    (folder / "new.csv").write_text(
        ",".join(["id", *(f"f{j}" for j in range(12))])
        + "\n"
        + ",".join(["s1", *map(str, np.linspace(0, 1, 12))])
        + "\n"
    )
    train = ["fit", str(folder / "emotions-train.arff"), "-o", str(folder / "emotions.sdgs")]
    assert CliRunner().invoke(app, train).exit_code == 0
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """Those files in the current folder, and pictures that nobody looks at."""
    for path in files.iterdir():
        if path.is_file():
            os.link(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "120")
    with threadpool_limits(1, user_api="blas"):  # all is small: threads would get in each other's way
        yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def with_blocks(*languages):
    pages = [page for page in PAGES if any(blocks(page, *languages))]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


@with_blocks("python")
@pytest.mark.usefixtures("folder")
def test_code_runs(page, capsys):
    code, names = [text for _, text in blocks(page, "python")], {"__name__": "__main__"}
    for number, text in enumerate(code, 1):
        exec(compile(text, f"{page.name}, block {number}", "exec"), names)
    check = CHECKS.get(page.name)
    if check is not None:
        check(names, capsys.readouterr().out)


def readme(names, output):
    assert "'f1': 0.9" in output
    assert names["parts"].shape == (5, 10, 64)
    np.testing.assert_allclose(names["parts"].sum(axis=1) + names["residual"], names["test"].X[:5])


def beyond(names, output):
    assert "'huber': 0." in output
    truth = make_composite_digits(400, max_labels=2, subset="train", random_state=0).X
    before, after = (np.linalg.norm(X - truth) for X in (names["train"].X, names["cleaned"]))
    assert after < 0.7 * before
    assert names["probabilities"].shape == (400, 10)


def dirty_data(names, output):
    assert float(output.split()[0]) > 0.8
    truth = names["test"].parts.sum(axis=1)
    observed = np.nan_to_num(names["X_new"])
    assert np.linalg.norm(names["cleaned"] - truth) < 0.6 * np.linalg.norm(observed - truth)


CHECKS = {"README.md": readme, "beyond.md": beyond, "dirty-data.md": dirty_data}


@with_blocks("sh")
def test_commands_run(page, folder):
    lines = [line for _, text in blocks(page, "sh") for line in text.splitlines()]
    for line in (line for line in lines if re.search(r"(^|\| )sdgs ", line)):
        if "|" in line:  # a shell is slow to start sdgs, so it does only what nothing else can
            sdgs = f'sdgs() {{ {shlex.quote(sys.executable)} -m sdgs "$@"; }}; set -o pipefail\n'
            done = subprocess.run(["bash", "-c", sdgs + line], capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            continue
        words = shlex.split(line, comments=True)
        arguments, to = (words[:-2], words[-1]) if ">" in words else (words, None)
        result = CliRunner().invoke(app, arguments[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
        if to is not None:
            (folder / to).write_text(result.stdout)


def anchors(page):
    """What the headings of a page can be linked by, as code hosts and the site make it."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_pages_link_to_exists(page):
    text = page.read_text()
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text)
    for link in (link for link in links if "://" not in link):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_in_the_table_of_contents():
    docs = ROOT / "docs"
    listed, waiting = set(), ["index"]
    while waiting:
        name = waiting.pop()
        listed.add(name)
        page = docs / f"{name}.md"
        if page.exists():  # pages of examples and functions are made with the site
            trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
            entries = {line for tree in trees for line in tree.split("\n") if line and not line.startswith(":")}
            waiting += sorted(entries - listed)
    assert {page.stem for page in docs.glob("*.md")} <= listed


def test_everything_public_is_in_the_reference():
    text, listed = (ROOT / "docs" / "api.md").read_text(), set()
    for section in re.split(r"^.. currentmodule:: ", text, flags=re.MULTILINE)[1:]:
        names = re.findall(r"^   (\w[\w.]*)$|`([A-Z]+)`", section, re.MULTILINE)
        listed |= {f"{section.split()[0]}.{name or constant}" for name, constant in names}
    parts = ("metrics", "displays", "datasets", "methods", "report", "experiments")
    modules = [importlib.import_module(name) for name in ("sdgs", *(f"sdgs.{part}" for part in parts))]
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    assert public - {module.__name__ for module in modules} <= listed
