"""Training samples, wherever they are: the protocol that fitting relies on, and its implementation in memory.

The door of an estimator makes a :class:`Samples` object of what the user passed. Nothing behind the door asks what kind
of array that was. :mod:`sdgs.distributed` implements the same protocol for Dask arrays.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._array_api import take_rows
from sdgs.readout._column_statistics import ColumnStatistics, column_statistics
from sdgs.readout._ridge import RidgeDesign, prepare_ridge
from sdgs.readout._scaling import Scaling, fit_scaling

if TYPE_CHECKING:
    from sdgs.readout._features import ReadoutFeatures


@dataclass(frozen=True, eq=False)
class ScaledSamples(ABC):
    """Scaled samples, as features and regressions are fitted to them.

    Attributes
    ----------
    X : array of shape (n, p)
        Of any kind that :func:`sdgs.decompose` takes.
    norms : array of shape (n,) or None
        The norms of the rows before scaling, for kernels; None if kernels are not supported.
    """

    X: Any
    norms: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return (int(self.X.shape[0]), int(self.X.shape[1]))

    @abstractmethod
    def take(self, rows: Any) -> "ScaledArray":
        """Some rows, given by a slice or by ascending indices, in the memory of this process."""

    @abstractmethod
    def prepare_ridge(self, features: "ReadoutFeatures", Y: Any, design: RidgeDesign, n_jobs: int | None) -> Any:
        """Ridge regressions of Y on the features of all samples: see :func:`sdgs.readout._ridge.prepare_ridge`."""


class Samples(ABC):
    """Samples that an estimator is fitted to.

    Attributes
    ----------
    shape : tuple of two ints
    is_sparse : bool
    supports_kernel : bool
        Whether ``gamma`` may be given.
    """

    shape: tuple[int, int]
    is_sparse: bool
    supports_kernel: bool

    @cached_property
    @abstractmethod
    def column_statistics(self) -> ColumnStatistics:
        """Statistics of the columns."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> "ArraySamples":
        """The samples with these ascending indices, in the memory of this process."""

    @abstractmethod
    def scale(self, scaling: Scaling) -> ScaledSamples:
        """The samples scaled."""

    @property
    @abstractmethod
    def content(self) -> Any:
        """Something that :func:`sdgs.persistence._checkpoint.fingerprint` identifies the samples by."""

    def scaling(self, name: str | None) -> Scaling:
        """A scaling that is fitted to all samples, once."""
        if name not in self._scalings:
            needs_statistics = name in ("columns", "idf")
            self._scalings[name] = fit_scaling(self.column_statistics if needs_statistics else None, name)
        return self._scalings[name]

    @cached_property
    def _scalings(self) -> dict[str | None, Scaling]:
        return {}


@dataclass(frozen=True, eq=False)
class ScaledArray(ScaledSamples):
    """Scaled samples in memory, or on a device."""

    def take(self, rows: Any) -> "ScaledArray":
        """Some rows."""
        if isinstance(rows, slice):
            return ScaledArray(self.X[rows, :], self.norms[rows])
        return ScaledArray(take_rows(self.X, rows), take_rows(self.norms, rows))

    def prepare_ridge(self, features: "ReadoutFeatures", Y: Any, design: RidgeDesign, n_jobs: int | None) -> Any:
        """Ridge regressions of Y on the features of the samples."""
        blocks = features.transform_blocks(self.X, n_jobs, self.norms, max(design.widths))
        gram = None if features.kernel is None else features.kernel.landmark_gram
        return prepare_ridge(blocks, Y, design, gram)


class ArraySamples(Samples):
    """Samples in memory (dense or CSR), or in an array of another library on its device."""

    supports_kernel = True

    def __init__(self, X: Any) -> None:
        self.X, self.shape, self.is_sparse = X, (int(X.shape[0]), int(X.shape[1])), issparse(X)

    @cached_property
    def column_statistics(self) -> ColumnStatistics:
        """Statistics of the columns."""
        return column_statistics(self.X)

    def take(self, rows: NDArray[np.intp]) -> "ArraySamples":
        """The samples with these indices; all of them are not copied."""
        return self if rows.size == self.shape[0] else ArraySamples(take_rows(self.X, rows))

    def scale(self, scaling: Scaling) -> ScaledArray:
        """The samples scaled."""
        return ScaledArray(*scaling.transform(self.X))

    @property
    def content(self) -> Any:
        """The array itself."""
        return self.X
