"""What fitting a classifier asks of samples, answered by the blocks of a Dask array.

Choices are made on rows that are brought to the client, the same that a fit in memory makes them on. What is learnt
from all rows is learnt where they are, and only sums of it travel.
"""

from copy import deepcopy
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from distributed import get_worker
from sdgs._utils._validation import has_missing, is_dask_array
from sdgs.distributed._dask_rows import Rows, addresses, checked
from sdgs.distributed._distributed_decompose import check_solver, gathered_labels
from sdgs.readout._features import NORM, DecompositionOptions, PipelineParameters, ReadoutFeatures, decomposed
from sdgs.readout._pipeline import FittedPipeline
from sdgs.readout._ridge import MomentAccumulator, PrimalRidge, Ridge, merged
from sdgs.readout._scaling import ColumnStatistics, Scaling, mostly_zero


class Samples(Rows):
    """Rows that a classifier is fitted to."""

    @cached_property
    def column_statistics(self) -> ColumnStatistics:
        """What scalings go by."""
        parts = self._fold(_add_statistics, lambda _: (self.dtype,))
        return _together(parts)

    def learn_member(
        self,
        labels: Any,
        scaling: Scaling,
        setting: PipelineParameters,
        training: DecompositionOptions,
        read: tuple[float, tuple[str, ...], float] | None,
        worth: NDArray[np.float64] | None,
    ) -> FittedPipeline:
        """A view of a setting, and with ``read`` how to read labels from it; samples count by their ``worth``.

        The former is a penalty, parts to read from, and a partiality.
        """
        scaled = Samples(self.mapped(partial(_scaled, scaling=scaling)))
        decomposition = decomposed(scaled.array, labels, setting, training)
        view = ReadoutFeatures(setting, decomposition, None, self.shape[1], labels.shape[1], NORM)
        if read is None:
            return FittedPipeline(scaling, view, None)
        view = view.narrowed(scaled, labels, training.n_jobs)
        weighed = view.place("sample") if mostly_zero(self) else None
        return FittedPipeline(scaling, view, scaled._ridge(labels, view, weighed, worth, *read))

    def _ridge(
        self,
        labels: Any,
        view: ReadoutFeatures,
        weighed: slice | None,
        worth: NDArray[np.float64] | None,
        penalty: float,
        read_from: tuple[str, ...],
        partiality: float,
    ) -> Ridge:
        (shared,) = self.client.scatter([view.without_rows()], broadcast=True, hash=False)

        def arguments(block: Any) -> tuple[Any, ...]:
            rows = slice(block.start, block.start + block.size)
            return labels[rows], None if worth is None else worth[rows], shared, self.dtype

        parts: list[MomentAccumulator] = self._fold(_add_sums, arguments)
        return PrimalRidge(merged([sums.moments() for sums in parts]), weighed).ridge(
            penalty, view.width(read_from), partiality
        )

    def _fold(self, step: Any, arguments: Any) -> list[Any]:
        workers = addresses(self.client)
        chains = self.parts(len(workers))
        return self.fold(step, chains, workers, lambda _, block: arguments(block))


def checked_samples(model: Any, X: Any, y: Any) -> tuple[Samples, Any]:
    """Samples and labels that ``model`` can be fitted to; errors at the door."""
    check_solver(model.solver)
    gammas: Any = getattr(model, "gamma", getattr(model, "gammas", None))
    if not isinstance(gammas, str) and any(gamma is not None for gamma in np.ravel(gammas)):
        raise ValueError("gamma maps all samples in one place, and takes no Dask array. Leave it None.")
    if type(y).__module__.partition(".")[0] in ("dask", "dask_expr") and not is_dask_array(y):
        raise ValueError("y is a Dask DataFrame. Pass y.to_dask_array(lengths=True), or y.compute().")
    samples = Samples(X)
    model._check_X(np.zeros((1, samples.shape[1]), dtype=samples.dtype), reset=True)
    labels = model._check_y(samples, gathered_labels(y))
    if is_dask_array(y) and not model._one_class_a_sample:
        model._sparse_labels, model._label_dtype = issparse(y._meta), y.dtype
    _ = samples.column_statistics  # every block is looked at: what cannot be used is told before anything is learnt
    return samples, labels


def _scaled(block: Any, scaling: Scaling) -> Any:
    return scaling(block)[0]


def _add_sums(
    total: MomentAccumulator | None, block: Any, labels: Any, worth: Any, view: ReadoutFeatures, dtype: Any
) -> MomentAccumulator:
    """The sums of features and labels of some more rows."""
    sums, start = deepcopy(total), 0
    for Z in view.blocks(checked(block, dtype), get_worker().state.nthreads):
        sums = MomentAccumulator(Z, labels.shape[1]) if sums is None else sums
        rows = slice(start, start + Z[0].shape[0])
        sums.add(Z, labels[rows], None if worth is None else worth[rows])
        start = rows.stop
    assert sums is not None
    return sums


def _add_statistics(total: ColumnStatistics | None, block: Any, dtype: Any) -> ColumnStatistics:
    """What is known of the columns with some more rows."""
    X = checked(block, dtype)
    n, p = X.shape
    if issparse(X):
        present = np.bincount(X.indices[X.data != 0], minlength=p)
        none = np.zeros(p, dtype=np.int64)
        found = ColumnStatistics(n, dtype, True, has_missing(X), present, none, none, np.zeros(p), np.zeros(p))
    else:
        seen = ~np.isnan(X)
        observed = seen.sum(axis=0)
        with np.errstate(all="ignore"):
            mean = np.where(seen, X, 0).sum(axis=0, dtype=np.float64) / np.maximum(observed, 1)
            squares = (np.where(seen, X - mean, 0) ** 2).sum(axis=0)
        found = ColumnStatistics(
            n, dtype, False, not seen.all(), (X != 0).sum(axis=0), observed, (X < 0).sum(axis=0), mean, squares
        )
    return found if total is None else _together([total, found])


def _together(parts: list[ColumnStatistics]) -> ColumnStatistics:
    """Of all rows, from parts of them."""
    counts = {
        name: np.sum([getattr(part, name) for part in parts], axis=0) for name in ("present", "observed", "negative")
    }
    with np.errstate(all="ignore"):
        share = [part.observed / np.maximum(counts["observed"], 1) for part in parts]
        mean = np.sum([part.mean * mine for part, mine in zip(parts, share, strict=True)], axis=0)
        squares = np.sum([part.squares + part.observed * (part.mean - mean) ** 2 for part in parts], axis=0)
    return ColumnStatistics(
        n_samples=sum(part.n_samples for part in parts),
        dtype=parts[0].dtype,
        sparse=parts[0].sparse,
        missing=any(part.missing for part in parts),
        mean=mean,
        squares=squares,
        **counts,
    )
