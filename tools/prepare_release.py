"""Set the version in all files that name it (`make prepare-release`), or check that they agree with a tag.

``prepare_release.py 1.0.0`` writes the version and today's date; ``prepare_release.py --check v1.0.0`` changes nothing.
The hash in the recipe for conda-forge is set after publishing, because it is that of the published file.
"""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


def patterns(version: str, date: str) -> dict[str, list[tuple[str, str]]]:
    """For each file the places that name the version, and what they are to be."""
    return {
        "src/sdgs/_utils/_version.py": [(r'^__version__ = ".*"$', f'__version__ = "{version}"')],
        "CHANGELOG.md": [(r"^## \S+ \((?:unreleased|\d{4}-\d\d-\d\d)\)$", f"## {version} ({date})")],
        "CITATION.cff": [(r"^version: .*$(?:\ndate-released: .*$)?", f"version: {version}\ndate-released: {date}")],
        "recipe/recipe.yaml": [(r"^  version: .*$", f'  version: "{version}"')],
    }


def prepare(version: str, root: Path = ROOT) -> list[str]:
    """Write the version; the problems found."""
    if not VERSION.fullmatch(version):
        return [f"{version!r} is not a version such as 1.0.0 or 1.0.0rc1."]
    problems = []
    for name, places in patterns(version, datetime.now(UTC).date().isoformat()).items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        for pattern, replacement in places:
            text, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
            if not count:
                problems.append(f"{name} has no line that matches {pattern}")
        path.write_text(text, encoding="utf-8")
    return problems


def check(tag: str, root: Path = ROOT) -> list[str]:
    """What disagrees with a tag."""
    version = tag.removeprefix("v")
    if not tag.startswith("v") or not VERSION.fullmatch(version):
        return [f"{tag!r} is not a tag such as v1.0.0."]
    problems = []
    for name, places in patterns(re.escape(version), r"\d{4}-\d\d-\d\d").items():
        text = (root / name).read_text(encoding="utf-8")
        for pattern, expected in places:
            expected = expected.replace("(", r"\(").replace(")", r"\)") if name == "CHANGELOG.md" else expected
            line = re.search(pattern, text, re.MULTILINE)
            if line is None or not re.fullmatch(expected, line[0]):
                problems.append(f"{name} does not have {version}: run `make prepare-release VERSION={version}`")
    return problems


if __name__ == "__main__":
    found = check(sys.argv[2]) if sys.argv[1] == "--check" else prepare(sys.argv[1])
    print("\n".join(found), file=sys.stderr)
    sys.exit(bool(found))
