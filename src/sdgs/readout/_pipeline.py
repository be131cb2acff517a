"""A fitted pipeline: scaling, features and ridge regression of one set of parameters."""

from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._array_api import namespace
from sdgs._utils._unobserved_labels import expected_labels
from sdgs.coding import GroupCodes
from sdgs.readout._decision import Decision
from sdgs.readout._features import ReadoutFeatures, fit_features
from sdgs.readout._parameters import DecompositionOptions, PipelineParameters, RidgeChoice
from sdgs.readout._relevance import f1_sample_weight
from sdgs.readout._ridge import Ridge, RidgeDesign, RidgeRegression
from sdgs.readout._samples import Samples
from sdgs.readout._scaling import Scaling


@dataclass(frozen=True, eq=False)
class FittedPipeline:
    """Scaling, features and ridge regression; without the latter (None) labels are read as in the paper."""

    scaling: Scaling
    features: ReadoutFeatures
    ridge: Ridge | None

    def scores(self, X: Any, n_jobs: int | None) -> Any:
        """Scores (n, k), near 1 for likely labels and near 0 for others."""
        assert self.ridge is not None
        width = self.ridge.coef.shape[1]
        scores = [
            self.ridge.scores(blocks)
            for scaled, norms in self.scaled_blocks(X)
            for blocks in self.features.transform_blocks(scaled, n_jobs, norms, width)
        ]
        return scores[0] if len(scores) == 1 else namespace(scores[0]).concat(scores)

    def with_rows(self, rows: NDArray[np.intp], n: int) -> "FittedPipeline":
        """The same, if its training samples were ``rows`` of n."""
        return replace(self, features=self.features.with_rows(rows, n))

    def scaled_blocks(self, X: Any) -> Iterator[tuple[Any, Any]]:
        """Scaled samples and their norms before scaling, by blocks of rows: nothing as large as X is allocated."""
        step = self.features.rows_per_block(X)
        if X.shape[0] <= step:
            yield self.scaling.transform(X)
            return
        for start in range(0, X.shape[0], step):
            yield self.scaling.transform(X[start : min(start + step, X.shape[0]), :])


@dataclass(frozen=True)
class ReadoutContext:
    """What all candidates of a fit have in common.

    Attributes
    ----------
    options : DecompositionOptions
    mostly_zero : bool
        Whether the data are mostly zero, as word counts are: then columns and samples are weighted.
    decision : Decision
        The decision that candidates are compared with; samples are weighted for its metric.
    splits : int or tuple of (training rows, test rows)
        The number of folds, or given splits.
    propensity : ndarray of shape (k,) or None
        The probability that a label is given where it is true; None for 1.
    """

    options: DecompositionOptions
    mostly_zero: bool
    decision: Decision
    splits: int | tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]

    propensity: NDArray[np.float64] | None = None

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return self.splits if isinstance(self.splits, int) else len(self.splits)


def fit_regression(
    samples: Samples,
    labels: Any,
    parameters: PipelineParameters,
    context: ReadoutContext,
    *,
    read_from: Sequence[str],
    every_prefix: bool = False,
    Y: Any = None,
    cache: MutableMapping[Hashable, Any] | None = None,
) -> tuple[ReadoutFeatures, RidgeRegression, tuple[int, ...]]:
    """Fit features to scaled samples, and prepare the ridge regressions of labels on them.

    Parameters
    ----------
    labels : csr_array of shape (n, k)
        May have unobserved entries: see :mod:`sdgs._utils._unobserved_labels`.
    read_from : sequence of str
        The feature blocks to read from.
    every_prefix : bool
        Whether regressions on the first block, the first two blocks and so on are needed too.
    Y : ndarray of shape (n, k) or None
        The labels as a dense array if the caller has one, with NaN where they are unobserved; it is faster.
    cache : mutable mapping or None
        See :func:`sdgs.readout._features.fit_features`.

    Returns
    -------
    features, regression, widths
        The last are the numbers of columns that regressions are prepared for.
    """
    features = fit_features(samples, labels, parameters, context.options, cache=cache)
    widths = features.widths[: len(read_from)] if every_prefix else (features.width_of(read_from),)
    design = RidgeDesign(
        widths,
        features.column_slice("sample") if context.mostly_zero else None,
        _regression_weight(samples, labels, context),
        None if samples.sample_weight is None else float(samples.sample_weight.sum()),
    )
    n_jobs = context.options.n_jobs
    codes = None if cache is None else shared_codes(samples.X, features, read_from, cache, "training", n_jobs)
    regression = samples.prepare_ridge(features, labels if Y is None else Y, design, n_jobs, codes)
    return features, regression, widths


def _regression_weight(samples: Samples, labels: Any, context: ReadoutContext) -> NDArray[np.float64] | None:
    """The weights of samples, times those for the metric where there are such."""
    weight = samples.sample_weight
    if not context.mostly_zero:
        return weight
    for_metric = f1_sample_weight(expected_labels(labels, weight), context.decision.metric, weight)
    if weight is None or for_metric is None:
        return for_metric if weight is None else weight
    return weight * for_metric


def shared_codes(
    X: Any,
    features: ReadoutFeatures,
    read_from: Sequence[str],
    cache: MutableMapping[Hashable, Any],
    name: str,
    n_jobs: int | None,
) -> GroupCodes | None:
    """The codes of the scaled samples of this name, for all candidates that differ in the kernel; None if unread."""
    parameters = features.parameters
    if "code" not in read_from:
        return None
    key = (name, parameters.scaling, parameters.n_components, parameters.alpha, parameters.huber)
    if key not in cache:
        cache[key] = features.encode(X, n_jobs)
    return cache[key]  # type: ignore[no-any-return]


def fit_pipeline(
    samples: Samples,
    labels: Any,
    parameters: PipelineParameters,
    context: ReadoutContext,
    choice: RidgeChoice | None,
) -> FittedPipeline:
    """Fit a pipeline to all samples; with ``choice`` None it has no ridge regression."""
    scaling = samples.scaling(parameters.scaling)
    scaled = samples.scale(scaling)
    if choice is None:
        features = fit_features(scaled, labels, parameters, context.options)
        return FittedPipeline(scaling, features.for_prediction(), None)
    features, regression, (width,) = fit_regression(scaled, labels, parameters, context, read_from=choice.read_from)
    return FittedPipeline(scaling, features.for_prediction(), regression.ridge(choice.penalty, width))
