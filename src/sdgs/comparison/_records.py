"""Records of methods on splits, in files, so that a comparison that was interrupted continues.

The name of a file is a hash of everything that the record depends on: the data, the method with all parameters, the
split, and the versions of the libraries. So a folder can hold the records of several comparisons. Failures are not
stored: they are tried again.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from sdgs._utils._version import __version__
from sdgs.comparison._compared_data import ComparedData
from sdgs.comparison._evaluation import Record
from sdgs.comparison._splits import Split
from sdgs.metrics import ALL_METRICS, METRICS
from sdgs.persistence._atomic_write import write_atomically
from sdgs.persistence._checkpoint import fingerprint

_FORMAT = 1  # raise it if what is stored changes
_NOT_STORABLE = "(without a hash)"
_LABEL_COUNTS = ("both", "samples", "predicted")
VERSIONS: Mapping[str, str] = {
    "sdgs": __version__,
    "scikit-learn": sklearn.__version__,
    "numpy": np.__version__,
    "scipy": scipy.__version__,
}


def describe_parameters(estimator: Any) -> dict[str, str]:
    """The class and all parameters of an estimator as text; equal if and only if it computes the same."""
    kind = type(estimator)
    described = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        described[name] = _describe(value)
    return described


def _describe(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.number):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(_describe, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{_describe(key)}: {_describe(item)}' for key, item in value.items())})"
    if callable(value) and hasattr(value, "__qualname__"):  # a class, a function, or a method of an object
        name = f"{getattr(value, '__module__', '')}.{value.__qualname__}"
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType):
            return f"{name} of {_describe(owner)}"
        return name if "<" not in name else f"{name} {_hash(value)}"  # one that is local
    if isinstance(value, BaseEstimator):  # its parameters are parameters of what holds it
        parameters = ", ".join(f"{key}={_describe(item)}" for key, item in sorted(value.get_params(deep=False).items()))
        return f"{type(value).__module__}.{type(value).__qualname__}({parameters})"
    return f"{type(value).__qualname__} {_hash(value)}"


def _hash(value: Any) -> str:
    """A hash of the content, or a mark if there is none that would be the same in another process."""
    try:
        return str(joblib.hash(value))
    except Exception:  # of any object's own code
        return _NOT_STORABLE


def hash_data(data: ComparedData) -> str:
    """A hash of the samples and their labels."""
    X = data.X
    plain = issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object)
    content = fingerprint(X.shape, X) if plain else joblib.hash(list(X.items()) if isinstance(X, dict) else X)
    return fingerprint(_FORMAT, content, data.labels.shape, data.labels, data.sparse)


class RecordFolder:
    """The records of one data set in a folder, which is created."""

    def __init__(self, folder: Path, data_hash: str) -> None:
        self._folder, self._data_hash = folder, data_hash
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, parameters: Mapping[str, str], split: Split) -> Path:
        """The file of the record of a method on a split."""
        for name, text in parameters.items():
            if _NOT_STORABLE in text:
                raise ValueError(
                    f"folder cannot be used, because a record could not be found again: the parameter {name} of "
                    f"{parameters['class']} is {text.removesuffix(_NOT_STORABLE).strip()}. Use a function of a module."
                )
        key = fingerprint(_FORMAT, sorted(VERSIONS.items()), self._data_hash, dict(parameters), *split)
        return self._folder / f"{key[:40]}.json"

    def read(self, path: Path, n_labels: int) -> Record | None:
        """The record, or None if there is none that is complete and valid."""
        for unfinished in self._folder.glob(f".{path.name}-*"):  # left by a write that was killed
            with suppress(OSError):
                unfinished.unlink()
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return record if _is_valid(record, n_labels) else None

    def write(self, path: Path, record: Record) -> None:
        """Store a record; a reader finds all of it or nothing."""
        write_atomically(path, json.dumps(record, indent=1))


def _is_valid(record: Any, n_labels: int) -> bool:
    """Whether a record from a file has the fields that are read, with values that can be."""
    if not isinstance(record, dict) or set(record) != {
        "measures", "fit_seconds", "predict_seconds", "labels", "warnings", "method", "parameters", "split",
    }:  # fmt: skip
        return False
    measures, labels = record["measures"], record["labels"]
    return (
        isinstance(measures, dict)
        and set(METRICS) <= set(measures) <= set(ALL_METRICS)
        and all(_is_number(value) or value != value for value in measures.values())  # some may be NaN
        and all(_is_number(record[name]) and record[name] >= 0 for name in ("fit_seconds", "predict_seconds"))
        and isinstance(labels, dict)
        and set(labels) == set(_LABEL_COUNTS)
        and all(_are_counts(counts, n_labels) for counts in labels.values())
        and isinstance(record["warnings"], list)
        and all(isinstance(text, str) for text in record["warnings"])
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # also of huge integers


def _are_counts(values: Any, n_labels: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == n_labels
        and all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 for value in values)
    )
