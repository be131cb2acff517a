"""Parse and render the recipe for conda-forge, and compare its requirements with pyproject.toml: `make lint-files`."""

import sys
import tomllib
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).parents[1]


def main() -> list[str]:
    """The problems found."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    python = project["requires-python"].removeprefix(">=")
    recipe = Stage0Recipe.from_file(str(ROOT / "recipe" / "recipe.yaml"))
    (variant,) = recipe.render(VariantConfig({"python_min": [python]}))
    rendered = variant.recipe.to_dict()
    run = {str(requirement) for requirement in rendered["requirements"]["run"]}
    expected = {f"python >={python}", *(_as_conda(name) for name in project["dependencies"])}
    differences = [f"recipe.yaml lacks the requirement {name}" for name in sorted(expected - run)]
    differences += [f"recipe.yaml has {name}, which pyproject.toml has not" for name in sorted(run - expected)]
    if rendered["about"]["license"] != project["license"]:
        differences.append("recipe.yaml has another license than pyproject.toml")
    return differences


def _as_conda(requirement: str) -> str:
    return requirement.replace(">=", " >=")


if __name__ == "__main__":
    found = main()
    print("\n".join(found) or "recipe.yaml: parsed, rendered, requirements as in pyproject.toml")
    sys.exit(bool(found))
