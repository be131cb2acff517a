"""Dask arrays as :class:`sdgs.readout._samples.Samples`.

Parameters are chosen on rows that are brought to the client, the same rows as for an array in memory. What is fitted to
all rows is computed where they are, and only sums of it are sent.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import cached_property, partial
from typing import Any

import numpy as np
from dask.array import Array
from distributed import get_worker
from numpy.typing import NDArray
from scipy.sparse import issparse

from sdgs._utils._unobserved_labels import expected_labels, has_unobserved
from sdgs.distributed._dask_rows import DaskRows, check_block
from sdgs.distributed._distributed_decompose import check_solver, gather_labels
from sdgs.distributed._lost_workers import share, worker_addresses
from sdgs.readout._column_statistics import ColumnStatistics, merge_statistics, mergeable_statistics
from sdgs.readout._features import ReadoutFeatures
from sdgs.readout._moments import MomentAccumulator, accumulate, merge_moments
from sdgs.readout._observed_ridge import PrimalObservedRidge, error_products
from sdgs.readout._ridge import PrimalRidge, Ridge, RidgeDesign, RidgeRegression
from sdgs.readout._samples import ArraySamples, Samples
from sdgs.readout._scaling import Scaling

_MAX_STATISTICS_PARTS = 64  # each has a few numbers per column, which are brought to the client


class DaskSamples(Samples):
    """The rows of a Dask array."""

    norms = None
    supports_kernel = False  # landmarks and their kernels would have to be in one place

    def __init__(self, X: Any, sample_weight: NDArray[np.float64] | None = None) -> None:
        self._rows = DaskRows(X)
        self.X, self.shape, self.dtype = self._rows.array, self._rows.shape, self._rows.dtype
        self.sample_weight = sample_weight
        self.is_sparse = self._rows.is_sparse

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def column_statistics(self) -> ColumnStatistics:
        """Statistics of the columns, the same to the last digit for any number of workers.

        Scaled samples depend on them, and checkpoints on scaled samples. After a loss there may be fewer workers.
        """
        chains, workers = self._rows.split(_MAX_STATISTICS_PARTS), worker_addresses(self._rows.client)

        def arguments(_: int, block: Any) -> tuple[Any, ...]:
            return self.dtype, self.weights_of(slice(block.start, block.start + block.size))

        return merge_statistics(self._rows.reduce_blocks(_add_statistics, chains, workers, arguments))

    @property
    def content(self) -> Any:
        """A hash of all blocks."""
        return self._rows.fingerprint()

    def take(self, rows: Any) -> ArraySamples:
        """Some rows, brought to the client."""
        return ArraySamples(self._rows[rows], None, self.weights_of(rows))

    def scale(self, scaling: Scaling) -> "DaskSamples":
        """The rows scaled on the workers, when they are needed."""
        return DaskSamples(self._rows.map_blocks(partial(_scale, scaling=scaling)), self.sample_weight)

    def weighted(self, sample_weight: NDArray[np.float64]) -> "DaskSamples":
        """The same rows with weights."""
        return DaskSamples(self.X, sample_weight)

    def prepare_ridge(
        self,
        features: ReadoutFeatures,
        Y: Any,
        design: RidgeDesign,
        n_jobs: int | None,  # noqa: ARG002
        codes: None = None,  # noqa: ARG002
    ) -> RidgeRegression:
        """From the moments of the rows of each worker, which has threads of its own; codes are never known.

        With unobserved labels each step of a regression computes the features of all rows again.
        """
        shared, sample_weight = share(self._rows.client, features.without_samples()), design.sample_weight

        def arguments(block: Any, labels: Any) -> tuple[Any, ...]:
            some = slice(block.start, block.start + block.size)
            return labels[some], None if sample_weight is None else sample_weight[some], shared, self.dtype

        expected = expected_labels(Y, sample_weight)
        parts: list[MomentAccumulator] = self._reduce(_add_moments, lambda block: arguments(block, expected))
        complete = PrimalRidge(merge_moments([part.moments() for part in parts]), design.weighted_columns)
        if not has_unobserved(Y):
            return complete

        def products(ridge: Ridge, with_labels: bool) -> tuple[Any, Any]:
            regression = share(self._rows.client, ridge)
            sums = self._reduce(_add_products, lambda block: (*arguments(block, Y), regression, with_labels))
            cross, total = zip(*sums, strict=True)
            return np.sum(cross, axis=0), np.sum(total, axis=0)

        return PrimalObservedRidge(complete, products)

    def _reduce(self, step: Callable[..., Any], arguments: Callable[[Any], tuple[Any, ...]]) -> list[Any]:
        """The result of each worker, from its blocks one after the other."""
        workers = worker_addresses(self._rows.client)
        return self._rows.reduce_blocks(
            step, self._rows.split(len(workers)), workers, lambda _, block: arguments(block)
        )


def check_samples(model: Any, X: Any, y: Any) -> tuple[DaskSamples, Any]:
    """Samples and labels that ``model`` can be fitted to; errors are raised here, before anything is fitted."""
    check_solver(model.solver)
    gammas: Any = getattr(model, "gamma", getattr(model, "gammas", None))
    if not isinstance(gammas, str) and any(gamma is not None for gamma in np.ravel(gammas)):
        raise ValueError("gamma needs all samples in one place, and takes no Dask array. Leave it None.")
    if type(y).__module__.partition(".")[0] in ("dask", "dask_expr") and not isinstance(y, Array):
        raise ValueError("y is a Dask DataFrame. Pass y.to_dask_array(lengths=True), or y.compute().")
    samples = DaskSamples(X)
    model._check_X(np.zeros((1, samples.shape[1]), dtype=samples.dtype), reset=True)
    labels = model._check_y(samples, gather_labels(y, samples._rows.client))
    if isinstance(y, Array) and not model._is_multiclass and model._label_lists is None:
        model._sparse_labels, model._label_dtype = issparse(y._meta), y.dtype
    _ = samples.column_statistics  # reads and checks every block
    return samples, labels


def _scale(block: Any, scaling: Scaling) -> Any:
    return scaling.transform(block)[0]


def _add_moments(
    total: MomentAccumulator | None, block: Any, Y: Any, sample_weight: Any, features: ReadoutFeatures, dtype: Any
) -> MomentAccumulator:
    blocks = features.transform_blocks(check_block(block, dtype), get_worker().state.nthreads)
    return accumulate(deepcopy(total), blocks, Y, sample_weight)  # a copy, because Dask may run a task again


def _add_products(
    total: tuple[Any, Any] | None,
    block: Any,
    Y: Any,
    sample_weight: Any,
    features: ReadoutFeatures,
    dtype: Any,
    ridge: Ridge,
    with_labels: bool,
) -> tuple[Any, Any]:
    blocks = features.transform_blocks(
        check_block(block, dtype), get_worker().state.nthreads, width=ridge.coef.shape[1]
    )
    cross, errors = error_products(blocks, Y, sample_weight, ridge, with_labels)
    return (cross, errors) if total is None else (total[0] + cross, total[1] + errors)


def _add_statistics(total: ColumnStatistics | None, block: Any, dtype: Any, sample_weight: Any) -> ColumnStatistics:
    statistics = mergeable_statistics(check_block(block, dtype), sample_weight)
    return statistics if total is None else merge_statistics([total, statistics])
