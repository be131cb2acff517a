"""The features and the target of a fitted estimator of this package as JSON, and back."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from sdgs._utils._label_collections import CONTAINERS, ROWS, LabelListForm
from sdgs._utils._validation import check_choice, check_int
from sdgs.persistence._container import ModelFileError
from sdgs.persistence.codecs._json_values import (
    check_bool,
    check_fields,
    decode_classes,
    decode_columns,
    decode_dtype,
    encode,
    encode_columns,
    encode_dtype,
    is_name,
)

_MAX_SIZE_WITHOUT_ARRAYS = 1 << 20  # of features or labels for which no array has a column


def encode_features(n_features: int, names: Any) -> dict[str, Any]:
    """The number of features, and their names in a DataFrame or None."""
    encoded = None if names is None else [encode(str(name), "a feature name") for name in names]
    return {"number": int(n_features), "names": encoded}


def decode_features(content: Any, n_bytes: int) -> tuple[int, Any]:
    """The opposite of :func:`encode_features`. A file whose arrays have ``n_bytes`` may not claim many more."""
    number, names = check_fields(content, "number", "names")
    p = check_int(number, "the number of features", minimum=1)
    if names is None:
        check_claim(p, "features", n_bytes)
        return p, None
    if not isinstance(names, list) or len(names) != p or not all(map(is_name, names)):
        raise ValueError(f"it does not have {p} feature names.")
    return p, np.array(names, dtype=object)


def check_claim(number: int, what: str, n_bytes: int) -> None:
    """Raise an error if a file says that it has far more features or labels than it has bytes."""
    if number > max(n_bytes, _MAX_SIZE_WITHOUT_ARRAYS):
        raise ValueError(f"it claims {number} {what}, but its arrays have only {n_bytes} bytes.")


def encode_target(model: Any) -> dict[str, Any]:
    """The form of the labels."""
    if model._is_multiclass:
        return {"form": "classes", "classes": encode(model.classes_, "classes_")}
    if model._label_lists is not None:
        return _encode_lists(model._label_lists, model.classes_)
    dtype = encode_dtype(model._label_dtype, "y")
    if model._label_columns is not None:
        return {"form": "frame", "dtype": dtype, **encode_columns(model._label_columns)}
    return {"form": "matrix", "dtype": dtype, "sparse": model._sparse_labels}


def decode_target(model: Any, content: Any, k: int, class_bytes: list[int]) -> None:
    """Set the form in which ``k`` labels are returned; ``class_bytes`` as for :func:`decode_classes`."""
    form = check_choice(content["form"], "form", ("classes", "frame", "lists", "matrix"))
    model._is_multiclass = form == "classes"
    model._sparse_labels, model._label_columns, model._label_lists = False, None, None
    if form == "classes":
        model.classes_ = decode_classes(check_fields(content, "form", "classes")[1], class_bytes)
    elif form == "lists":
        model._label_lists, model.classes_ = _decode_lists(content, class_bytes)
        model._label_dtype, model._sparse_labels = np.dtype(np.int64), True
    elif form == "matrix":
        _, dtype, sparse = check_fields(content, "form", "dtype", "sparse")
        model._label_dtype, model._sparse_labels = decode_dtype(dtype), check_bool(sparse)
        model.classes_ = np.arange(k)
    else:
        _, dtype, *_ = check_fields(content, "form", "dtype", "names", "names_dtype", "names_name", "dtypes")
        model._label_dtype, model._label_columns = decode_dtype(dtype), decode_columns(content)
        model.classes_ = np.empty(len(model._label_columns), dtype=object)
        model.classes_[:] = list(model._label_columns.index)
    if len(model.classes_) != k:
        raise ValueError(f"it has {k} labels and {len(model.classes_)} label names.")


def _encode_lists(form: LabelListForm, classes: Any) -> dict[str, Any]:
    name = encode(form.name, "the name of y")
    if name is not None and not isinstance(name, str | int):
        raise ModelFileError(
            f"y is named {form.name!r}. A model file holds names that are strings or integers: rename it."
        )
    return {
        "form": "lists",
        "container": form.container,
        "row": form.row,
        "name": name,
        "classes": encode(classes, "classes_"),
    }


def _decode_lists(content: Any, class_bytes: list[int]) -> tuple[LabelListForm, Any]:
    _, container, row, name, classes = check_fields(content, "form", "container", "row", "name", "classes")
    names = decode_classes(classes, class_bytes)
    kinds = {type(label) for label in names.tolist()}
    if (names.dtype, kinds) not in ((np.dtype(object), {str}), (np.dtype(np.int64), {int})):
        raise ValueError("its labels are neither strings nor integers.")
    if len(set(names.tolist())) < len(names):
        raise ValueError("its labels are not different.")
    if name is not None and not (is_name(name) or type(name) is int):
        raise ValueError("the name of its labels is neither a string nor an integer.")
    check_choice(container, "container", CONTAINERS)
    check_choice(row, "row", tuple(ROWS))
    if container in ("series", "frame") and find_spec("pandas") is None:
        raise ValueError("its labels are in a pandas object. Install pandas.")
    return LabelListForm(container, row, name), names
