"""Reading the columns that a model knows, block by block."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._number_parsing import BadCellError
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import arff_dataset, read_arff
from sdgs.datasets.readers._column_format import ColumnFormat, parse_cells
from sdgs.datasets.readers._column_selection import join_names, match_columns, suggest_similar
from sdgs.datasets.readers._formats import check_is_table, check_not_stdin, detect_format
from sdgs.datasets.readers._label_lists import binarize_lists, split_labels, usable_separators
from sdgs.datasets.readers._later_notation import LaterNotation
from sdgs.datasets.readers._open import BLOCK_BYTES, display_name
from sdgs.datasets.readers._open_table import open_table
from sdgs.datasets.readers._raw_table import Table
from sdgs.datasets.readers._svmlight import svmlight_blocks
from sdgs.datasets.readers._table_labels import list_cells, match_list_column, read_matrix
from sdgs.datasets.readers._table_source import RowBlock, TableSource

_ARFF_BLOCK_ROWS = 4096
_MAX_DIGITS = 19  # of numbers in svmlight files


@dataclass(frozen=True, eq=False)
class Block:
    """Some samples of a file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p), or Table
        The requested features, in the requested order.
    Y : ndarray or csr_array of shape (n, k) or None
        The requested labels, 0 or 1; dense, with NaN for missing labels, unless the file is svmlight. None if labels
        were not requested.
    position : int
        Bytes of the file read so far.
    kept : dict of lists of str
        The requested columns of text.
    """

    X: Any
    Y: Any
    position: int
    kept: dict[str, list[str]] = field(default_factory=dict)


def read_blocks(
    path: str | Path,
    *,
    features: Sequence[str],
    labels: Sequence[str] = (),
    with_labels: bool = False,
    label_column: str | None = None,
    keep: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
    block_bytes: int = BLOCK_BYTES,
    invalid: Literal["error", "missing"] = "error",
) -> Generator[Block]:
    """Read the columns that a model knows, block by block, so that files may be larger than memory.

    Columns are matched by name, in whatever order the file has them. A missing column is an error; other columns are
    ignored, with a warning. ARFF files are read at once.

    Parameters
    ----------
    path : str or Path
        As for :func:`read`.
    features : sequence of str
        The columns of ``X``. In svmlight files features are named by their numbers.
    labels : sequence of str
        Columns that are labels, and are ignored without a warning unless ``with_labels``.
    with_labels : bool, default=False
        Whether to read the labels as ``Y``. Then the file must have all of them.
    label_column : str, optional
        The column of a table that lists the labels, if they have no columns of their own.
    keep : sequence of str, default=()
        Columns of a table to return as text: names or patterns.
    format : {"arff", "csv", "tsv", "parquet", "xlsx", "jsonl", "svmlight"}, optional
        Default: by the suffix.
    block_bytes : int, default=2097152
        Approximate number of bytes of text per block.
    invalid : {"error", "missing"}, default="error"
        Whether a cell of a table that is not a number is an error that names its line, or a missing value.

    Yields
    ------
    Block
    """
    format_ = detect_format(path, format)
    if label_column is not None:
        check_is_table(format_, path, "A column that lists labels")
    if keep:
        check_is_table(format_, path, "Keeping columns")
    if format_ == "svmlight":
        yield from _svmlight_blocks(path, features, labels if with_labels else None, block_bytes)
    elif format_ == "arff":
        yield from _arff_blocks(check_not_stdin(path), features, labels, with_labels)
    else:
        with open_table(path, format_, None, block_bytes) as source:

            def parse(source: TableSource, rows: RowBlock) -> NDArray[np.float64]:
                if invalid == "missing":
                    return read_matrix(source, rows, features, rows.valid_features)
                with _advice():
                    return read_matrix(source, rows, features, rows.features)

            yield from _table_blocks(source, features, parse, labels, with_labels, label_column, keep)


def read_table_blocks(
    path: str | Path,
    *,
    formats: Mapping[str, ColumnFormat],
    labels: Sequence[str] = (),
    ignored: Sequence[str] = (),
    with_labels: bool = False,
    label_column: str | None = None,
    keep: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
    block_bytes: int = BLOCK_BYTES,
    invalid: Literal["error", "missing"] = "error",
) -> Generator[Block]:
    """Read the columns of a table that a model knows, block by block, as :func:`read_table` read them in training.

    Parameters
    ----------
    path, labels, with_labels, label_column, keep, block_bytes, invalid
        As for :func:`read_blocks`.
    formats : dict from names to ColumnFormat
        The columns, and how each is read: ``formats`` of the :class:`Table` that the model was trained on. A cell that
        does not fit is an error that names its line. Of columns that were numbers or dates in training, and not text,
        the first rows of this file decide how texts in them are read.
    ignored : sequence of str
        Other columns that are known, and are ignored without a warning.
    format : {"csv", "tsv", "parquet", "xlsx", "jsonl"}, optional
        Default: by the suffix.

    Yields
    ------
    Block
        Whose ``X`` is a :class:`Table`.
    """
    format_ = detect_format(path, format)
    check_is_table(format_, path, "A model of columns of any kind")

    if invalid == "missing":
        formats = {name: replace(column_format, others_missing=True) for name, column_format in formats.items()}
    notation = list[LaterNotation]()

    def parse(source: TableSource, rows: RowBlock) -> Table:
        if not notation:
            notation.append(LaterNotation(formats, rows, source.separator))
        columns = {}
        for name, column_format in notation[0].formats.items():
            try:
                columns[name] = parse_cells(notation[0].cells(rows, name), column_format)
            except BadCellError as error:
                with _advice():
                    raise source.bad_cell(error, rows, name) from None
        return Table(tuple(formats), columns, formats=dict(formats), name=Path(source.name).name)

    with open_table(path, format_, None, block_bytes) as source:
        yield from _table_blocks(source, list(formats), parse, labels, with_labels, label_column, keep, ignored)


@contextmanager
def _advice() -> Iterator[None]:
    """Add to an error about a cell how to read on."""
    try:
        yield
    except DataFileError as error:
        raise DataFileError(
            f'{error} Or read such cells as missing values: invalid="missing", on the command line --invalid missing.'
        ) from None


def _column_indices(features: Sequence[str], names: Sequence[str], file: str) -> list[int]:
    """The index of each feature among the names."""
    index_of = {name: i for i, name in enumerate(names)}
    missing = [name for name in features if name not in index_of]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise DataFileError(
            f"{file}: {len(missing)} of the {len(features)} columns of the model {are} missing: {join_names(missing)}. "
            f"{suggest_similar(missing[0], names)} Columns are matched by name: rename them, or add empty columns for "
            "those whose values are not known."
        )
    return [index_of[name] for name in features]


def _warn_ignored(kind: str, names: Sequence[str], file: str) -> None:
    _warn(f"{kind} that the model does not know are ignored", names, file)


def _warn(what: str, names: Sequence[str], file: str) -> None:
    if names:
        warnings.warn(f"{file}: {what}: {join_names(names)}.", stacklevel=5)


def _table_blocks(
    source: TableSource,
    features: Sequence[str],
    parse: Callable[[TableSource, RowBlock], Any],
    labels: Sequence[str],
    with_labels: bool,
    label_column: str | None,
    keep: Sequence[str],
    ignored: Sequence[str] = (),
) -> Iterator[Block]:
    if list(source.names) != list(features):
        source.check_several_columns()
    absent = set(features) - set(source.names) if source.absent_is_missing else set()
    if 0 < len(absent) < len(features):
        _warn("features of the model that the file does not have are missing values", sorted(absent), source.name)
    else:
        absent = set()
    _column_indices([name for name in features if name not in absent], source.names, source.name)
    list_column = [] if label_column is None else [match_list_column(source, label_column)]
    label_columns = list(labels) if with_labels and not list_column else []
    _check_label_columns(source, label_columns)
    kept = match_columns(keep, source.names, source.name, "column to keep")
    known = {*features, *labels, *list_column, *kept, *ignored, ""}
    _warn_ignored("columns", [name for name in source.names if name not in known], source.name)
    separators, warned = usable_separators(labels), False
    for rows in source.blocks(list(dict.fromkeys([*features, *label_columns, *list_column, *kept]))):
        X = parse(source, rows)
        Y = read_matrix(source, rows, label_columns, rows.labels) if with_labels else None
        if with_labels and list_column:
            lists = [split_labels(cell, separators) for cell in list_cells(source, rows, list_column[0])]
            Y, unknown = binarize_lists(lists, labels)
            if unknown and not warned:
                _warn_ignored("labels", sorted(unknown), source.name)
                warned = True
        yield Block(X, Y, rows.position, {name: rows.texts(name) for name in kept})


def _check_label_columns(source: TableSource, labels: Sequence[str]) -> None:
    existing = set(source.names)
    for name in labels:
        if name not in existing:
            raise DataFileError(
                f"{source.name}: no column is named {name!r}, which is a label of the model. "
                f"{suggest_similar(name, source.names)} If one column lists the labels, name it (label_column=..., on "
                "the command line --label-column)."
            )


def _arff_blocks(path: Path, features: Sequence[str], labels: Sequence[str], with_labels: bool) -> Iterator[Block]:
    table = read_arff(path, None)
    attributes = set(table.names)
    existing_labels = [name for name in labels if name in attributes]
    data = arff_dataset(table, list(labels) if with_labels else existing_labels, path)
    columns = _column_indices(features, data.feature_names, str(path))
    known = set(features)
    _warn_ignored("attributes", [name for name in data.feature_names if name not in known], str(path))
    Y = np.full((data.X.shape[0], len(labels)), np.nan) if data.Y is None else data.Y
    size = path.stat().st_size
    for start in range(0, data.X.shape[0], _ARFF_BLOCK_ROWS):
        rows = slice(start, start + _ARFF_BLOCK_ROWS)
        X = data.X[rows][:, columns]
        yield Block(csr_array(X) if issparse(X) else X, Y[rows] if with_labels else None, size)


def _svmlight_blocks(
    path: str | Path, features: Sequence[str], labels: Sequence[str] | None, block_bytes: int
) -> Iterator[Block]:
    feature_numbers = _as_range(features, "features", path)
    label_numbers = range(0) if labels is None else _as_range(labels, "labels", path)
    warned = set[str]()
    for block in svmlight_blocks(path, block_bytes):
        X, unknown_features = block.X(feature_numbers)
        Y, unknown_labels = (None, np.empty(0)) if labels is None else block.Y(label_numbers)
        for kind, numbers in (("features", unknown_features), ("labels", unknown_labels)):
            if numbers.size and kind not in warned:
                warned.add(kind)
                problem = f"{kind} that the model does not know are ignored, such as {numbers[0]}."
                warnings.warn(f"{display_name(path)}: {problem}", stacklevel=3)
        yield Block(X, Y, block.position)


def _as_range(names: Sequence[str], kind: str, path: str | Path) -> range:
    """Names that are consecutive numbers."""
    if names and names[0].isdecimal() and len(names[0]) < _MAX_DIGITS:
        numbers = range(int(names[0]), int(names[0]) + len(names))
        if all(name == str(number) for name, number in zip(names, numbers, strict=True)):
            return numbers
    raise DataFileError(
        f"{display_name(path)}: in svmlight files {kind} have numbers, but those of the model have names, such as "
        f"{join_names(names[:3])}. Use a format with names: CSV, Parquet or ARFF."
    )
