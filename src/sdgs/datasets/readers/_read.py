"""One reader for every format, by the file's name; and the same by blocks of rows, for files of any size."""

import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import MAX_BYTES, dataset_from, read_table
from sdgs.datasets.readers._column_selection import chosen, listed, near
from sdgs.datasets.readers._csv_parquet import Source, guess_in, list_column, open_table, table_dataset
from sdgs.datasets.readers._label_lists import LabelGuess, label_matrix, labels_in, separators_beside
from sdgs.datasets.readers._mulan_meka import meka_dataset, mulan_labels, says_labels
from sdgs.datasets.readers._number_parsing import BadCellError
from sdgs.datasets.readers._open import STDIN, stated
from sdgs.datasets.readers._svmlight import load_svmlight, svmlight_lines

FORMATS = ("arff", "csv", "tsv", "parquet", "svmlight")
_FORMAT_OF = {
    **{f".{name}": name for name in FORMATS},
    **dict.fromkeys((".svm", ".libsvm", ".txt"), "svmlight"),
    ".pq": "parquet",
}
_TABLES = ("csv", "tsv", "parquet")
_BLOCK_ROWS = 4096  # of a file that is read as a whole


@dataclass(frozen=True, eq=False)
class Block:
    """Some samples of a file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p)
        The features that were asked for, in that order.
    Y : ndarray or csr_array of shape (n, k) or None
        The labels that were asked for, 0 or 1; dense with NaN where some are missing. None if none were.
    position : int
        Bytes of the file that were read so far.
    kept : dict of lists of str
        The columns that were to be kept as they are.
    """

    X: Any
    Y: Any
    position: int
    kept: dict[str, list[str]] = field(default_factory=dict)


def read(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    label_column: str | None = None,
    xml: str | Path | None = None,
    drop: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
    max_bytes: int | None = MAX_BYTES,
) -> Dataset:
    r"""Read a data set, whatever its format.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard input. The name says the format: .arff, .csv, .tsv, .parquet or .pq, and .svm, .svmlight,
        .libsvm or .txt for svmlight; with .gz or .bz2 after it, or not.
    labels : sequence of str, optional
        Columns that are labels, by name or by patterns with ``*`` and ``?``. CSV and Parquet need it. An ARFF file
        needs it only if no XML file beside it names them, as Mulan's do (``NAME.xml`` for ``NAME.arff`` and
        ``NAME-train.arff``), and its relation does not say how many labels there are, as MEKA's do. Empty: there are
        none.
    label_column : str, optional
        Instead of ``labels``, for CSV and Parquet: the one column that lists all labels of a sample, as in
        ``calm;sad``. Between them is a semicolon or else a bar or else a comma, the first of these that the column has.
        An empty cell means that a sample has none.
    xml : str or Path, optional
        Mulan's file of labels, if it is elsewhere.
    drop : sequence of str, default=()
        Columns that are neither labels nor features, such as numbers of samples. Names or patterns.
    format : {"arff", "csv", "tsv", "parquet", "svmlight"}, optional
        Where the name does not say.
    max_bytes : int or None
        Most bytes of text to read of an ARFF or CSV file after decompression; None for no limit.

    Returns
    -------
    Dataset
        As for :func:`load_arff` and :func:`load_svmlight`. Columns of CSV and Parquet files are features if they hold
        numbers, or yes and no, or true and false, and are dropped otherwise; ``dropped`` says why. If only few cells of
        a column are something else, that is an error. Empty cells, NA and ? are missing values. Label cells are 0 or 1,
        or the same words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sdgs.datasets import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "songs.csv"
    ...     _ = path.write_text("title,tempo,is_calm,is_sad\nOne,90,yes,no\nTwo,,no,no\n")
    ...     songs = read(path, labels=["is_*"])
    >>> songs.feature_names, songs.label_names
    (('tempo',), ('is_calm', 'is_sad'))
    >>> songs.dropped
    (('title', "'One' in line 2 is not a number"),)
    """
    kind = _format(path, format)
    if label_column is not None:
        _check_table(kind, path, "A column that lists labels")
        if labels or xml:
            raise DataFileError(f"{stated(path)}: give the labels' columns, or the one that lists them, not both.")
    if kind == "svmlight":
        if labels or xml or drop:
            raise DataFileError(f"{stated(path)}: svmlight files have labels by number, and no columns to name.")
        return load_svmlight(path)
    if kind == "arff":
        return _read_arff(_not_stdin(path), labels, xml, drop, max_bytes)
    if labels is None and xml is not None:
        labels = mulan_labels(Path(xml))
    with open_table(path, kind, max_bytes) as source:
        return table_dataset(source, labels, drop, label_column)


def guess_labels(path: str | Path, *, format: str | None = None) -> LabelGuess:  # noqa: A002
    """Which columns of a CSV or Parquet file look like labels, by its first rows.

    Parameters
    ----------
    path, format
        As for :func:`read`.

    Returns
    -------
    LabelGuess
        Empty for other formats, which say it themselves.
    """
    kind = _format(path, format)
    if kind not in _TABLES:
        return LabelGuess()
    with open_table(path, kind, None) as source:
        return guess_in(source)


def _check_table(kind: str, path: str | Path, what: str) -> None:
    if kind not in _TABLES:
        raise DataFileError(f"{stated(path)}: {what} needs CSV or Parquet.")


def read_blocks(
    path: str | Path,
    *,
    features: Sequence[str],
    labels: Sequence[str] = (),
    with_labels: bool = False,
    label_column: str | None = None,
    keep: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
) -> Generator[Block]:
    """Read the columns that a model knows, block by block, so that files may be larger than memory.

    Columns are matched by name, in whatever order the file has them. One that is missing is an error; others are left
    out, with a warning. Only ARFF files are read as a whole.

    Parameters
    ----------
    path : str or Path
        As for :func:`read`.
    features : sequence of str
        What the columns of ``X`` are to be. In svmlight files features are called by their numbers.
    labels : sequence of str
        Columns that may be in the file as well, without a warning.
    with_labels : bool, default=False
        Whether to read them, for ``Y``. Then all must be there.
    label_column : str, optional
        Of a CSV or Parquet file the column that lists the labels, if they have no columns of their own.
    keep : sequence of str, default=()
        Columns of a CSV or Parquet file to have as they are, as text. Names or patterns.
    format : {"arff", "csv", "tsv", "parquet", "svmlight"}, optional
        Where the name does not say.

    Yields
    ------
    Block
    """
    kind = _format(path, format)
    if label_column is not None:
        _check_table(kind, path, "A column that lists labels")
    if keep:
        _check_table(kind, path, "To keep columns")
    if kind == "svmlight":
        yield from _svmlight_blocks(path, features, labels if with_labels else None)
    elif kind == "arff":
        yield from _arff_blocks(_not_stdin(path), features, labels, with_labels)
    else:
        with open_table(path, kind, None) as source:
            yield from _table_blocks(source, features, labels, with_labels, label_column, keep)


def _format(path: str | Path, given: str | None) -> str:
    if str(path) != STDIN and not Path(path).exists():
        raise DataFileError(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise DataFileError(f"{path}: this is a folder. Name a file.")
    if given is not None:
        if given not in FORMATS:
            raise DataFileError(f"format must be one of {', '.join(FORMATS)}; got {given!r}.")
        return given
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2"):
        suffixes.pop()
    found = _FORMAT_OF.get(suffixes[-1] if suffixes else "")
    if found is None:
        raise DataFileError(
            f"{stated(path)}: the name does not say the format. Say it (format=..., on the command line --format): "
            f"{', '.join(FORMATS)}."
        )
    return found


def _not_stdin(path: str | Path) -> Path:
    if str(path) == STDIN:
        raise DataFileError("ARFF cannot be read from standard input. Name a file.")
    return Path(path)


def _read_arff(
    path: Path, labels: Sequence[str] | None, xml: str | Path | None, drop: Sequence[str], max_bytes: int | None
) -> Dataset:
    table = read_table(path, max_bytes)
    beside = _xml_beside(path) if xml is None else Path(xml)
    if labels is not None:
        data = dataset_from(table, chosen(labels, table.names, str(path)), path)
    elif beside is not None:  # before the relation, which may speak of a file that this one was made from
        data = dataset_from(table, mulan_labels(beside), path)
    elif says_labels(table):
        data = meka_dataset(table, path)
    else:
        raise DataFileError(
            f"{path}: which attributes are labels? Its relation does not say (as in '-C 6', with attributes as they "
            f"were then), and there is no {_stem(path)}.xml beside it. Name that file (xml=..., on the command line "
            f"--labels-from), or the labels (labels=[...], --labels). The last attributes are "
            f"{listed(table.names[-6:])}."
        )
    # An attribute with several values is several features, each named after it.
    left_out = set(chosen(drop, table.names, str(path), "column to leave out"))
    gone = [name in left_out or name.rpartition("=")[0] in left_out for name in data.feature_names]
    if not any(gone):
        return data
    kept = np.flatnonzero(~np.asarray(gone))
    return replace(
        data,
        X=data.X[:, kept],
        feature_names=tuple(data.feature_names[i] for i in kept),
        dropped=(*data.dropped, *((name, "left out, as asked for") for name in table.names if name in left_out)),
    )


def _stem(path: Path) -> str:
    return re.sub(r"\.arff(\.gz|\.bz2)?$", "", path.name, flags=re.IGNORECASE)


def _xml_beside(path: Path) -> Path | None:
    """The file of labels that belongs to an ARFF file: that of the same name, or of a part of it before a - or _."""
    stem = _stem(path)
    ends = [len(stem), *(match.start() for match in reversed(list(re.finditer(r"[-_.]", stem))))]
    candidates = (path.with_name(f"{stem[:end]}.xml") for end in ends if end)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _places(features: Sequence[str], names: Sequence[str], file: str) -> list[int]:
    """Where each of the features is among the names."""
    place = {name: i for i, name in enumerate(names)}
    lost = [name for name in features if name not in place]
    if lost:
        raise DataFileError(
            f"{file}: {len(lost)} of the {len(features)} features of the model are not there: {listed(lost)}. "
            f"{near(lost[0], names)} Columns are matched by name: rename them, or add those that are missing, empty."
        )
    return [place[name] for name in features]


def _ignored(names: Sequence[str], file: str) -> None:
    if names:
        warnings.warn(f"{file}: left out, for the model does not know them: {listed(names)}.", stacklevel=4)


def _table_blocks(
    source: Source,
    features: Sequence[str],
    labels: Sequence[str],
    with_labels: bool,
    label_column: str | None,
    keep: Sequence[str],
) -> Iterator[Block]:
    if source.only_one_column() and list(source.names) != list(features):
        raise DataFileError(source.only_one_column())
    _places(features, source.names, source.name)
    listing = [] if label_column is None else [list_column(source, label_column)]
    wanted = list(labels) if with_labels and not listing else []
    for name in wanted:
        if name not in source.names:
            raise DataFileError(
                f"{source.name}: no column is named {name!r}, which is a label of the model. "
                f"{near(name, source.names)} If one column lists the labels, name it (label_column=..., on the command "
                "line --label-column)."
            )
    kept = chosen(keep, source.names, source.name, "column to keep")
    known = {*features, *labels, *listing, *kept, ""}
    _ignored([name for name in source.names if name not in known], source.name)
    separators, strange = separators_beside(labels), set[str]()
    for rows in source.rows(list(dict.fromkeys([*features, *wanted, *listing, *kept]))):
        X, Y = np.empty((len(rows.lines), len(features))), np.empty((len(rows.lines), len(wanted)))
        for target, names, column in ((X, features, rows.features), (Y, wanted, rows.labels)):
            for j, name in enumerate(names):
                try:
                    target[:, j] = column(name)
                except BadCellError as error:
                    raise source.bad_cell(error, rows, name) from None
        if with_labels and listing:
            Y, others = label_matrix([labels_in(cell, separators) for cell in rows.cells(listing[0])], labels)
            if others and not strange:
                strange = others
                some = listed(sorted(others))
                warnings.warn(
                    f"{source.name}: labels left out, for the model does not know them: {some}.", stacklevel=3
                )
        yield Block(X, Y if with_labels else None, rows.position, {name: rows.texts(name) for name in kept})


def _arff_blocks(path: Path, features: Sequence[str], labels: Sequence[str], with_labels: bool) -> Iterator[Block]:
    table = read_table(path, None)
    there = [name for name in labels if name in set(table.names)]
    data = dataset_from(table, list(labels) if with_labels else there, path)
    places = _places(features, data.feature_names, str(path))
    known = set(features)
    _ignored([name for name in data.feature_names if name not in known], str(path))
    Y = np.full((data.X.shape[0], len(labels)), np.nan) if data.Y is None else data.Y
    size = path.stat().st_size
    for start in range(0, data.X.shape[0], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        X = data.X[rows][:, places]
        yield Block(csr_array(X) if issparse(X) else X, Y[rows] if with_labels else None, size)


def _svmlight_blocks(path: str | Path, features: Sequence[str], labels: Sequence[str] | None) -> Iterator[Block]:
    numbers = _as_range(features, "features", path)
    label_numbers = range(0) if labels is None else _as_range(labels, "labels", path)
    warned = set[str]()

    def ignored(what: str, others: Any) -> None:
        if others.size and what not in warned:
            warned.add(what)
            warnings.warn(
                f"{stated(path)}: {what} {others[0]} is not one of the model's. Such {what}s are left out.",
                stacklevel=4,
            )

    for lines in svmlight_lines(path):
        X, others = lines.X(numbers)
        ignored("feature", others)
        Y = None
        if labels is not None:
            Y, others = lines.Y(label_numbers)
            ignored("label", others)
        yield Block(X, Y, lines.position)


def _as_range(names: Sequence[str], what: str, path: str | Path) -> range:
    """Names that are consecutive numbers."""
    if names and names[0].isdecimal():
        numbers = range(int(names[0]), int(names[0]) + len(names))
        if all(name == str(number) for name, number in zip(names, numbers, strict=True)):
            return numbers
    raise DataFileError(
        f"{stated(path)}: in svmlight files {what} have numbers, but those of the model have names, such as "
        f"{listed(names[:3])}. Use a format with names: CSV, Parquet or ARFF."
    )
