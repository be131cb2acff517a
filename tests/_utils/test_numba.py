"""Numba's cache on disk: damaged, full and unwritable ones."""

import os
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import resource, signal, sys, warnings
if "full" in sys.argv:  # no file can grow beyond 100 bytes, as on a full disk
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from function import double
    assert double(21) == 42
for warning in caught:
    print(warning.message)
print(sum(double.stats.cache_hits.values()), "found")
"""
FUNCTION = """
from sdgs._utils._numba import jit_cached

@jit_cached
def double(x):
    return 2 * x
"""


@pytest.fixture
def run(tmp_path):
    """Compiles a function in a new process whose cache is ``tmp_path / "cache"``; returns what it printed."""
    (tmp_path / "function.py").write_text(textwrap.dedent(FUNCTION))

    def run(*arguments, **environment):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment}
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    return run


def _truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwrite(path):
    path.write_bytes(b"\x80\x04garbage")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b""), _truncate, _overwrite])
def test_a_damaged_cache_is_renewed(tmp_path, run, kind, damage):
    assert run() == "0 found\n"
    (file,) = (tmp_path / "cache").rglob(f"*.{kind}")
    damage(file)
    printed = run()
    assert "is damaged" in printed
    assert "It is renewed." in printed
    assert run() == "1 found\n"


@pytest.mark.slow
def test_on_a_full_disk_functions_are_compiled_in_memory(tmp_path, run):
    printed = run("full")
    assert "cannot be written" in printed
    assert "compiled in memory" in printed
    assert not list((tmp_path / "cache").rglob("*.nb?"))


@pytest.mark.slow
def test_without_a_writable_folder_functions_are_compiled_in_memory(tmp_path, run):
    for name in ("file", "__pycache__"):  # a folder cannot be made where there is a file
        (tmp_path / name).write_text("")
    nowhere = str(tmp_path / "file" / "cache")
    printed = run(NUMBA_CACHE_DIR=nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert "No folder is writable" in printed
    assert "NUMBA_CACHE_DIR" in printed
