"""The README and the pages in docs: blocks run as printed, links and commands exist, figures come from the records.

A block that cannot run has a comment above it, ``<!-- not run: why -->``.
"""

import gzip
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from sdgs import SDGSClassifier
from sdgs.cli import app
from sdgs.datasets import make_composite_digits, make_label_subspaces

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PAPER = ROOT / "paper" / "paper.md"
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\n$")


def blocks(page, *languages):
    """Language and text of the blocks of a page that are to run, in order."""
    text = page.read_text()
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if block[1] in languages and not NOT_RUN.search(text[: block.start()]):
            yield block[1], block[2]


def write_digits(folder):
    """The CSV files that docs/start.md writes, by its own code, and a model of them."""
    (code,) = [text for _, text in blocks(DOCS / "start.md", "python") if "savetxt" in text]
    train = make_composite_digits(300, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(100, max_labels=2, subset="test", random_state=1)
    code = code.replace("digits-{name}", f"{folder.as_posix()}/digits-{{name}}")
    exec(compile(code, "start.md", "exec"), {"train": train, "test": test})
    fit = ["fit", str(folder / "digits-train.csv"), "--labels", "digit_*", "-o", str(folder / "digits.sdgs")]
    assert CliRunner().invoke(app, fit).exit_code == 0


@pytest.fixture(scope="session")
def files(tmp_path_factory, write_mulan):
    """A folder with the small files that the pages name."""
    folder = tmp_path_factory.mktemp("files")
    write_mulan(folder, "emotions")
    for path in (folder / "emotions").iterdir():
        path.rename(folder / path.name)
    write_digits(folder)
    data = make_label_subspaces(160, 6, 3, n_components=2, noise=0.2, random_state=0)
    with gzip.open(folder / "big.svm.gz", "wb") as file:
        dump_svmlight_file(data.X, data.Y, file, multilabel=True, zero_based=False)
    model = SDGSClassifier(2, random_state=0).fit(data.X, data.Y)
    names = {"feature_names": [str(j) for j in range(1, 7)], "label_names": ["0", "1", "2"]}
    model.save(folder / "model.sdgs", **names)
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A current folder with copies of these files, and a plotting backend without windows."""
    for path in files.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "120")
    with threadpool_limits(1, user_api="blas"):  # everything is small: more threads would only wait for each other
        yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def with_blocks(*languages):
    pages = [page for page in PAGES if any(blocks(page, *languages))]
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


@pytest.mark.slow
@with_blocks("python", "sh")
def test_blocks_of_a_page_run_in_their_order(page, folder, capsys):
    names = {"__name__": "__main__"}
    for number, (language, text) in enumerate(blocks(page, "python", "sh"), 1):
        if language == "python":
            exec(compile(text, f"{page.name}, block {number}", "exec"), names)
        else:
            for line in text.splitlines():
                run_command(line, folder)
    check = CHECKS.get(page.name)
    if check is not None:
        check(names, capsys.readouterr().out)


def run_command(line, folder):
    """Run a line if it is an ``sdgs`` command."""
    if not re.search(r"(^|\| )sdgs ", line):
        return
    if "|" in line:  # only a shell can run a pipe; the others run in this process, which is faster
        sdgs = f'sdgs() {{ {shlex.quote(sys.executable)} -m sdgs "$@"; }}; set -o pipefail\n'
        done = subprocess.run(["bash", "-c", sdgs + line], capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return
    words = shlex.split(line, comments=True)
    if words[1] == "fit":  # each page makes the models that it names
        name = words[words.index("-o") + 1] if "-o" in words else f"{Path(words[2]).stem}.sdgs"
        (folder / name).unlink(missing_ok=True)
    arguments, output = (words[:-2], words[-1]) if ">" in words else (words, None)
    result = CliRunner().invoke(app, arguments[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if output is not None:
        (folder / output).write_text(result.stdout)


def check_readme(names, output):
    assert "'f1': 0.9" in output
    assert names["parts"].shape == (5, 10, 64)
    np.testing.assert_allclose(names["parts"].sum(axis=1) + names["residual"], names["test"].X[:5])
    assert len(Path("labels.csv").read_text().splitlines()) == 401  # a header and one line per ticket


def check_results(names, output):
    assert "'huber': 0." in output
    truth = make_composite_digits(400, max_labels=2, subset="train", random_state=0).X
    before, after = (np.linalg.norm(X - truth) for X in (names["train"].X, names["cleaned"]))
    assert after < 0.7 * before
    assert names["probabilities"].shape == (400, 10)


def check_dirty_data(names, output):
    assert float(output.split()[0]) > 0.8
    truth = names["test"].parts.sum(axis=1)
    observed = np.nan_to_num(names["X_new"])
    assert np.linalg.norm(names["cleaned"] - truth) < 0.6 * np.linalg.norm(observed - truth)


def check_explanations(names, output):
    sample, text = names["sample"], " ".join((DOCS / "explanations.md").read_text().split())
    np.testing.assert_allclose(names["total"], sample.sample)
    percent = {
        name: {
            int(label): f"{share:.0%}".replace("%", " %")
            for label, share in zip(sample.label_names, shares, strict=True)
        }
        for name, shares in (("shares", sample.shares), ("unique", sample.unique_shares))
    }
    assert f"{percent['shares'][5]} (digit 5) and {percent['shares'][2]} (digit 2)" in text
    assert percent["shares"][5] in output
    assert f"the unique shares {percent['unique'][5]} and {percent['unique'][2]}" in text
    assert "mainly in the pixels" in output
    assert "entries look corrupted" in output
    printed = " ".join(output.split())
    quotes = re.findall(r"(?:^> .+\n)+", (DOCS / "explanations.md").read_text(), re.MULTILINE)
    assert len(quotes) == 4
    for quote in quotes:  # a backslash ends a line
        assert " ".join(re.sub(r"^> |\\$", " ", quote, flags=re.MULTILINE).split()) in printed


def check_label_errors(names, output):
    quoted = " ".join((DOCS / "label-errors.md").read_text().replace("\n> ", "\n").split())
    assert " ".join(output.split("\n")[:3]) in quoted
    assert names["tickets"]["message"][names["first"]] in quoted
    assert f'is tagged "{names["tickets"]["tags"][names["first"]]}"' in quoted


CHECKS = {
    "README.md": check_readme,
    "results.md": check_results,
    "dirty-data.md": check_dirty_data,
    "explanations.md": check_explanations,
    "label-errors.md": check_label_errors,
}


def test_make_targets_on_the_pages_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets, page.name


@pytest.fixture(scope="module")
def render_results():
    sys.path.insert(0, str(DOCS))  # its modules are beside it, and in no package
    spec = importlib.util.spec_from_file_location("render_results", DOCS / "render_results.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS))
    return module


@pytest.fixture(scope="module")
def study_tables(render_results):
    return sys.modules[render_results.study_blocks.__module__]


@pytest.fixture(scope="module")
def decision_tables(render_results):
    return sys.modules[render_results.decision_blocks.__module__]


@pytest.mark.parametrize("page", [*PAGES, PAPER], ids=lambda page: page.name)
def test_tables_of_measured_figures_are_up_to_date(page, render_results):
    text = page.read_text()
    assert render_results.render_page(text, render_results.render_blocks()) == text, "run `make results`"


def test_every_rendered_table_is_on_a_page(render_results):
    used = {block[2] for page in PAGES for block in render_results.BLOCK.finditer(page.read_text())}
    assert used == set(render_results.render_blocks())


def test_pairs_of_methods_beyond_the_noise_of_splits(study_tables):
    splits = {"a": [1.0, 2.0], "b": [2.0, 2.0], "c": [5.0, 4.0]}  # variances of differences: 1/2, 2, 1/2
    ours = {"a": [0.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 4.0]}
    noise = 2 * (1.0 * 1.5) ** 0.5
    near, far = 0.99 * noise, 1.01 * noise
    pairs = study_tables.pairs_beyond_noise({"a": 0.0, "b": far, "c": far + near}, ours, splits)
    assert sorted(pairs) == [("b", "a", True), ("c", "a", True)]
    assert study_tables.pairs_beyond_noise({"a": 3.0, "b": 0.0}, ours, splits) == [("b", "a", False)]
    one_split = {m: v[:1] for m, v in splits.items()}
    assert study_tables.pairs_beyond_noise({"a": 0.0, "b": 9.0}, one_split, one_split) == []
    assert study_tables.leave_one_out(splits)[0] == (
        {"a": 1.0, "b": 2.0, "c": 5.0},
        {"a": [2.0], "b": [2.0], "c": [4.0]},
    )
    assert study_tables.leave_one_out(one_split) == []


def test_kendall_tau_is_that_of_scipy(study_tables):
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 5, (2, 8)).tolist()
        expected = kendalltau(a, b).statistic
        assert study_tables.kendall_tau(list(zip(a, b, strict=True))) == pytest.approx(expected)
    assert study_tables.kendall_tau([(1, 2), (1, 3)]) == 0


def test_tables_of_linear_methods_name_what_tuned_decisions_lose(decision_tables):
    f1 = {("a", "LP"): 50.0, ("a", "LP, decided"): 54.0, ("b", "LP"): 60.0, ("b", "LP, decided"): 59.0}
    assert "| LP | +1.5 | 1 of 2 | b (-1.00) |" in decision_tables.linear_summary(f1)
    assert "| LP (best set) | +3.0 | 1 of 1 |" in decision_tables.linear_summary(f1 | {("a", "LP (best set)"): 51.0})
    assert "| LP | +1.5 | 1 of 2 |" in decision_tables.linear_summary(f1)
    assert "| **mean** | **55.0 / 56.5** |" in decision_tables.linear_table(f1)
    del f1["b", "LP, decided"]
    assert "| b | 60.0 |" in decision_tables.linear_table(f1)


def test_records_of_the_introduction_are_averaged_over_seeds(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import_results = importlib.import_module("import_results")
    (tmp_path / "introduction").mkdir()
    for seed, f1 in enumerate((0.5, 0.6)):
        scores = {"own": {"f1": f1}, "decided": {"f1": f1 + 0.1}}
        record = {"dataset": "medical", "method": "lp", "left_out": "", "test_by_decision": scores}
        (tmp_path / "introduction" / f"{seed}.json").write_text(json.dumps(record))
    left_out = {"dataset": "enron", "method": "ecc", "left_out": "too many labels"}
    (tmp_path / "introduction" / "z.json").write_text(json.dumps(left_out))
    assert list(import_results.introduction_rows(tmp_path, "s")) == [
        ("Medical", "LP", "55.0", "65.0", "", "2", "s"),
        ("Enron", "ensemble of CC", "", "", "too many labels", "1", "s"),
    ]


def test_every_record_names_its_source(render_results):
    sources = {record["source"] for record in render_results.read_records("sources")}
    for path in (DOCS / "results").glob("*.csv"):
        assert {record["source"] for record in render_results.read_records(path.stem)} <= sources, path.name


def test_recorded_means_agree_with_the_data_sets(render_results):
    accuracy = render_results.Accuracy()
    datasets = [name for name in accuracy.clean_datasets() if name != "composite digits"]
    assert len(datasets) == 11
    for method in ("SDGSClassifierCV", "SDGSClassifier()", "BR", "ensemble of chains", "ML-kNN", "random forest"):
        values = [accuracy.value(name, "clean", "0", method) for name in datasets]
        assert abs(np.mean(values) - accuracy.mean(method)) < 0.1  # both are rounded


# Measured figures stand on these pages, or in blocks that are rendered from the records.
WITH_FIGURES = {"results.md", "benchmarks.md"}
FIGURE = re.compile(
    r"F1 of \d|\d\.\d+ points|± ?\d|\d\.\d+ times|\d(?:\.\d+)?x\b|times (?:as fast|faster|slower|the time)|took \d"
)


@pytest.mark.parametrize(
    "page", [*PAGES, PAPER, ROOT / "CHANGELOG.md", *(ROOT / "examples").iterdir()], ids=lambda p: p.name
)
def test_measured_figures_come_from_the_records(page, render_results):
    if page.name not in WITH_FIGURES and page.is_file():
        text = re.sub(
            r"^```.*?^```$", "", render_results.BLOCK.sub("", page.read_text()), flags=re.DOTALL | re.MULTILINE
        )
        assert FIGURE.findall(text) == []


def anchors(page):
    """Anchors of the headings of a page, as code hosts and Sphinx make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_exist(page):
    text = page.read_text()
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text)
    for link in (link for link in links if "://" not in link):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_no_line_is_taken_for_a_comment(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert (
        re.findall(r"^\s*%.*", text, re.MULTILINE) == []
    )  # Markdown of Sphinx skips lines that begin with a percent sign


def test_every_page_is_in_the_table_of_contents():
    listed, waiting = set(), ["index"]
    while waiting:
        name = waiting.pop()
        listed.add(name)
        page = DOCS / f"{name}.md"
        if page.exists():  # pages of examples and functions are generated by Sphinx
            trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
            entries = {line for tree in trees for line in tree.split("\n") if line and not line.startswith(":")}
            waiting += sorted(entries - listed)
    assert {page.stem for page in DOCS.glob("*.md")} <= listed


def test_everything_public_is_in_the_reference():
    text, listed = (DOCS / "api.md").read_text(), set()
    for section in re.split(r"^.. currentmodule:: ", text, flags=re.MULTILINE)[1:]:
        names = re.findall(r"^   (\w[\w.]*)$|`([A-Z_]+|__\w+__)`", section, re.MULTILINE)
        listed |= {f"{section.split()[0]}.{name or constant}" for name, constant in names}
    parts = ("audit", "comparison", "metrics", "model_selection", "displays", "datasets", "methods", "report")
    modules = [
        importlib.import_module(name) for name in ("sdgs", "sdgs.experiments", *(f"sdgs.{part}" for part in parts))
    ]
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    assert public - {module.__name__ for module in modules} <= listed
