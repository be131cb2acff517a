"""Problems to measure on: the paper's data sets where they are present, and made ones of known shapes."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import Normalizer, StandardScaler

from sdgs.datasets import REGISTRY, find, load, make_label_subspaces


@dataclass(frozen=True)
class Options:
    """What a run was asked for."""

    quick: bool = False
    large: bool = False
    data_home: Path | None = None
    seed: int = 0


def unit(X: Any) -> Any:
    """Rows of unit norm, dense or sparse; rows of zeros stay."""
    return Normalizer().transform(X)


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test samples of unit norm, and their labels."""

    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray


@lru_cache(maxsize=2)
def real(name: str, data_home: Path | None, *, standardise: bool | None = None) -> Split:
    """One of the paper's data sets. Features are standardised before if asked for, or if dense and not in [0, 1]."""
    train, test = (load(name, split, data_home=data_home) for split in ("train", "test"))
    X, X_test = train.X, test.X
    if standardise is None:
        standardise = not issparse(X) and (X.min() < 0 or X.max() > 1)
    if standardise:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(unit(X), train.Y, unit(X_test), test.Y)


def why_absent(names: tuple[str, ...], data_home: Path | None) -> str | None:
    """None if all of these sets are on this machine, else what to do."""
    absent = []
    for name in names:
        try:
            find(name, data_home=data_home)
        except FileNotFoundError:
            absent.append(name)
    if not absent:
        return None
    which = "the paper's data are" if len(absent) == len(REGISTRY) else f"{', '.join(absent)}:"
    return f"{which} not here; name their folder by --data-home or SDGS_DATA"


def planted(
    n: int, p: int, k: int, r: int, card: int, seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """Unit rows that are sums of ``card`` of k random subspaces and noise; their labels, and the subspaces."""
    data = make_label_subspaces(n, p, k, n_components=r, labels_per_sample=card, noise=0.3, random_state=seed)
    return unit(data.X), data.Y, data.components


def words(n: int, p: int, k: int, entries: float, card: float, seed: int) -> tuple[csr_array, csr_array]:
    """Sparse samples like text, of unit norm, and labels: both are power laws, and labels have words of their own.

    ``entries`` words are drawn a sample on average, ``card`` labels. A word that is drawn twice is stored once.
    """
    rng = np.random.default_rng(seed)
    word_cdf, label_cdf = (np.cumsum(np.arange(1, m + 1) ** -power) for m, power in ((p, 0.9), (k, 0.8)))
    # Every sample has a first label; the others go to samples at random.
    more = rng.integers(n, size=max(round(n * card) - n, 0))
    rows = np.concatenate([np.arange(n), more])
    labels = np.searchsorted(label_cdf, rng.uniform(0, label_cdf[-1], rows.size))
    Y = csr_array((np.ones(rows.size, dtype=np.int8), (rows, labels)), shape=(n, k))
    Y.data[:] = 1
    first = labels[:n]
    counts = np.maximum(rng.poisson(entries, n), 1)
    ends = np.concatenate([[0], np.cumsum(counts)])
    columns = np.empty(ends[-1], dtype=np.int32)
    for start in range(0, n, 1 << 16):  # in blocks, for what is drawn takes more room than what is kept
        block = slice(start, min(start + (1 << 16), n))
        size = ends[block.stop] - ends[block.start]
        drawn = np.searchsorted(word_cdf, rng.uniform(0, word_cdf[-1], size))
        # A quarter of a sample's words are as frequent as those of its first label are.
        own = rng.random(size) < 0.25
        shift = np.repeat(first[block], counts[block]) * (p // k)
        columns[ends[block.start] : ends[block.stop]] = np.where(own, (drawn + shift) % p, drawn)
    X = csr_array(
        (rng.uniform(1, 2, ends[-1]), columns, ends.astype(np.int32 if ends[-1] < 2**31 else np.int64)), shape=(n, p)
    )
    X.sum_duplicates()
    return unit(X), Y
