"""Mutated model files: each must load into a model that predicts, or give a ``ModelFileError``.

``python tests/persistence/fuzz_model_files.py 100000 [SEED]`` tries that many, with at most 1 GiB of memory more than
Python has at the start.
"""

import json
import resource
import sys
import tempfile
import warnings
from collections import Counter
from copy import deepcopy
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import sdgs
from sdgs import ModelFileError, SDGSClassifier, SDGSClassifierCV

REPLACEMENTS = [
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**48,
    2**62,
    10**30,
    -(2**63),
    0.0,
    -1.5,
    1e308,
    True,
    False,
    None,
    "",
    "nan",
    [],
    {},
]
REPLACEMENTS += [
    [0],
    ["x"],
    {"tuple": [1]},
    {"numpy": "<i8", "value": 3},
    {"numpy": "|O", "value": [1]},
    {"numpy": "str", "value": [["x" * 30_000], *[[""]] * 30_000]},  # 3.6 GB as an array
    {"numpy": "str", "value": ["x" * 30_000, *[""] * 30_000]},
    "rows",
    "pandas",
    "f1",
]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e308, -1e308, np.nan, np.inf, -np.inf]
INTEGERS = [0, 1, -1, 2, 3, 5, 24, 100, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1]


def small_models():
    """One of each kind, fitted to few samples."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((24, 5)))
    Y = rng.random((24, 3)) < 0.5
    names = [f"f{j}" for j in range(5)]
    yield SDGSClassifier(2, readout="norm", random_state=0).fit(X, np.array(["a", "b", "c"])[Y.argmax(axis=1)])
    yield SDGSClassifier(2, gamma=1.0, n_landmarks=4, cv=2, decision="thresholds", random_state=0).fit(csr_array(X), Y)
    frames = pd.DataFrame(X, columns=names), pd.DataFrame(Y.astype(int), columns=["x", "y", "z"])
    yield SDGSClassifier(2, scaling="columns", huber=0.5, cv=2, residual_size=4, random_state=0).fit(*frames)
    yield SDGSClassifierCV(n_components=(1, 2), gammas=(None, 1.0), n_landmarks=4, budget=6, cv=2, random_state=0).fit(
        X, Y
    )


def damage(content, rng):
    """Change, delete or insert bytes anywhere."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        position = int(rng.integers(len(content) + 1)) if rng.random() < 0.7 else int(rng.integers(16))
        size = int(rng.integers(1, 9))
        kind = rng.integers(6)
        if kind == 0 and position < len(content):
            content[position] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[position : position + size] = rng.bytes(size)
        elif kind == 2:
            del content[position : position + int(rng.integers(1, 200))]
        elif kind == 3:
            content[position:position] = rng.bytes(size)
        elif kind == 4:
            content[position : position + 8] = int(rng.choice([0, 1, 2**16, 2**31, 2**63 - 1])).to_bytes(8, "little")
        else:
            del content[position:]
    return bytes(content)


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
        if kind == 0:
            _change_value(document, rng)
            metadata["document"] = json.dumps(document)
        elif kind == 1:
            _change_value(header, rng)
        elif kind == 2:
            metadata["transposed"] = json.dumps([str(rng.choice(list(arrays)))])
        elif arrays:
            name = str(rng.choice(list(arrays)))
            if name in header and isinstance(header[name], dict):
                _change_array(name, header, arrays, rng)
    end = 0
    for name, raw in arrays.items():
        if isinstance(header.get(name), dict) and rng.random() < 0.99:
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
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(tree[key], list | dict) and tree[key] and rng.random() < 0.9:
            tree = tree[key]
            continue
        draw = rng.random()
        if draw < 0.1:
            del tree[key]
        elif draw < 0.2 and isinstance(tree, dict):
            tree[key + "x"] = tree.pop(key)
        else:
            tree[key] = deepcopy(REPLACEMENTS[int(rng.integers(len(REPLACEMENTS)))])
        return


def _change_array(name, header, arrays, rng):
    entry, draw = header[name], rng.random()
    codes = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}
    if draw < 0.1:
        del header[name], arrays[name]
    elif draw < 0.2:
        entry["dtype"] = str(rng.choice(["F64", "F32", "I64", "I32", "U8", "BOOL", "O", "F16"]))
    elif draw < 0.35 and isinstance(entry.get("shape"), list):
        entry["shape"] = [[], [0], [1, 1], entry["shape"][::-1], [*entry["shape"], 1], [0, 2**48], [2**62, 4]][
            int(rng.integers(7))
        ]
    elif str(entry.get("dtype")) in codes:
        dtype, raw = np.dtype(codes[entry["dtype"]]), arrays[name]
        array = np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype=dtype).copy()
        if draw < 0.45:
            array = array[: int(rng.integers(array.size + 1))]
            entry["shape"] = [array.size]
        elif array.size:
            if array.dtype.kind == "f":
                with np.errstate(over="ignore"):  # of float32
                    array[int(rng.integers(array.size))] = NUMBERS[int(rng.integers(len(NUMBERS)))]
            else:
                limits = np.iinfo(array.dtype)
                value = INTEGERS[int(rng.integers(len(INTEGERS)))]
                array[int(rng.integers(array.size))] = min(max(value, limits.min), limits.max)
        arrays[name] = array.tobytes()


def fuzz(cases, seed, folder):
    """Count the files that loaded and those that gave a ModelFileError; any other error is raised."""
    contents = []
    for number, model in enumerate(small_models()):
        model.save(folder / f"{number}.sdgs")
        contents.append((folder / f"{number}.sdgs").read_bytes())
    contents += [path.read_bytes() for path in sorted((Path(__file__).parent / "models").glob("v*.sdgs"))]
    rng, path, count = np.random.default_rng(seed), folder / "fuzzed.sdgs", Counter()
    samples = np.abs(np.random.default_rng(1).standard_normal((3, 12)))  # as many features as any of the files
    for case in range(cases):
        content = contents[case % len(contents)]
        mutated = (damage if rng.random() < 0.3 else forge_content)(content, rng)
        path.write_bytes(mutated)
        try:
            count["same" if mutated == content else _outcome(path, samples)] += 1
        except BaseException as error:
            error.add_note(f"case {case} with seed {seed}")
            raise
    return count


def _outcome(path, samples):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = sdgs.load(path)
        except ModelFileError:
            return "rejected"
        warnings.simplefilter("ignore")  # changed numbers may overflow
        model.get_params()
        assert model.n_features_in_ <= max(1 << 20, path.stat().st_size)  # names for each of them take memory
        if model.n_features_in_ <= samples.shape[1]:
            samples = samples[:, : model.n_features_in_]
            model.predict(samples)
            model.contributions(samples)
            model.transform(samples)
    return "loaded"


if __name__ == "__main__":
    mib = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() >> 20
    resource.setrlimit(resource.RLIMIT_AS, ((mib + 1024) << 20, -1))
    with tempfile.TemporaryDirectory() as scratch:
        result = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(scratch))
    sys.stdout.write(f"{dict(result)}\n")
