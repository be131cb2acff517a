"""Values of a fixed set of types come back from JSON; all others are rejected."""

import json

import numpy as np
import pytest
from model_file_helpers import assert_same, forge

import sdgs
from sdgs import ModelFileError, SDGSClassifier
from sdgs.persistence.codecs._json_values import check_bool, check_fields, decode, encode


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        0.1,
        "ć",
        [1, "a", None],
        (1, (2.5, [])),
        {"a": (1,), "tuple": 2},
        {0: "a", 2.5: (1,), "c": {"b": []}},
        np.float32(0.1),
        np.int8(-3),
        np.bool_(True),
        np.str_("word"),
        np.arange(6, dtype=">i2").reshape(2, 3),
        np.array([], dtype=np.float64),
        np.array(["a", "bc"]),
        np.array(["a", 1, 2.5, False], dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back(value):
    assert_same(decode(json.loads(json.dumps(encode(value, "it")))), value)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        {(1,): 2},
        b"bytes",
        1j,
        float("nan"),
        float("inf"),
        "\ud800",
        np.array([1.0, np.nan]),
        np.array([None], dtype=object),
        np.array(["2020"], dtype="datetime64[D]"),
        np.float128(1) if hasattr(np, "float128") else 1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_rejected_by_name(value):
    with pytest.raises(ModelFileError, match="the answer cannot be stored in a model file"):
        encode(value, "the answer")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"set": [1]},
        {"tuple": 3},
        {"dict": [1]},
        {"numpy": "|O", "value": [1]},
        {"numpy": 8, "value": [1]},
        {"numpy": "object", "value": [None]},
        {"numpy": "object", "value": 3},
        {"numpy": "<i8", "value": "x"},
    ],
    ids=str,
)
def test_content_of_an_unknown_type_is_rejected(content):
    with pytest.raises(ValueError, match=r"unknown|invalid literal"):
        decode([content])


@pytest.mark.parametrize(
    "values",
    [
        ["x" * 4_000, *[""] * 4_000],  # 64 MB as an array
        [["x" * 100_000], *[[""]] * 1_000],  # 400 MB
        [["a", "b"], ["c", "d"]],
        ["a", 1],
        {"a": "b"},
    ],
    ids=["padded", "nested", "two dimensions", "a number", "an object"],
)
def test_arrays_of_strings_that_would_take_more_memory_than_their_text_are_rejected(values):
    with pytest.raises(ValueError, match=r"array of \d+ strings, padded|there is something else"):
        decode({"numpy": "str", "value": values})


def test_classes_may_have_names_of_different_lengths(tmp_path):
    """A model has only one array of classes, so that it may take some memory however short the file is."""
    names = np.array([*(f"class {i}" for i in range(100)), "x" * 5_000])  # 2 MB
    X = np.random.default_rng(0).standard_normal((202, 5))
    model = SDGSClassifier(1, readout="norm", random_state=0).fit(X, np.tile(names, 2))
    model.save(tmp_path / "model.sdgs")
    assert_same(sdgs.load(tmp_path / "model.sdgs").classes_, model.classes_)

    def change(document, _):
        document["target"]["classes"]["value"] = ["x" * 1_000_000] + ["y"] * 100_000  # 400 GB as one array

    with pytest.raises(ModelFileError, match="padded to the longest, takes more than 67108864 bytes"):
        sdgs.load(forge(tmp_path / "model.sdgs", tmp_path, change))


def test_fields_and_booleans_are_checked():
    assert check_fields({"b": 1, "a": 2}, "a", "b") == [2, 1]
    for content in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, ["a", "b"], None):
        with pytest.raises(ValueError, match="must have the fields a, b"):
            check_fields(content, "a", "b")
    assert check_bool(True) is True
    for value in (None, 1, "true"):
        with pytest.raises(ValueError, match="in place of true or false"):
            check_bool(value)
