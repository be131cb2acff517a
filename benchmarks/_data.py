"""Problems of the benchmarks: the paper's data sets if they are available, and synthetic data of known shapes."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs.datasets import REGISTRY, find, load, make_label_subspaces

_ROWS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class Options:
    """Options of a run."""

    quick: bool = False
    large: bool = False
    data_home: Path | None = None
    seed: int = 0


def normalize_rows(X: Any) -> Any:
    """Rows of unit norm, dense or sparse; rows of zeros are unchanged."""
    return Normalizer().transform(X)


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test samples of unit norm, and their labels."""

    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray


@lru_cache(maxsize=2)
def load_split(name: str, data_home: Path | None, *, standardise: bool | None = None) -> Split:
    """One of the paper's data sets; None standardises dense features that are not in [0, 1], before normalisation."""
    train, test = (load(name, split, data_home=data_home) for split in ("train", "test"))
    X, X_test = train.X, test.X
    if standardise is None:
        standardise = not issparse(X) and (X.min() < 0 or X.max() > 1)
    if standardise:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(normalize_rows(X), train.Y, normalize_rows(X_test), test.Y)


def missing_data_message(names: tuple[str, ...], data_home: Path | None) -> str | None:
    """None if all of these data sets are available, otherwise which are missing and what to do."""
    missing = []
    for name in names:
        try:
            find(name, data_home=data_home)
        except FileNotFoundError:
            missing.append(name)
    if not missing:
        return None
    subject = "the paper's data sets" if len(missing) == len(REGISTRY) else ", ".join(missing)
    return f"{subject} not found; give their folder by --data-home or SDGS_DATA"


def make_dense_samples(
    n: int, p: int, k: int, r: int, labels_per_sample: int, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Sums of points of the subspaces of a sample's labels and noise, of unit norm; labels; the k subspaces."""
    data = make_label_subspaces(
        n, p, k, n_components=r, labels_per_sample=labels_per_sample, noise=0.3, random_state=seed
    )
    return normalize_rows(data.X), data.Y, data.components


def make_text_samples(
    n: int, p: int, k: int, words_per_sample: float, labels_per_sample: float, seed: int
) -> tuple[csr_array, csr_array]:
    """Sparse samples of unit norm that resemble text, and labels; both frequencies follow power laws.

    ``words_per_sample`` and ``labels_per_sample`` are means of what is drawn; a word that is drawn twice is stored
    once. A quarter of the words depend on the first label.
    """
    rng = np.random.default_rng(seed)
    word_cdf, label_cdf = (np.cumsum(np.arange(1, m + 1) ** -power) for m, power in ((p, 0.9), (k, 0.8)))
    # Every sample has a first label; further labels are assigned to random samples.
    further_rows = rng.integers(n, size=max(round(n * labels_per_sample) - n, 0))
    rows = np.concatenate([np.arange(n), further_rows])
    labels = np.searchsorted(label_cdf, rng.uniform(0, label_cdf[-1], rows.size))
    Y = csr_array((np.ones(rows.size, dtype=np.int8), (rows, labels)), shape=(n, k))
    Y.data[:] = 1
    first_labels = labels[:n]
    word_counts = np.maximum(rng.poisson(words_per_sample, n), 1)
    indptr = np.concatenate([[0], np.cumsum(word_counts)])
    columns = np.empty(indptr[-1], dtype=np.int32)
    for start in range(0, n, _ROWS_PER_BLOCK):  # in blocks, because the draws take more memory than the result
        block = slice(start, min(start + _ROWS_PER_BLOCK, n))
        size = indptr[block.stop] - indptr[block.start]
        words = np.searchsorted(word_cdf, rng.uniform(0, word_cdf[-1], size))
        # The words that depend on a label have the same distribution, shifted by an offset per label.
        depends_on_label = rng.random(size) < 0.25
        shift = np.repeat(first_labels[block], word_counts[block]) * (p // k)
        columns[indptr[block.start] : indptr[block.stop]] = np.where(depends_on_label, (words + shift) % p, words)
    index_dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    X = csr_array((rng.uniform(1, 2, indptr[-1]), columns, indptr.astype(index_dtype)), shape=(n, p))
    X.sum_duplicates()
    return normalize_rows(X), Y
