"""Roughly how long the default methods take, to do fast ones first and to leave out very slow ones.

A time is a coefficient times the work that the size of the data implies. The coefficients are geometric means over 200
to 600 training samples of Birds, Genbase, Yeast, Scene, Enron, Slashdot, Arts and Corel5k, with one thread and with the
decision layer, which takes four fits. Nine of ten fits took between an eighth and eight times of the estimate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DataSize:
    """What the time of a fit and the preprocessing depend on.

    ``n_entries`` counts the entries of X that are not zero, ``n_label_sets`` the different rows of Y.
    """

    n_samples: int
    n_features: int
    n_labels: int
    n_entries: int
    n_label_sets: int
    is_sparse: bool
    has_missing: bool

    @property
    def one_problem(self) -> float:
        """The work of one binary linear problem: entries, and vectors of samples and of features."""
        stored = self.n_entries if self.is_sparse else self.n_samples * self.n_features
        return float(stored + 20 * (self.n_samples + self.n_features))


def _sdgs(size: DataSize) -> float:
    return 1.1e-5 * (size.n_samples + 500) * (size.n_labels + 20)


def _trees(size: DataSize) -> float:
    levels = np.log2(size.n_samples + 1)
    return float(4e-6 * size.n_samples * levels * np.sqrt(size.n_features) * (size.n_labels + 10))


FIT_SECONDS: Mapping[str, Callable[[DataSize], float]] = {
    "sdgs": _sdgs,
    "sdgs-cv": lambda size: 5 * _sdgs(size),
    "binary-relevance": lambda size: 4e-7 * size.n_labels * size.one_problem,
    "logistic": lambda size: 3e-7 * size.n_labels * size.one_problem,
    "mlknn": lambda size: 5e-8 * size.n_samples * (size.n_samples + size.n_labels),
    "sparse-low-rank": lambda size: 6e-7 * size.n_samples * size.n_features * size.n_labels,
    "label-powerset": lambda size: 2e-7 * size.n_label_sets * size.one_problem,
    "rakel": lambda size: 3.5e-6 * size.n_labels * size.one_problem,
    "chains": lambda size: 3.5e-6 * size.n_labels * (size.one_problem + size.n_samples * size.n_labels / 2),
    "trees": _trees,
    "average": lambda size: 4 * _sdgs(size) + _trees(size),
}
