"""The data that methods are compared on: matrices, and tables with text, categories and dates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sdgs._utils._unobserved_labels import has_unobserved
from sdgs._utils._validation import check_choice, is_data_frame
from sdgs.preprocessing import TableEncoder
from sdgs.preprocessing._input_table import as_objects, columns_to_encode, is_table


@dataclass(frozen=True, eq=False)
class ComparedData:
    """Samples (n, p) of any kind that has rows, and their labels, which methods get dense, or as CSR if ``sparse``.

    Labels are boolean, or float64 with a stored NaN where they are unobserved.

    ``X`` may be a dict of columns; ``encoder`` is not fitted, and None if the methods take the samples as they are.
    """

    X: Any
    labels: csr_array
    sparse: bool
    encoder: TableEncoder | None = None

    def target(self, rows: Any) -> Any:
        """The labels of some samples in the form that they were given in, but for a single dense column.

        That would be a target of one class per sample.
        """
        part = self.labels[rows]
        part = part if has_unobserved(part) else part.astype(np.int8)
        return part if self.sparse or part.shape[1] == 1 else part.toarray()


def encoder_for(X: Any, encode: Any) -> TableEncoder | None:
    """The encoder that samples need, not fitted, or None."""
    if isinstance(encode, TableEncoder):
        encoder: TableEncoder = clone(encode)
        return encoder
    check_choice(encode, "encode", ("auto", None))
    columns = columns_to_encode(X) if is_table(X) else ()
    if not columns:
        return None
    if encode is None:
        listed = ", ".join(map(repr, columns[:5])) + (" and others" if len(columns) > 5 else "")
        raise ValueError(f'X has columns that are not numbers: {listed}. Leave encode="auto", which encodes them.')
    return TableEncoder()


def as_rows(X: Any) -> Any:
    """Samples in a form of which rows can be taken: Arrow tables and mappings become dicts of arrays."""
    if isinstance(X, Mapping):
        return {name: column if isinstance(column, np.ndarray) else as_objects(column) for name, column in X.items()}
    if hasattr(X, "column_names"):
        return {name: as_objects(X.column(i).to_pylist()) for i, name in enumerate(X.column_names)}
    return X if is_data_frame(X) or issparse(X) or hasattr(X, "shape") else np.asarray(X)


def take_rows(X: Any, rows: Any) -> Any:
    """Some of the samples."""
    return {name: column[rows] for name, column in X.items()} if isinstance(X, dict) else _safe_indexing(X, rows)


def n_rows(X: Any) -> int:
    """The number of samples."""
    return len(next(iter(X.values()), ())) if isinstance(X, dict) else int(X.shape[0])


def n_columns(X: Any) -> int:
    """The number of columns of a table or a matrix; 1 for a sequence."""
    shape = (0, len(X)) if isinstance(X, dict) else np.shape(X)
    return shape[1] if len(shape) > 1 else 1
