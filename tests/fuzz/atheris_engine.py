"""The same checks on bytes that atheris makes, guided by coverage: ``python -m fuzz --engine atheris --target csv``.

atheris is not a dependency, because it is not available for all platforms: ``pip install atheris``. Other arguments,
such as ``-runs=100000`` and a folder of seeds, are passed to libFuzzer.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.targets import load_target


def run_atheris(names, arguments):
    """Fuzz the first target that takes bytes; atheris ends the process."""
    try:
        import atheris
    except ImportError:
        sys.stderr.write("atheris is not installed. Run: pip install atheris\n")
        return 2
    with atheris.instrument_imports(include=["sdgs"]):
        target = load_target(names[0])
    if not hasattr(target, "check_content"):
        sys.stderr.write(f"The target {names[0]} does not take bytes.\n")
        return 2
    if hasattr(target, "prepare"):
        target.prepare()
    with TemporaryDirectory() as folder:

        def test_one_input(content):
            for path in Path(folder).iterdir():
                path.unlink()
            target.check_content(content, Path(folder))

        atheris.Setup([sys.argv[0], *arguments], test_one_input)
        atheris.Fuzz()
    return 0
