"""Which part may import which, and what `import sdgs` may load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sdgs

SOURCE = Path(sdgs.__file__).parent

# part: (parts of sdgs that it may import, heavy libraries that it may import)
ALLOWED = {
    "__init__": (
        {"_classifier", "_classifier_cv", "_container", "_label_map", "_load", "baselines", "coding", "datasets"}
        | {"decomposition", "displays", "explanation", "metrics"},
        set(),
    ),
    "_arrays": (set(), {"torch"}),
    "_validation": ({"_arrays"}, set()),
    "_rows": ({"_arrays"}, set()),
    "_compiled": (set(), {"numba"}),
    "decomposition": ({"_arrays", "_checkpoint", "_compiled", "_rows", "_validation", "distributed"}, set()),
    "coding": ({"_arrays", "_compiled", "_rows", "_validation"}, {"numba"}),
    "_base": ({"_arrays", "_validation", "distributed"}, set()),
    # At their doors the two above hand Dask arrays over to it; it builds on the parts below.
    "distributed": (
        {"_checkpoint", "_member", "_ridge", "_scaling", "_validation", "_views", "decomposition"},
        {"dask", "distributed"},
    ),
    "_scaling": ({"_arrays", "_rows", "_validation"}, set()),
    "_chart": ({"_arrays", "_chart_kernel", "_rows"}, set()),
    "_chart_kernel": ({"_compiled"}, set()),
    "_views": ({"_arrays", "_chart", "_validation", "coding", "decomposition"}, set()),
    "_ridge": ({"_arrays", "_ridge_kernel"}, set()),
    "_ridge_kernel": ({"_compiled"}, set()),
    "_readout": ({"_arrays", "_ridge"}, set()),
    "_decision": ({"_arrays"}, set()),
    "_search": (
        {"_arrays", "_checkpoint", "_decision", "_progress", "_readout", "_scaling", "_validation", "_views"},
        set(),
    ),
    "explanation": ({"_validation", "coding", "displays"}, set()),
    "_member": ({"_arrays", "_ridge", "_scaling", "_views"}, set()),
    "_files": (set(), set()),
    "_progress": (set(), set()),
    "_pages": (set(), {"jinja2"}),
    "_container": ({"_files"}, set()),
    "_checkpoint": ({"_arrays", "", "_container"}, set()),
    "_plain_values": ({"_container"}, set()),
    "_stored_members": (
        {"_chart", "_container", "_member", "_plain_values", "_ridge", "_scaling", "_validation", "_views"}
        | {"decomposition"},
        set(),
    ),
    "_persistence": (
        {"", "_container", "_decision", "_plain_values", "_readout", "_stored_members", "_validation", "_views"},
        set(),
    ),
    "_model": (
        {
            "_arrays",
            "_base",
            "_decision",
            "_member",
            "_persistence",
            "_progress",
            "_readout",
            "_ridge",
            "_scaling",
            "_search",
            "_validation",
        }
        | {"_views", "explanation"},
        set(),
    ),
    "_load": ({"_classifier", "_classifier_cv", "_persistence"}, set()),
    "_classifier": ({"_arrays", "_member", "_model", "_scaling", "_search", "_validation", "_views"}, set()),
    "_classifier_cv": ({"_chart", "_classifier", "_model", "_scaling", "_search", "_validation", "_views"}, set()),
    "baselines": ({"_base", "_rows", "_validation"}, set()),
    "metrics": ({"_validation"}, set()),
    "datasets": ({"_rows", "_validation"}, {"pyarrow"}),
    "plotting": (set(), {"matplotlib"}),
    "_label_map": ({"_validation"}, set()),
    "displays": ({"_label_map", "_validation", "metrics", "plotting"}, {"matplotlib"}),
    "report": ({"", "_files", "_label_map", "_pages", "_validation", "baselines", "metrics"}, set()),
    "experiments": (
        {"", "_classifier", "_classifier_cv", "_decision", "_files", "_model", "_pages", "_readout", "_rows", "_search"}
        | {"_scaling", "_validation", "_views", "baselines", "coding", "datasets", "decomposition", "metrics"},
        {"matplotlib"},
    ),
    "demo": ({"_classifier", "_files", "datasets", "metrics", "plotting"}, set()),
    "cli": ({"", "_classifier", "_files", "datasets", "demo", "experiments", "metrics", "report"}, {"rich", "typer"}),
    "__main__": ({"cli"}, set()),
}
HEAVY = {"numba", "matplotlib", "jinja2", "rich", "typer", "dask", "distributed", "torch", "pyarrow"}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "sdgs":  # from sdgs import part
                yield from (f"sdgs.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_dependencies_point_one_way(path):
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert part in ALLOWED, f"{part} is new: say here what it may import"
    inner, heavy = ALLOWED[part]
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "sdgs":
            assert rest.split(".")[0] in inner | {part}, f"{path.name} may not import {name}"
        assert top not in HEAVY or top in heavy, f"{path.name} may not import {name}"


def test_import_is_light():
    code = "import sys, sdgs, sdgs.coding; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sdgs" in loaded
    assert not (HEAVY - {"pyarrow"}) & set(loaded)  # which pandas loads, which scikit-learn loads, where there is one


def test_every_public_name_is_there():
    for name in sdgs.__all__:
        assert getattr(sdgs, name) is not None
        assert name in dir(sdgs)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sdgs.nothing
