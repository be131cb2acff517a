"""Checkpoints: a computation with damaged ones ends with the same result; with forged ones, with a valid result."""

import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fuzz.checks import CLEAN_ERROR, VALID, check_message, files_in
from fuzz.containers import forge_content
from fuzz.draw import chance, pick
from fuzz.mutate import damage_bytes
from fuzz.small_models import samples
from sdgs import SDGSClassifier, decompose


def _decompose(folder):
    X, Y = samples()
    options = {"n_components": 2, "residual_size": 3, "max_iter": 3, "tol": 0.0, "random_state": 0}
    result = decompose(X, Y.astype(int), **options, checkpoint=folder)
    return [*result.components, result.residual.toarray()]


def _fit(folder):
    X, Y = samples()
    model = SDGSClassifier(2, cv=2, random_state=0, checkpoint=folder).fit(X, Y.astype(int))
    return [model.predict_proba(X)]


_COMPUTATIONS = (_decompose, _fit)


@cache
def _expected(compute):
    """The result without checkpoints that were there before, and the checkpoints that it leaves."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compute(Path(folder)), files_in(Path(folder))


def prepare():
    for compute in _COMPUTATIONS:
        _expected(compute)


def run_case(rng, folder):
    compute = _COMPUTATIONS[chance(rng, 0.1)]
    expected, files = _expected(compute)
    forged = chance(rng, 0.5)
    (folder / "checkpoints").mkdir()
    damaged = pick(rng, list(files))
    for name, content in files.items():
        if name == damaged:
            content = (forge_content if forged else damage_bytes)(content, rng)
        if content is not None:
            (folder / "checkpoints" / name).write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = compute(folder / "checkpoints")
    notes = [note for note in caught if "checkpoint" in str(note.message)]
    for note in caught:
        assert issubclass(note.category, UserWarning), f"{note.category.__name__}: {note.message}"
        check_message(str(note.message))
    # A forged file with a correct checksum that fits may be used.
    same = not forged or bool(notes)
    _check_result(result, expected, same=same)
    left = files_in(folder / "checkpoints").keys()
    assert left >= files.keys(), "files were removed"
    # After other intermediate results a fit may make other choices, and so other computations with checkpoints.
    assert left == files.keys() or (not same and all(name.endswith(".sdgs-checkpoint") for name in left)), (
        "files were left behind"
    )
    return CLEAN_ERROR if notes else VALID


def _check_result(result, expected, *, same):
    assert len(result) == len(expected), "the result has another number of arrays"
    for array, expected_array in zip(result, expected, strict=True):
        if same:
            assert np.array_equal(array, expected_array), "a result with damaged checkpoints is different"
        assert np.isfinite(array).all(), "a result is not finite"
