"""Reading multi-label svmlight files, at once and by blocks of lines. scikit-learn parses.

Features and labels are named by their numbers in the file. Therefore files that number features from 1 and files that
number them from 0 are not mixed up, and files that show different features can be matched.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.datasets import load_svmlight_file

from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets._dataset import Dataset, check_label_matrix_size
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import BLOCK_BYTES, Stream, open_stream, read_line_blocks

# Names are made for all numbers up to the largest, so that a short file could claim all memory.
_MAX_LABELS = 1 << 20
_MAX_FEATURES = 1 << 21


@dataclass(frozen=True, eq=False)
class SvmlightBlock:
    """Samples of some lines, with features and labels numbered as in the file."""

    features: csr_array
    labels: csr_array
    position: int  # bytes of the file read so far

    def X(self, numbers: range) -> tuple[csr_array, NDArray[Any]]:
        """The features with these numbers, and the numbers of all other entries."""
        return _select_columns(self.features, numbers)

    def Y(self, numbers: range) -> tuple[csr_array, NDArray[Any]]:
        """The labels with these numbers as 0/1, and the numbers of all other entries."""
        Y, unknown = _select_columns(self.labels, numbers)
        Y.sum_duplicates()
        Y.data[:] = 1  # a line may name a label twice
        return Y, unknown


def _select_columns(matrix: csr_array, numbers: range) -> tuple[csr_array, NDArray[Any]]:
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    known = (indices >= numbers.start) & (indices < numbers.stop)
    unknown = indices[~known]
    if unknown.size:
        data, indices, indptr = data[known], indices[known], np.concatenate([[0], np.cumsum(known)])[indptr]
    selected = csr_array((data, indices - numbers.start, indptr), shape=(matrix.shape[0], len(numbers)))
    return narrow_indices(selected), unknown


def load_svmlight(path: str | Path, *, n_features: int | None = None, n_labels: int | None = None) -> Dataset:
    """Read a multi-label svmlight file: labels as comma-separated whole numbers, then index:value pairs.

    Parameters
    ----------
    path : str or Path
        Plain, or compressed with gzip, bzip2, xz or zstd.
    n_features, n_labels : int or None
        Number of features and labels, for files in which the last ones may not occur, such as test files. Default: as
        many as occur; at most 2,097,152 features and 1,048,576 labels.

    Returns
    -------
    Dataset
        Features and labels are named by their numbers in the file. Labels start at 0; features start at 0, or at 1 if
        there is no feature 0.
    """
    blocks = list(svmlight_blocks(path))
    if not blocks:
        raise DataFileError(f"{path}: cannot be read as multi-label svmlight, because there are no samples.")
    features, labels = [block.features.indices for block in blocks], [block.labels.indices for block in blocks]
    base = int(all(indices.min(initial=1) > 0 for indices in features))
    p = _size(path, "feature", max(indices.max(initial=base - 1) for indices in features) + 1 - base, n_features)
    k = _size(path, "label", max(indices.max(initial=-1) for indices in labels) + 1, n_labels)
    if n_features is None and p > _MAX_FEATURES:
        raise DataFileError(
            f"{path}: the largest number of a feature is {p + base - 1}; there can be {_MAX_FEATURES} features. Number "
            "the features that occur from 1, or pass n_features if there are so many."
        )
    if p == 0:
        raise DataFileError(f"{path}: there are no features, only labels. Write INDEX:VALUE pairs after the labels.")
    check_label_matrix_size(str(path), sum(block.labels.shape[0] for block in blocks), k)
    return Dataset(
        X=narrow_indices(vstack([block.X(range(base, base + p))[0] for block in blocks], format="csr")),
        Y=np.concatenate([block.Y(range(k))[0].toarray() for block in blocks]) if k else None,
        feature_names=tuple(map(str, range(base, base + p))),
        label_names=tuple(map(str, range(k))),
        name=Path(path).name,
    )


def _size(path: str | Path, kind: str, shown: int, given: int | None) -> int:
    if given is not None and shown > given:
        raise DataFileError(f"{path}: the file has {shown} {kind}s, which is more than n_{kind}s={given}.")
    return int(shown if given is None else given)


def svmlight_blocks(path: str | Path, block_bytes: int = BLOCK_BYTES) -> Iterator[SvmlightBlock]:
    """A file by blocks of lines."""
    with open_stream(path) as stream:
        first_line = 1
        for text in read_line_blocks(stream, block_bytes):
            block = _parse_block(text, stream, first_line)
            first_line += text.count(b"\n")
            if block is not None:
                yield block


def _parse_block(text: bytes, stream: Stream, first_line: int) -> SvmlightBlock | None:
    """Samples of some lines; None if there are only empty lines and comments."""
    try:
        X, label_sets = _parse_lines(text)
    except (ValueError, OverflowError):
        raise _locate_error(text, stream, first_line) from None
    if not label_sets:
        return None
    labels = np.asarray([label for labels in label_sets for label in labels], dtype=np.float64)
    if labels.size and not (labels.min() >= 0 and labels.max() < _MAX_LABELS and not (labels % 1).any()):
        raise DataFileError(f"{stream.name}: labels must be whole numbers from 0 to {_MAX_LABELS - 1}.")
    if np.isinf(X.data).any():
        raise DataFileError(
            f"{stream.name}: there is an infinite value in or after line {first_line}. Write nan if it is not known."
        )
    label_indptr = np.cumsum([0, *map(len, label_sets)])
    ones = np.ones(labels.size, dtype=np.int8)
    Y = csr_array((ones, labels.astype(np.int32), label_indptr), shape=(len(label_sets), _MAX_LABELS))
    return SvmlightBlock(csr_array(X), Y, stream.position)


def _parse_lines(text: bytes) -> tuple[Any, list[tuple[float, ...]]]:
    X, label_sets = load_svmlight_file(io.BytesIO(text), multilabel=True, zero_based=True)
    return X, label_sets


def _locate_error(text: bytes, stream: Stream, first_line: int) -> DataFileError:
    """Parse line by line, because the error of a block does not have the line."""
    for number, line in enumerate(text.split(b"\n"), start=first_line):
        try:
            if line.split(b"#")[0].strip():
                _parse_lines(line)
        except (ValueError, OverflowError) as error:
            return DataFileError(
                f"{stream.name}, line {number}: cannot be read as multi-label svmlight, LABEL,LABEL INDEX:VALUE ... "
                f"({error})."
            )
    return DataFileError(f"{stream.name}: cannot be read as multi-label svmlight.")
