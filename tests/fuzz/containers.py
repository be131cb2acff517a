"""Mutations of files of arrays and JSON (model files and checkpoints) after which the checksum is correct again."""

import json
from copy import deepcopy
from hashlib import sha256

import numpy as np

from fuzz.draw import CONTROL_NAMES, ODD_NAMES, SURROGATE_NAMES, chance, pick
from fuzz.mutate import damage_bytes

_LONG_AND_MANY = ["x" * 50_000, *[""] * 20_000]
_VALUES = (
    *(0, 1, -1, 2, 7, 2**31, 2**40, 2**48, 2**62, 10**30, 10**400, -(2**63), 0.0, -1.5, 1e308, True, False, None),
    *("", "nan", [], {}, [0], ["x"], "rows", "pandas", "f1", {"tuple": [1]}, {"numpy": "<i8", "value": 3}),
    # Sizes that the arrays of strings would have in memory: 4 GB.
    *({"numpy": "str", "value": _LONG_AND_MANY}, {"numpy": "str", "value": [_LONG_AND_MANY]}),
    *({"numpy": "|O", "value": [1]}, {"numpy": "str", "value": [["a"], "b"]}, {"numpy": "<U1000000", "value": "a"}),
)
_TEXTS = (*ODD_NAMES, *CONTROL_NAMES, *SURROGATE_NAMES)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e308, -1e308, np.nan, np.inf, -np.inf)
_INTEGERS = (0, 1, -1, 2, 3, 5, 24, 100, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1)
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}


def mutate_container(content, rng):
    """Damage to any bytes, which the checksum detects, or a forgery."""
    return damage_bytes(content, rng) if chance(rng, 0.25) else forge_content(content, rng)


def forge_content(content, rng):
    """Change the JSON or the arrays, and correct the checksum."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    arrays = {
        name: content[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]]
        for name, entry in header.items()
        if name not in ("__metadata__", "sha256")
    }
    metadata = header["__metadata__"]
    document = json.loads(metadata["document"])
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(5)
        if kind == 0 and isinstance(document, list | dict):
            _change_value(document, rng)
            metadata["document"] = json.dumps(document)
        elif kind == 1:
            _change_value(header, rng)
        elif kind == 2:
            metadata["transposed"] = json.dumps([pick(rng, list(arrays))])
        elif arrays:
            name = pick(rng, list(arrays))
            if name in header and isinstance(header[name], dict):
                _change_array(name, header, arrays, rng)
    end = 0
    for name, raw in arrays.items():
        if isinstance(header.get(name), dict) and chance(rng, 0.99):
            header[name]["data_offsets"] = [end, end + len(raw)]
        end += len(raw)
    if isinstance(header.get("sha256"), dict):
        header["sha256"]["data_offsets"] = [end, end + 32]
    text = json.dumps(header).encode()
    start = len(text).to_bytes(8, "little") + text + b"".join(arrays.values())
    return start + sha256(start).digest()


def _change_value(tree, rng):
    """Change one value of nested lists and dicts."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = pick(rng, keys)
        if isinstance(tree[key], list | dict) and tree[key] and chance(rng, 0.9):
            tree = tree[key]
            continue
        draw = rng.random()
        if draw < 0.1:
            del tree[key]
        elif draw < 0.2 and isinstance(tree, dict):
            tree[key + "x"] = tree.pop(key)
        elif isinstance(tree[key], str) and draw < 0.6:
            tree[key] = pick(rng, _TEXTS)
        else:
            tree[key] = deepcopy(pick(rng, _VALUES))
        return


def _change_array(name, header, arrays, rng):
    entry, draw = header[name], rng.random()
    if draw < 0.1:
        del header[name], arrays[name]
    elif draw < 0.2:
        entry["dtype"] = pick(rng, (*_DTYPES, "U8", "BOOL", "O", "F16"))
    elif draw < 0.35 and isinstance(entry.get("shape"), list):
        shape = entry["shape"]
        entry["shape"] = pick(rng, ([], [0], [1, 1], shape[::-1], [*shape, 1], [0, 2**40], [0, 2**48], [2**62, 4]))
    elif isinstance(entry.get("dtype"), str) and entry["dtype"] in _DTYPES:
        dtype, raw = np.dtype(_DTYPES[entry["dtype"]]), arrays[name]
        array = np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype=dtype).copy()
        if draw < 0.45:
            array = array[: int(rng.integers(array.size + 1))]
            entry["shape"] = [array.size]
        elif array.size:
            array[int(rng.integers(array.size))] = _number_of(dtype, rng)
        arrays[name] = array.tobytes()


def _number_of(dtype, rng):
    """An extreme number that the dtype can hold."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # of float32
            return np.asarray(pick(rng, _FLOATS)).astype(dtype)
    limits = np.iinfo(dtype)
    return min(max(pick(rng, _INTEGERS), limits.min), limits.max)
