"""Comparing models to the last bit, and writing model files with changed content."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

import sdgs
from sdgs.persistence._container import read, write
from sdgs.persistence.codecs._model_codec import FORMAT, VERSION


def save_and_load(model, folder):
    path = folder / "model.sdgs"
    sdgs.save(model, path)
    return sdgs.load(path)


def assert_same(a, b):
    """Equal types and equal content, down to the bits and the memory order."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype.kind == b.dtype.kind == "U" or a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.size < 2 or a.flags.c_contiguous == b.flags.c_contiguous
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    elif issparse(a):
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert a.shape == b.shape
        assert a.dtype == b.dtype
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b, check_index_type="equiv")
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for item_of_a, item_of_b in zip(a, b, strict=True):
            assert_same(item_of_a, item_of_b)
    elif is_dataclass(a):  # fields alone: an object may keep what it has computed from them
        assert_same(*({field.name: getattr(one, field.name) for field in fields(one)} for one in (a, b)))
    elif isinstance(a, Tree):
        assert_same(a.__getstate__(), b.__getstate__())
    elif isinstance(a, BaseEstimator) and not type(a).__module__.startswith("sdgs."):
        # What concerns the training alone is not stored.
        assert_same(*({name: as_stored(vars(one)[name]) for name in sorted(vars(b))} for one in (a, b)))
    elif hasattr(a, "__dict__") and not isinstance(a, np.dtype):
        assert_same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    else:
        assert a == b or (a != a and b != b)


def as_stored(value):
    """An array of scikit-learn may be a slice of another one; a file holds arrays of their own."""
    is_slice = isinstance(value, np.ndarray) and not (value.flags.c_contiguous or value.flags.f_contiguous)
    return value.copy() if is_slice else value


def assert_same_predictions(model, loaded, X):
    for method in ("predict", "decision_function", "predict_proba", "transform", "contributions"):
        if hasattr(model, method):
            assert_same(getattr(model, method)(X), getattr(loaded, method)(X))


def forge(source, folder, change):
    """A copy of a model file that ``change(document, arrays)`` has changed, with a correct checksum."""
    content = read(source, FORMAT, (VERSION,))
    change(content.document, content.arrays)
    path = folder / "forged.sdgs"
    write(path, FORMAT, VERSION, "0.1", content.document, content.arrays)
    return path
