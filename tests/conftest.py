import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from sdgs.datasets import make_label_subspaces


@pytest.fixture(scope="session")
def data_home():
    """The folder with the paper's data, which is not part of the project: tests that need it skip without it."""
    home = Path(os.environ.get("SDGS_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not home.is_dir():
        pytest.skip("the paper's data are not here: set SDGS_DATA to a folder with NAME/NAME-train.arff and so on")
    return home


@pytest.fixture(scope="session")
def browser():
    """Chromium, for tests of pages; they skip where it is not installed."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on the PATH: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def subspaces():
    """A function that makes k random orthonormal bases (r, p)."""

    def make(k, r, p, seed=0):
        rng = np.random.default_rng(seed)
        return [np.linalg.qr(rng.standard_normal((p, r)))[0].T for _ in range(k)]

    return make


@pytest.fixture(scope="session")
def write_mulan():
    """A function that writes a small data set in Mulan's format, in a folder of its own."""

    def write(folder, name, n_train=60, n_test=30, seed=0):
        data = make_label_subspaces(n_train + n_test, 12, 4, n_components=2, noise=0.2, random_state=seed)
        (folder / name).mkdir(parents=True)
        header = [f"@relation {name}", *(f"@attribute f{j} numeric" for j in range(12))]
        header += [*(f"@attribute l{j} {{0,1}}" for j in range(4)), "@data"]
        lines = [
            ",".join([*map(repr, map(float, x)), *map(str, map(int, y))]) for x, y in zip(data.X, data.Y, strict=True)
        ]
        for split, part in (("train", lines[:n_train]), ("test", lines[n_train:])):
            (folder / name / f"{name}-{split}.arff").write_text("\n".join([*header, *part]) + "\n")
        labels = "".join(f'<label name="l{j}"></label>' for j in range(4))
        (folder / name / f"{name}.xml").write_text(
            f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>'
        )

    return write


@pytest.fixture(scope="session")
def made_records(tmp_path_factory, write_mulan):
    """Folder of the small data sets one, two and three, and the records of an undisturbed run with two seeds."""
    from sdgs.experiments import Protocol, run

    home, folder = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("undisturbed")
    for seed, name in enumerate(("one", "two", "three")):
        write_mulan(home, name, seed=seed)
    run(Protocol(datasets=("one", "two", "three"), seeds=(0, 1)), folder, data_home=home)
    return home, folder
