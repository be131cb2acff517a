"""The main values of a sample: its words, the measurements that are furthest from the mean, or its cells in a file."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs.selection._defaults import MOSTLY_ZERO_SHARE

_MAX_CELL_LENGTH = 300


class SampleDescriptions:
    """Describes samples by their main values, relative to all samples.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, p)
        NaN is a missing entry.
    feature_names : ndarray of shape (p,)
    """

    def __init__(self, X: Any, feature_names: NDArray[Any]) -> None:
        self._names = feature_names
        n, p = X.shape
        values = X.data if issparse(X) else X
        self.are_words = np.count_nonzero(values) < MOSTLY_ZERO_SHARE * n * p
        if self.are_words:
            self._X = csr_array(X)
            frequencies = np.bincount(self._X.indices[self._X.data != 0], minlength=p)
            self._weights = np.log((1 + n) / (1 + frequencies)) + 1  # inverse document frequency
        else:
            self._X = X.toarray() if issparse(X) else X
            observed = np.where(np.isnan(self._X), 0.0, self._X)
            counts = np.maximum((~np.isnan(self._X)).sum(axis=0), 1)
            with np.errstate(over="ignore", invalid="ignore"):
                self._means = observed.sum(axis=0) / counts
                deviations = np.where(np.isnan(self._X), 0.0, self._X - self._means)
                spreads = np.sqrt(np.square(deviations).sum(axis=0) / counts)
            self._weights = np.divide(1, spreads, where=np.isfinite(spreads) & (spreads > 0), out=np.zeros(p))

    def main_values(self, row: int, max_values: int) -> list[tuple[str, str]]:
        """Names and values of the main features of a sample, the most important first."""
        if self.are_words:
            entries = slice(self._X.indptr[row], self._X.indptr[row + 1])
            columns, values = self._X.indices[entries], self._X.data[entries]
            importance = np.abs(values) * self._weights[columns]
        else:
            columns, values = np.arange(self._X.shape[1]), self._X[row]
            with np.errstate(over="ignore", invalid="ignore"):
                importance = np.abs(values - self._means) * self._weights
        importance = np.nan_to_num(importance)
        order = np.argsort(-importance, kind="stable")[:max_values]
        return [(str(self._names[columns[i]]), f"{values[i]:.3g}") for i in order if importance[i] > 0]


class CellDescriptions:
    """Describes samples by the cells of some columns of a table.

    Parameters
    ----------
    cells : dict from names of columns to sequences of str, one per sample
    """

    are_words = False

    def __init__(self, cells: Mapping[str, Sequence[str]]) -> None:
        self._cells = cells

    def main_values(self, row: int, max_values: int) -> list[tuple[str, str]]:
        """Names of columns, and the starts of their cells, without empty ones."""
        shown = [(str(name), " ".join(str(cells[row]).split())) for name, cells in self._cells.items()]
        return [(name, shorten(cell, _MAX_CELL_LENGTH)) for name, cell in shown if cell][:max_values]


def shorten(text: str, max_length: int) -> str:
    """The start of a text."""
    return text if len(text) <= max_length else f"{text[:max_length]}..."
