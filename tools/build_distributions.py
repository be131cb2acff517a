"""Build wheel and source distribution twice, compare them, and check what they contain: `make dist`.

The source distribution has the files under version control and no others; the wheel has those in ``src``. Both are in
``dist`` if all checks pass.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WHEEL_METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def main() -> int:
    """Build and check; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (build(Path(folder, name)) for name in ("first", "second"))
        problems = compare(first, second)
        for path in first:
            problems += check_contents(path, tracked_files())
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        paths = [Path(shutil.copy2(path, DIST)) for path in first]
    for problem in problems:
        print(problem, file=sys.stderr)
    wheel, source = paths
    tools = (("twine", "check", "--strict", wheel, source), ("check_wheel_contents", wheel))
    failed = [tool[0] for tool in tools if subprocess.run([sys.executable, "-m", *tool]).returncode]
    for path in paths:
        print(f"{sha256(path)}  {path.relative_to(ROOT)}")
    return 1 if problems or failed else 0


def build(folder: Path) -> list[Path]:
    """The wheel and the source distribution; the wheel is built from the source distribution."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": commit_time()}
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], env=environment, check=True, stdout=2)
    return [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]


def commit_time() -> str:
    """The time of the last commit in seconds, so that the files do not depend on when they are built."""
    return _git("log", "-1", "--format=%ct").strip()


def compare(first: Iterable[Path], second: Iterable[Path]) -> list[str]:
    """Differences between two builds."""
    hashes = [{path.name: sha256(path) for path in build} for build in (first, second)]
    return [f"{name} differs between two builds" for name in hashes[0] if hashes[0][name] != hashes[1].get(name)]


def check_contents(path: Path, tracked: set[str]) -> list[str]:
    """What is missing in a distribution, and what is in it but should not be."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            found = {name for name in wheel.namelist() if not name.endswith("/")}
        metadata = "-".join(path.name.split("-")[:2]) + ".dist-info"
        expected = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
        expected |= {f"{metadata}/{name}" for name in WHEEL_METADATA}
    else:
        with tarfile.open(path) as source:
            found = {member.name.partition("/")[2] for member in source if not member.isdir()}
        expected = {*tracked, "PKG-INFO"}
    return [
        *(f"{path.name} lacks {name}" for name in sorted(expected - found)),
        *(f"{path.name} should not contain {name}" for name in sorted(found - expected)),
    ]


def tracked_files() -> set[str]:
    """The files under version control that exist."""
    return {name for name in _git("ls-files").splitlines() if (ROOT / name).exists()}


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
