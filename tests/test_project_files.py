"""Files for publishing agree: workflows, recipe, citation, version, distributions, files of the site."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import sdgs

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]


def load(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_run_targets_of_the_makefile(workflow):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"] for step in steps(workflow) if "run" in step and step.get("name") != "Install make"]
    assert commands
    for command in commands:
        assert re.fullmatch(r"make ([a-z-]+)( .*)?", command), command
        assert command.split()[1] in targets, command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_a_hash_and_their_version(workflow):
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert len(used) == sum("uses" in step for step in steps(workflow)) > 0
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_the_versions_of_python_are_the_same_everywhere():
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == PYTHONS
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_recipe_has_the_dependencies_of_the_project():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    python, *others = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert others == [name.replace(">=", " >=") for name in PROJECT["dependencies"]]
    assert recipe["context"]["version"] == sdgs.__version__


def test_the_citation_has_version_license_and_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == sdgs.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["preferred-citation"]["doi"] == "10.48550/arXiv.1103.0102"


def test_citations_of_the_paper_are_in_its_bibliography():
    keys = set(re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE))
    text = (ROOT / "paper" / "paper.md").read_text()
    assert set(re.findall(r"(?<![\w.])@(\w+)", text)) == keys


def test_a_release_sets_the_version_and_the_tag_is_checked(tmp_path):
    release = load("tools/prepare_release.py")
    for name in release.patterns("", ""):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert release.check("v9.0.0", tmp_path) != []
    assert release.prepare("9.0.0rc1", tmp_path) == release.check("v9.0.0rc1", tmp_path) == []
    assert release.prepare("9.0.0", tmp_path) == release.check("v9.0.0", tmp_path) == []  # also the second time
    assert len(release.check("v9.0.1", tmp_path)) == 4
    citation = yaml.safe_load((tmp_path / "CITATION.cff").read_text())
    assert citation["version"] == "9.0.0"
    assert "date-released" in citation
    assert release.prepare("next", tmp_path) == ["'next' is not a version such as 1.0.0 or 1.0.0rc1."]
    assert release.check("9.0.0", tmp_path) == ["'9.0.0' is not a tag such as v1.0.0."]


def test_what_is_missing_in_a_distribution_or_too_much_is_found(tmp_path):
    build = load("tools/build_distributions.py")
    tracked = {"src/sdgs/__init__.py", "src/sdgs/py.typed", "README.md"}
    wheel = tmp_path / "sdgs-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        names = [f"sdgs-1.0.dist-info/{name}" for name in build.WHEEL_METADATA]
        for name in [*names, "sdgs/__init__.py", "sdgs/notes.txt"]:
            file.writestr(name, "")
    assert build.check_contents(wheel, tracked) == [
        f"{wheel.name} lacks sdgs/py.typed",
        f"{wheel.name} should not contain sdgs/notes.txt",
    ]
    source = tmp_path / "sdgs-1.0.tar.gz"
    with tarfile.open(source, "w:gz") as file:
        for name in ("PKG-INFO", "README.md", "src/sdgs/__init__.py", "data.csv"):
            file.addfile(tarfile.TarInfo(f"sdgs-1.0/{name}"))
    assert build.check_contents(source, tracked) == [
        f"{source.name} lacks src/sdgs/py.typed",
        f"{source.name} should not contain data.csv",
    ]
    assert build.compare([wheel], [wheel]) == []
    other = tmp_path / "other" / wheel.name
    other.parent.mkdir()
    other.write_bytes(b"")
    assert build.compare([wheel], [other]) == [f"{wheel.name} differs between two builds"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_is_a_link_or_large():
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for path in (ROOT / name for name in names):
        assert not path.is_symlink(), path
        assert not path.exists() or path.stat().st_size < 1 << 20, path


def test_files_of_the_site_list_its_pages():
    site = load("docs/site_files.py")
    pages = [site.Page("start", "Start", "How to begin."), site.Page("api/sdgs.load", "sdgs.load", "")]
    text = site.llms_text("1.0", pages)
    assert text.startswith("# sdgs 1.0\n\n> ")
    assert "## Pages\n\n- [Start](start.html): How to begin.\n" in text
    assert text.endswith("## API reference\n\n- [sdgs.load](api/sdgs.load.html)\n")
    addresses = [
        element.text for element in ElementTree.fromstring(site.sitemap("https://example.org/a&b/", pages)).iter()
    ]
    assert "https://example.org/a&b/start.html" in addresses
    assert "https://example.org/a&b/api/sdgs.load.html" in addresses


def test_tags_for_previews_are_escaped_and_need_an_address_for_the_image():
    site = load("docs/site_files.py")
    tags = site.preview_tags('"quoted" <b>', "", "https://example.org/", "start")
    assert 'content="&quot;quoted&quot; &lt;b&gt;"' in tags
    assert 'content="https://example.org/_static/social-card.png"' in tags
    assert "og:image" not in site.preview_tags("title", "text", None, "start")
    assert (ROOT / "docs" / site.CARD).exists()


def test_the_address_of_the_site_has_one_place(monkeypatch):
    site = load("docs/site_files.py")
    monkeypatch.delenv("DOCS_ADDRESS", raising=False)
    address = PROJECT.get("urls", {}).get("Documentation")
    assert site.public_address() == (address and address.rstrip("/") + "/")
    monkeypatch.setenv("DOCS_ADDRESS", "https://example.org/sdgs")
    assert site.public_address() == "https://example.org/sdgs/"
