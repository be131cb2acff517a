"""Reading ARFF files as Weka, Mulan and MEKA write them: rows as numbers, and attributes as features and labels."""

import math
from array import array
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import gt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse

from sdgs._utils._number_parsing import FALSE_WORDS, TRUE_WORDS, abbreviate
from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets._dataset import Dataset, as_label_matrix, check_label_matrix_size
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff_syntax import (
    ArffHeader,
    ArffLines,
    AttributeType,
    read_header,
    split_dense,
    split_sparse,
)
from sdgs.datasets.readers._column_selection import first_repeated
from sdgs.datasets.readers._open import MAX_BYTES, open_stream

_MAX_CATEGORIES = 50  # a nominal attribute with more values is an identifier
_MAX_IMPLIED_ENTRIES = 1 << 25  # of categories that sparse rows leave out; each takes 12 bytes
_BLOCK_ENTRIES = 1 << 20  # of labels that are converted at a time


@dataclass(frozen=True, eq=False)
class ArffTable:
    """The content of an ARFF file as numbers, one column per attribute; categories by their index."""

    relation: str
    names: tuple[str, ...]
    values: Any  # ndarray (n, columns) or csr_array, float64; NaN for missing values and text
    types: tuple[AttributeType, ...]


def load_arff(path: str | Path, *, labels: Sequence[str], max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read an ARFF file, dense or sparse, whose labels are known by name.

    Parameters
    ----------
    path : str or Path
        Plain, or compressed with gzip, bzip2, xz or zstd.
    labels : sequence of str
        Names of the attributes that are labels, in the order of the columns of ``Y``.
    max_bytes : int or None
        Maximum number of bytes of text after decompression; None for no limit.

    Returns
    -------
    Dataset
        Numeric attributes are features as they are. A nominal attribute with two values that mean yes and no becomes
        one 0/1 feature; any other becomes one 0/1 feature ``name=value`` per value. Text, and nominal attributes with
        more than 50 values (identifiers), are dropped; ``dropped`` has the reasons.
    """
    if not labels:
        raise DataFileError(f"{path}: there are no labels. Name at least one attribute in labels.")
    return arff_dataset(read_arff(Path(path), max_bytes), list(labels), Path(path))


def read_arff(path: Path, max_bytes: int | None) -> ArffTable:
    """Parse a file."""
    with open_stream(path) as stream:
        lines = ArffLines(stream, max_bytes)
        header = read_header(lines)
        rows = _Rows(lines, header)
        first = next(iter(lines), "")
        values = (rows.sparse if first.startswith("{") else rows.dense)(first)
    return ArffTable(header.relation or "", tuple(header.attributes), values, tuple(header.attributes.values()))


class _Rows:
    """The rows of a file as numbers: indices of categories, and NaN for missing values and text."""

    def __init__(self, lines: ArffLines, header: ArffHeader) -> None:
        self._lines, self._names = lines, tuple(header.attributes)
        self._converters = [_converter(type_) for type_ in header.attributes.values()]
        self._numbers = array("q")  # the line of each row
        # Rows with these are split with care. A question mark without quotes is a missing value, even if it is listed.
        is_listed = any("?" in type_ for type_ in header.attributes.values() if isinstance(type_, tuple))
        self._careful_marks = "{'\"\t_?" if is_listed else "{'\"\t_"

    def dense(self, first: str) -> Any:
        """All rows, of which ``first`` is the first; empty if there is none."""
        lines = chain([first] if first else [], self._lines)
        dtype = np.dtype((np.float64, (len(self._converters),)))
        values: Any = np.fromiter(map(self._dense_row, lines), dtype=dtype)
        self._check_finite(values, lambda i: i // len(self._converters))
        return values

    def sparse(self, first: str) -> csr_array:
        """The same for sparse rows, which leave out zeros and the first category, whose index is 0."""
        data, indices, indptr = array("d"), array("i"), array("q", [0])
        for line in chain([first], self._lines):
            columns, values = self._sparse_row(line)
            indices.extend(columns)
            data.extend(values)
            indptr.append(len(indices))
        parts = (np.array(part) for part in (data, indices, indptr))
        matrix = csr_array(tuple(parts), shape=(len(indptr) - 1, len(self._converters)))
        self._check_finite(matrix.data, lambda i: int(np.searchsorted(indptr, i, side="right")) - 1)
        matrix.eliminate_zeros()
        return narrow_indices(matrix)

    def _dense_row(self, line: str) -> list[float]:
        self._numbers.append(self._lines.number)
        if not any(mark in line for mark in self._careful_marks):
            cells = line.split(",")
            if len(cells) == len(self._converters):
                with suppress(ValueError, KeyError):  # missing values, spaces around categories, errors
                    return [convert(cell) for convert, cell in zip(self._converters, cells, strict=True)]
                with suppress(ValueError, KeyError):
                    pairs = zip(self._converters, map(str.strip, cells), strict=True)
                    return [math.nan if cell in ("?", "") else convert(cell) for convert, cell in pairs]
        if line[0] == "{":
            raise self._lines.error(
                "a sparse row, {INDEX VALUE, ...}, after dense rows. Write all rows in the same way"
            )
        values = split_dense(self._lines, line)
        if len(values) != len(self._converters):
            raise self._lines.error(f"{len(values)} values, but there are {len(self._converters)} attributes")
        return [self._convert(j, value) for j, value in enumerate(values)]

    def _sparse_row(self, line: str) -> tuple[list[int], list[float]]:
        self._numbers.append(self._lines.number)
        if line[0] != "{":
            raise self._lines.error("a dense row after sparse rows, {INDEX VALUE, ...}. Write all rows in the same way")
        values: list[Any]
        columns, values = split_sparse(self._lines, line)
        if columns and max(columns) >= len(self._converters):
            last = len(self._converters) - 1
            raise self._lines.error(f"there is no attribute {max(columns)}; the last, counted from 0, is {last}")
        if len(set(columns)) < len(columns):
            raise self._lines.error("the row has two values of the same attribute")
        if any(map(gt, columns, columns[1:])):
            order = sorted(range(len(columns)), key=columns.__getitem__)
            columns, values = [columns[i] for i in order], [values[i] for i in order]
        if "_" not in line:
            with suppress(TypeError, ValueError, KeyError):  # missing values, errors
                return columns, [self._converters[j](value) for j, value in zip(columns, values, strict=True)]
        return columns, [self._convert(j, value) for j, value in zip(columns, values, strict=True)]

    def _convert(self, column: int, text: str | None) -> float:
        if text is None:
            return math.nan
        convert, name = self._converters[column], self._names[column]
        with suppress(ValueError, KeyError):
            if convert is not float or "_" not in text:  # float() also accepts 2021_03
                return convert(text)
        problem = "not a number" if convert is float else "not one of its values"
        raise self._lines.error(f"attribute {name!r}: {abbreviate(text)} is {problem}")

    def _check_finite(self, values: NDArray[np.float64], row_of: Callable[[int], int]) -> None:
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            self._lines.number = self._numbers[row_of(int(infinite[0]))]
            raise self._lines.error("there is an infinite value. Write ? if it is not known")


def _converter(type_: AttributeType) -> Callable[[str], float]:
    if type_ == "number":
        return float
    if type_ == "text":
        return lambda _: math.nan
    return {value: float(i) for i, value in enumerate(type_)}.__getitem__


def arff_dataset(table: ArffTable, labels: list[str], path: Path, drop: Collection[str] = ()) -> Dataset:
    """Columns of a table as features and labels, without attributes to drop; without labels ``Y`` is None."""
    column_of = {name: i for i, name in enumerate(table.names)}
    unknown = [name for name in labels if name not in column_of]
    if unknown:
        raise DataFileError(
            f"{path}: no attribute is named {unknown[0]!r}, which should be a label. Check the names of the labels."
        )
    if first_repeated(labels) is not None:
        raise DataFileError(f"{path}: two labels have the same name.")
    columns = csc_array(table.values) if issparse(table.values) else table.values
    label_columns = [column_of[name] for name in labels]
    X, feature_names, dropped = _features(
        table, columns, sorted(set(column_of.values()) - set(label_columns)), drop, path
    )
    repeated = first_repeated(feature_names)
    if repeated is not None:
        raise DataFileError(
            f"{path}: two features are named {repeated!r}: an attribute, and the feature ATTRIBUTE=VALUE of a nominal "
            "attribute. Rename one of the attributes, or drop it."
        )
    return Dataset(
        X=X,
        Y=_labels(table, columns, label_columns, path),
        feature_names=tuple(feature_names),
        label_names=tuple(labels),
        name=table.relation,
        dropped=tuple(dropped),
    )


def _features(
    table: ArffTable, columns: Any, feature_columns: list[int], drop: Collection[str], path: Path
) -> tuple[Any, list[str], list[tuple[str, str]]]:
    """X, the names of its columns, and the attributes that were dropped."""
    parts, names, dropped = [], [], []
    unchanged: list[int] = []  # consecutive columns that are features as they stand, sliced together
    n, n_encoded = table.values.shape[0], 0

    def flush() -> None:
        if unchanged:
            parts.append(columns[:, unchanged])
            unchanged.clear()

    for i in feature_columns:
        name, type_ = table.names[i], table.types[i]
        reason = "dropped, as requested" if name in drop else _reason_to_drop(type_)
        if reason:
            dropped.append((name, reason))
            continue
        binary = _binary_values(type_)
        if isinstance(type_, str) or binary == tuple(range(len(type_))):
            unchanged.append(i)
            names.append(name)
            continue
        flush()
        n_encoded += 1
        if issparse(columns) and n * n_encoded > _MAX_IMPLIED_ENTRIES:
            raise DataFileError(
                f"{path}: the categories of {n_encoded} and more nominal attributes are too many for the {n} sparse "
                "rows, because each row has one of each. Write them as numeric attributes, or drop them."
            )
        part = _encode_categories(_dense_columns(columns, [i])[:, 0], type_, binary)
        parts.append(csr_array(part) if issparse(columns) else part)
        names.extend([name] if binary is not None else [f"{name}={value}" for value in type_])
    flush()
    parts = parts or [np.zeros((n, 0))]
    if issparse(table.values):
        return narrow_indices(hstack([csr_array(part) for part in parts], format="csr")), names, dropped
    return np.hstack(parts), names, dropped


def _encode_categories(
    category: NDArray[np.float64], values: tuple[str, ...], binary: tuple[float, ...] | None
) -> NDArray[np.float64]:
    """One 0/1 column for categories that mean yes and no, otherwise one per category."""
    if binary is not None:
        return _take(binary, category)[:, None]
    return np.where(np.isnan(category)[:, None], np.nan, category[:, None] == np.arange(len(values)))


def _labels(table: ArffTable, columns: Any, label_columns: list[int], path: Path) -> NDArray[Any] | None:
    n = table.values.shape[0]
    check_label_matrix_size(str(path), n, len(label_columns))
    step = max(_BLOCK_ENTRIES // max(n, 1), 1)
    blocks: list[NDArray[Any]] = [np.empty((n, 0), dtype=np.int8)]
    for start in range(0, len(label_columns), step):
        block_columns = label_columns[start : start + step]
        Y = _dense_columns(columns, block_columns)
        for j, i in enumerate(block_columns):
            binary = _binary_values(table.types[i])
            if binary is not None:
                Y[:, j] = _take(binary, Y[:, j])
            elif table.types[i] != "number":
                raise _not_binary(table.names[i], path)
        missing = np.isnan(Y)
        wrong = np.flatnonzero(~(missing | (Y == 0) | (Y == 1)).all(axis=0))
        if wrong.size:
            raise _not_binary(table.names[block_columns[wrong[0]]], path)
        blocks.append(Y if missing.any() else Y.astype(np.int8))
    return as_label_matrix(np.hstack(blocks))


def _not_binary(label: str, path: Path) -> DataFileError:
    return DataFileError(f"{path}: label {label!r} must be 0 or 1 (or yes or no) in all samples.")


def _dense_columns(columns: Any, indices: list[int]) -> NDArray[np.float64]:
    selected = columns[:, indices]  # a copy
    return np.asarray(selected.toarray() if issparse(selected) else selected)


def _take(values: tuple[float, ...], category: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value of each sample's category; NaN where the category is missing."""
    known = ~np.isnan(category)
    taken = np.full(category.shape, np.nan)
    taken[known] = np.asarray(values, dtype=np.float64)[category[known].astype(np.intp)]
    return taken


def _reason_to_drop(type_: AttributeType) -> str:
    if type_ == "text":
        return "text"
    if isinstance(type_, tuple) and len(type_) > _MAX_CATEGORIES:
        return f"an identifier, because it has {len(type_)} categories"
    return ""


def _binary_values(type_: AttributeType) -> tuple[float, ...] | None:
    """0 or 1 for each category, if the categories mean yes and no, in any order; else None."""
    if isinstance(type_, str) or len(type_) > 2:
        return None
    words = [value.lower() for value in type_]
    if not all(word in TRUE_WORDS | FALSE_WORDS for word in words):
        return None
    return tuple(float(word in TRUE_WORDS) for word in words)
