"""Multi-label svmlight files, whole and by blocks of lines. scikit-learn parses; this cuts, and names by number.

Features and labels are named by their numbers as they stand in the file. So a file that counts features from 1 and one
that counts from 0 are not mixed up, and a file that does not show the last feature is no shorter than others.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from sdgs._utils._row_norms import narrow_indices
from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import MAX_LINE, Stream, opened

BLOCK_BYTES = 2 << 20  # of text
_MOST_LABELS = 10_000_000


@dataclass(frozen=True, eq=False)
class Lines:
    """Some lines of a file: entries in CSR form with numbers as in the file, and the labels of each sample."""

    data: NDArray[np.float64]
    features: NDArray[np.int32]
    ends: NDArray[np.int64]
    labels: NDArray[np.intp]
    label_ends: NDArray[np.int64]
    position: int  # bytes of the file so far

    def X(self, numbers: range) -> tuple[csr_array, NDArray[Any]]:
        """The features with these numbers, and the numbers of entries of other features."""
        return _columns(self.data, self.features, self.ends, numbers)

    def Y(self, numbers: range) -> tuple[csr_array, NDArray[Any]]:
        """0/1 for the labels with these numbers, and the numbers of others."""
        Y, others = _columns(np.ones(self.labels.size, dtype=np.int8), self.labels, self.label_ends, numbers)
        Y.sum_duplicates()
        Y.data[:] = 1  # a label that is named twice
        return Y, others


def _columns(data: Any, indices: Any, ends: Any, numbers: range) -> tuple[csr_array, NDArray[Any]]:
    """Entries in the columns with these numbers, and the columns of all others."""
    known = (indices >= numbers.start) & (indices < numbers.stop)
    others = indices[~known]
    if others.size:
        data, indices, ends = data[known], indices[known], np.concatenate([[0], np.cumsum(known)])[ends]
    matrix = csr_array((data, indices - numbers.start, ends), shape=(len(ends) - 1, len(numbers)))
    return narrow_indices(matrix), others


def load_svmlight(path: str | Path, *, n_features: int | None = None, n_labels: int | None = None) -> Dataset:
    """Read a multi-label svmlight file: labels as comma-separated whole numbers, then index:value pairs.

    Parameters
    ----------
    path : str or Path
        Plain, or compressed with gzip or bzip2.
    n_features, n_labels : int or None
        Sizes, where the file may not show the last feature or label, as in a test file. Default: what the file shows.

    Returns
    -------
    Dataset
        Features and labels are named by their numbers as they stand in the file. Labels count from 0; features do, or
        from 1 if the file has no feature 0.
    """
    lines = list(svmlight_lines(path))
    if not lines:
        raise DataFileError(f"{path}: cannot be read as multi-label svmlight (there are no samples).")
    base = int(all(block.features.min(initial=1) > 0 for block in lines))
    p = _size(path, "feature", max(block.features.max(initial=base - 1) for block in lines) + 1 - base, n_features)
    k = _size(path, "label", max(block.labels.max(initial=-1) for block in lines) + 1, n_labels)
    X = csr_array(
        (
            np.concatenate([block.data for block in lines]),
            np.concatenate([block.features for block in lines]) - base,
            np.cumsum(np.concatenate([[0], *(np.diff(block.ends) for block in lines)])),
        ),
        shape=(sum(len(block.ends) - 1 for block in lines), p),
    )
    return Dataset(
        X=narrow_indices(X),
        Y=np.concatenate([block.Y(range(k))[0].toarray() for block in lines]) if k else None,
        feature_names=tuple(map(str, range(base, base + p))),
        label_names=tuple(map(str, range(k))),
        name=Path(path).name,
    )


def _size(path: str | Path, what: str, shown: int, given: int | None) -> int:
    if given is not None and shown > given:
        raise DataFileError(f"{path}: the file shows {shown} {what}s, which does not fit n_{what}s={given}.")
    return int(shown if given is None else given)


def svmlight_lines(path: str | Path) -> Iterator[Lines]:
    """A file by blocks of some megabytes of lines."""
    with opened(path) as stream:
        number = 1  # of the block's first line
        for block in _blocks_of_lines(stream):
            parsed = _parsed(block, stream, number)
            number += block.count(b"\n")
            if parsed is not None:
                yield parsed


def _blocks_of_lines(stream: Stream) -> Iterator[bytes]:
    rest = b""
    while part := stream.file.read(BLOCK_BYTES):
        rest += part
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > MAX_LINE:
            raise DataFileError(f"{stream.name}: a line is longer than {MAX_LINE} bytes. Is it an svmlight file?")
    if rest.strip():
        yield rest


def _parsed(block: bytes, stream: Stream, first: int) -> Lines | None:
    """Samples of a block; None if it has only empty lines and comments."""
    try:
        X, targets = _parse(block)
    except (ValueError, OverflowError):
        raise _first_error(block, stream, first) from None
    if not targets:
        return None
    counts = [len(labels) for labels in targets]
    labels = np.asarray([label for labels in targets for label in labels], dtype=np.float64)
    if labels.size and not (labels.min() >= 0 and labels.max() < _MOST_LABELS and not (labels % 1).any()):
        raise DataFileError(f"{stream.name}: labels must be whole numbers from 0.")
    if not np.isfinite(X.data).all() and np.isinf(X.data).any():
        raise DataFileError(f"{stream.name}: a value is infinite, from line {first} on. Write nan where it is unknown.")
    ends = np.concatenate([[0], np.cumsum(counts)])
    return Lines(
        X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), labels.astype(np.intp), ends, stream.position
    )


def _parse(text: bytes) -> tuple[Any, Sequence[tuple[float, ...]]]:
    X, targets = load_svmlight_file(io.BytesIO(text), multilabel=True, zero_based=True)
    return X, targets


def _first_error(block: bytes, stream: Stream, first: int) -> DataFileError:
    """Which line it is: parsed together, they do not say."""
    for number, line in enumerate(block.split(b"\n"), start=first):
        try:
            if line.split(b"#")[0].strip():
                _parse(line)
        except (ValueError, OverflowError) as error:
            return DataFileError(
                f"{stream.name}, line {number}: cannot be read as multi-label svmlight, LABEL,LABEL INDEX:VALUE ... "
                f"({error})."
            )
    return DataFileError(f"{stream.name}: cannot be read as multi-label svmlight.")
