"""One reader for every format."""

import re
from collections.abc import Sequence
from pathlib import Path

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import arff_dataset, read_arff
from sdgs.datasets.readers._column_selection import join_names, match_columns
from sdgs.datasets.readers._formats import TABLE_FORMATS, check_is_table, check_not_stdin, detect_format
from sdgs.datasets.readers._label_lists import LabelGuess
from sdgs.datasets.readers._mulan_meka import has_label_count, match_label_names, meka_labels, read_label_names
from sdgs.datasets.readers._open import COMPRESSION_SUFFIXES, MAX_BYTES, display_name
from sdgs.datasets.readers._open_table import open_table
from sdgs.datasets.readers._svmlight import load_svmlight
from sdgs.datasets.readers._table_dataset import table_dataset
from sdgs.datasets.readers._table_labels import guess_labels_of


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
    r"""Read a data set in any of the supported formats.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard input. The suffix determines the format: .arff, .csv, .tsv, .parquet or .pq, .xlsx,
        .jsonl or .ndjson, and .svm, .svmlight, .libsvm or .txt for svmlight; optionally followed by .gz, .bz2, .xz or
        .zst. Whether a file is compressed is determined by its content.
    labels : sequence of str, optional
        Columns that are labels: names, or patterns with ``*`` and ``?``. Required for tables. For ARFF
        required only if there is no XML file of Mulan's beside it (``NAME.xml`` for ``NAME.arff`` and
        ``NAME-train.arff``), and its relation does not have MEKA's number of labels. Empty: there are no labels.
    label_column : str, optional
        Instead of ``labels``, for tables: the one column that lists all labels of a sample, as in
        ``calm;sad``. The separator is a semicolon, a vertical bar or a comma: the first of these that occurs in the
        column. An empty cell means that a sample has no labels.
    xml : str or Path, optional
        Mulan's XML file of labels, if it is not beside the ARFF file.
    drop : sequence of str, default=()
        Columns that are neither labels nor features, such as identifiers: names or patterns.
    format : {"arff", "csv", "tsv", "parquet", "xlsx", "jsonl", "svmlight"}, optional
        Default: by the suffix.
    max_bytes : int or None
        Maximum number of bytes of the file after decompression; None for no limit.

    Returns
    -------
    Dataset
        As for :func:`load_arff` and :func:`load_svmlight`. Columns of tables are features if they hold
        numbers, or yes and no, or true and false. Other columns are dropped; ``dropped`` has the reasons. If only a few
        cells of a column are not numbers, that is an error. Empty cells, NA and ? are missing values. Label cells are
        0 or 1, or the same words.

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
    format_ = detect_format(path, format)
    if label_column is not None:
        check_is_table(format_, path, "A column that lists labels")
        if labels or xml:
            raise DataFileError(
                f"{display_name(path)}: give either the columns of the labels or the column that lists them, not both."
            )
    if format_ == "svmlight":
        if labels or xml or drop:
            raise DataFileError(
                f"{display_name(path)}: columns of svmlight files have no names. Do not give labels or columns to drop."
            )
        return load_svmlight(path)
    if format_ == "arff":
        return _read_arff(check_not_stdin(path), labels, xml, drop, max_bytes)
    if labels is None and xml is not None:
        labels = read_label_names(Path(xml))
    with open_table(path, format_, max_bytes, whole=True) as source:
        return table_dataset(source, labels, drop, label_column)


def guess_labels(path: str | Path, *, format: str | None = None) -> LabelGuess:  # noqa: A002
    """Guess which columns of a table are labels, by its first rows.

    Parameters
    ----------
    path, format
        As for :func:`read`.

    Returns
    -------
    LabelGuess
        Empty for other formats, whose files say which labels there are.
    """
    format_ = detect_format(path, format)
    if format_ not in TABLE_FORMATS:
        return LabelGuess()
    with open_table(path, format_, None) as source:
        return guess_labels_of(source)


def _read_arff(
    path: Path, labels: Sequence[str] | None, xml: str | Path | None, drop: Sequence[str], max_bytes: int | None
) -> Dataset:
    table = read_arff(path, max_bytes)
    dropped = set(match_columns(drop, table.names, str(path), "column to drop"))
    label_file = _find_label_file(path) if xml is None else Path(xml)
    if labels is not None:
        label_names = match_columns(labels, table.names, str(path))
    elif label_file is not None:  # before the relation, which may be copied from a file with other attributes
        label_names = match_label_names(read_label_names(label_file), table.names)
    elif has_label_count(table):
        table, label_names = meka_labels(table, path)
    else:
        raise DataFileError(
            f"{path}: which attributes are labels? Its relation does not have their number (as in '-C 6', with no "
            f"attributes moved since), and there is no {_stem(path)}.xml beside it. Name that file (xml=..., on the "
            f"command line --labels-from), or the labels (labels=[...], --labels). The last attributes are "
            f"{join_names(table.names[-6:])}."
        )
    conflicts = [name for name in label_names if name in dropped]
    if conflicts:
        raise DataFileError(f"{path}: {join_names(conflicts)} cannot be both a label and dropped.")
    data = arff_dataset(table, label_names, path, dropped)
    if not data.feature_names:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in data.dropped[:3])
        raise DataFileError(f"{path}: no attribute is left as a feature ({reasons or 'all are labels'}).")
    return data


def _stem(path: Path) -> str:
    suffixes = "|".join(map(re.escape, COMPRESSION_SUFFIXES))
    return re.sub(rf"\.arff({suffixes})?$", "", path.name, flags=re.IGNORECASE)


def _find_label_file(path: Path) -> Path | None:
    """Mulan's XML file beside an ARFF file: with the same name, or the part of it before a ``-``, ``_`` or ``.``."""
    stem = _stem(path)
    ends = [len(stem), *(match.start() for match in reversed(list(re.finditer(r"[-_.]", stem))))]
    candidates = (
        path.with_name(f"{stem[:end]}.xml{suffix}") for end in ends if end for suffix in ("", *COMPRESSION_SUFFIXES)
    )
    return next((candidate for candidate in candidates if candidate.is_file()), None)
