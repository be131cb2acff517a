import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from sklearn import config_context
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import sdgs
from helpers import FAST_LIBRARIES
from sdgs.cli import app
from sdgs.datasets import make_label_subspaces, read

# Time is measured in benchmarks: a machine may be busy, and the first example of a test compiles.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items):
    """Skip tests of other array libraries unless SciPy was loaded for them: ``make test`` runs them separately."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        skip = pytest.mark.skip(reason="needs SCIPY_ARRAY_API=1 in the environment: see make test")
        for item in items:
            if item.get_closest_marker("array_api"):
                item.add_marker(skip)


@pytest.fixture(params=[*FAST_LIBRARIES, "strict"])
def elsewhere(request):
    """A function that converts a NumPy array to one of another library, or on another device."""
    if request.param == "strict":
        xp = pytest.importorskip("array_api_strict")
        convert = lambda array: xp.asarray(array, device=xp.Device("device1"))  # noqa: E731
    elif request.param == "cupy":
        convert = pytest.importorskip("cupy").asarray
    else:
        torch = pytest.importorskip("torch")
        if request.param == "cuda" and not torch.cuda.is_available():
            pytest.skip("no CUDA device")
        torch.set_num_threads(1)  # threads slow down batches of small matrices
        convert = lambda array: torch.asarray(array, device="cuda" if request.param == "cuda" else "cpu")  # noqa: E731
    with config_context(array_api_dispatch=True):
        yield convert


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


@pytest.fixture
def word_counts():
    """Mostly zero samples with three columns associated with each label; and the labels."""
    rng = np.random.default_rng(1)
    Y = rng.random((240, 6)) < 0.25
    X = (rng.random((240, 90)) < 0.08).astype(float)
    for label in range(6):
        X[:, 3 * label : 3 * label + 3] += Y[:, [label]] & (rng.random((240, 3)) < 0.35)
    X[:, -1] = 1  # no sample is empty
    return X, Y.astype(float)


@pytest.fixture(scope="session")
def write_mulan():
    """A function that writes a small data set in Mulan's format to ``folder / name``."""

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
def small_data_home(tmp_path_factory, write_mulan):
    """A folder with the small data sets one, two and three."""
    home = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("one", "two", "three")):
        write_mulan(home, name, seed=seed)
    return home


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs `sdgs` with these arguments, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *arguments, **options: CliRunner().invoke(app, list(map(str, arguments)), **options)


@pytest.fixture(scope="session")
def songs(tmp_path_factory):
    """A folder with the same data set as CSV, Parquet, ARFF and svmlight, and models that were fitted to it."""
    folder = tmp_path_factory.mktemp("songs")
    data = make_label_subspaces(150, 6, 3, n_components=2, noise=0.1, random_state=0)
    features, labels = [f"f{j}" for j in range(6)], ["is_calm", "is_sad", "is_[odd]"]
    for part, rows in (("train", slice(100)), ("test", slice(100, 150))):
        X, Y = data.X[rows], data.Y[rows]
        lines = [["id", "title", *features, *labels]]
        lines += [[f"a{i}", f"Song, {i}", *map(repr, map(float, X[i])), *Y[i]] for i in range(len(X))]
        with open(folder / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows(lines)
        columns = {name: X[:, j] for j, name in enumerate(features)}
        columns |= {name: Y[:, j].astype(bool) for j, name in enumerate(labels)}
        pq.write_table(pa.table(dict(reversed(columns.items()))), folder / f"{part}.parquet")
        head = "".join(f"@attribute {name} numeric\n" for name in features)
        head += "".join(f"@attribute '{name}' {{0,1}}\n" for name in labels)
        body = "".join(",".join(line[2:8] + list(map(str, line[8:]))) + "\n" for line in lines[1:])
        (folder / f"{part}.arff").write_text(f"@relation 'songs: -C -3'\n{head}@data\n{body}")
        dump_svmlight_file(X, Y, str(folder / f"{part}.svm"), multilabel=True, zero_based=False)
    for source, name in (("train.csv", "songs.sdgs"), ("train.svm", "svm.sdgs")):
        options = ["--labels", "is_*", "--drop", "id,title"] if source.endswith("csv") else []
        result = CliRunner().invoke(app, ["fit", str(folder / source), "-o", str(folder / name), *options])
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def expected(songs):
    """The test part of ``songs``, and the model's predictions for it: labels and probabilities."""
    test = read(songs / "test.csv", labels=["is_*"])
    model = sdgs.load(songs / "songs.sdgs")
    return test, model.predict(test.X).toarray(), model.predict_proba(test.X)
