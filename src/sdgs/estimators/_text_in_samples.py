"""Errors about text in samples of estimators that take only numbers: which columns hold it, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sdgs.preprocessing._input_table import columns_to_encode, is_table

# Beginnings of NumPy's errors about text, dates among other objects, and dates beside numbers.
_OF_TEXT = ("could not convert string to float", "float() argument must be a string or a real number", "The DType")
ADVICE = "make_pipeline(sdgs.preprocessing.TableEncoder(), ...) encodes them, with this estimator as the last step"


@contextmanager
def name_text_columns(X: Any) -> Iterator[None]:
    """Add to an error about text in ``X`` the columns that hold it, and how to encode them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        if "TableEncoder" in message or not message.startswith(_OF_TEXT):
            raise
        columns = text_columns(X)
        if not columns:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{message.rstrip('.')}. X has columns that are not numbers: {joined(columns)}. {ADVICE}."
        ) from error


def text_columns(X: Any) -> tuple[str, ...]:
    """The columns that are not numbers: names of those of a table, positions of those of an array."""
    if is_table(X):
        return tuple(map(repr, columns_to_encode(X)))
    cells = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if getattr(cells, "ndim", 0) != 2 or getattr(getattr(cells, "dtype", None), "kind", "") not in "OUT":
        return ()
    return tuple(f"number {j}" for j in range(cells.shape[1]) if any(map(_is_text, cells[:, j])))


def joined(columns: tuple[str, ...]) -> str:
    """The first columns, for messages."""
    return ", ".join(columns[:5]) + (" and others" if len(columns) > 5 else "")


def _is_text(cell: Any) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False
