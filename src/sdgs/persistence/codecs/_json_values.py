"""Parameters, names and dtypes as JSON, and back: a fixed set of types; a file cannot name any other."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgs.persistence._container import ModelFileError

# An array of strings pads each to the longest, so that it may take far more memory than its text in a file.
_MAX_BYTES_PER_CHARACTER = 32
MAX_CLASS_BYTES = 1 << 26  # by which the arrays of classes of a file may exceed that, all together
_NUMBER_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_COLUMN_DTYPES = {
    *("bool", "boolean", "object", "float16", *_NUMBER_DTYPES),
    *(name.capitalize().replace("Ui", "UI") for name in _NUMBER_DTYPES),  # pandas' own, which have missing values
    *("Sparse[bool, False]", *(f"Sparse[{name}, 0]" for name in _NUMBER_DTYPES if "int" in name)),
}


def is_name(value: Any) -> bool:
    """Whether it is a string that JSON returns unchanged."""
    return isinstance(value, str) and _is_plain(value)


def encode(value: Any, what: str, other: Callable[[Any, str], Any] | None = None) -> Any:
    """``value`` as JSON; ``what`` names it in the error if JSON cannot hold it.

    ``other`` is asked for values of further types, and returns None for those that it does not know either.
    """
    if value is None or _is_plain(value):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _encode_array(np.asarray(value), what)
    if type(value) is list:
        return [encode(item, what, other) for item in value]
    if type(value) is tuple:
        return {"tuple": [encode(item, what, other) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: encode(item, what, other) for key, item in value.items()}}
    if type(value) is dict and all(map(_is_plain, value)):
        return {"items": [[key, encode(item, what, other)] for key, item in value.items()]}
    content = None if other is None else other(value, what)
    if content is None:
        raise ModelFileError(f"{what} cannot be stored in a model file: it is {value!r}, a {type(value).__name__}.")
    return content


def _encode_array(array: Any, what: str) -> Any:
    values = array.tolist()
    if array.dtype == object and array.ndim == 1 and all(map(_is_plain, values)):
        return {"numpy": "object", "value": values}
    kind = "str" if array.dtype.kind == "U" else encode_dtype(array.dtype, what)
    for item in array.ravel().tolist():
        encode(item, what)
    return {"numpy": kind, "value": values}


def decode(value: Any, other: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The opposite of ``encode``; ``other`` is asked for objects of further types, and raises an error for others."""
    if isinstance(value, list):
        return [decode(item, other) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(decode(item, other) for item in value["tuple"])
    if set(value) == {"dict"} and isinstance(value["dict"], dict):
        return {key: decode(item, other) for key, item in value["dict"].items()}
    if set(value) == {"items"}:
        return _decode_items(value["items"], other)
    if other is not None and set(value) != {"numpy", "value"}:
        return other(value)
    if set(value) != {"numpy", "value"}:
        raise ValueError("it has a value of an unknown type.")
    kind, values = value["numpy"], value["value"]
    if kind == "object":
        if not isinstance(values, list) or not all(map(_is_plain, values)):
            raise ValueError("it has an object of an unknown type.")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if kind == "str":
        return _decode_strings(values)
    return np.array(values, dtype=decode_dtype(kind))[()]


def _decode_items(items: Any, other: Callable[[dict[str, Any]], Any] | None) -> dict[Any, Any]:
    """A dict whose keys are not all strings."""
    if not isinstance(items, list) or not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise ValueError("it has a value of an unknown type.")
    if not all(_is_plain(key) for key, _ in items):
        raise ValueError("it has a dict whose keys are neither strings nor numbers.")
    return {key: decode(item, other) for key, item in items}


def decode_classes(value: Any, spare: list[int]) -> Any:
    """The opposite of ``encode`` for the classes of a model, a 1-D array.

    ``spare`` has the bytes that arrays of classes may still take beyond what other arrays of strings may.
    """
    if isinstance(value, dict) and value.get("numpy") == "str" and set(value) == {"numpy", "value"}:
        classes = _decode_strings(value["value"], max_bytes=spare[0])
        spare[0] = max(spare[0] - classes.nbytes, 0)
    else:
        classes = decode(value)
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ValueError("its classes are not a list.")
    return classes


def _decode_strings(values: Any, max_bytes: int = 0) -> Any:
    """A string or a 1-D array of strings, which takes at most ``max_bytes`` or the usual multiple of its characters."""
    texts = values if isinstance(values, list) else [values]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("it has an array of strings in which there is something else.")
    max_bytes = max(max_bytes, _MAX_BYTES_PER_CHARACTER * sum(len(text) + 1 for text in texts))
    if 4 * len(texts) * max(map(len, texts), default=0) > max_bytes:
        raise ValueError(
            f"an array of {len(texts)} strings, padded to the longest, takes more than {max_bytes} bytes. "
            "Use shorter strings, or an array of dtype object."
        )
    return np.array(values, dtype=str)[()]


def _is_plain(value: Any) -> bool:
    """Whether JSON returns it unchanged. NaN is not; nor are surrogates, because two may return as one character."""
    if type(value) is str:
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return type(value) in (bool, int) or (type(value) is float and math.isfinite(value))


def encode_dtype(dtype: Any, what: str) -> str:
    """The name of a dtype of numbers or booleans."""
    if not re.fullmatch(r"[<>|][biuf][1248]", dtype.str):
        raise ModelFileError(f"{what} cannot be stored in a model file: its dtype is {dtype}.")
    return str(dtype.str)


def decode_dtype(name: Any) -> np.dtype[Any]:
    """The opposite of ``encode_dtype``."""
    if not isinstance(name, str) or not re.fullmatch(r"[<>|][biuf][1248]", name):
        raise ValueError("it has an unknown dtype.")
    return np.dtype(name)


def encode_columns(columns: Any) -> dict[str, Any]:
    """The dtypes of a DataFrame, as JSON."""
    names = columns.index.tolist()
    for name, dtype in zip(names, columns.tolist(), strict=True):
        if not _is_plain(name):
            raise ModelFileError(
                f"y has a column named {name!r}. A model file holds names that are strings or numbers: rename it."
            )
        if str(dtype) not in _COLUMN_DTYPES:
            raise ModelFileError(f"y's column {name!r} has dtype {dtype}, which a model file cannot hold.")
    return {
        "names": names,
        "names_dtype": str(columns.index.dtype),
        "names_name": encode(columns.index.name, "the name of y's columns"),
        "dtypes": [str(dtype) for dtype in columns],
    }


def decode_columns(content: dict[str, Any]) -> Any:
    """The opposite of ``encode_columns``."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError("its labels are columns of a DataFrame. Install pandas.") from None

    names, dtypes = content["names"], content["dtypes"]
    if not isinstance(names, list) or not all(map(_is_plain, names)):
        raise ValueError("its labels have no names.")
    if len(set(names)) < len(names):
        raise ValueError("it has labels of the same name.")
    if not isinstance(dtypes, list) or len(dtypes) != len(names) or not _COLUMN_DTYPES.issuperset(dtypes):
        raise ValueError("it has labels of an unknown dtype.")
    name = content["names_name"]
    if name is not None and not _is_plain(name):
        raise ValueError("the name of its labels is neither a string nor a number.")
    # Strings get the dtype that this pandas gives them, unless they were objects.
    keep_dtype = content["names_dtype"] in ("object", "bool", *_NUMBER_DTYPES)
    index = pd.Index(names, dtype=content["names_dtype"] if keep_dtype else None, name=name)
    return pd.Series([pd.api.types.pandas_dtype(dtype) for dtype in dtypes], index=index, dtype=object)


def check_fields(content: Any, *names: str) -> list[Any]:
    """The values of an object that has exactly these fields."""
    if not isinstance(content, dict) or set(content) != set(names):
        raise ValueError(f"an object in its JSON must have the fields {', '.join(names)}, and has others.")
    return [content[name] for name in names]


def check_bool(value: Any) -> bool:
    """``value`` if it is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"its JSON has {value!r} in place of true or false.")
    return value
