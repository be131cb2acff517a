"""What the targets of data readers share: how a case is made, and what a data set that was read must satisfy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from fuzz.checks import VALID, check_error, notes_allowed, only_changes
from fuzz.data_files import COMPRESSORS, DataFile, compress
from fuzz.draw import chance, pick
from fuzz.mutate import damage, damage_bytes
from sdgs.datasets import DataFileError, guess_labels, read, read_blocks

CORPUS = Path(__file__).parent / "corpus"


def corpus_files(suffix, **arguments):
    """Files of the corpus, whose content is read with these arguments."""
    paths = sorted(path for path in CORPUS.iterdir() if path.name.endswith(suffix))
    return [DataFile(path.read_bytes(), suffix, arguments) for path in paths]


def run_reader_case(rng, folder, generators, corpus, *, damage_plain=damage):
    """Read a file that was generated, or damaged, or compressed and then damaged."""
    file = pick(rng, corpus) if corpus and chance(rng, 0.15) else pick(rng, generators)(rng)
    if chance(rng, 0.7):
        file = _damaged(file, rng, damage_plain)
    if chance(rng, 0.2):
        file = compress(file, rng)
        if chance(rng, 0.3):
            file = replace(file, content=damage_bytes(file.content, rng), example=None)
    elif chance(rng, 0.02):
        file = replace(file, suffix=file.suffix + pick(rng, tuple(COMPRESSORS)))  # a name that does not fit
    if chance(rng, 0.1):
        file = replace(file, arguments=_other_arguments(file, rng), example=None)
    return check_file(file, rng, folder)


def _damaged(file, rng, damage_plain):
    beside = file.beside
    if beside and chance(rng, 0.3):
        return replace(file, beside=((beside[0][0], damage(beside[0][1], rng)),), example=None)
    return replace(file, content=damage_plain(file.content, rng), example=None)


def _other_arguments(file, rng):
    given = file.arguments.get("labels", ["a"])
    return pick(
        rng,
        [
            {},
            {"labels": []},
            {"labels": ["*"]},
            {"labels": given[:1]},
            {"labels": [*given, "["]},
            {"labels": given, "drop": ["a*", "?"]},
            {"labels": given, "drop": given},
            {"label_column": given[0]},
            {"labels": given, "format": pick(rng, ("arff", "csv", "tsv", "parquet", "svmlight"))},
            {"labels": given, "max_bytes": 100},
        ],
    )


def check_file(file, rng, folder):
    """Read a file in every way, and check what comes back."""
    path = folder / f"data{file.suffix}"
    path.write_bytes(file.content)
    for suffix, content in file.beside:
        (folder / f"data{suffix}").write_bytes(content)
    with only_changes(folder):
        return _check_reading(path, file, rng)


def _check_reading(path, file, rng):
    try:
        with notes_allowed():
            data = read(path, **file.arguments)
    except DataFileError as error:
        return _check_refusal(error, file)
    check_dataset(data)
    if file.example is not None:
        check_equals_example(data, file.example)
    if chance(rng, 0.25):
        assert_same_dataset(data, read(path, **file.arguments))
    if data.feature_names and "label_column" not in file.arguments and chance(rng, 0.5):
        check_blocks(path, data, file.arguments.get("format"), int(rng.integers(16, 400)))
    try:
        guess = guess_labels(path, format=file.arguments.get("format"))
    except DataFileError as error:  # it reads columns that were dropped before
        return check_error(error)
    assert len(set(guess.columns)) == len(guess.columns), "a guess names a column twice"
    return VALID


def _check_refusal(error, file):
    assert file.example is None, f"a valid file is refused: {error}"
    return check_error(error)


def check_dataset(data):
    """Sizes agree, names are different strings, values are numbers or missing, labels are 0, 1 or missing."""
    n, p = data.X.shape
    assert p == len(data.feature_names), f"columns and feature names differ: {p} and {len(data.feature_names)}"
    for names in (data.feature_names, data.label_names):
        assert all(type(name) is str for name in names), "a name is not a string"
        assert len(set(names)) == len(names), f"a name occurs twice: {names}"
    assert data.X.dtype.kind == "f", f"X has dtype {data.X.dtype}"
    if issparse(data.X):
        data.X.check_format(full_check=True)
    assert not np.isinf(data.X.data if issparse(data.X) else data.X).any(), "X has infinite entries"
    if data.Y is not None:
        assert data.Y.shape == (n, len(data.label_names)), "labels and label names differ"
        assert np.isin(data.Y[~np.isnan(data.Y)], (0, 1)).all(), "a label is neither 0 nor 1"


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


def assert_equal(actual, expected, problem):
    """Equal numbers, where NaN equals NaN; sparse or dense."""
    actual, expected = (np.asarray(dense(array), dtype=float) for array in (actual, expected))
    same = actual.shape == expected.shape and np.array_equal(actual, expected, equal_nan=True)
    assert same, f"{problem}: {actual.tolist()} instead of {expected.tolist()}"


def check_equals_example(data, example):
    """What was read is what was written."""
    for what in ("feature_names", "label_names"):
        actual, expected = getattr(data, what), getattr(example, what)
        assert actual == expected, f"{what} are not those of the file: {actual} instead of {expected}"
    assert_equal(data.X, example.X, "X is not that of the file")
    Y = np.full(example.Y.shape, np.nan) if data.Y is None else data.Y
    assert_equal(Y, example.Y, "Y is not that of the file")


def assert_same_dataset(data, again):
    """Reading twice gives the same."""
    assert data.feature_names == again.feature_names, "reading twice gives other features"
    assert data.label_names == again.label_names, "reading twice gives other labels"
    assert_equal(again.X, data.X, "reading twice gives another X")
    if data.Y is not None:
        assert_equal(again.Y, data.Y, "reading twice gives another Y")


def check_blocks(path, data, format_, block_bytes):
    """Reading block by block gives the same as reading at once."""
    with_labels = data.Y is not None and bool(data.label_names)
    with notes_allowed():
        blocks = list(
            read_blocks(
                path,
                features=data.feature_names,
                labels=data.label_names,
                with_labels=with_labels,
                format=format_,
                block_bytes=block_bytes,
            )
        )
    if not blocks:
        assert data.X.shape[0] == 0, "there are samples, but no blocks"
        return
    assert_equal(np.vstack([dense(block.X) for block in blocks]), data.X, "blocks have another X")
    if with_labels:
        assert_equal(np.vstack([dense(block.Y) for block in blocks]), data.Y, "blocks have another Y")
