"""Reading ARFF files as Mulan and MEKA write them. liac-arff parses lines that were checked here."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arff
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse

from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets._dataset import Dataset, as_label_matrix
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._number_parsing import FALSE_WORDS, TRUE_WORDS
from sdgs.datasets.readers._open import MAX_BYTES, open_stream, read_lines

_MAX_CATEGORIES = 50  # a nominal attribute with more values is an identifier

# liac-arff's own expression for {a,b,c} can take exponential time to reject a bad list. This one cannot, because its
# parts are possessive.
_NOMINAL = re.compile(
    r"""\{\s*+(?:(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\s,'"{}]++)\s*+(?:,\s*+|(?=\})))*+\}\Z""", re.DOTALL
)
_ATTRIBUTE = re.compile(
    r"""@attribute\s++(?P<name>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\s{}%,]++)\s++(?P<type>.++)\Z""",
    re.IGNORECASE | re.DOTALL,
)


AttributeType = str | tuple[str, ...]  # "number", "text", or the categories of a nominal attribute


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
    lines = _CheckedLines(path, max_bytes)
    try:
        sparse = _CheckedLines(path, max_bytes).first_row_is_sparse()
        content = arff.ArffDecoder().decode(iter(lines), return_type=arff.LOD_GEN if sparse else arff.DENSE_GEN)
        types = tuple(_attribute_type(type_) for _, type_ in content["attributes"])
        values = (_sparse_values if sparse else _dense_values)(content["data"], types)
    except DataFileError:
        raise
    except arff.ArffException as error:
        # liac-arff's line number is wrong for data, and its message is a format that text of the file can break.
        raise lines.error(re.sub(r",? ?at line %d", "", error.message or "bad data").strip(" .")) from None
    except (ValueError, IndexError, TypeError, OverflowError, KeyError, csv.Error) as error:
        raise lines.error(f"not valid ARFF ({error})") from None
    return ArffTable(_unquote(content["relation"]), tuple(lines.names), values, types)


class _CheckedLines:
    """The lines of a file, counted, and checked before liac-arff parses them."""

    def __init__(self, path: Path, max_bytes: int | None) -> None:
        self.path, self.max_bytes = path, max_bytes
        self.number, self.in_data = 0, False  # whether the lines so far include @data
        self.names: dict[str, None] = {}  # of the attributes so far, in order

    def error(self, problem: str) -> DataFileError:
        return DataFileError(f"{self.path}, line {self.number}: {problem}.")

    def first_row_is_sparse(self) -> bool:
        return next((line[0] == "{" for line in self if self.in_data and line and line[0] != "%"), False)

    def __iter__(self) -> Iterator[str]:
        with open_stream(self.path) as stream:
            for text in read_lines(stream, self.max_bytes):
                self.number += 1
                line = text.strip()
                if not self.in_data and line[:10].lower() == "@attribute":
                    line = self._check_attribute(line)
                yield line
                self.in_data = self.in_data or line[:5].lower() == "@data"

    def _check_attribute(self, line: str) -> str:
        match = _ATTRIBUTE.match(line)
        if match is None:
            raise self.error("not an attribute: expected @attribute NAME TYPE, with quotes around a name with spaces")
        type_ = match["type"].strip()
        if type_.startswith("{"):
            if not _NOMINAL.match(type_):
                raise self.error("the values of a nominal attribute must be {a,b,c}, with quotes around spaces")
        elif type_.split()[0].lower() not in ("numeric", "real", "integer", "string"):
            raise self.error(f"attributes of type {type_[:30]!r} are not supported")
        name = _unquote(match["name"])
        if name in self.names:
            raise self.error(f"a second attribute named {name!r}")
        self.names[name] = None
        # liac-arff removes quotes that belong to the name. It gets a plain name, and the real one is kept here.
        return f"@attribute a{len(self.names)} {type_}"


def _unquote(name: str) -> str:
    """A name without quotes and escapes."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1]
    return re.sub(r"\\(.)", r"\1", name)


def _attribute_type(type_: Any) -> AttributeType:
    if isinstance(type_, list):
        return tuple("?" if value is None else str(value) for value in type_)
    return "text" if type_ == "STRING" else "number"


def _dense_values(rows: Any, types: Sequence[AttributeType]) -> NDArray[np.float64]:
    """All rows as float64: numbers, indices of categories, and NaN for missing values and text."""
    converters = [_converter(type_) for type_ in types]
    return np.fromiter(
        ([np.nan if value is None else to(value) for value, to in zip(row, converters, strict=True)] for row in rows),
        dtype=np.dtype((np.float64, (len(types),))),
    )


def _sparse_values(rows: Any, types: Sequence[AttributeType]) -> csr_array:
    """The same for sparse rows, which leave out zeros and the first category, whose index is 0."""
    converters = [_converter(type_) for type_ in types]
    data, indices, indptr = [], [], [0]
    for row in rows:
        for column, value in sorted(row.items()):
            indices.append(column)
            data.append(np.nan if value is None else converters[column](value))
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(types))
    matrix = csr_array((np.asarray(data, dtype=np.float64), np.asarray(indices, dtype=np.int32), indptr), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def _converter(type_: AttributeType) -> Callable[[Any], float]:
    if type_ == "number":
        return float
    if type_ == "text":
        return lambda _: np.nan
    index_of = {value: float(i) for i, value in enumerate(type_)}
    return lambda value: index_of[value]


def arff_dataset(table: ArffTable, labels: list[str], path: Path) -> Dataset:
    """Columns of a table as features and labels; without labels ``Y`` is None."""
    column_of = {name: i for i, name in enumerate(table.names)}
    unknown = [name for name in labels if name not in column_of]
    if unknown:
        raise DataFileError(
            f"{path}: no attribute is named {unknown[0]!r}, which should be a label. Check the names of the labels."
        )
    if len(set(labels)) < len(labels):
        raise DataFileError(f"{path}: two labels have the same name.")
    columns = csc_array(table.values) if issparse(table.values) else table.values
    label_columns = [column_of[name] for name in labels]
    X, feature_names, dropped = _features(table, columns, sorted(set(column_of.values()) - set(label_columns)))
    return Dataset(
        X=X,
        Y=_labels(table, columns, label_columns, path),
        feature_names=tuple(feature_names),
        label_names=tuple(labels),
        name=table.relation,
        dropped=tuple(dropped),
    )


def _features(
    table: ArffTable, columns: Any, feature_columns: list[int]
) -> tuple[Any, list[str], list[tuple[str, str]]]:
    """X, the names of its columns, and the attributes that were dropped."""
    parts, names, dropped = [], [], []
    unchanged: list[int] = []  # consecutive columns that are features as they stand, sliced together

    def flush() -> None:
        if unchanged:
            parts.append(columns[:, unchanged])
            unchanged.clear()

    for i in feature_columns:
        name, type_ = table.names[i], table.types[i]
        reason = _reason_to_drop(type_)
        if reason:
            dropped.append((name, reason))
            continue
        binary = _binary_values(type_)
        if isinstance(type_, str) or binary == tuple(range(len(type_))):
            unchanged.append(i)
            names.append(name)
            continue
        flush()
        category = _dense_column(columns, i)
        if binary is not None:
            parts.append(_take(binary, category)[:, None])
            names.append(name)
        else:
            parts.append(np.where(np.isnan(category)[:, None], np.nan, category[:, None] == np.arange(len(type_))))
            names.extend(f"{name}={value}" for value in type_)
    flush()
    parts = parts or [np.zeros((table.values.shape[0], 0))]
    if issparse(table.values):
        return narrow_indices(hstack([csr_array(part) for part in parts], format="csr")), names, dropped
    return np.hstack(parts), names, dropped


def _labels(table: ArffTable, columns: Any, label_columns: list[int], path: Path) -> NDArray[Any] | None:
    Y = np.empty((table.values.shape[0], len(label_columns)))
    for j, i in enumerate(label_columns):
        values, binary = _dense_column(columns, i), _binary_values(table.types[i])
        Y[:, j] = values if binary is None else _take(binary, values)
        is_readable = table.types[i] == "number" or binary is not None
        if not is_readable or not np.isin(Y[~np.isnan(Y[:, j]), j], (0, 1)).all():
            raise DataFileError(f"{path}: label {table.names[i]!r} must be 0 or 1 (or yes or no) in all samples.")
    return as_label_matrix(Y)


def _dense_column(columns: Any, i: int) -> NDArray[np.float64]:
    return np.asarray(columns[:, [i]].toarray() if issparse(columns) else columns[:, i]).reshape(-1)


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
