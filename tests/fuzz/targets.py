"""The targets. A target is a module with

``run_case(rng, folder)``
    Makes a file from random numbers in an empty folder, and uses it. Returns ``VALID`` or ``CLEAN_ERROR``; whatever it
    raises is a finding.
``prepare()`` (optional)
    Is called once before the first case: imports, compilation and everything else that takes long.
``check_content(content, folder)`` (optional)
    The same for bytes that another engine (atheris) has made.
"""

from importlib import import_module
from types import ModuleType

# Modules of this package, and their shares of the cases.
SHARES = {
    "arff": 20,
    "svmlight": 14,
    "csv": 20,
    "parquet": 10,
    "tables": 20,
    "model_files": 16,
    "stored_estimators": 16,
    "checkpoints": 8,
    "command_line": 8,
    "command_line_process": 0.05,
    "report_pages": 1,
    "numerics": 2,
}


def load_target(name: str) -> ModuleType:
    """The module of a target."""
    return import_module(f"fuzz.target_{name}")


def cases_per_target(cases: int, names: list[str] | None = None) -> dict[str, int]:
    """Divide the cases according to the shares; each target gets at least one."""
    names = list(SHARES) if names is None else names
    total = sum(SHARES[name] for name in names)
    return {name: max(round(cases * SHARES[name] / total), 1) for name in names}
