"""The tests with all supported versions: `make test-versions`, `make test-install`.

A version of Python that is neither installed nor can be downloaded is skipped, unless the variable CI is set. Arguments
after ``--`` go to pytest.
"""

import os
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.sessions = ["lowest", "newest"]

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)  # those of the classifiers
EXTRAS = ("", "plot", "report", "parquet", "excel", "dask", "export")  # those for users; "" is none


def run_tests(session):
    """Both runs of `make test`, or what the arguments name."""
    threads = {"OPENBLAS_NUM_THREADS": "1"}
    pytest = ["python", "-m", "pytest", "-p", "no:cacheprovider"]
    if session.posargs:
        session.run(*pytest, *session.posargs, env=threads)
        return
    processes = ["--numprocesses", "auto", "--maxprocesses", "4"]
    session.run(
        *pytest, *processes, "--dist", "loadfile", "--no-loadscope-reorder", "tests/experiments", "tests", env=threads
    )
    session.run(*pytest, *processes, "-m", "array_api", "tests", env={**threads, "SCIPY_ARRAY_API": "1"})


@nox.session(python=PYTHONS[0])
def lowest(session):
    """The lowest versions that pyproject.toml claims, on the lowest version of Python."""
    session.install("--resolution", "lowest-direct", "--editable", ".[test]")
    run_tests(session)


@nox.session(python=PYTHONS, reuse_venv=True)
def newest(session):
    """The newest versions of all dependencies."""
    session.install("--upgrade", "--editable", ".[test]")
    run_tests(session)


@nox.session(python=PYTHONS[-2])
@nox.parametrize(
    "libraries", ["scipy scikit-learn", "numpy"]
)  # alone, because Numba refuses a NumPy newer than it knows
def nightly(session, libraries):
    """Nightly builds of libraries; warnings are shown and are no errors."""
    index = os.environ.get("NIGHTLY_INDEX")
    if not index:
        session.skip("set NIGHTLY_INDEX to the address of the index of nightly wheels, which SPEC 4 names")
    session.install("--editable", ".[test]")
    options = ["--upgrade", "--prerelease", "allow", "--index-url", index, "--no-deps"]
    session.install(*options, *libraries.split())
    session.posargs.extend(["-W", "default", "-m", "not slow", "tests"])
    run_tests(session)


@nox.session(python=PYTHONS, reuse_venv=True)
@nox.parametrize("extra", EXTRAS)
def install(session, extra):
    """The built wheel with each extra in an empty environment: the README's code and commands."""
    (wheel,) = Path("dist").glob("*.whl")
    session.install(
        "--reinstall-package", "sdgs", f"sdgs[{extra}] @ {wheel.resolve().as_uri()}" if extra else str(wheel)
    )
    # One cache of compiled functions per version of Python, so that each extra does not compile them again.
    cache = Path(session.cache_dir, f"numba-{session.python}").resolve()
    session.run(
        "python",
        "tools/check_installed.py",
        session.create_tmp(),
        *filter(None, [extra]),
        env={"NUMBA_CACHE_DIR": os.fspath(cache)},
    )
