"""Layers: a total order of imports, the size and the names of modules, and what `import sdgs` loads."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sdgs

SOURCE = Path(sdgs.__file__).parent
MODULES = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in sorted(SOURCE.rglob("*.py"))}

# Top to bottom. A module belongs to the layer with the longest name that its own begins with, and imports only from its
# own layer and from layers below it.
LAYERS = (
    "__main__",
    "cli",
    "__init__",  # names that load on first use
    "experiments",
    "report",
    "comparison",
    "deployment",
    "model_files",
    "methods",
    "estimators",
    "explanation",
    "audit",
    "displays",
    "distributed",
    "selection",
    "persistence.codecs",
    "readout",
    "coding",
    "decomposition",
    "datasets",
    "preprocessing",
    "metrics",
    "model_selection",
    "persistence",
    "selection._defaults",
    "_utils",
    "deployment.predictor",  # copied into files that need NumPy alone
)

# Libraries that take long to import, or that are extras, and who may import them.
HEAVY = {
    "numba": {"coding", "_utils"},
    "matplotlib": {"displays", "experiments"},
    "jinja2": {"_utils"},
    "rich": {"cli"},
    "typer": {"cli"},
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "torch": {"_utils"},
    "cleanlab": {"experiments"},
    "lightgbm": {"experiments"},
    "catboost": {"experiments"},
    "mlrl": {"experiments"},
    "pyarrow": {"datasets"},
    "openpyxl": {"datasets"},
    "onnx": {"deployment"},
}

# Whether X is a Dask array is decided before these are called: they get samples that implement a protocol.
BACKEND_FREE = ("readout.", "selection.", "coding.", "decomposition.")

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60  # without the docstring
COMPILED = ("_kernel", "_sparse_products", "_sparse_gram", "_manhattan")  # modules whose functions Numba compiles
DECLARATIONS = {"__init__"}  # of an estimator: its parameters


def layer_of(module):
    """The index in ``LAYERS``; a package's ``__init__`` belongs to the package."""
    name = module.removesuffix(".__init__")
    candidates = [layer for layer in LAYERS if name == layer or name.startswith(f"{layer}.")]
    assert candidates, f"{module} is in no layer: add it to LAYERS"
    return LAYERS.index(max(candidates, key=len))


def imported_modules(path):
    """Dotted names, ``sdgs.`` first where they are ours."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module.partition(".")[0] == "sdgs":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def as_module(name):
    """The module of ours that a dotted name means: a module, a package, or a name inside one."""
    name = name.removeprefix("sdgs").removeprefix(".")
    while name and name not in MODULES and f"{name}.__init__" not in MODULES:
        name = name.rpartition(".")[0]
    return name or "__init__"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    layer = layer_of(module)
    for name in imported_modules(MODULES[module]):
        top = name.partition(".")[0]
        if top == "sdgs":
            assert module == "__init__" or layer_of(as_module(name)) >= layer, f"{module} imports {name} from above"
        elif top in HEAVY:
            assert LAYERS[layer] in HEAVY[top], f"{module} may not import {name}"


def test_module_names_are_unique_and_none_is_private_at_the_top():
    names = Counter(module.rpartition(".")[2] for module in MODULES)
    repeated = {name for name, count in names.items() if count > 1 and not name.startswith("__")}
    assert not repeated
    assert not [module for module in MODULES if module.startswith("_") and "." not in module and module[:2] != "__"]


def code_without_docstrings(path):
    """The code of a module, without comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0].value.value = ""
    return ast.unparse(tree)


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith(BACKEND_FREE)])
def test_the_kind_of_array_is_not_asked_for_below_the_door(module):
    code = code_without_docstrings(MODULES[module])
    assert "dask" not in code.lower()
    assert "hasattr(X" not in code


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_are_short(module):
    text = MODULES[module].read_text()
    assert text.count("\n") <= MAX_MODULE_LINES
    if module.endswith(COMPILED):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name not in DECLARATIONS:
            first = node.body[0]
            has_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            start = first.end_lineno if has_doc else first.lineno - 1
            assert node.end_lineno - start <= MAX_FUNCTION_LINES, f"{module}.{node.name} is too long"


def test_import_is_light():
    code = "import sys, sdgs, sdgs.coding; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sdgs" in loaded
    assert not (set(HEAVY) - {"pyarrow"}) & set(
        loaded
    )  # which pandas loads, which scikit-learn loads, where there is one


def test_every_public_name_is_there():
    for name in sdgs.__all__:
        assert getattr(sdgs, name) is not None
        assert name in dir(sdgs)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sdgs.nothing
