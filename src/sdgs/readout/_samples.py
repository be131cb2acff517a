"""Training samples, wherever they are: the protocol that fitting relies on, and its implementation in memory.

The ``fit`` of an estimator makes a :class:`Samples` object of what the user passed. No code below it asks whether the
samples are distributed. :mod:`sdgs.distributed` implements the same protocol for Dask arrays.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._array_api import take_rows
from sdgs.readout._column_statistics import ColumnStatistics, column_statistics
from sdgs.readout._observed_ridge import prepare_label_ridge
from sdgs.readout._ridge import RidgeDesign
from sdgs.readout._scaling import COLUMN_SCALINGS, Scaling, fit_scaling

if TYPE_CHECKING:
    from sdgs.readout._features import ReadoutFeatures


class Samples(ABC):
    """Samples that something is fitted to, scaled or not.

    Attributes
    ----------
    X : array of shape (n, p)
        Any kind of array that :func:`sdgs.decompose` takes.
    norms : array of shape (n,) or None
        The norms of the rows before scaling, for kernels; None for 1.
    sample_weight : ndarray of shape (n,) or None
        Positive; None for 1.
    shape : (n, p)
    is_sparse : bool
    supports_kernel : bool
        Whether ``gamma`` may be given.
    """

    X: Any
    norms: Any
    sample_weight: NDArray[np.float64] | None
    shape: tuple[int, int]
    is_sparse: bool
    supports_kernel: bool

    @cached_property
    @abstractmethod
    def column_statistics(self) -> ColumnStatistics:
        """Statistics of the columns."""

    @property
    @abstractmethod
    def content(self) -> Any:
        """An array or a string that identifies the samples, for checkpoints."""

    @abstractmethod
    def weighted(self, sample_weight: NDArray[np.float64]) -> "Samples":
        """The same samples with weights."""

    @abstractmethod
    def take(self, rows: Any) -> "ArraySamples":
        """Some rows, given by a slice or by ascending indices, in the memory of this process."""

    @abstractmethod
    def scale(self, scaling: Scaling) -> "Samples":
        """The samples scaled."""

    @abstractmethod
    def prepare_ridge(
        self, features: "ReadoutFeatures", Y: Any, design: RidgeDesign, n_jobs: int | None, codes: Any = None
    ) -> Any:
        """Ridge regressions of Y on the features of all samples.

        See :func:`sdgs.readout._observed_ridge.prepare_label_ridge`. ``codes`` are those of the samples if they are
        known.
        """

    def weights_of(self, rows: Any) -> NDArray[np.float64] | None:
        """The weights of some rows."""
        return None if self.sample_weight is None else self.sample_weight[rows]

    def scaling(self, name: str | None) -> Scaling:
        """A scaling that is fitted to all samples, once."""
        if name not in self._scalings:
            statistics = self.column_statistics if name in COLUMN_SCALINGS else None
            self._scalings[name] = fit_scaling(statistics, name)
        return self._scalings[name]

    @cached_property
    def _scalings(self) -> dict[str | None, Scaling]:
        return {}


class ArraySamples(Samples):
    """Samples in memory (dense or CSR), or in an array of another library on its device."""

    supports_kernel = True

    def __init__(self, X: Any, norms: Any = None, sample_weight: NDArray[np.float64] | None = None) -> None:
        self.X, self.norms, self.sample_weight, self.is_sparse = X, norms, sample_weight, issparse(X)
        self.shape = (int(X.shape[0]), int(X.shape[1]))

    @cached_property
    def column_statistics(self) -> ColumnStatistics:
        """Statistics of the columns."""
        return column_statistics(self.X, self.sample_weight)

    @property
    def content(self) -> Any:
        """The array itself."""
        return self.X

    def weighted(self, sample_weight: NDArray[np.float64]) -> "ArraySamples":
        """The same samples with weights."""
        return ArraySamples(self.X, self.norms, sample_weight)

    def take(self, rows: Any) -> "ArraySamples":
        """Some rows; all of them are not copied."""
        if isinstance(rows, slice):
            return ArraySamples(
                self.X[rows, :], None if self.norms is None else self.norms[rows], self.weights_of(rows)
            )
        if rows.size == self.shape[0]:
            return self
        norms = None if self.norms is None else take_rows(self.norms, rows)
        return ArraySamples(take_rows(self.X, rows), norms, self.weights_of(rows))

    def scale(self, scaling: Scaling) -> "ArraySamples":
        """The samples scaled."""
        return ArraySamples(*scaling.transform(self.X), self.sample_weight)

    def prepare_ridge(
        self, features: "ReadoutFeatures", Y: Any, design: RidgeDesign, n_jobs: int | None, codes: Any = None
    ) -> Any:
        """Ridge regressions of Y on the features of the samples."""
        blocks = features.transform_blocks(self.X, n_jobs, self.norms, max(design.widths), codes)
        gram = None if features.kernel is None else features.kernel.landmark_gram
        return prepare_label_ridge(blocks, Y, design, gram, n_jobs)
